"""Ground: what a tree is grown and shaped on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from treemeans import _core
from treemeans.costs import CostTable
from treemeans.limits import Rules
from treemeans.tables import Table


@dataclass(frozen=True)
class Ground:
    """The rows: their features, their place in the space that costs are measured in, their weight.

    Attributes
    ----------
    X : the features, an array or sparse matrix
    table : the same, ready to be searched
    space_rows, space : the rows where the centers live; without a pipeline, X and its points
    weights : of the rows; None where all are 1
    rules : the user's limits
    reference_cost : of the rows to the reference's centers, what prices of features are shares of
    """

    X: Any
    table: Table
    space_rows: Any
    space: _core.Points
    weights: NDArray[np.float64] | None
    rules: Rules
    n_threads: int
    reference_cost: float = 0.0

    def price(self, centers: NDArray[np.float64]) -> CostTable:
        """Costs of all rows and centers."""
        return CostTable.price(self.space, centers, self.weights, self.n_threads)

    def slot_prices(self, costs: CostTable) -> NDArray[np.int64] | None:
        """Prices of the slots of the table, in units of the regrets of ``costs``."""
        whole = self.reference_cost / costs.regrets.unit
        return self.rules.limits(costs).slot_prices(self.table.bins.feature, whole)

    def shift(self, centers: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """What to take off before adding up, so that a large offset costs no digits."""
        return None if sparse.issparse(self.space_rows) else centers.mean(axis=0)

    def clusters(
        self, labels: NDArray[np.int32], surrogate_cost: float, centers: NDArray[np.float64]
    ) -> Clusters:
        """The clusters that ``labels`` make; ``surrogate_cost`` is their cost to ``centers``."""
        k, shift = len(centers), self.shift(centers)
        sums = _core.group_sums(self.space, labels, k, self.weights, shift, None, self.n_threads)
        weight = np.bincount(labels, self.weights, minlength=k).astype(np.float64)
        occupied = weight > 0
        means = centers.copy()
        means[occupied] = sums[occupied] / weight[occupied, None]
        if shift is not None:
            means[occupied] += shift
        away = means - centers
        return Clusters(surrogate_cost - float(weight @ (away * away).sum(axis=1)), means)


@dataclass(frozen=True)
class Clusters:
    """Their k-means cost (and, where they came with it, that of the features), and their means."""

    cost: float
    means: NDArray[np.float64]
