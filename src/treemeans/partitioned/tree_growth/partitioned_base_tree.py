"""Base trees on partitioned rows: IMM, EMN, or a tree that the user gives."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from treemeans.growth.given_tree import replay
from treemeans.growth.growing_tree import Cut
from treemeans.growth.mistake_search import SHIFT
from treemeans.growth.separate_centers import separate
from treemeans.partitioned.pass_plan import separation_levels, separation_passes
from treemeans.partitioned.tree_growth.best_cuts import MakeScore
from treemeans.partitioned.tree_growth.bin_scores import BinCut, BinScore
from treemeans.partitioned.tree_growth.histogram_pass import RowStats
from treemeans.partitioned.tree_growth.mistake_bins import BalancedMistakeScore, MistakeScore
from treemeans.partitioned.tree_growth.partitioned_tree import PartitionedTree
from treemeans.progress import Progress
from treemeans.tree import ThresholdTree


def grow_imm(tree: PartitionedTree, progress: Progress) -> None:
    """Cut a tree of one leaf until every leaf holds one center (IMM)."""
    data = tree.data
    row_stats = RowStats(data.weights_matter, of_labels=True)
    by_feature = np.array(data.columns.T, order="C")
    compared = by_feature[tree.comparable] if tree.comparable.any() else by_feature
    placed = np.flatnonzero(np.isfinite(compared).all(axis=0))
    if data.is_mixed:
        _place_centers(tree, row_stats, by_feature)
        placed = data.placed
    search = PartitionedMistakeSearch(tree, by_feature, placed)
    separate(tree, by_feature, search, progress, placed if data.is_mixed else None)
    tree.forget_sums(row_stats)


def grow_emn(tree: PartitionedTree, progress: Progress) -> None:
    """Cut a tree of one leaf until every leaf holds one center, by balanced cuts (EMN)."""
    data = tree.data
    if not tree.comparable.any():
        return  # as in memory: the expansion cuts columns of categories
    by_feature = np.array(data.columns.T, order="C")
    placed = np.flatnonzero(np.isfinite(by_feature[tree.comparable]).all(axis=0))
    search = PartitionedMistakeSearch(tree, by_feature, placed, per_center=True)
    separate(tree, by_feature, search, progress, placed)
    tree.forget_sums(RowStats(data.weights_matter, of_labels=True))


def _place_centers(
    tree: PartitionedTree, row_stats: RowStats, by_feature: NDArray[np.float64]
) -> None:
    """Set the places of the centers in columns of categories and columns with missing values.

    As in `growth.mixed_mistakes`: the category that most rows of a center have, the mean of those
    that have a value, which is there already, or NaN if most of them have none.
    """
    k = tree.data.n_clusters
    bins, categories = tree.sums_of_root(row_stats)
    for feature, found in bins.items():
        if found.missing is not None:
            absent = 2 * found.missing[:k] > found.total[:k]
            by_feature[feature, absent] = np.nan
    for feature, sums in categories.items():
        place = sums[:, :k].argmax(axis=0)
        by_feature[feature] = np.where(place == len(sums) - 1, np.nan, place)


class PartitionedMistakeSearch:
    """Finds the cut with the fewest mistakes, for all open nodes of IMM in the same passes.

    Parameters
    ----------
    by_feature : (n_features, k), the centers; NaN where one has no place
    placed : those that get a leaf
    per_center : whether the mistakes are divided by the smaller number of centers on either side,
        and a side without rows is no side (EMN)
    """

    def __init__(
        self,
        tree: PartitionedTree,
        by_feature: NDArray[np.float64],
        placed: NDArray[np.intp],
        *,
        per_center: bool = False,
    ) -> None:
        self._tree = tree
        self._unit = _least_multiple(len(placed)) if per_center else 0
        self._by_feature = by_feature
        self._open = {0: placed}
        self._found: dict[int, BinCut | None] = {}
        self._goes_left = np.zeros(by_feature.shape[1], dtype=bool)

    def cut(self, node: int, members: NDArray[np.intp]) -> Cut | None:
        """The best cut with one of the ``members`` on each side; None if there is none."""
        if node not in self._found:
            self._search()
        cut = self._found[node]
        if cut is None:
            return None
        found = cut._replace(cost=cut.cost // max(self._unit, 1)).as_cut()
        self._goes_left = np.asarray(self._by_feature[cut.feature] <= found.threshold)
        assert cut.goes_left is not None
        self._goes_left[self._open[node]] = cut.goes_left
        return found

    def centers_left(self, cut: Cut) -> NDArray[np.bool_]:
        """Which centers go left with the cut that was found last."""
        return self._goes_left

    def carried_out(self, node: int, left: int, goes_left: NDArray[np.bool_]) -> None:
        """Open both children of a node that was cut, each with its centers."""
        members = self._open.pop(node)
        self._open[left] = members[goes_left[members]]
        self._open[left + 1] = members[~goes_left[members]]

    def _search(self) -> None:
        """Search all open nodes with several centers that have not been searched."""
        tree, data = self._tree, self._tree.data
        nodes = [
            node
            for node, members in self._open.items()
            if len(members) > 1 and node not in self._found and tree.may_cut(node)
        ]
        most = max((len(self._open[node]) for node in nodes), default=0)
        data.rows.expect_passes(separation_passes(separation_levels(most, self._unit > 0)))
        found = tree.search_cuts(
            [tree.node(node) for node in nodes],
            RowStats(data.weights_matter, of_labels=True),
            [self._score_of(self._open[node]) for node in nodes],
        )
        self._found.update(zip(nodes, (cut for cut, _ in found), strict=True))

    def _score_of(self, members: NDArray[np.intp]) -> MakeScore:
        data, limits = self._tree.data, self._tree.limits
        shift = 0 if data.weighted else SHIFT
        prices = limits.slot_prices(
            range(data.n_features), math.ldexp(float(data.total_weight), shift)
        )
        if not self._unit:
            limits = replace(limits, min_weight=limits.min_weight if limits.min_weight > 1 else 0)
        k, centers = data.n_clusters, self._by_feature[:, members]
        kind, more = MistakeScore, dict[str, int]()
        if self._unit:
            kind, more = BalancedMistakeScore, {"unit": self._unit}

        def score(sums: NDArray[np.int64]) -> BinScore:
            weight = int(sums[k])
            return kind(
                centers,
                members,
                sums[members],
                k,
                weight,
                limits,
                prices,
                shift,
                data.kinds.mixed,
                data.kinds.may_miss,
                **more,
            )

        return score


def _least_multiple(n_centers: int) -> int:
    """The least number that every possible smaller half of some centers divides."""
    return math.lcm(*range(1, max(n_centers // 2, 1) + 1))


def follow_tree(tree: PartitionedTree, given: ThresholdTree) -> None:
    """Cut a tree of one leaf as ``given`` is cut. Leaves are labelled by the surrogate cost.

    A cut that the limits forbid is not made, and what is below it is dropped: one on a feature that
    may not be cut, too deep, with too light a side, or that saves less than its price.
    """
    trial = _Trial(tree, given)
    inner = np.flatnonzero(~given.is_leaf).tolist()
    forbidden = {node for node in inner if not tree.limits.permits(_TrialCut(trial, node))}
    _replay(tree, given, forbidden)
    tree.settle()


def _replay(tree: PartitionedTree, given: ThresholdTree, forbidden: set[int]) -> dict[int, int]:
    """Make the cuts that are not forbidden, in their order of growth; the node for each node."""

    def cut(here: int, node: int) -> tuple[int, int] | None:
        if node in forbidden:
            return None
        split = given.split(node)
        return tree.split(
            here, split.feature, split.threshold, split.missing_left, split.categories
        )

    return replay(given, cut)


class _Trial:
    """A given tree with all its cuts: one pass tells the weights and costs of all its nodes."""

    def __init__(self, tree: PartitionedTree, given: ThresholdTree) -> None:
        self.tree, self.given, self.depths = tree, given, given.depth

    @cached_property
    def _replayed(self) -> tuple[PartitionedTree, dict[int, int]]:
        trial = PartitionedTree(self.tree.data, self.given.n_leaves)
        return trial, _replay(trial, self.given, set())

    def weight(self, node: int) -> int:
        trial, place = self._replayed
        return trial.weight(place[node])

    def regret(self, node: int) -> int:
        trial, place = self._replayed
        return trial.regret(place[node])


@dataclass(frozen=True)
class _TrialCut:
    """A cut of a given tree; what `Limits.permits` asks of it."""

    trial: _Trial
    node: int

    @property
    def _children(self) -> tuple[int, int]:
        given = self.trial.given
        return int(given.left[self.node]), int(given.right[self.node])

    @property
    def feature(self) -> int:
        return int(self.trial.given.feature[self.node])

    @property
    def is_allowed(self) -> bool:
        return bool(self.trial.tree.allowed[self.feature])

    @property
    def depth(self) -> int:
        return int(self.trial.depths[self.node])

    @property
    def weight(self) -> int:
        return self.trial.weight(self.node)

    @property
    def lighter_weight(self) -> int:
        return min(self.trial.weight(child) for child in self._children)

    @property
    def saved(self) -> int:
        left, right = (self.trial.regret(child) for child in self._children)
        return self.trial.regret(self.node) - left - right

    @property
    def price(self) -> int:
        return self.trial.tree.price_of(self.feature)
