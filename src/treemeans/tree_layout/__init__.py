"""Drawings of trees as boxes, lines and texts, from which plots and SVG are made."""

from __future__ import annotations

from treemeans.tree_layout.left_to_right import draw_left_to_right
from treemeans.tree_layout.shapes import Drawing, Measure
from treemeans.tree_layout.top_down import draw_top_down
from treemeans.tree_layout.tree_labels import TreeLabels

_PAGE = 85.0  # width of a page, in units of the font size
_MOST_DOWN = 12  # leaves of a tree that is drawn from top to bottom by default


def draw_tree(
    labels: TreeLabels, measure: Measure, size: float, direction: str | None = None
) -> Drawing:
    """The drawing of a tree in letters of ``size`` points, whose widths ``measure`` tells.

    ``direction``: "down" or "right"; by default down if the tree is small and fits a page.
    """
    if direction not in (None, "down", "right"):
        raise ValueError(f"direction must be 'down', 'right' or None; got {direction!r}.")
    if direction == "down" or (direction is None and labels.tree.n_leaves <= _MOST_DOWN):
        drawing = draw_top_down(labels, measure, size)
        if direction == "down" or drawing.width <= _PAGE * size:
            return drawing
    return draw_left_to_right(labels, measure, size)
