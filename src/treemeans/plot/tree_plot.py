"""plot_tree: draw a tree with matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from treemeans.columns import Reader
from treemeans.export.model_or_tree import picture_names, reader_of
from treemeans.optional_imports import need
from treemeans.tree_layout import draw_tree
from treemeans.tree_layout.tree_labels import label_tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LARGEST = 200.0  # inches; a larger figure has more pixels than matplotlib can draw


def plot_tree(
    model: Any,
    *,
    ax: Axes | None = None,
    feature_names: Sequence[str] | None = None,
    cluster_names: Sequence[str] | str | None = None,
    max_leaves: int | None = None,
    direction: str | None = None,
    fontsize: float | None = None,
    distributions: bool = False,
    X: Any = None,
) -> Axes:
    """Draw the tree with matplotlib.

    Leaves have the colour and the name of their cluster, lines are as wide as rows pass along
    them. A small tree goes down the page: the words to go left and right stand beside each cut. A
    larger one goes to the right, with a row for each leaf and each cut: the upper branch is
    where the condition holds. Names that are too long are shortened in their middle, and words
    never overlap.

    Parameters
    ----------
    model : fitted model or ThresholdTree
        A model knows the names, units and categories of its columns.
    ax : matplotlib Axes, optional
        Where to draw; words shrink until the tree fits. By default a figure of the size it needs.
    feature_names : sequence of str, optional
        Names of the columns; by default the model's, or ``x0``, ``x1``, ...
    cluster_names : sequence of str or "numbers", optional
        Names of the clusters, or ``"numbers"`` for ``cluster 0``, ``cluster 1``, ... By default
        the names given with ``with_names``, and for other clusters the number and the automatic
        name in ``cluster_names_``.
    max_leaves : int, optional
        Draw a larger tree as it was when it had this number of leaves.
    direction : {"down", "right"}, optional
        By default down if the tree has up to 12 leaves and fits a page.
    fontsize : float, optional
        Size of names, in points; by default 0.9 times that of ``rcParams["font.size"]``.
    distributions : bool, default=False
        Whether to draw, in each split, a histogram of its column with the cut: the rows of X that
        come to the split, in the colours of their clusters. For trees of up to 24 leaves, which
        then go down the page.
    X : table of the training rows, optional
        For ``distributions``; a model keeps no rows.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from treemeans import ExKMC, plot_tree
    >>> iris = load_iris()
    >>> model = ExKMC(3, max_leaf_nodes=3, random_state=0).fit(iris.data)
    >>> ax = plot_tree(model, feature_names=iris.feature_names)
    >>> [text.get_text() for text in ax.texts[:3]]
    ['petal length (cm)', '≤ 2.45', '> 2.45']
    """
    pyplot = need("matplotlib.pyplot", "plot")
    from treemeans.plot import matplotlib_canvas

    names = picture_names(model, cluster_names)
    reader = reader_of(model, feature_names)
    labels = label_tree(reader, names, max_leaves)
    size = 0.9 * pyplot.rcParams["font.size"] if fontsize is None else float(fontsize)
    if not size > 0:
        raise ValueError(f"fontsize must be positive; got {fontsize!r}.")
    if distributions:
        if X is None:
            raise ValueError("distributions=True draws histograms of rows; give the table as X.")
        from treemeans.plot.tree_distributions import draw_distributions

        rows = model._validate(X, reset=False) if hasattr(model, "_validate") else X
        return draw_distributions(Reader(labels.tree, reader.columns), labels, rows, ax, size)
    drawing = draw_tree(labels, matplotlib_canvas.text_measure(), size, direction)
    if ax is None:
        inches = drawing.width / 72, drawing.height / 72
        scale = min(1.0, _LARGEST / max(inches))
        figure = pyplot.figure(figsize=[length * scale for length in inches])
        ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    matplotlib_canvas.draw(drawing, ax)
    return ax
