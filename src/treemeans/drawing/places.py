"""Orders and places of nodes that do not depend on words."""

from __future__ import annotations

from treemeans.tree import ThresholdTree, parents_first


def children(tree: ThresholdTree) -> list[tuple[int, int]]:
    """Left and right of each node, -1 at a leaf."""
    return [(int(left), int(right)) for left, right in zip(tree.left, tree.right, strict=True)]


def in_order(tree: ThresholdTree) -> list[int]:
    """The nodes: left side, cut, right side. Leaves and cuts take turns."""
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


def slots(tree: ThresholdTree) -> list[float]:
    """Leaves at 0, 1, ...; each cut in the middle of its two sides."""
    place = [0.0] * tree.n_nodes
    leaves = [node for node in in_order(tree) if tree.is_leaf[node]]
    for i, leaf in enumerate(leaves):
        place[leaf] = float(i)
    for node in reversed(parents_first(tree.left, tree.right)):
        if not tree.is_leaf[node]:
            place[node] = (place[tree.left[node]] + place[tree.right[node]]) / 2
    return place
