"""Where the reference's centers are in the columns of rows that hold more than numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treemeans.exact_sum import ExactGroupSums
from treemeans.partitioned.map_reduce import MapReduceStep, PartitionedRows
from treemeans.partitioned.partition import Partition
from treemeans.partitioned.partition_costs import CostTableBuilder


@dataclass(frozen=True)
class CenterSums:
    """Exact sums of the rows nearest to each center.

    Attributes
    ----------
    by_feature : of each feature of numbers
    n_rows : (k,), rows that weigh something
    """

    by_feature: dict[int, ExactGroupSums]
    n_rows: NDArray[np.int64]

    def __add__(self, other: CenterSums) -> CenterSums:
        sums = {f: own.plus(other.by_feature[f]) for f, own in self.by_feature.items()}
        return CenterSums(sums, self.n_rows + other.n_rows)


@dataclass(frozen=True)
class SumByCenter(MapReduceStep[CenterSums]):
    """Sum the values that are there, by the nearest center of their rows."""

    cost_builder: CostTableBuilder
    features: tuple[int, ...]

    def map(self, partition: Partition) -> CenterSums:
        """Sum one partition."""
        k, labels = self.cost_builder.reference.n_clusters, self.cost_builder.labels(partition)
        weights = self.cost_builder.weights(partition)
        counted = labels if partition.weights is None else labels[partition.weights > 0]
        found = {}
        for feature in self.features:
            values = np.asarray(partition.X[:, feature], dtype=np.float64)
            found[feature] = ExactGroupSums.of(values, labels, weights, k)
        return CenterSums(found, np.bincount(counted, minlength=k))


def place_centers(
    rows: PartitionedRows, cost_builder: CostTableBuilder, n_codes: tuple[int, ...]
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """The centers in the columns of numbers, and the centers that are nearest to some row.

    (k, d), the means of the values that are there, as `growth.mixed_mistakes.center_means` finds
    them in memory; NaN in columns of categories.
    """
    features = tuple(feature for feature, n in enumerate(n_codes) if n == 0)
    found = rows.map_reduce(SumByCenter(cost_builder, features))
    columns = np.full((cost_builder.reference.n_clusters, len(n_codes)), np.nan)
    for feature, sums in found.by_feature.items():
        columns[:, feature] = sums.means()
    return columns, np.flatnonzero(found.n_rows)
