"""Reference: the clustering that a tree explains, as centers, labels or costs."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_array

from treemeans import _core
from treemeans.columns.dates import dates_as_days
from treemeans.costs import OWN_COSTS, CostTable, TableCost, weights_near_one
from treemeans.preparation import TablePreparation
from treemeans.reference.given_costs import GivenCosts
from treemeans.rows import Table

KMEANS, KMEDIANS, LABELS, COSTS = "k-means", "k-medians", "the given labels", "the given costs"
"""What a reference is called in rules, reports and plots, if it is no other clusterer."""


@dataclass(frozen=True)
class Reference:
    """A clustering to explain: centers and the space they are in, or labels, or costs.

    Attributes
    ----------
    centers : (n_clusters, dimension of the space); of dimension 0 until the rows are priced, where
        the reference itself has none
    pipeline : what takes the columns of X to that space; None where X is the space itself
    given : whether it was given fitted, possibly to other rows
    untouched : whether the pipeline takes X as the user gave it; else dates as days
    start_agreement : of `FastKMeans`, adjusted Rand index of each start and the clustering chosen;
        None where the clusterer does not tell
    cost : how rows are priced: ``"kmeans"``, ``"kmedians"``, ``"cosine"``, ``"labels"``,
        ``"mixture"`` or ``"table"``
    labels : (n_rows,), cluster of each row, -1 for one that is left out as noise; None if it is
        the cheapest
    costs : of the rows, where they are given; None where they follow from centers or labels
    price_rows : makes costs of other rows, as the user gives them; None if nothing does
    names : of the clusters; empty if the reference has none
    called : what the reference is called in words
    """

    centers: NDArray[np.float64]
    pipeline: Pipeline | TablePreparation | None
    given: bool
    start_agreement: NDArray[np.float64] | None = None
    untouched: bool = False
    cost: str = "kmeans"
    labels: NDArray[np.int32] | None = None
    costs: GivenCosts | None = None
    price_rows: Callable[[Any], GivenCosts] | None = None
    names: tuple[str, ...] = ()
    called: str = KMEANS

    @property
    def has_own_costs(self) -> bool:
        """Whether costs do not depend on centers."""
        return self.cost in OWN_COSTS

    def own_cost(self, weights: NDArray[np.float64] | None, n_threads: int) -> TableCost:
        """The costs that the reference gives each row; 0 and 1 if all it gives are labels."""
        codes = self.codes
        if self.costs is None:
            assert codes is not None  # of cost="labels"
            base = np.zeros(len(codes))
            regret = (codes[:, None] != np.arange(self.n_clusters)).astype(np.float64)
        else:
            base, regret, _ = self.costs.with_finite_costs(weights)
        return TableCost(base, regret, codes, weights, n_threads)

    def weights(self, weights: NDArray[np.float64] | None) -> NDArray[np.float64] | None:
        """Weights of the rows: 0 for those that are left out as noise."""
        if self.labels is None or (self.labels >= 0).all():
            return weights
        kept = (self.labels >= 0).astype(np.float64)
        return kept if weights is None else weights * kept

    @property
    def codes(self) -> NDArray[np.int32] | None:
        """The labels, with any cluster for a row that is left out."""
        return None if self.labels is None else np.maximum(self.labels, 0)

    def without_rows(self) -> "Reference":
        """The same without what it says of each row, for a model to keep."""
        return replace(self, labels=None, costs=None)

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(self.centers)

    def space(self, X: Any, raw: Any) -> Any:
        """X in the space of the centers. ``raw``: X as the user gave it, names and all."""
        if isinstance(self.pipeline, TablePreparation):
            X = self.pipeline.transform(X)
        elif self.pipeline is not None:
            as_given = self.given or self.untouched
            X = check_array(
                self.pipeline.transform(raw if as_given else dates_as_days(raw)),
                accept_sparse=("csr", "csc"),
                dtype=[np.float64, np.float32],
                input_name="What the reference pipeline makes of X",
            )
        if self.centers.shape[1]:
            check_dimension(X.shape[1], self.centers)
        return X

    def centers_in_columns(
        self, table: Table, costs: CostTable, weights: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        """The centers in the columns of X: with a pipeline, the means of the rows nearest to each.

        A center nearest to no row then has no place there: NaN.
        """
        if self.pipeline is None and self.cost in ("kmeans", "kmedians"):
            return self.centers
        weights = weights_near_one(weights)
        sums = _core.group_sums(
            table.points, costs.nearest, self.n_clusters, weights, None, None, 1
        )
        weight = np.bincount(costs.nearest, weights, minlength=self.n_clusters)[:, None]
        return np.divide(sums, weight, out=np.full_like(sums, np.nan), where=weight > 0)


def check_dimension(n_columns: int, centers: NDArray[np.float64]) -> None:
    """Refuse centers of another space than that of the rows."""
    if centers.shape[1] != n_columns:
        raise ValueError(
            f"The reference centers have {centers.shape[1]} coordinates, "
            f"but the points they are for have {n_columns}."
        )


def checked_centers(centers: Any, n_clusters: int | None, name: str) -> NDArray[np.float64]:
    """Centers as an array of their own; ``name`` of what they come from, for messages."""
    try:
        array = np.array(centers, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name} must be a clusterer, a Pipeline that ends in one, one label for each row (a "
            f"list, array or series), or an array of centers; got {type(centers).__name__}."
        ) from error
    if array.ndim != 2 or array.size == 0 or not np.isfinite(array).all():
        raise ValueError(
            f"The centers of {name} must be a finite 2-d array, one row a cluster; "
            f"they have shape {array.shape}."
        )
    if n_clusters is not None and len(array) != n_clusters:
        raise ValueError(f"n_clusters={n_clusters}, but {name} has {len(array)} clusters.")
    return array
