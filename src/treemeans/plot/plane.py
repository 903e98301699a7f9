"""What there is to see of rows and a reference in the plane of two columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics.pairwise import euclidean_distances

_AT_ONCE = 5_000_000  # numbers in a table that is made for a pipeline


@dataclass(frozen=True)
class Plane:
    """What there is to see in the plane of two columns.

    Attributes
    ----------
    pair : the two columns
    points : (n, 2), the rows
    given, shown : cluster of each row in the tree, and the one that its colour shows
    centers : (n_clusters, 2), NaN for those that have no place
    elsewhere : where the plane lies in each column
    above, upto : corners of the window
    is_slice : whether another place of the plane would show other cells or borders
    """

    pair: tuple[int, int]
    points: NDArray[np.float64]
    given: NDArray[np.int32]
    shown: NDArray[np.int32]
    centers: NDArray[np.float64]
    elsewhere: NDArray[np.float64]
    above: tuple[float, float]
    upto: tuple[float, float]
    is_slice: bool

    @classmethod
    def of(cls, model: Any, X: Any, pair: tuple[int, int], reference: bool) -> Plane:
        """The rows of X, coloured by the reference or by the tree."""
        given = model.predict(X)  # which checks X too
        table = model._validate(X, reset=False)
        points = _dense(table[:, list(pair)]).astype(np.float64)
        if reference:
            shown = _distances(model, table, X).argmin(axis=1).astype(np.int32)
            centers = _reference_centers(model, points, shown, pair)
        else:
            shown, centers = given, model.cluster_profiles_[:, list(pair)]
        low, high = points.min(axis=0), points.max(axis=0)
        room = np.where(high > low, 0.05 * (high - low), 0.5)
        cut = set(model.tree_.feature[~model.tree_.is_leaf].tolist())
        return cls(
            pair,
            points,
            given,
            shown,
            centers,
            _medians(table),
            _corner(low - room),
            _corner(high + room),
            bool(cut - set(pair)) or (reference and table.shape[1] > 2),
        )


def _distances(model: Any, table: Any, raw: Any) -> NDArray[np.float64]:
    """Squared distance of each row to each reference center, in the space of the reference."""
    reference = model._record.reference
    return np.asarray(
        euclidean_distances(reference.space(table, raw), reference.centers, squared=True)
    )


def _reference_centers(
    model: Any, points: NDArray[np.float64], label: NDArray[np.int32], pair: tuple[int, int]
) -> NDArray[np.float64]:
    reference = model._record.reference
    if reference.pipeline is None:
        return np.asarray(reference.centers[:, list(pair)])
    count = np.bincount(label, minlength=reference.n_clusters)
    sums = [np.bincount(label, column, minlength=len(count)) for column in points.T]
    return np.stack([np.where(count > 0, s / np.maximum(count, 1), np.nan) for s in sums], axis=1)


def _medians(table: Any) -> NDArray[np.float64]:
    if not sparse.issparse(table):
        return np.median(np.asarray(table, dtype=np.float64), axis=0)
    by_column = sparse.csc_array(table)
    return np.array(
        [np.median(by_column[:, [i]].toarray()) for i in range(table.shape[1])], dtype=np.float64
    )


def _dense(table: Any) -> NDArray[Any]:
    return np.asarray(table.toarray() if sparse.issparse(table) else table)


def _corner(values: NDArray[np.float64]) -> tuple[float, float]:
    return float(values[0]), float(values[1])


def grid_distances(
    plane: Plane, model: Any, X: Any, across: NDArray[np.float64], up: NDArray[np.float64]
) -> NDArray[np.float64] | None:
    """(n_clusters, len(up), len(across)): squared distance to each reference center.

    None where the reference cannot be asked: a fitted pipeline that wants dates.
    """
    reference = model._record.reference
    if reference.pipeline is None:
        apart = (plane.elsewhere - reference.centers) ** 2
        apart[:, list(plane.pair)] = 0.0  # the only columns that vary
        x, y = reference.centers[:, list(plane.pair)].T[:, :, None]
        sides = (across - x) ** 2, (up - y) ** 2
        return np.asarray(
            apart.sum(axis=1)[:, None, None] + sides[0][:, None] + sides[1][..., None]
        )
    if reference.given and any(column.typed for column in model.columns_):
        return None
    points = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)
    at_once = max(1, _AT_ONCE // len(plane.elsewhere))
    parts = []
    for start in range(0, len(points), at_once):
        some = points[start : start + at_once]
        grid = np.tile(plane.elsewhere, (len(some), 1))
        grid[:, list(plane.pair)] = some
        parts.append(_distances(model, grid, _as_given(grid, X)))
    return np.concatenate(parts).T.reshape(-1, len(up), len(across))


def _as_given(grid: NDArray[np.float64], X: Any) -> Any:
    """Rows of numbers as the kind of table that X is, for a pipeline that asks for names."""
    if not hasattr(X, "columns"):
        return grid
    if type(X).__module__.startswith("polars"):
        return type(X)(grid, schema=list(X.columns))
    return type(X)(grid, columns=X.columns)
