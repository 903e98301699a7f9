"""Parts of figures that several plots have: colours as text, chosen points, numbered centers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from treemeans.optional_imports import need
from treemeans.tree_layout.colors import DARK, LIGHT, fill, text_color_on

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def as_hex(color: Any) -> str:
    """A colour of matplotlib as #rrggbb; white if it is transparent."""
    colors = need("matplotlib.colors", "plot")
    return LIGHT if colors.to_rgba(color)[3] == 0 else str(colors.to_hex(color))


def new_axes(ax: Axes | None, width: float, height: float) -> Axes:
    """The axes given, or those of a new figure of so many inches."""
    if ax is not None:
        return ax
    figure = need("matplotlib.pyplot", "plot").figure(figsize=(width, height), layout="constrained")
    axes: Axes = figure.add_subplot()
    return axes


def without_frame(ax: Axes) -> None:
    """Hide the lines above and to the right of the plot."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def chosen_points(n_rows: int, most: int) -> NDArray[np.intp]:
    """Numbers of the rows to draw: all, or a random sample, the same each time."""
    rows = np.arange(n_rows)
    if n_rows <= most:
        return rows
    return np.sort(np.random.default_rng(0).choice(n_rows, most, replace=False))


def draw_center(ax: Axes, x: float, y: float, cluster: int) -> None:
    """Draw the center of a cluster with its number."""
    color = fill(cluster)
    ax.plot([x], [y], "o", markersize=13, color=color, markeredgecolor=DARK, zorder=5)
    number = ax.text(x, y, str(cluster), ha="center", va="center_baseline", fontsize=8, zorder=6)
    number.set_color(text_color_on(color))
