"""The cosine cost: one minus the cosine, whose best representatives are mean directions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.preprocessing import normalize

from treemeans import _core
from treemeans.costs.cost import Clusters, Cost
from treemeans.costs.cost_table import CostTable
from treemeans.rows import as_points

Floats = NDArray[np.float64]
_SMALL, _LARGE = 1e-6, 1e100  # values between them have squares that floats hold


def unit_rows(rows: Any) -> Any:
    """Rows divided by their length; a row of zeros stays one.

    Rows far from 1 are multiplied by a power of two first, which loses nothing: squares of their
    values would underflow or overflow, and scikit-learn takes a length below 2e-15 for zero.

    Examples
    --------
    >>> unit_rows([[3e-200, 4e-200], [0.0, 0.0], [3.0, 4.0]]).tolist()
    [[0.6, 0.8], [0.0, 0.0], [0.6, 0.8]]
    """
    rows = rows if sparse.issparse(rows) else np.asarray(rows, dtype=np.float64)
    largest = abs(rows).max(axis=1)
    largest = np.asarray(largest.todense() if sparse.issparse(largest) else largest).ravel()
    extreme = (largest > 0) & ((largest < _SMALL) | (largest > _LARGE))
    if extreme.any():
        exponents = np.where(extreme, -np.frexp(np.where(extreme, largest, 1.0))[1], 0)
        if sparse.issparse(rows):
            rows = rows.tocsr().astype(np.float64)
            rows.data = np.ldexp(rows.data, np.repeat(exponents, np.diff(rows.indptr)))
        else:
            rows = np.ldexp(rows, exponents[:, None])
    return normalize(rows)


def cosine_prices(
    points: _core.Points, zero: NDArray[np.bool_], centers: Floats, n_threads: int
) -> tuple[Floats, NDArray[np.int32], Floats]:
    """Least cost, cheapest center and regrets of rows of length 1.

    Of two vectors of length 1, half the squared distance is one minus the cosine. A row of zeros
    (``zero``) has no direction: it costs 1 everywhere, as every row does at a center of zeros.
    """
    directions = unit_rows(centers)
    base, nearest, regret = _core.price(points, directions, n_threads)
    base *= 0.5
    regret *= 0.5
    nowhere = ~directions.any(axis=1)
    if nowhere.any():
        regret += base[:, None] + 0.5 * nowhere
        nearest = regret.argmin(axis=1).astype(np.int32)
        base = regret.min(axis=1)
        regret -= base[:, None]
    base[zero] += 0.5
    return base, nearest, regret


def _lengths(vectors: Floats) -> Floats:
    """Lengths of vectors whose squares a float may not hold."""
    exponents = np.frexp(np.abs(vectors).max(axis=1, initial=0.0))[1]
    scaled = np.ldexp(vectors, -exponents[:, None])
    return np.asarray(np.ldexp(np.linalg.norm(scaled, axis=1), exponents))


@dataclass(frozen=True)
class DirectionStatistics:
    """Sums of rows of length 1, by group: a group costs its weight less the length of its sum.

    Attributes
    ----------
    weight : (m,), weight of the rows of each group
    sums : (m, dimension), weighted sums of the rows
    """

    weight: Floats
    sums: Floats

    @property
    def within(self) -> Floats:
        """Cost of each group about its mean direction."""
        return np.asarray(np.maximum(self.weight - _lengths(self.sums), 0.0))

    @property
    def cost(self) -> float:
        """Cost of all groups."""
        return float(self.within.sum())

    def union_costs(self, unions: Sequence[tuple[int, list[int]]]) -> Floats:
        """Cost of each of some unions of groups, given as a cluster's number and its members."""
        return np.array([self._union_cost(members, cluster) for cluster, members in unions])

    def _union_cost(self, members: list[int], cluster: int) -> float:
        """Cost of the union of some groups about its mean direction."""
        weight, sums = self.weight[members].sum(), self.sums[members].sum(axis=0)
        return max(float(weight - _lengths(sums[None])[0]), 0.0)

    def merged(self, into: NDArray[np.int32], n_groups: int) -> DirectionStatistics:
        """Unions of the groups; ``into`` is the union that each of them joins."""
        weight = np.bincount(into, self.weight, minlength=n_groups).astype(np.float64)
        sums = np.zeros((n_groups, self.sums.shape[1]))
        np.add.at(sums, into, self.sums)
        return DirectionStatistics(weight, sums)

    def means(self, fallback: Floats) -> Floats:
        """Mean direction of each group; ``fallback`` for one without any."""
        length = _lengths(self.sums)[:, None]
        return np.where(length > 0, self.sums / np.where(length > 0, length, 1.0), fallback)

    def without_rows(self) -> DirectionStatistics:
        """The same: sums hold no rows."""
        return self


