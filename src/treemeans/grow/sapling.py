"""Sapling: a tree that grows. It knows which rows are in which node, and what they cost."""

import numpy as np
from numpy.typing import NDArray

from treemeans import _core
from treemeans.costs import CostTable
from treemeans.limits import Limits
from treemeans.tables import Table
from treemeans.tree import ThresholdTree

Cut = tuple[int, int, float, float]
"""Cost in fixed point, feature, and the two values of the feature next to the cut."""


class Sapling:
    """One leaf with all rows, to begin with; `split` makes it a tree.

    Nodes are numbered as they come. The rows of a node stand together in ``_rows``, so those of
    its children are two neighbouring parts of the same stretch.
    """

    def __init__(
        self, table: Table, costs: CostTable, n_threads: int, limits: Limits | None = None
    ) -> None:
        self.table = table
        self.costs = costs
        self.n_threads = n_threads
        self.limits = Limits() if limits is None else limits
        self.slot_prices = self.limits.slot_prices(table.bins.feature, costs.whole)
        self.feature: list[int] = []
        self.threshold: list[float] = []
        self.left: list[int] = []
        self.right: list[int] = []
        self.label: list[int] = []
        self.totals: list[NDArray[np.int64]] = []
        self.cheapest: list[int] = []
        self.depth: list[int] = []
        self._growth: list[int] = []
        self._stretch: list[tuple[int, int]] = []
        self._rows = costs.rows.copy()
        self._add(0, len(self._rows), self._sum(self._rows), label=0, depth=0)

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

    def rows(self, node: int) -> NDArray[np.int32]:
        """Rows in a node, ascending."""
        begin, end = self._stretch[node]
        return self._rows[begin:end]

    def weight(self, node: int) -> int:
        """Weight of a node's rows: their number, or in units of the cost table's weights."""
        rows, weights = self.rows(node), self.costs.weights
        return len(rows) if weights is None else int(weights.values[rows].sum())

    def may_cut(self, node: int) -> bool:
        """Whether the limits leave room for a cut of this leaf."""
        limits = self.limits
        if limits.max_depth is not None and self.depth[node] >= limits.max_depth:
            return False
        return limits.min_weight <= 1 or self.weight(node) >= 2 * limits.min_weight

    def price_of(self, feature: int) -> int:
        """What a cut on a feature must save more than, in fixed point."""
        prices = self.limits.slot_prices([feature], self.costs.whole)
        return 0 if prices is None else int(prices[0])

    def regret(self, node: int) -> int:
        """What the node's rows cost beyond each one's cheapest center, with the best label."""
        return int(self.totals[node][self.cheapest[node]])

    def relabel(self, node: int) -> None:
        """Label a node with its cheapest center, if it has rows."""
        if len(self.rows(node)) > 0:
            self.label[node] = self.cheapest[node]

    def split(self, node: int, feature: int, threshold: float) -> tuple[int, int]:
        """Cut a leaf. Its children are labelled by the surrogate cost."""
        begin, end = self._stretch[node]
        n_left = _core.partition(
            self.table.points, self._rows[begin:end], feature, threshold, self.n_threads
        )
        middle = begin + n_left
        # The smaller side is summed; the other is the difference, which is exact.
        if n_left <= end - middle:
            left_totals = self._sum(self._rows[begin:middle])
            right_totals = self.totals[node] - left_totals
        else:
            right_totals = self._sum(self._rows[middle:end])
            left_totals = self.totals[node] - right_totals
        label, depth = self.label[node], self.depth[node] + 1
        left = self._add(begin, middle, left_totals, label, depth)
        right = self._add(middle, end, right_totals, label, depth)
        self.feature[node], self.threshold[node] = feature, threshold
        self.left[node], self.right[node] = left, right
        self._growth[node] = self.n_leaves
        return left, right

    def leaf_of_row(self) -> NDArray[np.int32]:
        """Leaf of every row of the table; -1 for a row without weight, which is in none."""
        leaves = sorted(self.leaves, key=lambda leaf: self._stretch[leaf])
        found = np.full(self.table.n_rows, -1, dtype=np.int32)
        found[self._rows] = np.repeat(leaves, [len(self.rows(leaf)) for leaf in leaves])
        return found

    def freeze(self) -> ThresholdTree:
        """The tree as it is now."""
        base, weights, regrets = self.costs.base, self.costs.weights, self.costs.regrets
        return ThresholdTree(
            feature=np.array(self.feature),
            threshold=np.array(self.threshold),
            left=np.array(self.left),
            right=np.array(self.right),
            label=np.array(self.label),
            n_features=self.table.n_features,
            weight=np.diff(self._stretch)[:, 0].astype(np.float64)
            if weights is None
            else weights.to_float(self._sum_by_node(weights.values)),
            costs=base.to_float(self._sum_by_node(base.values))[:, None]
            + regrets.to_float(np.array(self.totals)),
            growth=np.array(self._growth),
        )

    def _add(self, begin: int, end: int, totals: NDArray[np.int64], label: int, depth: int) -> int:
        """A new leaf; an empty one keeps ``label``, its parent's."""
        self.feature.append(-1)
        self.threshold.append(np.nan)
        self.left.append(-1)
        self.right.append(-1)
        cheapest = int(totals.argmin())
        self.label.append(cheapest if end > begin else label)
        self.cheapest.append(cheapest)
        self.totals.append(totals)
        self.depth.append(depth)
        self._growth.append(0)
        self._stretch.append((begin, end))
        return self.n_nodes - 1

    def _sum(self, rows: NDArray[np.int32]) -> NDArray[np.int64]:
        return _core.sum_regrets(self.costs.regrets.values, rows, self.n_threads)

    def _sum_by_node(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Sum of a column over the rows of each node."""
        upto = np.concatenate([[0], np.cumsum(values[self._rows])])
        begin, end = np.array(self._stretch).T
        return np.asarray(upto[end] - upto[begin])


def between(low: float, high: float) -> float:
    """The threshold of a cut between two neighbouring values: half way, so on neither of them.

    Where no float lies between them it is the lower one, which still sends each to its side.
    """
    middle = low / 2 + high / 2
    return middle if low <= middle < high else low
