"""KMedians: clusters around medians, the default reference for sums of absolute differences."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from treemeans import _core
from treemeans.costs import Cost, KMediansCost
from treemeans.reference.center_clusterer import CenterClusterer, Floats
from treemeans.rows import as_points
from treemeans.threads import n_threads

_MOST_STARTING_ROWS = 20_000
"""Rows that the starts are tried on; the best of them continues on all rows."""


class KMedians(CenterClusterer):
    """Clusters that lower the sum of absolute differences of rows and the medians of clusters.

    Lloyd's algorithm with medians in place of means: rows go to the nearest center by the L1
    distance, centers to the medians of their rows, until nothing changes. Starting centers are
    drawn as in k-means++, by the L1 distance; the best of several starts is kept. On tables of more
    than 20,000 rows the starts are tried on a sample.

    Parameters
    ----------
    n_clusters : int, default=8
    n_init : int, default=10
        Number of starts.
    max_iter : int, default=300
        Most steps of each start.
    n_jobs : int, default=None
        Threads; the clusters are the same for every number.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    cluster_centers_ : array of shape (n_clusters, n_features)
    labels_ : array of shape (n_samples,)
    inertia_ : float
        Sum of absolute differences of the rows and their centers.
    n_iter_ : int

    Examples
    --------
    >>> from treemeans.reference import KMedians
    >>> KMedians(2, random_state=0).fit([[1.0], [2.0], [3.0], [90.0]]).cluster_centers_.tolist()
    [[2.0], [90.0]]
    """

    def _find(self, X: Any, weights: Floats | None) -> None:
        rng = check_random_state(self.random_state)
        cost = KMediansCost.of(X, weights, n_threads(self.n_jobs))
        centers, _ = best_start(cost, self.n_clusters, self.n_init, self.max_iter, rng)
        self.cluster_centers_, self.labels_, self.inertia_, self.n_iter_ = descend(
            cost, centers, self.max_iter
        )

    def _price(self, X: Any) -> tuple[Floats, NDArray[np.int32]]:
        threads = n_threads(self.n_jobs)
        return _core.nearest_centers(as_points(X), self.cluster_centers_, threads, absolute=True)


def best_start(
    cost: Cost, n_clusters: int, n_init: int, max_iter: int, rng: np.random.RandomState
) -> tuple[Floats, float]:
    """The cheapest of several descents, on a sample of the rows if they are many."""
    rows: Any = cost.rows  # type: ignore[attr-defined]
    n = rows.shape[0]
    if n > _MOST_STARTING_ROWS:
        some = np.sort(rng.choice(n, _MOST_STARTING_ROWS, replace=False))
        cost = cost.sample(some, None if cost.weights is None else cost.weights[some])
    best: tuple[Floats, float] | None = None
    for _ in range(n_init):
        start = spread_centers(cost, n_clusters, rng)
        centers, _, total, _ = descend(cost, start, max_iter)
        if best is None or total < best[1]:
            best = centers, total
    assert best is not None
    return best


def spread_centers(
    cost: Cost, n_clusters: int, rng: np.random.RandomState | np.random.Generator
) -> Floats:
    """Rows drawn one after the other, each by what it costs at those drawn before."""
    rows: Any = cost.rows  # type: ignore[attr-defined]
    n = rows.shape[0]
    weights = np.ones(n) if cost.weights is None else cost.weights
    chosen = [int(rng.choice(n, p=weights / weights.sum()))]
    least = np.full(n, np.inf)
    while True:
        prices = cost.price(_as_centers(rows, chosen[-1:]))
        # Of one center, the base is what rows cost there, times their weights.
        least = np.minimum(least, prices.base.to_float(prices.base.values))
        if len(chosen) == n_clusters:
            return _as_centers(rows, chosen)
        chance = least if least.sum() > 0 else weights
        chosen.append(int(rng.choice(n, p=chance / chance.sum())))


def _as_centers(rows: Any, chosen: list[int]) -> Floats:
    found = rows[chosen]
    return np.array(found.toarray() if hasattr(found, "toarray") else found, dtype=np.float64)


def descend(
    cost: Cost, centers: Floats, max_iter: int
) -> tuple[Floats, NDArray[np.int32], float, int]:
    """Lloyd's algorithm for any cost: rows to their cheapest center, centers to their rows.

    A center that no row is nearest to moves to the row that costs most. Returns centers, labels,
    cost and the number of steps.
    """
    prices = cost.price(centers)
    labels, total, steps = prices.nearest, prices.cheapest, 0
    while steps < max_iter:
        steps += 1
        moved = cost.clusters(labels, 0.0, centers).centers
        prices = cost.price(moved)
        empty = np.setdiff1d(np.arange(len(moved)), prices.nearest[prices.rows])
        if len(empty) and prices.cheapest > 0:
            worst = np.argsort(-prices.base.values, kind="stable")[: len(empty)]
            rows: Any = cost.rows  # type: ignore[attr-defined]
            moved = np.array(moved)
            moved[empty] = _as_centers(rows, worst.tolist())
            prices = cost.price(moved)
        if prices.cheapest >= total:
            break
        centers, labels, total = moved, prices.nearest, prices.cheapest
    return centers, labels, total, steps
