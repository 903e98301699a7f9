"""What every baseline promises, and the two that are base trees of ExKMC as well."""

import pickle
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.helpers.datasets import load
from tests.helpers.examples import examples
from tests.helpers.plain_numpy import (
    cluster_means,
    cost_to,
    dense,
    leaf_of,
    random_weights,
    scaled_pca,
    squared_distances,
)
from treemeans import ExKMC, export_text
from treemeans.baselines import CART, CUBT, IMM, CLTree, KDTree

pytestmark = pytest.mark.usefixtures("one_thread")

IRIS = load_iris().data
CENTERS = np.array([[5.0, 3.4, 1.5, 0.2], [5.9, 2.7, 4.4, 1.4], [6.8, 3.1, 5.7, 2.1]])
MODELS = {
    "cart": CART,
    "cart by cost": partial(CART, leaf_label="cost"),
    "kdtree": KDTree,
    "imm": IMM,
    "cltree": partial(CLTree, min_rd=30),
    "cltree touching": partial(CLTree, min_rd=30, criterion="p15", merge_touching=True),
    "cubt": CUBT,
    "cubt by dissimilarity": partial(CUBT, minsize=5, mindist=0.1, join="dissimilarity"),
}
each_model = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS.keys())
reads_sparse = pytest.mark.parametrize("make", [CART, KDTree, IMM])


# ---- scikit-learn's contract ---------------------------------------------------------------------


# Some checks have fewer distinct rows than clusters, or too few rows for a tree of CUBT's.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([CART(3), CLTree(3), CUBT(3, minsize=2)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@each_model
def test_clone_and_pickle(make):
    model = make(3, reference=CENTERS).fit(IRIS)
    again = pickle.loads(pickle.dumps(model))
    assert again.tree_ == model.tree_
    assert again.predict(IRIS).tolist() == model.labels_.tolist()
    assert not hasattr(clone(model), "tree_")


def test_a_grid_search_over_a_baseline():
    grid = {"max_leaf_nodes": [4, 8], "leaf_label": ["majority", "cost"]}
    search = GridSearchCV(CART(3, random_state=0), grid, cv=3).fit(IRIS)
    assert search.best_estimator_.n_leaves_ <= 8


def test_data_frames_give_feature_names():
    frame = pd.DataFrame(IRIS, columns=["a", 'b"', "c\n", "d<img>"])
    model = CLTree(3, min_rd=30, random_state=0).fit(frame)
    assert model.feature_names_in_.tolist() == list(frame.columns)
    assert model.predict(frame).tolist() == model.labels_.tolist()


# ---- what is fitted ------------------------------------------------------------------------------


def assert_adds_up(model, X, weights=None):
    """Every stated number, from scratch."""
    X = dense(X)
    weights = np.ones(len(X)) if weights is None else weights
    tree, k = model.tree_, len(model.reference_centers_)
    leaves = leaf_of(tree, X)
    assert model.labels_.tolist() == tree.label[leaves].tolist()
    assert model.labels_.max() < k
    assert model.n_leaves_ == tree.n_leaves
    assert model.apply(X).tolist() == leaves.tolist()
    means = cluster_means(X, model.labels_, weights, model.reference_centers_)
    np.testing.assert_allclose(model.cluster_centers_, means, rtol=1e-9, atol=1e-9)
    expected = {
        "inertia_": cost_to(X, model.labels_, means, weights),
        "surrogate_inertia_": cost_to(X, model.labels_, model.reference_centers_, weights),
        "reference_inertia_": weights @ squared_distances(X, model.reference_centers_).min(axis=1),
    }
    for name, value in expected.items():
        assert getattr(model, name) == pytest.approx(value, rel=1e-9, abs=1e-9), name
    assert len(model.path_) == 1
    assert model.path_["n_leaves"][0] == model.n_leaves_
    assert model.path_["kmeans_cost"][0] == model.inertia_
    right = weights @ (model.labels_ == model.reference_labels_) / weights.sum()
    assert model.path_["accuracy"][0] == pytest.approx(right)


