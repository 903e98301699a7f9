"""Cluster a table in memory: search for centers on part of it, finish the best on all rows.

A table of up to some 30,000 rows is searched as it is (see `center_search`). Of a larger one,

1. a few rows give first centers, and one look at all rows what every row costs;
2. rows are drawn half by that cost and half evenly from the clusters, with weights that make up for
   it (a coreset: Feldman and Langberg 2011), so that rare and far rows are among them, and centers
   are searched for on these;
3. the best two clusterings found take a few rounds on all rows, and the better one is finished.

Dense tables with many columns are searched in the space of their first principal components, where
clusterings cost nearly the same but for a constant (Cohen et al. 2015); step 3 is in all columns.
Sparse ones are not: the variance of counts of words is spread over too many components.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.extmath import randomized_svd, row_norms

from treemeans import _core
from treemeans.costs import TOO_LARGE
from treemeans.progress import Progress
from treemeans.reference.center_search import (
    SEARCH_STEPS,
    SearchResult,
    search_centers,
    seed_centers,
)
from treemeans.reference.distinct_rows import distinct_rows
from treemeans.reference.lloyd import Clustering, Floats, LloydRows
from treemeans.rows import as_points
from treemeans.validation import with_room_for_squares

_CORESET_ROWS = 1 << 15
_CORESET_VALUES = 1 << 24
_ROWS_PER_CLUSTER = 100
_PILOT_ROWS = 2048
_PILOT_ROUNDS = 5
_COMPARED_ROUNDS = 3  # on all rows, before one of two clusterings is finished
_CLOSE = 1.01  # costs on a coreset that do not tell which is lower on all rows
_FINISH_ROUNDS = 20  # after which the gain is looked at
_LEAST_GAIN = 1e-5  # of the cost, in so many rounds
_OFFSET = {4: 2.0**2, 8: 2.0**10}
"""Distance of the mean from the origin, over the spread, that scalar products of floats of so many
bytes have digits for."""
_SPARSE_OFFSET = 2.0**10
"""A column with values this much larger than the difference of any two of them has an offset."""


@dataclass(frozen=True)
class SearchOptions:
    """The parameters of `FastKMeans`, checked; ``seed`` is that of all draws."""

    n_clusters: int
    n_init: int = 10
    max_iter: int = 300
    tol: float = 1e-4
    seed: int = 0
    n_threads: int = 1
    verbose: bool = False


def cluster_table(
    X: Any, weights: NDArray[np.float64] | None, options: SearchOptions
) -> tuple[Clustering, SearchResult]:
    """Cluster the rows of X, an array or CSR matrix of floats; and what the search found."""
    size = coreset_size(X, options.n_clusters)
    rows, row_weights = _searched_rows(X, weights, options.n_clusters, 2 * size)
    unit = _unit(row_weights)
    moved, shift = near_origin(rows)
    lloyd_rows = LloydRows.of(
        moved, None if row_weights is None else row_weights / unit, options.tol
    )
    with Progress("treemeans: k-means", _n_steps(options), options.verbose) as progress:
        found, search = _cluster(lloyd_rows, size, options, progress)
    found = replace(found, centers=found.centers + shift, cost=found.cost * unit)
    if rows is not X:
        centers = found.centers.astype(np.float64)
        cost, labels = _core.nearest_centers(as_points(X), centers, options.n_threads)
        inertia = float(cost.sum() if weights is None else cost @ weights)
        found = replace(found, cost=inertia, labels=labels)
    return _largest_first(found, weights), search


def _largest_first(found: Clustering, weights: NDArray[np.float64] | None) -> Clustering:
    """Number the clusters by their weight, so that the numbers do not depend on the seed."""
    weight = np.bincount(found.labels, weights, minlength=len(found.centers))
    order = np.lexsort((found.centers[:, 0], -weight))
    rank = np.argsort(order).astype(np.int32)
    return replace(found, centers=found.centers[order], labels=rank[found.labels])


def _unit(weights: NDArray[np.float64] | None) -> float:
    """A power of two near the mean weight: weights in this unit fit any type of floats."""
    if weights is None:
        return 1.0
    return math.ldexp(1.0, math.frexp(float((weights / len(weights)).sum()))[1])


def _n_steps(options: SearchOptions) -> int:
    return options.n_init + SEARCH_STEPS + 1 + options.max_iter // _FINISH_ROUNDS


def coreset_size(X: Any, n_clusters: int) -> int:
    """Rows to search centers on: enough of every cluster, but quick to cluster."""
    width = max(1, int(X.nnz) // int(X.shape[0])) if sparse.issparse(X) else int(X.shape[1])
    rows = max(_CORESET_ROWS, _ROWS_PER_CLUSTER * n_clusters)
    return max(min(rows, _CORESET_VALUES // width), 20 * n_clusters)


def _searched_rows(
    X: Any, weights: NDArray[np.float64] | None, n_clusters: int, most: int
) -> tuple[Any, NDArray[np.float64] | None]:
    """The rows with weight; of a table that is searched as it is, every distinct row once.

    So a row of weight 2 gives the same centers, seed for seed, as the row twice.
    """
    if X.shape[0] <= most:
        distinct = distinct_rows(X, weights)
        if distinct is not None and distinct[0].shape[0] >= n_clusters:
            return distinct
    if weights is not None and not weights.all():
        some = np.flatnonzero(weights)
        if len(some) >= n_clusters:
            return X[some], weights[some]
    return X, weights


def near_origin(X: Any) -> tuple[Any, Floats | float]:
    """The rows moved to the origin if they are far from it, C-ordered; and by how much."""
    X = with_room_for_squares(X)
    if sparse.issparse(X):
        return _without_offset(X)
    rows = np.ascontiguousarray(X)  # in other orders sums are rounded in other ways
    with np.errstate(over="ignore"):
        total = 4.0 * float(row_norms(rows, squared=True).sum(dtype=np.float64))
    if not math.isfinite(total):
        raise ValueError(TOO_LARGE)
    mean = rows.mean(axis=0)
    spread = total / (4.0 * len(rows)) - float(mean @ mean)
    if float(mean @ mean) <= _OFFSET[rows.itemsize] ** 2 * spread:
        return rows, 0.0
    moved = rows.copy() if rows is X else rows
    moved -= mean
    return moved, mean


def _without_offset(X: Any) -> tuple[Any, Floats | float]:
    """A sparse X less a value of each column that is large and hardly varies, and these values."""
    full = _core.full_columns(as_points(X))
    if not full.any():
        return X, 0.0
    low, high = X.min(axis=0).toarray()[0], X.max(axis=0).toarray()[0]
    far = np.abs(low) > _SPARSE_OFFSET * (high - low)
    offset = np.where(full & far, low, 0.0).astype(X.dtype)
    if not offset.any():
        return X, 0.0
    moved = X.copy()
    moved.data -= offset[moved.indices]
    return moved, offset


def _cluster(
    rows: LloydRows, size: int, options: SearchOptions, progress: Progress
) -> tuple[Clustering, SearchResult]:
    rng = np.random.default_rng(options.seed)
    some = rows if rows.X.shape[0] <= 2 * size else _coreset(rows, size, options, rng)
    few = _principal_components(some, options, rng)
    search = search_centers(
        few,
        options.n_clusters,
        rng,
        n_init=options.n_init,
        max_iter=options.max_iter,
        n_threads=options.n_threads,
        progress=progress,
    )
    if few is rows:
        return search.best, search
    chosen = [search.best, *(one for one in search.finished[1:] if _close(one, search.best))][:2]
    centers = [one.centers if few is some else _means(some, one) for one in chosen]
    return _finish(rows, centers, options, progress), search


def _close(one: Clustering, best: Clustering) -> bool:
    """Whether two costs differ, but too little to tell which is lower on all rows."""
    return (1.0 + 1e-6) * best.cost < one.cost < _CLOSE * best.cost


def _means(rows: LloydRows, found: Clustering) -> Floats:
    """Means of the rows of each cluster; of one without rows, the origin."""
    k, weights = len(found.centers), rows.weights.astype(np.float64)
    sums = _core.group_sums(as_points(rows.X), found.labels, k, weights, None, None, 1)
    total = np.bincount(found.labels, weights, minlength=k)[:, None]
    return np.divide(sums, total, out=np.zeros_like(sums), where=total > 0)


def _coreset(
    rows: LloydRows, size: int, options: SearchOptions, rng: np.random.Generator
) -> LloydRows:
    """Rows drawn half by their cost to first centers, half evenly from the clusters of these."""
    k, weights = options.n_clusters, rows.weights.astype(np.float64)
    pilot = _drawn(rows, weights, max(_PILOT_ROWS, 20 * k), rng)
    first = pilot.run(pilot.rows(seed_centers(pilot, k, 1, rng)[0]), _PILOT_ROUNDS)
    centers = first.centers.astype(np.float64)
    cost, nearest = _core.nearest_centers(as_points(rows.X), centers, options.n_threads)
    shares = cost * weights
    total = float(shares.sum())
    per_weight = 1.0 / np.maximum(np.bincount(nearest, weights, minlength=k), 1e-300)
    shares *= k / total if total > 0 else 0.0
    shares += per_weight[nearest] * weights
    return _drawn(rows, shares, size, rng)


def _drawn(
    rows: LloydRows, shares: NDArray[np.float64], size: int, rng: np.random.Generator
) -> LloydRows:
    """Rows drawn by their shares, with weights that make up for these.

    Weighted sums over them are unbiased estimates of sums over all rows (priority sampling:
    Duffield, Lund and Thorup 2007).
    """
    keys = rng.random(len(shares)) / shares
    at = np.argpartition(keys, size)[: size + 1]
    limit = keys[at].max()
    at = np.sort(at[keys[at] < limit])
    chance = np.minimum(1.0, shares[at] * limit)
    X = rows.X[at]
    return LloydRows(X, (rows.weights[at] / chance).astype(X.dtype), rows.tol)


def _principal_components(
    rows: LloydRows, options: SearchOptions, rng: np.random.Generator
) -> LloydRows:
    """The rows in the space of their first principal components, if they have many columns."""
    n, d = rows.X.shape
    dimension = max(32, 3 * options.n_clusters)
    if d <= 4 * dimension or sparse.issparse(rows.X):
        return rows
    n_some = min(n, max(_PILOT_ROWS, 4 * dimension))
    some = rows if n_some == n else _drawn(rows, rows.weights.astype(np.float64), n_some, rng)
    _, _, axes = randomized_svd(
        some.X, min(dimension, *some.X.shape), n_iter=2, random_state=options.seed
    )
    projected = np.ascontiguousarray(rows.X @ axes.T, dtype=rows.X.dtype)
    # The tolerance is a share of the mean variance of the columns, of which there are fewer.
    return LloydRows(projected, rows.weights, rows.tol)


def _finish(
    rows: LloydRows, starts: list[Floats], options: SearchOptions, progress: Progress
) -> Clustering:
    """Lloyd's rounds on all rows, from the better of some starts."""
    done, n_iter, centers, cost = options.n_init + SEARCH_STEPS, 0, starts[0], np.inf
    if len(starts) > 1:
        compared = [rows.run(start, min(_COMPARED_ROUNDS, options.max_iter)) for start in starts]
        best = min(compared, key=lambda one: one.cost)
        n_iter, centers, cost = best.n_iter, best.centers, best.cost
    while True:
        done += 1
        progress.update(done)
        most = min(_FINISH_ROUNDS, max(1, options.max_iter - n_iter))
        best = rows.run(centers, most)
        n_iter, centers, last, cost = n_iter + best.n_iter, best.centers, cost, best.cost
        gained = last - cost > _LEAST_GAIN * cost
        if best.n_iter < most or not gained or n_iter >= options.max_iter:
            return replace(best, n_iter=n_iter)
