"""K-means, or the same algorithm for another cost, started from the centers of a model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from treemeans import _core
from treemeans.costs import Cost, centered_cost, centered_prices
from treemeans.reference.center_search import seed_centers
from treemeans.reference.cluster_table import near_origin
from treemeans.reference.kmedians import descend, spread_centers
from treemeans.reference.lloyd import Clustering, LloydRows, one_thread
from treemeans.rows import as_points

Floats = NDArray[np.float64]
Values = NDArray[np.floating[Any]]

TOLERANCE = 1e-3
"""Centers are kept as they are if moving them saves less than this share of the cost."""
BETTER = 0.05
"""Share of the cost that fresh starts must save for the old centers to be given up."""
_MOST_ROUNDS = 300
_FRESH_STARTS = 5
_MOST_ROWS = 20_000  # on which starts are compared
_COMPARED_ROUNDS = 50
_TOL = 1e-4  # as in KMeans
_CANDIDATES = 8  # rows that are tried for each new center


def warm_rows(cost: str, rows: Any, weights: NDArray[np.float64] | None, tol: float) -> WarmRows:
    """Rows in the space of the centers, to be clustered by a cost around centers."""
    if sparse.issparse(rows):
        rows = rows.tocsr()
    if rows.dtype.kind != "f":
        rows = rows.astype(np.float64)
    if cost != "kmeans":
        weight = np.ones(rows.shape[0]) if weights is None else weights
        return CostRows(centered_cost(cost, rows, weight, 1), cost)
    moved, shift = near_origin(rows)
    return KMeansRows(LloydRows.of(moved, weights, tol), shift)


@dataclass(frozen=True)
class KMeansRows:
    """Rows that scikit-learn's loop clusters, near the origin.

    ``shift`` is what to add to a center to have it in the space of the reference.
    """

    lloyd: LloydRows
    shift: Values | float

    @property
    def weights(self) -> Values:
        """Weights of the rows."""
        return self.lloyd.weights

    def run(self, centers: Values, max_iter: int) -> Clustering:
        """Lloyd's algorithm from these centers on."""
        return self.lloyd.run(centers, max_iter)

    def starts(self, n_clusters: int, n_starts: int, rng: np.random.Generator) -> list[Values]:
        """Fresh centers to start from, by greedy k-means++."""
        return [self.row(seed) for seed in seed_centers(self.lloyd, n_clusters, n_starts, rng)]

    def prices(self, centers: Values) -> Values:
        """Squared distances of all rows from some centers."""
        base, _, beyond = _core.price(as_points(self.lloyd.X), np.ascontiguousarray(centers), 1)
        return base[:, None] + beyond

    def row(self, at: Any) -> Values:
        """Some rows as a dense array of their own."""
        return self.lloyd.rows(at)

    def some(self, rows: NDArray[np.intp], weights: Values) -> KMeansRows:
        """Some of the rows; ``weights`` are of all rows."""
        X = self.lloyd.X[rows]
        own = np.ascontiguousarray(weights[rows], dtype=X.dtype)
        return replace(self, lloyd=LloydRows(X, own, self.lloyd.tol))


@dataclass(frozen=True)
class CostRows:
    """Rows that are clustered by another cost around centers, named ``kind``."""

    cost: Cost
    kind: str
    shift: float = 0.0

    @property
    def weights(self) -> Values:
        """Weights of the rows."""
        assert self.cost.weights is not None
        return self.cost.weights

    def run(self, centers: Values, max_iter: int) -> Clustering:
        """Lloyd's algorithm for the cost, from these centers on."""
        found, labels, total, steps = descend(self.cost, np.array(centers), max_iter)
        return Clustering(total, found, labels, steps)

    def starts(self, n_clusters: int, n_starts: int, rng: np.random.Generator) -> list[Values]:
        """Rows drawn by what they cost at those drawn before."""
        return [spread_centers(self.cost, n_clusters, rng) for _ in range(n_starts)]

    def prices(self, centers: Values) -> Values:
        """Costs of all rows at some centers."""
        rows: Any = self.cost.rows  # type: ignore[attr-defined]
        base, _, beyond = centered_prices(self.kind, rows, np.ascontiguousarray(centers), 1)
        return base[:, None] + beyond

    def row(self, at: Any) -> Values:
        """Some rows as a dense array of their own."""
        rows = self.cost.rows[at]  # type: ignore[attr-defined]
        return rows.toarray() if sparse.issparse(rows) else np.array(rows)

    def some(self, rows: NDArray[np.intp], weights: Values) -> CostRows:
        """Some of the rows; ``weights`` are of all rows."""
        own = np.asarray(weights[rows], dtype=np.float64)
        return replace(self, cost=self.cost.sample(rows, own))


