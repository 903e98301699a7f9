"""What a tree starts from: reference clusterings, pipelines, base trees."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import BisectingKMeans, KMeans, MeanShift, MiniBatchKMeans
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from tests.helpers.datasets import kmeans
from tests.helpers.plain_numpy import (
    a_tree,
    assert_same_model,
    cluster_means,
    cost_to,
    same_partition,
    scaled_pca,
    squared_distances,
)
from treemeans import ExKMC, FastKMeans

IRIS = load_iris().data
WINE = load_wine().data
pytestmark = pytest.mark.usefixtures("one_thread")


# ---- references ----------------------------------------------------------------------------------


@pytest.mark.parametrize("reference", [None, "fast"])
def test_the_default_reference(reference):
    model = ExKMC(3, reference=reference, random_state=7).fit(WINE)
    expected = FastKMeans(3, random_state=7).fit(WINE)
    np.testing.assert_array_equal(model.reference_centers_, expected.cluster_centers_)
    assert_same_model(model, ExKMC(3, reference=expected).fit(WINE))


def test_the_papers_reference():
    model = ExKMC(3, reference="kmeans", random_state=7).fit(IRIS)
    expected = KMeans(3, n_init=10, max_iter=300, random_state=7).fit(IRIS)
    np.testing.assert_array_equal(model.reference_centers_, expected.cluster_centers_)


def test_a_name_that_is_no_reference():
    with pytest.raises(ValueError, match='reference must be one of "fast", "kmeans", a clusterer'):
        ExKMC(3, reference="k-means").fit(IRIS)


def test_without_a_number_a_named_reference_has_eight_clusters():
    model = ExKMC(reference="fast", random_state=0).fit(IRIS)
    assert len(model.reference_centers_) == 8


CLUSTERERS = {
    "KMeans": KMeans(4, n_init=2, random_state=3),
    "MiniBatchKMeans": MiniBatchKMeans(4, n_init=2, random_state=3, batch_size=50),
    "BisectingKMeans": BisectingKMeans(4, random_state=3),
    "MeanShift": MeanShift(bandwidth=1.5),
}


@pytest.mark.parametrize("fitted", [True, False], ids=["fitted", "unfitted"])
@pytest.mark.parametrize("name", CLUSTERERS)
def test_a_clusterer_as_reference(name, fitted):
    own = clone(CLUSTERERS[name]).fit(IRIS)
    reference = own if fitted else clone(CLUSTERERS[name])
    model = ExKMC(None, reference=reference).fit(IRIS)
    np.testing.assert_array_equal(model.reference_centers_, own.cluster_centers_)
    nearest = squared_distances(IRIS, own.cluster_centers_).argmin(axis=1)
    assert model.reference_labels_.tolist() == nearest.tolist()
    assert model.reference is reference
    assert hasattr(reference, "cluster_centers_") is fitted  # it was cloned, or left alone


def test_a_fitted_reference_is_used_as_it_is():
    reference = kmeans(IRIS[:100], 3)
    before = pickle.dumps(reference)
    model = ExKMC(3, reference=reference).fit(IRIS)
    np.testing.assert_array_equal(model.reference_centers_, kmeans(IRIS[:100], 3).cluster_centers_)
    assert pickle.dumps(reference) == before


def test_random_state_seeds_a_reference_that_has_no_seed():
    unseeded = KMeans(5, n_init=1, init="random")
    model = ExKMC(5, reference=unseeded, random_state=11).fit(WINE)
    expected = clone(unseeded).set_params(random_state=11).fit(WINE)
    np.testing.assert_array_equal(model.reference_centers_, expected.cluster_centers_)
    assert unseeded.random_state is None

    seeded = KMeans(5, n_init=1, init="random", random_state=4)
    model = ExKMC(5, reference=seeded, random_state=11).fit(WINE)
    expected = clone(seeded).fit(WINE)
    np.testing.assert_array_equal(model.reference_centers_, expected.cluster_centers_)


def test_random_state_seeds_every_step_of_a_pipeline():
    pipeline = make_pipeline(
        StandardScaler(), PCA(3, svd_solver="randomized"), KMeans(4, n_init=1, init="random")
    )
    first = ExKMC(4, reference=pipeline, random_state=5).fit(WINE)
    again = ExKMC(4, reference=pipeline, random_state=5).fit(WINE)
    assert_same_model(first, again)


@pytest.mark.parametrize("form", [np.asarray, np.ndarray.tolist, np.float32], ids=["a", "l", "f"])
def test_an_array_of_centers(form):
    centers = kmeans(IRIS, 3).cluster_centers_
    given = form(centers)
    model = ExKMC(3, reference=given).fit(IRIS)
    np.testing.assert_allclose(model.reference_centers_, centers, rtol=1e-6)
    kept = model.reference_centers_.copy()
    if isinstance(given, np.ndarray):
        given[...] = 0.0
    np.testing.assert_array_equal(model.reference_centers_, kept)


@pytest.mark.parametrize(
    ("reference", "k"),
    [
        (KMeans(4, n_init=1, random_state=0), 4),
        (kmeans(IRIS, 5), 5),
        (IRIS[[0, 60, 130]], 3),
        (make_pipeline(StandardScaler(), KMeans(3, n_init=1, random_state=0)), 3),
        (FrozenEstimator(kmeans(IRIS, 3)), 3),
    ],
    ids=["unfitted", "fitted", "centers", "pipeline", "frozen"],
)
def test_the_number_of_clusters_of_the_reference(reference, k):
    model = ExKMC(None, reference=reference).fit(IRIS)
    assert model.cluster_centers_.shape[0] == k
    assert model.n_leaves_ == 2 * k
    assert model.n_clusters is None


def test_a_frozen_reference_survives_clone():
    centers = kmeans(WINE[::2], 3)
    model = clone(ExKMC(3, reference=FrozenEstimator(centers))).fit(WINE)
    np.testing.assert_array_equal(model.reference_centers_, centers.cluster_centers_)


# ---- pipelines as references ---------------------------------------------------------------------


@pytest.mark.parametrize("fitted", [True, False], ids=["fitted", "unfitted"])
def test_costs_in_the_pipelines_space_and_cuts_in_raw_units(fitted):
    own = scaled_pca().fit(WINE)
    model = ExKMC(3, reference=own if fitted else scaled_pca()).fit(WINE)
    space = own[:-1].transform(WINE)
    labels = model.labels_
    assert model.reference_centers_.shape == model.cluster_centers_.shape == (3, 2)
    ones = np.ones(len(WINE))
    means = cluster_means(space, labels, ones, model.reference_centers_)
    np.testing.assert_allclose(model.cluster_centers_, means, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.inertia_, cost_to(space, labels, means, ones))
    np.testing.assert_allclose(model.reference_inertia_, own[-1].inertia_)
    raw = np.array([WINE[labels == c].mean(axis=0) for c in range(3)])
    np.testing.assert_allclose(model.cluster_profiles_, raw)
    tree = model.tree_
    for node in np.flatnonzero(tree.feature >= 0):
        column = WINE[:, tree.feature[node]]
        assert column.min() < tree.threshold[node] < column.max()
    assert model.path_["ratio"][-1] < 1.5


def test_a_pipeline_is_worth_having():
    """Wine's columns differ a thousandfold in scale: unscaled, only the widest one is cut."""
    plain = ExKMC(3, random_state=0).fit(WINE)
    scaled = ExKMC(3, reference=scaled_pca()).fit(WINE)
    assert np.count_nonzero(plain.feature_importances_) < np.count_nonzero(
        scaled.feature_importances_
    )


