"""The picture of a tree: down the page while it is small, to the right when it is large."""

from __future__ import annotations

from treemeans.drawing.down import drawn_down
from treemeans.drawing.right import drawn_right
from treemeans.drawing.scene import Measure, Scene
from treemeans.drawing.subject import Subject

DIRECTIONS = ("down", "right")
_PAGE = 85.0  # width of a page, in units of the size of letters
_MAX_DOWN = 12  # leaves


def tree_scene(
    subject: Subject, measure: Measure, size: float, direction: str | None = None
) -> Scene:
    """The picture of a tree in one of two directions; by default down if that fits a page."""
    if direction not in (None, *DIRECTIONS):
        raise ValueError(f"direction must be 'down', 'right' or None; got {direction!r}.")
    if direction == "down" or (direction is None and subject.tree.n_leaves <= _MAX_DOWN):
        scene = drawn_down(subject, measure, size)
        if direction == "down" or scene.width <= _PAGE * size:
            return scene
    return drawn_right(subject, measure, size)
