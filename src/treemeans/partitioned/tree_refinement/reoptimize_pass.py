"""Reoptimization of splits on rows in partitions: the costs of rows on either side are summed.

With the rest of the tree fixed, a row has one cost if it goes left and one if it goes right. A cut
costs what all rows cost on the right, plus the differences left - right of the rows left of it: the
best cut has the smallest prefix sum of these differences.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treemeans import _core
from treemeans.partitioned.map_reduce import MapReduceStep
from treemeans.partitioned.partition import Partition
from treemeans.partitioned.partition_costs import CostTableBuilder
from treemeans.partitioned.tree_growth.best_cuts import NodeSearch, find_cuts_by_value
from treemeans.partitioned.tree_growth.bin_scores import BinCut, BinScore, PrefixScore
from treemeans.partitioned.tree_growth.feature_bins import quantile_edges
from treemeans.partitioned.tree_growth.histogram_pass import (
    HistogramRequests,
    Histograms,
    RowRouter,
)
from treemeans.partitioned.tree_growth.partitioned_data import PartitionedData
from treemeans.rows import as_points

ADDS, SAVES, NOW, WEIGHT = range(4)
"""What is summed of each row: cost on the left less cost on the right, the same if it is negative
(for the bound), cost where the row is now less cost on the right, and weight."""


@dataclass(frozen=True)
class SplitSides:
    """A tree, and the same tree with all rows of some nodes sent to one side.

    Attributes
    ----------
    nodes : sends rows to these nodes; the groups are their numbers
    left, right, now : send rows to leaves; the groups are their labels
    """

    nodes: RowRouter
    left: RowRouter
    right: RowRouter
    now: RowRouter


@dataclass(frozen=True)
class SumSplitCosts(MapReduceStep[Histograms]):
    """Sum the differences of costs by node, feature and bin of values."""

    cost_builder: CostTableBuilder
    sides: SplitSides
    weighs: bool
    requests: HistogramRequests
    value_requests: HistogramRequests

    def map(self, partition: Partition) -> Histograms:
        """Sum over one partition."""
        groups = self.sides.nodes.groups(partition)
        return Histograms.of(
            partition, groups, self._row_stats(partition), self.requests, self.value_requests
        )

    def _row_stats(self, partition: Partition) -> NDArray[np.int64]:
        costs, sides = self.cost_builder.build(partition), self.sides
        regrets, rows = costs.regrets.values, np.arange(partition.n_rows)
        left, right, now = (
            regrets[rows, routes.of_points(partition.points)]
            for routes in (sides.left, sides.right, sides.now)
        )
        adds = left - right
        numbers = [adds, np.minimum(adds, 0), now - right]
        if self.weighs and costs.weights is not None:
            numbers.append(np.maximum(costs.weights.values, 1))  # a row counts, however light it is
        return np.stack([*numbers, np.ones_like(adds)], axis=1)


@dataclass(frozen=True)
class ReoptimizedSplit:
    """The best cut of a node, and what the alternatives cost.

    All costs are less the cost of sending all rows right.

    Attributes
    ----------
    best : the best cut, if there is one
    all_left : cost of sending all rows left
    now : cost of the present cut
    """

    best: BinCut | None
    all_left: int
    now: int


def reoptimize_splits(
    data: PartitionedData,
    cost_builder: CostTableBuilder,
    sides: SplitSides,
    current: Sequence[tuple[int, float]],
    sample: NDArray[np.float64],
) -> list[ReoptimizedSplit]:
    """The best cuts of nodes that share no rows, the rest of the tree fixed.

    Parameters
    ----------
    current : feature and threshold of each node's cut
    sample : some rows, which tell where values lie
    """
    weighs = data.weights_matter
    whole = data.cheapest * cost_builder.scales.regrets
    prices = data.limits.slot_prices(range(data.n_features), whole)
    groups = sides.nodes.of_points(as_points(sample))

    def ask(requests: HistogramRequests, value_requests: HistogramRequests) -> Histograms:
        return data.map_reduce(SumSplitCosts(cost_builder, sides, weighs, requests, value_requests))

    def target(number: int) -> NodeSearch:
        rows = sample[groups == number]
        return NodeSearch(number, score, _edges(rows, *current[number]))

    def score(sums: NDArray[np.int64]) -> BinScore:
        weight = int(sums[WEIGHT])
        return PrefixScore(_core.score_reoptimized_bins, WEIGHT, weight, data.limits, prices)

    targets = [target(number) for number in range(len(current))]
    width = WEIGHT + (2 if weighs else 1)
    find_cuts_by_value(targets, np.flatnonzero(data.allowed).tolist(), width, ask)
    found = []
    for done in targets:
        assert done.sums is not None
        found.append(ReoptimizedSplit(done.best, int(done.sums[ADDS]), int(done.sums[NOW])))
    return found


def _edges(
    rows: NDArray[np.float64], feature: int, threshold: float
) -> Callable[[int, int], NDArray[np.float64]]:
    """Return edges of bins with the present threshold among them, so that its cost is known."""

    def edges(f: int, n: int) -> NDArray[np.float64]:
        also = np.array([threshold] if f == feature else [])
        return quantile_edges(rows[:, f], n, also)

    return edges
