"""TrainingData: what a tree is grown and shaped on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from treemeans import _core
from treemeans.costs import CostTable, GroupStatistics, Moments, shift_near
from treemeans.limits import Limits
from treemeans.rows import Table

_SOME_ROWS = 32
"""Rows that are looked at to see where the rows are."""


@dataclass(frozen=True)
class TrainingData:
    """The rows: their features, their place in the space that costs are measured in, their weight.

    Attributes
    ----------
    X : the features, an array or sparse matrix
    table : the same, ready to be searched
    space_rows, space : the rows where the centers live; without a pipeline, X and its points
    weights : of the rows; None where all are 1
    limits : the user's, in rows
    reference_cost : of the rows to the reference's centers, what prices of features are shares of
    """

    X: Any
    table: Table
    space_rows: Any
    space: _core.Points
    weights: NDArray[np.float64] | None
    limits: Limits
    n_threads: int
    reference_cost: float = 0.0

    def price(self, centers: NDArray[np.float64]) -> CostTable:
        """Costs of all rows and centers."""
        return CostTable.price(self.space, centers, self.weights, self.n_threads)

    def slot_prices(self, costs: CostTable) -> NDArray[np.int64] | None:
        """Prices of the slots of the table, in units of the regrets of ``costs``."""
        whole = self.reference_cost / costs.regrets.unit
        return self.limits.for_rows(costs).slot_prices(self.table.bins.feature, whole)

    def shift(self, centers: NDArray[np.float64]) -> NDArray[np.float64]:
        """What to take off the rows before adding up, so that a large offset costs no digits.

        Values that a sparse table does not store are not visited: nothing is taken off columns
        that have such values.
        """
        full, rows = self._some_rows
        shift = np.zeros(centers.shape[1])
        shift[full] = shift_near(rows, centers[:, full])
        return shift

    @cached_property
    def _some_rows(self) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Columns in which every value is stored, and these columns of a few rows."""
        full = _core.full_columns(self.space)
        rows = (
            np.arange(self.table.n_rows) if self.weights is None else np.flatnonzero(self.weights)
        )
        some = self.space_rows[rows[:: max(1, len(rows) // _SOME_ROWS)][:_SOME_ROWS]]
        if sparse.issparse(some):
            some = some.tocsc()[:, np.flatnonzero(full)].toarray()
        return full, np.asarray(some, dtype=np.float64)

    def sums(
        self,
        groups: NDArray[np.int32],
        weight: NDArray[np.float64],
        shift: NDArray[np.float64],
        squares: NDArray[np.float64] | None = None,
    ) -> GroupStatistics:
        """Sums of groups of rows in the space of the centers; ``squares`` as in the kernel."""
        sums = _core.group_sums(
            self.space, groups, len(weight), self.weights, shift, squares, self.n_threads
        )
        return GroupStatistics(weight, sums, shift)

    def with_costs(
        self,
        sums: GroupStatistics,
        groups: NDArray[np.int32],
        costs: NDArray[np.float64],
        centers: NDArray[np.float64],
        rounding: float,
    ) -> GroupStatistics:
        """Groups of rows, with their costs about their means.

        ``costs``: (n_groups, n_centers), of the groups' rows to ``centers``.
        """
        return GroupStatistics.of(sums, costs, centers, rounding, self._moments(groups))

    def measured_cost(self, labels: NDArray[np.int32], centers: NDArray[np.float64]) -> float:
        """K-means cost of the clusters that ``labels`` make, from the rows themselves.

        Costs in fixed point lose rows that weigh less than 1e-18 of all.
        """
        weight = np.bincount(labels, self.weights, minlength=len(centers)).astype(np.float64)
        sums = self.sums(labels, weight, self.shift(centers))
        return sums.measured(self._moments(labels)).cost

    def _moments(self, groups: NDArray[np.int32]) -> Moments:
        def moments(
            origins: NDArray[np.float64],
        ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
            return _core.group_moments(self.space, groups, self.weights, origins, self.n_threads)

        return moments

    def clusters(
        self, labels: NDArray[np.int32], surrogate_cost: float, centers: NDArray[np.float64]
    ) -> Clusters:
        """The clusters that ``labels`` make; ``surrogate_cost`` is their cost to ``centers``."""
        weight = np.bincount(labels, self.weights, minlength=len(centers)).astype(np.float64)
        sums = self.sums(labels, weight, self.shift(centers))
        means = sums.means(centers)
        away = means - centers
        return Clusters(surrogate_cost - float(weight @ (away * away).sum(axis=1)), means)


@dataclass(frozen=True)
class Clusters:
    """Their k-means cost (and, where they came with it, that of the features), and their means."""

    cost: float
    means: NDArray[np.float64]
