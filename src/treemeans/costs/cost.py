"""Cost: the questions that growth, refinement and the result of a fit ask of a cost."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from treemeans import _core
from treemeans.costs.cost_table import CostTable
from treemeans.costs.group_statistics import GroupStatistics

Floats = NDArray[np.float64]


class Clusters(NamedTuple):
    """Clusters of rows: what they cost with their best representatives, and these."""

    cost: float
    centers: Floats


class Cost(ABC):
    """What some rows cost: at given clusters, and with the best representatives of theirs.

    Nothing else knows how a cost is measured: searches read the table that `price` makes.

    Attributes
    ----------
    points : the rows in the space where costs are measured, as the kernels read them
    weights : of the rows; None where all are 1
    n_threads : that the work may take
    """

    points: _core.Points
    weights: Floats | None
    n_threads: int

    @abstractmethod
    def price(self, centers: Floats) -> CostTable:
        """The cost of every row at every cluster, given the clusters' representatives."""

    @abstractmethod
    def clusters(
        self, labels: NDArray[np.int32], surrogate_cost: float, centers: Floats
    ) -> Clusters:
        """The clusters that ``labels`` make; ``surrogate_cost`` is their cost to ``centers``.

        A cluster without rows keeps its center.
        """

    @abstractmethod
    def measured(self, labels: NDArray[np.int32], centers: Floats) -> float:
        """Cost of the clusters that ``labels`` make, from the rows themselves.

        Costs in fixed point lose rows that weigh less than 1e-18 of all.
        """

    @abstractmethod
    def statistics(
        self,
        groups: NDArray[np.int32],
        weight: Floats,
        costs: Floats,
        centers: Floats,
        rounding: float,
        spread: Floats | None = None,
    ) -> GroupStatistics:
        """What the cost of groups of rows, and of any unions of them, follows from.

        Parameters
        ----------
        groups : of each row
        weight : (n_groups,), of their rows
        costs : (n_groups, n_centers), of their rows to ``centers``
        rounding : most that the sum of ``costs`` to a center may be off by
        spread : filled with the standard deviation of each column of the space
        """

    @abstractmethod
    def as_one_cluster(self) -> Floats:
        """What each row costs, regardless of its weight, if all rows are one cluster."""

    @abstractmethod
    def sample(self, rows: NDArray[np.intp], weights: Floats) -> Self:
        """The same cost of some of the rows, with other weights."""
