"""The first pass of a fit: the number of rows, the range of their values, and a sample."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from treemeans.exact_sum import as_float, exact_sum
from treemeans.partitioned.map_reduce import MapReduceStep
from treemeans.partitioned.partition import Partition


@dataclass(frozen=True)
class RowSummary:
    """What the driver knows of the rows after the first pass.

    Attributes
    ----------
    row_counts : number of rows by partition number; empty partitions are missing
    weighted : whether rows have weights
    exact_weight : weight of all rows, as an exact sum (see `exact_sum`)
    integer_weights : whether all weights are integers
    low, high : (d,), least and greatest value of each column; NaN if it has none
    n_missing : (d,), rows that have no value in each column
    binary : (d,), whether a column holds nothing but 0 and 1
    sample : (m, d), rows drawn evenly from all rows; quantiles of it are the first bin edges
    ranks : (m,), ascending random numbers: the rows with the lowest ones were drawn
    """

    row_counts: dict[int, int]
    weighted: bool
    exact_weight: int
    integer_weights: bool
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    n_missing: NDArray[np.int64]
    binary: NDArray[np.bool_]
    sample: NDArray[np.float64]
    ranks: NDArray[np.float64]

    @property
    def n_rows(self) -> int:
        """Number of rows in all partitions."""
        return sum(self.row_counts.values())

    @property
    def weight(self) -> float:
        """Weight of all rows."""
        return as_float(self.exact_weight)

    def first_rows(self, n_partitions: int) -> NDArray[np.int64]:
        """Index of each partition's first row among all rows."""
        counts = [self.row_counts.get(number, 0) for number in range(n_partitions)]
        return np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int64)


@dataclass(frozen=True)
class SummarizeRows(MapReduceStep[RowSummary]):
    """Count and check all rows, and draw ``size`` of them.

    Infinity is refused, and NaN as well unless ``accepts_missing``: then it is counted.
    """

    size: int
    seed: int = 0
    accepts_missing: bool = False

    def map(self, partition: Partition) -> RowSummary:
        """Summarize one partition."""
        X = partition.X
        n_missing = np.zeros(X.shape[1], dtype=np.int64)
        if not partition.points.all_finite(1):
            n_missing = count_missing(partition, accepted=self.accepts_missing)
        rng = np.random.default_rng([self.seed, partition.number])
        ranks = rng.random(partition.n_rows)
        kept = _lowest(ranks, self.size)
        weights = partition.weights
        return RowSummary(
            row_counts={partition.number: partition.n_rows},
            weighted=weights is not None,
            exact_weight=exact_sum(
                np.array([float(partition.n_rows)]) if weights is None else weights
            ),
            integer_weights=weights is None or bool((weights == np.floor(weights)).all()),
            low=np.fmin.reduce(X, axis=0).astype(np.float64),
            high=np.fmax.reduce(X, axis=0).astype(np.float64),
            n_missing=n_missing,
            binary=_binary(X),
            sample=X[kept].astype(np.float64),
            ranks=ranks[kept],
        )

    def reduce(self, one: RowSummary, other: RowSummary) -> RowSummary:
        """Add the counts, widen the ranges, and keep the sampled rows with the lowest ranks."""
        ranks = np.concatenate([one.ranks, other.ranks])
        kept = np.argsort(ranks, kind="stable")[: self.size]
        return replace(
            one,
            row_counts=one.row_counts | other.row_counts,
            exact_weight=one.exact_weight + other.exact_weight,
            integer_weights=one.integer_weights and other.integer_weights,
            low=np.fmin(one.low, other.low),
            high=np.fmax(one.high, other.high),
            n_missing=one.n_missing + other.n_missing,
            binary=one.binary & other.binary,
            sample=np.concatenate([one.sample, other.sample])[kept],
            ranks=ranks[kept],
        )


def _lowest(ranks: NDArray[np.float64], size: int) -> NDArray[np.intp]:
    """Positions of the lowest ranks, in ascending order."""
    if len(ranks) <= size:
        return np.argsort(ranks, kind="stable")
    few = np.flatnonzero(ranks <= np.partition(ranks, size - 1)[size - 1])
    return np.asarray(few[np.argsort(ranks[few], kind="stable")][:size])


def _binary(X: NDArray[np.generic]) -> NDArray[np.bool_]:
    """Find the columns of 0 and 1. The first rows rule out most others, without a full scan."""
    binary = ((X[:100] == 0) | (X[:100] == 1)).all(axis=0)
    for column in np.flatnonzero(binary):
        binary[column] = bool(((X[:, column] == 0) | (X[:, column] == 1)).all())
    return np.asarray(binary, dtype=bool)


def count_missing(partition: Partition, *, accepted: bool) -> NDArray[np.int64]:
    """Number of missing values by column; refuses infinity, and NaN if it is not accepted."""
    X = partition.X
    n_missing: NDArray[np.int64] = np.isnan(X).sum(axis=0, dtype=np.int64)
    for what, found in (("infinity", np.isinf(X)), ("NaN", np.isnan(X))):
        if found.any() and (what == "infinity" or not accepted):
            row, column = np.argwhere(found)[0]
            raise ValueError(
                f"Partition {partition.number} contains {what} (row {row}, column {column}); "
                "fill or drop such rows first."
            )
    return n_missing
