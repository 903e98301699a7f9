"""The paper's pictures of trees: regions of the plane, and words of four newsgroups."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot
from numpy.typing import NDArray

from treemeans import plot_regions, plot_tree
from treemeans.drawing import palette

from . import data
from .cells import WORDS, Cell
from .methods import plane_model, words_model

DPI = 110
K = 3


def regions(path: Path) -> Path:
    """Figure 1: the reference, k leaves, 2 k leaves, as many as it takes, and two of the trees."""
    X = data.plane()
    model = plane_model(X)
    figure = pyplot.figure(figsize=(15, 7.6), layout="constrained")
    above, below = figure.subfigures(2, 1, height_ratios=(1, 1))
    axes, trees = above.subplots(1, 4), below.subplots(1, 2)
    axes[0].scatter(*X.T, c=[palette.fill(label) for label in model.reference_labels_], s=14)
    axes[0].set_title("k-means (reference)")
    sizes = (K, 2 * K, int(model.n_leaves_))
    titles = ("k leaves (IMM)", "2 k leaves (ExKMC)", f"{sizes[-1]} leaves")
    for ax, leaves, title in zip(axes[1:], sizes, titles, strict=True):
        tree = model.with_leaves(leaves) if leaves < model.n_leaves_ else model
        plot_regions(tree, X, ax=ax, feature_names=["x", "y"])
        _drop_legend(ax)
        ax.set_title(f"{title}: cost ratio {tree.inertia_ / model.reference_inertia_:.3f}")
    _drop_edges(axes[3])
    for ax, leaves, title in zip(trees, sizes[:2], titles[:2], strict=True):
        plot_tree(model.with_leaves(leaves), ax=ax, feature_names=["x", "y"])
        ax.set_title(title)
    return _save(figure, path)


def _drop_edges(ax: Any) -> None:
    """Draw the boxes without edges: where they are many, edges would be all that is seen."""
    for box in ax.patches:
        box.set_linewidth(0.0)


def _drop_legend(ax: Any) -> None:
    """Remove the legend, which is wider than a plot of this size; the page says it."""
    legend = ax.get_legend()
    if legend is not None:
        legend.remove()


def words(path: Path) -> Path | None:
    """The trees with 4 and 8 leaves of four newsgroups; None where the data are not there."""
    if not data.has_words():
        return None
    X, y, names = data.load_words()
    model = words_model(X, Cell(WORDS, "words", "", 0, 8))
    figure, axes = pyplot.subplots(
        2, 1, figsize=(11, 10), layout="constrained", height_ratios=(1, 1.6)
    )
    for ax, leaves in zip(axes, (4, 8), strict=True):
        small = model.with_leaves(leaves) if leaves < model.n_leaves_ else model
        plot_tree(small, ax=ax, feature_names=names, cluster_names=_topics(small.labels_, y))
        ratio = small.inertia_ / model.reference_inertia_
        ax.set_title(f"{leaves} leaves, cost ratio {ratio:.3f}")
    return _save(figure, path)


def _topics(labels: NDArray[Any], y: NDArray[Any]) -> list[str]:
    """Name each cluster after the group that most of its messages are of."""
    names, groups = [], [name.rpartition(".")[2] for name in data.group_names()]
    for cluster in range(len(groups)):
        votes = np.bincount(y[labels == cluster], minlength=len(groups))
        group = groups[int(votes.argmax())]
        names.append(f"{group}, {100 * votes.max() / max(votes.sum(), 1):.0f} %")
    return names


def _save(figure: Any, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=DPI, bbox_inches="tight", pad_inches=0.15)
    pyplot.close(figure)
    return path


def use_no_window() -> None:
    """Draw to files alone."""
    mpl.use("Agg")
