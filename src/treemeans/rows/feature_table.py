"""A table of points, ready to be searched."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from treemeans import _core
from treemeans.rows.dense_points import dense_points
from treemeans.rows.sparse_points import sparse_points

_MAX_ROWS = 2**31 - 1  # rows are numbered in 32 bits


def as_points(X: Any, *, by_column: bool = False) -> _core.Points:
    """The kernels' view of X, a numpy array or a scipy sparse matrix."""
    if sparse.issparse(X):
        return sparse_points(X, by_column=by_column)
    return dense_points(X)


@dataclass(frozen=True)
class Table:
    """The features of all rows: as they are, and those that may be cut in bins."""

    points: _core.Points
    bins: _core.Bins
    allowed: NDArray[np.bool_]
    n_rows: int
    n_features: int
    dense: bool

    @classmethod
    def of(cls, X: Any, n_threads: int, allowed: NDArray[np.bool_] | None = None) -> Self | None:
        """Table of X; None if it holds a NaN or an infinity. ``allowed``: features to cut."""
        if X.shape[0] > _MAX_ROWS:
            raise ValueError(f"X has {X.shape[0]} rows; at most {_MAX_ROWS} fit in one table.")
        points = as_points(X, by_column=True)
        if allowed is None:
            allowed = np.ones(X.shape[1], dtype=bool)
        bins = _core.make_bins(
            points, None if allowed.all() else allowed.astype(np.uint8), n_threads
        )
        if bins is None:
            return None
        return cls(points, bins, allowed, X.shape[0], X.shape[1], not sparse.issparse(X))
