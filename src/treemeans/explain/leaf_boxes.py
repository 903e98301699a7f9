"""Leaves as boxes: for each column that was split on the way, a set of values."""

from __future__ import annotations

from treemeans.tree import ThresholdTree, parents_first
from treemeans.value_set import EVERYTHING, ValueSet

Box = dict[int, ValueSet]
"""Column number -> its values; a column that is not in the box may have any value."""


def leaf_boxes(tree: ThresholdTree) -> dict[int, Box]:
    """For each leaf, by node number, the box of the rows that end in it."""
    return {node: box for node, box in node_boxes(tree).items() if tree.is_leaf[node]}


def node_boxes(tree: ThresholdTree) -> dict[int, Box]:
    """For each node, the box of the rows that come to it."""
    boxes: dict[int, Box] = {0: {}}
    for node in parents_first(tree.left, tree.right):
        if tree.is_leaf[node]:
            continue
        split, box = tree.split(node), boxes[node]
        here = box.get(split.feature, EVERYTHING)
        boxes[int(tree.left[node])] = box | {split.feature: here & split.left}
        boxes[int(tree.right[node])] = box | {split.feature: here & split.right}
    return boxes
