"""Extreme values and weights end right, or in one sentence."""

import numpy as np
import pytest
from scipy import sparse

from treemeans import ExKMC

ROWS = np.random.default_rng(0).normal(size=(40, 2))
ROWS /= np.abs(ROWS).max()


def fit(X, weights=None, **changes):
    return ExKMC(3, random_state=0, **changes).fit(X, sample_weight=weights)


def assert_works(model, X, weights=None):
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert -model.score(X, sample_weight=weights) == pytest.approx(model.inertia_, rel=1e-9)
    distances = model.transform(X)
    assert np.isfinite(distances).all()
    assert model.inertia_ > 0


@pytest.mark.parametrize("as_table", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    "changes",
    [{}, {"reference": ROWS[:3]}, {"refine": "local"}]
    + [{"base_tree": base} for base in ("exgreedy", "emn", "kauri", "cart", "kdtree", "random")],
    ids=str,
)
@pytest.mark.parametrize("power", [-450, -300, 300, 500, 507])
def test_a_scale_that_squares_hold(power, changes, as_table):
    scale = 2.0**power
    if "reference" in changes:
        changes = {"reference": ROWS[:3] * scale}
    X = as_table(ROWS * scale)
    model = fit(X, **changes)
    assert_works(model, X)


@pytest.mark.parametrize("as_table", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("scale", [1e154, 1e155, 1e200, 1e300, 1.7e308])
def test_squares_that_overflow(scale, as_table):
    with pytest.raises(ValueError, match=r"^The squared distances overflow: .*StandardScaler\.$"):
        fit(as_table(ROWS * scale))
    few = ROWS.copy()
    few[3, 1] = scale
    if scale > 1e154:
        with pytest.raises(ValueError, match="squared distances overflow"):
            fit(as_table(few))
        with pytest.raises(ValueError, match="squared distances overflow"):
            fit(as_table(ROWS), reference=few[1:4])


@pytest.mark.parametrize("as_table", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("scale", [1e-160, 1e-200, 1e-300, 1e-320])
def test_squares_that_underflow(scale, as_table):
    for reference in (None, ROWS[:3] * scale):
        with pytest.raises(ValueError, match=r"^The squared distances underflow: .*Scaler\.$"):
            fit(as_table(ROWS * scale), reference=reference)


def test_columns_that_are_small_beside_others_are_no_matter():
    X = np.column_stack([ROWS, ROWS * 1e-200])
    np.testing.assert_array_equal(fit(X).labels_, fit(ROWS).labels_)
    assert_works(fit(X), X)


@pytest.mark.parametrize("refine", ["none", "local"])
@pytest.mark.parametrize("weight", [1e-299, 1e-200, 1e200, 1e300])
def test_extreme_weights(weight, refine):
    weights = np.full(len(ROWS), weight)
    model = fit(ROWS, weights, refine=refine, reference=ROWS[:3])
    assert_works(model, ROWS, weights)
    plain = fit(ROWS, refine=refine, reference=ROWS[:3])
    assert model.inertia_ == pytest.approx(weight * plain.inertia_)


@pytest.mark.parametrize("base_tree", ["imm", "exgreedy", "cart", "kdtree"])
def test_weights_of_an_extreme_range(base_tree):
    weights = np.where(np.arange(len(ROWS)) % 2, 1e-300, 1e300)
    assert_works(fit(ROWS, weights, base_tree=base_tree), ROWS, weights)


@pytest.mark.parametrize("weight", [1e-320, 1e-310, 1e307])
def test_weights_beyond_the_range_of_floats(weight):
    with pytest.raises(ValueError, match=r"^The sample weights, .*by a constant\.$"):
        fit(ROWS, np.full(len(ROWS), weight))


@pytest.mark.parametrize("scale", [1e154, 1e200, 1e307])
def test_rows_far_from_a_fitted_tree(scale):
    model = fit(ROWS)
    model.predict(ROWS * scale)
    with pytest.raises(ValueError, match="squared distances overflow"):
        model.score(ROWS * scale)
    if scale > 1e154:
        with pytest.raises(ValueError, match="squared distances overflow"):
            model.transform(ROWS * scale)


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("scale", [1e-74, 1e-12, 1e140])
def test_directions_do_not_depend_on_the_length_of_rows(scale, storage):
    rng = np.random.default_rng(0)
    X = np.abs(rng.normal(size=(40, 3))).round(2)
    plain = ExKMC(3, cost="cosine", random_state=0).fit(storage(X))
    power = 2.0 ** int(np.log2(scale))
    scaled = ExKMC(3, cost="cosine", random_state=0).fit(storage(X * power))
    assert scaled.inertia_ == pytest.approx(plain.inertia_, rel=1e-9)
    assert np.array_equal(scaled.labels_, plain.labels_)


def test_values_without_a_spread_are_refused_for_every_cost():
    X = np.array([[1e200, 1.0], [-1e200, 2.0], [5e199, 3.0], [1e200, -4.0]])
    for cost in ("cosine", "kmedians"):
        with pytest.raises(ValueError, match="The squared distances overflow"):
            ExKMC(2, cost=cost, random_state=0).fit(X)
