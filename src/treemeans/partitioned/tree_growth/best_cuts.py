"""The search for the best cuts of many nodes at once, in passes over partitioned rows.

The first pass sums coarse bins. Every further pass looks into the bins that can still hold the best
cut of a node: it sums finer bins, or lists the distinct values once few rows are left. The search
ends when no bin is left whose bound is below the best cut, so it finds the cut that a search of
every value finds. Bounds decide which bins are divided; edges only decide how fast it ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import groupby
from typing import Self

import numpy as np
from numpy.typing import NDArray

from treemeans.partitioned.tree_growth.bin_scores import BinCut, BinScan, BinScore
from treemeans.partitioned.tree_growth.feature_bins import (
    FeatureBins,
    dividing_edges,
    one_bin_edges,
)
from treemeans.partitioned.tree_growth.histogram_pass import (
    HistogramRequest,
    HistogramRequests,
    Histograms,
)

RESULT_BYTES = 2**25
"""About the size of the sums that a pass may return: a bound for the driver and every worker."""
COARSE_BINS, FEWEST_BINS = 256, 16
"""Bins of a feature in the first pass, and how few they may be if many nodes share the bytes."""
FINE_BINS, MOST_FINE_BINS = 64, 4096
"""Bins that one bin is divided into, and how many they may be if few bins share the bytes."""
LISTED_ROWS = 4096
"""A bin with no more rows is not divided again: its distinct values are listed."""
BESIDE_ROWS = 256
"""A bin with no more rows is listed along with its neighbour."""

RunPass = Callable[[HistogramRequests, HistogramRequests], Histograms]
"""Makes a pass for bins to sum and bins to list."""
BeginSearch = Callable[[list["NodeSearch"]], None]
"""Makes the first pass, and gives every node its bins."""
MakeScore = Callable[[NDArray[np.int64]], BinScore]
"""Makes the score of a node from the summed statistics of all its rows."""


@dataclass(eq=False)
class NodeSearch:
    """The state of the search in one node, on the driver.

    Attributes
    ----------
    group : group of the node's rows
    make_score : makes the score, once the sums are known
    edges : makes the first edges of a feature, about as many as the second argument says; not
        needed where rows have codes
    bins : the bins of every feature of numbers so far
    scans : their scores and bounds
    subsets : the best cut of every feature of categories, for which the first pass is enough
    sums : summed statistics of the node's rows, once they are known
    """

    group: int
    make_score: MakeScore
    edges: Callable[[int, int], NDArray[np.float64]] = lambda feature, n_bins: np.empty(0)
    bins: dict[int, FeatureBins] = field(default_factory=dict)
    scans: dict[int, BinScan | None] = field(default_factory=dict)
    subsets: list[BinCut] = field(default_factory=list)
    score: BinScore | None = None
    sums: NDArray[np.int64] | None = None

    def begin(
        self, bins: dict[int, FeatureBins], categories: dict[int, NDArray[np.int64]] | None = None
    ) -> None:
        """Take the bins of the first pass, and the sums of each category, missing values last."""
        self.bins, categories = bins, categories or {}
        found = (each.total for each in bins.values())
        self.sums = next(found, None)
        if self.sums is None:
            self.sums = next(iter(categories.values())).sum(axis=0)
        self.score = self.make_score(self.sums)
        self.scans = {feature: self.score.scan(feature, found) for feature, found in bins.items()}
        for feature, sums in categories.items():
            best = self.best
            cut = self.score.subset(feature, sums, None if best is None else best.cost)
            self.subsets += [] if cut is None else [cut]

    def divide(self, feature: int, finer: dict[int, FeatureBins]) -> None:
        """Replace some bins of a feature by finer ones."""
        assert self.score is not None
        for position, found in finer.items():
            _check_same(self.bins[feature].sums[position], found)
        self.bins[feature] = self.bins[feature].replaced(finer)
        self.scans[feature] = self.score.scan(feature, self.bins[feature])

    @property
    def best(self) -> BinCut | None:
        """The best cut so far."""
        if self.score is None:
            return None
        group = self.score.group
        cuts = (
            scan.best(feature, group(feature))
            for feature, scan in self.scans.items()
            if scan is not None
        )
        found = [*self.subsets, *(cut for cut in cuts if cut is not None)]
        return min(found, key=lambda cut: (cut.cost, cut.rank), default=None)

    def candidates(self) -> list[CandidateBin]:
        """Bins that may hold a better cut than the best, or an equal one that comes before it."""
        best = self.best
        assert self.score is not None
        found = []
        for feature, scan in self.scans.items():
            if scan is None:
                continue
            if best is None:
                hopeful = scan.bound < self.score.never
            else:
                hopeful = scan.bound < best.cost
                here, there = (self.score.group(feature), feature), best.rank[:2]
                if here <= there:
                    earlier = here < there or self.bins[feature].low < best.low
                    hopeful |= (scan.bound == best.cost) & earlier
            found += [
                CandidateBin(int(scan.bound[position]), self, feature, position)
                for position in np.flatnonzero(hopeful | self._beside(feature, hopeful)).tolist()
            ]
        known = {(candidate.feature, candidate.position) for candidate in found}
        around = self._around_best(best)
        return found + [one for one in around if (one.feature, one.position) not in known]

    def _beside(self, feature: int, hopeful: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Small bins next to candidates: if the cut lies between them, no pass is needed."""
        bins = self.bins[feature]
        beside = np.zeros(len(bins), dtype=bool)
        beside[1:] |= hopeful[:-1]
        beside[:-1] |= hopeful[1:]
        return np.asarray(beside & ~bins.is_exact & (bins.n_rows <= BESIDE_ROWS))

    def _around_best(self, best: BinCut | None) -> list[CandidateBin]:
        """The bins on either side of the best cut, if it is not known where their values end.

        A bin at whose end the cut lies, but of which a center is the end, need not be looked into.
        """
        if best is None or best.feature not in self.bins or best.high == np.inf:
            return []  # what is beyond all values, or a category, is known
        bins = self.bins[best.feature]
        assert self.score is not None
        beside = [(bins.high, best.low), (bins.low, best.high)]
        return [
            CandidateBin(best.cost, self, best.feature, position)
            for ends, value in beside
            if not self.score.is_known(best.feature, value)
            for position in np.flatnonzero((ends == value) & ~bins.is_exact).tolist()
        ]


