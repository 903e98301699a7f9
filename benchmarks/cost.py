"""What a clustering costs, told from its labels alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from problems import Table
from scipy import sparse


def kmeans_cost(X: Table, labels: NDArray[Any]) -> float:
    """Return the k-means cost of a clustering: all squares, less those of the clusters' sums."""
    n, (clusters, codes) = X.shape[0], np.unique(labels, return_inverse=True)
    member = sparse.csr_matrix((np.ones(n), (codes, np.arange(n))), shape=(len(clusters), n))
    sums = member @ X
    dense = sums.toarray() if sparse.issparse(sums) else sums
    stored = values(X)
    squares = np.einsum("i,i->", stored, stored, dtype=np.float64)
    return float(squares - ((dense**2).sum(axis=1) / np.bincount(codes)).sum())


def values(X: Table) -> NDArray[Any]:
    """Return all stored values of X in a row; the largest of them is found by reading X once."""
    stored: NDArray[Any] = X.ravel() if isinstance(X, np.ndarray) else X.data
    return stored
