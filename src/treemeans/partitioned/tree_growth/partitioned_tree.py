"""PartitionedTree: a growing tree on the driver, whose rows are in partitions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treemeans.growth.growing_tree import Cut, GrowingTree, between
from treemeans.partitioned.tree_growth.best_cuts import MakeScore, NodeSearch, find_cuts
from treemeans.partitioned.tree_growth.bin_scores import BinCut, BinScore, surrogate_score
from treemeans.partitioned.tree_growth.feature_bins import quantile_edges
from treemeans.partitioned.tree_growth.histogram_pass import (
    HistogramRequest,
    HistogramRequests,
    Histograms,
    RowRouter,
    RowStats,
    SumHistograms,
)
from treemeans.partitioned.tree_growth.partitioned_data import PartitionedData
from treemeans.rows import as_points
from treemeans.split import Split


@dataclass(eq=False)
class PartitionedNode:
    """A node of the tree, or one that is only considered: below a leaf that may be cut next.

    Attributes
    ----------
    depth : number of cuts above it
    sums : summed statistics of its rows (regrets, weight, count); None until a pass has summed them
    searched : whether its best cut is known
    cut : that cut; None if there is none
    feature, threshold, children : how the node is cut, if it is
    """

    depth: int = 0
    sums: NDArray[np.int64] | None = None
    searched: bool = False
    cut: BinCut | None = None
    feature: int = -1
    threshold: float = np.nan
    children: tuple[PartitionedNode, PartitionedNode] | None = None

    def divide(self, feature: int, threshold: float) -> tuple[PartitionedNode, PartitionedNode]:
        """Cut the node. The best cut knows the sums of its children: no pass is needed."""
        known = self.children is not None and (feature, threshold) == (self.feature, self.threshold)
        if not known:
            self.feature, self.threshold = feature, threshold
            self.children = PartitionedNode(self.depth + 1), PartitionedNode(self.depth + 1)
            if self.sums is not None and self._is_best(feature, threshold):
                assert self.cut is not None
                left = np.array(self.cut.left, dtype=np.int64)
                self.children[0].sums, self.children[1].sums = left, self.sums - left
        assert self.children is not None
        return self.children

    def _is_best(self, feature: int, threshold: float) -> bool:
        cut = self.cut
        return cut is not None and (feature, threshold) == (
            cut.feature,
            between(cut.low, cut.high),
        )

    def subtree(self) -> Iterator[PartitionedNode]:
        """The node and all nodes below it."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(node.children or ())


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
        self.allowed = self.comparable = data.allowed
        self.whole = data.whole
        self.max_leaves = max_leaves
        self.totals = _Totals(self)
        self._features = np.flatnonzero(data.allowed).tolist()
        self._nodes = [PartitionedNode()]
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
        first, second = self._nodes[node].divide(feature, threshold)
        left = self._add(first, node)
        right = self._add(second, node)
        self.make_inner(node, Split(feature, threshold, missing_left, categories), left, right)
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
        cut = Cut(here.cut.cost, here.cut.feature, here.cut.low, here.cut.high)
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
            assert node.cut is not None
            found += node.divide(node.cut.feature, between(node.cut.low, node.cut.high))
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
        limits, k = self.limits, self.data.n_clusters
        prices = limits.slot_prices(range(self.data.n_features), self.whole)

        def score(sums: NDArray[np.int64]) -> BinScore:
            return surrogate_score(sums, k, limits, prices)

        found = self.search_cuts(nodes, RowStats(self.data.weights_matter), [score] * len(nodes))
        for node, (cut, sums) in zip(nodes, found, strict=True):
            node.sums, node.cut, node.searched = sums, cut, True

    def search_cuts(
        self,
        nodes: Sequence[PartitionedNode],
        row_stats: RowStats,
        scores: Sequence[MakeScore],
        edges: Sequence[NDArray[np.float64]] | None = None,
    ) -> list[tuple[BinCut | None, NDArray[np.int64]]]:
        """The best cut of each node by its score, and the summed statistics of its rows.

        ``edges``: for each node, (n_features, m) values that must not lie inside a bin.
        """
        router = self._router(nodes)
        sample = self.data.summary.sample
        groups = router.of_points(as_points(sample))

        def search(number: int) -> NodeSearch:
            rows = sample[groups == number]
            none = np.empty((self.data.n_features, 0))
            also = none if edges is None else edges[number]
            return NodeSearch(
                number, lambda f, n: quantile_edges(rows[:, f], n, also[f]), scores[number]
            )

        def run_pass(requests: HistogramRequests, values: HistogramRequests) -> Histograms:
            return self.data.map_reduce(
                SumHistograms(self.data.cost_builder, router, row_stats, requests, values)
            )

        searches = [search(number) for number in range(len(nodes))]
        find_cuts(searches, self._features, self.data.n_clusters + 2, run_pass)
        found = []
        for done in searches:
            assert done.sums is not None
            found.append((done.best, done.sums))
        return found

    def _sum_rows(self, nodes: Iterable[PartitionedNode]) -> None:
        """Sum the rows of nodes whose sums are unknown, in one pass with a single bin for each."""
        unknown = [node for node in nodes if node.sums is None]
        if not unknown:
            return
        everything = np.array([-np.inf, np.inf])
        requests = [HistogramRequest(number, 0, everything) for number in range(len(unknown))]
        found = self.data.map_reduce(
            SumHistograms(
                self.data.cost_builder,
                self._router(unknown),
                RowStats(self.data.weights_matter),
                HistogramRequests.of(requests),
                HistogramRequests.of([]),
            )
        )
        for node, sums in zip(unknown, found.bins.sums, strict=True):
            node.sums = sums

    def _router(self, targets: Sequence[PartitionedNode]) -> RowRouter:
        """The tree with all considered nodes; the groups are the positions of the targets."""
        group = {id(node): number for number, node in enumerate(targets)}
        nodes = list(self._nodes[0].subtree())
        number = {id(node): i for i, node in enumerate(nodes)}
        left = [-1 if n.children is None else number[id(n.children[0])] for n in nodes]
        right = [-1 if n.children is None else number[id(n.children[1])] for n in nodes]
        return RowRouter(
            np.array([-1 if n.children is None else n.feature for n in nodes], dtype=np.int32),
            np.array([np.nan if n.children is None else n.threshold for n in nodes]),
            np.array(left, dtype=np.int32),
            np.array(right, dtype=np.int32),
            np.array([group.get(id(n), -1) for n in nodes], dtype=np.int32),
        )


class _Totals(Sequence[NDArray[np.int64]]):
    """The summed regrets of each node, looked up when they are needed."""

    def __init__(self, tree: PartitionedTree) -> None:
        self._tree = tree

    def __len__(self) -> int:
        return self._tree.n_nodes

    def __getitem__(self, node: int) -> NDArray[np.int64]:  # type: ignore[override]
        sums: NDArray[np.int64] = self._tree.sums(node)
        return sums[: self._tree.data.n_clusters]
