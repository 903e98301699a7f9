"""GrowingTree: a tree under construction, wherever its rows are."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from treemeans import _core
from treemeans.limits import Limits
from treemeans.split import Split

Cut = _core.Cut


class GrowingTree(ABC):
    """One leaf with all rows, to begin with; `split` makes it a tree.

    Nodes are numbered as they come.

    Attributes
    ----------
    limits : the user's
    allowed : (n_features,), which of them may be cut
    comparable : those of them that hold numbers, none missing: a base tree that compares values
        with centers cuts no other
    whole : cost of giving every row to its cheapest center, in units of the regrets
    totals : of each node, what its rows cost beyond their cheapest, for each center
    base_labels : labels of the base tree's nodes, which come first, as its own method gave them;
        None until the tree is expanded
    """

    limits: Limits
    allowed: NDArray[np.bool_]
    comparable: NDArray[np.bool_]
    whole: float
    totals: Sequence[NDArray[np.int64]]

    def __init__(self) -> None:
        self.feature: list[int] = []
        self.threshold: list[float] = []
        self.missing_left: list[bool | None] = []
        self.categories: list[tuple[int, ...]] = []
        self.left: list[int] = []
        self.right: list[int] = []
        self.label: list[int] = []
        self.depth: list[int] = []
        self.growth: list[int] = []
        self.base_labels: NDArray[np.int32] | None = None

    @property
    def n_nodes(self) -> int:
        """Nodes so far."""
        return len(self.feature)

    @property
    def n_leaves(self) -> int:
        """Leaves so far."""
        return (self.n_nodes + 1) // 2

    @property
    def leaves(self) -> list[int]:
        """Node numbers of the leaves."""
        return [node for node, feature in enumerate(self.feature) if feature < 0]

    @abstractmethod
    def weight(self, node: int) -> int:
        """Weight of a node's rows: their number, or in units of the weights."""

    @abstractmethod
    def split(
        self,
        node: int,
        feature: int,
        threshold: float,
        missing_left: bool | None = None,
        categories: tuple[int, ...] = (),
    ) -> tuple[int, int]:
        """Cut a leaf by a `Split`. Its children are labelled by the surrogate cost."""

    @abstractmethod
    def least_cut(self, node: int) -> Cut | None:
        """The cut of a leaf that leaves the least surrogate cost, within the limits."""

    def may_cut(self, node: int) -> bool:
        """Whether the limits leave room for a cut of this leaf."""
        return self.limits.may_cut(self.depth[node], lambda: self.weight(node))

    def is_worth_making(self, node: int, cut: Cut) -> bool:
        """Whether the best cut of a leaf saves enough for its price."""
        if self.limits.feature_costs is None:
            return True
        saved = self.regret(node) - cut.cost
        return self.limits.worth_making(saved, lambda: self.price_of(cut.feature))

    def price_of(self, feature: int) -> int:
        """What a cut on a feature must save more than, in fixed point."""
        prices = self.limits.slot_prices([feature], self.whole)
        return 0 if prices is None else int(prices[0])

    def cheapest(self, node: int) -> int:
        """The center that is cheapest for the node's rows."""
        return int(self.totals[node].argmin())

    def regret(self, node: int) -> int:
        """What the node's rows cost beyond each one's cheapest center, with the best label."""
        return int(self.totals[node].min())

    def sum_nodes(self) -> None:  # noqa: B027 - most trees have nothing to do here
        """Sum and label the nodes, where that was put off until all cuts are made."""

    def begin_expansion(self) -> None:
        """Keep the base tree's labels; from now on leaves carry their cheapest center."""
        self.base_labels = np.array(self.label, dtype=np.int32)
        for leaf in self.leaves:
            self.relabel(leaf)

    def relabel(self, node: int) -> None:
        """Label a node with its cheapest center, if it has rows."""
        if not self.is_empty(node):
            self.label[node] = self.cheapest(node)

    def is_empty(self, node: int) -> bool:
        """Whether a node has no rows."""
        return self.weight(node) == 0

    def add_leaf(self, label: int, depth: int) -> int:
        """Add a leaf and return its number."""
        self.feature.append(-1)
        self.threshold.append(np.nan)
        self.missing_left.append(None)
        self.categories.append(())
        self.left.append(-1)
        self.right.append(-1)
        self.label.append(label)
        self.depth.append(depth)
        self.growth.append(0)
        return self.n_nodes - 1

    def make_inner(self, node: int, split: Split, left: int, right: int) -> None:
        """Make an inner node of a leaf that has been cut."""
        self.feature[node], self.threshold[node] = split.feature, split.threshold
        self.missing_left[node], self.categories[node] = split.missing_left, split.categories
        self.left[node], self.right[node] = left, right
        self.growth[node] = self.n_leaves


def between(low: float, high: float) -> float:
    """The threshold of a cut between two neighbouring values: half way, so on neither of them.

    Where no float lies between them it is the lower one, which still sends each to its side.
    """
    return _core.threshold_between(low, high)
