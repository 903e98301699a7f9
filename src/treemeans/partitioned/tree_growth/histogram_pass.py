"""The pass of a search: sums of row statistics by node, feature and bin of values.

`SumHistograms` travels to the partitions. Everything it carries is plain arrays: a tree that tells
which node a row is in, and the bins that are wanted of each node and feature.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from treemeans import _core
from treemeans.partitioned.clustering.fixed_point_columns import sum_by_group
from treemeans.partitioned.map_reduce import MapReduceStep
from treemeans.partitioned.partition import Partition
from treemeans.partitioned.partition_costs import CostTableBuilder
from treemeans.partitioned.tree_growth.feature_bins import FeatureBins
from treemeans.rows import as_points

FAST_WIDTHS = (4, 8, 12, 16)
"""Numbers of statistics per row that the kernel adds fastest; zeros fill up to the next."""
LISTED_VALUES = 2**20
"""Values of a partition that are listed at a time, about."""


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
    def arrays(
        self,
    ) -> tuple[
        NDArray[np.int32],
        NDArray[np.int32],
        NDArray[np.int64],
        NDArray[np.float64],
        NDArray[np.uint8],
    ]:
        """The arguments of the kernels."""
        return self.group, self.feature, self.first, self.edges, self.wanted


@dataclass(frozen=True)
class RowRouter:
    """Sends rows down a tree. ``group`` is that of the rows ending in each node; negative: none.

    Attributes
    ----------
    feature, threshold, left, right : of each node, parents before children; feature < 0: a leaf
    group : of each node
    keys : identity of each node as the tree grows; None where no pass continues another
    token : tells the tree from others
    other_splits : what the kernels must be told of splits that are more than thresholds
    """

    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    group: NDArray[np.int32]
    keys: NDArray[np.int32] | None = None
    token: str = ""
    other_splits: dict[str, NDArray[Any]] = field(default_factory=dict)

    def groups(self, partition: Partition) -> NDArray[np.int32]:
        """The group of each row; rows of weight 0 belong to none."""
        if self.keys is None:
            found = self.of_points(partition.points)
        else:
            found = self._continued(partition, self.keys)
        if partition.weights is not None:
            found[partition.weights == 0] = -1
        return found

    def of_points(self, points: _core.Points) -> NDArray[np.int32]:
        """The group of each point."""
        found = _core.apply(
            points,
            self.feature,
            self.threshold,
            self.left,
            self.right,
            self.group,
            1,
            **self.other_splits,
        )
        assert found is not None  # the rows were checked
        return found

    def _continued(self, partition: Partition, keys: NDArray[np.int32]) -> NDArray[np.int32]:
        """The group of each row, which goes on from where it was in the last pass, if kept."""
        kept = partition.cache.find("nodes", self.token)
        most = int(keys.max()) if kept is None else max(int(keys.max()), int(kept.max()))
        node_of_key = np.zeros(most + 1, dtype=np.int32)  # a node that is no more: from the root
        node_of_key[keys] = np.arange(len(keys))
        found = _core.route(
            partition.points,
            self.feature,
            self.threshold,
            self.left,
            self.right,
            kept,
            node_of_key,
            keys,
            self.group,
            **self.other_splits,
        )
        assert found is not None  # the rows were checked
        groups, nodes = found
        if nodes is not None:
            partition.cache.keep("nodes", self.token, nodes, nodes.nbytes)
        return groups


@dataclass(frozen=True)
class RowStats:
    """The statistics of a row that a search sums: k numbers, its weight, and a 1 that counts it.

    The k numbers are the row's regrets; or, with ``of_labels``, its weight at its nearest center
    and zeros elsewhere.

    Attributes
    ----------
    weighted : whether weights matter; otherwise every row weighs 1, and the count is its weight
    of_labels : whether rows are counted by their nearest center
    """

    weighted: bool
    of_labels: bool = False

    def weights(
        self, cost_builder: CostTableBuilder, partition: Partition
    ) -> NDArray[np.int64] | None:
        """Weights of the rows, if they matter."""
        weights = cost_builder.weights(partition) if self.weighted else None
        # a light row must not round to no row
        return None if weights is None else np.maximum(weights, 1)

    def of(
        self, cost_builder: CostTableBuilder, partition: Partition, rows: NDArray[np.int32]
    ) -> NDArray[np.int64]:
        """Statistics of some rows: (len(rows), k + 1), or (len(rows), k + 2) with weights."""
        k = cost_builder.reference.n_clusters
        weights = self.weights(cost_builder, partition)
        stats = np.zeros((len(rows), k + 1 if weights is None else k + 2), dtype=np.int64)
        if self.of_labels:
            home = cost_builder.weights(partition)
            labels = cost_builder.labels(partition)[rows]
            stats[np.arange(len(rows)), labels] = 1 if home is None else home[rows]
        else:
            stats[:, :k] = cost_builder.regrets(partition, rows)
        if weights is not None:
            stats[:, k] = weights[rows]
        stats[:, -1] = 1
        return stats


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

    def __add__(self, other: ValueSums) -> ValueSums:
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

    def __add__(self, other: Histograms) -> Histograms:
        return Histograms(self.bins + other.bins, self.values + other.values)


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
    filters : tells by their codes which rows are in no bin; None without codes
    """

    cost_builder: CostTableBuilder
    router: RowRouter
    row_stats: RowStats
    requests: HistogramRequests
    value_requests: HistogramRequests
    filters: RowFilter | None = None

    @property
    def kind(self) -> str:
        """Counts of labels are quicker than sums of costs."""
        return f"{super().kind} of labels" if self.row_stats.of_labels else super().kind

    def map(self, partition: Partition) -> Histograms:
        """Sum one partition."""
        groups = self.router.groups(partition)
        codes = None if self.filters is None else self.filters.codes(partition)
        found: Histograms | None = None
        for rows in self._slices(partition.n_rows, codes is not None):
            here = self._of_rows(partition, rows, groups, codes)
            found = here if found is None else found + here
        assert found is not None  # a partition has rows
        return found

    def _slices(self, n_rows: int, filtered: bool) -> Iterator[slice]:
        """Slices of rows whose lists of values stay small, even if every row is in every bin."""
        share = 1.0 if self.filters is None or not filtered else self.filters.share
        n_requests = len(self.requests.group) + len(self.value_requests.group)
        n_groups = max(1, len(np.unique([*self.requests.group, *self.value_requests.group])))
        size = int(LISTED_VALUES / max(share * n_requests / n_groups, 1e-9))
        size = max(4096, min(size, n_rows))
        return (slice(at, min(at + size, n_rows)) for at in range(0, n_rows, size))

    def _of_rows(
        self,
        partition: Partition,
        rows: slice,
        groups: NDArray[np.int32],
        codes: NDArray[np.uint8 | np.uint16] | None,
    ) -> Histograms:
        whole = rows.stop - rows.start == partition.n_rows
        points = partition.points if whole else as_points(partition.X[rows])
        some = None if codes is None else np.ascontiguousarray(codes[:, rows])
        keep = keep_values = None
        if self.filters is not None and codes is not None:
            keep, keep_values = self.filters.requests, self.filters.value_requests
        here = np.ascontiguousarray(groups[rows])
        fine = _core.grouped_values(points, here, *self.requests.arrays, codes=some, keep=keep)
        listed = _core.grouped_values(
            points, here, *self.value_requests.arrays, codes=some, keep=keep_values
        )
        n_fine = len(fine[0])
        place, of = np.unique(np.concatenate([fine[1], listed[1]]), return_inverse=True)
        stats = self.row_stats.of(self.cost_builder, partition, place + np.int32(rows.start))
        return Histograms(
            _binned(fine[0], fine[2], stats[of[:n_fine]], len(self.requests.wanted)),
            ValueSums.of(listed[0], listed[2], stats[of[n_fine:]]),
        )


