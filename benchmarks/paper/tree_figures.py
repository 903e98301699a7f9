"""The paper's figures of trees: regions of the plane, and words of four newsgroups."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import pyplot
from numpy.typing import NDArray

from benchmarks.paper.example_data import load_words, plane, words_file
from benchmarks.paper.fits import plane_model, words_model
from benchmarks.paper.plan import WORDS, Case
from treemeans import plot_regions, plot_tree
from treemeans.tree_layout import colors

DPI = 110
K = 3


def regions(path: Path) -> Path:
    """Figure 1: the reference, k leaves, 2 k leaves, as many as it takes, and two of the trees."""
    X = plane()
    model = plane_model(X)
    figure = pyplot.figure(figsize=(15, 7.6), layout="constrained")
    above, below = figure.subfigures(2, 1, height_ratios=(1, 1))
    axes, trees = above.subplots(1, 4), below.subplots(1, 2)
    axes[0].scatter(*X.T, c=[colors.fill(label) for label in model.reference_labels_], s=14)
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
    if words_file() is None:
        return None
    X, y, names, groups = load_words()
    model = words_model(X, Case(WORDS, "words", "", 0, 8))
    figure, axes = pyplot.subplots(
        2, 1, figsize=(11, 10), layout="constrained", height_ratios=(1, 1.6)
    )
    for ax, leaves in zip(axes, (4, 8), strict=True):
        small = model.with_leaves(leaves) if leaves < model.n_leaves_ else model
        plot_tree(
            small, ax=ax, feature_names=names, cluster_names=_topics(small.labels_, y, groups)
        )
        ratio = small.inertia_ / model.reference_inertia_
        ax.set_title(f"{leaves} leaves, cost ratio {ratio:.3f}")
    return _save(figure, path)


def _topics(labels: NDArray[Any], y: NDArray[Any], names: list[str]) -> list[str]:
    """Name each cluster after the group that most of its messages are of."""
    topics, groups = [], [name.rpartition(".")[2] for name in names]
    for cluster in range(len(groups)):
        votes = np.bincount(y[labels == cluster], minlength=len(groups))
        group = groups[int(votes.argmax())]
        topics.append(f"{group}, {100 * votes.max() / max(votes.sum(), 1):.0f} %")
    return topics


def _save(figure: Any, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=DPI, bbox_inches="tight", pad_inches=0.15)
    pyplot.close(figure)
    return path
