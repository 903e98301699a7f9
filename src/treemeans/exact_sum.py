"""Sums of floats without any rounding, so that no order and no border leaves a trace in them."""

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

_BITS = 53  # of a float's mantissa
_LOW = 26  # of these, in the lower of two halves: sums of halves are whole numbers of a float
_POINT = 1127  # binary places of a sum; the smallest float has 1074, and its mantissa 53 bits


def exact_sum(values: NDArray[np.float64]) -> int:
    """The sum of finite numbers, none of them negative, as a multiple of a tiny power of two."""
    if not len(values):
        return 0
    mantissa, exponent = np.frexp(values)
    whole = np.ldexp(mantissa, _BITS).astype(np.int64)
    lowest = int(exponent.min())
    place = exponent - lowest
    upper = np.bincount(place, whole >> _LOW)
    lower = np.bincount(place, whole & (2**_LOW - 1))
    total = 0
    for at in np.flatnonzero(upper + lower):
        halves = (int(upper[at]) << _LOW) + int(lower[at])
        total += halves << (lowest + int(at) + _POINT - _BITS)
    return total


def as_float(total: int) -> float:
    """An exact sum as the nearest float; infinity where there is none so large."""
    try:
        return float(Fraction(total, 1 << _POINT))
    except OverflowError:
        return math.inf