@dataclass(frozen=True)
class RowFilter:
    """Tells by its code whether a row may be in a bin, so that few values are read.

    Attributes
    ----------
    token : of the edges of the codes
    requests, value_requests : (requests, codes), whether a row with a code may be in a bin
    share : about what share of the rows of a group are in the bins of a request
    """

    token: str
    requests: NDArray[np.uint8]
    value_requests: NDArray[np.uint8]

    @property
    def share(self) -> float:
        """About what share of the rows are in the bins of a request."""
        kept = np.concatenate([self.requests.mean(axis=1), self.value_requests.mean(axis=1)])
        return float(kept.mean()) if len(kept) else 0.0

    def codes(self, partition: Partition) -> NDArray[np.uint8 | np.uint16] | None:
        """The codes of a partition, if they are kept."""
        found: NDArray[np.uint8 | np.uint16] | None = partition.cache.find("codes", self.token)
        return found


def _binned(
    bins: NDArray[np.int64], values: NDArray[np.float64], stats: NDArray[np.int64], n_bins: int
) -> FeatureBins:
    """Sum the statistics of rows by bin, with the range of their values."""
    low, high = np.full(n_bins, np.inf), np.full(n_bins, -np.inf)
    np.minimum.at(low, bins, values)
    np.maximum.at(high, bins, values)
    sums = sum_by_group(stats, bins.astype(np.int32), n_bins)
    return FeatureBins(low, high, sums)
