"""Costs keep their digits wherever the reference centers, the rows and their weights are."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.cluster import KMeans
from sklearn.pipeline import Pipeline

from tests.helpers.partitioned_cases import ListedPartitions, split_rows
from treemeans import ExKMC

pytestmark = pytest.mark.filterwarnings("ignore:Only .* reference centers are nearest to any row")

SHIFTS = (0.0, 1e3, 1e6, 1e8, 1e12)


def exact_cost(X, labels, weights=None):
    """K-means cost of the clusters, without any rounding before the end."""
    weights = np.ones(len(X)) if weights is None else weights
    total = Fraction(0)
    for cluster in np.unique(labels):
        rows = [
            ([Fraction(x) for x in X[r].tolist()], Fraction(float(weights[r])))
            for r in np.flatnonzero((labels == cluster) & (weights > 0))
        ]
        weight = sum((w for _, w in rows), Fraction(0))
        for f in range(X.shape[1]):
            mean = sum((w * x[f] for x, w in rows), Fraction(0)) / weight if weight else 0
            total += sum((w * (x[f] - mean) ** 2 for x, w in rows), Fraction(0))
    return float(total)


def assert_costs_are_exact(model, X, weights=None, space=None):
    for n_leaves in model.path_["n_leaves"].tolist():
        small = model.with_leaves(n_leaves)
        exact = exact_cost(X if space is None else space, small.predict(X), weights)
        assert small.inertia_ == pytest.approx(exact, rel=1e-9)
        assert small._facts.costs.sum() == pytest.approx(exact, rel=1e-9)


def rows(seed=0, n=120, d=3):
    return np.random.default_rng(seed).normal(size=(n, d))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("as_table", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("away", SHIFTS)
def test_centers_far_from_the_rows(away, as_table, weighted):
    X = rows()
    weights = np.random.default_rng(1).random(len(X)) if weighted else None
    centers = X[:4] + away
    model = ExKMC(4, max_leaf_nodes=8, reference=centers).fit(as_table(X), sample_weight=weights)
    assert_costs_are_exact(model, X, weights)
    score = model.score(as_table(X), sample_weight=weights)
    assert -score == pytest.approx(exact_cost(X, model.labels_, weights), rel=1e-9)


@pytest.mark.parametrize("refine", ["none", "local"])
@pytest.mark.parametrize("partitioned", [False, True])
def test_surrogate_cost_beside_one_center_that_is_far_from_all_rows(partitioned, refine):
    X = rows(n=40)
    weights = 10.0 ** np.random.default_rng(1).uniform(0, 5, len(X))
    centers = np.vstack([X[:3], X[3:4] + 1e9])
    table = ListedPartitions(split_rows(X, 3, 0), split_rows(weights, 3, 0)) if partitioned else X
    model = ExKMC(4, base_tree="none", max_leaf_nodes=8, reference=centers, refine=refine)
    model.fit(table, sample_weight=None if partitioned else weights)
    grown_to = model._fit_result.centers
    for n_leaves in model.path_["n_leaves"].tolist():
        small = model.with_leaves(n_leaves)
        away = X - grown_to[small.predict(X)]
        exact = float(weights.astype(np.longdouble) @ (away.astype(np.longdouble) ** 2).sum(axis=1))
        assert small.surrogate_inertia_ == pytest.approx(exact, rel=1e-9)
        assert small.inertia_ <= small.surrogate_inertia_


@pytest.mark.parametrize("base_tree", ["best", "exgreedy", "kdtree", "cart"])
def test_one_center_far_from_the_rows(base_tree):
    X = rows()
    centers = np.concatenate([X[:3], np.full((1, 3), 1e9)])
    model = ExKMC(4, max_leaf_nodes=8, reference=centers, base_tree=base_tree).fit(X)
    assert_costs_are_exact(model, X)


@pytest.mark.parametrize("refine", ["local", "search"])
def test_refined_from_centers_far_from_the_rows(refine):
    X = rows()
    model = ExKMC(4, max_leaf_nodes=8, reference=X[:4] + 1e8, refine=refine, search_rounds=20).fit(
        X
    )
    assert_costs_are_exact(model, X)


class Far(TransformerMixin, BaseEstimator):
    """Moves the rows after the clusterer was fitted."""

    def fit(self, X, y=None):
        self.offset_ = 0.0
        return self

    def transform(self, X):
        return np.asarray(X) + self.offset_


def test_centers_far_from_the_rows_of_a_pipeline():
    X = rows()
    pipeline = Pipeline([("far", Far()), ("kmeans", KMeans(4, n_init=1, random_state=0))]).fit(X)
    pipeline[0].offset_ = 2.0**27
    model = ExKMC(4, max_leaf_nodes=8, reference=pipeline).fit(X)
    assert_costs_are_exact(model, X, space=X + pipeline[0].offset_)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("away", [0.0, 1e6, 1e8])
def test_centers_far_from_rows_in_parts(away, weighted):
    dask, da = pytest.importorskip("dask"), pytest.importorskip("dask.array")
    X = rows(n=90)
    weights = np.random.default_rng(1).random(len(X)) if weighted else None
    lazy_weights = None if weights is None else da.from_array(weights, chunks=40)
    model = ExKMC(4, max_leaf_nodes=8, reference=X[:4] + away)
    with dask.config.set({"treemeans.gather": 0}):
        model.fit(da.from_array(X, chunks=(40, 3)), sample_weight=lazy_weights)
    assert_costs_are_exact(model, X, weights)


def test_a_far_outlier_with_a_center_of_its_own():
    X = np.concatenate([rows(), np.full((1, 3), 1e8)])
    model = ExKMC(4, max_leaf_nodes=8, reference=X[[0, 1, 2, -1]]).fit(X)
    assert_costs_are_exact(model, X)


@pytest.mark.parametrize("refine", ["none", "local"])
@pytest.mark.parametrize("base_tree", ["imm", "emn", "exgreedy", "kauri", "cart", "kdtree"])
@pytest.mark.parametrize("offset", [1e3, 1e7, 1e9, 1e12])
def test_sparse_is_dense_with_a_large_constant_column(offset, base_tree, refine):
    X = np.column_stack([np.round(rows(), 2) * (rows(1) > 0), np.full(120, offset)])
    centers = X[:4] + np.array([0.25, 0.5, 0.125, 0.0])
    model = ExKMC(4, max_leaf_nodes=8, reference=centers, base_tree=base_tree, refine=refine)
    dense = model.fit(X)
    found = ExKMC(**model.get_params()).fit(sparse.csr_matrix(X))
    np.testing.assert_array_equal(found.labels_, dense.labels_)
    assert_costs_are_exact(found, X)
    assert found.reference_inertia_ == pytest.approx(dense.reference_inertia_, rel=1e-9)
    assert found.score(sparse.csr_matrix(X)) == pytest.approx(dense.score(X), rel=1e-9)
    np.testing.assert_allclose(found.transform(sparse.csr_matrix(X)), dense.transform(X), rtol=1e-9)


@pytest.mark.parametrize("offset", [1e3, 1e7, 1e9])
def test_sparse_costs_of_rows_that_share_large_values(offset):
    """Half of the rows have the value, half have none: no column is full."""
    X = np.column_stack([np.round(rows(), 2), np.where(np.arange(120) % 2, offset, 0.0)])
    centers = X[:4] + np.array([0.25, 0.5, 0.125, 0.0])
    dense = ExKMC(4, max_leaf_nodes=8, reference=centers).fit(X)
    found = ExKMC(4, max_leaf_nodes=8, reference=centers).fit(sparse.csr_matrix(X))
    np.testing.assert_array_equal(found.labels_, dense.labels_)
    assert found.reference_inertia_ == pytest.approx(dense.reference_inertia_, rel=1e-9)
    assert_costs_are_exact(found, X)


@pytest.mark.parametrize("offset", [1e7, 1e12])
def test_default_reference_of_a_sparse_table_with_a_large_constant_column(offset):
    X = np.column_stack([np.round(rows(), 2) * (rows(1) > 0), np.full(120, offset)])
    dense = ExKMC(4, random_state=0).fit(X)
    found = ExKMC(4, random_state=0).fit(sparse.csr_matrix(X))
    assert found.reference_inertia_ == pytest.approx(dense.reference_inertia_, rel=0.05)
    assert_costs_are_exact(found, X)
