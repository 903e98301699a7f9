"""The k-means cost: squared distances, whose best representatives are means."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from treemeans import _core
from treemeans.costs.cost import Clusters, Cost
from treemeans.costs.cost_table import MOST_PACKED, PACKED_ROWS, CostTable, Prices
from treemeans.costs.group_statistics import GroupStatistics, Moments, shift_near
from treemeans.rows import as_points

Floats = NDArray[np.float64]

_SOME_ROWS = 32
"""Rows that are looked at to see where the rows are."""


@dataclass(frozen=True)
class KMeansCost(Cost):
    """Squared distances of rows to centers.

    Attributes
    ----------
    rows : in the space of the centers, an array or sparse matrix
    points : the same, as the kernels read them
    weights, n_threads : as in `Cost`
    """

    rows: Any
    points: _core.Points
    weights: Floats | None
    n_threads: int

    def price(self, centers: Floats) -> CostTable:
        """Squared distances from all rows to all centers."""
        prices = _core.price(self.points, centers, self.n_threads)
        return CostTable.of(*prices, self.weights, self.n_threads)

    def price_packed(self, centers: Floats) -> CostTable:
        """The same, with packed regrets where they are worth it."""
        n, k = self.rows.shape[0], len(centers)
        if n < PACKED_ROWS or k > MOST_PACKED:
            return self.price(centers)

        def price(block: slice) -> Prices:
            return _core.price(as_points(self.rows[block]), centers, self.n_threads)

        return CostTable.packed(price, n, k, self.weights, self.n_threads)

    def clusters(
        self, labels: NDArray[np.int32], surrogate_cost: float, centers: Floats
    ) -> Clusters:
        """Means, and the cost about them: as in `GroupStatistics.of`, but of all clusters at once.

        Refinement asks this in every round, so digits that cancel are not measured again.
        """
        weight = np.bincount(labels, self.weights, minlength=len(centers)).astype(np.float64)
        means = self._sums(labels, weight, centers).means(centers)
        away = means - centers
        return Clusters(surrogate_cost - float(weight @ (away * away).sum(axis=1)), means)

    def representatives(self, labels: NDArray[np.int32], n_clusters: int) -> Floats:
        """Means of the rows with each label."""
        weight = np.bincount(labels, self.weights, minlength=n_clusters).astype(np.float64)
        origin = np.zeros((1, self.rows.shape[1]))
        sums = self._sums(labels, weight, origin)
        return sums.means(np.broadcast_to(sums.sums.sum(axis=0) / weight.sum(), sums.sums.shape))

    def measured(self, labels: NDArray[np.int32], centers: Floats) -> float:
        """Cost about the means of the clusters, from the rows themselves."""
        weight = np.bincount(labels, self.weights, minlength=len(centers)).astype(np.float64)
        sums = self._sums(labels, weight, centers)
        return sums.measured(self._moments(labels)).cost

    def _moments(self, groups: NDArray[np.int32]) -> Moments:
        def moments(origins: Floats) -> tuple[Floats, Floats]:
            return _core.group_moments(self.points, groups, self.weights, origins, self.n_threads)

        return moments

    def statistics(
        self,
        groups: NDArray[np.int32],
        weight: Floats,
        costs: Floats,
        centers: Floats,
        rounding: float,
        spread: Floats | None = None,
    ) -> GroupStatistics:
        """Weights, sums, and costs about the means."""
        sums = self._sums(groups, weight, centers, spread)
        if spread is not None:
            found = sums.spread(spread)  # of the squares that are there now
            # The distances are finite: only the rounded mean of equal values above 1e150 overflows.
            spread[:] = np.where(np.isnan(found), 0.0, found)
        return GroupStatistics.of(sums, costs, centers, rounding, self._moments(groups))

    def as_one_cluster(self) -> Floats:
        """Squared distance of each row from the mean of all."""
        n = self.rows.shape[0]
        weights = np.ones(n) if self.weights is None else self.weights
        everything = np.zeros(n, dtype=np.int32)
        sums = _core.group_sums(self.points, everything, 1, weights, None, None, self.n_threads)
        return _core.nearest_centers(self.points, sums / weights.sum(), self.n_threads)[0]

    def sample(self, rows: NDArray[np.intp], weights: Floats | None) -> Self:
        """The same cost of some of the rows, with other weights."""
        some = self.rows[rows]
        return type(self)(some, as_points(some), weights, self.n_threads)

    def _sums(
        self,
        groups: NDArray[np.int32],
        weight: Floats,
        centers: Floats,
        squares: Floats | None = None,
    ) -> GroupStatistics:
        shift = self._shift(centers)
        sums = _core.group_sums(
            self.points, groups, len(weight), self.weights, shift, squares, self.n_threads
        )
        return GroupStatistics(weight, sums, shift)

    def _shift(self, centers: Floats) -> Floats:
        """What to take off the rows before adding up, so that a large offset costs no digits.

        Values that a sparse table does not store are not visited: nothing is taken off columns
        that have such values.
        """
        full, rows = self._some_rows
        shift = np.zeros(centers.shape[1])
        shift[full] = shift_near(rows, centers[:, full])
        return shift

    @cached_property
    def _some_rows(self) -> tuple[NDArray[np.bool_], Floats]:
        """Columns in which every value is stored, and these columns of a few rows."""
        full = _core.full_columns(self.points)
        rows = range(self.rows.shape[0])
        there = rows if self.weights is None else np.flatnonzero(self.weights)
        some = self.rows[np.array(there[:: max(1, len(there) // _SOME_ROWS)][:_SOME_ROWS])]
        if sparse.issparse(some):
            some = some.tocsc()[:, np.flatnonzero(full)].toarray()
        return full, np.asarray(some, dtype=np.float64)
