"""Sums of floats without any rounding, so that no order and no border leaves a trace in them."""

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from treemeans import _core

_POINT = 1127  # binary places of a sum; the smallest float has 1074, and its mantissa 53 bits
_LAST_BIT = 1075  # a float is its mantissa times two to its biased exponent less this
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
