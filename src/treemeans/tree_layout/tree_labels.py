"""The words in a drawing of a tree: conditions of its splits, clusters and rows of its leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from treemeans.columns import Reader
from treemeans.columns.number_text import format_rows
from treemeans.tree import ThresholdTree, parents_first
from treemeans.tree_layout.colors import fill, ink
from treemeans.tree_layout.shapes import EDGE
from treemeans.tree_layout.text_fitting import one_line

_SIGNS = {
    "<=": "\N{LESS-THAN OR EQUAL TO}",
    ">=": "\N{GREATER-THAN OR EQUAL TO}",
    "!=": "\N{NOT EQUAL TO}",
}


@dataclass(frozen=True)
class SplitLabel:
    """A split in words: the name of its column, and the conditions to go left and right.

    ``full`` is the whole condition to go left, before anything is shortened.
    """

    name: str
    left: str
    right: str
    full: str


def label_split(reader: Reader, node: int) -> SplitLabel:
    """The split of an inner node in words.

    Examples
    --------
    >>> from treemeans.columns import Column
    >>> from treemeans.tree import ThresholdTree
    >>> tree = ThresholdTree([0, -1, -1], [2.5, 0, 0], [1, -1, -1], [2, -1, -1], [0, 0, 1], 1)
    >>> label = label_split(Reader(tree, (Column("visits", "integer"),)), 0)
    >>> label.name, label.left, label.right
    ('visits', '≤ 2', '≥ 3')
    """
    column = reader.columns[reader.tree.feature[node]]
    name = column.source if column.kind == "category" else column.name
    left, right = (_with_signs(side.removeprefix(name).strip()) for side in reader.sides(node))
    name, left, right = one_line(name), one_line(left), one_line(right)
    return SplitLabel(name, left, right, f"{name} {left}")


def _with_signs(words: str) -> str:
    """A condition that begins with a comparison, with its sign as it is printed."""
    sign, space, rest = words.partition(" ")
    return _SIGNS.get(sign, sign) + space + rest


@dataclass(frozen=True)
class TreeLabels:
    """A tree and the words that go into its drawing.

    Attributes
    ----------
    tree : ThresholdTree
    splits : the split of each inner node in words, by node
    clusters : name of the cluster of each leaf, by node
    row_counts : number of rows of each leaf in words, by node; empty if the tree has no weights
    caption : text below the drawing
    """

    tree: ThresholdTree
    splits: dict[int, SplitLabel]
    clusters: dict[int, str]
    row_counts: dict[int, str]
    caption: str = ""

    def children(self, node: int) -> tuple[int, int]:
        """Left and right child of an inner node."""
        return int(self.tree.left[node]), int(self.tree.right[node])

    def share(self, node: int) -> float:
        """Share of all rows that come to a node; 0 if the tree has no weights."""
        return float(self.tree.weight[node] / self.tree.weight[0]) if self.row_counts else 0.0

    def fill_color(self, node: int) -> str:
        """Colour of the cluster of a leaf."""
        return fill(int(self.tree.label[node]))

    def line_colors(self) -> list[str]:
        """Colour of the line into each node: a cluster's if all leaves below belong to it."""
        colors = [ink(int(label)) for label in self.tree.label]
        for node in reversed(parents_first(self.tree.left, self.tree.right)):
            if not self.tree.is_leaf[node]:
                left, right = colors[self.tree.left[node]], colors[self.tree.right[node]]
                colors[node] = left if left == right else EDGE
        return colors


def label_tree(
    reader: Reader, cluster_names: Sequence[str] | None = None, max_leaves: int | None = None
) -> TreeLabels:
    """Labels of a tree; of a larger tree, of the one it was when it had ``max_leaves`` leaves."""
    tree, caption = reader.tree, ""
    if max_leaves is not None and max_leaves < 1:
        raise ValueError(f"max_leaves must be at least 1; got {max_leaves}.")
    if max_leaves is not None and max_leaves < tree.n_leaves:
        caption = f"The first {max_leaves} of {tree.n_leaves} leaves."
        tree = tree.with_leaves(max_leaves)
        reader = Reader(tree, reader.columns)
    names = cluster_names_or_numbers(tree.n_clusters, cluster_names)
    leaves = tree.leaves.tolist()
    inner = np.flatnonzero(~tree.is_leaf).tolist()
    return TreeLabels(
        tree,
        {node: label_split(reader, node) for node in inner},
        {leaf: names[tree.label[leaf]] for leaf in leaves},
        {leaf: format_rows(float(tree.weight[leaf])) for leaf in leaves}
        if tree.weight[0] > 0
        else {},
        caption,
    )


def cluster_names_or_numbers(n_clusters: int, names: Sequence[str] | None) -> list[str]:
    """The names given, each on one line; by default cluster 0, cluster 1, ..."""
    if names is None:
        return [f"cluster {i}" for i in range(n_clusters)]
    if isinstance(names, str) or len(names) != n_clusters:
        raise ValueError(f"cluster_names must hold {n_clusters} names, one for each cluster.")
    return [one_line(str(name)) or f"cluster {i}" for i, name in enumerate(names)]


def in_order(tree: ThresholdTree) -> list[int]:
    """Nodes from left to right: left side, split, right side. Leaves and splits alternate."""
    order: list[int] = []
    stack: list[int] = []
    node = 0
    while stack or node >= 0:
        while node >= 0:
            stack.append(node)
            node = int(tree.left[node])
        node = stack.pop()
        order.append(node)
        node = int(tree.right[node])
    return order
