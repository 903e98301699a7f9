"""Shapes that a drawing of a tree is made of, in points; y grows downwards, as text is read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Protocol

Anchor = Literal["start", "middle", "end"]
LINE = 1.3
"""Height of a line of text, in units of its size."""
ABOVE, BELOW = 0.8, 0.26
"""How far a line of text reaches from its baseline, in units of its size."""
_BASELINE = 0.35  # from the middle of a line of text down to its baseline, in units of its size

# Colours that depend on the background of a drawing; all others are given as #rrggbb.
TEXT, MUTED, EDGE, PANEL = "text", "muted", "edge", "panel"


class Measure(Protocol):
    """Width of a line of text in points."""

    def __call__(self, words: str, size: float, *, bold: bool = False) -> float:
        """Width of ``words`` at a font size."""
        ...


@dataclass(frozen=True)
class Text:
    """One line of text with its baseline at ``y``; ``full`` is the text before it was shortened."""

    x: float
    y: float
    words: str
    size: float
    anchor: Anchor = "start"
    color: str = TEXT
    bold: bool = False
    full: str = ""


@dataclass(frozen=True)
class Box:
    """A rectangle with rounded corners and its upper left corner at (x, y)."""

    x: float
    y: float
    width: float
    height: float
    fill: str
    radius: float = 0.0
    outlined: bool = False


@dataclass(frozen=True)
class Line:
    """A polyline through the points."""

    points: tuple[tuple[float, float], ...]
    width: float
    color: str = EDGE


@dataclass
class Drawing:
    """A drawing of a tree: its boxes cover its lines, and its texts cover both."""

    width: float = 0.0
    height: float = 0.0
    lines: list[Line] = field(default_factory=list)
    boxes: list[Box] = field(default_factory=list)
    texts: list[Text] = field(default_factory=list)


def baseline(middle: float, size: float) -> float:
    """The baseline of a line of text whose letters are centred vertically on ``middle``."""
    return middle + _BASELINE * size
