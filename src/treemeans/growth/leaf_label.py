"""The label of a leaf that was made for one center."""

from treemeans.growth.growing_tree import GrowingTree


def label_by_center(growing: GrowingTree, node: int, center: int) -> None:
    """The leaf's own center; but a leaf that holds nothing but another one's rows is that one's.

    No cut will ever set such a leaf right, and the reference must come back in the end.
    """
    if growing.totals[node][center] == 0 or growing.regret(node) > 0:
        growing.label[node] = center
