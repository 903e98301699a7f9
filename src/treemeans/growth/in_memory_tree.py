"""InMemoryTree: a tree that grows on rows in one memory. It knows which are in which node."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from treemeans import _core
from treemeans.costs import CostTable, node_costs
from treemeans.growth.growing_tree import Cut, GrowingTree
from treemeans.split import Split, split_arrays
from treemeans.training_data import TrainingData
from treemeans.tree import ThresholdTree

_NO_VALUES = (-np.inf, np.inf, np.inf, -np.inf, True)
"""The margins of a leaf, which has no split."""


class InMemoryTree(GrowingTree):
    """A growing tree that keeps the rows of every node.

    The rows of a node are neighbours in ``all_rows``: a cut sorts its slice into that of the left
    child and that of the right one. Nothing is copied, and rows stay ascending within a node.

    Attributes
    ----------
    margins : of each node, what values came to its split: the largest that went left, the smallest
        that went right, the lowest and highest of all, and whether all are integers

    Parameters
    ----------
    put_off : whether nodes are summed and labelled by `sum_nodes`, not with each cut: where no cut
        depends on the costs, one walk over the rows is enough
    """

    totals: list[NDArray[np.int64]]
    margins: list[tuple[float, float, float, float, bool]]

    def __init__(self, data: TrainingData, *, put_off: bool = False) -> None:
        super().__init__()
        self._put_off = put_off
        self.table, self.costs, self.n_threads = data.table, data.costs, data.n_threads
        self.limits = data.limits.for_rows(self.costs)
        self.allowed = self.table.allowed
        self.comparable = self.table.comparable
        self.whole = data.reference_cost / self.costs.regrets.unit
        self.weights = None if self.costs.weights is None else self.costs.weights.values
        self.slot_prices = data.slot_prices(self.costs)
        self.kernel_limits = self.limits.for_kernel(self.weights, self.slot_prices)
        self.totals, self.margins = [], []
        self._cheapest: list[int] = []
        self._regret: list[int] = []
        self._slice: list[tuple[int, int]] = []
        self.all_rows = self.costs.rows
        self._no_sums = np.zeros(self.costs.n_clusters, dtype=np.int64)
        totals = self._no_sums if put_off else self._sum(self.all_rows)
        self._add(0, len(self.all_rows), totals, label=0, depth=0)

    def rows(self, node: int) -> NDArray[np.int32]:
        """Rows in a node, ascending."""
        begin, end = self._slice[node]
        return self.all_rows[begin:end]

    def weight(self, node: int) -> int:
        """Weight of a node's rows: their number, or in units of the cost table's weights."""
        rows = self.rows(node)
        return len(rows) if self.weights is None else int(self.weights[rows].sum())

    def is_empty(self, node: int) -> bool:
        """Whether a node has no rows."""
        begin, end = self._slice[node]
        return begin == end

    def cheapest(self, node: int) -> int:
        """The center that is cheapest for the node's rows."""
        return self._cheapest[node]

    def regret(self, node: int) -> int:
        """What the node's rows cost beyond each one's cheapest center, with the best label."""
        return self._regret[node]

    def split(
        self,
        node: int,
        feature: int,
        threshold: float,
        missing_left: bool | None = None,
        categories: tuple[int, ...] = (),
    ) -> tuple[int, int]:
        """Cut a leaf by a `Split`. Its children are labelled by the surrogate cost."""
        begin, end = self._slice[node]
        n_left, margin = _core.partition(
            self.table.points,
            self.table.bins,
            self.all_rows[begin:end],
            feature,
            threshold,
            self.n_threads,
            missing_left,
            categories,
        )
        middle = begin + n_left
        # The smaller side is summed; the other is the difference, which is exact.
        if self._put_off:
            left_totals = self._no_sums
        elif n_left <= end - middle:
            left_totals = self._sum(self.all_rows[begin:middle])
        else:
            left_totals = self.totals[node] - self._sum(self.all_rows[middle:end])
        split = Split(feature, threshold, missing_left, categories)
        return self._add_children(node, split, middle, margin, left_totals)

    def take_over_all(self, totals: NDArray[np.int64], cuts: Iterable[_core.MadeCut]) -> None:
        """Add all cuts of a tree of one leaf that the core has made; ``totals``: of all rows."""
        self._put_off = False
        self._set_totals(0, totals)
        self.relabel(0)
        for cut in cuts:
            self.take_over(cut)

    def take_over(self, made: _core.MadeCut) -> None:
        """Add a cut that the core has made, which has sorted the rows already."""
        node, cut = made.node, made.cut
        split = Split(cut.feature, cut.threshold, cut.missing_left, cut.categories)
        middle = self._slice[node][0] + made.n_left
        self._add_children(node, split, middle, made.margin, made.left_totals)

    def _add_children(
        self,
        node: int,
        split: Split,
        middle: int,
        margin: tuple[float, float, float, float, bool],
        left_totals: NDArray[np.int64],
    ) -> tuple[int, int]:
        """Two leaves below a leaf whose rows are sorted: those before ``middle`` go left."""
        begin, end = self._slice[node]
        self.margins[node] = margin
        label, depth = self.label[node], self.depth[node] + 1
        left = self._add(begin, middle, left_totals, label, depth)
        right = self._add(middle, end, self.totals[node] - left_totals, label, depth)
        self.make_inner(node, split, left, right)
        return left, right

    def sum_nodes(self) -> None:
        """Sum and label all nodes, if that was put off: the leaves, then what is above them."""
        if not self._put_off:
            return
        self._put_off = False
        for node in range(self.n_nodes - 1, -1, -1):  # children come after their parent
            left, right = self.left[node], self.right[node]
            totals = (
                self._sum(self.rows(node)) if left < 0 else self.totals[left] + self.totals[right]
            )
            self._set_totals(node, totals)
        for node in range(self.n_nodes):
            self.relabel(node)
            if self.left[node] >= 0:  # for children without rows
                self.label[self.left[node]] = self.label[self.right[node]] = self.label[node]

    def open_leaves(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Node, depth, begin and end of the rows of each leaf; and its sums for each center."""
        leaves = self.leaves
        found = [(leaf, self.depth[leaf], *self._slice[leaf]) for leaf in leaves]
        return np.array(found, dtype=np.int64), np.array([self.totals[leaf] for leaf in leaves])

    def least_cut(self, node: int) -> Cut | None:
        """The cut of a leaf that leaves the least surrogate cost, within the limits."""
        if not self.may_cut(node):
            return None
        cut = _core.surrogate_cut(
            self.table.bins,
            self.table.points,
            self.rows(node),
            self.costs.regrets.for_search,
            self.totals[node],
            self.cheapest(node),
            self.kernel_limits,
            self.n_threads,
        )
        return cut if cut is None or self.is_worth_making(node, cut) else None

    def leaf_of_row(self) -> NDArray[np.int32]:
        """Leaf of every row of the table; -1 for a row without weight, which is in none."""
        leaves = sorted(self.leaves, key=lambda leaf: self._slice[leaf])
        ends = np.array([self._slice[leaf][1] for leaf in leaves], dtype=np.int64)
        numbers = np.array(leaves, dtype=np.int32)
        return _core.leaf_of_row(self.all_rows, ends, numbers, self.table.n_rows)

    def reprice(self, costs: CostTable, nodes: Iterable[int] | None = None) -> None:
        """Take other costs of the same rows, at all nodes or those that matter; labels stay."""
        self.costs = costs
        for node in range(self.n_nodes) if nodes is None else nodes:
            self._set_totals(node, self._sum(self.rows(node)))

    def _set_totals(self, node: int, totals: NDArray[np.int64]) -> None:
        self.totals[node] = totals
        self._cheapest[node] = int(totals.argmin())
        self._regret[node] = int(totals[self._cheapest[node]])

    def weights_by_node(self, members: NDArray[np.bool_] | None = None) -> NDArray[np.int64]:
        """Weight of the rows of each node, or of some of them."""
        values = np.ones(self.table.n_rows, dtype=np.int64)
        values = values if self.weights is None else self.weights
        values = values if members is None else np.where(members, values, 0)
        return self._sum_by_node(values, self.leaf_of_row())

    def as_expanded(self) -> ThresholdTree:
        """The tree with the labels it ends with: if no cut was added, those of its base tree."""
        tree = self.freeze()
        if self.base_labels is None or tree.n_nodes > len(self.base_labels):
            return tree
        return replace(tree, label=self.base_labels)

    def freeze(self, leaf_of_row: NDArray[np.int32] | None = None) -> ThresholdTree:
        """The tree as it is now; ``leaf_of_row``: if it is known."""
        leaf_of_row = self.leaf_of_row() if leaf_of_row is None else leaf_of_row
        base, weights, regrets = self.costs.base, self.costs.weights, self.costs.regrets
        least = base.to_float(self._sum_by_node(base.values, leaf_of_row))
        return ThresholdTree.consistent(
            feature=self.feature,
            threshold=self.threshold,
            left=self.left,
            right=self.right,
            label=self.label,
            n_features=self.table.n_features,
            weight=np.diff(self._slice)[:, 0].astype(np.float64)
            if weights is None
            else weights.to_float(self._sum_by_node(weights.values, leaf_of_row)),
            costs=node_costs(least, regrets.to_float(np.array(self.totals))),
            growth=self.growth,
            **split_arrays(self.missing_left, self.categories),
        )

    def _add(self, begin: int, end: int, totals: NDArray[np.int64], label: int, depth: int) -> int:
        """A new leaf; an empty one keeps ``label``, its parent's."""
        cheapest = int(totals.argmin())
        self.totals.append(totals)
        self.margins.append(_NO_VALUES)
        self._cheapest.append(cheapest)
        self._regret.append(int(totals[cheapest]))
        self._slice.append((begin, end))
        return self.add_leaf(cheapest if end > begin else label, depth)

    def sum_of(self, costs: CostTable, rows: NDArray[np.int32]) -> NDArray[np.int64]:
        """What rows cost beyond their cheapest, for each center, by some table of costs."""
        return _core.sum_regrets(costs.regrets.for_search, rows, self.n_threads)

    def _sum(self, rows: NDArray[np.int32]) -> NDArray[np.int64]:
        return self.sum_of(self.costs, rows)

    def _sum_by_node(
        self, values: NDArray[np.int64], leaf_of_row: NDArray[np.int32]
    ) -> NDArray[np.int64]:
        """Sum of a column over the rows of each node, read in the order of the table."""
        sums = _core.sum_groups(values, leaf_of_row, self.n_nodes).tolist()
        for node in range(self.n_nodes - 1, -1, -1):  # children come after their parent
            if self.left[node] >= 0:
                sums[node] = sums[self.left[node]] + sums[self.right[node]]
        return np.array(sums, dtype=np.int64)