WarmRows = KMeansRows | CostRows
"""What stability and refits need of rows, for every kind of cost."""


def move_centers(
    rows: Any, weights: Floats | None, centers: Floats, n_clusters: int, cost: str = "kmeans"
) -> Floats:
    """Centers of k-means on these rows, started from those of an earlier clustering.

    With another cost around centers (k-medians, cosine), the centers that lower that cost.

    More clusters than before start with rows that lower the cost most (greedy k-means++); of fewer,
    those are put together first whose union adds least to the cost. If all that saves less than
    ``TOLERANCE`` of the cost, the centers stay exactly where they are, so that the same rows in
    another order, or hardly different ones, get the same clusters. Where fresh starts (k-means++)
    find clusters that cost much less, more than ``BETTER`` of the cost, these are taken instead.
    """
    warm = warm_rows(cost, rows, weights, _TOL)
    start = np.asarray(centers - warm.shift, dtype=np.float64)
    with one_thread():
        if n_clusters == len(centers):
            found = warm.run(_or_fresh(warm, start), _MOST_ROUNDS)
            least = warm.prices(start).min(axis=1)
            before = float(warm.weights.astype(np.float64) @ least)
            if before - found.cost <= TOLERANCE * found.cost:
                return np.array(centers)
        elif n_clusters > len(centers):
            more = _more(warm, start, n_clusters)
            found = warm.run(_or_fresh(warm, more), _MOST_ROUNDS)
        else:
            labels = warm.run(start, 1).labels
            sizes = np.bincount(labels, warm.weights).astype(np.float64)
            fewer = _fewer(start, sizes, n_clusters)
            found = warm.run(_or_fresh(warm, fewer), _MOST_ROUNDS)
    return np.asarray(found.centers, dtype=np.float64) + warm.shift


def _or_fresh(rows: WarmRows, start: Floats) -> Floats:
    """These centers, or those of a fresh start if it ends at a much lower cost on a sample."""
    rng = np.random.default_rng(0)
    n = len(rows.weights)
    if n > _MOST_ROWS:
        some = np.sort(rng.choice(n, _MOST_ROWS, replace=False))
        rows = rows.some(some, rows.weights)
    warm = rows.run(start, _COMPARED_ROUNDS)
    starts = rows.starts(len(start), _FRESH_STARTS, rng)
    fresh = min((rows.run(s, _COMPARED_ROUNDS) for s in starts), key=lambda one: one.cost)
    if fresh.cost < (1.0 - BETTER) * warm.cost:
        return np.asarray(fresh.centers, dtype=np.float64)
    return start


def _more(rows: WarmRows, centers: Floats, n_clusters: int) -> Floats:
    """The centers, and as many rows as are missing, each the best of a few drawn by their cost."""
    rng = np.random.default_rng(0)
    weights = rows.weights.astype(np.float64)
    least = rows.prices(centers).min(axis=1)
    while len(centers) < n_clusters:
        chance = weights * least
        total = chance.sum()
        chance = chance / total if total > 0 else weights / weights.sum()
        drawn = rng.choice(len(weights), _CANDIDATES, p=chance)
        tried = rows.row(drawn).astype(np.float64)
        after = np.minimum(least[:, None], rows.prices(tried))
        best = int((weights @ after).argmin())
        centers, least = np.vstack([centers, tried[best]]), after[:, best]
    return centers


def _fewer(centers: Floats, weights: Floats, n_clusters: int) -> Floats:
    """The centers, the cheapest two of them put together until there are few enough."""
    weights = np.append(weights, np.zeros(len(centers) - len(weights)))
    while len(centers) > n_clusters:
        apart = ((centers[:, None] - centers[None]) ** 2).sum(axis=2)
        total = weights[:, None] + weights[None]
        price = np.outer(weights, weights) / np.where(total > 0, total, 1.0) * apart
        np.fill_diagonal(price, np.inf)
        i, j = sorted(np.unravel_index(int(price.argmin()), price.shape))
        share = weights[i] / total[i, j] if total[i, j] > 0 else 0.5
        centers[i] = share * centers[i] + (1 - share) * centers[j]
        weights[i] += weights[j]
        centers, weights = np.delete(centers, j, axis=0), np.delete(weights, j)
    return centers
