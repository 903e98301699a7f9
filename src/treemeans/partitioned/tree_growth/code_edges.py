"""Codes: every value of a partition as the number of its bin, found once and kept between passes.

The bins are the same for all nodes and all partitions. So the sums of a node are those of its
children together, and a child that was not summed is its parent less its sibling. `EncodeRows` is
the pass that finds the codes, `SumCodes` the coarse pass of a search.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray

from treemeans import _core
from treemeans.partitioned.map_reduce import MapReduceStep
from treemeans.partitioned.partition import Partition
from treemeans.partitioned.partition_costs import CostTableBuilder
from treemeans.partitioned.tree_growth.feature_bins import FeatureBins
from treemeans.partitioned.tree_growth.histogram_pass import HistogramRequests, RowRouter, RowStats

Floats = NDArray[np.float64]
Codes = NDArray[np.uint8 | np.uint16]

MOST_EDGES = 254
"""Edges of a feature whose codes fit one byte: one code is above the last, one is for NaN."""
FEWEST_EDGES = 14
"""Quantiles of a feature, at least, however many features and clusters there are."""


@dataclass(frozen=True)
class CodeEdges:
    """The edges of the bins of every feature.

    A bin excludes its lower edge and includes its upper one. A feature with m edges has m + 2 bins:
    the last but one has no upper edge, and the last is for missing values.

    Attributes
    ----------
    first : (d + 1,), where the edges of each feature begin
    edges : those of all features
    token : tells these edges from those of another fit
    """

    first: NDArray[np.int64]
    edges: Floats
    token: str = field(default_factory=lambda: uuid.uuid4().hex, compare=False)

    @classmethod
    def of(cls, edges: Sequence[Floats]) -> Self:
        """From ascending edges for every feature."""
        sizes = [len(some) for some in edges]
        return cls(np.concatenate([[0], np.cumsum(sizes)]), np.concatenate([np.empty(0), *edges]))

    @classmethod
    def from_sample(
        cls, sample: Floats, also: Floats, n_edges: int, n_codes: Sequence[int] = ()
    ) -> Self:
        """Edges at quantiles of a sample and at ``also``, (m, d); about ``n_edges`` per feature.

        ``n_codes``: of each feature the number of its categories, which have a bin each; 0 for one
        of numbers.
        """
        categories = n_codes or [0] * sample.shape[1]
        return cls.of(
            [
                np.arange(n, dtype=np.float64)
                if n
                else _quantiles(sample[:, f], also[:, f], max(n_edges - len(also), FEWEST_EDGES))
                for f, n in enumerate(categories)
            ]
        )

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.first) - 1

    def n_bins(self, feature: int) -> int:
        """Number of bins of a feature."""
        return int(self.first[feature + 1] - self.first[feature]) + 2

    def bins(self, feature: int) -> slice:
        """The bins of a feature among those of all."""
        begin = int(self.first[feature]) + 2 * feature
        return slice(begin, begin + self.n_bins(feature))

    def of_feature(self, feature: int) -> Floats:
        """The edges of a feature."""
        return self.edges[self.first[feature] : self.first[feature + 1]]

    def codes(self, partition: Partition) -> Codes:
        """(d, n), the codes of a partition's rows."""
        found: Codes | None = partition.cache.find("codes", self.token)
        return self.encode(partition)[0] if found is None else found

    def encode(self, partition: Partition) -> tuple[Codes, Floats, Floats]:
        """The codes of a partition's rows, which are kept, and the range of values of each."""
        found = _core.encode(partition.points, self.first, self.edges)
        codes: Codes = found[0]
        kept = partition.cache.keep
        kept("codes", self.token, codes, codes.nbytes, spare=True, spills=True)
        return found

    def inside(self, requests: HistogramRequests) -> NDArray[np.uint8]:
        """(requests, codes), whether a row with a code may be in a wanted bin of a request."""
        most = max((self.n_bins(feature) for feature in set(requests.feature.tolist())), default=1)
        found = np.zeros((len(requests.group), most), dtype=np.uint8)
        for number, feature in enumerate(requests.feature.tolist()):
            edges = requests.edges[requests.first[number] : requests.first[number + 1]]
            wanted = requests.wanted[requests.bins(number)].astype(bool)
            code = np.searchsorted(self.of_feature(feature), edges)
            change = np.zeros(most + 1, dtype=np.int64)
            np.add.at(change, code[:-1][wanted], 1)
            np.add.at(change, code[1:][wanted] + 1, -1)
            found[number] = np.cumsum(change)[:-1] > 0
        return found


def _quantiles(sample: Floats, also: Floats, n_edges: int) -> Floats:
    """Values of a sample at about equal shares of it; all of them if they are few."""
    values = np.unique(sample[np.isfinite(sample)])
    if len(values) > n_edges:
        ordered = np.sort(sample[np.isfinite(sample)])
        at = np.linspace(0, len(ordered), n_edges, endpoint=False).astype(np.intp)
        values = np.unique(ordered[at])
    return np.unique(np.concatenate([values, also[np.isfinite(also)]]))


@dataclass(frozen=True)
class CodeRanges:
    """The least and the greatest value of all rows in every bin; ``low > high`` if it is empty."""

    low: Floats
    high: Floats

    def with_sums(
        self, edges: CodeEdges, feature: int, sums: NDArray[np.int64], *, may_miss: bool = False
    ) -> FeatureBins:
        """The bins of a feature that have rows of a node, given the sums of all its bins.

        The rows of a node may have a narrower range than all rows, unless there is one value.
        ``may_miss``: whether the column has missing values anywhere.
        """
        bins = edges.bins(feature)
        low, high, missing = self.low[bins][:-1], self.high[bins][:-1], sums[-1]
        occupied = sums[:-1, -1] > 0
        return FeatureBins(
            low[occupied],
            high[occupied],
            sums[:-1][occupied],
            (low == high)[occupied],
            missing if may_miss else None,
        )


@dataclass(frozen=True)
class EncodeRows(MapReduceStep[CodeRanges]):
    """Find the codes of all rows, and the range of values of each code."""

    edges: CodeEdges

    def map(self, partition: Partition) -> CodeRanges:
        """Encode one partition."""
        _, low, high = self.edges.encode(partition)
        return CodeRanges(low, high)

    def reduce(self, one: CodeRanges, other: CodeRanges) -> CodeRanges:
        """Widen the ranges."""
        return CodeRanges(np.minimum(one.low, other.low), np.maximum(one.high, other.high))


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

    @property
    def kind(self) -> str:
        """Counts of labels are quicker than sums of costs."""
        return f"{super().kind} of labels" if self.row_stats.of_labels else super().kind

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
            regrets, place = self.cost_builder.regrets_of(partition, groups >= 0)
            return _core.sum_codes(*coded, regrets, weights, place)
        labels = self.cost_builder.labels(partition)
        k = self.cost_builder.reference.n_clusters
        home = self.cost_builder.weights(partition)
        return _core.count_labels(*coded, labels, k, home, weights)
