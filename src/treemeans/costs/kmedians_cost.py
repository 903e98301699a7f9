"""The k-medians cost: sums of absolute differences, whose best representatives are medians."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from treemeans import _core
from treemeans.costs.cost import Clusters, Cost
from treemeans.costs.cost_table import CostTable
from treemeans.rows import as_points

Floats = NDArray[np.float64]


class Union(NamedTuple):
    """Some leaves as one cluster: its cost, and its representative."""

    cost: float
    center: Floats


@dataclass(frozen=True)
class UnionStatistics:
    """Costs of unions of leaves, measured from the rows and kept.

    Medians of unions do not follow from those of their parts. So each union that is asked for is
    measured once; a model keeps those of its own sizes, and needs no rows for them.

    Attributes
    ----------
    weight : (m,), weight of the rows of each leaf
    known : what was measured, by the numbers of the leaves
    cost_of_rows, groups : to measure others: the cost, and the leaf of each row; None in a model
    within, centers : of the unions in the order of their numbers, once leaves are merged
    """

    weight: Floats
    known: dict[tuple[int, ...], Union] = field(default_factory=dict)
    cost_of_rows: Cost | None = field(default=None, repr=False)
    groups: NDArray[np.int32] | None = field(default=None, repr=False)
    within: Floats | None = None
    centers: tuple[Floats | None, ...] = ()

    def union_costs(self, unions: Sequence[tuple[int, list[int]]]) -> Floats:
        """Cost of each of some unions of groups, given as a cluster's number and its members."""
        return np.array([self._union_cost(members, cluster) for cluster, members in unions])

    def _union_cost(self, members: list[int], cluster: int) -> float:
        """Cost of the union of some leaves about its representative."""
        return self._union(np.array(members)).cost if members else 0.0

    def merged(self, into: NDArray[np.int32], n_groups: int) -> UnionStatistics:
        """The clusters that leaves join; ``into`` is the cluster of each leaf."""
        weight = np.bincount(into, self.weight, minlength=n_groups).astype(np.float64)
        unions = [
            self._union(np.flatnonzero(into == cluster)) if weight[cluster] > 0 else None
            for cluster in range(n_groups)
        ]
        within = np.array([0.0 if union is None else union.cost for union in unions])
        centers = tuple(None if union is None else union.center for union in unions)
        return UnionStatistics(weight, within=within, centers=centers)

    def means(self, fallback: Floats) -> Floats:
        """Representatives of the unions; ``fallback`` for one without rows."""
        found = np.array(fallback)
        for i, center in enumerate(self.centers):
            if center is not None:
                found[i] = center
        return found

    @property
    def cost(self) -> float:
        """Cost of all unions."""
        assert self.within is not None
        return float(self.within.sum())

    def without_rows(self) -> UnionStatistics:
        """The same, with what was measured so far and nothing of the rows."""
        return UnionStatistics(self.weight, self.known)

    def _union(self, members: NDArray[np.intp]) -> Union:
        key = tuple(members[self.weight[members] > 0].tolist())
        if not key:
            return Union(0.0, np.zeros(0))
        if key not in self.known:
            if self.cost_of_rows is None or self.groups is None:
                raise KeyError(key)  # a model asks for clusters of its own sizes only
            self.known[key] = self._measured(key)
        return self.known[key]

    def _measured(self, leaves: tuple[int, ...]) -> Union:
        assert self.cost_of_rows is not None
        assert self.groups is not None
        inside = np.zeros(len(self.weight), dtype=bool)
        inside[list(leaves)] = True
        rows = np.flatnonzero(inside[self.groups])
        weights = self.cost_of_rows.weights
        some = self.cost_of_rows.sample(rows, None if weights is None else weights[rows])
        labels = np.zeros(len(rows), dtype=np.int32)
        center = some.representatives(labels, 1)
        return Union(some.measured(labels, center), center[0])


@dataclass(frozen=True)
class KMediansCost(Cost):
    """Sums of absolute differences of rows and centers.

    Attributes
    ----------
    rows : in the space of the centers, an array or sparse matrix
    points : the same, as the kernels read them, by column too if they are sparse
    weights, n_threads : as in `Cost`
    """

    rows: Any
    points: _core.Points
    weights: Floats | None
    n_threads: int

    @classmethod
    def of(cls, rows: Any, weights: Floats | None, n_threads: int) -> Self:
        """The cost of rows in the space of the centers."""
        return cls(rows, as_points(rows, by_column=True), weights, n_threads)

    def price(self, centers: Floats) -> CostTable:
        """Sums of absolute differences of all rows and all centers."""
        prices = _core.price(self.points, centers, self.n_threads, absolute=True)
        return CostTable.of(*prices, self.weights, self.n_threads)

    def clusters(
        self, labels: NDArray[np.int32], surrogate_cost: float, centers: Floats
    ) -> Clusters:
        """Medians, and what rows and cuts cost with them.

        ``surrogate_cost`` may hold prices of cuts, so the saving is taken off it.
        """
        medians, costs = self._medians(labels, centers)
        before = self._cost_at(labels, centers)
        return Clusters(surrogate_cost - max(before - float(costs.sum()), 0.0), medians)

    def representatives(self, labels: NDArray[np.int32], n_clusters: int) -> Floats:
        """Medians of the rows with each label."""
        everything = np.zeros(len(labels), dtype=np.int32)
        overall, _ = self._medians(everything, np.zeros((1, self.rows.shape[1])))
        return self._medians(labels, np.repeat(overall, n_clusters, axis=0))[0]

    def measured(self, labels: NDArray[np.int32], centers: Floats) -> float:
        """Cost about the medians of the clusters, from the rows themselves."""
        return float(self._medians(labels, centers)[1].sum())

    def statistics(
        self,
        groups: NDArray[np.int32],
        weight: Floats,
        costs: Floats,
        centers: Floats,
        rounding: float,
        spread: Floats | None = None,
    ) -> UnionStatistics:
        """Costs of unions of the groups, to be measured when they are asked for."""
        place = np.zeros((len(weight), self.rows.shape[1]))
        within = self._medians(groups, place)[1]
        return UnionStatistics(weight, {}, self, groups, within)

    def as_one_cluster(self) -> Floats:
        """What each row costs at the median of all."""
        everything = np.zeros(self.rows.shape[0], dtype=np.int32)
        median = self.representatives(everything, 1)
        return _core.nearest_centers(self.points, median, self.n_threads, absolute=True)[0]

    def sample(self, rows: NDArray[np.intp], weights: Floats | None) -> Self:
        """The same cost of some of the rows, with other weights."""
        some = self.rows[rows]
        return type(self)(some, as_points(some, by_column=True), weights, self.n_threads)

    def _medians(self, labels: NDArray[np.int32], fallback: Floats) -> tuple[Floats, Floats]:
        """Medians and costs of clusters; one without rows keeps its place in ``fallback``."""
        medians = np.array(fallback, dtype=np.float64, order="C")
        costs = _core.group_medians(self.points, labels, self.weights, medians, self.n_threads)
        return medians, costs

    def _cost_at(self, labels: NDArray[np.int32], centers: Floats) -> float:
        base, _, beyond = _core.price(self.points, centers, self.n_threads, absolute=True)
        own = base + beyond[np.arange(len(labels)), labels]
        return float(own.sum() if self.weights is None else own @ self.weights)
