"""Draft: a tree that is cut first and pruned afterwards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from treemeans.tree import ThresholdTree


@dataclass
class Draft:
    """One leaf, to begin with. Nodes are numbered as they come, children after their parent."""

    feature: list[int] = field(default_factory=lambda: [-1])
    threshold: list[float] = field(default_factory=lambda: [np.nan])
    left: list[int] = field(default_factory=lambda: [-1])
    right: list[int] = field(default_factory=lambda: [-1])

    @property
    def n_nodes(self) -> int:
        """Nodes so far."""
        return len(self.feature)

    def is_leaf(self, node: int) -> bool:
        """Whether the node has not been cut."""
        return self.left[node] < 0

    def children(self, node: int) -> tuple[int, int]:
        """Left and right."""
        return self.left[node], self.right[node]

    def split(self, node: int, feature: int, threshold: float) -> tuple[int, int]:
        """Cut a leaf."""
        children = self.n_nodes, self.n_nodes + 1
        self.feature[node], self.threshold[node] = feature, threshold
        self.left[node], self.right[node] = children
        self.feature += [-1, -1]
        self.threshold += [np.nan, np.nan]
        self.left += [-1, -1]
        self.right += [-1, -1]
        return children

    def finish(
        self,
        n_features: int,
        is_cut: Callable[[int], bool],
        stand_in: Callable[[int], int] = lambda node: node,
    ) -> tuple[ThresholdTree, list[int]]:
        """The pruned tree, level by level, and the node of the draft that each of its nodes is.

        Parameters
        ----------
        is_cut : whether a node that is cut in the draft is so in the tree
        stand_in : the node below it, if any, that takes a node's place
        """
        origin, left = [stand_in(0)], list[int]()
        for node in origin:  # which grows as it is read
            if self.is_leaf(node) or not is_cut(node):
                left.append(-1)
                continue
            left.append(len(origin))
            origin += [stand_in(child) for child in self.children(node)]
        inner, at = np.array(left) >= 0, np.array(origin)
        tree = ThresholdTree(
            feature=np.where(inner, np.array(self.feature)[at], -1),
            threshold=np.where(inner, np.array(self.threshold)[at], np.nan),
            left=np.array(left),
            right=np.where(inner, np.array(left) + 1, -1),
            label=np.zeros(len(origin), dtype=np.int32),
            n_features=n_features,
        )
        return tree, origin
