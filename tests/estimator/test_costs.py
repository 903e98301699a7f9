"""The cost table against exact arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from tests.helpers.examples import examples
from tests.helpers.training_data import price_rows
from treemeans.costs import Fixed, Scales

EPS = Fraction(2) ** -52


def price(X, centers, weights=None, n_threads=1):
    return price_rows(X, centers, weights, n_threads)


def exact_costs(X, centers):
    """Squared distances as fractions, an n x k list of lists."""
    as_fractions = [[Fraction(float(v)) for v in row] for row in centers]
    return [
        [
            sum((Fraction(float(v)) - w) ** 2 for v, w in zip(row, center, strict=True))
            for center in as_fractions
        ]
        for row in X
    ]


def as_fraction(number, unit):
    return int(number) * Fraction(unit)


def column_kinds():
    """An offset and a step: what a column's values are multiples of."""
    return st.sampled_from([(0.0, 1.0), (1e9, 0.25), (-1e9, 1e-3), (0.0, 1e-9), (5.0, 0.1)])


@st.composite
def tables(draw, elements=None):
    n, d, k = draw(st.integers(1, 12)), draw(st.integers(1, 6)), draw(st.integers(1, 5))
    steps = hnp.arrays(np.float64, (n + k, d), elements=st.integers(-50, 50).map(float))
    X = draw(steps)
    if elements is None:
        kinds = np.array([draw(column_kinds()) for _ in range(d)])
        X = kinds[:, 0] + X * kinds[:, 1]
    return X[:n], X[n:]


def whole_tables():
    return tables(elements="whole")


WHOLE_WEIGHTS = st.integers(0, 5).map(float)


# ---- costs ---------------------------------------------------------------------------------------


@given(whole_tables())
def test_small_integers_are_priced_exactly(table):
    X, centers = table
    costs = price(X, centers)
    exact = exact_costs(X, centers)
    assert costs.nearest.tolist() == [row.index(min(row)) for row in exact]
    for i, row in enumerate(exact):
        assert as_fraction(costs.base.values[i], costs.base.unit) == min(row)
        for c, cost in enumerate(row):
            assert as_fraction(costs.regrets.values[i, c], costs.regrets.unit) == cost - min(row)


@examples(200)
@given(tables())
def test_an_offset_costs_no_digits(table):
    """The error is a rounding of the cost itself, however far from zero the columns are."""
    X, centers = table
    costs = price(X, centers)
    per_cost = (X.shape[1] + 2) * EPS
    for i, row in enumerate(exact_costs(X, centers)):
        nearest = row[costs.nearest[i]]
        assert nearest - min(row) <= per_cost * (nearest + min(row))
        off = as_fraction(costs.base.values[i], costs.base.unit) - nearest
        assert abs(off) <= per_cost * nearest + Fraction(costs.base.unit) / 2
        for c, cost in enumerate(row):
            off = as_fraction(costs.regrets.values[i, c], costs.regrets.unit) - (cost - nearest)
            assert abs(off) <= per_cost * (cost + nearest) + Fraction(costs.regrets.unit) / 2


@given(tables())
def test_regrets_are_not_negative_and_one_is_zero(table):
    costs = price(*table)
    regrets = costs.regrets.values
    assert regrets.min() >= 0
    assert not regrets[np.arange(len(regrets)), costs.nearest].any()


@pytest.mark.parametrize("size", [1e-100, 1e-9, 1.0, 1e9, 1e100])
@pytest.mark.parametrize("weight", [None, 1e-9, 1.0, 1e9])
def test_sums_use_all_bits_and_overflow_none(size, weight):
    rng = np.random.default_rng(0)
    X = size * rng.normal(size=(2000, 3))
    weights = None if weight is None else np.full(2000, weight)
    costs = price(X, X[:4], weights)
    tables = [costs.regrets, costs.base] + ([] if weights is None else [costs.weights])
    for fixed in tables:
        total = max(sum(map(int, column)) for column in fixed.values.reshape(2000, -1).T)
        assert 2**60 - 2000 <= total <= 2**61 + 2000


def test_costs_that_overflow_are_refused():
    with pytest.raises(ValueError, match="overflow"):
        price(np.array([[1e200], [0.0]]), [[0.0], [1.0]])


def test_all_costs_zero():
    costs = price(np.ones((5, 2)), np.ones((3, 2)))
    assert not costs.regrets.values.any()
    assert not costs.nearest.any()
    assert costs.cheapest == 0.0


@given(whole_tables())
def test_coinciding_centers_and_ties_go_to_the_first(table):
    X, centers = table
    costs = price(X, np.vstack([centers, centers]))
    assert (costs.nearest < len(centers)).all()


def test_cheapest_is_the_cost_of_the_nearest():
    rng = np.random.default_rng(1)
    X, weights = 1e9 + rng.normal(size=(300, 4)), rng.random(300)
    costs = price(X, X[:5], weights)
    exact = sum(
        Fraction(w) * min(row) for w, row in zip(weights, exact_costs(X, X[:5]), strict=True)
    )
    assert costs.cheapest == pytest.approx(float(exact), rel=1e-14)


# ---- the same costs, wherever the points live ----------------------------------------------------


