"""Cost: the questions that growth, refinement and the result of a fit ask of a cost."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from treemeans import _core
from treemeans.costs.cost_table import CostTable

Floats = NDArray[np.float64]

OWN_COSTS = ("labels", "mixture", "table")
"""Kinds of costs that are given for each row, so that they do not depend on centers."""
COST_KINDS = ("kmeans", "kmedians", "cosine", *OWN_COSTS)


class Clusters(NamedTuple):
    """Clusters of rows: what they cost with their best representatives, and these."""

    cost: float
    centers: Floats


class GroupCosts(Protocol):
    """What groups of rows cost as clusters, and any unions of them.

    Attributes
    ----------
    weight : (m,), weight of the rows of each group
    within : (m,), cost of each group as a cluster; None where costs are not measured
    """

    @property
    def weight(self) -> Floats:
        """Weight of the rows of each group."""

    @property
    def within(self) -> Floats | None:
        """Cost of each group as a cluster."""

    @property
    def cost(self) -> float:
        """Cost of all groups, each as the cluster of its number."""

    def union_costs(self, unions: Sequence[tuple[int, list[int]]]) -> Floats:
        """Cost of each of some unions of groups, given as the number of a cluster and its members.

        The costs that `merged` would give, for less work.
        """

    def merged(self, into: NDArray[np.int32], n_groups: int) -> Self:
        """Unions of the groups; ``into`` is the union that each of them joins."""

    def means(self, fallback: Floats) -> Floats:
        """Representative of each group; ``fallback`` for a group without rows."""

    def without_rows(self) -> Self:
        """The same, without anything that was only needed to measure it."""


class Cost(ABC):
    """What some rows cost: at given clusters, and with the best representatives of theirs.

    Nothing else knows how a cost is measured: searches read the table that `price` makes.

    Attributes
    ----------
    points : the rows in the space where costs are measured, as the kernels read them; None where
        costs are given, so that clusters have no representatives to move
    weights : of the rows; None where all are 1
    n_threads : that the work may take
    """

    points: _core.Points | None
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
    def representatives(self, labels: NDArray[np.int32], n_clusters: int) -> Floats:
        """The best representatives of the clusters that ``labels`` make.

        A cluster without weight has that of all rows.
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
    ) -> GroupCosts:
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
    def sample(self, rows: NDArray[np.intp], weights: Floats | None) -> Self:
        """The same cost of some of the rows, with other weights."""
