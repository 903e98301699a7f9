"""ExKMC as an estimator: the meaning of every attribute, and its place among others."""

import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, load_wine
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from tests.helpers.datasets import kmeans
from tests.helpers.plain_numpy import (
    FLOATS,
    PATH_FIELDS,
    a_tree,
    assert_same_centers,
    assert_same_model,
    cluster_means,
    cost_to,
    dense,
    leaf_of,
    random_weights,
    scaled_pca,
    squared_distances,
)
from treemeans import ExKMC, ThresholdTree

IRIS = load_iris().data
WINE = load_wine().data
pytestmark = pytest.mark.usefixtures("one_thread")


# ---- fitted models, one of each kind -------------------------------------------------------------


@dataclass
class Case:
    """A fitted model, and what it was fitted on."""

    model: ExKMC
    X: Any
    weights: np.ndarray
    n_base_leaves: int

    @property
    def table(self):
        """X in plain numpy."""
        return dense(self.X)

    @property
    def space(self):
        """X in the space of the reference."""
        reference = self.model.reference
        return dense(reference[:-1].transform(self.X)) if is_pipeline(reference) else self.table


def is_pipeline(reference):
    return isinstance(reference, Pipeline)


def fit_case(X, k, n_base_leaves=None, weights=None, **parameters):
    parameters = {"reference": kmeans(X, k), "max_leaf_nodes": 3 * k} | parameters
    model = ExKMC(k, **parameters).fit(X, sample_weight=weights)
    return Case(
        model=model,
        X=X,
        weights=np.ones(X.shape[0]) if weights is None else weights,
        n_base_leaves=k if n_base_leaves is None else n_base_leaves,
    )


def word_counts(n=300, d=40, seed=0):
    rng = np.random.default_rng(seed)
    rate = rng.gamma(0.2, 1.0, size=(4, d))
    return sparse.csr_matrix(rng.poisson(rate[rng.integers(4, size=n)]).astype(np.float64))


CASES = {
    "imm": lambda: fit_case(IRIS, 3),
    "none": lambda: fit_case(IRIS, 3, base_tree="none", n_base_leaves=1),
    "given tree": lambda: fit_case(IRIS, 3, base_tree=a_tree(), n_base_leaves=5),
    "own k-means": lambda: fit_case(IRIS, 3, reference=None, random_state=0),
    "weights": lambda: fit_case(WINE, 5, weights=random_weights(178)),
    "far from the origin": lambda: fit_case(IRIS + 1e4, 3),
    "float32": lambda: fit_case(WINE.astype(np.float32), 4),
    "integers": lambda: fit_case((IRIS * 10).astype(np.int16), 4),
    "sparse": lambda: fit_case(word_counts(), 4),
    "sparse by column": lambda: fit_case(
        word_counts().tocsc(), 4, base_tree="none", n_base_leaves=1
    ),
    "pipeline": lambda: fit_case(WINE, 3, reference=scaled_pca().fit(WINE)),
    "pipeline with weights": lambda: fit_case(
        WINE, 3, reference=scaled_pca().fit(WINE), weights=random_weights(178)
    ),
    "sparse pipeline": lambda: fit_case(
        word_counts(),
        4,
        reference=make_pipeline(
            TfidfTransformer(), TruncatedSVD(5, random_state=0), KMeans(4, n_init=3, random_state=0)
        ).fit(word_counts()),
    ),
    "one cluster": lambda: fit_case(IRIS, 1),
}


@pytest.fixture(scope="module", params=CASES)
def case(request):
    with threadpool_limits(1):
        return CASES[request.param]()


# ---- every attribute -----------------------------------------------------------------------------


def test_shapes_and_types(case):
    model, (n, d), k = case.model, case.X.shape, case.model.n_clusters
    dimension = case.space.shape[1]
    expected = {
        "labels_": ((n,), np.int32),
        "reference_labels_": ((n,), np.int32),
        "cluster_centers_": ((k, dimension), np.float64),
        "reference_centers_": ((k, dimension), np.float64),
        "cluster_profiles_": ((k, d), np.float64),
        "feature_importances_": ((d,), np.float64),
    }
    for name, (shape, dtype) in expected.items():
        value = getattr(model, name)
        assert (value.shape, value.dtype) == (shape, dtype), name
    for name in ("inertia_", "surrogate_inertia_", "reference_inertia_"):
        assert type(getattr(model, name)) is float, name
    for name in ("n_leaves_", "n_features_in_"):
        assert type(getattr(model, name)) is int, name
    assert isinstance(model.tree_, ThresholdTree)
    assert model.n_features_in_ == d
    assert not hasattr(model, "feature_names_in_")


