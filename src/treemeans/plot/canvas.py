"""A scene on the axes of matplotlib. The one module that imports it at the top: import it late."""

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

from treemeans.drawing.palette import LIGHT, mixed
from treemeans.drawing.scene import EDGE, MUTED, PANEL, TEXT, Measure, Scene

PLAIN: dict[str, Any] = {"parse_math": False, "usetex": False}
"""For every text that holds a name: names are no formulas."""
_LARGEST = 1.4  # how much a small tree may grow to fill large axes
_SAFETY = 1.03  # letters are moved to whole pixels as they are drawn
_OUTLINE = 0.6
_SHARES = {TEXT: 1.0, MUTED: 0.68, EDGE: 0.27, PANEL: 0.05}  # of the colour of text in inks


def ruler() -> Measure:
    """Measures words in the font that plots are now written in."""
    fonts = {bold: FontProperties(size=1.0, weight="bold" if bold else None) for bold in (0, 1)}

    @cache
    def width(words: str, bold: bool) -> float:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # of letters the font lacks matplotlib warns as it draws
            measured = text_to_path.get_text_width_height_descent(words, fonts[bold], False)
        return float(measured[0])

    def measure(words: str, size: float, *, bold: bool = False) -> float:
        return width(words, bold) * size * _SAFETY

    return measure


def draw(scene: Scene, ax: Axes) -> None:
    """Fill the axes with the scene; words and lines shrink or grow with the axes."""
    ax.set_axis_off()
    ax.set_aspect("equal")
    room = max(1.0, _scale_to_fill(scene, ax) / _LARGEST)
    for limits, length, sign in ((ax.set_xlim, scene.width, 1), (ax.set_ylim, scene.height, -1)):
        half = sign * room * length / 2
        limits(length / 2 - half, length / 2 + half)
    ground = _ground(ax)
    fit = _Fit()
    for line in scene.lines:
        fit.add(_line(line, ground, ax), line.width)
    for box in scene.boxes:
        fit.add(_box(box, ground, ax), _OUTLINE if box.outlined else 0.0)
    for text in scene.texts:
        fit.add(_text(text, ground, ax), text.size)
    ax.add_artist(fit)
    fit.fit()


class _Fit(Artist):
    """Draws nothing, but sees to it that sizes in points follow the size of the axes."""

    def __init__(self) -> None:
        super().__init__()
        self.set_zorder(-1e9)  # before all that it sets the size of
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


def _scale_to_fill(scene: Scene, ax: Axes) -> float:
    share, whole = ax.get_position(original=True), ax.figure.bbox
    width, height = share.width * whole.width, share.height * whole.height
    return float(min(width / scene.width, height / scene.height) * 72 / ax.figure.dpi)


def _ground(ax: Axes) -> str:
    """The colour behind the picture; where there is none, that of paper."""
    for colour in (ax.figure.get_facecolor(), rcParams["figure.facecolor"]):
        if to_hex(colour, keep_alpha=True)[-2:] != "00":
            return to_hex(colour)
    return LIGHT


def _colour(ink: str, ground: str) -> str:
    if ink in _SHARES:
        return mixed(ground, to_hex(rcParams["text.color"]), _SHARES[ink])
    return ink


def _line(line: Any, ground: str, ax: Axes) -> Line2D:
    xs, ys = zip(*line.points, strict=True)
    drawn = Line2D(
        xs, ys, color=_colour(line.ink, ground), solid_joinstyle="round", solid_capstyle="butt"
    )
    drawn.set_zorder(1)
    ax.add_line(drawn)
    return drawn


def _box(box: Any, ground: str, ax: Axes) -> Patch:
    edge = mixed(ground, to_hex(rcParams["text.color"]), 0.45) if box.outlined else "none"
    style = f"round,pad=0,rounding_size={box.radius}" if box.radius else "square,pad=0"
    patch = FancyBboxPatch(
        (box.x, box.y),
        box.width,
        box.height,
        boxstyle=style,
        facecolor=_colour(box.fill, ground),
        edgecolor=edge,
        zorder=2,
    )
    ax.add_patch(patch)
    return patch


def _text(text: Any, ground: str, ax: Axes) -> Words:
    return ax.text(
        text.x,
        text.y,
        text.words,
        ha={"start": "left", "middle": "center", "end": "right"}[text.anchor],
        va="baseline",
        color=_colour(text.ink, ground),
        weight="bold" if text.bold else None,
        zorder=3,
        **PLAIN,
    )
