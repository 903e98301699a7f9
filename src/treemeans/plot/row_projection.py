"""Rows of many columns in a plane: their two main axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.preprocessing import StandardScaler

from treemeans.optional_imports import need
from treemeans.tree_layout.colors import DARK, edge, fill, text_color_on

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_projection(model: Any, X: Any, ax: Axes | None, max_points: int) -> Axes:
    """Plot the rows on their two main axes, in the colours of the tree's clusters."""
    pyplot = need("matplotlib.pyplot", "plot")
    label = model.predict(X)
    points = _projected(model._validate(X, reset=False))
    if ax is None:
        ax = pyplot.figure(figsize=(6.4, 5.2), layout="constrained").add_subplot()
    rows = np.arange(len(points))
    if len(rows) > max_points:
        rows = np.sort(np.random.default_rng(0).choice(len(rows), max_points, replace=False))
    for cluster in range(model.tree_.n_clusters):
        here = rows[label[rows] == cluster]
        style: dict[str, Any] = {"s": 14.0, "alpha": 0.55, "edgecolors": edge(cluster, "#ffffff")}
        x, y = points[here].T
        ax.scatter(x, y, c=fill(cluster), linewidths=0.4, **style)
    for cluster in np.unique(label).tolist():
        x, y = points[label == cluster].mean(axis=0)
        _mark(ax, float(x), float(y), cluster)
    n_cut = len(np.unique(model.tree_.feature[~model.tree_.is_leaf]))
    ax.set_title(
        f"The tree cuts {n_cut} columns, which no plane can show: the rows on their two main\n"
        "axes, numbered by cluster. features=(a, b) shows the cells in two columns.",
        fontsize="small",
        loc="left",
    )
    ax.set_xlabel("first main axis (PCA)")
    ax.set_ylabel("second main axis (PCA)")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax


def _projected(table: Any) -> NDArray[np.float64]:
    """The rows on two axes; missing values are at the mean of their column."""
    if sparse.issparse(table):
        scaled = StandardScaler(with_mean=False).fit_transform(table.astype(np.float64))
        return np.asarray(TruncatedSVD(2, random_state=0).fit_transform(scaled))
    scaled = StandardScaler().fit_transform(np.asarray(table, dtype=np.float64))
    return np.asarray(PCA(2, random_state=0).fit_transform(np.nan_to_num(scaled)))


def _mark(ax: Axes, x: float, y: float, cluster: int) -> None:
    color = fill(cluster)
    ax.plot([x], [y], "o", markersize=13, color=color, markeredgecolor=DARK, zorder=5)
    number = ax.text(x, y, str(cluster), ha="center", va="center_baseline", fontsize=8, zorder=6)
    number.set_color(text_color_on(color))
