"""Random samples of rows that do not depend on partitions: a row's index decides what it draws."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from treemeans.partitioned.clustering.fixed_point_columns import exponent_above, power_of_two
from treemeans.partitioned.map_reduce import MapReduceStep
from treemeans.partitioned.partition import Partition

_STEP = 0x9E3779B97F4A7C15  # 2**64 over the golden ratio, and the two factors of splitmix64
_FACTORS = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
_SPARE = 2.5  # the limit lets 1.25 to 2.5 times as many rows pass as are wanted


def uniforms(seed: int, turn: int, first_row: int, n: int) -> NDArray[np.float64]:
    """Random numbers in the open interval (0, 1) for ``n`` rows from index ``first_row`` on.

    Examples
    --------
    >>> bool((uniforms(7, 0, 0, 9)[4:] == uniforms(7, 0, 4, 5)).all())
    True
    """
    start = _mixed(np.array([seed % 2**64], dtype=np.uint64)) + np.uint64(turn)
    rows = np.arange(first_row, first_row + n, dtype=np.uint64)
    drawn = _mixed(_mixed(start) + rows * np.uint64(_STEP))
    return ((drawn >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52


def _mixed(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Splitmix64, by Steele, Lea and Flood: every bit depends on every bit."""
    state = state + np.uint64(_STEP)
    for shift, factor in zip((30, 27), _FACTORS, strict=True):
        state = (state ^ (state >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray(state ^ (state >> np.uint64(31)))


@dataclass(frozen=True)
class RowSample:
    """The rows with the lowest keys, one more than wanted, in ascending order of their keys.

    A row's key is a uniform random number divided by the row's share, so rows with larger shares
    are drawn more often, and weights follow that make sums over the sample unbiased estimates of
    sums over all rows (priority sampling: Duffield, Lund and Thorup 2007).

    Attributes
    ----------
    keys, shares, weights : (m,)
    rows : (m, d)
    size : number of rows wanted
    limit : rows with keys above it were never considered
    """

    keys: NDArray[np.float64]
    shares: NDArray[np.float64]
    weights: NDArray[np.float64]
    rows: NDArray[np.float64]
    size: int
    limit: float

    def merge(self, other: RowSample) -> RowSample:
        """The rows of both samples with the lowest keys; of equal keys, those of ``self``."""
        keys = np.concatenate([self.keys, other.keys])
        kept = np.argsort(keys, kind="stable")[: self.size + 1]
        return replace(
            self,
            keys=keys[kept],
            shares=np.concatenate([self.shares, other.shares])[kept],
            weights=np.concatenate([self.weights, other.weights])[kept],
            rows=np.concatenate([self.rows, other.rows])[kept],
        )

    def weighted_rows(
        self, size: int | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The first ``size`` rows (all by default), and the weight of all rows each represents."""
        size = self.size if size is None else min(size, self.size)
        # A row is drawn if its key is below the next one; that one is why a row more is kept.
        threshold = self.keys[size] if len(self.keys) > size else self.limit
        chance = np.minimum(1.0, self.shares[:size] * threshold)
        return self.rows[:size], self.weights[:size] / chance


@dataclass(frozen=True)
class RowSampler:
    """Draws ``size`` rows by their shares, from one partition at a time.

    Attributes
    ----------
    seed, turn : seed of the fit, and number of the draw
    limit : rows with keys above it are left out at once, so that partitions return few rows
    """

    seed: int
    turn: int
    size: int
    limit: float

    @classmethod
    def of(cls, seed: int, turn: int, size: int, total: float, n_rows: int) -> RowSampler:
        """A sampler for shares that add up to about ``total`` over all rows."""
        enough = _SPARE * (size + 64) * power_of_two(-exponent_above(total))
        return cls(seed, turn, size, np.inf if n_rows <= size else enough)

    def sample(
        self,
        first_row: int,
        X: NDArray[np.generic],
        shares: NDArray[np.float64],
        weights: NDArray[np.float64] | None,
    ) -> RowSample:
        """Draw from rows whose indices start at ``first_row``."""
        with np.errstate(divide="ignore", over="ignore"):
            keys = uniforms(self.seed, self.turn, first_row, len(shares)) / shares
        at = np.flatnonzero((keys <= self.limit) & (shares > 0))
        at = at[np.argsort(keys[at], kind="stable")[: self.size + 1]]
        return RowSample(
            keys=keys[at],
            shares=shares[at],
            weights=np.ones(len(at)) if weights is None else weights[at],
            rows=X[at].astype(np.float64),
            size=self.size,
            limit=self.limit,
        )


@dataclass(frozen=True)
class SampleRows(MapReduceStep[RowSample]):
    """Draw rows with probabilities proportional to their weights."""

    sampler: RowSampler

    def map(self, partition: Partition) -> RowSample:
        """Draw from one partition."""
        shares = np.ones(partition.n_rows) if partition.weights is None else partition.weights
        return self.sampler.sample(partition.first_row, partition.X, shares, partition.weights)

    def reduce(self, one: RowSample, other: RowSample) -> RowSample:
        """Keep the rows with the lowest keys."""
        return one.merge(other)
