"""Bins of one feature in one node: where they end, and what their rows sum to."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_ALL_BUT_SIGN = np.int64(2**63 - 1)


@dataclass(frozen=True)
class FeatureBins:
    """Bins in ascending order.

    Attributes
    ----------
    low, high : (m,), least and greatest value in each bin; equal where all rows share one value,
        and ``low > high`` where there are no rows
    sums : (m, k + 1 or k + 2), the summed row statistics of each bin: k numbers, the weight, and
        the number of rows unless that is the weight
    exact : (m,), whether ``low`` and ``high`` are values of rows in the bin; otherwise its rows lie
        between them. None where all are exact
    missing : sums of the rows without a value, in a column that has such rows; otherwise None
    """

    low: Floats
    high: Floats
    sums: NDArray[np.int64]
    exact: NDArray[np.bool_] | None = None
    missing: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.low)

    def __getitem__(self, bins: slice | NDArray[np.bool_]) -> FeatureBins:
        exact = None if self.exact is None else self.exact[bins]
        return FeatureBins(self.low[bins], self.high[bins], self.sums[bins], exact)

    @property
    def is_exact(self) -> NDArray[np.bool_]:
        """Whether the range of each bin is exact."""
        return np.ones(len(self), dtype=bool) if self.exact is None else self.exact

    @property
    def n_rows(self) -> NDArray[np.int64]:
        """Number of rows in each bin."""
        return self.sums[:, -1]

    def with_rows(self) -> FeatureBins:
        """The bins that have rows."""
        return self[self.low <= self.high]

    def replaced(self, finer: dict[int, FeatureBins]) -> FeatureBins:
        """The same bins, with those at some positions replaced by finer ones."""
        pieces: list[FeatureBins] = []
        at = 0
        for position in sorted(finer):
            pieces += [self[at:position], finer[position]]
            at = position + 1
        pieces.append(self[at:])
        return FeatureBins(
            np.concatenate([piece.low for piece in pieces]),
            np.concatenate([piece.high for piece in pieces]),
            np.concatenate([piece.sums for piece in pieces]),
            np.concatenate([piece.is_exact for piece in pieces]),
            self.missing,
        )

    @property
    def total(self) -> NDArray[np.int64]:
        """Sums of all rows, with a value or without."""
        present: NDArray[np.int64] = self.sums.sum(axis=0)
        return present if self.missing is None else present + self.missing

    def __add__(self, other: FeatureBins) -> FeatureBins:
        return FeatureBins(
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            self.sums + other.sums,
        )


# ---- edges ---------------------------------------------------------------------------------------
# A bin reaches from one edge (exclusive) to the next (inclusive).


def quantile_edges(sample: Floats, n_bins: int, also: Floats) -> Floats:
    """Edges of about ``n_bins`` bins that hold equally many values of the sample.

    They cover all numbers, whatever the sample missed. ``also``: values that become edges too.
    """
    values = np.sort(sample)
    if len(values) > n_bins:
        values = values[np.linspace(0, len(values), n_bins, endpoint=False).astype(np.intp)]
    return np.unique(np.concatenate([[-np.inf], values, also, [np.inf]]))


def dividing_edges(low: float, high: float, n_bins: int) -> Floats:
    """Edges of about ``n_bins`` bins that cover ``low`` to ``high``.

    Half of them are equidistant, which is quick for most columns. The other half divide the floats
    in between, of which there are fewer than 2**64, into equal numbers: so a few divisions arrive
    at single values, however the values are distributed.
    """
    half = n_bins // 2
    share = np.arange(1, half) / half
    begin, end = _rank(low), _rank(high)
    ranks = [begin + (end - begin) * i // half for i in range(1, half)]
    equidistant = low * (1 - share) + high * share
    equal_counts = _of_rank(np.array(ranks, dtype=np.int64))
    edges = np.concatenate([one_bin_edges(low, high), [low], equidistant, equal_counts])
    return np.unique(edges.clip(None, high))


def one_bin_edges(low: float, high: float) -> Floats:
    """Edges of a single bin from ``low`` to ``high``."""
    return np.array([math.nextafter(low, -math.inf), high])


def _rank(value: float) -> int:
    """The position of a float among all floats in ascending order; 0 for zero."""
    return int(_flipped(np.array([value + 0.0]).view(np.int64))[0])


def _of_rank(rank: NDArray[np.int64]) -> Floats:
    return _flipped(rank).view(np.float64)


def _flipped(bits: NDArray[np.int64]) -> NDArray[np.int64]:
    """Make the bits of negative floats, which descend as integers, ascend; its own inverse."""
    return np.where(bits < 0, bits ^ _ALL_BUT_SIGN, bits)
