"""Costs that are given, row by row and cluster by cluster: labels, a mixture, a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from treemeans.costs.cost import Clusters, Cost
from treemeans.costs.cost_table import CostTable

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class TableStatistics:
    """Costs of groups of rows at every cluster, which those of unions are sums of.

    A cluster has no representative here: what its rows cost follows from its number.

    Attributes
    ----------
    weight : (m,), weight of the rows of each group
    costs : (m, n_clusters), cost of the rows of each group at each cluster
    within : (m,), cost of the groups, where group c is cluster c; None before they are merged
    """

    weight: Floats
    costs: Floats
    within: Floats | None = None

    def union_costs(self, unions: Sequence[tuple[int, list[int]]]) -> Floats:
        """Cost of each of some unions of groups, given as a cluster's number and its members."""
        return np.array([self._union_cost(members, cluster) for cluster, members in unions])

    def _union_cost(self, members: list[int], cluster: int) -> float:
        """Cost of the union of some groups as one cluster; what `merged` says of it."""
        return float(self.costs[members, cluster].cumsum()[-1]) if members else 0.0

    def merged(self, into: NDArray[np.int32], n_groups: int) -> TableStatistics:
        """The clusters that groups join; ``into`` is the cluster of each group."""
        weight = np.bincount(into, self.weight, minlength=n_groups).astype(np.float64)
        own = self.costs[np.arange(len(into)), into]
        within = np.bincount(into, own, minlength=n_groups).astype(np.float64)
        costs = np.zeros((n_groups, self.costs.shape[1]))
        np.add.at(costs, into, self.costs)
        return TableStatistics(weight, costs, within)

    def means(self, fallback: Floats) -> Floats:
        """Representatives: clusters keep those they have."""
        return fallback

    def costs_to(self, centers: Floats) -> Floats:
        """(m, n_clusters), cost of the rows of each group at each cluster."""
        return self.costs

    def without_rows(self) -> TableStatistics:
        """The same: sums hold no rows."""
        return self

    @property
    def cost(self) -> float:
        """Cost of all rows, each group at the cluster of its number."""
        own = np.diagonal(self.costs) if self.within is None else self.within
        return float(own.sum())


@dataclass(frozen=True)
class TableCost(Cost):
    """What each row costs at each cluster, as given; clusters have no representatives to move.

    Attributes
    ----------
    base : (n,), what each row costs at its cheapest cluster
    regret : (n, k), what the others cost beyond that; all costs are finite and not negative
    labels : (n,), reference cluster of each row; None for the cheapest
    weights, n_threads : as in `Cost`
    """

    base: Floats
    regret: Floats
    labels: NDArray[np.int32] | None
    weights: Floats | None
    n_threads: int
    points: None = None

    def price(self, centers: Floats) -> CostTable:
        """The table itself, whatever the centers."""
        return self._costs

    @cached_property
    def _costs(self) -> CostTable:
        labels = self.labels
        if labels is None:
            labels = self.regret.argmin(axis=1).astype(np.int32)
        base, regret = self.base.copy(), self.regret.copy()  # they are overwritten
        found = CostTable.of(base, labels, regret, self.weights, self.n_threads)
        return replace(found, is_labelled=self.labels is not None)

    def clusters(
        self, labels: NDArray[np.int32], surrogate_cost: float, centers: Floats
    ) -> Clusters:
        """Clusters stay what they are."""
        return Clusters(surrogate_cost, centers)

    def representatives(self, labels: NDArray[np.int32], n_clusters: int) -> Floats:
        """Clusters have none."""
        return np.empty((n_clusters, 0))

    def measured(self, labels: NDArray[np.int32], centers: Floats) -> float:
        """Cost of the clusters that ``labels`` make."""
        own = self.base + self.regret[np.arange(len(labels)), labels]
        return float(own.sum() if self.weights is None else own @ self.weights)

    def statistics(
        self,
        groups: NDArray[np.int32],
        weight: Floats,
        costs: Floats,
        centers: Floats,
        rounding: float,
        spread: Floats | None = None,
    ) -> TableStatistics:
        """The costs of the groups; added up again where an infinite cost left them few digits."""
        if rounding > 1e-10 * float(costs.min(axis=1).sum()):
            weights = np.ones(len(groups)) if self.weights is None else self.weights
            each = (self.base + column for column in self.regret.T)
            sums = [np.bincount(groups, weights * own, minlength=len(weight)) for own in each]
            costs = np.stack(sums, axis=1)
        return TableStatistics(weight, costs)

    def as_one_cluster(self) -> Floats:
        """What each row costs at the cluster that is cheapest for all of them together."""
        totals = self.regret.sum(axis=0) if self.weights is None else self.weights @ self.regret
        return np.asarray(self.base + self.regret[:, int(totals.argmin())])

    def sample(self, rows: NDArray[np.intp], weights: Floats | None) -> Self:
        """The same cost of some of the rows, with other weights."""
        labels = None if self.labels is None else self.labels[rows]
        return type(self)(self.base[rows], self.regret[rows], labels, weights, self.n_threads)
