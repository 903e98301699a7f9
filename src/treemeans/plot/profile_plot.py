"""plot_profiles: the clusters side by side, as a heat map of their means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from treemeans.columns import Reader, describe_columns
from treemeans.columns.number_text import percent
from treemeans.export.model_or_tree import picture_names
from treemeans.optional_imports import need
from treemeans.plot.figure_parts import new_axes
from treemeans.tree_layout.text_fitting import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LONGEST = 44  # letters of a name
_LETTER = 0.085  # inches, about
_STRONG = 2.0  # standard deviations from the mean of all rows, shown in full colour


def plot_profiles(
    model: Any,
    *,
    ax: Axes | None = None,
    max_columns: int = 16,
    feature_names: Sequence[str] | None = None,
    cluster_names: Sequence[str] | str | None = None,
) -> Axes:
    """Plot the means of all clusters side by side: clusters by columns, as a heat map.

    The number in a cell is the mean of the cluster in the column, in the column's own units. Its
    colour says how far that is from the mean of all rows, in standard deviations of the column:
    red above, blue below. The columns in which clusters differ most come first. Columns of
    categories have no mean, and are left out.

    Parameters
    ----------
    model : fitted model
    ax : matplotlib Axes, optional
        Where to draw; by default a figure of the size it needs.
    max_columns : int, default=16
        Most columns to show.
    feature_names : sequence of str, optional
        Names of the columns; by default the model's.
    cluster_names : sequence of str or "numbers", optional
        Names of the clusters, as in `plot_tree`.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from treemeans import ExKMC, plot_profiles
    >>> model = ExKMC(3, max_leaf_nodes=3, random_state=0).fit(load_iris().data)
    >>> ax = plot_profiles(model)
    >>> sorted(label.get_text() for label in ax.get_xticklabels())
    ['x0', 'x1', 'x2', 'x3']
    """
    pyplot = need("matplotlib.pyplot", "plot")
    check_is_fitted(model, "tree_")
    if not isinstance(max_columns, int) or max_columns < 1:
        raise ValueError(f"max_columns must be a positive whole number; got {max_columns!r}.")
    facts = model._facts
    reader = Reader(model.tree_, describe_columns(model.columns_, names=feature_names))
    apart = _standard_deviations_apart(facts.profiles, facts.weight, facts.scale)
    means = np.flatnonzero([column.kind != "codes" for column in reader.columns])
    if not len(means):
        raise ValueError(
            "plot_profiles draws means, but all columns hold categories; use plot_tree."
        )
    largest = np.nanmax(np.abs(apart[:, means]), axis=0)
    shown = means[np.argsort(-largest, kind="stable")[:max_columns]]
    names = picture_names(model, cluster_names) or [f"cluster {i}" for i in range(len(apart))]
    shares = facts.weight / max(facts.weight.sum(), 1e-300)
    titles = [_short(reader.title(feature)) for feature in shown.tolist()]
    labels = [f"{_short(n)} ({percent(s)})" for n, s in zip(names, shares, strict=True)]
    if ax is None:
        beside, above = (_LETTER * max(map(len, texts)) for texts in (labels, titles))
        size = (
            2.2 + beside + 0.6 * above + 0.95 * len(shown),
            max(3.2, 1.2 + 0.6 * above + 0.42 * len(apart)),
        )
        ax = new_axes(None, *size)
    colors = pyplot.get_cmap("RdBu_r").with_extremes(bad="none")
    values = np.ma.masked_invalid(apart[:, shown])
    image = ax.imshow(values, cmap=colors, vmin=-_STRONG, vmax=_STRONG, aspect="auto")
    _write_means(ax, facts.profiles[:, shown], apart[:, shown], shown, reader)
    ax.set_xticks(range(len(shown)), titles, rotation=40, ha="left", rotation_mode="anchor")
    ax.xaxis.tick_top()
    ax.set_yticks(range(len(apart)), labels)
    for tick in (*ax.get_xticklabels(), *ax.get_yticklabels()):
        tick.set_parse_math(False)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    bar = ax.figure.colorbar(image, ax=ax, shrink=0.8, pad=0.02, extend="both")
    bar.set_label("standard deviations\nfrom the mean of all rows", fontsize="small")
    bar.outline.set_visible(False)
    return ax


def _short(name: str) -> str:
    name = one_line(name)
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 13]}…{name[-12:]}"


def _standard_deviations_apart(
    profiles: NDArray[np.float64], weight: NDArray[np.float64], scale: NDArray[np.float64]
) -> NDArray[np.float64]:
    """How far each cluster's mean is from that of all rows; NaN for an empty cluster."""
    known = np.where(weight[:, None] > 0, profiles, 0.0)
    overall = weight @ known / max(weight.sum(), 1e-300)
    return np.asarray((profiles - overall) / scale)


def _write_means(
    ax: Axes,
    profiles: NDArray[np.float64],
    apart: NDArray[np.float64],
    shown: NDArray[np.intp],
    reader: Reader,
) -> None:
    for (row, place), mean in np.ndenumerate(profiles):
        if np.isfinite(mean):
            strong = abs(apart[row, place]) > 0.65 * _STRONG
            words = reader.mean(int(shown[place]), float(mean))
            ax.text(
                place,
                row,
                words,
                ha="center",
                va="center",
                fontsize="small",
                color="white" if strong else "#111111",
                parse_math=False,
            )
