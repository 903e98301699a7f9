"""Sums of floats without rounding, which do not depend on the order of rows or on partitions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from treemeans import _core

_POINT = 1127  # binary places of a sum; the smallest float has 1074, and its mantissa 53 bits
_LAST_BIT = 1075  # a float is its mantissa times two to its biased exponent less this
_WEIGHT_BITS = 62  # weights are whole numbers of fewer bits
_HALF = 32  # bits of the lower of two halves of a mantissa


def exact_sum(values: NDArray[np.float64]) -> int:
    """The sum of finite numbers, none of them negative, as a multiple of a tiny power of two."""
    found = exact_sums(np.ascontiguousarray(values, dtype=np.float64).reshape(-1, 1))
    assert found is not None, "the numbers must be finite"
    return found[0]


def exact_sums(
    values: NDArray[np.float64], weights: NDArray[np.float64] | None = None
) -> list[int] | None:
    """The sums of columns, times weights as floats are multiplied; None if one is not finite."""
    found = _core.exact_sums(values, weights)
    if found is None:
        return None
    totals = [0] * values.shape[1]
    for column, exponent, high, low in found:
        totals[column] += ((high << _HALF) + low) << (exponent + _POINT - _LAST_BIT)
    return totals


def as_float(total: int) -> float:
    """An exact sum as the nearest float; infinity where there is none so large."""
    try:
        return float(Fraction(total, 1 << _POINT))
    except OverflowError:
        return math.inf


@dataclass(frozen=True)
class ExactGroupSums:
    """Exact sums of a column by group of rows; rows without a value are passed over.

    Attributes
    ----------
    totals : of each group, the sum of its values times their weights (see `exact_sum`)
    weights : of each group, the weight of the rows that have a value
    """

    totals: tuple[int, ...]
    weights: tuple[int, ...]

    @classmethod
    def none(cls, n_groups: int) -> ExactGroupSums:
        """The sums of no rows."""
        return cls((0,) * n_groups, (0,) * n_groups)

    @classmethod
    def of(
        cls,
        values: NDArray[np.float64],
        groups: NDArray[np.int32],
        weights: NDArray[np.int64] | None,
        n_groups: int,
    ) -> ExactGroupSums:
        """Sum a column of values, in which NaN is a missing value.

        Examples
        --------
        >>> values, groups = np.array([1.0, np.nan, -4.0]), np.array([0, 0, 1], dtype=np.int32)
        >>> ExactGroupSums.of(values, groups, None, 3).means()
        array([ 1., -4., nan])
        """
        there = ~np.isnan(values)
        totals, counts = [], []
        for group in range(n_groups):
            rows = np.flatnonzero(there & (groups == group))
            some = values[rows]
            units = None if weights is None else weights[rows]
            # Less than 1, so that no product overflows.
            factors = None if units is None else np.ldexp(units.astype(np.float64), -_WEIGHT_BITS)
            parts = np.stack([np.maximum(some, 0.0), np.maximum(-some, 0.0)], axis=1)
            found = exact_sums(parts, factors)
            assert found is not None, "the numbers must be finite"
            shift = 0 if units is None else _WEIGHT_BITS
            totals.append((found[0] - found[1]) << shift)
            counts.append(len(rows) if units is None else int(units.sum()))
        return cls(tuple(totals), tuple(counts))

    def plus(self, other: ExactGroupSums) -> ExactGroupSums:
        """The sums over the rows of both."""
        return ExactGroupSums(
            tuple(map(sum, zip(self.totals, other.totals, strict=True))),
            tuple(map(sum, zip(self.weights, other.weights, strict=True))),
        )

    def means(self) -> NDArray[np.float64]:
        """The mean of each group, rounded once; NaN for a group without a value."""
        return np.array(
            [
                float(Fraction(total, weight << _POINT)) if weight else math.nan
                for total, weight in zip(self.totals, self.weights, strict=True)
            ]
        )
