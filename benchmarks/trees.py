"""The methods of the quality table: each grows a tree on a reference and says its clusters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from problems import Table
from reference import Reference
from sklearn.tree import DecisionTreeClassifier

from treemeans import ExKMC

# Stated and recomputed cost add the same squares in another order.
SAME_COST = 1e-6


class Method(Protocol):
    """What the quality table asks of a method."""

    @property
    def title(self) -> str:
        """Return the head of the method's column."""

    @property
    def nested(self) -> bool:
        """Say whether one fit holds the trees that fits to fewer leaves would give."""

    def fit(self, X: Table, reference: Reference, leaves: int, seed: int) -> Any:
        """Return a model of at most ``leaves`` leaves (timed)."""

    def labels(self, model: Any, X: Table, leaves: int) -> NDArray[Any] | None:
        """Return the cluster of each row by the model's tree of at most ``leaves`` leaves."""


@dataclass(frozen=True)
class Ours:
    """ExKMC from a base tree, refined or not."""

    title: str
    base_tree: str = "imm"
    refine: str = "none"
    nested: bool = False

    def fit(self, X: Table, reference: Reference, leaves: int, seed: int) -> ExKMC:
        """Build the tree on the given centers, on one thread."""
        options: dict[str, Any] = {"base_tree": self.base_tree}
        if self.refine != "none":
            options["refine"] = self.refine
        return ExKMC(
            n_clusters=len(reference.centers),
            max_leaf_nodes=leaves,
            reference=reference.centers,
            random_state=seed,
            n_jobs=1,
            **options,
        ).fit(X)

    def labels(self, model: ExKMC, X: Table, leaves: int) -> NDArray[Any] | None:
        """Return predictions; None where even the smallest tree of the fit is larger."""
        sizes = model.path_["n_leaves"]
        fitting = sizes[sizes <= leaves]
        if not fitting.size:
            return None
        small = model if fitting[-1] == model.n_leaves_ else model.with_leaves(int(fitting[-1]))
        labels: NDArray[Any] = small.predict(X)
        return labels


@dataclass(frozen=True)
class Cart:
    """scikit-learn's decision tree on the reference labels; clusters are the classes predicted.

    A tree with a largest number of leaves is grown best first and numbers its nodes in the order
    they come, two for each cut: the first 2 m - 1 nodes are the tree of m leaves.
    """

    title: str
    nested: bool = True

    def fit(self, X: Table, reference: Reference, leaves: int, seed: int) -> DecisionTreeClassifier:
        """Grow the tree."""
        tree = DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=seed)
        return tree.fit(X, reference.labels)

    def labels(self, model: DecisionTreeClassifier, X: Table, leaves: int) -> NDArray[Any]:
        """Return the classes predicted by the first ``leaves`` leaves."""
        return self.labels_of(model, model.apply(X), leaves)

    def labels_of(
        self, model: DecisionTreeClassifier, nodes: NDArray[Any], leaves: int
    ) -> NDArray[Any]:
        """Return the same for leaves of the whole tree, given by their numbers."""
        tree = model.tree_
        ancestor = np.arange(tree.node_count)
        for node in np.flatnonzero(tree.children_left >= 0):
            for child in (tree.children_left[node], tree.children_right[node]):
                if child >= 2 * leaves - 1:
                    ancestor[child] = ancestor[node]
        label = model.classes_[tree.value[:, 0].argmax(axis=1)]
        classes: NDArray[Any] = label[ancestor[nodes]]
        return classes


# The bases "kauri", "cart" and "kdtree" may look at the number of leaves asked for, and "best"
# does. IMM is fitted to each size because its times are what the refined trees' are set against.
METHODS: dict[str, Method] = {
    "cart_labels": Cart("CART on labels"),
    "none": Ours("none", "none", nested=True),
    "imm": Ours("IMM"),
    "exgreedy": Ours("ExGreedy", "exgreedy", nested=True),
    "emn": Ours("EMN", "emn", nested=True),
    "random": Ours("random", "random", nested=True),
    "kauri": Ours("Kauri", "kauri"),
    "cart": Ours("CART", "cart"),
    "kdtree": Ours("kd-tree", "kdtree"),
    "best": Ours("best", "best"),
    "local": Ours("IMM, local", refine="local"),
    "search": Ours("IMM, search", refine="search"),
}


def check_stated_cost(model: Any, cost: float) -> None:
    """Refuse a model whose stated cost is not that of its predictions."""
    stated = getattr(model, "inertia_", cost)
    if abs(stated - cost) > SAME_COST * max(cost, stated):
        raise ValueError(
            f"the model states a cost of {stated:.9g}, its predictions cost {cost:.9g}"
        )
