"""TrainingData: everything that a tree is grown and refined on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from treemeans.costs import Cost, CostTable
from treemeans.limits import Limits
from treemeans.rows import Table

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class TrainingData:
    """The two tables of a fit, features and costs, and what a tree on them may be.

    Attributes
    ----------
    X : the features, an array or sparse matrix
    table : the same, ready to be searched
    cost : how costs of these rows are measured
    limits : the user's, in rows
    centers : of the reference, in its space
    center_columns : the same in the columns of X
    costs : of the rows, to the centers
    reference_cost : of the reference clustering, what prices of features are shares of
    n_init : trees that ``"random"`` tries
    seed : of their cuts, and of a search
    """

    X: Any
    table: Table
    cost: Cost
    limits: Limits
    centers: Floats
    center_columns: Floats
    costs: CostTable
    reference_cost: float
    n_init: int = 1
    seed: int = 0

    @classmethod
    def of(
        cls,
        X: Any,
        table: Table,
        cost: Cost,
        limits: Limits,
        centers: Floats,
        center_columns: Floats | None = None,
        *,
        costs: CostTable | None = None,
        n_init: int = 1,
        seed: int = 0,
    ) -> Self:
        """Price the rows, where ``costs`` are not known; the centers may be in the columns of X."""
        costs = cost.price(centers) if costs is None else costs
        columns = centers if center_columns is None else center_columns
        whole = costs.reference
        return cls(X, table, cost, limits, centers, columns, costs, whole, n_init, seed)

    @property
    def weights(self) -> Floats | None:
        """Weights of the rows; None where all are 1."""
        return self.cost.weights

    @property
    def n_threads(self) -> int:
        """Threads that the work may take."""
        return self.cost.n_threads

    @property
    def total_weight(self) -> float:
        """Weight of all rows, in the user's units."""
        return float(self.table.n_rows if self.weights is None else self.weights.sum())

    def slot_prices(self, costs: CostTable) -> NDArray[np.int64] | None:
        """Prices of the slots of the table, in units of the regrets of ``costs``."""
        whole = self.reference_cost / costs.regrets.unit
        return self.limits.slot_prices(self.table.bins.feature, whole)
