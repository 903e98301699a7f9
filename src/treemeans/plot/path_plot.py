"""plot_path: what every size of the tree costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from treemeans.explain.suggest_leaves import suggested_leaves
from treemeans.optional_imports import need
from treemeans.tree_layout.colors import ink

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_path(model: Any, *, ax: Axes | None = None) -> Axes:
    """Plot the price of each number of leaves: the cost of the tree to that of the reference.

    The dashed line at 1 is the reference, k-means itself. Marked are the size the model has now,
    and the knee, after which further leaves save little (``treemeans.explain.suggest_leaves``); the
    curve goes on to the largest tree of the fit.

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
    pyplot = need("matplotlib.pyplot", "plot")
    check_is_fitted(model, "path_")
    path = model._fit_result.path  # path_ ends at the present size
    if ax is None:
        ax = pyplot.figure(figsize=(6.4, 4.0), layout="constrained").add_subplot()
    leaves, ratio = path["n_leaves"], path["ratio"]
    marker = "o" if len(path) <= 40 else None
    ax.plot(leaves, ratio, color=ink(0), marker=marker, markersize=3.5, label="tree", zorder=2)
    ax.axhline(1.0, color="0.5", linestyle=(0, (4, 3)), linewidth=1.0, label="k-means", zorder=1)
    knee = suggested_leaves(path)
    _mark(ax, path, knee, f"knee: {knee} leaves", marker="D", color=ink(5))
    now = int(model.n_leaves_)
    _mark(ax, path, now, f"now: {now} leaves", marker="o", color=ink(0), markerfacecolor="none")
    ax.set_xlabel("number of leaves")
    ax.set_ylabel("cost / cost of k-means")
    ax.xaxis.set_major_locator(need("matplotlib.ticker", "plot").MaxNLocator(integer=True))
    ax.ticklabel_format(axis="y", useOffset=False)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.legend(frameon=False)
    return ax


def _mark(ax: Axes, path: Any, n_leaves: int, label: str, **style: Any) -> None:
    """A mark on the curve, with its cost in the legend."""
    ratio = float(path["ratio"][np.searchsorted(path["n_leaves"], n_leaves)])
    (mark,) = ax.plot([n_leaves], [ratio], linestyle="none", markersize=9, zorder=3, **style)
    mark.set_markeredgewidth(1.6)
    mark.set_label(f"{label}, {ratio:.4g}")
