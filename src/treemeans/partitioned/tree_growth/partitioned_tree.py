"""PartitionedTree: a growing tree on the driver, whose rows are in partitions."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemeans.growth.growing_tree import Cut, GrowingTree
from treemeans.partitioned.pass_plan import expansion_passes
from treemeans.partitioned.tree_growth.best_cuts import (
    RESULT_BYTES,
    MakeScore,
    NodeSearch,
    find_cuts,
)
from treemeans.partitioned.tree_growth.bin_scores import BinCut, BinScore, surrogate_score
from treemeans.partitioned.tree_growth.code_edges import SumCodes
from treemeans.partitioned.tree_growth.feature_bins import FeatureBins
from treemeans.partitioned.tree_growth.histogram_pass import (
    HistogramRequests,
    Histograms,
    RowFilter,
    RowRouter,
    RowStats,
    SumHistograms,
)
from treemeans.partitioned.tree_growth.partitioned_data import PartitionedData
from treemeans.rows import as_points
from treemeans.split import Split, split_arrays

PASS_BYTES = 2 * RESULT_BYTES
"""About the size of the sums of codes that a pass may return."""
KEPT_BYTES = 4 * PASS_BYTES
"""Most bytes of sums that the driver keeps, to subtract a child's from its parent's."""

SumsByKind = tuple[dict[int, FeatureBins], dict[int, NDArray[np.int64]]]
"""Bins of the features of numbers, and sums by category of the others."""


@dataclass(eq=False)
class PartitionedNode:
    """A node of the tree, or one that is only considered: below a leaf that may be cut next.

    Attributes
    ----------
    depth : number of cuts above it
    sums : summed statistics of its rows (regrets, weight, count); None until a pass has summed them
    searched : whether its best cut is known
    cut : that cut; None if there is none
    split, children : how the node is cut, if it is
    parent : the node above it
    histograms : sums by code of the statistics of a kind, as long as they are kept
    """

    depth: int = 0
    sums: NDArray[np.int64] | None = None
    searched: bool = False
    cut: BinCut | None = None
    split: Split | None = None
    children: tuple[PartitionedNode, PartitionedNode] | None = None
    parent: PartitionedNode | None = None
    histograms: dict[RowStats, NDArray[np.int64]] = field(default_factory=dict)
    key: int = -1

    @property
    def sibling(self) -> PartitionedNode | None:
        """The other child of the parent."""
        if self.parent is None or self.parent.children is None:
            return None
        first, second = self.parent.children
        return second if self is first else first if self is second else None

    def divide(self, split: Split) -> tuple[PartitionedNode, PartitionedNode]:
        """Cut the node. The best cut knows the sums of its children: no pass is needed."""
        if self.split is None or not _is_same(split, self.split):
            self.split = split
            self.children = (
                PartitionedNode(self.depth + 1, parent=self),
                PartitionedNode(self.depth + 1, parent=self),
            )
            if self.sums is not None and self.cut is not None and _is_same(split, self.best_split):
                left = np.array(self.cut.left, dtype=np.int64)
                self.children[0].sums, self.children[1].sums = left, self.sums - left
        assert self.children is not None
        return self.children

    @property
    def best_split(self) -> Split:
        """The split of the best cut."""
        assert self.cut is not None
        cut = self.cut.as_cut()
        return Split(cut.feature, cut.threshold, cut.missing_left, tuple(cut.categories))

    def subtree(self) -> Iterator[PartitionedNode]:
        """The node and all nodes below it."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(node.children or ())


def _is_same(one: Split, other: Split) -> bool:
    """Whether two splits send all rows the same way; the threshold of a category is NaN."""
    same = one.threshold == other.threshold or (one.is_categorical and other.is_categorical)
    return same and (one.feature, one.missing_left, one.categories) == (
        other.feature,
        other.missing_left,
        other.categories,
    )


