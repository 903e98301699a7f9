"""The cut of least surrogate cost under terms: weights, a least weight, prices."""

import numpy as np
import pytest
from hypothesis import given
from scipy import sparse

from tests.helpers.examples import examples
from tests.helpers.kernel_cases import Case, cases, long_cases, wide_case
from tests.oracles import refine_oracle as oracle
from treemeans._core import Cut


def check(case, rows, n_threads=1):
    found = case.surrogate_cut(rows, n_threads)
    expected = oracle.surrogate_cut(case.terms, rows)
    assert found == (None if expected is None else Cut(*expected))
    return found


@examples(150)
@given(cases())
def test_small_tables(problem):
    case, rng = problem
    check(case, case.rows)
    check(case, case.rows[rng.random(len(case.rows)) < 0.6])


@examples(40)
@given(long_cases())
def test_long_tables(problem):
    case, rng = problem
    check(case, case.rows)
    check(case, case.rows[rng.random(len(case.rows)) < 0.3])


@pytest.mark.parametrize("as_table", [np.asarray, sparse.csr_array])
def test_enough_for_two_threads(as_table):
    case = wide_case(np.random.default_rng(0), as_table)
    for n_threads in (1, 2):
        assert check(case, case.rows, n_threads) is not None


def two_blocks(**terms):
    """Values 0 to 999; the first 100 rows want center 0, the others center 1."""
    X = np.arange(1000.0)[:, None]
    regrets = np.zeros((1000, 2), dtype=np.int64)
    regrets[:100, 1] = regrets[100:, 0] = 10
    return Case(X, regrets, **terms)


def test_the_least_weight_moves_the_cut_into_the_larger_block():
    assert two_blocks().surrogate_cut(np.arange(1000), 1) == Cut(0, 0, 99.0, 100.0)
    cut = two_blocks(min_weight=130).surrogate_cut(np.arange(1000), 1)
    assert cut == Cut(300, 0, 129.0, 130.0)


def test_the_least_weight_counts_weights_not_rows():
    weights = np.full(1000, 2)
    cut = two_blocks(min_weight=260, weights=weights).surrogate_cut(np.arange(1000), 1)
    assert cut == Cut(300, 0, 129.0, 130.0)


def test_no_cut_where_both_sides_cannot_weigh_enough():
    assert two_blocks(min_weight=500).surrogate_cut(np.arange(1000), 1) is not None
    assert two_blocks(min_weight=501).surrogate_cut(np.arange(1000), 1) is None


def test_a_price_is_added_and_a_negative_one_forbids():
    rows = np.arange(1000)
    assert two_blocks(prices=np.array([7])).surrogate_cut(rows, 1) == Cut(7, 0, 99.0, 100.0)
    assert two_blocks(prices=np.array([-1])).surrogate_cut(rows, 1) is None


def test_the_dearest_price_does_not_overflow():
    cut = two_blocks(prices=np.array([2**61])).surrogate_cut(np.arange(1000), 1)
    assert cut == Cut(2**61, 0, 99.0, 100.0)