def test_tree(case):
    model, tree = case.model, case.model.tree_
    assert tree.n_leaves == model.n_leaves_ <= model.max_leaf_nodes
    assert (tree.n_features, tree.n_clusters) == (case.X.shape[1], model.n_clusters)
    leaf = leaf_of(tree, case.table)
    assert model.apply(case.X).tolist() == leaf.tolist()
    assert model.labels_.tolist() == tree.label[leaf].tolist()
    assert model.predict(case.X).tolist() == model.labels_.tolist()
    assert model.labels_.min() >= 0
    assert model.labels_.max() < model.n_clusters


def test_weight_and_costs_of_every_node(case):
    model, tree = case.model, case.model.tree_
    passed = model.decision_path(case.X).toarray().astype(float) * case.weights[:, None]
    np.testing.assert_allclose(tree.weight, passed.sum(axis=0), rtol=1e-12)
    costs = passed.T @ squared_distances(case.space, model.reference_centers_)
    np.testing.assert_allclose(tree.costs, costs, rtol=1e-9, atol=1e-9 * costs.max())


def test_thresholds_lie_between_values(case):
    """Mid-gap between two values that occur, in the node itself if it is not of the base tree."""
    tree = case.model.tree_
    passed = case.model.decision_path(case.X).toarray().astype(bool) & (case.weights > 0)[:, None]
    for node in np.flatnonzero(tree.growth > case.n_base_leaves):
        values = case.table[passed[:, node], tree.feature[node]]
        threshold = tree.threshold[node]
        low, high = values[values <= threshold].max(), values[values > threshold].min()
        assert threshold == low / 2 + high / 2


def test_reference(case):
    model = case.model
    distances = squared_distances(case.space, model.reference_centers_)
    if model.reference is not None:
        clusterer = model.reference[-1] if is_pipeline(model.reference) else model.reference
        np.testing.assert_array_equal(model.reference_centers_, clusterer.cluster_centers_)
    assert model.reference_labels_.tolist() == distances.argmin(axis=1).tolist()
    reference_cost = case.weights @ distances.min(axis=1)
    np.testing.assert_allclose(model.reference_inertia_, reference_cost, rtol=1e-9)


def test_centers_are_the_means_of_the_trees_clusters(case):
    model = case.model
    means = cluster_means(case.space, model.labels_, case.weights, model.reference_centers_)
    np.testing.assert_allclose(model.cluster_centers_, means, rtol=1e-9, atol=1e-9)


def test_profiles_are_the_means_in_the_columns_of_x(case):
    model = case.model
    nothing = np.full(model.cluster_profiles_.shape, np.nan)
    means = cluster_means(case.table, model.labels_, case.weights, nothing)
    np.testing.assert_allclose(model.cluster_profiles_, means, rtol=1e-9, atol=1e-9)


def test_inertia(case):
    model, space, weights = case.model, case.space, case.weights
    means = cluster_means(space, model.labels_, weights, model.reference_centers_)
    inertia = cost_to(space, model.labels_, means, weights)
    surrogate = cost_to(space, model.labels_, model.reference_centers_, weights)
    np.testing.assert_allclose(model.inertia_, inertia, rtol=1e-9)
    np.testing.assert_allclose(model.surrogate_inertia_, surrogate, rtol=1e-9)
    np.testing.assert_allclose(model.tree_.surrogate_cost, surrogate, rtol=1e-9)
    assert model.inertia_ <= model.surrogate_inertia_ * (1 + 1e-12)


def test_every_row_of_the_path(case):
    model, space, weights = case.model, case.space, case.weights
    path = model.path_
    assert path.dtype.names == PATH_FIELDS
    assert path["n_leaves"].tolist() == list(range(case.n_base_leaves, model.n_leaves_ + 1))
    for row in path:
        labels = model.tree_.with_leaves(int(row["n_leaves"])).predict(case.X)
        means = cluster_means(space, labels, weights, model.reference_centers_)
        cost = cost_to(space, labels, means, weights)
        surrogate = cost_to(space, labels, model.reference_centers_, weights)
        right = weights[labels == model.reference_labels_].sum() / weights.sum()
        np.testing.assert_allclose(row["surrogate_cost"], surrogate, rtol=1e-9)
        np.testing.assert_allclose(row["kmeans_cost"], cost, rtol=1e-9)
        np.testing.assert_allclose(row["ratio"], cost / model.reference_inertia_, rtol=1e-9)
        np.testing.assert_allclose(row["accuracy"], right, rtol=1e-9)