@dataclass(frozen=True)
class CosineCost(Cost):
    """One minus the cosine of rows and centers.

    Attributes
    ----------
    rows : of length 1 or 0, in the space of the centers, an array or sparse matrix
    points : the same, as the kernels read them
    zero : rows of length 0
    weights, n_threads : as in `Cost`
    """

    rows: Any
    points: _core.Points
    zero: NDArray[np.bool_]
    weights: Floats | None
    n_threads: int

    @classmethod
    def of(cls, rows: Any, weights: Floats | None, n_threads: int) -> Self:
        """The cost of rows of any length."""
        unit = unit_rows(rows)
        length = unit.multiply(unit).sum(axis=1) if sparse.issparse(unit) else (unit**2).sum(axis=1)
        zero = np.asarray(length).ravel() == 0
        return cls(unit, as_points(unit), zero, weights, n_threads)

    def price(self, centers: Floats) -> CostTable:
        """One minus the cosine of all rows and all centers."""
        prices = cosine_prices(self.points, self.zero, centers, self.n_threads)
        return CostTable.of(*prices, self.weights, self.n_threads)

    def clusters(
        self, labels: NDArray[np.int32], surrogate_cost: float, centers: Floats
    ) -> Clusters:
        """Mean directions, and what rows and cuts cost with them."""
        found = self._sums(labels, len(centers))
        before = found.weight - np.einsum("ij,ij->i", found.sums, unit_rows(centers))
        saved = max(float(before.sum()) - found.cost, 0.0)
        return Clusters(surrogate_cost - saved, found.means(unit_rows(centers)))

    def representatives(self, labels: NDArray[np.int32], n_clusters: int) -> Floats:
        """Mean directions of the rows with each label."""
        found = self._sums(labels, n_clusters)
        overall = found.merged(np.zeros(n_clusters, dtype=np.int32), 1)
        place = overall.means(np.eye(1, self.rows.shape[1]))
        return found.means(np.repeat(place, n_clusters, axis=0))

    def measured(self, labels: NDArray[np.int32], centers: Floats) -> float:
        """Cost about the mean directions of the clusters."""
        return self._sums(labels, len(centers)).cost

    def statistics(
        self,
        groups: NDArray[np.int32],
        weight: Floats,
        costs: Floats,
        centers: Floats,
        rounding: float,
        spread: Floats | None = None,
    ) -> DirectionStatistics:
        """Sums of the rows of each group."""
        return self._sums(groups, len(weight))

    def as_one_cluster(self) -> Floats:
        """What each row costs at the mean direction of all."""
        center = self.representatives(np.zeros(self.rows.shape[0], dtype=np.int32), 1)
        return cosine_prices(self.points, self.zero, center, self.n_threads)[0]

    def sample(self, rows: NDArray[np.intp], weights: Floats | None) -> Self:
        """The same cost of some of the rows, with other weights."""
        some = self.rows[rows]
        return type(self)(some, as_points(some), self.zero[rows], weights, self.n_threads)

    def _sums(self, groups: NDArray[np.int32], n_groups: int) -> DirectionStatistics:
        weight = np.bincount(groups, self.weights, minlength=n_groups).astype(np.float64)
        sums = _core.group_sums(
            self.points, groups, n_groups, self.weights, None, None, self.n_threads
        )
        return DirectionStatistics(weight, sums)
