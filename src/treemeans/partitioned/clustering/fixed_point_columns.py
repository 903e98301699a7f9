"""Sums of columns as integers, which do not depend on the order of rows or partitions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from treemeans import _core

_BITS = 61  # of a total; what rounding adds, and a sum of two, still fit 63
_VALUES = 1 << 16  # few enough that temporary copies of values stay in the cache
_FEWEST, _MOST = 1 << 10, 1 << 14


def row_slices(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Slices of a few thousand rows, or fewer if they are wide, that cover all rows."""
    size = min(max(_VALUES // (n_columns + 1), _FEWEST), _MOST)
    return (slice(start, start + size) for start in range(0, n_rows, size))


@dataclass(frozen=True)
class FixedPointColumns:
    """How the numbers of each column become integers whose sum over all rows fits 62 bits.

    Attributes
    ----------
    shift : (d,), middle of each column, which is subtracted first: an offset costs no digits
    scale : (d + 1,), powers of two, of the columns and of the weight
    copies : whether weights are numbers of copies, and are counted without rounding
    """

    shift: NDArray[np.float64]
    scale: NDArray[np.float64]
    copies: bool

    @classmethod
    def of(
        cls,
        low: NDArray[np.float64],
        high: NDArray[np.float64],
        weight: float,
        integer_weights: bool,
    ) -> Self:
        """The fixed point of columns between ``low`` and ``high``, for a total ``weight``."""
        shift = low / 2 + high / 2
        reach = np.maximum(high - shift, shift - low)
        copies = bool(integer_weights and weight < 2**31)
        scale = [scale_to_fit(most, weight) for most in reach]
        return cls(shift, np.array([*scale, 1.0 if copies else scale_to_fit(1.0, weight)]), copies)

    def row_stats(
        self, X: NDArray[np.generic], weights: NDArray[np.float64] | None
    ) -> NDArray[np.int64]:
        """(n, d + 1): the columns of each row and a 1, times its weight, as integers."""
        values = np.empty((X.shape[0], X.shape[1] + 1))
        values[:, -1] = 1.0
        np.subtract(X, self.shift, out=values[:, :-1])
        values *= self.scale
        _core.to_fixed(values, weights, self.copies, 1.0, 1)
        return values.view(np.int64)

    def means(self, sums: NDArray[np.int64]) -> NDArray[np.float64]:
        """Means of groups of rows, from the sums of their `row_stats`; NaN for an empty group."""
        weight = self.weights(sums)[:, None]
        totals = sums[:, :-1] / self.scale[:-1]
        means = np.divide(totals, weight, out=np.full_like(totals, np.nan), where=weight > 0)
        return np.asarray(means + self.shift)

    def weights(self, sums: NDArray[np.int64]) -> NDArray[np.float64]:
        """Weights of groups of rows, from the sums of their `row_stats`."""
        return np.asarray(sums[:, -1] / self.scale[-1])


def sum_by_group(
    row_stats: NDArray[np.int64], groups: NDArray[np.int32], n_groups: int
) -> NDArray[np.int64]:
    """(n_groups, columns): the sums of the rows of each group."""
    n = len(row_stats)
    member = sparse.csc_matrix(
        (np.ones(n, dtype=np.int64), groups, np.arange(n + 1, dtype=np.int32)), shape=(n_groups, n)
    )
    return np.asarray(member @ row_stats)


def scale_to_fit(most: float, weight: float) -> float:
    """The power of two that makes ``weight`` numbers up to ``most`` a total of at most 61 bits."""
    return power_of_two(_BITS - exponent_above(weight) - exponent_above(most))


def exponent_above(value: float) -> int:
    """Exponent of a power of two that is above a value by more than rounding."""
    return math.frexp(value * (1 + 2**-20))[1]


def power_of_two(exponent: int) -> float:
    """A power of two, limited to a range in which products of two values do not overflow."""
    return math.ldexp(1.0, min(max(exponent, -1000), 1000))
