"""The label of a leaf that was made for one center."""

from treemeans.growth.growing_tree import GrowingTree


def label_by_center(growing: GrowingTree, node: int, center: int) -> None:
    """The center that the leaf was made for; if all its rows belong to another, that one.

    No later cut could correct such a leaf, and a large enough tree must equal the reference.
    """
    if growing.totals[node][center] == 0 or growing.regret(node) > 0:
        growing.label[node] = center