def assert_thresholds_lie_mid_gap(model, X, weights):
    tree, counted = model.tree_, X[weights > 0]
    path = tree.decision_path(counted).toarray().astype(bool)
    for node in np.flatnonzero(~tree.is_leaf):
        values = counted[path[:, node], tree.feature[node]]
        left = values <= tree.threshold[node]
        assert tree.threshold[node] == pytest.approx((values[left].max() + values[~left].min()) / 2)


def problem(seed, n, d, k):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 3 * rng.normal(size=(k, d))[rng.integers(k, size=n)]
    X = np.round(X, int(rng.integers(0, 4)))
    return X, X[rng.choice(n, k, replace=False)] + 0.25, rng


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@each_model
@examples(8)
@given(st.integers(0, 2**32), st.sampled_from([6, 30, 90]), st.integers(1, 4), st.integers(1, 5))
def test_stated_numbers_are_the_recomputed_ones(make, seed, n, d, k):
    X, centers, rng = problem(seed, n, d, k)
    weights = None if rng.random() < 0.5 else random_weights(n, seed)
    if weights is not None:
        weights[:k] = 1.0
    model = make(k, reference=centers).fit(X, sample_weight=weights)
    assert_adds_up(model, X, weights)
    if make is not IMM:  # which goes by the values of the centers, too
        assert_thresholds_lie_mid_gap(model, X, np.ones(n) if weights is None else weights)
    again = make(k, reference=centers).fit(X, sample_weight=weights)
    assert again.tree_ == model.tree_  # bit for bit


@each_model
def test_numbers_on_iris(make):
    model = make(3, random_state=0).fit(IRIS)
    assert_adds_up(model, IRIS)
    assert model.path_["ratio"][0] == model.inertia_ / model.reference_inertia_ < 3
    assert len(set(model.labels_)) == 3
    assert model.feature_importances_.sum() == pytest.approx(1)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@each_model
@examples(5)
@given(st.integers(0, 2**32), st.sampled_from([8, 40]), st.integers(1, 3), st.integers(1, 4))
def test_a_weight_is_a_number_of_copies(make, seed, n, d, k):
    X, centers, rng = problem(seed, n, d, k)
    weights = rng.integers(0, 4, n).astype(float)
    weights[:k] = 1.0
    model = make(k, reference=centers).fit(X, sample_weight=weights)
    copied = make(k, reference=centers).fit(np.repeat(X, weights.astype(int), axis=0))
    assert model.tree_.n_leaves == copied.tree_.n_leaves
    assert model.tree_.feature.tolist() == copied.tree_.feature.tolist()
    assert model.tree_.label.tolist() == copied.tree_.label.tolist()
    np.testing.assert_allclose(model.tree_.threshold, copied.tree_.threshold)
    assert model.inertia_ == pytest.approx(copied.inertia_)


@each_model
def test_the_order_of_the_rows_does_not_matter(make):
    order = np.random.default_rng(0).permutation(len(IRIS))
    one, other = (make(3, reference=CENTERS).fit(rows) for rows in (IRIS, IRIS[order]))
    assert one.tree_.feature.tolist() == other.tree_.feature.tolist()
    np.testing.assert_allclose(one.tree_.threshold, other.tree_.threshold)
    assert one.labels_[order].tolist() == other.labels_.tolist()


@pytest.mark.parametrize("make", [KDTree, CLTree, CUBT])
def test_threads_do_not_matter(make, two_threads):
    one, two = (make(3, reference=CENTERS, n_jobs=n).fit(IRIS) for n in (1, 2))
    assert one.tree_ == two.tree_


@each_model
@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_number_types(make, dtype):
    X = (IRIS * 10).round().astype(dtype)
    one, other = (make(3, reference=CENTERS * 10).fit(x) for x in (X, X.astype(float)))
    assert one.tree_ == other.tree_