@given(whole_tables(), st.sampled_from(["csr", "csc"]))
def test_sparse_is_dense(table, kind):
    X, centers = table
    dense, other = price(X, centers), price(sparse.coo_array(X).asformat(kind), centers)
    np.testing.assert_array_equal(dense.nearest, other.nearest)
    np.testing.assert_array_equal(dense.regrets.values, other.regrets.values)
    np.testing.assert_array_equal(dense.base.values, other.base.values)
    assert dense.regrets.unit == other.regrets.unit


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.int16, np.int32, np.int64, np.uint8])
def test_number_types(dtype):
    rng = np.random.default_rng(2)
    X = rng.integers(0, 100, (300, 37)).astype(dtype)
    centers = X[:3] + 0.1
    expected = price(X.astype(np.float64), centers).regrets.values
    for table in (X, np.asfortranarray(X), np.repeat(X, 2, axis=1)[:, ::2], X[::-1][::-1]):
        np.testing.assert_array_equal(price(table, centers).regrets.values, expected)


@pytest.mark.parametrize("n", [1, 127, 128, 129, 256, 257, 5000])
@pytest.mark.parametrize("d", [1, 3, 4, 31, 33])
def test_every_row_costs_the_same_in_any_place(n, d):
    """Whatever blocks the kernel walks in, whatever the row's neighbours, and on two threads."""
    rng = np.random.default_rng(3)
    X, centers = rng.normal(size=(n, d)), rng.normal(size=(4, d))
    order = rng.permutation(n)
    costs, shuffled = price(X, centers), price(X[order], centers)
    threads = price(X, centers, n_threads=2)
    assert costs.regrets.unit == shuffled.regrets.unit == threads.regrets.unit
    np.testing.assert_array_equal(costs.regrets.values[order], shuffled.regrets.values)
    np.testing.assert_array_equal(costs.base.values[order], shuffled.base.values)
    np.testing.assert_array_equal(costs.regrets.values, threads.regrets.values)


# ---- weights -------------------------------------------------------------------------------------


@given(tables(), st.data())
def test_a_whole_weight_is_repetition(table, data):
    X, centers = table
    times = data.draw(hnp.arrays(np.float64, len(X), elements=WHOLE_WEIGHTS, fill=st.nothing()))
    assume(times.any())
    copies = np.repeat(np.arange(len(X)), times.astype(int))
    weighted, repeated = price(X, centers, times), price(X[copies], centers)
    for one, other in (
        (weighted.regrets, repeated.regrets),
        (weighted.base, repeated.base),
    ):
        assert one.unit == other.unit
        sums = np.zeros_like(one.values)
        np.add.at(sums, copies, other.values)
        np.testing.assert_array_equal(one.values, sums)
    np.testing.assert_array_equal(weighted.weights.to_float(weighted.weights.values), times)
    np.testing.assert_array_equal(weighted.rows, np.unique(copies))


@given(whole_tables(), st.data())
def test_a_fractional_weight_is_a_factor(table, data):
    X, centers = table
    elements = st.one_of(st.just(0.0), st.floats(0.001, 100.0))
    weights = data.draw(hnp.arrays(np.float64, len(X), elements=elements, fill=st.nothing()))
    assume(weights.any())
    costs = price(X, centers, weights)
    np.testing.assert_array_equal(costs.rows, np.flatnonzero(weights))
    for i, (weight, row) in enumerate(zip(weights, exact_costs(X, centers), strict=True)):
        off = as_fraction(costs.weights.values[i], costs.weights.unit) - Fraction(weight)
        assert abs(off) <= Fraction(costs.weights.unit) / 2
        for c, cost in enumerate(row):
            exact = Fraction(weight) * (cost - min(row))
            off = as_fraction(costs.regrets.values[i, c], costs.regrets.unit) - exact
            assert abs(off) <= EPS * exact + Fraction(costs.regrets.unit) / 2


@pytest.mark.parametrize("weight", [1e6, 1e12, 1e15, 1e18, 1e20, 1e30])
def test_large_whole_weights_keep_their_digits(weight):
    """All rows weigh the same, so that only the unit may differ from that of no weights."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(40, 2))
    plain, heavy = price(X, X[:3]), price(X, X[:3], np.full(40, weight))
    for fixed, expected in (
        (heavy.regrets, weight * plain.regrets.to_float(plain.regrets.values)),
        (heavy.weights, np.full(40, weight)),
    ):
        actual = fixed.to_float(fixed.values)
        np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-9 * expected.max())


# ---- fixed point ---------------------------------------------------------------------------------


@given(
    hnp.arrays(np.float64, (4, 2), elements=st.floats(0, 1e6)),
    st.sampled_from([2.0**-900, 1e-30, 1.0, 1e30, 2.0**900]),
)
def test_fixed_rounds_to_the_nearest_multiple(values, size):
    values = values * size
    total = float(values.sum(axis=0).max())
    scale = Scales.of(total, 0.0, None, True).regrets
    fixed = Fixed.of(values.copy(), scale, None, False, 1)
    assert fixed.values.dtype == np.int64
    assert np.frexp(fixed.unit)[0] == 0.5  # a power of two
    for number, value in zip(fixed.values.ravel(), values.ravel(), strict=True):
        assert abs(as_fraction(number, fixed.unit) - Fraction(value)) <= Fraction(fixed.unit) / 2
    np.testing.assert_allclose(fixed.to_float(fixed.values), values, rtol=1e-15, atol=fixed.unit)


def test_fixed_of_nothing():
    scale = Scales.of(0.0, 0.0, None, True).base
    fixed = Fixed.of(np.zeros((3, 1)), scale, None, False, 1)
    assert fixed.unit == 1.0
    assert not fixed.values.any()
