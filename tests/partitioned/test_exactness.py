"""Sums without rounding, and the edges of stretches."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tests.helpers.examples import examples
from treemeans.exact_sum import as_float, exact_sum
from treemeans.partitioned.tree_growth.feature_bins import (
    dividing_edges,
    one_bin_edges,
    quantile_edges,
)

TINY, HUGE = 5e-324, np.finfo(float).max
NOT_NEGATIVE = st.one_of(
    st.floats(0, HUGE),
    st.sampled_from([0.0, -0.0, TINY, 3 * TINY, 2.0**-1022, 1.0, 0.1, 2.0**53, HUGE]),
)
LISTS = st.lists(NOT_NEGATIVE, max_size=20)


def fraction_sum(values):
    return sum((Fraction(value) for value in values), Fraction(0))


def rounded(fraction):
    """The nearest float."""
    try:
        return float(fraction)
    except OverflowError:
        return math.inf


# ---- sums ----------------------------------------------------------------------------------------


@examples(200)
@given(LISTS)
def test_a_sum_is_the_sum_of_fractions(values):
    expected = fraction_sum(values)
    total = exact_sum(np.array(values))
    assert Fraction(total, 2**1127) == expected
    assert as_float(total) == rounded(expected)


@examples(100)
@given(LISTS, LISTS, st.randoms(use_true_random=False))
def test_no_order_and_no_border_leaves_a_trace(one, other, random):
    together = one + other
    random.shuffle(together)
    partitions = exact_sum(np.array(one)) + exact_sum(np.array(other))
    assert exact_sum(np.array(together)) == partitions


def test_many_large_mantissas():
    """Halves of mantissas are added as floats; so many of them must still be whole numbers."""
    values = np.full(300_000, np.nextafter(2.0, 0.0))
    values[::2] = np.nextafter(1.0, 0.0)
    expected = 150_000 * (Fraction(values[0]) + Fraction(values[1]))
    assert Fraction(exact_sum(values), 2**1127) == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], 0.0),
        ([0.0, 0.0], 0.0),
        ([TINY, TINY], 2 * TINY),
        ([HUGE], HUGE),
        ([HUGE, HUGE], math.inf),
        ([HUGE, 2.0**969], HUGE),  # less than half way to the next power of two
        ([HUGE, 2.0**970], math.inf),
        ([1.0, 2.0**-53], 1.0),  # half way: to the even one
        ([1.0, 2.0**-53, TINY], 1.0 + 2.0**-52),
    ],
)
def test_the_nearest_float(values, expected):
    assert as_float(exact_sum(np.array(values))) == expected


# ---- edges of stretches --------------------------------------------------------------------------

ANY = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.0, -0.0, TINY, -TINY, 1.0, -1.0, HUGE, -HUGE, 2.0**-1022]),
)


@st.composite
def pairs(draw):
    """Two different values, at times neighbours."""
    low = draw(ANY)
    high = draw(ANY)
    if draw(st.booleans()):
        high = low
        for _ in range(draw(st.integers(1, 5))):
            high = above(high)
    assume(low != high and math.isfinite(high))
    return min(low, high), max(low, high)


def below(value):
    return math.nextafter(value, -math.inf)


def above(value):
    return math.nextafter(value, math.inf)


@examples(300)
@given(pairs(), st.sampled_from([4, 5, 16, 64]))
@example((-HUGE, HUGE), 64)
@example((-TINY, TINY), 4)
@example((-0.0, TINY), 4)
@example((-1.0, 0.0), 4)
def test_dividing_edges_cover_the_range_and_nothing_else(pair, n_bins):
    low, high = pair
    edges = dividing_edges(low, high, n_bins)
    assert (edges[:-1] < edges[1:]).all()
    assert edges[0] == below(low)  # which no row has, so that low is in the first stretch
    assert edges[1] == low  # by itself: so every division makes headway
    assert edges[-1] == high
    assert 3 <= len(edges) <= n_bins + 2


NASTY = [
    (-HUGE, HUGE),
    (-1.0, 1.0),
    (0.0, HUGE),
    (0.0, 1.0),
    (-TINY, TINY),
    (0.0, 2.0**-1022),
    (-1e-300, 1e300),
    (1.0, 1.0 + 2.0**-52),
    (1e9, 1e9 + 1),
]


@pytest.mark.parametrize(("low", "high"), NASTY)
@pytest.mark.parametrize("towards", ["low", "high", "tiny", "chance"])
@pytest.mark.parametrize("n_bins", [64, 4])
def test_few_divisions_come_down_to_a_value(low, high, towards, n_bins):
    """Whichever value of the stretch is looked for: 2**64 floats are divided by 32 each time."""
    rng = np.random.default_rng(0)
    wanted = {
        "low": above(low),
        "high": below(high),
        "tiny": min(max(low, 3 * TINY), high),
        "chance": min(max(low, high * rng.random()), high),
    }[towards]
    divisions = 0
    while low < high:
        divisions += 1
        edges = dividing_edges(low, high, n_bins)
        upto = np.searchsorted(edges, wanted)
        # All floats of the stretch might be values.
        low, high = above(float(edges[upto - 1])), float(edges[upto])
        assert low <= wanted <= high
    assert divisions <= (14 if n_bins == 64 else 65)


@given(pairs())
def test_a_whole_stretch(pair):
    low, high = pair
    assert one_bin_edges(low, high).tolist() == [below(low), high]


@examples(100)
@given(st.lists(ANY, max_size=15), st.integers(1, 20), st.lists(ANY, max_size=4))
def test_quantile_edges_cover_every_number(sample, n_bins, also):
    edges = quantile_edges(np.array(sample, dtype=float), n_bins, np.array(also, dtype=float))
    assert edges[0] == -np.inf
    assert edges[-1] == np.inf
    assert (edges[:-1] < edges[1:]).all()
    assert set(also) <= set(edges.tolist())
    assert set(edges[1:-1].tolist()) <= set(also) | set(sample)
    assert len(edges) <= n_bins + len(also) + 2


def test_quantile_bins_hold_about_as_many_values_each():
    sample = np.random.default_rng(0).permutation(10_000) / 7
    edges = quantile_edges(sample, 100, np.empty(0))
    held = np.histogram(sample, edges[1:-1])[0]
    assert held.max() <= 1.1 * held.min()


def test_quantile_bins_of_few_values_hold_one_each():
    sample = np.tile([3.0, 1.0, 2.0], 50)
    assert quantile_edges(sample[:3], 5, np.empty(0)).tolist() == [-np.inf, 1.0, 2.0, 3.0, np.inf]