@each_model
def test_a_pipeline_sets_the_prices_and_the_tree_cuts_raw_columns(make):
    model = make(3, reference=scaled_pca()).fit(IRIS)
    assert model.cluster_centers_.shape == (3, 2)
    assert model.cluster_profiles_.shape == (3, 4)
    fitted = scaled_pca().fit(IRIS)
    space = fitted[:-1].transform(IRIS)
    means = cluster_means(space, model.labels_, np.ones(150), fitted[-1].cluster_centers_)
    assert model.inertia_ == pytest.approx(cost_to(space, model.labels_, means, np.ones(150)))
    assert model.predict(IRIS).tolist() == model.labels_.tolist()


@reads_sparse
def test_sparse_is_dense(make):
    X = np.where(IRIS > 2, IRIS, 0.0)
    model, other = (make(3, reference=CENTERS).fit(x) for x in (sparse.csr_matrix(X), X))
    for name in ("feature", "threshold", "label"):
        np.testing.assert_array_equal(getattr(model.tree_, name), getattr(other.tree_, name))
    assert model.inertia_ == pytest.approx(other.inertia_)
    assert model.predict(sparse.csc_matrix(X)).tolist() == model.labels_.tolist()


@pytest.mark.parametrize("make", [CLTree, CUBT])
def test_sparse_is_refused_in_a_sentence(make):
    with pytest.raises(TypeError, match="does not read sparse matrices"):
        make(3).fit(sparse.csr_matrix(IRIS))


@each_model
def test_a_model_comes_back_from_its_file(make, tmp_path):
    model = make(3, reference=CENTERS).fit(IRIS)
    model.save(tmp_path / "model.json")
    again = type(model).load(tmp_path / "model.json")
    assert again.tree_ == model.tree_
    assert again.predict(IRIS).tolist() == model.labels_.tolist()


@each_model
def test_a_single_cluster(make):
    model = make(1, random_state=0).fit(IRIS)
    assert set(model.labels_) == {0}
    assert model.inertia_ == pytest.approx(model.reference_inertia_)


@each_model
def test_the_number_of_clusters_can_come_from_the_reference(make):
    model = make(None, reference=CENTERS).fit(IRIS)
    assert model.reference_centers_.tolist() == CENTERS.tolist()


@each_model
def test_baselines_explain_and_export_as_exkmc_does(make):
    model = make(3, reference=CENTERS).fit(IRIS)
    assert model.score(IRIS) == pytest.approx(-model.inertia_)
    assert model.transform(IRIS).shape == (150, 3)
    assert model.decision_path(IRIS).shape == (150, model.tree_.n_nodes)
    assert str(model.labels_[0]) in str(model.explain(IRIS[0]))
    assert export_text(model).count("cluster") == model.n_leaves_
    assert model.with_leaves(model.n_leaves_).tree_ == model.tree_
    with pytest.raises(ValueError, match="not of 99"):
        model.with_leaves(99)


# ---- trees that are too small --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "advice"),
    [
        (KDTree(3, max_leaf_nodes=3), "raise max_leaf_nodes"),
        (CLTree(3, min_split=10_000), "lower min_split or min_y, or raise min_rd,"),
        (CUBT(3, mindev=1), "lower mindist, mindev or minsize"),
    ],
)
def test_a_tree_with_too_few_leaves_is_told_of(model, advice):
    model.set_params(reference=CENTERS)
    with pytest.warns(
        ConvergenceWarning, match=f"than clusters are wanted .*{advice} for"
    ) as caught:
        model.fit(IRIS)
    assert caught[0].filename == __file__
    assert model.n_leaves_ < 3
    assert_adds_up(model, IRIS)


# ---- bad parameters ------------------------------------------------------------------------------

