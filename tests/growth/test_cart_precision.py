"""CART cuts float64 values: nothing is lost to scikit-learn's float32."""

import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris

from treemeans import ExKMC
from treemeans.baselines import CART


def fit(X, centers, kind="base", **changes):
    if kind == "base":
        return ExKMC(3, base_tree="cart", reference=centers, max_leaf_nodes=6, **changes).fit(X)
    return CART(3, reference=centers, max_leaf_nodes=6).fit(X)


@pytest.mark.parametrize("kind", ["base", "baseline"])
@pytest.mark.parametrize("as_table", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("shift", [-(2.0**27), 2.0**20, 2.0**27, 2.0**40])
def test_an_offset_changes_nothing(shift, as_table, kind):
    X = np.round(load_iris().data * 64) / 64  # so that nothing is rounded when it is moved
    centers = X[[0, 60, 120]]
    plain, moved = fit(X, centers, kind), fit(as_table(X + shift), centers + shift, kind)
    np.testing.assert_array_equal(moved.labels_, plain.labels_)
    np.testing.assert_array_equal(moved.tree_.feature, plain.tree_.feature)
    assert moved.inertia_ == pytest.approx(plain.inertia_, rel=1e-9)


@pytest.mark.parametrize("as_table", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("scale", [2.0**-400, 2.0**-40, 2.0**140, 2.0**400])
def test_a_scale_changes_nothing(scale, as_table):
    X = load_iris().data - 3.0
    centers = X[[0, 60, 120]]
    plain, scaled = fit(X, centers), fit(as_table(X * scale), centers * scale)
    np.testing.assert_array_equal(scaled.labels_, plain.labels_)
    np.testing.assert_array_equal(scaled.tree_.threshold, plain.tree_.threshold * scale)


def test_sparse_is_dense_with_values_on_both_sides_of_zero():
    X = np.round(np.random.default_rng(0).normal(size=(200, 5)), 3)
    X[np.random.default_rng(1).random(X.shape) < 0.5] = 0.0
    dense, found = fit(X, X[:3] + 0.125), fit(sparse.csr_matrix(X), X[:3] + 0.125)
    np.testing.assert_array_equal(found.tree_.feature, dense.tree_.feature)
    np.testing.assert_array_equal(found.tree_.threshold, dense.tree_.threshold)


def test_more_values_than_ranks(monkeypatch):
    module = sys.modules["treemeans.growth.cart"]  # the package has a function of that name
    monkeypatch.setattr(module, "_MOST_RANKS", 16)
    X = np.random.default_rng(0).normal(size=(300, 2))
    for as_table in (np.asarray, sparse.csr_matrix):
        model = fit(as_table(X), X[:3])
        np.testing.assert_array_equal(model.predict(X), model.labels_)
        assert model.n_leaves_ == 6
