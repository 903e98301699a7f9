"""Shows a drawing of a tree on matplotlib axes.

This is the only module that imports matplotlib at its top; import it inside functions.
"""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

from matplotlib import rcParams
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.patches import FancyBboxPatch, Patch
from matplotlib.text import Text as Words
from matplotlib.textpath import text_to_path

from treemeans.tree_layout.colors import LIGHT, mixed
from treemeans.tree_layout.shapes import EDGE, MUTED, PANEL, TEXT, Drawing, Measure

PLAIN: dict[str, Any] = {"parse_math": False, "usetex": False}
"""For every text with a name in it: names are not formulas."""
_LARGEST = 1.4  # how much a small tree may grow to fill large axes
_SAFETY = 1.03  # letters are moved to whole pixels when they are drawn, which widens text
_OUTLINE = 0.6  # width of the outline of a box, in points
_TEXT_SHARES = {TEXT: 1.0, MUTED: 0.68, EDGE: 0.27, PANEL: 0.05}  # of the text colour


def text_measure() -> Measure:
    """A function that measures text in the current font of matplotlib."""
    fonts = {bold: FontProperties(size=1.0, weight="bold" if bold else None) for bold in (0, 1)}

    @cache
    def width(words: str, bold: bool) -> float:
        with warnings.catch_warnings():
            # matplotlib warns of letters that the font lacks once more when it draws them.
            warnings.simplefilter("ignore")
            measured = text_to_path.get_text_width_height_descent(words, fonts[bold], False)
        return float(measured[0])

    def measure(words: str, size: float, *, bold: bool = False) -> float:
        return width(words, bold) * size * _SAFETY

    return measure


def draw(drawing: Drawing, ax: Axes) -> None:
    """Fill the axes with the drawing; text and lines are scaled with the axes."""
    ax.set_axis_off()
    ax.set_aspect("equal")
    room = max(1.0, _scale_to_fill(drawing, ax) / _LARGEST)
    for limits, length, sign in (
        (ax.set_xlim, drawing.width, 1),
        (ax.set_ylim, drawing.height, -1),
    ):
        half = sign * room * length / 2
        limits(length / 2 - half, length / 2 + half)
    background = _background(ax)
    fit = _Fit()
    for line in drawing.lines:
        fit.add(_line(line, background, ax), line.width)
    for box in drawing.boxes:
        fit.add(_box(box, background, ax), _OUTLINE if box.outlined else 0.0)
    for text in drawing.texts:
        fit.add(_text(text, background, ax), text.size)
    ax.add_artist(fit)
    fit.fit()


class _Fit(Artist):
    """Draws nothing, but scales font sizes and line widths to the size of the axes."""

    def __init__(self) -> None:
        super().__init__()
        self.set_zorder(-1e9)  # drawn first, before the artists whose sizes it sets
        self.set_in_layout(False)
        self._sized: list[tuple[Any, float]] = []
        self._scale = 0.0

    def add(self, artist: Any, size: float) -> None:
        self._sized.append((artist, size))

    def draw(self, renderer: Any) -> None:
        self.fit()

    def fit(self) -> None:
        ax = self.axes
        assert ax is not None
        ax.apply_aspect()
        pixels = abs(ax.transData.get_matrix()[0, 0])
        scale = pixels * 72.0 / ax.figure.dpi
        if abs(scale - self._scale) <= 1e-3 * scale:
            return
        self._scale = scale
        for artist, size in self._sized:
            resize = artist.set_fontsize if isinstance(artist, Words) else artist.set_linewidth
            resize(size * scale)


def _scale_to_fill(drawing: Drawing, ax: Axes) -> float:
    share, whole = ax.get_position(original=True), ax.figure.bbox
    width, height = share.width * whole.width, share.height * whole.height
    return float(min(width / drawing.width, height / drawing.height) * 72 / ax.figure.dpi)


def _background(ax: Axes) -> str:
    """The background of the figure; white if it is transparent."""
    for color in (ax.figure.get_facecolor(), rcParams["figure.facecolor"]):
        if to_hex(color, keep_alpha=True)[-2:] != "00":
            return to_hex(color)
    return LIGHT


def _resolved(color: str, background: str) -> str:
    """A colour as #rrggbb; one that is told by its use is mixed from text and background."""
    if color in _TEXT_SHARES:
        return mixed(background, to_hex(rcParams["text.color"]), _TEXT_SHARES[color])
    return color


def _line(line: Any, background: str, ax: Axes) -> Line2D:
    xs, ys = zip(*line.points, strict=True)
    drawn = Line2D(
        xs,
        ys,
        color=_resolved(line.color, background),
        solid_joinstyle="round",
        solid_capstyle="butt",
    )
    drawn.set_zorder(1)
    ax.add_line(drawn)
    return drawn


def _box(box: Any, background: str, ax: Axes) -> Patch:
    edge = mixed(background, to_hex(rcParams["text.color"]), 0.45) if box.outlined else "none"
    style = f"round,pad=0,rounding_size={box.radius}" if box.radius else "square,pad=0"
    patch = FancyBboxPatch(
        (box.x, box.y),
        box.width,
        box.height,
        boxstyle=style,
        facecolor=_resolved(box.fill, background),
        edgecolor=edge,
        zorder=2,
    )
    ax.add_patch(patch)
    return patch


def _text(text: Any, background: str, ax: Axes) -> Words:
    return ax.text(
        text.x,
        text.y,
        text.words,
        ha={"start": "left", "middle": "center", "end": "right"}[text.anchor],
        va="baseline",
        color=_resolved(text.color, background),
        weight="bold" if text.bold else None,
        zorder=3,
        **PLAIN,
    )