def test_the_path_ends_at_the_model(case):
    model, last = case.model, case.model.path_[-1]
    assert last["surrogate_cost"] == model.surrogate_inertia_
    assert last["kmeans_cost"] == model.inertia_
    assert last["ratio"] == model.inertia_ / model.reference_inertia_


def test_feature_importances(case):
    """The surrogate cost each feature's cuts save, every node with its best center."""
    model, tree = case.model, case.model.tree_
    passed = model.decision_path(case.X).toarray() * case.weights[:, None]
    best = (passed.T @ squared_distances(case.space, model.reference_centers_)).min(axis=1)
    saved = np.zeros(case.X.shape[1])
    for node in np.flatnonzero(tree.feature >= 0):
        gain = best[node] - best[tree.left[node]] - best[tree.right[node]]
        saved[tree.feature[node]] += gain
    expected = saved / saved.sum() if saved.any() else saved
    np.testing.assert_allclose(model.feature_importances_, expected, rtol=1e-7, atol=1e-9)


# ---- what it does with rows ----------------------------------------------------------------------


def test_decision_path(case):
    model, tree = case.model, case.model.tree_
    path = model.decision_path(case.X)
    assert path.shape == (case.X.shape[0], tree.n_nodes)
    passed = path.toarray()
    assert set(np.unique(passed)) <= {0, 1}
    leaf = model.apply(case.X)
    assert (passed.sum(axis=1) == tree.depth[leaf] + 1).all()
    assert (passed[np.arange(len(leaf)), leaf] == 1).all()
    children = np.concatenate([tree.left, tree.right])
    parent = np.concatenate([np.arange(tree.n_nodes)] * 2)[children >= 0]
    assert (passed[:, children[children >= 0]] <= passed[:, parent]).all()


def test_transform(case):
    distances = case.model.transform(case.X)
    expected = np.sqrt(squared_distances(case.space, case.model.cluster_centers_))
    assert distances.dtype == np.float64
    np.testing.assert_allclose(distances, expected, rtol=1e-7, atol=1e-6)


