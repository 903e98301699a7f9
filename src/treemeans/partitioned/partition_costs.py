"""What the rows of a partition cost, and the pass that adds up what all rows cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from treemeans import _core
from treemeans.costs import CostTable, Fixed, Scales, centered_prices
from treemeans.exact_sum import as_float, exact_sum
from treemeans.partitioned.map_reduce import MapReduceStep
from treemeans.partitioned.partition import Partition
from treemeans.partitioned.row_summary import RowSummary
from treemeans.reference import Reference
from treemeans.rows import as_points


def space_of(partition: Partition, reference: Reference) -> _core.Points:
    """The rows in the space where the reference's centers are."""
    if reference.pipeline is None:
        return partition.points
    return as_points(reference.space(partition.X, partition.raw))


def prices_of(
    partition: Partition, reference: Reference
) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.float64]]:
    """Least cost, cheapest center and regrets of a partition's rows."""
    if reference.pipeline is None:
        rows, points = partition.X, partition.points
    else:
        rows, points = reference.space(partition.X, partition.raw), None
    return centered_prices(reference.cost, rows, reference.centers, 1, points)


@dataclass(frozen=True)
class CostTableBuilder:
    """Builds the cost table of a partition: the centers, and the fixed point of the costs.

    The scales come from sums over all rows, so a row has the same integer costs in any partition,
    and the same as in one memory.
    """

    reference: Reference
    scales: Scales

    def build(self, partition: Partition) -> CostTable:
        """Costs of a partition's rows to all centers."""
        prices = prices_of(partition, self.reference)
        return CostTable.rounded(*prices, partition.weights, self.scales, 1)


@dataclass(frozen=True)
class CostTotals:
    """Sums over all rows.

    Attributes
    ----------
    regrets : for each center, the exact sum of what rows cost there beyond their cheapest center
    base : exact sum of the rows' costs to their cheapest centers
    nearest : (k,), number of rows nearest to each center
    weight : weight of all rows, in units of the weights; 0 where rows have none
    """

    regrets: list[int]
    base: int
    nearest: NDArray[np.int64]
    weight: int

    @property
    def n_rows(self) -> int:
        """Number of rows in all partitions."""
        return int(self.nearest.sum())

    @property
    def cheapest(self) -> float:
        """Cost of giving every row to its cheapest center."""
        return as_float(self.base)

    def scales(self, summary: RowSummary) -> Scales:
        """The fixed point in which no sum over these rows overflows."""
        weight = summary.weight if summary.weighted else None
        return Scales.of(
            as_float(max(self.regrets)), self.cheapest, weight, summary.integer_weights
        )


@dataclass(frozen=True)
class SumCosts(MapReduceStep[CostTotals]):
    """Add up the costs of all rows without rounding: the fixed point is not known before.

    ``weights``: the fixed point of the weights; None where rows have none.
    """

    reference: Reference
    weights: Scales | None

    @classmethod
    def of(cls, reference: Reference, summary: RowSummary) -> Self:
        """For the rows of a summary."""
        weights = None
        if summary.weighted:
            weights = Scales.of(0.0, 0.0, summary.weight, summary.integer_weights)
        return cls(reference, weights)

    def map(self, partition: Partition) -> CostTotals:
        """Add up one partition."""
        centers = self.reference.centers
        base, nearest, regret = prices_of(partition, self.reference)
        if partition.weights is not None:
            base = base * partition.weights
            regret = regret * partition.weights[:, None]
        weight = 0
        if partition.weights is not None and self.weights is not None:
            scale, copies = self.weights.weights, self.weights.copies
            assert scale is not None
            units = Fixed.of(np.ones(partition.n_rows), scale, partition.weights, copies, 1)
            weight = int(units.values.sum())
        if not (np.isfinite(regret).all() and np.isfinite(base).all()):
            Scales.of(np.inf, np.inf, None, True)  # raises the message for costs that overflow
        return CostTotals(
            [exact_sum(column) for column in regret.T],
            exact_sum(base),
            np.bincount(nearest, minlength=len(centers)),
            weight,
        )

    def reduce(self, one: CostTotals, other: CostTotals) -> CostTotals:
        """Add up two results."""
        regrets = [a + b for a, b in zip(one.regrets, other.regrets, strict=True)]
        return CostTotals(
            regrets, one.base + other.base, one.nearest + other.nearest, one.weight + other.weight
        )
