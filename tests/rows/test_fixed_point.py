"""Costs in fixed point: the nearest integers, whatever the scale and the weights."""

import numpy as np

from treemeans import _core


def fixed(values, scale, weights=None):
    """What the kernel makes of a column of numbers."""
    values = np.array(values, dtype=np.float64)[:, None]
    weights = None if weights is None else np.array(weights, dtype=np.float64)
    _core.to_fixed(values, weights, False, scale, 1)
    return values.view(np.int64)[:, 0].tolist()


def test_nearest_integers():
    assert fixed([0.0, 0.25, 0.75, 3.0], 2.0) == [0, 0, 2, 6]
    assert fixed([1.0, 1.0], 8.0, [0.5, 2.0]) == [4, 16]


def test_a_scale_that_overflows_with_the_weight_leaves_zeros_and_small_costs_alone():
    assert fixed([0.0, 2.0**-1000], 2.0**1000, [2.0**40, 2.0**40]) == [0, 2**40]


def test_what_does_not_fit_is_cast_to_the_ends_of_the_range():
    assert fixed([1e300, -1e300], 1.0) == [2**62, -(2**62)]
