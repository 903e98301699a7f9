"""The coarse pass of a search: sums of row statistics by node, feature and code."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treemeans import _core
from treemeans.partitioned.map_reduce import MapReduceStep
from treemeans.partitioned.partition import Partition
from treemeans.partitioned.partition_costs import CostTableBuilder
from treemeans.partitioned.tree_growth.code_edges import CodeEdges
from treemeans.partitioned.tree_growth.histogram_pass import RowRouter, RowStats


@dataclass(frozen=True)
class SumCodes(MapReduceStep[NDArray[np.int64]]):
    """Sum row statistics by group and code: (n_groups, bins of the features, statistics).

    Attributes
    ----------
    cost_builder : prices the rows
    router : the groups of the rows
    row_stats : what is summed
    edges : of the codes
    features : whose codes are summed
    n_groups : number of groups
    """

    cost_builder: CostTableBuilder
    router: RowRouter
    row_stats: RowStats
    edges: CodeEdges
    features: NDArray[np.int32]
    n_groups: int

    def map(self, partition: Partition) -> NDArray[np.int64]:
        """Sum one partition."""
        groups = self.router.groups(partition)
        coded = (
            self.edges.codes(partition),
            self.edges.first,
            self.edges.edges,
            self.features,
            groups,
            self.n_groups,
        )
        weights = self.row_stats.weights(self.cost_builder, partition)
        if not self.row_stats.of_labels:
            regrets = self.cost_builder.cached(partition).regrets.values
            return _core.sum_codes(*coded, regrets, weights)
        labels = self.cost_builder.labels(partition)
        k = self.cost_builder.reference.n_clusters
        home = self.cost_builder.weights(partition)
        return _core.count_labels(*coded, labels, k, home, weights)
