"""The one list of methods: an adapter for each, imported only in the process that fits it.

A method is given the table, the reference and the most leaves it may have. `labels` says the
cluster of each row, by the number of a reference center. To add a method, add an entry to
`METHODS`; ``python -m benchmarks quality --methods NAME`` and ``paper --only NAME`` then run it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from benchmarks.problems import Matrix, Reference


@dataclass(frozen=True)
class ExKMCMethod:
    """treemeans' ExKMC from a base tree, refined or not."""

    title: str
    options: dict[str, Any] = field(default_factory=dict)
    nested: bool = False  # whether one fit holds the trees that fits to fewer leaves give
    environment: str | None = None  # of another package; None for this one

    def fit(self, X: Matrix, reference: Reference, leaves: int, seed: int, threads: int = 1) -> Any:
        """The fitted model."""
        from treemeans import ExKMC

        return ExKMC(
            len(reference.centers),
            max_leaf_nodes=max(leaves, len(reference.centers)),
            reference=reference.centers,
            random_state=seed,
            n_jobs=threads,
            **self.options,
        ).fit(X)

    def labels(self, model: Any, X: Matrix, leaves: int) -> NDArray[Any] | None:
        """Labels by the tree of at most so many leaves; None where every tree is larger."""
        sizes = model.path_["n_leaves"]
        fitting = sizes[sizes <= leaves]
        if not fitting.size:
            return None
        small = model if fitting[-1] == model.n_leaves_ else model.with_leaves(int(fitting[-1]))
        labels: NDArray[Any] = small.predict(X)
        return labels


@dataclass(frozen=True)
class BaselineMethod:
    """A tree of `treemeans.baselines`."""

    title: str
    name: str
    nested: bool = False
    environment: str | None = None

    def fit(self, X: Matrix, reference: Reference, leaves: int, seed: int, threads: int = 1) -> Any:
        """The fitted model."""
        from treemeans import baselines

        sized = self.name not in ("IMM", "CLTree")  # whose cuts decide how many leaves there are
        options = {"max_leaf_nodes": leaves} if sized else {}
        make = getattr(baselines, self.name)
        return make(None, reference=reference.centers, n_jobs=threads, **options).fit(X)

    def labels(self, model: Any, X: Matrix, leaves: int) -> NDArray[Any]:
        """Labels by the whole tree."""
        labels: NDArray[Any] = model.predict(X)
        return labels


@dataclass(frozen=True)
class CartMethod:
    """scikit-learn's decision tree on the reference labels; clusters are the classes predicted.

    A tree with a largest number of leaves is grown best first and numbers its nodes in the order
    they come, two for each cut: the first 2 m - 1 nodes are the tree of m leaves.
    """

    title: str
    nested: bool = True
    environment: str | None = None

    def fit(self, X: Matrix, reference: Reference, leaves: int, seed: int, threads: int = 1) -> Any:
        """The fitted tree."""
        from sklearn.tree import DecisionTreeClassifier

        tree = DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=seed)
        return tree.fit(X, reference.labels)

    def labels(self, model: Any, X: Matrix, leaves: int) -> NDArray[Any]:
        """Classes predicted by the first ``leaves`` leaves."""
        return self.leaf_labels(model, model.apply(X), leaves)

    def leaf_labels(self, model: Any, nodes: NDArray[Any], leaves: int) -> NDArray[Any]:
        """The same for leaves of the whole tree, given by their numbers."""
        tree = model.tree_
        ancestor = np.arange(tree.node_count)
        for node in np.flatnonzero(tree.children_left >= 0):
            for child in (tree.children_left[node], tree.children_right[node]):
                if child >= 2 * leaves - 1:
                    ancestor[child] = ancestor[node]
        label = model.classes_[tree.value[:, 0].argmax(axis=1)]
        classes: NDArray[Any] = label[ancestor[nodes]]
        return classes


@dataclass(frozen=True)
class GivenCenters:
    """The part of a fitted KMeans that the official package reads."""

    cluster_centers_: NDArray[Any]

    @property
    def n_clusters(self) -> int:
        """Number of centers."""
        return len(self.cluster_centers_)

    def predict(self, X: NDArray[Any]) -> NDArray[Any]:
        """Number of the nearest center of each row."""
        from sklearn.metrics import pairwise_distances_argmin

        return pairwise_distances_argmin(X, self.cluster_centers_)


