"""Lloyd's rounds on rows in memory, by scikit-learn's compiled loop."""

from __future__ import annotations

import warnings
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn import config_context
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.extmath import row_norms, safe_sparse_dot
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

try:  # KMeans.fit takes half a millisecond to start, as long as all rounds on a small table
    from sklearn.cluster._kmeans import _kmeans_single_lloyd
except ImportError:  # it is not public, so it may go
    _kmeans_single_lloyd = None

Floats = NDArray[np.floating[Any]]


@cache
def _thread_pools() -> Any:
    return ThreadpoolController()  # looks through all loaded libraries, which takes a while


def one_thread() -> AbstractContextManager[Any]:
    """Run k-means in memory on one thread: several add up floats in varying order."""
    limits: AbstractContextManager[Any] = _thread_pools().limit(limits=1)
    return limits


@dataclass(frozen=True)
class Clustering:
    """Centers, what they cost, and the nearest one of each row."""

    cost: float
    centers: Floats
    labels: NDArray[np.int32]
    n_iter: int = 0


@dataclass(frozen=True)
class LloydRows:
    """Weighted rows that scikit-learn's loop reads as they are.

    Attributes
    ----------
    X : CSR matrix, or C-ordered array of floats near the origin: its loop computes distances from
        scalar products, which have no digits left for rows that are far from it
    weights : (n,), of the type of X
    tol : squared distance that all centers together move in the last round
    """

    X: Any
    weights: Floats
    tol: float

    @classmethod
    def of(cls, X: Any, weights: Floats | None, tol: float) -> LloydRows:
        """``tol`` as in KMeans: a share of the mean variance of the columns."""
        if weights is None:
            weights = np.ones(X.shape[0], dtype=X.dtype)
        variance = _mean_variance(X, weights) if tol > 0 else 0.0
        return cls(X, np.ascontiguousarray(weights, dtype=X.dtype), tol * variance)

    def rows(self, at: Any) -> Floats:
        """Some rows as a dense array of their own."""
        rows = self.X[at]
        return rows.toarray() if sparse.issparse(rows) else np.array(rows)

    def run(self, centers: Floats, max_iter: int) -> Clustering:
        """Lloyd's rounds from these centers on; a center without rows moves to a costly row."""
        start = np.array(centers, dtype=self.X.dtype, order="C")
        if _kmeans_single_lloyd is None:
            return self._run_public(start, max_iter)
        labels, cost, found, n_iter = _kmeans_single_lloyd(
            self.X, self.weights, start, max_iter=max_iter, tol=self.tol, n_threads=1
        )
        return Clustering(float(cost), found, labels, n_iter)

    def _run_public(self, start: Floats, max_iter: int) -> Clustering:
        model = KMeans(len(start), init=start, n_init=1, max_iter=max_iter)
        variance = _mean_variance(self.X, np.ones_like(self.weights))  # what KMeans multiplies by
        model.set_params(tol=self.tol / variance if variance > 0 else 0.0)
        with one_thread(), warnings.catch_warnings(), config_context(assume_finite=True):
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(self.X, sample_weight=self.weights)
        centers = np.ascontiguousarray(model.cluster_centers_)
        return Clustering(float(model.inertia_), centers, model.labels_, model.n_iter_)


def _mean_variance(X: Any, weights: Floats) -> float:
    """Mean weighted variance of the columns, for rows near the origin."""
    total = float(weights.sum(dtype=np.float64))
    squares = float(weights.astype(np.float64) @ row_norms(X, squared=True)) / total
    mean = np.asarray(safe_sparse_dot(weights, X), dtype=np.float64) / total
    return max(squares - float(mean @ mean), 0.0) / int(X.shape[1])
