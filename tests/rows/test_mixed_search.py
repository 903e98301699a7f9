"""The search of columns with categories and missing values, against every subset and side."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.examples import examples
from tests.oracles import mixed_oracle as oracle
from treemeans import _core
from treemeans.rows import Table
from treemeans.split import Split

SEEDS = st.integers(0, 2**32)
MANY = examples(3000)


def mixed_table(rng, n=None):
    """Columns of numbers and categories, most with missing values; some categories never occur."""
    n = int(rng.integers(2, 30)) if n is None else n
    d = int(rng.integers(1, 4))
    categorical = rng.random(d) < 0.6
    X = np.empty((n, d))
    for j in range(d):
        if categorical[j]:
            X[:, j] = rng.choice(rng.permutation(9)[: rng.integers(1, 6)], n)
        else:
            X[:, j] = rng.choice([rng.integers(0, 4, n), rng.normal(size=n).round(1)])
        X[rng.random(n) < rng.choice([0.0, 0.1, 0.5, 1.0], p=[0.3, 0.3, 0.3, 0.1]), j] = np.nan
    return X, categorical


def some_regrets(rng, n):
    k = int(rng.integers(1, 5))
    regrets = rng.integers(0, rng.choice([2, 10, 10**6]), (n, k))
    return np.ascontiguousarray(regrets - regrets.min(axis=1, keepdims=True))


def search(X, categorical, regrets, limits, n_threads=1, rows=None):
    table = Table.of(X, n_threads, categorical=categorical)
    rows = np.arange(len(X), dtype=np.int32) if rows is None else rows
    totals = regrets[rows].sum(axis=0)
    return _core.surrogate_cut(
        table.bins, table.points, rows, regrets, totals, int(totals.argmin()), limits, n_threads
    )


def slot_order(X, categorical, prices):
    """Prices of the features by slot."""
    features = Table.of(X, 1, categorical=categorical).bins.feature
    return None if prices is None else np.array([prices[f] for f in features], dtype=np.int64)


def made(cut, values):
    """Which rows a cut sends left; it has a side for every value that occurs."""
    return Split(cut.feature, cut.threshold, cut.missing_left, cut.categories).goes_left(values)


@MANY
@given(SEEDS)
def test_no_subset_is_better(seed):
    rng = np.random.default_rng(seed)
    X, categorical = mixed_table(rng)
    regrets = some_regrets(rng, len(X))
    weights = rng.integers(1, 4, len(X)) if rng.random() < 0.3 else np.ones(len(X), dtype=np.int64)
    least = int(rng.choice([1, 1, 2, len(X) // 4 + 1]))
    most = None if rng.random() < 0.6 else int(rng.integers(1, 4))
    prices = None if rng.random() < 0.7 else rng.integers(0, 20, X.shape[1])
    weighed = weights if least > 1 else np.ones(len(X), dtype=np.int64)
    limits = _core.Limits(weights, least, slot_order(X, categorical, prices), max_categories=most)
    cut = search(X, categorical, regrets, limits)
    best = oracle.least_cost(
        X,
        categorical,
        oracle.surrogate(regrets),
        weighed,
        least=least,
        prices=prices,
        most=most,
    )
    if best is None:
        assert cut is None
        return
    values = X[:, cut.feature]
    left = made(cut, values)
    price = 0 if prices is None else int(prices[cut.feature])
    assert (cut.cost, cut.feature) == best
    assert oracle.surrogate(regrets)(left) + price == cut.cost
    assert min(weighed[left].sum(), weighed[~left].sum()) >= least
    assert most is None or len(cut.categories) <= most
    n_seen = len(np.unique(values[~np.isnan(values)]))
    assert len(cut.categories) <= n_seen / 2  # the shorter list; unseen codes go with the other
    assert (cut.missing_left is None) == (not np.isnan(values).any())


@examples(10)
@given(SEEDS)
def test_threads_do_not_matter(seed):
    rng = np.random.default_rng(seed)
    X, categorical = mixed_table(rng, 2**16)  # fewer rows are left to one thread
    regrets = some_regrets(rng, len(X))
    limits = _core.Limits(None, int(rng.choice([1, 20])))
    assert search(X, categorical, regrets, limits) == search(X, categorical, regrets, limits, 2)


def test_wide_bins_with_missing_values_are_searched_exactly():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2))
    X[rng.random(X.shape) < 0.2] = np.nan
    regrets = np.ascontiguousarray(
        np.where(np.nan_to_num(X[:, :1], nan=-9.0) < [0.3, -0.4, 9.0], 1000, 0)
        + rng.integers(0, 50, (3000, 3))
    )
    regrets -= regrets.min(axis=1, keepdims=True)
    cut = search(X, np.zeros(2, dtype=bool), regrets, _core.Limits())
    ones = np.ones(3000, dtype=np.int64)
    best = oracle.least_cost(X, [False, False], oracle.surrogate(regrets), ones)
    assert (cut.cost, cut.feature) == best


def test_many_categories():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 1000, 20_000).astype(float)
    codes[:500] = np.nan
    good = rng.random(1001) < 0.1
    side = good[np.where(np.isnan(codes), 1000, codes).astype(int)]
    regrets = np.ascontiguousarray(np.where(side[:, None], [0, 7], [7, 0]))
    cut = search(codes[:, None], np.array([True]), regrets, _core.Limits())
    assert cut.cost == 0
    assert cut.categories == tuple(np.flatnonzero(good[:1000]).tolist())
    assert cut.missing_left is bool(good[1000])
    few = search(codes[:, None], np.array([True]), regrets, _core.Limits(max_categories=5))
    assert len(few.categories) == 5


def test_missing_values_alone_can_be_the_cut():
    X = np.array([[1.0, 0.0], [2.0, 1.0], [np.nan, np.nan], [np.nan, np.nan]])
    regrets = np.array([[0, 5], [0, 5], [5, 0], [5, 0]])
    for column in ([0], [1]):
        cut = search(X[:, column], np.array([column == [1]]), regrets, _core.Limits())
        assert (cut.threshold, cut.missing_left, cut.categories) == (np.inf, False, ())
        assert cut.cost == 0


def test_the_heavier_side_takes_missing_values_that_a_node_has_not_seen():
    X = np.array([[1.0], [2.0], [2.5], [2.5], [np.nan]])
    regrets = np.array([[0, 5], [5, 0], [5, 0], [5, 0], [0, 0]])
    some = np.arange(4, dtype=np.int32)
    cut = search(X, np.array([False]), regrets, _core.Limits(), rows=some)
    assert (cut.threshold, cut.missing_left) == (1.5, False)
    X[:, 0] = [0, 1, 2, 2, np.nan]
    cut = search(X, np.array([True]), regrets, _core.Limits(), rows=some)
    assert (cut.categories, cut.missing_left) == ((0,), False)


@pytest.mark.parametrize("wrong", [-1.0, 0.5, 65535.0])
def test_what_is_no_code_is_refused(wrong):
    with pytest.raises(ValueError, match="column 1 must hold codes of categories"):
        Table.of(np.array([[0.0, 0.0], [0.0, wrong]]), 1, categorical=np.array([False, True]))


def test_infinities_and_unasked_missing_values_are_refused():
    none = np.array([False])
    assert Table.of(np.array([[0.0], [np.nan]]), 1) is None
    assert Table.of(np.array([[0.0], [np.inf]]), 1, categorical=none) is None
    assert Table.of(np.array([[np.nan], [np.inf]]), 1, categorical=none) is None
    assert Table.of(np.array([[0.0], [np.nan]]), 1, categorical=none).comparable.tolist() == [False]


def test_numbers_alone_make_the_same_bins():
    X = np.random.default_rng(0).normal(size=(500, 4))
    plain, asked = Table.of(X, 1), Table.of(X, 1, categorical=np.zeros(4, dtype=bool))
    assert plain.bins.feature == asked.bins.feature
    assert asked.bins.mixed == []
