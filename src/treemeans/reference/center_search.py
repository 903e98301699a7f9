"""Good centers of rows in memory: several starts, the best few finished, then exchanges.

It finds centers of about the cost of ``KMeans(n_init=10)`` on average, in less time:

1. All starts are seeded at once by greedy k-means++, one matrix product for each center.
2. Every start takes a few of Lloyd's rounds. The best few are finished, and so are the centers of
   all starts clustered in turn (Bradley and Fayyad 1998), which join what the starts agree on.
3. Of the best, one center after another moves to where a costly row is, and stays there if Lloyd's
   rounds then lead to a lower cost (random swaps, Fränti 2018), until some in a row do not: starts
   that share a cluster between two centers, and two clusters under one, are corrected by that, not
   by more starts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from treemeans import _core
from treemeans.progress import Progress
from treemeans.reference.lloyd import Clustering, Floats, LloydRows
from treemeans.rows import as_points

_SHORT = 8  # rounds after which starts are compared
_FINISHED = 3  # starts that are finished
_POOL_ROUNDS = 100
_SWAPS = 12
_FAILED_SWAPS = 3  # in a row, after which there are no more
_SWAP_TRIALS = 5  # rows that are tried as the new place of a center
_SWAP_ROUNDS = 6  # after which a swap must be about as good as what it came from
_ABOUT = 1e-4
_SAME = 1e-9
_PARALLEL = 1 << 17  # values in the table from which threads are worth their start

SEARCH_STEPS = _FINISHED + 1 + _SWAPS
"""Steps of progress of a search, besides its starts."""


@dataclass(frozen=True)
class SearchResult:
    """What a search found.

    Attributes
    ----------
    finished : clusterings, by ascending cost
    start_costs : (n_init,), cost of every start after a few rounds
    start_agreement : (n_init,), adjusted Rand index of every start and the best clustering
    """

    finished: list[Clustering]
    start_costs: NDArray[np.float64]
    start_agreement: NDArray[np.float64]

    @property
    def best(self) -> Clustering:
        """The clustering of the lowest cost."""
        return self.finished[0]


def search_centers(
    rows: LloydRows,
    n_clusters: int,
    rng: np.random.Generator,
    *,
    n_init: int = 10,
    max_iter: int = 300,
    n_threads: int = 1,
    progress: Progress | None = None,
) -> SearchResult:
    """Find centers of weighted rows.

    The result depends on the rows and ``rng`` only, not on the number of threads: every run of
    Lloyd's rounds is on one.
    """
    steps = _Steps(progress)
    threads = n_threads if rows.X.shape[0] * rows.X.shape[1] >= _PARALLEL else 1

    def run_all(starts: list[Floats], most: int) -> list[Clustering]:
        if threads == 1:
            return [steps.done(rows.run(start, most)) for start in starts]
        found = Parallel(threads, prefer="threads")(
            delayed(rows.run)(start, most) for start in starts
        )
        return [steps.done(one) for one in found]

    seeds = seed_centers(rows, n_clusters, n_init, rng)
    starts = run_all([rows.rows(seed) for seed in seeds], min(_SHORT, max_iter))
    ranked = _different(sorted(starts, key=_cost))
    candidates = [one.centers for one in ranked[:_FINISHED]]
    if len(ranked) > 1:
        candidates.append(_pooled(rows, starts, candidates))
    finished = sorted(run_all(candidates, max_iter), key=_cost)
    if len(ranked) > 1:
        finished.insert(0, _swapped(rows, finished[0], max_iter, rng, steps))
    agreement = [rand_index(one.labels, finished[0].labels, rows.weights) for one in starts]
    return SearchResult(finished, np.array([one.cost for one in starts]), np.array(agreement))


def _cost(one: Clustering) -> float:
    return one.cost


def _different(ranked: list[Clustering]) -> list[Clustering]:
    """One of several clusterings of the same cost, which are the same."""
    costs = [-np.inf, *(one.cost for one in ranked)]
    return [one for one, last in zip(ranked, costs, strict=False) if one.cost > last * (1 + _SAME)]


class _Steps:
    """Counts what is done for a progress bar."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self._n = 0

    def done(self, one: Clustering) -> Clustering:
        self._n += 1
        if self._progress is not None:
            self._progress.update(self._n)
        return one


