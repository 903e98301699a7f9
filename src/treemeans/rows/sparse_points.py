"""Points in a scipy sparse matrix: never densified."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemeans import _core


def sparse_points(X: Any, *, by_column: bool) -> _core.Points:
    """Wrap X by row and, where the search will need it, by column."""
    rows = _canonical(X.tocsr())
    columns = _canonical(X.tocsc()) if by_column else None
    return _core.sparse_points(
        X.shape[0],
        X.shape[1],
        *_parts(rows),
        *(_parts(columns) if columns is not None else (None, None, None)),
    )


def _canonical(X: Any) -> Any:
    """Indices sorted and unique, without touching the user's matrix."""
    if X.has_canonical_format:
        return X
    X = X.copy()
    X.sum_duplicates()
    return X


def _parts(X: Any) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    return (
        np.ascontiguousarray(X.indptr, dtype=np.int64),
        np.ascontiguousarray(X.indices, dtype=np.int32),
        np.ascontiguousarray(X.data, dtype=np.float64),
    )
