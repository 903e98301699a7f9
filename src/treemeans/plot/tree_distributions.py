"""A tree with a histogram in each split: the rows that come to it, by cluster, and the cut."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from treemeans.columns import Reader
from treemeans.optional_imports import need
from treemeans.plot.figure_parts import as_hex
from treemeans.rows.column_values import column_of
from treemeans.tree import ThresholdTree
from treemeans.tree_layout.colors import edge, fill, text_color_on
from treemeans.tree_layout.text_fitting import one_line, wrapped
from treemeans.tree_layout.top_down import horizontal_positions
from treemeans.tree_layout.tree_labels import TreeLabels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_LEAVES = 24
"""Leaves of the largest tree whose histograms can still be read."""
_BINS = 24
_WIDTH, _HEIGHT = 1.75, 1.75  # inches of a leaf, and from level to level
_LONG = 26  # letters of a title
_LEAF_LETTERS = 16.0  # letters of a line in a leaf
_LAST = 0.45  # height of the last level, which has only leaves
_TAIL = 0.005  # share of the rows at either end that share a bin


def draw_distributions(
    reader: Reader, labels: TreeLabels, rows: Any, ax: Axes | None, fontsize: float
) -> Axes:
    """Draw the tree; ``rows`` are those that the model was fitted to, as an array or matrix."""
    pyplot = need("matplotlib.pyplot", "plot")
    tree = reader.tree
    if tree.n_leaves > MOST_LEAVES:
        raise ValueError(
            f"distributions=True draws trees of up to {MOST_LEAVES} leaves; this one has "
            f"{tree.n_leaves}. Give a smaller one: plot_tree(model.with_leaves(12), ...)."
        )
    # Leaves stand in the middle of slots; a single one, in the middle of two.
    place = np.array(horizontal_positions(tree)) + (0.5 if tree.n_leaves > 1 else 1.0)
    depth = int(tree.depth.max())
    if ax is None:
        size = (_WIDTH * max(tree.n_leaves, 2), _HEIGHT * (depth + _LAST))
        ax = pyplot.figure(figsize=size).add_axes((0.0, 0.0, 1.0, 1.0))
    ax.set_xlim(0, max(tree.n_leaves, 2))
    ax.set_ylim(-(depth + _LAST), 0)
    ax.set_axis_off()
    passed = tree.decision_path(rows).tocsc()
    label = tree.predict(rows)
    ground = as_hex(ax.figure.get_facecolor())
    for node in range(tree.n_nodes):
        x, y = place[node], -float(tree.depth[node])
        if tree.is_leaf[node]:
            _leaf(ax, labels, node, x, y, fontsize, ground)
            continue
        for child in (int(tree.left[node]), int(tree.right[node])):
            _line(ax, tree, (x, y - 0.86), (place[child], y - 1.0), child)
        here = passed[:, [node]].nonzero()[0]
        values = column_of(rows, int(tree.feature[node]))[here]
        _histogram(ax, reader, labels, node, (x, y), values, label[here], fontsize)
    return ax


def _line(ax: Axes, tree: ThresholdTree, start: Any, end: Any, child: int) -> None:
    share = tree.weight[child] / max(float(tree.weight[0]), 1e-300)
    style: dict[str, Any] = {
        "color": "0.6",
        "linewidth": 0.8 + 5 * share,
        "zorder": 0,
        "solid_capstyle": "round",
    }
    ax.plot([start[0], end[0]], [start[1], end[1]], **style)


def _leaf(
    ax: Axes, labels: TreeLabels, node: int, x: float, y: float, fontsize: float, ground: str
) -> None:
    cluster = int(labels.tree.label[node])
    color = fill(cluster)
    box: dict[str, Any] = {
        "boxstyle": "round,pad=0.45",
        "facecolor": color,
        "edgecolor": edge(cluster, ground),
    }
    name = _in_lines(labels.clusters[node])
    words = "\n".join([name, labels.row_counts.get(node, "")]).strip()
    ax.text(
        x,
        y - 0.2,
        words,
        ha="center",
        va="center",
        fontsize=fontsize,
        color=text_color_on(color),
        bbox=box,
        parse_math=False,
    )


def _histogram(
    ax: Axes,
    reader: Reader,
    labels: TreeLabels,
    node: int,
    at: tuple[float, float],
    values: NDArray[np.float64],
    label: NDArray[np.int32],
    fontsize: float,
) -> None:
    """An axes of its own with stacked bars by cluster, the cut, and the words of both sides."""
    x, y = at
    inset = ax.inset_axes((x - 0.42, y - 0.62, 0.84, 0.42), transform=ax.transData)
    split = reader.tree.split(node)
    known = ~np.isnan(values)
    values = _without_tails(values, split.threshold)
    clusters = np.unique(label)
    bins: Any = _BINS
    if split.is_categorical or reader.columns[split.feature].kind in ("category", "flag"):
        bins = np.arange(values[known].min() - 0.5, values[known].max() + 1)
    inset.hist(
        [values[known & (label == c)] for c in clusters],
        bins=bins,
        stacked=True,
        color=[fill(int(c)) for c in clusters],
        edgecolor="none",
    )
    if not split.is_categorical and np.isfinite(split.threshold):
        text = need("matplotlib", "plot").rcParams["text.color"]
        inset.axvline(split.threshold, color=text, linestyle="--", linewidth=1.2)
    inset.patch.set_alpha(0.0)
    inset.set_yticks([])
    for side in ("top", "left", "right"):
        inset.spines[side].set_visible(False)
    if reader.columns[split.feature].is_date:
        inset.set_xticks([])
    inset.tick_params(labelsize=0.75 * fontsize, length=2, pad=1)
    if len(inset.get_xticks()):
        inset.locator_params(axis="x", nbins=3)
    said = labels.splits[node]
    inset.set_title(_short(said.name), fontsize=fontsize, pad=4, parse_math=False)
    small: dict[str, Any] = {"fontsize": 0.85 * fontsize, "va": "top", "parse_math": False}
    ax.text(x - 0.03, y - 0.73, _short(said.left), ha="right", **small)
    ax.text(x + 0.03, y - 0.73, _short(said.right), ha="left", **small)


def _without_tails(values: NDArray[np.float64], threshold: float) -> NDArray[np.float64]:
    """Values with those at both ends moved in, so that a few do not make the axis too wide."""
    known = values[~np.isnan(values)]
    if not len(known):
        return values
    low, high = np.quantile(known, [_TAIL, 1 - _TAIL]).tolist()
    room = (high - low) / 20
    if np.isfinite(threshold):
        low, high = min(low, threshold - room), max(high, threshold + room)
    return np.asarray(np.clip(values, low, high))


def _in_lines(name: str) -> str:
    """A name in up to three lines, as wide as the slot of a leaf."""

    def measure(words: str, size: float, *, bold: bool = False) -> float:
        return float(len(words))

    return "\n".join(wrapped(one_line(name), _LEAF_LETTERS, 3, 1.0, measure))


def _short(text: str) -> str:
    text = one_line(text)
    return text if len(text) <= _LONG else f"{text[: _LONG - 9]}…{text[-8:]}"
