"""A table of points, ready to be searched."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from treemeans import _core
from treemeans.rows.dense_points import dense_points
from treemeans.rows.sparse_points import sparse_points

_MAX_ROWS = 2**31 - 1  # rows are numbered in 32 bits


def as_points(X: Any, *, by_column: bool = False, accepts_missing: bool = False) -> _core.Points:
    """The kernels' view of X, a numpy array or a scipy sparse matrix.

    ``accepts_missing``: NaN in an array is a missing value.
    """
    if sparse.issparse(X):
        return sparse_points(X, by_column=by_column)
    return dense_points(X, accepts_missing=accepts_missing)


@dataclass(frozen=True)
class Table:
    """The features of all rows: as they are, and those that may be cut in bins."""

    points: _core.Points
    bins: _core.Bins
    allowed: NDArray[np.bool_]
    n_rows: int
    n_features: int
    dense: bool
    categorical: NDArray[np.bool_] | None = None

    @cached_property
    def has_missing(self) -> NDArray[np.bool_]:
        """The features that may be cut and have missing values."""
        found = np.zeros(self.n_features, dtype=bool)
        for i, feature in enumerate(self.bins.mixed):
            found[feature] = _core.mixed_column(self.bins, i)[3]
        return found

    def with_rows(self, X: Any, n_threads: int) -> Self:
        """The table of some of the rows: the same features may be cut, and values be missing."""
        found = type(self).of(X, n_threads, self.allowed, self.categorical)
        assert found is not None  # all rows were checked
        return found

    def by_column(self, X: Any) -> Self:
        """The same table, whose points are read from X, a copy in another order."""
        accepts_missing = self.categorical is not None
        points = as_points(X, by_column=True, accepts_missing=accepts_missing)
        return replace(self, points=points)

    @property
    def comparable(self) -> NDArray[np.bool_]:
        """The features that may be cut, hold numbers and have no missing values."""
        found = self.allowed.copy()
        found[self.bins.mixed] = False
        return found

    @classmethod
    def of(
        cls,
        X: Any,
        n_threads: int,
        allowed: NDArray[np.bool_] | None = None,
        categorical: NDArray[np.bool_] | None = None,
    ) -> Self | None:
        """Table of X; None if it holds an infinity or, without ``categorical``, a NaN.

        Parameters
        ----------
        allowed : features to cut; None for all
        categorical : features that hold codes of categories, whole numbers from 0. If it is given,
            NaN in any dense column is a missing value.
        """
        if X.shape[0] > _MAX_ROWS:
            raise ValueError(f"X has {X.shape[0]} rows; at most {_MAX_ROWS} fit in one table.")
        points = as_points(X, by_column=True, accepts_missing=categorical is not None)
        if allowed is None:
            allowed = np.ones(X.shape[1], dtype=bool)
        bins = _core.make_bins(
            points,
            None if allowed.all() else allowed.astype(np.uint8),
            n_threads,
            None if categorical is None else categorical.astype(np.uint8),
        )
        if bins is None:
            return None
        dense = not sparse.issparse(X)
        return cls(points, bins, allowed, X.shape[0], X.shape[1], dense, categorical)
