"""Leaves as boxes: for each feature that was cut on the way, an interval."""

from __future__ import annotations

from treemeans.columns.interval import EVERYTHING, Interval
from treemeans.tree import ThresholdTree, parents_first

Box = dict[int, Interval]
"""Feature -> interval; a feature that is missing may have any value."""


def leaf_boxes(tree: ThresholdTree) -> dict[int, Box]:
    """For each leaf, by node number, the box of the rows that end in it."""
    return {node: box for node, box in node_boxes(tree).items() if tree.is_leaf[node]}


def node_boxes(tree: ThresholdTree) -> dict[int, Box]:
    """For each node, the box of the rows that come to it."""
    boxes: dict[int, Box] = {0: {}}
    for node in parents_first(tree.left, tree.right):
        feature, threshold = int(tree.feature[node]), float(tree.threshold[node])
        if feature < 0:
            continue
        sides = (
            (tree.left[node], Interval(upto=threshold)),
            (tree.right[node], Interval(above=threshold)),
        )
        for child, side in sides:
            box = boxes[node]
            boxes[int(child)] = box | {feature: box.get(feature, EVERYTHING) & side}
    return boxes
