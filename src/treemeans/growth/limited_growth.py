"""Growth within limits on clusters: a tree, and the best labels of its leaves at every size.

A cut never makes limits on clusters harder to meet, because both sides can keep the label of the
leaf: once a tree of some size has labels within the limits, all larger ones have, and at no higher
surrogate cost. So the question is how to get there with few leaves. Every cut of the expansion is
the best one by costs plus prices (see `limit_prices`), then the leaves are labelled exactly, at
every size. Where no limit is in the way all prices are zero, and the tree is the usual one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treemeans.cluster_limits import ClusterLimits
from treemeans.growth.base_tree import base_tree
from treemeans.growth.equal_leaves import equal_leaves
from treemeans.growth.expansion import bases_to_try, expand, grow
from treemeans.growth.growing_tree import Cut
from treemeans.growth.in_memory_tree import InMemoryTree
from treemeans.growth.leaf_labeller import Labels, LeafLabeller, leaves_at
from treemeans.growth.limit_prices import Floats, RowSums, multipliers
from treemeans.progress import Progress
from treemeans.training_data import TrainingData
from treemeans.tree import ThresholdTree

_MARGINS = (0.0, 0.3)
"""How much tighter than the limits prices are made: leaves are not divisible, so that where limits
are tight the labels need some room."""


@dataclass(frozen=True)
class LimitedTree:
    """A grown tree and its labels.

    Attributes
    ----------
    growing : the tree
    labels : of all nodes, for each number of leaves at which there are labels within the limits;
        only those of the leaves at that size count
    """

    growing: InMemoryTree
    labels: dict[int, Labels]

    @property
    def cost(self) -> int:
        """Surrogate cost beyond each row's cheapest cluster, of the largest tree."""
        n_leaves = max(self.labels)
        labels = self.labels[n_leaves]
        nodes = leaves_at(self.growing, n_leaves)
        return sum(int(self.growing.totals[node][labels[node]]) for node in nodes)


def grow_within_limits(
    data: TrainingData, base: str | ThresholdTree, max_leaves: int, progress: Progress
) -> LimitedTree:
    """Grow a tree whose clusters meet the limits.

    If the tree that grows without limits meets them, it is taken. Otherwise one grows from the same
    base tree with prices, then with tighter ones, then from other bases, the last of which has
    leaves of equal weight. ``"best"``: the cheapest of several.

    Raises
    ------
    ValueError
        if none was found, with the nearest limits that a tree can meet
    """
    limits = data.limits.clusters
    assert limits is not None
    bases = bases_to_try(data) if base == "best" else [base]
    plain = grow(data, base, max_leaves, progress)
    if LeafLabeller(plain, limits).is_met_by_cheapest():
        return _labelled(plain, limits)
    for margin in _MARGINS:
        found = []
        for each in bases:
            growing = base_tree(data, each, progress)
            tree = _grow(data, limits, growing, max_leaves, margin, progress)
            found += [tree] if tree.labels else []
        if found:
            return min(found, key=lambda tree: tree.cost)
    for make in (InMemoryTree, _equal_leaves):
        tree = _grow(data, limits, make(data), max_leaves, _MARGINS[-1], progress)
        if tree.labels:
            return tree
    raise ValueError(_nearest(tree.growing, limits, max_leaves))


def _equal_leaves(data: TrainingData) -> InMemoryTree:
    """A leaf of equal weight for each cluster."""
    growing = InMemoryTree(data)
    equal_leaves(growing, len(data.centers))
    return growing


def _nearest(growing: InMemoryTree, limits: ClusterLimits, max_leaves: int) -> str:
    """One sentence about the limits, with the nearest ones that a tree was found to meet.

    Of all that are tried, the tree with leaves of equal weight mostly comes nearest.
    """
    nearest = LeafLabeller(growing, limits).nearest()
    return (
        f"No tree of up to {max_leaves} leaves was found whose clusters all meet {limits.words}; "
        f"the nearest limits that one meets are {nearest.words}. Relax the limits to these, or "
        "allow more leaves (max_leaf_nodes)."
    )


