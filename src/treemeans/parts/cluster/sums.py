"""Sums that do not depend on where the parts begin, nor on their order: sums of integers."""

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
_ROWS = 1 << 14  # rows whose copies stay near the processor


def slices(n_rows: int) -> Iterator[slice]:
    """All rows, a few thousand at a time."""
    return (slice(start, start + _ROWS) for start in range(0, n_rows, _ROWS))


def power_above(value: float) -> int:
    """Exponent of a power of two that is above a value by more than rounding."""
    return math.frexp(value * (1 + 2**-20))[1]


@dataclass(frozen=True)
class Columns:
    """How the numbers of each column become integers whose sum over all rows fits 62 bits.

    Attributes
    ----------
    shift : (d,), middle of each column, which is subtracted first: an offset costs no digits
    scale : (d + 1,), powers of two: of the columns, and of the weight
    whole : whether weights are numbers of copies
    """

    shift: NDArray[np.float64]
    scale: NDArray[np.float64]
    whole: bool

    @classmethod
    def of(
        cls, low: NDArray[np.float64], high: NDArray[np.float64], weight: float, whole: bool
    ) -> Self:
        """For columns between ``low`` and ``high``, and rows that weigh ``weight`` together."""
        shift = low / 2 + high / 2
        reach = np.maximum(high - shift, shift - low)
        whole = bool(whole and weight < 2**31)
        scale = [fit_bits(most, weight) for most in reach]
        return cls(shift, np.array([*scale, 1.0 if whole else fit_bits(1.0, weight)]), whole)

    def lines(
        self, X: NDArray[np.generic], weights: NDArray[np.float64] | None
    ) -> NDArray[np.int64]:
        """Of each row its columns and its weight (n x d + 1), times the weight, as integers."""
        values = np.ones((X.shape[0], X.shape[1] + 1))
        np.subtract(X, self.shift, out=values[:, :-1])
        values *= self.scale
        _core.to_fixed(values, weights, self.whole, 1.0, 1)
        return values.view(np.int64)

    def means(self, sums: NDArray[np.int64]) -> NDArray[np.float64]:
        """Means of groups of rows from the sums of their lines; NaN where there are none."""
        weight = self.weights(sums)[:, None]
        totals = sums[:, :-1] / self.scale[:-1]
        means = np.divide(totals, weight, out=np.full_like(totals, np.nan), where=weight > 0)
        return np.asarray(means + self.shift)

    def weights(self, sums: NDArray[np.int64]) -> NDArray[np.float64]:
        """Weights of groups of rows from the sums of their lines."""
        return np.asarray(sums[:, -1] / self.scale[-1])


def add_by_group(
    lines: NDArray[np.int64], groups: NDArray[np.int32], n_groups: int
) -> NDArray[np.int64]:
    """Sums (n_groups x columns) of the lines of each group."""
    n = len(lines)
    member = sparse.csc_matrix(
        (np.ones(n, dtype=np.int64), groups, np.arange(n + 1, dtype=np.int32)), shape=(n_groups, n)
    )
    return np.asarray(member @ lines)


def fit_bits(most: float, weight: float) -> float:
    """The power of two that takes ``weight`` numbers, none above ``most``, to a total that fits."""
    return power(_BITS - power_above(weight) - power_above(most))


def power(exponent: int) -> float:
    """A power of two, as near to it as floats and their products go."""
    return math.ldexp(1.0, min(max(exponent, -1000), 1000))
