"""The pass of a search: sums of row statistics by node, feature and bin of values.

`SumHistograms` travels to the partitions. Everything it carries is plain arrays: a tree that tells
which node a row is in, and the bins that are wanted of each node and feature.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from treemeans import _core
from treemeans.costs import CostTable
from treemeans.partitioned.map_reduce import MapReduceStep
from treemeans.partitioned.partition import Partition
from treemeans.partitioned.partition_costs import CostTableBuilder
from treemeans.partitioned.tree_growth.feature_bins import FeatureBins

FAST_WIDTHS = (4, 8, 12, 16)
"""Numbers of statistics per row that the kernel adds fastest; zeros fill up to the next."""


class HistogramRequest(NamedTuple):
    """Bins wanted of one feature of a group's rows.

    ``edges`` ascend; a bin excludes its lower edge and includes its upper one. ``wanted`` says
    which bins to sum; None for all.
    """

    group: int
    feature: int
    edges: NDArray[np.float64]
    wanted: NDArray[np.uint8] | None = None


@dataclass(frozen=True)
class HistogramRequests:
    """Many requests, sorted by group, in the flat arrays that the kernels read.

    The bins of all requests are numbered in order: a request with n edges has n - 1 bins.
    """

    group: NDArray[np.int32]
    feature: NDArray[np.int32]
    first: NDArray[np.int64]
    edges: NDArray[np.float64]
    wanted: NDArray[np.uint8]

    @classmethod
    def of(cls, requests: Iterable[HistogramRequest]) -> Self:
        """Flatten requests that are sorted by group."""
        requests = list(requests)
        sizes = [len(request.edges) for request in requests]
        wanted = [
            np.ones(len(request.edges) - 1, dtype=np.uint8)
            if request.wanted is None
            else request.wanted
            for request in requests
        ]
        return cls(
            np.array([request.group for request in requests], dtype=np.int32),
            np.array([request.feature for request in requests], dtype=np.int32),
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            np.concatenate([np.empty(0), *(request.edges for request in requests)]),
            np.concatenate([np.empty(0, dtype=np.uint8), *wanted]),
        )

    def bins(self, request: int) -> slice:
        """The bins of a request among those of all."""
        return slice(int(self.first[request]) - request, int(self.first[request + 1]) - request - 1)

    @property
    def arrays(self) -> tuple[Any, ...]:
        """The arguments of the kernels."""
        return self.group, self.feature, self.first, self.edges, self.wanted


@dataclass(frozen=True)
class RowRouter:
    """Sends rows down a tree. ``group`` is that of the rows ending in each node; negative: none."""

    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    group: NDArray[np.int32]

    def groups(self, partition: Partition) -> NDArray[np.int32]:
        """The group of each row; rows of weight 0 belong to none."""
        found = self.of_points(partition.points)
        if partition.weights is not None:
            found[partition.weights == 0] = -1
        return found

    def of_points(self, points: _core.Points) -> NDArray[np.int32]:
        """The group of each point."""
        found = _core.apply(
            points, self.feature, self.threshold, self.left, self.right, self.group, 1
        )
        assert found is not None  # the rows were checked
        return found


@dataclass(frozen=True)
class RowStats:
    """The statistics of a row that a search sums: k numbers, its weight, and a 1 that counts it.

    By default the k numbers are the row's regrets. With ``members``, (n_groups, k), they are the
    row's weight at its nearest center and zeros elsewhere, if that center is a member of the row's
    group: rows that were separated from their center before count no more.

    Attributes
    ----------
    weighted : whether weights matter; otherwise every row weighs 1, and the count is its weight
    members : the centers that belong to each group, or None
    """

    weighted: bool
    members: NDArray[np.bool_] | None = None

    def of(self, costs: CostTable, groups: NDArray[np.int32]) -> NDArray[np.int64]:
        """(n, k + 1), or (n, k + 2) with weights."""
        n, k = costs.regrets.values.shape
        weights = costs.weights if self.weighted else None
        stats = np.empty((n, k + 1 if weights is None else k + 2), dtype=np.int64)
        stats[:, :k] = costs.regrets.values if self.members is None else self._home(costs, groups)
        if weights is not None:
            stats[:, k] = np.maximum(weights.values, 1)  # a light row must not round to no row
        stats[:, -1] = 1
        return stats

    def _home(self, costs: CostTable, groups: NDArray[np.int32]) -> NDArray[np.int64]:
        assert self.members is not None
        found = np.zeros(costs.regrets.values.shape, dtype=np.int64)
        rows = np.flatnonzero(groups >= 0)
        rows = rows[self.members[groups[rows], costs.nearest[rows]]]
        weights = 1 if costs.weights is None else costs.weights.values[rows]
        found[rows, costs.nearest[rows]] = weights
        return found


@dataclass(frozen=True)
class ValueSums:
    """Distinct values in ascending order by bin, and the summed statistics of their rows."""

    bin: NDArray[np.int64]
    value: NDArray[np.float64]
    sums: NDArray[np.int64]

    @classmethod
    def of(
        cls, bins: NDArray[np.int64], value: NDArray[np.float64], row_stats: NDArray[np.int64]
    ) -> Self:
        """Sort values, and add up the rows of equal ones."""
        if not len(bins):
            return cls(bins, value, row_stats)
        order = np.lexsort((value, bins))
        bins, value, row_stats = bins[order], value[order], row_stats[order]
        differs = (bins[1:] != bins[:-1]) | (value[1:] != value[:-1])
        new = np.flatnonzero(np.concatenate([[True], differs]))
        return cls(bins[new], value[new], np.add.reduceat(row_stats, new, axis=0))

    def plus(self, other: ValueSums) -> ValueSums:
        """The values of both."""
        return ValueSums.of(
            np.concatenate([self.bin, other.bin]),
            np.concatenate([self.value, other.value]),
            np.concatenate([self.sums, other.sums]),
        )

    def within(self, bins: slice) -> FeatureBins:
        """The values of some bins, as bins of one value each."""
        begin, end = np.searchsorted(self.bin, (bins.start, bins.stop))
        values = self.value[begin:end]
        return FeatureBins(values, values, self.sums[begin:end])


@dataclass(frozen=True)
class Histograms:
    """The result of a pass: the bins that were summed, and the values that were listed."""

    bins: FeatureBins
    values: ValueSums

    @classmethod
    def of(
        cls,
        partition: Partition,
        groups: NDArray[np.int32],
        row_stats: NDArray[np.int64],
        requests: HistogramRequests,
        value_requests: HistogramRequests,
    ) -> Self:
        """Sum the row statistics of a partition."""
        width = row_stats.shape[1]
        bins, row, value = _core.grouped_values(partition.points, groups, *value_requests.arrays)
        values = ValueSums.of(bins, value, row_stats[row])
        padded = next((w for w in FAST_WIDTHS if w >= width), width)
        row_stats = np.ascontiguousarray(np.pad(row_stats, ((0, 0), (0, padded - width))))
        sums, low, high = _core.grouped_histogram(
            partition.points, groups, row_stats, *requests.arrays
        )
        return cls(FeatureBins(low, high, np.ascontiguousarray(sums[:, :width])), values)

    def plus(self, other: Histograms) -> Histograms:
        """The rows of both."""
        return Histograms(self.bins.plus(other.bins), self.values.plus(other.values))


@dataclass(frozen=True)
class SumHistograms(MapReduceStep[Histograms]):
    """Sum row statistics by group, feature and bin; where few rows are left, by distinct value.

    Attributes
    ----------
    cost_builder : prices the rows
    router : the groups of the rows
    row_stats : what is summed
    requests : the bins to sum
    value_requests : the bins whose distinct values are listed
    """

    cost_builder: CostTableBuilder
    router: RowRouter
    row_stats: RowStats
    requests: HistogramRequests
    value_requests: HistogramRequests

    def map(self, partition: Partition) -> Histograms:
        """Sum one partition."""
        groups = self.router.groups(partition)
        stats = self.row_stats.of(self.cost_builder.build(partition), groups)
        return Histograms.of(partition, groups, stats, self.requests, self.value_requests)

    def reduce(self, one: Histograms, other: Histograms) -> Histograms:
        """Add two results."""
        return one.plus(other)