BAD = [
    *[
        (make, {"n_clusters": bad})
        for make in (CART, KDTree, IMM, CLTree, CUBT)
        for bad in (0, 2.5)
    ],
    *[
        (make, {"max_leaf_nodes": bad})
        for make in (CART, KDTree, CUBT)
        for bad in (0, 2, "8", True)
    ],
    (CART, {"leaf_label": "mean"}),
    (CLTree, {"min_split": 0}),
    (CLTree, {"min_split": 1.5}),
    (CLTree, {"min_split": None}),
    (CLTree, {"min_y": -1}),
    (CLTree, {"min_y": 101}),
    (CLTree, {"min_y": float("nan")}),
    (CLTree, {"min_rd": "10"}),
    (CLTree, {"min_rd": float("inf")}),
    (CLTree, {"criterion": "gini"}),
    (CLTree, {"criterion": ["entropy"]}),
    (CLTree, {"merge_touching": "yes"}),
    (CUBT, {"minsize": 0}),
    (CUBT, {"minsplit": 0}),
    (CUBT, {"mindev": 1.5}),
    (CUBT, {"mindist": -0.1}),
    (CUBT, {"alpha": 2}),
    (CUBT, {"max_depth": 0}),
    (CUBT, {"mindev_rule": "leaf"}),
    (CUBT, {"join": None}),
]


@pytest.mark.parametrize(("make", "bad"), BAD)
def test_bad_parameters_get_a_sentence_that_names_them(make, bad):
    model = make(**({"n_clusters": 3} | bad))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=next(iter(bad))) as refusal:
            model.fit(IRIS)
    message = str(refusal.value)
    assert message.endswith(".")
    assert "\n" not in message
    assert not hasattr(model, "tree_")


@each_model
def test_rows_that_are_no_numbers_are_refused(make):
    bad = IRIS.copy()
    bad[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        make(3).fit(bad)
    model = make(3, reference=CENTERS).fit(IRIS)
    with pytest.raises(ValueError, match="NaN"):
        model.predict(bad)
    with pytest.raises(ValueError, match="features"):
        model.predict(IRIS[:, :2])


@each_model
def test_a_fit_that_fails_leaves_the_old_one(make):
    model = make(3, reference=CENTERS).fit(IRIS)
    before = model.tree_
    with pytest.raises(ValueError, match="n_samples=2"):
        model.fit(IRIS[:2])
    assert model.tree_ is before


# ---- CART, KD-tree, IMM --------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer", "digits"])
def test_cart_is_scikit_learns_tree(name):
    X, k = load(name)
    model = CART(k, random_state=0).fit(X)
    tree = DecisionTreeClassifier(max_leaf_nodes=2 * k, random_state=0)
    assert model.labels_.tolist() == tree.fit(X, model.reference_labels_).predict(X).tolist()


def test_leaves_of_cart_labelled_by_cost_cost_less():
    X, k = load("digits")
    majority, cost = (
        CART(k, random_state=0, leaf_label=how, reference="kmeans").fit(X)
        for how in ("majority", "cost")
    )
    assert cost.surrogate_inertia_ < majority.surrogate_inertia_
    assert cost.path_["accuracy"][0] < majority.path_["accuracy"][0]


def test_kdtree_of_the_specification():
    X = np.arange(1.0, 9.0)[:, None]
    model = KDTree(2, max_leaf_nodes=4, random_state=0).fit(X)
    assert model.tree_.threshold[~model.tree_.is_leaf].tolist() == [4.5, 2.5, 6.5]
    assert model.labels_.tolist() in ([0] * 4 + [1] * 4, [1] * 4 + [0] * 4)
    for n_leaves, made in ((2, 2), (5, 4), (6, 4)):
        rows = np.random.default_rng(0).permutation(150)[:, None]
        assert KDTree(2, max_leaf_nodes=n_leaves, random_state=0).fit(rows).n_leaves_ == made


@pytest.mark.parametrize("name", ["iris", "wine", "digits"])
def test_imm_is_the_tree_that_is_not_expanded(name):
    X, k = load(name)
    model, exkmc = IMM(k, random_state=0).fit(X), ExKMC(k, max_leaf_nodes=k, random_state=0).fit(X)
    assert model.tree_ == exkmc.tree_
    assert model.inertia_ == exkmc.inertia_
