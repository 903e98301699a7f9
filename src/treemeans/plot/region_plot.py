"""plot_regions: the cells of a tree and the reference clustering in the plane of two columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from treemeans.columns import Columns, Reader, describe_columns
from treemeans.columns.column import position
from treemeans.optional_imports import need
from treemeans.plot.feature_plane import Plane, cells, grid_distances
from treemeans.plot.figure_parts import as_hex, chosen_points, draw_center, new_axes
from treemeans.plot.row_projection import plot_projection
from treemeans.tree import ThresholdTree
from treemeans.tree_layout.colors import fill, mixed
from treemeans.tree_layout.text_fitting import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_GRID = 300  # points along each axis at which the reference is evaluated
_PALE = 0.55  # share of the background in the colour of a cell
_DEEP = 0.32  # share of the text colour in the colour of a point
_DASHED = (0, (5, 3))
_RING = 1.0  # width of the ring around points that the tree puts elsewhere
_ENOUGH = 0.5  # share of what all cuts save, that a slice must show
_FADED = 0.22  # opacity of points that other columns take out of the cell
_SLICE = "Cells and borders with the other columns at their median; points of all rows"


def plot_regions(
    model: Any,
    X: Any,
    *,
    features: Sequence[Any] | None = None,
    ax: Axes | None = None,
    reference: bool = True,
    feature_names: Sequence[str] | None = None,
    max_points: int = 5000,
) -> Axes:
    """Plot the cells of the tree in the plane of two columns, against the reference clustering.

    Each cell has the colour of its cluster and lines where the tree cuts. Points have the colour
    of their cluster in the reference; those that the tree gives to another one are ringed. The
    numbers mark the centers of the reference, and dashed lines the border between their
    clusters.

    With more than two columns the plane is a slice: cells and borders are those where all other
    columns are at their median in X, while the points of all rows are shown, wherever they are in
    the other columns; those that the other columns take out of the cell are faded. The plot says
    so. Where the tree cuts only the two columns, its cells are the same in every slice.

    Where no two columns carry half of what the tree's cuts save, a slice would show next to
    nothing. Unless ``features`` names two columns, the rows are then projected to their two main
    axes (PCA of the standardised columns), without cells.

    Parameters
    ----------
    model : fitted model
    X : array, data frame or sparse matrix of shape (n_samples, n_features)
        The rows to show.
    features : two names or numbers of columns, optional
        What goes to the right and what goes up. By default the two columns of X or, of more, the
        two whose cuts save most.
    ax : matplotlib Axes, optional
        Where to draw; by default a figure of its own.
    reference : bool, default=True
        Whether to show the reference. If not, points have the colour of their cluster in the
        tree, and the numbers mark its means.
    feature_names : sequence of str, optional
        Names of the columns; by default the model's.
    max_points : int, default=5000
        Most rows to show; of more, a random sample is shown, the same each time.

    Returns
    -------
    matplotlib Axes

    Notes
    -----
    The center of a cluster of a reference pipeline is shown at the mean of its rows in X.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from treemeans import ExKMC, plot_regions
    >>> X = load_iris(as_frame=True).data
    >>> model = ExKMC(3, max_leaf_nodes=3, random_state=0).fit(X)
    >>> ax = plot_regions(model, X, features=["petal length (cm)", "petal width (cm)"])
    >>> ax.get_xlabel()
    'petal length (cm)'
    """
    need("matplotlib", "plot")
    check_is_fitted(model, "tree_")
    columns = describe_columns(model.columns_, names=feature_names)
    if features is None and _needs_projection(model):
        return plot_projection(model, X, ax, max_points)
    pair = _pair(model, columns, features)
    plane = Plane.of(model, X, pair, reference)
    ax = new_axes(ax, 6.4, 5.2)
    background = as_hex(ax.get_facecolor())
    _draw_cells(ax, model.tree_, plane, background)
    if reference:
        _draw_borders(ax, plane, model, X)
    _draw_points(ax, plane, model.tree_, max_points, background)
    _draw_centers(ax, plane)
    _finish(ax, plane, Reader(model.tree_, columns))
    _draw_legend(ax, plane, reference)
    return ax


def _needs_projection(model: Any) -> bool:
    """Whether the two columns whose cuts save most save less than half of what all save."""
    saved = np.sort(model.feature_importances_)[::-1]
    return len(saved) > 2 and bool(0 < saved[:2].sum() < _ENOUGH)


def _pair(model: Any, columns: Columns, features: Sequence[Any] | None) -> tuple[int, int]:
    if len(columns) < 2:
        raise ValueError("plot_regions needs two columns, but the model was fitted on one.")
    if features is None:
        if len(columns) == 2:
            return 0, 1
        first, second = np.argsort(-model.feature_importances_, kind="stable")[:2].tolist()
        return first, second
    if isinstance(features, str) or len(features) != 2:
        raise ValueError(f"features must be two columns, by name or number; got {features!r}.")
    first, second = (position(columns, key) for key in features)
    if first == second:
        raise ValueError(f"features must be two different columns; got {features!r}.")
    return first, second


def _draw_cells(ax: Axes, tree: ThresholdTree, plane: Plane, background: str) -> None:
    patches = need("matplotlib.patches", "plot")
    for cell in cells(tree, plane.pair, plane.fixed, plane.above, plane.upto):
        width, height = (cell.upto[i] - cell.above[i] for i in (0, 1))
        color = mixed(fill(int(tree.label[cell.leaf])), background, _PALE)
        patch = patches.Rectangle(cell.above, width, height, facecolor=color, linewidth=0.8)
        patch.set_edgecolor(mixed(background, _text_colour(), 0.55))
        patch.set_zorder(1)
        ax.add_patch(patch)


def _text_colour() -> str:
    return as_hex(need("matplotlib", "plot").rcParams["text.color"])


def _draw_borders(ax: Axes, plane: Plane, model: Any, X: Any) -> None:
    """Draw dashed lines where two reference centers are equally near and none is nearer."""
    across, up = (np.linspace(plane.above[i], plane.upto[i], _GRID) for i in (0, 1))
    found = grid_distances(plane, model, X, across, up)
    if found is None:
        return
    nearest, least = found.argmin(axis=0), found.min(axis=0)
    for one, other in _neighbours(nearest):
        away = np.minimum(found[one], found[other]) > least
        difference = np.ma.masked_array(found[one] - found[other], away)
        ax.contour(
            across,
            up,
            difference,
            levels=[0.0],
            colors=[_text_colour()],
            linestyles=[_DASHED],
            linewidths=1.2,
            zorder=2,
        )


def _neighbours(nearest: NDArray[np.intp]) -> list[tuple[int, int]]:
    """Pairs of clusters that are next to each other somewhere on the grid."""
    pairs: set[tuple[int, int]] = set()
    for a, b in ((nearest[1:], nearest[:-1]), (nearest[:, 1:], nearest[:, :-1])):
        differ = a != b
        pairs |= set(zip(a[differ].tolist(), b[differ].tolist(), strict=True))
    return sorted({(min(pair), max(pair)) for pair in pairs})


def _draw_points(
    ax: Axes, plane: Plane, tree: ThresholdTree, max_points: int, background: str
) -> None:
    """Draw the rows; those that the tree puts into another cluster have a ring and lie on top."""
    rows = chosen_points(len(plane.points), max_points)
    moved = plane.given[rows] != plane.shown[rows]
    area = 26.0 if len(rows) <= 1000 else 8.0
    text = _text_colour()
    colours = [mixed(fill(c), text, _DEEP) for c in range(int(plane.shown.max()) + 1)]
    opacity = np.where(plane.cluster_of_cell(tree, rows) == plane.given[rows], 1.0, _FADED)
    for some, edge, width, order, opaque in (
        (rows[~moved], background, 0.4, 3, opacity[~moved]),
        (rows[moved], text, _RING, 4, opacity[moved]),
    ):
        ax.scatter(
            plane.points[some, 0],
            plane.points[some, 1],
            s=area,
            c=[colours[cluster] for cluster in plane.shown[some]],
            edgecolors=edge,
            linewidths=width,
            alpha=opaque if len(some) else None,
            zorder=order,
        )


def _draw_centers(ax: Axes, plane: Plane) -> None:
    for cluster, (x, y) in enumerate(plane.centers.tolist()):
        if not all(plane.above[i] < (x, y)[i] < plane.upto[i] for i in (0, 1)):
            continue  # outside the window, or of an empty cluster
        draw_center(ax, x, y, cluster)


def _draw_legend(ax: Axes, plane: Plane, reference: bool) -> None:
    """Draw a legend of lines and rings above the plot, and for a slice, a note on what is shown."""
    line = need("matplotlib.lines", "plot").Line2D
    text = _text_colour()
    handles = [line([], [], color=text, alpha=0.55, linewidth=0.8, label="cut of the tree")]
    if reference:
        border = line([], [], color=text, linestyle=_DASHED, linewidth=1.2)
        border.set_label("border of the reference")
        ring = line([], [], color="none", marker="o", markersize=5, markeredgecolor=text)
        ring.set_label("ringed: the tree disagrees")
        handles += [border, ring]
    ax.legend(
        handles=handles,
        title=_SLICE if plane.is_slice else None,
        title_fontsize="small",
        fontsize="small",
        alignment="left",
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        borderaxespad=0.2,
        borderpad=0.0,
        ncols=3,
        columnspacing=1.4,
        frameon=False,
    )


def _finish(ax: Axes, plane: Plane, reader: Reader) -> None:
    """Set the limits and names of the axes, and ticks of dates and categories."""
    ticker = need("matplotlib.ticker", "plot")
    ax.set_xlim(plane.above[0], plane.upto[0])
    ax.set_ylim(plane.above[1], plane.upto[1])
    named = ((ax.xaxis, plane.pair[0]), (ax.yaxis, plane.pair[1]))
    for axis, feature in named:
        column = reader.columns[feature]
        unit = f" ({column.unit})" if column.unit and not column.is_date else ""
        axis.set_label_text(one_line(column.title) + unit, parse_math=False, usetex=False)
        if column.is_date:
            axis.set_major_locator(ticker.MaxNLocator(5))
            axis.set_major_formatter(_date_ticks(reader, feature))
        elif column.kind in ("category", "flag"):
            axis.set_ticks([0.0, 1.0], labels=["no", "yes"])
        elif column.kind == "codes" and column.categories:
            axis.set_ticks(range(len(column.categories)))
            names = [one_line(name) for name in column.categories]
            axis.set_ticklabels(names, parse_math=False, usetex=False)


def _date_ticks(reader: Reader, feature: int) -> Any:
    return lambda value, _: reader.mean(feature, value)