def test_score(case):
    model = case.model
    np.testing.assert_allclose(
        model.score(case.X, sample_weight=case.weights), -model.inertia_, rtol=1e-9
    )
    half = slice(0, case.X.shape[0] // 2)
    rows = case.X.tocsr()[half] if sparse.issparse(case.X) else case.X[half]
    labels = model.predict(rows)
    cost = cost_to(case.space[half], labels, model.cluster_centers_, np.ones(len(labels)))
    np.testing.assert_allclose(model.score(rows), -cost, rtol=1e-9)


def test_fit_predict_and_fit_transform(case):
    model = clone(case.model)
    if case.model.reference is not None:
        model.set_params(reference=case.model.reference)  # clone() makes it an unfitted one
    weights = case.weights
    labels = model.fit_predict(case.X, sample_weight=weights)
    assert labels.tolist() == case.model.labels_.tolist()
    distances = model.fit_transform(case.X, sample_weight=weights)
    np.testing.assert_allclose(distances, case.model.transform(case.X), rtol=1e-9)


def test_predict_takes_dense_and_sparse(case):
    table = case.table
    for X in (table, sparse.csr_matrix(table), sparse.csc_matrix(table), sparse.csr_array(table)):
        assert case.model.predict(X).tolist() == case.model.labels_.tolist()


def test_new_rows():
    model = fit_case(IRIS[::2], 3).model
    rows = IRIS[1::2]
    assert model.predict(rows).tolist() == model.tree_.label[leaf_of(model.tree_, rows)].tolist()
    assert model.predict(rows[:1]).shape == (1,)


# ---- with_leaves ---------------------------------------------------------------------------------

BASES = {
    "imm": "imm",
    "none": "none",
    "tree": a_tree(),
    "decision tree": DecisionTreeClassifier(max_leaf_nodes=4, random_state=0).fit(
        IRIS, load_iris().target
    ),
}


@pytest.mark.parametrize("base_tree", BASES.values(), ids=BASES)
@pytest.mark.parametrize("weights", [None, random_weights(150)], ids=["plain", "weighted"])
def test_with_leaves_is_fitting_with_that_number(base_tree, weights):
    parameters = {"reference": kmeans(IRIS, 3), "base_tree": base_tree}
    large = ExKMC(3, max_leaf_nodes=14, **parameters).fit(IRIS, sample_weight=weights)
    smallest = max(3, large.path_["n_leaves"][0])
    assert smallest < large.n_leaves_
    for n_leaves in range(smallest, large.n_leaves_ + 1):
        fitted = ExKMC(3, max_leaf_nodes=n_leaves, **parameters).fit(IRIS, sample_weight=weights)
        small = large.with_leaves(n_leaves)
        assert_same_model(small, fitted)
        assert small.max_leaf_nodes == n_leaves
        assert small.predict(IRIS).tolist() == fitted.predict(IRIS).tolist()
        np.testing.assert_allclose(small.score(IRIS), fitted.score(IRIS), rtol=1e-10)
        np.testing.assert_allclose(small.transform(IRIS), fitted.transform(IRIS), rtol=1e-10)


def test_with_leaves_of_a_pipeline():
    reference = scaled_pca().fit(WINE)
    large = ExKMC(3, max_leaf_nodes=9, reference=reference).fit(WINE)
    for n_leaves in (3, 5, 9):
        fitted = ExKMC(3, max_leaf_nodes=n_leaves, reference=reference).fit(WINE)
        assert_same_model(large.with_leaves(n_leaves), fitted)


def test_with_leaves_below_the_number_of_clusters():
    model = ExKMC(3, base_tree="none", reference=kmeans(IRIS, 3)).fit(IRIS)
    one = model.with_leaves(1)
    assert one.n_leaves_ == 1
    assert len(set(one.predict(IRIS))) == 1
    # The clusters without rows keep their reference centers.
    empty = [c for c in range(3) if c != one.labels_[0]]
    np.testing.assert_array_equal(one.cluster_centers_[empty], one.reference_centers_[empty])
    assert np.isnan(one.cluster_profiles_[empty]).all()


def test_with_leaves_leaves_the_model_alone_and_leads_back():
    model = fit_case(IRIS, 3).model
    before = pickle.dumps(model)
    small = model.with_leaves(4)
    assert pickle.dumps(model) == before
    assert small is not model
    assert_same_model(small.with_leaves(9), model)


# ---- max_leaf_nodes and purity -------------------------------------------------------------------


def test_two_leaves_a_cluster_by_default():
    assert ExKMC(3, reference=kmeans(IRIS, 3)).fit(IRIS).n_leaves_ == 6
    base_tree = ExKMC(3, max_leaf_nodes=9, reference=kmeans(IRIS, 3)).fit(IRIS).tree_
    assert ExKMC(3, reference=kmeans(IRIS, 3), base_tree=base_tree).fit(IRIS).n_leaves_ == 9


def test_growth_stops_when_every_leaf_is_pure():
    model = ExKMC(3, max_leaf_nodes=150, reference=kmeans(IRIS, 3)).fit(IRIS)
    assert 3 < model.n_leaves_ < 150
    assert model.labels_.tolist() == model.reference_labels_.tolist()
    assert model.with_leaves(model.n_leaves_ - 1).path_["accuracy"][-1] < 1.0


def test_one_cluster_needs_one_leaf():
    model = ExKMC(1).fit(IRIS)
    assert model.n_leaves_ == 1
    assert model.feature_importances_.tolist() == [0.0] * 4
    np.testing.assert_allclose(model.cluster_centers_, [IRIS.mean(axis=0)])


# ---- in scikit-learn's company -------------------------------------------------------------------


def test_in_a_pipeline():
    pipeline = make_pipeline(StandardScaler(), ExKMC(3, random_state=0)).fit(WINE)
    scaled = StandardScaler().fit_transform(WINE)
    alone = ExKMC(3, random_state=0).fit(scaled)
    assert pipeline.predict(WINE).tolist() == alone.labels_.tolist()
    np.testing.assert_allclose(pipeline.transform(WINE), alone.transform(scaled))
    assert pipeline.get_feature_names_out().tolist() == ["exkmc0", "exkmc1", "exkmc2"]


def test_grid_search_over_the_number_of_leaves():
    folds = KFold(3, shuffle=True, random_state=0)
    search = GridSearchCV(
        ExKMC(3, random_state=0), {"max_leaf_nodes": [3, 6, 12]}, cv=folds, error_score="raise"
    ).fit(IRIS)
    for row, n_leaves in enumerate([3, 6, 12]):
        scores = [
            ExKMC(3, max_leaf_nodes=n_leaves, random_state=0).fit(IRIS[train]).score(IRIS[test])
            for train, test in folds.split(IRIS)
        ]
        np.testing.assert_allclose(search.cv_results_["mean_test_score"][row], np.mean(scores))
    assert search.best_estimator_.n_leaves_ <= search.best_params_["max_leaf_nodes"]
    assert search.predict(IRIS).shape == (150,)


def test_parameters_of_the_reference_can_be_searched():
    model = ExKMC(None, reference=KMeans(3, n_init=1, random_state=0))
    search = GridSearchCV(model, {"reference__n_clusters": [2, 4]}, error_score="raise").fit(IRIS)
    assert search.best_params_ == {"reference__n_clusters": 4}


@pytest.mark.parametrize("base_tree", ["imm", a_tree()], ids=["imm", "tree"])
def test_clone(base_tree):
    model = ExKMC(3, base_tree=base_tree, reference=KMeans(3, n_init=1, random_state=0))
    twin = clone(model.fit(IRIS))
    assert not hasattr(twin, "tree_")
    assert_same_model(twin.fit(IRIS), model)


def test_pickle(case):
    model = case.model
    if is_pipeline(model.reference) and isinstance(model.reference[0], FunctionTransformer):
        return
    twin = pickle.loads(pickle.dumps(model))
    assert_same_model(twin, model)
    assert twin.predict(case.X).tolist() == model.labels_.tolist()
    np.testing.assert_array_equal(twin.transform(case.X), model.transform(case.X))
    assert_same_model(twin.with_leaves(case.n_base_leaves), model.with_leaves(case.n_base_leaves))


def test_refit_forgets_the_fit_before():
    pandas = pytest.importorskip("pandas")
    model = ExKMC(3, random_state=0).fit(pandas.DataFrame(IRIS, columns=list("abcd")))
    model.fit(WINE)
    assert not hasattr(model, "feature_names_in_")
    assert_same_model(model, ExKMC(3, random_state=0).fit(WINE))


# ---- names and frames ----------------------------------------------------------------------------


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames(library):
    names = ["sl", "sw", "pl", "pw"]
    frame = pytest.importorskip(library).DataFrame({n: IRIS[:, i] for i, n in enumerate(names)})
    model = ExKMC(3, random_state=0).fit(frame)
    assert model.feature_names_in_.tolist() == names
    assert_same_model(model, ExKMC(3, random_state=0).fit(IRIS))
    assert model.predict(frame).tolist() == model.labels_.tolist()
    assert model.apply(frame).tolist() == model.apply(frame[names]).tolist()


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_of_mixed_numbers(library):
    frame = pytest.importorskip(library).DataFrame(
        {"whole": np.arange(30, dtype=np.int8), "real": np.linspace(0, 1, 30, dtype=np.float32)}
    )
    model = ExKMC(2, random_state=0).fit(frame)
    assert model.predict(frame).tolist() == model.labels_.tolist()
    assert len(set(model.labels_)) == 2


def test_feature_names_out():
    model = ExKMC(3, random_state=0).fit(IRIS)
    assert model.get_feature_names_out().tolist() == ["exkmc0", "exkmc1", "exkmc2"]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_set_output(library):
    frames = pytest.importorskip(library)
    model = ExKMC(3, random_state=0).fit(IRIS)
    plain = model.transform(IRIS)
    frame = model.set_output(transform=library).transform(IRIS)
    assert isinstance(frame, frames.DataFrame)
    assert list(frame.columns) == ["exkmc0", "exkmc1", "exkmc2"]
    np.testing.assert_array_equal(frame.to_numpy(), plain)
    assert isinstance(model.predict(IRIS), np.ndarray)


# ---- sample weights ------------------------------------------------------------------------------

WEIGHTED = {
    "imm": {"reference": kmeans(WINE, 5)},
    "none": {"reference": kmeans(WINE, 5), "base_tree": "none"},
    "centers": {"reference": kmeans(WINE, 5).cluster_centers_},
    "pipeline": {"reference": scaled_pca().fit(WINE)},
    "decision tree": {
        "reference": kmeans(WINE, 5),
        "base_tree": DecisionTreeClassifier(max_leaf_nodes=6).fit(WINE, load_wine().target),
    },
}


def fitted(X, parameters, weights=None):
    return ExKMC(None, max_leaf_nodes=20, **parameters).fit(X, sample_weight=weights)


def assert_same_but_for_rows(model, other):
    """Rows differ in number, so labels are compared by prediction."""
    for name in ("feature", "threshold", "left", "right", "label", "growth"):
        np.testing.assert_array_equal(
            getattr(model.tree_, name), getattr(other.tree_, name), err_msg=name
        )
    np.testing.assert_allclose(model.tree_.costs, other.tree_.costs, rtol=1e-10)
    np.testing.assert_allclose(model.tree_.weight, other.tree_.weight, rtol=1e-10)
    assert model.predict(WINE).tolist() == other.predict(WINE).tolist()
    for name in FLOATS:
        np.testing.assert_allclose(
            getattr(model, name), getattr(other, name), rtol=1e-10, atol=1e-12, err_msg=name
        )
    for name in PATH_FIELDS:
        np.testing.assert_allclose(model.path_[name], other.path_[name], rtol=1e-10)


@pytest.mark.parametrize(
    ("name", "form"),
    [(name, np.asarray) for name in WEIGHTED]
    # StandardScaler cannot center a sparse matrix.
    + [(name, sparse.csr_matrix) for name in WEIGHTED if name != "pipeline"],
)
@pytest.mark.parametrize("seed", range(3))
def test_a_weight_is_a_number_of_rows(name, form, seed):
    parameters = WEIGHTED[name]
    weights = np.random.default_rng(seed).integers(0, 4, size=len(WINE))
    weighted = fitted(form(WINE), parameters, weights)
    repeated = fitted(form(np.repeat(WINE, weights, axis=0)), parameters)
    assert_same_but_for_rows(weighted, repeated)
    assert np.repeat(weighted.labels_, weights).tolist() == repeated.labels_.tolist()


@pytest.mark.parametrize("parameters", WEIGHTED.values(), ids=WEIGHTED)
def test_no_weight_is_no_row(parameters):
    weights = random_weights(len(WINE), seed=1)
    there = weights > 0
    assert 0 < there.sum() < len(WINE)
    # A row that is left out may be anywhere, also far outside.
    rows = np.where(there[:, None], WINE, 1e4 * WINE)
    zeros = fitted(rows, parameters, weights)
    without = fitted(WINE[there], parameters, weights[there])
    assert_same_but_for_rows(zeros, without)
    assert zeros.labels_[there].tolist() == without.labels_.tolist()
    assert zeros.labels_.tolist() == zeros.predict(rows).tolist()


@pytest.mark.parametrize("weight", [1.0, 2.0, 1e-6, 1e6])
def test_the_unit_of_weight_does_not_matter(weight):
    plain = fitted(WINE, WEIGHTED["imm"])
    weighted = fitted(WINE, WEIGHTED["imm"], np.full(len(WINE), weight))
    for name in ("feature", "threshold", "left", "right", "label"):
        np.testing.assert_array_equal(getattr(weighted.tree_, name), getattr(plain.tree_, name))
    np.testing.assert_allclose(weighted.inertia_, weight * plain.inertia_, rtol=1e-9)
    np.testing.assert_allclose(weighted.path_["ratio"], plain.path_["ratio"], rtol=1e-9)


def test_weights_reach_a_reference_that_is_fitted_here():
    weights = random_weights(len(WINE), seed=2)
    pipeline = make_pipeline(StandardScaler(), KMeans(3, n_init=3, random_state=0))
    model = ExKMC(3, reference=pipeline).fit(WINE, sample_weight=weights)
    expected = clone(pipeline).fit(WINE, kmeans__sample_weight=weights)
    np.testing.assert_array_equal(model.reference_centers_, expected[-1].cluster_centers_)
    model = ExKMC(3, random_state=0).fit(WINE, sample_weight=weights)
    expected = KMeans(3, n_init=10, random_state=0).fit(WINE, sample_weight=weights)
    assert_same_centers(model.reference_centers_, expected.cluster_centers_)


def test_with_leaves_where_an_imm_leaf_holds_only_mistakes():
    """The leaf is labelled alike whether or not more leaves were asked for."""
    X, centers = np.array([[2, 2], [3, 2], [0, 4]]), np.array([[3, 0], [4, 3], [0, 3]])
    larger = ExKMC(3, max_leaf_nodes=4, reference=centers).fit(X)
    exact = ExKMC(3, max_leaf_nodes=3, reference=centers).fit(X)
    assert larger.with_leaves(3).tree_ == exact.tree_
    np.testing.assert_array_equal(larger.with_leaves(3).labels_, exact.labels_)
