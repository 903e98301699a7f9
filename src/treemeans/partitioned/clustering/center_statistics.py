"""The pass of k-means: give every row to its nearest center, and sum the rows of each center."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from treemeans.costs import cheapest_centers
from treemeans.exact_sum import as_float, exact_sum
from treemeans.partitioned.clustering.fixed_point_columns import (
    FixedPointColumns,
    row_slices,
    sum_by_group,
)
from treemeans.partitioned.clustering.row_sampling import RowSample, RowSampler
from treemeans.partitioned.map_reduce import MapReduceStep
from treemeans.partitioned.partition import Partition
from treemeans.reference import Reference

OVERFLOW = (
    "The squared distances overflow: the values are too large. "
    "Scale the data, for example with StandardScaler."
)


@dataclass(frozen=True)
class CenterStatistics:
    """Cost of a set of centers, and the sums of the rows nearest to each.

    Attributes
    ----------
    exact_cost : k-means cost of all rows, as an exact sum (see `exact_sum`)
    sums : (k, columns + 1), in fixed point
    sample : rows drawn in the same pass; None if there were none to draw
    """

    exact_cost: int
    sums: NDArray[np.int64]
    sample: RowSample | None

    @property
    def cost(self) -> float:
        """k-means cost of all rows."""
        return as_float(self.exact_cost)


@dataclass(frozen=True)
class CoresetSampler:
    """Draws rows half by what they cost, half evenly from every cluster.

    With such shares any set of centers costs about the same on a small weighted sample as on all
    rows (a coreset: Feldman and Langberg 2011).

    Attributes
    ----------
    per_cost : share of a row for each unit of its cost
    per_weight : (k,), share of a row nearest to each center for each unit of its weight
    """

    sampler: RowSampler
    per_cost: float
    per_weight: NDArray[np.float64]

    def sample(
        self,
        first_row: int,
        X: NDArray[np.generic],
        base: NDArray[np.float64],
        nearest: NDArray[np.int32],
        weights: NDArray[np.float64] | None,
    ) -> RowSample:
        """Draw from rows with costs ``base`` to centers ``nearest``."""
        shares = base * self.per_cost + self.per_weight[nearest]
        if weights is not None:
            shares *= weights
        return self.sampler.sample(first_row, X, shares, weights)


@dataclass(frozen=True)
class AssignToCenters(MapReduceStep[CenterStatistics]):
    """Give every row to its nearest center.

    Attributes
    ----------
    reference : the centers and the space they are in
    columns : fixed point of that space; with ``in_columns``, of X
    sampler : how to draw rows; None to draw none
    in_columns : whether rows are summed in the columns of X, not in the space of the centers
    """

    reference: Reference
    columns: FixedPointColumns
    sampler: CoresetSampler | None = None
    in_columns: bool = False

    def map(self, partition: Partition) -> CenterStatistics:
        """Assign the rows of one partition, a few thousand at a time."""
        space = self.reference.space(partition.X, partition.raw)
        summed = partition.X if self.in_columns else space
        if self.in_columns and summed.dtype.kind == "f" and np.isnan(summed).any():
            summed = np.where(np.isnan(summed), self.columns.shift, summed)
        k = self.reference.n_clusters
        found = CenterStatistics(0, np.zeros((k, summed.shape[1] + 1), dtype=np.int64), None)
        for rows in row_slices(partition.n_rows, summed.shape[1]):
            weights = None if partition.weights is None else partition.weights[rows]
            if partition.labels is not None:
                nearest = np.maximum(partition.labels[rows], 0)
                base = np.zeros(len(nearest))
            else:
                base, nearest = cheapest_centers(
                    self.reference.cost, space[rows], self.reference.centers, 1
                )
            costs = base if weights is None else base * weights
            if not np.isfinite(costs).all():
                raise ValueError(OVERFLOW)
            sample = None
            if self.sampler is not None:
                first_row = partition.first_row + rows.start
                sample = self.sampler.sample(first_row, space[rows], base, nearest, weights)
            sums = sum_by_group(self.columns.row_stats(summed[rows], weights), nearest, k)
            found = self.reduce(found, CenterStatistics(exact_sum(costs), sums, sample))
        return found

    def reduce(self, one: CenterStatistics, other: CenterStatistics) -> CenterStatistics:
        """Add costs and sums, and merge the samples."""
        drawn = [sample for sample in (one.sample, other.sample) if sample is not None]
        return replace(
            one,
            exact_cost=one.exact_cost + other.exact_cost,
            sums=one.sums + other.sums,
            sample=drawn[0].merge(drawn[1]) if len(drawn) == 2 else next(iter(drawn), None),
        )