def test_scaling_moves_nothing_but_the_units():
    """A power of two scales exactly, so the same tree comes out, its thresholds in raw units."""
    doubled = make_pipeline(
        FunctionTransformer(lambda X: 2.0 * X), KMeans(3, n_init=3, random_state=0)
    ).fit(IRIS)
    model = ExKMC(3, reference=doubled).fit(IRIS)
    plain = ExKMC(3, reference=doubled[-1].cluster_centers_ / 2.0).fit(IRIS)
    assert model.labels_.tolist() == plain.labels_.tolist()
    np.testing.assert_array_equal(model.tree_.threshold, plain.tree_.threshold)
    np.testing.assert_allclose(model.inertia_, 4.0 * plain.inertia_)
    np.testing.assert_allclose(model.transform(IRIS), 2.0 * plain.transform(IRIS), rtol=1e-9)


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("fitted", [True, False], ids=["fitted", "unfitted"])
def test_columns_chosen_by_name(library, fitted):
    frame = pytest.importorskip(library).DataFrame(
        {name: IRIS[:, i] for i, name in enumerate(["sl", "sw", "pl", "pw"])}
    )
    reference = make_pipeline(
        ColumnTransformer([("s", StandardScaler(), ["pl", "pw"]), ("m", MinMaxScaler(), ["sw"])]),
        KMeans(3, n_init=3, random_state=0),
    )
    own = clone(reference).fit(frame)
    model = ExKMC(3, reference=own if fitted else reference).fit(frame)
    assert model.feature_names_in_.tolist() == ["sl", "sw", "pl", "pw"]
    assert model.reference_centers_.shape == (3, 3)
    assert model.cluster_profiles_.shape == (3, 4)
    space = own[:-1].transform(frame)
    np.testing.assert_allclose(model.reference_inertia_, own[-1].inertia_)
    expected = np.sqrt(squared_distances(np.asarray(space), model.cluster_centers_))
    np.testing.assert_allclose(model.transform(frame), expected, rtol=1e-9, atol=1e-9)
    assert model.predict(frame).tolist() == model.labels_.tolist()
    np.testing.assert_allclose(model.score(frame), -model.inertia_)