def seed_centers(
    rows: LloydRows, n_clusters: int, n_starts: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    """(n_starts, n_clusters): rows to start from, by greedy k-means++ (Arthur and Vassilvitskii).

    Of a few rows drawn by their cost the one that lowers the cost most is taken, for all starts at
    once.
    """
    X, weights = rows.X, rows.weights.astype(np.float64)
    n, trials = X.shape[0], 2 + int(np.log(n_clusters))
    norms = row_norms(X, squared=True)
    # Kept from center to center: fresh memory of this size costs the system as much as the sums.
    products = None if sparse.issparse(X) else np.empty((n_starts * trials, n), dtype=X.dtype)

    def price(tried: NDArray[np.intp], least: Floats | None) -> tuple[Floats, Floats]:
        """What rows cost once the tried ones are centers, and the sums."""
        if products is None:
            costs = np.ascontiguousarray(safe_sparse_dot(X[tried], X.T, dense_output=True))
        else:
            costs = np.matmul(X[tried], X.T, out=products[: len(tried)])
        return costs, _core.price_tried(costs, norms, norms[tried], least, weights)

    seeds = np.empty((n_starts, n_clusters), dtype=np.intp)
    seeds[:, 0] = _drawn(np.cumsum(weights), rng.random(n_starts))
    least = np.array(price(seeds[:, 0], None)[0])
    every = np.arange(n_starts)
    for j in range(1, n_clusters):
        upto = _core.add_up(least, weights)
        draws = rng.random((n_starts, trials))
        tried = np.stack([_drawn(*each) for each in zip(upto, draws, strict=True)])
        costs, sums = price(tried.ravel(), least)
        best = sums.reshape(n_starts, trials).argmin(axis=1)
        least, seeds[:, j] = costs[every * trials + best], tried[every, best]
    return seeds


def _drawn(upto: NDArray[np.float64], draws: NDArray[np.float64]) -> NDArray[np.intp]:
    """Indices drawn in proportion to numbers of which ``upto`` are the sums; draws are below 1."""
    # The right side: an index of share zero, which ends where it begins, is never drawn.
    found = np.searchsorted(upto, draws * upto[-1], side="right")
    return np.asarray(np.minimum(found, len(upto) - 1), dtype=np.intp)


def _pooled(rows: LloydRows, starts: list[Clustering], candidates: list[Floats]) -> Floats:
    """Cluster the centers of all starts, weighted by the rows they have."""
    k = len(starts[0].centers)
    weights = [np.bincount(one.labels, rows.weights, minlength=k) for one in starts]
    pool = np.concatenate([one.centers for one in starts])
    pooled = LloydRows.of(pool, np.concatenate(weights), 0.0)
    return min((pooled.run(centers, _POOL_ROUNDS) for centers in candidates), key=_cost).centers


def _swapped(
    rows: LloydRows, best: Clustering, max_iter: int, rng: np.random.Generator, steps: _Steps
) -> Clustering:
    """Move single centers while that leads to lower costs."""
    points, failed = as_points(rows.X), 0
    for _ in range(_SWAPS):
        if failed == min(_FAILED_SWAPS, len(best.centers) - 1):
            break
        start = _swap(rows, points, best.centers, rng)
        found = rows.run(start, min(_SWAP_ROUNDS, max_iter))
        if found.cost < best.cost * (1.0 + _ABOUT):
            found = rows.run(found.centers, max_iter)
        failed = 0 if found.cost < best.cost * (1.0 - _SAME) else failed + 1
        best = min(best, steps.done(found), key=_cost)
    return best


def _swap(
    rows: LloydRows, points: _core.Points, centers: Floats, rng: np.random.Generator
) -> Floats:
    """Centers of which one is taken away and a row put in its place, so that this costs least."""
    weights = rows.weights.astype(np.float64)
    cost, nearest, regrets = _core.price(points, np.asarray(centers, dtype=np.float64), 1)
    without = cost + _core.second_least(regrets)  # cost of the second nearest center
    tried = _drawn(np.cumsum(cost * weights), rng.random(_SWAP_TRIALS))
    new = np.asarray(rows.rows(tried), dtype=np.float64)
    base, _, more = _core.price(points, new, 1)
    found = []
    for column in range(_SWAP_TRIALS):
        at_new = base + more[:, column]
        kept = np.minimum(at_new, cost)
        # Rows of the center that goes take the new one or their second nearest.
        lost = np.bincount(
            nearest, (np.minimum(at_new, without) - kept) * weights, minlength=len(centers)
        )
        found.append((float(kept @ weights + lost.min()), int(lost.argmin()), column))
    _, gone, column = min(found)
    swapped = np.array(centers)
    swapped[gone] = new[column]
    return swapped


def rand_index(
    one: NDArray[np.int32], other: NDArray[np.int32], weights: NDArray[np.floating[Any]]
) -> float:
    """Adjusted Rand index of two clusterings of weighted rows."""
    pairs = one * (int(other.max()) + np.int64(1)) + other
    if pairs.max() > 4 * len(pairs):
        pairs = np.unique(pairs, return_inverse=True)[1]
    together = np.bincount(pairs, weights)
    first, second = np.bincount(one, weights), np.bincount(other, weights)
    squares, rows, columns = (float(sums @ sums) for sums in (together, first, second))
    expected = rows * columns / float(first.sum()) ** 2
    most = (rows + columns) / 2
    return 1.0 if most <= expected else (squares - expected) / (most - expected)
