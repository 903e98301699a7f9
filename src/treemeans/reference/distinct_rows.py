"""Rows that occur several times, as one row with a weight."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from treemeans import _core
from treemeans.costs import TOO_LARGE, TOO_LARGE_WEIGHTED
from treemeans.rows import as_points


def distinct_rows(
    X: Any, weights: NDArray[np.float64] | None
) -> tuple[Any, NDArray[np.float64]] | None:
    """The distinct rows of X that have weight, in an order of their own, with their total weight.

    None where rows are neither weighted nor repeated. Rows are told apart by their squared
    distance to one arbitrary point, which equal rows share to the last bit; should two different
    rows share it too, the answer is None.
    """
    point = np.random.default_rng(0).normal(size=(1, X.shape[1]))
    key, _ = _core.nearest_centers(as_points(X), point, 1)
    with np.errstate(over="ignore", invalid="ignore"):  # infinite, maybe in a row of weight 0
        total = 4.0 * float(key.sum() if weights is None else key @ weights)
    if not math.isfinite(total):  # so would the cost of the rows be
        raise ValueError(TOO_LARGE if weights is None else TOO_LARGE_WEIGHTED)
    rows = np.arange(X.shape[0]) if weights is None else np.flatnonzero(weights)
    _, first, group = np.unique(key[rows], return_index=True, return_inverse=True)
    if weights is None and len(first) == len(rows):
        return None
    repeated = np.flatnonzero(first[group] != np.arange(len(rows)))
    if not _equal(X[rows[repeated]], X[rows[first[group[repeated]]]]):
        return None
    weight = np.bincount(group, None if weights is None else weights[rows])
    return X[rows[first]], weight.astype(np.float64)


def _equal(one: Any, other: Any) -> bool:
    if sparse.issparse(one):
        return int((one != other).nnz) == 0
    return bool(np.array_equal(one, other))