def test_a_pipeline_of_one_step_is_its_clusterer():
    reference = make_pipeline(KMeans(3, n_init=3, random_state=0)).fit(IRIS)
    model = ExKMC(3, reference=reference).fit(IRIS)
    assert_same_model(model, ExKMC(3, reference=reference[-1]).fit(IRIS))


# ---- base trees ----------------------------------------------------------------------------------


def test_a_threshold_tree_as_base():
    base_tree = a_tree()
    model = ExKMC(3, reference=kmeans(IRIS, 3), base_tree=base_tree, max_leaf_nodes=8).fit(IRIS)
    assert model.n_leaves_ == 8
    assert model.path_["n_leaves"][0] == 5
    base = model.with_leaves(5)
    assert same_partition(base.apply(IRIS), base_tree.apply(IRIS))
    assert base.labels_.tolist() == best_labels(base, IRIS).tolist()
    assert base_tree == a_tree()


def best_labels(model, X):
    """Each leaf's center of least surrogate cost, for each row."""
    leaf = model.apply(X)
    costs = squared_distances(X, model.reference_centers_)
    labels = np.empty(len(X), dtype=int)
    for node in np.unique(leaf):
        labels[leaf == node] = costs[leaf == node].sum(axis=0).argmin()
    return labels


@pytest.mark.parametrize("kind", [DecisionTreeClassifier, DecisionTreeRegressor])
def test_a_decision_tree_as_base(kind):
    decision_tree = kind(max_leaf_nodes=5, random_state=0).fit(IRIS, load_iris().target)
    model = ExKMC(3, reference=kmeans(IRIS, 3), base_tree=decision_tree).fit(IRIS)
    base = model.with_leaves(5)
    assert model.n_leaves_ == 6
    assert same_partition(base.apply(IRIS), decision_tree.apply(IRIS))
    assert base.labels_.tolist() == best_labels(base, IRIS).tolist()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("scale", [2.0**10, -(2.0**10), 2.0**18, 2.0**100], ids=str)
def test_a_decision_tree_of_values_that_float32_rounds(seed, scale):
    """scikit-learn's trees see float32; our cuts must part the float64 rows just as they do."""
    rng = np.random.default_rng(seed)
    # Values a few float32 steps apart, and halves, quarters ... of a step between them.
    X = scale * (1.0 + rng.integers(0, 2**6, size=(400, 2)) * 2.0**-26)
    decision_tree = DecisionTreeClassifier(random_state=0).fit(X, rng.integers(3, size=400))
    theirs, tree = decision_tree.apply(X), decision_tree.tree_
    inner = tree.children_left >= 0
    assert any(  # the naive reading of the thresholds would part the rows otherwise
        np.any((X[:, f] <= t) != (X[:, f].astype(np.float32) <= t))
        for f, t in zip(tree.feature[inner], tree.threshold[inner], strict=True)
    )
    model = ExKMC(None, reference=X[:3], base_tree=decision_tree, max_leaf_nodes=500)
    base = model.fit(X).with_leaves(decision_tree.get_n_leaves())
    assert same_partition(base.apply(X), theirs)


def test_a_decision_tree_of_one_leaf():
    stump = DecisionTreeClassifier(max_depth=1).fit(IRIS, np.zeros(150))
    model = ExKMC(3, reference=kmeans(IRIS, 3), base_tree=stump).fit(IRIS)
    assert_same_model(model, ExKMC(3, reference=kmeans(IRIS, 3), base_tree="none").fit(IRIS))


def test_a_fitted_end_of_an_unfitted_pipeline_is_refused():
    scaled = StandardScaler().fit_transform(IRIS)
    half = make_pipeline(StandardScaler(), KMeans(3, n_init=1, random_state=0).fit(scaled))
    with pytest.raises(ValueError, match="ends in a fitted KMeans, but its step 'standardscaler'"):
        ExKMC(3, reference=half).fit(IRIS)
    passed = make_pipeline("passthrough", KMeans(3, n_init=1, random_state=0).fit(IRIS))
    assert ExKMC(3, reference=passed).fit(IRIS).n_leaves_ >= 3
