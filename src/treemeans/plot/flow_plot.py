"""plot_flow: how rows moved from the clusters of one model to those of another."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemeans.optional_imports import need
from treemeans.tree_layout.colors import fill
from treemeans.tree_layout.text_fitting import one_line

_GAP = 0.04  # between two clusters, as a share of the height
_BAR = 0.03  # width of a cluster's bar
_STEPS = 40  # points of a curve
_LONGEST = 34  # letters of a name


def plot_flow(
    crosstab: NDArray[np.float64],
    old_names: tuple[str, ...],
    new_names: tuple[str, ...],
    pairs: tuple[tuple[int, int], ...],
    ax: Any = None,
) -> Any:
    """Bars for the old clusters on the left and the new ones on the right, and bands between them.

    A band is as high as the number of its rows. A cluster that is kept has the same colour on both
    sides; bands of rows that changed their cluster are darker than those of rows that stayed.

    Returns
    -------
    matplotlib Axes
    """
    plt = need("matplotlib.pyplot", "plot")
    if ax is None:
        height = 1.2 + 0.6 * max(crosstab.shape)
        ax = plt.subplots(figsize=(8, height), layout="constrained")[1]
    total = float(crosstab.sum()) or 1.0
    left, right = _ends(crosstab.sum(axis=1) / total), _ends(crosstab.sum(axis=0) / total)
    _bars(ax, left, 0.0, [fill(i) for i in range(len(left))])
    _bars(ax, right, 1.0 - _BAR, [fill(i) for i in range(len(right))])
    x = np.linspace(_BAR, 1 - _BAR, _STEPS)
    bend = (1 - np.cos(np.pi * np.linspace(0, 1, _STEPS))) / 2
    used_left, used_right = left[:, 0].copy(), right[:, 0].copy()
    for i, row in enumerate(crosstab):
        for j, rows in enumerate(row):
            if rows <= 0:
                continue
            share = rows / total
            low = used_left[i] + (used_right[j] - used_left[i]) * bend
            stays = (i, j) in pairs
            ax.fill_between(
                x, low, low + share, color=fill(i), alpha=0.4 if stays else 0.85, linewidth=0
            )
            used_left[i] += share
            used_right[j] += share
    _names(ax, left, old_names, crosstab.sum(axis=1), -0.02, "right")
    _names(ax, right, new_names, crosstab.sum(axis=0), 1.02, "left")
    ax.set_xlim(-0.75, 1.75)
    ax.set_ylim(max(left.max(), right.max()) + _GAP, -_GAP)  # cluster 0 on top
    ax.set_axis_off()
    return ax


def _ends(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Where each bar begins and ends."""
    upto = np.cumsum(shares + _GAP)
    return np.stack([upto - shares - _GAP, upto - _GAP], axis=1)


def _bars(ax: Any, ends: NDArray[np.float64], x: float, colors: list[str]) -> None:
    for (begin, end), color in zip(ends, colors, strict=True):
        ax.fill_between(
            [x, x + _BAR], [begin, begin], [end, end], color=color, linewidth=0.8, edgecolor="#444"
        )


def _names(
    ax: Any,
    ends: NDArray[np.float64],
    names: tuple[str, ...],
    rows: NDArray[np.float64],
    x: float,
    align: str,
) -> None:
    for i, (begin, end) in enumerate(ends):
        name = one_line(names[i])
        name = name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…"
        text = f"{i}: {name}\n{rows[i]:,.0f} rows"
        # A dollar sign in a name would start a formula.
        ax.text(x, (begin + end) / 2, text.replace("$", r"\$"), ha=align, va="center", fontsize=9)
