"""SumLeaves: totals of the rows in the leaves of candidate trees, in one pass over all rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemeans import _core
from treemeans.costs import CostTable, Scales
from treemeans.partitioned.clustering.fixed_point_columns import (
    FixedPointColumns,
    row_slices,
    sum_by_group,
)
from treemeans.partitioned.map_reduce import MapReduceStep
from treemeans.partitioned.partition import Partition
from treemeans.partitioned.partition_costs import CostTableBuilder
from treemeans.partitioned.tree_growth.histogram_pass import RowRouter
from treemeans.partitioned.tree_growth.partitioned_data import PartitionedData
from treemeans.partitioned.tree_refinement.partitioned_coreset import costs_of_all, dense
from treemeans.rows import as_points

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class CandidateTree:
    """A tree and the centers its rows are priced by; the groups of the router are the leaves."""

    router: RowRouter
    n_leaves: int
    cost_builder: CostTableBuilder


@dataclass(frozen=True)
class LeafTotals:
    """Totals of the rows in the leaves of a tree.

    Attributes
    ----------
    base : cost of all rows, each with its cheapest center
    regrets : (n_leaves, k), of the rows of each leaf
    weight : (n_leaves,), number of the rows, or their weight in units of the weights
    sums : (n_leaves, dimension of the space + 1), of the rows and their weights in fixed point
    """

    base: int
    regrets: Integers
    weight: Integers
    sums: Integers


@dataclass(frozen=True)
class SumLeaves(MapReduceStep[list[LeafTotals]]):
    """Send all rows through candidate trees, and total what arrives in their leaves.

    ``columns``: how to add up the columns of the space of the centers in fixed point.
    """

    candidates: list[CandidateTree]
    columns: FixedPointColumns

    def map(self, partition: Partition) -> list[LeafTotals]:
        """Total the leaves of one partition."""
        reference = self.candidates[0].cost_builder.reference
        space = reference.space(partition.X, partition.raw)
        return [self._totals(partition, space, candidate) for candidate in self.candidates]

    def reduce(self, one: list[LeafTotals], other: list[LeafTotals]) -> list[LeafTotals]:
        """Add the totals of two sets of partitions."""
        return [
            LeafTotals(a.base + b.base, a.regrets + b.regrets, a.weight + b.weight, a.sums + b.sums)
            for a, b in zip(one, other, strict=True)
        ]

    def _totals(self, partition: Partition, space: Any, candidate: CandidateTree) -> LeafTotals:
        groups, m = candidate.router.of_points(partition.points), candidate.n_leaves
        prices = _core.price(as_points(space), candidate.cost_builder.reference.centers, 1)
        costs = CostTable.rounded(*prices, partition.weights, candidate.cost_builder.scales, 1)
        # A row that has a weight counts, however light it is: its leaf is not empty.
        weight = np.ones(partition.n_rows, dtype=np.int64)
        if costs.weights is not None and partition.weights is not None:
            weight = np.where(partition.weights > 0, np.maximum(costs.weights.values, 1), 0)
        return LeafTotals(
            int(costs.base.values.sum()),
            sum_by_group(costs.regrets.values, groups, m),
            sum_by_group(weight[:, None], groups, m)[:, 0],
            self._sums(space, groups, m, partition.weights),
        )

    def _sums(
        self, space: Any, groups: NDArray[np.int32], n_leaves: int, weights: Floats | None
    ) -> Integers:
        sums = np.zeros((n_leaves, space.shape[1] + 1), dtype=np.int64)
        for rows in row_slices(*space.shape):
            some = None if weights is None else weights[rows]
            row_stats = self.columns.row_stats(dense(space[rows]), some)
            sums += sum_by_group(row_stats, groups[rows], n_leaves)
        return sums


def cost_builder_for(data: PartitionedData, centers: Floats) -> CostTableBuilder:
    """Return what prices rows by other centers than the reference's.

    What all rows cost with a new center is at most twice what they cost with an old one and its
    distance to that: so no pass is needed to know how costs are to be rounded.
    """
    reference, summary = data.reference, data.summary
    apart = ((centers[:, None] - reference.centers) ** 2).sum(axis=2)
    most = 2.0 * (costs_of_all(data) + summary.weight * apart).min(axis=1)
    weight = summary.weight if summary.weighted else None
    scales = Scales.of(float(most.max()), float(most.min()), weight, summary.integer_weights)
    return CostTableBuilder(replace(reference, centers=centers), scales)