@dataclass(frozen=True)
class OfficialMethod:
    """The paper's own package, ExKMC 0.0.3: it reads dense float64 tables only."""

    title: str
    environment: str = "ExKMC"
    nested: bool = False

    def fit(self, X: Matrix, reference: Reference, leaves: int, seed: int, threads: int = 1) -> Any:
        """The fitted tree."""
        from ExKMC.Tree import Tree

        tree = Tree(len(reference.centers), max_leaves=leaves, random_state=seed, n_jobs=threads)
        return tree.fit(dense(X), GivenCenters(reference.centers))

    def labels(self, model: Any, X: Matrix, leaves: int) -> NDArray[Any]:
        """Labels by the whole tree."""
        return np.asarray(model.predict(dense(X))).astype(np.intp)


@dataclass(frozen=True)
class ShallowTreeMethod(OfficialMethod):
    """ExShallow of the package ShallowTree: a leaf for each center."""

    environment: str = "ShallowTree"

    def fit(self, X: Matrix, reference: Reference, leaves: int, seed: int, threads: int = 1) -> Any:
        """The fitted tree."""
        package = import_module("ShallowTree.ShallowTree")

        # It sets the centers of a KMeans that was never fitted, which scikit-learn now refuses.
        package.KMeans = lambda *_, **__: GivenCenters(reference.centers)
        tree = package.ShallowTree(len(reference.centers), random_state=seed)
        return tree.fit(dense(X), reference.centers)


@dataclass(frozen=True)
class GemclusMethod(OfficialMethod):
    """Kauri of gemclus, which takes no reference; clusters are named after the nearest centers."""

    environment: str = "gemclus"

    def fit(self, X: Matrix, reference: Reference, leaves: int, seed: int, threads: int = 1) -> Any:
        """Labels of the training rows."""
        from gemclus.tree import Kauri
        from scipy.optimize import linear_sum_assignment

        rows, centers = dense(X), reference.centers
        model = Kauri(max_clusters=len(centers), max_leaves=leaves, random_state=seed)
        found = np.unique(model.fit_predict(rows), return_inverse=True)[1]
        means = np.stack([rows[found == each].mean(axis=0) for each in range(found.max() + 1)])
        apart = ((means[:, None, :] - centers[None, :, :]) ** 2).sum(axis=2)
        return linear_sum_assignment(apart)[1][found]

    def labels(self, model: Any, X: Matrix, leaves: int) -> NDArray[Any]:
        """The labels that the fit gave."""
        return np.asarray(model, dtype=np.intp)


def dense(X: Matrix) -> NDArray[np.float64]:
    """X as a dense float64 array."""
    return np.ascontiguousarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)


# The bases "kauri", "cart" and "kdtree" may look at the number of leaves asked for, and "best"
# does. IMM is fitted to each size because its times are what the refined trees' are set against.
METHODS: dict[str, Any] = {
    "imm": BaselineMethod("IMM", "IMM"),
    "exkmc": ExKMCMethod("ExKMC", {"base_tree": "none"}, nested=True),
    "exkmc_imm": ExKMCMethod("ExKMC (base: IMM)"),
    "exkmc_exgreedy": ExKMCMethod("ExGreedy", {"base_tree": "exgreedy"}, nested=True),
    "exkmc_emn": ExKMCMethod("EMN", {"base_tree": "emn"}, nested=True),
    "exkmc_random": ExKMCMethod("random", {"base_tree": "random"}, nested=True),
    "exkmc_kauri": ExKMCMethod("Kauri", {"base_tree": "kauri"}),
    "exkmc_cart": ExKMCMethod("CART base", {"base_tree": "cart"}),
    "exkmc_kdtree": ExKMCMethod("kd-tree base", {"base_tree": "kdtree"}),
    "exkmc_best": ExKMCMethod("best", {"base_tree": "best"}),
    "local": ExKMCMethod("IMM, local", {"refine": "local"}),
    "search": ExKMCMethod("IMM, search", {"refine": "search"}),
    "cart": CartMethod("CART"),
    "kdtree": BaselineMethod("KD-tree", "KDTree"),
    "cltree": BaselineMethod("CLTree", "CLTree"),
    "cubt": BaselineMethod("CUBT", "CUBT"),
    "official": OfficialMethod("ExKMC, official package"),
    "shallow": ShallowTreeMethod("ShallowTree"),
    "kauri": GemclusMethod("Kauri (gemclus)"),
}
OTHER_PACKAGES = tuple(name for name, method in METHODS.items() if method.environment)