def _check_same(sums: NDArray[np.int64], found: FeatureBins) -> None:
    """Check that finer bins hold the rows of the bin that they divide."""
    if not np.array_equal(found.sums.sum(axis=0), sums):
        raise ValueError(
            "The rows are not the same in every pass over them; keep them fixed, for example with "
            "X.persist(), or write them to a file first."
        )


@dataclass(frozen=True)
class CandidateBin:
    """A bin that may hold the best cut of a node; no cut inside costs less than ``bound``."""

    bound: int
    node: NodeSearch
    feature: int
    position: int

    @property
    def n_rows(self) -> int:
        """Number of rows in the bin."""
        return int(self.node.bins[self.feature].n_rows[self.position])

    @property
    def range(self) -> tuple[float, float]:
        """Its least and greatest value."""
        bins = self.node.bins[self.feature]
        return float(bins.low[self.position]), float(bins.high[self.position])


def find_cuts(nodes: list[NodeSearch], n_stats: int, begin: BeginSearch, run_pass: RunPass) -> None:
    """Find the ``best`` cut of every node.

    ``n_stats``: number of statistics per row. ``begin``: makes the first pass.
    """
    begin(nodes)
    while candidates := [candidate for node in nodes for candidate in node.candidates()]:
        _divide(_most_promising(candidates, n_stats), n_stats, run_pass)


