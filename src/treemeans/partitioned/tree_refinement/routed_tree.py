"""RoutedNode: a tree that can be changed, and the routes that rows take through it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from treemeans.partitioned.tree_growth.histogram_pass import RowRouter
from treemeans.partitioned.tree_growth.partitioned_tree import PartitionedTree
from treemeans.tree import ThresholdTree


@dataclass(eq=False)
class RoutedNode:
    """A node with its subtree; a leaf if it has no children."""

    label: int = 0
    feature: int = -1
    threshold: float = np.nan
    children: tuple[RoutedNode, RoutedNode] | None = None

    @classmethod
    def of(cls, tree: ThresholdTree) -> RoutedNode:
        """Return the root of a tree."""
        nodes = [cls(int(label)) for label in tree.label]
        for number in np.flatnonzero(~tree.is_leaf).tolist():
            node = nodes[number]
            node.feature, node.threshold = int(tree.feature[number]), float(tree.threshold[number])
            node.children = nodes[int(tree.left[number])], nodes[int(tree.right[number])]
        return nodes[0]

    def subtree(self) -> Iterator[RoutedNode]:
        """Iterate over the node and all nodes below it, parents first."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(node.children or ()))

    @property
    def inner(self) -> list[RoutedNode]:
        """Nodes of the subtree that are cut."""
        return [node for node in self.subtree() if node.children is not None]

    @property
    def leaves(self) -> list[RoutedNode]:
        """Leaves of the subtree."""
        return [node for node in self.subtree() if node.children is None]

    def replace_by(self, other: RoutedNode) -> None:
        """Put another node, with its subtree, in the place of this one."""
        self.label, self.feature, self.threshold = other.label, other.feature, other.threshold
        self.children = other.children

    def copy(self) -> RoutedNode:
        """Return the same tree, to be changed without changing this one."""
        children = None
        if self.children is not None:
            children = self.children[0].copy(), self.children[1].copy()
        return RoutedNode(self.label, self.feature, self.threshold, children)

    def router(
        self,
        outcome: Mapping[RoutedNode, int],
        ends: Collection[RoutedNode] = (),
        sent: Mapping[RoutedNode, float] | None = None,
    ) -> RowRouter:
        """Return what sends rows through the subtree, to the group of the node they end in.

        Parameters
        ----------
        outcome : group of the rows that end in a node; -1 for a node without one
        ends : nodes where rows stop, even if they are cut
        sent : other thresholds of nodes; an infinite one sends all rows to one side
        """
        sent = {} if sent is None else sent
        nodes = list(self.subtree())
        number = {node: i for i, node in enumerate(nodes)}
        cut = [node.children is not None and node not in ends for node in nodes]

        def child(side: int) -> list[int]:
            return [
                number[node.children[side]] if c and node.children is not None else -1
                for node, c in zip(nodes, cut, strict=True)
            ]

        return RowRouter(
            np.array([t.feature if c else -1 for t, c in zip(nodes, cut, strict=True)], np.int32),
            np.array([sent.get(node, node.threshold) for node in nodes], dtype=np.float64),
            np.array(child(0), dtype=np.int32),
            np.array(child(1), dtype=np.int32),
            np.array([outcome.get(node, -1) for node in nodes], dtype=np.int32),
        )


def threshold_tree(tree: PartitionedTree) -> ThresholdTree:
    """The cuts and labels of a tree that has grown on partitions."""
    return ThresholdTree(
        feature=np.array(tree.feature),
        threshold=np.array(tree.threshold),
        left=np.array(tree.left),
        right=np.array(tree.right),
        label=np.array(tree.label),
        n_features=tree.data.n_features,
        growth=np.array(tree.growth),
    )