def _grow(
    data: TrainingData,
    limits: ClusterLimits,
    growing: InMemoryTree,
    max_leaves: int,
    margin: float,
    progress: Progress,
) -> LimitedTree:
    """Expand a base tree by costs and prices, and label it at every size."""
    growing.begin_expansion()
    expansion = _PricedExpansion(data, limits, growing, margin)
    while growing.n_leaves < max_leaves and expansion.cut():
        progress.update(growing.n_leaves)
    growing.reprice(data.costs)
    for leaf in growing.leaves:
        growing.relabel(leaf)
    return _labelled(growing, limits)


def _labelled(growing: InMemoryTree, limits: ClusterLimits) -> LimitedTree:
    """A tree and its labels, at every size from its base tree's."""
    assert growing.base_labels is not None  # it was expanded
    fewest = (len(growing.base_labels) + 1) // 2
    return LimitedTree(growing, LeafLabeller(growing, limits).all_sizes(fewest))


def prices_of(data: TrainingData, growing: InMemoryTree, margin: float) -> Floats | None:
    """The prices of a tree whose costs are without prices; None where no limit is in the way."""
    assert data.limits.clusters is not None
    return _PricedExpansion(data, data.limits.clusters, growing, margin).prices


class _PricedExpansion:
    """Cuts leaves one by one, by costs plus prices that are found again after every cut."""

    def __init__(
        self, data: TrainingData, limits: ClusterLimits, growing: InMemoryTree, margin: float
    ) -> None:
        self._data = data
        self._growing = growing
        self._unit = growing.costs.regrets.unit
        self._sums = RowSums.of(limits, data, margin)
        self._costs = {leaf: growing.totals[leaf] for leaf in growing.leaves}  # without prices
        self._of_leaf = {leaf: self._sums.of_rows(growing.rows(leaf)) for leaf in growing.leaves}
        self._multipliers = np.zeros((len(self._sums.most), data.costs.n_clusters))
        self._cuts: dict[int, Cut | None] = {}  # of the leaves that were searched at these prices

    @property
    def prices(self) -> Floats | None:
        """The prices of all rows by now; None where all are zero."""
        costs, sums = self._leaf_sums()
        self._multipliers = self._found(costs, sums)
        return self._sums.prices(self._multipliers) if self._multipliers.any() else None

    def cut(self) -> bool:
        """Make the best cut, if there is one."""
        growing = self._growing
        before = growing.n_leaves
        self._find_prices()
        expand(growing, growing.leaves, before + 1, self._best_cut)
        if growing.n_leaves == before:
            return False
        parent = int(np.argmax(growing.growth))
        for child in (growing.left[parent], growing.right[parent]):
            rows = growing.rows(child)
            self._costs[child] = growing.sum_of(self._data.costs, rows)
            self._of_leaf[child] = self._sums.of_rows(rows)
        return True

    def _best_cut(self, leaf: int) -> Cut | None:
        if leaf not in self._cuts:
            self._cuts[leaf] = self._growing.least_cut(leaf)
        return self._cuts[leaf]

    def _leaf_sums(self) -> tuple[Floats, Floats]:
        """Costs of the leaves without prices, and what they add to the sums of their clusters."""
        leaves = self._growing.leaves
        unit = self._unit / self._data.total_weight
        costs = np.array([self._costs[leaf] for leaf in leaves]) * unit
        return costs, np.array([self._of_leaf[leaf] for leaf in leaves]).T

    def _found(self, costs: Floats, sums: Floats) -> Floats:
        if self._within(costs.argmin(axis=1), sums):
            return np.zeros_like(self._multipliers)
        return multipliers(costs, sums, self._sums.most)

    def _find_prices(self) -> None:
        leaves, data = self._growing.leaves, self._data
        found = self._found(*self._leaf_sums())
        if np.array_equal(found, self._multipliers):
            return
        self._multipliers = found
        self._cuts.clear()
        prices = self._sums.prices(found)
        weighed = prices if data.weights is None else prices * data.weights[:, None]
        self._growing.reprice(data.costs.with_prices(weighed), leaves)

    def _within(self, labels: NDArray[np.intp], sums: Floats) -> bool:
        """Whether the cheapest labels meet all requirements, so that nothing has a price."""
        k = self._multipliers.shape[1]
        return all(
            np.all(np.bincount(labels, row, minlength=k) <= most)
            for row, most in zip(sums, self._sums.most, strict=True)
        )
