"""Rows, cells of a tree and distances to the reference in the plane of two columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics.pairwise import euclidean_distances

from treemeans.columns import Columns
from treemeans.split import Split
from treemeans.tree import ThresholdTree

_AT_ONCE = 5_000_000  # numbers in a table that is made for a pipeline at once


@dataclass(frozen=True)
class Plane:
    """A plane through the table along two columns, the others fixed at their middle.

    Attributes
    ----------
    pair : the two columns
    points : (n, 2), the rows
    given, shown : cluster of each row in the tree, and the one that its colour shows
    centers : (n_clusters, 2), centers in the plane; NaN for those of empty clusters
    fixed : a value for every column: where the plane lies in all but the two
    above, upto : corners of the window
    is_slice : whether cells or borders would differ with other fixed values
    """

    pair: tuple[int, int]
    points: NDArray[np.float64]
    given: NDArray[np.int32]
    shown: NDArray[np.int32]
    centers: NDArray[np.float64]
    fixed: NDArray[np.float64]
    above: tuple[float, float]
    upto: tuple[float, float]
    is_slice: bool

    @classmethod
    def of(cls, model: Any, X: Any, pair: tuple[int, int], reference: bool) -> Plane:
        """The rows of X, coloured by the reference or by the tree."""
        given = model.predict(X)  # checks X too
        table = model._validate(X, reset=False)
        points = _dense(table[:, list(pair)]).astype(np.float64)
        drawn = ~np.isnan(points).any(axis=1)  # the others have no place in the plane
        if not drawn.any():
            names = [model.columns_[i].name for i in pair]
            raise ValueError(f"No row has a value of both {names[0]!r} and {names[1]!r} to draw.")
        points = points[drawn]
        if reference:
            shown = _distances(model, table, X).argmin(axis=1).astype(np.int32)[drawn]
            centers = _reference_centers(model, points, shown, pair)
        else:
            shown, centers = given[drawn], model.cluster_profiles_[:, list(pair)]
        given = given[drawn]
        low, high = points.min(axis=0), points.max(axis=0)
        room = np.where(high > low, 0.05 * (high - low), 0.5)
        cut = set(model.tree_.feature[~model.tree_.is_leaf].tolist())
        return cls(
            pair,
            points,
            given,
            shown,
            centers,
            _middle(table, model.columns_),
            _corner(low - room),
            _corner(high + room),
            bool(cut - set(pair)) or (reference and table.shape[1] > 2),
        )

    def cluster_of_cell(self, tree: ThresholdTree, rows: NDArray[np.intp]) -> NDArray[np.int32]:
        """Cluster of the cell in which each row is drawn, whatever its other columns are."""
        found = np.empty(len(rows), dtype=np.int32)
        at_once = max(1, _AT_ONCE // len(self.fixed))
        for start in range(0, len(rows), at_once):
            some = slice(start, start + at_once)
            table = np.tile(self.fixed, (len(rows[some]), 1))
            table[:, list(self.pair)] = self.points[rows[some]]
            found[some] = tree.predict(table)
        return found


def _distances(model: Any, table: Any, raw: Any) -> NDArray[np.float64]:
    """Squared distance of each row to each reference center, in the space of the reference."""
    reference = model._fit_result.reference
    return np.asarray(
        euclidean_distances(reference.space(table, raw), reference.centers, squared=True)
    )


def _reference_centers(
    model: Any, points: NDArray[np.float64], label: NDArray[np.int32], pair: tuple[int, int]
) -> NDArray[np.float64]:
    reference = model._fit_result.reference
    if reference.pipeline is None:
        return np.asarray(reference.centers[:, list(pair)])
    count = np.bincount(label, minlength=reference.n_clusters)
    sums = [np.bincount(label, column, minlength=len(count)) for column in points.T]
    return np.stack([np.where(count > 0, s / np.maximum(count, 1), np.nan) for s in sums], axis=1)


def _middle(table: Any, columns: Columns) -> NDArray[np.float64]:
    """Median of each column of numbers, most common code of each column of categories."""
    by_column = sparse.csc_array(table) if sparse.issparse(table) else table
    middle = np.empty(table.shape[1])
    for i, column in enumerate(columns):
        values = _dense(by_column[:, [i]]).astype(np.float64).ravel()
        values = values[~np.isnan(values)]
        if len(values) == 0:
            middle[i] = np.nan
        elif column.kind == "codes":
            codes, counts = np.unique(values, return_counts=True)
            middle[i] = codes[counts.argmax()]
        else:
            middle[i] = np.median(values)
    return middle


def _dense(table: Any) -> NDArray[Any]:
    return np.asarray(table.toarray() if sparse.issparse(table) else table)


def _corner(values: NDArray[np.float64]) -> tuple[float, float]:
    return float(values[0]), float(values[1])


def grid_distances(
    plane: Plane, model: Any, X: Any, across: NDArray[np.float64], up: NDArray[np.float64]
) -> NDArray[np.float64] | None:
    """(n_clusters, len(up), len(across)): squared distance to each reference center.

    None if the reference cannot be evaluated here: a fitted pipeline that takes dates.
    """
    reference = model._fit_result.reference
    if reference.pipeline is None:
        apart = (plane.fixed - reference.centers) ** 2
        apart[:, list(plane.pair)] = 0.0  # the only columns that vary
        x, y = reference.centers[:, list(plane.pair)].T[:, :, None]
        sides = (across - x) ** 2, (up - y) ** 2
        return np.asarray(
            apart.sum(axis=1)[:, None, None] + sides[0][:, None] + sides[1][..., None]
        )
    if reference.given and any(column.typed and column.is_date for column in model.columns_):
        return None
    points = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)
    at_once = max(1, _AT_ONCE // len(plane.fixed))
    parts = []
    for start in range(0, len(points), at_once):
        some = points[start : start + at_once]
        grid = np.tile(plane.fixed, (len(some), 1))
        grid[:, list(plane.pair)] = some
        prepared = hasattr(model, "preparation_")  # a pipeline of ours, which reads numbers
        parts.append(_distances(model, grid, grid if prepared else _as_given(grid, X)))
    return np.concatenate(parts).T.reshape(-1, len(up), len(across))


def _as_given(grid: NDArray[np.float64], X: Any) -> Any:
    """Rows of numbers as the type of table that X is, for a pipeline that reads column names."""
    if not hasattr(X, "columns"):
        return grid
    if hasattr(X, "column_names"):  # a table of pyarrow
        return type(X).from_arrays(list(grid.T), names=X.column_names)
    if type(X).__module__.startswith("polars"):
        return type(X)(grid, schema=list(X.columns))
    return type(X)(grid, columns=X.columns)


@dataclass(frozen=True)
class Cell:
    """A rectangle of the plane, above < x <= upto on both axes, and its leaf."""

    above: tuple[float, float]
    upto: tuple[float, float]
    leaf: int


def cells(
    tree: ThresholdTree,
    pair: tuple[int, int],
    fixed: NDArray[np.float64],
    above: tuple[float, float],
    upto: tuple[float, float],
) -> list[Cell]:
    """The cells of a tree in the window from ``above`` to ``upto``.

    ``fixed`` has a value for every column: where the plane lies in all but the two of the pair.
    """
    found: list[Cell] = []
    stack = [Cell(above, upto, 0)]
    while stack:
        cell = stack.pop()
        if tree.is_leaf[cell.leaf]:
            found.append(cell)
            continue
        split = tree.split(cell.leaf)
        children = int(tree.right[cell.leaf]), int(tree.left[cell.leaf])
        if split.feature not in pair:
            goes_left = bool(split.goes_left(fixed[[split.feature]])[0])
            stack.append(Cell(cell.above, cell.upto, children[goes_left]))
            continue
        axis = pair.index(split.feature)
        for start, end, goes_left in _bands(split, cell.above[axis], cell.upto[axis]):
            lower, upper = _moved(cell.above, axis, start), _moved(cell.upto, axis, end)
            stack.append(Cell(lower, upper, children[goes_left]))
    return found


def _bands(split: Split, above: float, upto: float) -> Iterator[tuple[float, float, bool]]:
    """Parts of an interval, each with the side that its values take.

    The band of a category reaches half a unit to either side of its code.
    """
    if not split.is_categorical:
        edges = [above, *([split.threshold] if above < split.threshold < upto else []), upto]
    else:
        borders = {code + half for code in split.categories for half in (-0.5, 0.5)}
        edges = [above, *sorted(b for b in borders if above < b < upto), upto]
    for start, end in pairwise(edges):
        # A threshold belongs to the band below it, and a code is in the middle of its band.
        value = round((start + end) / 2) if split.is_categorical else end
        yield start, end, bool(split.goes_left(np.array([float(value)]))[0])


def _moved(corner: tuple[float, float], axis: int, value: float) -> tuple[float, float]:
    return (value, corner[1]) if axis == 0 else (corner[0], value)
