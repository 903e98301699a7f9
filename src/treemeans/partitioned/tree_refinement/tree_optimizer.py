"""TreeOptimizer: the steps that lower a tree's cost, each in passes over all partitions.

The steps are those of `treemeans.refine.centered_tree`: reoptimize the splits, use leaves that
became free, move the centers to the means of the clusters. There a tree is changed in place; here a
pass evaluates a changed copy, which is kept if it costs less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from treemeans.growth.expansion import expand
from treemeans.growth.growing_tree import Cut, between
from treemeans.partitioned.partition_costs import CostTableBuilder
from treemeans.partitioned.tree_growth.partitioned_data import PartitionedData
from treemeans.partitioned.tree_growth.partitioned_tree import PartitionedTree
from treemeans.partitioned.tree_refinement.partitioned_coreset import Coreset
from treemeans.partitioned.tree_refinement.reoptimize_pass import (
    ReoptimizedSplit,
    SplitSides,
    reoptimize_splits,
)
from treemeans.partitioned.tree_refinement.routed_tree import RoutedNode, threshold_tree
from treemeans.partitioned.tree_refinement.sum_leaves import (
    CandidateTree,
    LeafTotals,
    SumLeaves,
    cost_builder_for,
)
from treemeans.refine.centered_tree import growth_by_gain

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class EvaluatedTree:
    """A tree, the means of its clusters, and its cost.

    Attributes
    ----------
    root : the tree
    centers : (k, dimension of the space), the means of its clusters
    cost : k-means cost of the clusters, plus the prices of the cuts
    cost_as_given : the same before cuts were removed and leaves labelled again
    """

    root: RoutedNode
    centers: Floats
    cost: float
    cost_as_given: float


@dataclass(frozen=True)
class TreeOptimizer:
    """Lowers the cost of trees on rows in partitions.

    Attributes
    ----------
    data : the rows
    coreset : a sample of them, which tells where values lie and so where bins should end
    n_leaves : number of leaves that a tree may have
    """

    data: PartitionedData
    coreset: Coreset
    n_leaves: int

    def evaluate(self, trees: Sequence[tuple[RoutedNode, Floats]]) -> list[EvaluatedTree]:
        """Find the costs of trees with given centers, in one pass.

        Leaves keep their labels, or get those of their cheapest centers if that is better. A cut
        with an empty side is removed, and so is one with a side that is lighter than permitted.
        """
        candidates = []
        for root, centers in trees:
            leaves = root.leaves
            outcome = {leaf: number for number, leaf in enumerate(leaves)}
            cost_builder = cost_builder_for(self.data, centers)
            candidates.append(CandidateTree(root.router(outcome), len(leaves), cost_builder))
        found = self.data.map_reduce(SumLeaves(candidates, self.coreset.columns))
        return [
            self._evaluated(root, candidate, totals)
            for (root, _), candidate, totals in zip(trees, candidates, found, strict=True)
        ]

    def _evaluated(
        self, given: RoutedNode, candidate: CandidateTree, of_leaves: LeafTotals
    ) -> EvaluatedTree:
        least = self.data.limits.min_weight
        totals = _NodeTotals(given, of_leaves, least)
        own = [leaf.label for leaf in given.leaves]
        as_given = self._labelled(totals, given, own, candidate)[2] + self._prices(given)
        root = given.copy()
        totals = _NodeTotals(root, of_leaves, least)
        totals.prune(root)
        # Cheapest labels lower the cost to the centers, but not always the cost to the means.
        cheapest = [int(totals.regrets(leaf).argmin()) for leaf in root.leaves]
        own = [leaf.label for leaf in root.leaves]
        found = [self._labelled(totals, root, labels, candidate) for labels in (own, cheapest)]
        labels, means, cost = min(found, key=lambda option: option[2])
        for leaf, label in zip(root.leaves, labels, strict=True):
            leaf.label = label
        return EvaluatedTree(root, means, cost + self._prices(root), as_given)

    def _labelled(
        self, totals: _NodeTotals, root: RoutedNode, labels: list[int], candidate: CandidateTree
    ) -> tuple[list[int], Floats, float]:
        """The labels of the leaves, the means of the clusters they make, and what these cost."""
        builder, columns = candidate.cost_builder, self.coreset.columns
        centers, scales = builder.reference.centers, builder.scales
        sums = np.zeros((len(centers), totals.n_sums), dtype=np.int64)
        regret = 0
        for leaf, label in zip(root.leaves, labels, strict=True):
            regret += int(totals.regrets(leaf)[label])
            sums[label] += totals.sums(leaf)
        means = columns.means(sums)
        means = np.where(np.isnan(means), centers, means)
        saved = float(columns.weights(sums) @ ((means - centers) ** 2).sum(axis=1))
        return labels, means, totals.base / scales.base + regret / scales.regrets - saved

    def _prices(self, root: RoutedNode) -> float:
        """What the cuts of a tree cost by their features."""
        prices = self.data.user_limits.feature_costs
        if prices is None:
            return 0.0
        return float(sum(prices[node.feature] for node in root.inner)) * self.data.cheapest

    def optimize(self, tree: EvaluatedTree, tolerance: float, max_rounds: int) -> EvaluatedTree:
        """Reoptimize the splits, use leaves that became free, recenter; repeat while it helps.

        It stops once a round saves less than ``tolerance`` of the cost.
        """
        for _ in range(max_rounds):
            found = self._round(tree)
            if found.cost >= tree.cost:
                break
            before, tree = tree.cost, found
            if tree.cost >= before * (1.0 - tolerance):
                break
        return tree

    def _round(self, tree: EvaluatedTree) -> EvaluatedTree:
        root, centers = tree.root.copy(), tree.centers
        # Nodes of a depth share no rows, so their splits can be chosen in the same passes.
        level = [root]
        while level:
            inner = [node for node in level if node.children is not None]
            self._reoptimize(root, inner, centers)
            level = [child for node in level for child in node.children or ()]
        found = self.evaluate([(root, centers)])[0]
        if len(found.root.leaves) < self.n_leaves:
            found = self._grown(found)
        return found

    def _reoptimize(self, root: RoutedNode, nodes: list[RoutedNode], centers: Floats) -> None:
        """Choose the splits of nodes that share no rows again, the rest of the tree fixed."""
        if not nodes:
            return
        labels = {leaf: leaf.label for leaf in root.leaves}
        sides = SplitSides(
            root.router({node: i for i, node in enumerate(nodes)}, ends=set(nodes)),
            root.router(labels, sent=dict.fromkeys(nodes, np.inf)),
            root.router(labels, sent=dict.fromkeys(nodes, -np.inf)),
            root.router(labels),
        )
        cost_builder = cost_builder_for(self.data, centers)
        current = [(node.feature, node.threshold) for node in nodes]
        splits = reoptimize_splits(self.data, cost_builder, sides, current, self.coreset.X)
        whole = self.data.cheapest * cost_builder.scales.regrets
        changed = dict[RoutedNode, RoutedNode]()
        for node, split in zip(nodes, splits, strict=True):
            prices = self.data.limits.slot_prices([node.feature], whole)
            before = RoutedNode(node.label, node.feature, node.threshold, node.children)
            if _apply(node, split, 0 if prices is None else int(prices[0])):
                changed[node] = before
        deeper = any(child.children for node in nodes for child in node.children or ())
        if changed and (deeper or self.data.limits.min_weight > 1):
            self._relabel(root, changed, cost_builder)

    def _relabel(
        self,
        root: RoutedNode,
        changed: dict[RoutedNode, RoutedNode],
        cost_builder: CostTableBuilder,
    ) -> None:
        """Label the leaves below changed nodes again.

        ``changed`` has what each of them was before. A change that makes some leaf lighter than
        the limits permit is undone.
        """
        leaves, least = root.leaves, self.data.limits.min_weight
        outcome = {leaf: number for number, leaf in enumerate(leaves)}
        candidate = CandidateTree(root.router(outcome), len(leaves), cost_builder)
        totals = self.data.map_reduce(SumLeaves([candidate], self.coreset.columns))[0]
        for node, before in changed.items():
            here = [outcome[leaf] for leaf in node.leaves if totals.weight[outcome[leaf]] > 0]
            if (totals.weight[here] < least).any():
                node.replace_by(before)
                continue
            for number in here:
                leaves[number].label = int(totals.regrets[number].argmin())

    def on_all_rows(self, tree: EvaluatedTree) -> PartitionedTree:
        """Return the tree with what it costs to its centers; its growth is largest gain first.

        The gains are known only after a replay, whose sums a second one, in order, takes over.
        """
        first, numbers = self._replayed(tree.root, tree.centers)
        regrets = [first.regret(node) for node in range(first.n_nodes)]
        growth = growth_by_gain(first.left, first.right, regrets)
        again, others = self._replayed(tree.root, tree.centers, growth[numbers].tolist())
        for number, other in zip(numbers, others, strict=True):
            again.node(other).sums = first.sums(number)
        again.settle()
        return again

    def _replayed(
        self, root: RoutedNode, centers: Floats, growth: list[int] | None = None
    ) -> tuple[PartitionedTree, list[int]]:
        """Make the cuts of a tree; return the tree, and the number of each node in it.

        ``growth``: when each node is cut; by default, parents first.
        """
        tree = PartitionedTree(
            replace(self.data, cost_builder=cost_builder_for(self.data, centers)), self.n_leaves
        )
        nodes = list(root.subtree())
        place = {root: 0}
        inner = root.inner
        if growth is not None:
            when = dict(zip(nodes, growth, strict=True))
            inner.sort(key=when.__getitem__)
        for node in inner:
            assert node.children is not None
            sides = tree.split(place[node], node.feature, node.threshold)
            place.update(zip(node.children, sides, strict=True))
        return tree, [place[node] for node in nodes]

    def _grown(self, small: EvaluatedTree) -> EvaluatedTree:
        """Cut leaves, largest gain first, until the tree has its full size."""
        tree, _ = self._replayed(small.root, small.centers)
        tree.settle()

        def best(leaf: int) -> Cut | None:
            cut = tree.least_cut(leaf)
            return cut if cut is not None and cut.cost < tree.regret(leaf) else None

        before = tree.n_leaves
        expand(tree, tree.leaves, self.n_leaves, best)
        if tree.n_leaves == before:
            return small
        return self.evaluate([(RoutedNode.of(threshold_tree(tree)), small.centers)])[0]


def _apply(node: RoutedNode, split: ReoptimizedSplit, price: int) -> bool:
    """Cut a node by its best split if that costs less; return whether the node has changed.

    A node whose split saves nothing is replaced by the cheaper of its children.
    """
    assert node.children is not None
    now, uncut, best = split.now + price, min(split.all_left, 0), split.best
    if uncut <= now and (best is None or uncut <= best.cost):
        node.replace_by(node.children[0 if split.all_left <= 0 else 1])
        return True
    if best is None or best.cost >= now:
        return False
    node.feature, node.threshold = best.feature, between(best.low, best.high)
    return True


class _NodeTotals:
    """Regrets, weight and sums of the rows of every node of a tree, from those of its leaves."""

    def __init__(self, root: RoutedNode, of_leaves: LeafTotals, min_weight: int) -> None:
        self.base = of_leaves.base
        self.n_sums = of_leaves.sums.shape[1]
        self._k = of_leaves.regrets.shape[1]
        self._min_weight = min_weight
        totals = np.column_stack([of_leaves.regrets, of_leaves.weight, of_leaves.sums])
        self._totals = dict(zip(root.leaves, totals, strict=True))
        for node in reversed(root.inner):
            assert node.children is not None
            left, right = node.children
            self._totals[node] = self._totals[left] + self._totals[right]

    def regrets(self, node: RoutedNode) -> NDArray[np.int64]:
        """Regrets of the rows of a node, by center."""
        return np.asarray(self._totals[node][: self._k])

    def weight(self, node: RoutedNode) -> int:
        """Weight of the rows of a node."""
        return int(self._totals[node][self._k])

    def sums(self, node: RoutedNode) -> NDArray[np.int64]:
        """Sums of the rows of a node in the space of the centers, in fixed point."""
        return np.asarray(self._totals[node][self._k + 1 :])

    def prune(self, root: RoutedNode) -> None:
        """Remove cuts with an empty side; make nodes with a child that is too light leaves."""
        waiting = [root]
        while waiting:
            node = waiting.pop()
            while node.children is not None:
                light, heavy = sorted(node.children, key=self.weight)
                if self.weight(light) == 0:
                    node.replace_by(heavy)
                elif self.weight(light) < self._min_weight:
                    node.replace_by(RoutedNode(node.label))
                else:
                    waiting += node.children
                    break
