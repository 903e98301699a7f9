"""The label of a leaf that was made for one center."""

from treemeans.grow.sprout import Sprout


def label_by_center(sapling: Sprout, node: int, center: int) -> None:
    """The leaf's own center; but a leaf that holds nothing but another one's rows is that one's.

    No cut will ever set such a leaf right, and the reference must come back in the end.
    """
    if sapling.totals[node][center] == 0 or sapling.regret(node) > 0:
        sapling.label[node] = center
