"""Trees of other packages, for ``treemeans compare``; imported only where they are installed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from treemeans.costs import centered_cost

Floats = NDArray[np.float64]
_MOST_KAURI_ROWS = 5_000  # it makes a table of all pairs of rows


@dataclass(frozen=True)
class GivenClusters:
    """The clusters that trees explain: rows and centers in the space of the cost, and the cost."""

    rows: Floats
    centers: Floats
    cost: str

    def figures(self, labels: NDArray[np.intp]) -> tuple[float, float]:
        """Cost of a tree's clusters over that of these, and share of rows in the same one."""
        cost = centered_cost(self.cost, self.rows, None, 1)
        prices = cost.price(self.centers)
        own = cost.measured(labels.astype(np.int32), self.centers)
        agreement = float((labels == prices.nearest).mean())
        if prices.cheapest > 0:
            return own / prices.cheapest, agreement
        return 1.0 if own == 0 else np.inf, agreement


@dataclass(frozen=True)
class Peer:
    """A tree of another package.

    Attributes
    ----------
    title : of the method
    package : that it is in, as pip and import name it
    labels : the cluster of each row, and the number of leaves; takes the clusters that are
        explained, the most leaves and a seed
    most_rows : of a table that it is tried on
    where : in what it can be installed, if not in any Python
    """

    title: str
    package: str
    labels: Callable[[GivenClusters, int, int], tuple[NDArray[np.intp], int]]
    most_rows: int | None = None
    where: str = ""

    def why_not(self, n_rows: int) -> str:
        """Why it is left out, in a sentence; empty if it is not."""
        if find_spec(self.package) is None:
            return f"{self.title} is left out: `pip install {self.package}` adds it{self.where}."
        if self.most_rows is not None and n_rows > self.most_rows:
            return (
                f"{self.title} is left out: it compares all pairs of rows, and {n_rows:,} rows "
                f"are more than {self.most_rows:,}."
            )
        return ""


def shallow_labels(given: GivenClusters, leaves: int, seed: int) -> tuple[NDArray[np.intp], int]:
    """ExShallow of the package ShallowTree: a leaf for each center."""
    package: Any = import_module("ShallowTree.ShallowTree")

    class Given:
        """What it reads of k-means; it sets centers of one that scikit-learn would not predict."""

        cluster_centers_ = given.centers

        def __init__(self, *_: Any, **__: Any) -> None: ...

        def predict(self, X: Any) -> NDArray[np.int32]:
            return centered_cost("kmeans", X, None, 1).price(self.cluster_centers_).nearest

    usual, package.KMeans = package.KMeans, Given
    try:
        k = len(given.centers)
        tree = package.ShallowTree(k, random_state=seed).fit(given.rows, given.centers)
    finally:
        package.KMeans = usual
    return np.asarray(tree.predict(given.rows)).astype(np.intp), k


def kauri_labels(given: GivenClusters, leaves: int, seed: int) -> tuple[NDArray[np.intp], int]:
    """Kauri of gemclus, which takes no reference; clusters are named after the nearest centers."""
    kauri = import_module("gemclus.tree").Kauri
    model = kauri(max_clusters=len(given.centers), max_leaves=leaves, random_state=seed)
    found = np.unique(model.fit_predict(given.rows), return_inverse=True)[1]
    means = np.stack([given.rows[found == each].mean(axis=0) for each in range(found.max() + 1)])
    apart = ((means[:, None] - given.centers[None]) ** 2).sum(axis=2)
    places = linear_sum_assignment(apart)[1]
    return places[found], len(np.unique(model.leaves_))


PEERS = (
    # It needs the package ExKMC, whose C code newer Pythons do not compile.
    Peer("ShallowTree", "ShallowTree", shallow_labels, where=" (up to Python 3.10)"),
    Peer("Kauri (gemclus)", "gemclus", kauri_labels, _MOST_KAURI_ROWS),
)
