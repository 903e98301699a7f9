"""Scores of bins from their sums alone, against every way to cut the rows inside them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treemeans import _core

SEEDS = st.integers(0, 2**32)


def bins_of(rng, line, n_bins):
    """Rows with statistics, in order, and the bins they lie in."""
    rows = [np.array([line() for _ in range(rng.integers(1, 5))]) for _ in range(n_bins)]
    return rows, np.array([bin_.sum(axis=0) for bin_ in rows])


def cuts_inside(rows, b, cost):
    """What cuts after the first rows of a bin cost."""
    left = sum((bin_.sum(axis=0) for bin_ in rows[:b]), np.zeros_like(rows[0][0]))
    return [cost(left + rows[b][:i].sum(axis=0)) for i in range(1, len(rows[b]))]


def check(rows, found, cost):
    costs, bounds = found
    left = np.cumsum([bin_.sum(axis=0) for bin_ in rows], axis=0)
    assert costs.tolist() == [cost(line) for line in left]
    for b, bound in enumerate(bounds):
        assert all(bound <= inside for inside in cuts_inside(rows, b, cost))


@given(SEEDS, st.integers(1, 6), st.integers(1, 8))
def test_surrogate(seed, k, n_bins):
    rng = np.random.default_rng(seed)
    rows, sums = bins_of(rng, lambda: rng.integers(0, 9, k), n_bins)
    totals = sums.sum(axis=0)
    counted = np.column_stack([sums, np.ones(n_bins, dtype=np.int64)])

    def cost(left):
        return int(left.min() + (totals - left).min())

    check(rows, _core.score_surrogate_bins(np.ascontiguousarray(counted), totals), cost)


@given(SEEDS, st.integers(1, 8))
def test_reoptimized(seed, n_bins):
    rng = np.random.default_rng(seed)

    def line():
        adds = int(rng.integers(-9, 9))
        return np.array([adds, min(adds, 0), 1])

    rows, sums = bins_of(rng, line, n_bins)
    check(rows, _core.score_reoptimized_bins(sums), lambda left: int(left[0]))


def test_too_few_sums_are_refused():
    one = np.ones((3, 1), dtype=np.int64)
    with pytest.raises(ValueError, match="two sums for each bin"):
        _core.score_reoptimized_bins(one)
    with pytest.raises(ValueError, match="a sum for each center"):
        _core.score_surrogate_bins(one, np.ones(2, dtype=np.int64))
