"""What a picture holds. Lengths are in points, y grows downwards, as text is read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Protocol

Anchor = Literal["start", "middle", "end"]
LINE = 1.3
"""Height of a line of text, in units of its size."""
ABOVE, BELOW = 0.8, 0.26
"""How far a line of text reaches from its baseline, in units of its size."""
_CENTRE = 0.35  # baseline below the middle of a line

# Inks that depend on the ground a picture is drawn on; all others are colours, #rrggbb.
TEXT, MUTED, EDGE, PANEL = "text", "muted", "edge", "panel"


class Measure(Protocol):
    """Width of a line of text in points."""

    def __call__(self, words: str, size: float, *, bold: bool = False) -> float:
        """Width of ``words`` at a font size."""
        ...


@dataclass(frozen=True)
class Text:
    """A line of words; ``y`` is its baseline, ``full`` what it says in full."""

    x: float
    y: float
    words: str
    size: float
    anchor: Anchor = "start"
    ink: str = TEXT
    bold: bool = False
    full: str = ""


@dataclass(frozen=True)
class Box:
    """A rectangle with round corners, with its upper left corner at (x, y)."""

    x: float
    y: float
    width: float
    height: float
    fill: str
    radius: float = 0.0
    outlined: bool = False


@dataclass(frozen=True)
class Line:
    """Straight pieces from point to point."""

    points: tuple[tuple[float, float], ...]
    width: float
    ink: str = EDGE


@dataclass
class Scene:
    """A picture: lines lie below boxes, and these below texts."""

    width: float = 0.0
    height: float = 0.0
    lines: list[Line] = field(default_factory=list)
    boxes: list[Box] = field(default_factory=list)
    texts: list[Text] = field(default_factory=list)


def baseline(middle: float, size: float) -> float:
    """Where to write a line whose letters are to be half above and half below ``middle``."""
    return middle + _CENTRE * size