class PartitionedTree(GrowingTree):
    """A growing tree whose rows are in partitions.

    A pass over the rows is expensive, so `least_cut` searches every leaf that may be asked for soon
    in one: all leaves that are not searched yet, and the children of those that may be cut next, as
    if they had been cut. The tree may or may not come to have these children.

    Attributes
    ----------
    data : the rows, and what is known of them
    max_leaves : the number of leaves it may grow to, which tells how many cuts are to come
    """

    def __init__(self, data: PartitionedData, max_leaves: int) -> None:
        super().__init__()
        self.data = data
        self.limits = data.limits
        self.allowed, self.comparable = data.allowed, data.comparable
        self.whole = data.whole
        self.max_leaves = max_leaves
        self.totals = _Totals(self)
        self._features = np.flatnonzero(data.allowed).tolist()
        self._nodes = [PartitionedNode()]
        self._keys = itertools.count()
        self._token = uuid.uuid4().hex
        self._kept_bytes = 0
        self._labelled = False
        self.add_leaf(0, 0)

    def node(self, number: int) -> PartitionedNode:
        """A node of the tree."""
        return self._nodes[number]

    def sums(self, number: int) -> NDArray[np.int64]:
        """The summed statistics of a node's rows; one pass sums all leaves if they are unknown."""
        node = self._nodes[number]
        if node.sums is None:
            if node.children is not None and self.feature[number] >= 0:
                left, right = self.left[number], self.right[number]
                node.sums = self.sums(left) + self.sums(right)
            else:
                self._sum_rows([self._nodes[leaf] for leaf in self.leaves])
        assert node.sums is not None
        return node.sums

    def weight(self, node: int) -> int:
        """Weight of a node's rows."""
        return int(self.sums(node)[self.data.n_clusters])

    def split(
        self,
        node: int,
        feature: int,
        threshold: float,
        missing_left: bool | None = None,
        categories: tuple[int, ...] = (),
    ) -> tuple[int, int]:
        """Cut a leaf. Its children are labelled later, by `settle`, if their sums are unknown."""
        split = Split(feature, threshold, missing_left, tuple(categories))
        first, second = self._nodes[node].divide(split)
        left = self._add(first, node)
        right = self._add(second, node)
        self.make_inner(node, split, left, right)
        return left, right

    def _add(self, node: PartitionedNode, parent: int) -> int:
        self._nodes.append(node)
        number = self.add_leaf(self.label[parent], self.depth[parent] + 1)
        if node.sums is None:
            self._labelled = False
        elif self._labelled:
            self.relabel(number)
        return number

    def relabel(self, node: int) -> None:
        """Label a node with its cheapest center, if it has rows."""
        self.settle()
        super().relabel(node)

    def settle(self) -> None:
        """Label all nodes with their cheapest center, and empty ones like their parent.

        Nothing happens if every node has a label: an empty leaf that was given the label of its
        center keeps it.
        """
        if self._labelled:
            return
        self._labelled = True
        for number in range(self.n_nodes):
            super().relabel(number)
            if self.feature[number] >= 0:
                for child in (self.left[number], self.right[number]):
                    self.label[child] = self.label[number]

    def least_cut(self, node: int) -> Cut | None:
        """The cut of a leaf that leaves the least surrogate cost, within the limits."""
        if not self.may_cut(node):
            return None
        here = self._nodes[node]
        if not here.searched:
            self._search(self._worth_searching(here))
        if here.cut is None:
            return None
        cut = here.cut.as_cut()
        return cut if self.is_worth_making(node, cut) else None

    def _worth_searching(self, asked: PartitionedNode) -> list[PartitionedNode]:
        """The node that is asked for, and others that are likely to be asked for soon.

        With m cuts to come, a leaf that is cut is among the m that gain most. The children of these
        leaves are considered, and searched in the same pass as the leaves.
        """
        leaves = [self._nodes[leaf] for leaf in self.leaves]
        self._sum_rows(leaves)
        n_cuts = self.max_leaves - self.n_leaves
        gains = sorted((self._gain(leaf) for leaf in leaves if leaf.searched), reverse=True)
        least = gains[n_cuts - 1] if len(gains) >= n_cuts else 0
        ends = [node for leaf in leaves for node in leaf.subtree() if node.children is None]
        likely = [node for node in ends if node.cut is not None and self._gain(node) >= least]
        found = [node for node in ends if not node.searched]
        for node in sorted(likely, key=self._gain, reverse=True)[:n_cuts]:
            found += node.divide(node.best_split)
        return [asked, *(n for n in found if n is not asked and self._may_gain(n, least))]

    def _gain(self, node: PartitionedNode) -> int:
        return -1 if node.cut is None else self._regret(node) - node.cut.cost

    def _regret(self, node: PartitionedNode) -> int:
        assert node.sums is not None
        return int(node.sums[: self.data.n_clusters].min())

    def _may_gain(self, node: PartitionedNode, least: int) -> bool:
        """Whether a cut of a node may gain ``least``: no cut gains more than the node's regret."""
        if node.searched or node.sums is None or self._regret(node) < max(least, 1):
            return False
        weight = int(node.sums[self.data.n_clusters])
        return self.limits.may_cut(node.depth, lambda: weight)

    def _search(self, nodes: list[PartitionedNode]) -> None:
        self.data.rows.expect_passes(expansion_passes(self.max_leaves - self.n_leaves))
        limits, k = self.limits, self.data.n_clusters
        prices = limits.slot_prices(range(self.data.n_features), self.whole)

        def score(sums: NDArray[np.int64]) -> BinScore:
            return surrogate_score(sums, k, limits, prices, self.data.kinds.may_miss)

        found = self.search_cuts(nodes, RowStats(self.data.weights_matter), [score] * len(nodes))
        for node, (cut, sums) in zip(nodes, found, strict=True):
            node.sums, node.cut, node.searched = sums, cut, True

    def search_cuts(
        self,
        nodes: Sequence[PartitionedNode],
        row_stats: RowStats,
        scores: Sequence[MakeScore],
    ) -> list[tuple[BinCut | None, NDArray[np.int64]]]:
        """The best cut of each node by its score, and the summed statistics of its rows."""
        found: list[tuple[BinCut | None, NDArray[np.int64]]] = []
        for some in self._batches(range(len(nodes)), row_stats):
            targets = [nodes[number] for number in some]
            found += self._search_together(targets, row_stats, [scores[n] for n in some])
        return found

    def _search_together(
        self,
        nodes: list[PartitionedNode],
        row_stats: RowStats,
        scores: list[MakeScore],
    ) -> list[tuple[BinCut | None, NDArray[np.int64]]]:
        data = self.data
        router = self._router(nodes)

        def begin(searches: list[NodeSearch]) -> None:
            histograms = self._sum_codes(nodes, row_stats)
            for search, histogram in zip(searches, histograms, strict=True):
                search.begin(*self._by_kind(histogram))

        def run_pass(requests: HistogramRequests, values: HistogramRequests) -> Histograms:
            keep = data.edges.inside(requests), data.edges.inside(values)
            filters = RowFilter(data.edges.token, *keep)
            return data.map_reduce(
                SumHistograms(data.cost_builder, router, row_stats, requests, values, filters)
            )

        searches = [NodeSearch(number, score) for number, score in enumerate(scores)]
        find_cuts(searches, data.n_clusters + 2, begin, run_pass)
        found = []
        for done in searches:
            assert done.sums is not None
            found.append((done.best, done.sums))
        return found

    def _by_kind(self, histogram: NDArray[np.int64]) -> SumsByKind:
        """The bins of the features of numbers, and the sums of the categories of the others."""
        data, bins, categories = self.data, dict[int, FeatureBins](), {}
        pieces = np.split(histogram, self._first_bins[1:-1])
        for feature, sums in zip(self._features, pieces, strict=True):
            n_codes = data.kinds.n_codes[feature]
            if n_codes:
                categories[feature] = np.concatenate([sums[:n_codes], sums[-1:]])
            else:
                may_miss = bool(data.kinds.may_miss[feature])
                bins[feature] = data.ranges.with_sums(data.edges, feature, sums, may_miss=may_miss)
        return bins, categories

    def sums_of_root(self, row_stats: RowStats) -> SumsByKind:
        """The bins and the sums of categories of all rows."""
        (histogram,) = self._sum_codes([self._nodes[0]], row_stats)
        return self._by_kind(histogram)

    # ---- sums by code ----------------------------------------------------------------------------
    # Codes are the same in all nodes: a node's sums are those of its two children together. So only
    # the smaller child of a node is summed, and the larger one is the difference.

    @property
    def _first_bins(self) -> NDArray[np.int64]:
        """Where the bins of each feature begin in the sums of a node, and their end."""
        sizes = [self.data.edges.n_bins(feature) for feature in self._features]
        return np.concatenate([[0], np.cumsum(sizes)])

    def _node_bytes(self, row_stats: RowStats) -> int:
        width = self.data.n_clusters + (2 if row_stats.weighted else 1)
        return max(1, 8 * width * int(self._first_bins[-1]))

    def _batches(self, numbers: range, row_stats: RowStats) -> Iterator[list[int]]:
        """As many nodes at a time as a pass may return the sums of."""
        together = max(1, PASS_BYTES // self._node_bytes(row_stats))
        return (list(numbers[at : at + together]) for at in range(0, len(numbers), together))

    def _sum_codes(
        self, nodes: Sequence[PartitionedNode], row_stats: RowStats
    ) -> list[NDArray[np.int64]]:
        """The sums by code of some nodes, in one pass at most."""
        asked = self._to_sum(nodes, row_stats)
        found: dict[PartitionedNode, NDArray[np.int64]] = {}
        if asked:
            found = dict(zip(asked, self._make_pass(asked, row_stats, self._features), strict=True))

        def sums_of(node: PartitionedNode | None) -> NDArray[np.int64] | None:
            return None if node is None else found.get(node, node.histograms.get(row_stats))

        for node in nodes:
            if sums_of(node) is None:
                whole, part = sums_of(node.parent), sums_of(node.sibling)
                assert whole is not None
                assert part is not None
                found[node] = whole - part
        self._keep(found, row_stats)
        return [found[node] if node in found else node.histograms[row_stats] for node in nodes]

    def _to_sum(
        self, nodes: Sequence[PartitionedNode], row_stats: RowStats
    ) -> list[PartitionedNode]:
        """The nodes to sum in a pass, so that the sums of all ``nodes`` follow."""
        sizes = self._sample_sizes(nodes)
        asked: list[PartitionedNode] = []
        for node in nodes:
            if row_stats in node.histograms or node in asked:
                continue
            sibling = node.sibling
            has_parent = node.parent is not None and row_stats in node.parent.histograms
            if sibling is None or not has_parent:
                asked.append(node)
            elif row_stats in sibling.histograms or sibling in asked:
                continue  # it is the difference
            else:
                asked.append(min(sibling, node, key=lambda n: sizes.get(n, 0)))
        return asked

    def _sample_sizes(self, nodes: Sequence[PartitionedNode]) -> dict[PartitionedNode, int]:
        """About how large nodes and their siblings are: rows of the sample."""
        both = list(dict.fromkeys(n for node in nodes for n in (node, node.sibling) if n))
        groups = self._router(both).of_points(as_points(self.data.summary.sample))
        counts = np.bincount(groups[groups >= 0], minlength=len(both))
        return dict(zip(both, counts.tolist(), strict=True))

    def _keep(self, found: dict[PartitionedNode, NDArray[np.int64]], row_stats: RowStats) -> None:
        """Keep sums while there is room; those of a parent go when both children have theirs."""
        for node, sums in found.items():
            if self._kept_bytes + sums.nbytes <= KEPT_BYTES:
                node.histograms[row_stats] = sums
                self._kept_bytes += sums.nbytes
        for node in found:
            parent, sibling = node.parent, node.sibling
            family = [node, sibling, parent]
            if all(each is not None and row_stats in each.histograms for each in family):
                assert parent is not None
                self._kept_bytes -= parent.histograms.pop(row_stats).nbytes

    def forget_sums(self, row_stats: RowStats) -> None:
        """Drop the sums by code of some statistics."""
        for node in self._nodes[0].subtree():
            dropped = node.histograms.pop(row_stats, None)
            self._kept_bytes -= 0 if dropped is None else dropped.nbytes

    def _make_pass(
        self, nodes: Sequence[PartitionedNode], row_stats: RowStats, features: list[int]
    ) -> NDArray[np.int64]:
        return self.data.map_reduce(
            SumCodes(
                self.data.cost_builder,
                self._router(nodes),
                row_stats,
                self.data.edges,
                np.array(features, dtype=np.int32),
                len(nodes),
            )
        )

    def _sum_rows(self, nodes: Iterable[PartitionedNode]) -> None:
        """Sum the rows of nodes whose sums are unknown, in one pass.

        If more cuts are to come, the sums by code are wanted next: the same pass gives both.
        """
        unknown = [node for node in nodes if node.sums is None]
        if not unknown:
            return
        row_stats = RowStats(self.data.weights_matter)
        if self.n_leaves >= self.max_leaves or len(self._features) == 0:
            found = self._make_pass(unknown, row_stats, [0])
            for node, sums in zip(unknown, found.sum(axis=1), strict=True):
                node.sums = sums
            return
        first = slice(0, self.data.edges.n_bins(self._features[0]))
        for some in self._batches(range(len(unknown)), row_stats):
            targets = [unknown[number] for number in some]
            for node, histogram in zip(targets, self._sum_codes(targets, row_stats), strict=True):
                node.sums = histogram[first].sum(axis=0)

    def _router(self, targets: Sequence[PartitionedNode]) -> RowRouter:
        """The tree with all considered nodes; the groups are the positions of the targets."""
        group = {id(node): number for number, node in enumerate(targets)}
        nodes = list(self._nodes[0].subtree())
        number = {id(node): i for i, node in enumerate(nodes)}
        left = [-1 if n.children is None else number[id(n.children[0])] for n in nodes]
        right = [-1 if n.children is None else number[id(n.children[1])] for n in nodes]
        splits = [n.split for n in nodes]
        return RowRouter(
            np.array([-1 if split is None else split.feature for split in splits], dtype=np.int32),
            np.array([np.nan if split is None else split.threshold for split in splits]),
            np.array(left, dtype=np.int32),
            np.array(right, dtype=np.int32),
            np.array([group.get(id(n), -1) for n in nodes], dtype=np.int32),
            np.array([self._key_of(n) for n in nodes], dtype=np.int32),
            self._token,
            self.other_splits(
                [None if split is None else split.missing_left for split in splits],
                [() if split is None else split.categories for split in splits],
            ),
        )

    def other_splits(
        self, missing_left: Sequence[bool | None], categories: Sequence[tuple[int, ...]]
    ) -> dict[str, NDArray[Any]]:
        """What the kernels must be told of nodes that are cut by more than thresholds."""
        if not self.data.is_mixed:
            return {}
        found = split_arrays(missing_left, categories)
        kinds = {"missing_left": np.int8, "category_first": np.int64, "category_codes": np.int32}
        return {name: found[name].astype(kind) for name, kind in kinds.items()}

    def _key_of(self, node: PartitionedNode) -> int:
        """The identity of a node, by which partitions know which rows it has."""
        if node.key < 0:
            node.key = next(self._keys)
        return node.key


class _Totals(Sequence[NDArray[np.int64]]):
    """The summed regrets of each node, looked up when they are needed."""

    def __init__(self, tree: PartitionedTree) -> None:
        self._tree = tree

    def __len__(self) -> int:
        return self._tree.n_nodes

    def __getitem__(self, node: int) -> NDArray[np.int64]:  # type: ignore[override]
        sums: NDArray[np.int64] = self._tree.sums(node)
        return sums[: self._tree.data.n_clusters]
