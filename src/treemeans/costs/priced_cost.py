"""PricedCost: another cost plus a price for each row at each cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from treemeans import _core
from treemeans.costs.cost import Clusters, Cost, GroupCosts
from treemeans.costs.cost_table import CostTable

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class PricedCost(Cost):
    """A cost to which prices are added, so that a search prefers clusters within limits.

    Prices do not depend on the representatives, so the best representatives are those of the cost.

    Attributes
    ----------
    cost : without prices
    prices : (n_rows, n_clusters), of a row of weight 1
    """

    cost: Cost
    prices: Floats

    @property
    def points(self) -> _core.Points | None:  # type: ignore[override]
        """The rows in the space where costs are measured."""
        return self.cost.points

    @property
    def weights(self) -> Floats | None:  # type: ignore[override]
        """Weights of the rows; None where all are 1."""
        return self.cost.weights

    @property
    def n_threads(self) -> int:  # type: ignore[override]
        """Threads that the work may take."""
        return self.cost.n_threads

    def price(self, centers: Floats) -> CostTable:
        """Costs and prices of the rows at clusters with these representatives."""
        return self.cost.price(centers).with_prices(self._weighed)

    def clusters(
        self, labels: NDArray[np.int32], surrogate_cost: float, centers: Floats
    ) -> Clusters:
        """The clusters of the cost: what representatives save does not depend on prices."""
        return self.cost.clusters(labels, surrogate_cost, centers)

    def representatives(self, labels: NDArray[np.int32], n_clusters: int) -> Floats:
        """The representatives of the cost."""
        return self.cost.representatives(labels, n_clusters)

    def measured(self, labels: NDArray[np.int32], centers: Floats) -> float:
        """Cost of the clusters and prices of their rows."""
        rows = np.arange(len(labels))
        prices = self._weighed[rows, labels] - self._weighed.min(axis=1)
        return self.cost.measured(labels, centers) + float(prices.sum())

    def statistics(
        self,
        groups: NDArray[np.int32],
        weight: Floats,
        costs: Floats,
        centers: Floats,
        rounding: float,
        spread: Floats | None = None,
    ) -> GroupCosts:
        """The statistics of the cost; ``costs`` have prices, so costs are measured anew."""
        return self.cost.statistics(groups, weight, costs, centers, np.inf, spread)

    def as_one_cluster(self) -> Floats:
        """What each row costs, without prices, if all rows are one cluster."""
        return self.cost.as_one_cluster()

    def sample(self, rows: NDArray[np.intp], weights: Floats | None) -> Self:
        """The same cost and prices of some of the rows, with other weights."""
        return type(self)(self.cost.sample(rows, weights), self.prices[rows])

    @property
    def _weighed(self) -> Floats:
        return self.prices if self.weights is None else self.prices * self.weights[:, None]
