"""Rows that are clustered again from given centers, by the cost of the model."""

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
from treemeans.reference.lloyd import Clustering, LloydRows
from treemeans.rows import as_points

Floats = NDArray[np.floating[Any]]


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
    shift: Floats | float

    @property
    def weights(self) -> Floats:
        """Weights of the rows."""
        return self.lloyd.weights

    def run(self, centers: Floats, max_iter: int) -> Clustering:
        """Lloyd's algorithm from these centers on."""
        return self.lloyd.run(centers, max_iter)

    def starts(self, n_clusters: int, n_starts: int, rng: np.random.Generator) -> list[Floats]:
        """Fresh centers to start from, by greedy k-means++."""
        return [self.row(seed) for seed in seed_centers(self.lloyd, n_clusters, n_starts, rng)]

    def prices(self, centers: Floats) -> Floats:
        """Squared distances of all rows from some centers."""
        base, _, beyond = _core.price(as_points(self.lloyd.X), np.ascontiguousarray(centers), 1)
        return base[:, None] + beyond

    def row(self, at: Any) -> Floats:
        """Some rows as a dense array of their own."""
        return self.lloyd.rows(at)

    def some(self, rows: NDArray[np.intp], weights: Floats) -> KMeansRows:
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
    def weights(self) -> Floats:
        """Weights of the rows."""
        assert self.cost.weights is not None
        return self.cost.weights

    def run(self, centers: Floats, max_iter: int) -> Clustering:
        """Lloyd's algorithm for the cost, from these centers on."""
        found, labels, total, steps = descend(self.cost, np.array(centers), max_iter)
        return Clustering(total, found, labels, steps)

    def starts(self, n_clusters: int, n_starts: int, rng: np.random.Generator) -> list[Floats]:
        """Rows drawn by what they cost at those drawn before."""
        return [spread_centers(self.cost, n_clusters, rng) for _ in range(n_starts)]

    def prices(self, centers: Floats) -> Floats:
        """Costs of all rows at some centers."""
        rows: Any = self.cost.rows  # type: ignore[attr-defined]
        base, _, beyond = centered_prices(self.kind, rows, np.ascontiguousarray(centers), 1)
        return base[:, None] + beyond

    def row(self, at: Any) -> Floats:
        """Some rows as a dense array of their own."""
        rows = self.cost.rows[at]  # type: ignore[attr-defined]
        return rows.toarray() if sparse.issparse(rows) else np.array(rows)

    def some(self, rows: NDArray[np.intp], weights: Floats) -> CostRows:
        """Some of the rows; ``weights`` are of all rows."""
        own = np.asarray(weights[rows], dtype=np.float64)
        return replace(self, cost=self.cost.sample(rows, own))


WarmRows = KMeansRows | CostRows
"""What stability and refits need of rows, for every kind of cost."""
