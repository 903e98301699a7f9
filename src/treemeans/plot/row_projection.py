"""Rows of many columns in a plane: their two main axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.preprocessing import StandardScaler

from treemeans.plot.figure_parts import chosen_points, draw_center, new_axes, without_frame
from treemeans.tree_layout.colors import edge, fill

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_projection(model: Any, X: Any, ax: Axes | None, max_points: int) -> Axes:
    """Plot the rows on their two main axes, in the colours of the tree's clusters."""
    label = model.predict(X)
    points = _projected(model._validate(X, reset=False))
    ax = new_axes(ax, 6.4, 5.2)
    rows = chosen_points(len(points), max_points)
    for cluster in range(model.tree_.n_clusters):
        here = rows[label[rows] == cluster]
        style: dict[str, Any] = {"s": 14.0, "alpha": 0.55, "edgecolors": edge(cluster, "#ffffff")}
        x, y = points[here].T
        ax.scatter(x, y, c=fill(cluster), linewidths=0.4, **style)
    for cluster in np.unique(label).tolist():
        x, y = points[label == cluster].mean(axis=0)
        draw_center(ax, float(x), float(y), cluster)
    n_cut = len(np.unique(model.tree_.feature[~model.tree_.is_leaf]))
    ax.set_title(
        f"The tree cuts {n_cut} columns, which no plane can show: the rows on their two main\n"
        "axes, numbered by cluster. features=(a, b) shows the cells in two columns.",
        fontsize="small",
        loc="left",
    )
    ax.set_xlabel("first main axis (PCA)")
    ax.set_ylabel("second main axis (PCA)")
    without_frame(ax)
    return ax


def _projected(table: Any) -> NDArray[np.float64]:
    """The rows on two axes; missing values are at the mean of their column."""
    if sparse.issparse(table):
        scaled = StandardScaler(with_mean=False).fit_transform(table.astype(np.float64))
        return np.asarray(TruncatedSVD(2, random_state=0).fit_transform(scaled))
    scaled = StandardScaler().fit_transform(np.asarray(table, dtype=np.float64))
    return np.asarray(PCA(2, random_state=0).fit_transform(np.nan_to_num(scaled)))
