"""plot_path: what every size of the tree costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from treemeans.explain.suggest_leaves import suggested_leaves
from treemeans.optional_imports import need
from treemeans.plot.figure_parts import new_axes, without_frame
from treemeans.tree_layout.colors import ink

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_path(model: Any, *, ax: Axes | None = None) -> Axes:
    """Plot the cost ratio of each number of leaves: the tree's cost over the reference's.

    The dashed line is the reference, such as k-means itself. Where costs are given (labels, a
    mixture, a table), the curve shows the share of rows that differ from it. Marked are the size
    the model has now, and the suggested size, after which further leaves save little
    (``treemeans.explain.suggest_leaves``); the curve ends at the largest tree of the fit.

    Parameters
    ----------
    model : fitted model
    ax : matplotlib Axes, optional
        Where to draw; by default a figure of its own.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from treemeans import ExKMC, plot_path
    >>> model = ExKMC(10, max_leaf_nodes=40, random_state=0).fit(load_digits().data)
    >>> ax = plot_path(model.with_leaves(30))
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('number of leaves', 'cost / cost of k-means')
    """
    ticker = need("matplotlib.ticker", "plot")
    check_is_fitted(model, "path_")
    path = model._fit_result.path  # path_ ends at the present size
    ax = new_axes(ax, 6.4, 4.0)
    record = model._fit_result
    leaves, called = path["n_leaves"], record.called
    values = path["ratio"] if record.comparable else 1.0 - path["accuracy"]
    marker = "o" if len(path) <= 40 else None
    ax.plot(leaves, values, color=ink(0), marker=marker, markersize=3.5, label="tree", zorder=2)
    level = 1.0 if record.comparable else 0.0
    ax.axhline(level, color="0.5", linestyle=(0, (4, 3)), linewidth=1.0, label=called, zorder=1)
    knee = suggested_leaves(path)
    _mark(ax, leaves, values, knee, f"knee: {knee} leaves", marker="D", color=ink(5))
    now = int(model.n_leaves_)
    ring = {"marker": "o", "color": ink(0), "markerfacecolor": "none"}
    _mark(ax, leaves, values, now, f"now: {now} leaves", **ring)
    ax.set_xlabel("number of leaves")
    differ = f"share of rows that differ from {called}"
    ax.set_ylabel(f"cost / cost of {called}" if record.comparable else differ)
    ax.xaxis.set_major_locator(ticker.MaxNLocator(integer=True))
    ax.ticklabel_format(axis="y", useOffset=False)
    without_frame(ax)
    ax.legend(frameon=False)
    return ax


def _mark(ax: Axes, leaves: Any, values: Any, n_leaves: int, label: str, **style: Any) -> None:
    """A mark on the curve, with its value in the legend."""
    value = float(values[np.searchsorted(leaves, n_leaves)])
    (mark,) = ax.plot([n_leaves], [value], linestyle="none", markersize=9, zorder=3, **style)
    mark.set_markeredgewidth(1.6)
    mark.set_label(f"{label}, {value:.4g}")
