"""A table of points, ready to be searched."""

from dataclasses import dataclass
from typing import Any, Self

from scipy import sparse

from treemeans import _core
from treemeans.tables.dense import dense_points
from treemeans.tables.sparse import sparse_points

_MAX_ROWS = 2**31 - 1  # rows are numbered in 32 bits


def as_points(X: Any, *, by_column: bool = False) -> _core.Points:
    """The kernels' view of X, a numpy array or a scipy sparse matrix."""
    if sparse.issparse(X):
        return sparse_points(X, by_column=by_column)
    return dense_points(X)


@dataclass(frozen=True)
class Table:
    """The features of all rows: as they are, and in bins."""

    points: _core.Points
    bins: _core.Bins
    n_rows: int
    n_features: int
    dense: bool

    @classmethod
    def of(cls, X: Any, n_threads: int) -> Self | None:
        """Table of X; None if it holds a NaN or an infinity."""
        if X.shape[0] > _MAX_ROWS:
            raise ValueError(f"X has {X.shape[0]} rows; at most {_MAX_ROWS} fit in one table.")
        points = as_points(X, by_column=True)
        bins = _core.make_bins(points, n_threads)
        return (
            None
            if bins is None
            else cls(points, bins, X.shape[0], X.shape[1], not sparse.issparse(X))
        )