def find_cuts_by_value(
    nodes: list[NodeSearch], features: list[int], n_stats: int, run_pass: RunPass
) -> None:
    """Find the best cut of every node on rows without codes, in groups that fit `RESULT_BYTES`."""
    least = len(features) * FEWEST_BINS * _bin_bytes(n_stats)
    together = max(1, RESULT_BYTES // max(least, 1))

    def begin(some: list[NodeSearch]) -> None:
        room = RESULT_BYTES // (_bin_bytes(n_stats) * len(some) * len(features))
        n_bins = min(COARSE_BINS, max(FEWEST_BINS, room))
        requests = HistogramRequests.of(
            HistogramRequest(node.group, feature, node.edges(feature, n_bins))
            for node in some
            for feature in features
        )
        found = run_pass(requests, HistogramRequests.of([])).bins
        numbers = iter(range(len(some) * len(features)))
        for node in some:
            node.begin({f: found[requests.bins(next(numbers))].with_rows() for f in features})

    for at in range(0, len(nodes), together):
        find_cuts(nodes[at : at + together], n_stats, begin, run_pass)


def _bin_bytes(n_stats: int) -> int:
    """Bytes of a bin: its sums, and its least and greatest value."""
    return 8 * (n_stats + 2)


def _most_promising(candidates: list[CandidateBin], n_stats: int) -> list[CandidateBin]:
    """The candidates with the lowest bounds that fit a pass, sorted by group and feature."""
    candidates = sorted(candidates, key=lambda candidate: candidate.bound)
    sizes = [c.n_rows if c.n_rows <= LISTED_ROWS else FINE_BINS for c in candidates]
    room = RESULT_BYTES // _bin_bytes(n_stats)
    fitting = int(np.searchsorted(np.cumsum(sizes), room, side="right"))
    return sorted(
        candidates[: max(fitting, 1)], key=lambda c: (c.node.group, c.feature, c.position)
    )


def _divide(candidates: list[CandidateBin], n_stats: int, run_pass: RunPass) -> None:
    """Make a pass that divides the candidates, or lists their values."""
    listed = [candidate for candidate in candidates if candidate.n_rows <= LISTED_ROWS]
    divided = [candidate for candidate in candidates if candidate.n_rows > LISTED_ROWS]
    room = RESULT_BYTES // (_bin_bytes(n_stats) * max(len(divided), 1))
    n_bins = min(max(FINE_BINS, room), MOST_FINE_BINS)
    fine = _Division.of(divided, lambda low, high: dividing_edges(low, high, n_bins))
    single = _Division.of(listed, one_bin_edges)
    found = run_pass(fine.requests, single.requests)
    finer: dict[tuple[NodeSearch, int], dict[int, FeatureBins]] = {}
    for candidate, bins in zip(fine.candidates, fine.bins, strict=True):
        at = finer.setdefault((candidate.node, candidate.feature), {})
        at[candidate.position] = found.bins[bins].with_rows()
    for candidate, bins in zip(single.candidates, single.bins, strict=True):
        at = finer.setdefault((candidate.node, candidate.feature), {})
        at[candidate.position] = found.values.within(bins)
    for (node, feature), replacements in finer.items():
        node.divide(feature, replacements)


@dataclass(frozen=True)
class _Division:
    """Requests that divide candidates; ``bins`` are those of each among the bins of all requests.

    The candidates of a node and feature share a request. The bins between them are not wanted.
    """

    candidates: list[CandidateBin]
    requests: HistogramRequests
    bins: list[slice]

    @classmethod
    def of(
        cls,
        candidates: list[CandidateBin],
        divide: Callable[[float, float], NDArray[np.float64]],
    ) -> Self:
        requests, bins = list[HistogramRequest](), list[slice]()
        n = 0
        for (group, feature), some in groupby(candidates, lambda c: (c.node.group, c.feature)):
            edges = [divide(*candidate.range) for candidate in some]
            # The bin from the last edge of a candidate to the first of the next is a gap.
            wanted = np.concatenate([np.append(np.ones(len(e) - 1), 0) for e in edges])[:-1]
            requests.append(
                HistogramRequest(group, feature, np.concatenate(edges), wanted.astype(np.uint8))
            )
            for some_edges in edges:
                bins.append(slice(n, n + len(some_edges) - 1))
                n += len(some_edges)
            n -= 1
        return cls(candidates, HistogramRequests.of(requests), bins)
