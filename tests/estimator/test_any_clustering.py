"""References without centers, and costs that are given: labels, clusterers, mixtures, tables."""

import dask
import dask.array as da
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import DBSCAN, HDBSCAN, AgglomerativeClustering, Birch, SpectralClustering
from sklearn.datasets import load_iris, load_wine
from sklearn.frozen import FrozenEstimator
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import treemeans
from treemeans import ExKMC
from treemeans.reference import KMedians, SphericalKMeans

WINE = load_wine()
X, Y = WINE.data, WINE.target
WINE_FRAME = load_wine(as_frame=True).data
NAMES = np.array(WINE.target_names)[Y]
Z = StandardScaler().fit_transform(X)


def group_means(rows, labels):
    return np.array([rows[labels == c].mean(axis=0) for c in np.unique(labels)])


FORMS = {
    "array of int": Y,
    "array of float": Y.astype(float),
    "array of text": NAMES,
    "list": NAMES.tolist(),
    "tuple": tuple(NAMES.tolist()),
    "pandas": pd.Series(NAMES),
    "pandas categories": pd.Series(NAMES, dtype="category"),
    "polars": pl.Series(NAMES),
    "objects": pd.Series([(("a",), ("b",), ("c", 1))[label] for label in Y]),
    "tuples in a list": [(("a", 1), ("b", 1), ("c",))[label] for label in Y],
    "tuples of numbers in a list": [((0, 1), (0, 2), (1, 1))[label] for label in Y],
    "sets": [(frozenset("a"), frozenset("ab"), frozenset())[label] for label in Y],
    "booleans and text": [(True, "x", "y")[label] for label in Y],
}


@pytest.mark.parametrize("labels", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("cost", ["auto", "labels"])
def test_labels_in_every_form(labels, cost):
    model = ExKMC(None, reference=labels, cost=cost).fit(X)
    assert len(model.cluster_names_) == 3
    same = model.reference_labels_[:, None] == model.reference_labels_
    np.testing.assert_array_equal(same, Y[:, None] == Y)
    by_number = ExKMC(None, reference=model.reference_labels_, cost=cost).fit(X)
    np.testing.assert_array_equal(model.labels_, by_number.labels_)


def test_masked_labels_are_noise():
    labels = np.ma.array(Y, mask=Y == 0)
    model = ExKMC(None, reference=labels, cost="labels").fit(X)
    assert model.cluster_names_ == ("1", "2")


def test_a_list_of_tuples_that_differ_is_centers():
    centers = [tuple(row) for row in X[[0, 80, 150]]]
    model = ExKMC(3, reference=centers).fit(X)
    np.testing.assert_array_equal(model.reference_centers_, X[[0, 80, 150]])


def test_no_labels_and_what_is_no_reference():
    with pytest.raises(ValueError, match="reference has 0 labels, but X has 178 rows"):
        ExKMC(None, reference=[]).fit(X)
    with pytest.raises(ValueError, match=r"one label for each row .* or an array of centers"):
        ExKMC(None, reference=dict(enumerate(Y))).fit(X)


def test_labels_name_the_clusters():
    model = ExKMC(None, reference=NAMES, cost="labels").fit(X)
    assert model.cluster_names_ == ("class_0", "class_1", "class_2")
    text = str(model.rules())
    assert "agree with the given labels" in text
    assert "cluster 1: class_1" in text
    assert "k-means" not in text
    assert "times" not in text


def test_labels_alone_are_priced_by_group_means():
    model = ExKMC(None, reference=Y, max_leaf_nodes=6).fit(X)
    means = group_means(X, Y)
    np.testing.assert_allclose(model.reference_centers_, means)
    own = ((X - means[Y]) ** 2).sum()
    assert model.reference_inertia_ == pytest.approx(own)
    tree = group_means(X, model.labels_)
    assert model.inertia_ == pytest.approx(((X - tree[model.labels_]) ** 2).sum())
    assert model.path_["accuracy"][-1] == pytest.approx((model.labels_ == Y).mean())
    assert "times their cost" in str(model.rules())


@pytest.mark.parametrize("refine", ["none", "local", "search"])
def test_the_cost_of_labels_counts_rows_in_another_cluster(refine):
    rounds = 20 if refine == "search" else None
    model = ExKMC(
        None, reference=Y, cost="labels", max_leaf_nodes=5, refine=refine, search_rounds=rounds
    ).fit(X)
    assert model.inertia_ == np.count_nonzero(model.labels_ != Y)
    assert model.surrogate_inertia_ == model.inertia_
    assert model.reference_inertia_ == 0
    np.testing.assert_allclose(model.cluster_centers_, group_means(X, model.labels_))


def test_sample_weights_count_in_the_cost_of_labels():
    weights = np.random.default_rng(0).integers(0, 4, len(X)).astype(float)
    model = ExKMC(None, reference=Y, cost="labels").fit(X, sample_weight=weights)
    assert model.inertia_ == weights[model.labels_ != Y].sum()
    copies = np.repeat(np.arange(len(X)), weights.astype(int))
    again = ExKMC(None, reference=Y[copies], cost="labels").fit(X[copies])
    np.testing.assert_array_equal(again.tree_.threshold, model.tree_.threshold)


# ---- noise ---------------------------------------------------------------------------------------

NOISY = np.where(np.arange(len(Y)) % 7 == 0, -1, Y)


@pytest.mark.parametrize("cost", ["auto", "labels"])
@pytest.mark.parametrize("mark", [-1, np.nan, None])
def test_noise_that_is_ignored(cost, mark):
    labels = [mark if label == -1 else int(label) for label in NOISY]
    model = ExKMC(None, reference=labels, cost=cost).fit(X)
    kept = NOISY >= 0
    np.testing.assert_array_equal(model.reference_labels_, NOISY)
    without = ExKMC(None, reference=Y[kept], cost=cost).fit(X[kept])
    np.testing.assert_array_equal(model.tree_.feature, without.tree_.feature)
    np.testing.assert_array_equal(model.predict(X), without.predict(X))
    assert model.inertia_ == pytest.approx(without.inertia_)
    assert len(model.labels_) == len(X)  # they have a leaf all the same


def test_noise_as_a_cluster():
    model = ExKMC(None, reference=NOISY, cost="labels", noise="cluster", max_leaf_nodes=12).fit(X)
    assert model.cluster_names_ == ("0", "1", "2", "noise")
    np.testing.assert_array_equal(model.reference_labels_ == 3, NOISY == -1)


# ---- clusterers ----------------------------------------------------------------------------------

CLUSTERERS = {
    "agglomerative": AgglomerativeClustering(3),
    "spectral": SpectralClustering(3, affinity="nearest_neighbors", random_state=0),
    "birch": Birch(n_clusters=3),
    "hdbscan": HDBSCAN(min_cluster_size=8, copy=True),
    "dbscan": DBSCAN(eps=30.0),
}


@pytest.mark.parametrize("name", CLUSTERERS)
@pytest.mark.parametrize("cost", ["auto", "labels"])
@pytest.mark.parametrize("fitted", [False, True])
def test_clusterers_without_centers(name, cost, fitted):
    clusterer = CLUSTERERS[name]
    expected = clusterer.fit_predict(X)
    reference = FrozenEstimator(clusterer.fit(X)) if fitted else clusterer
    model = ExKMC(None, reference=reference, cost=cost).fit(X)
    np.testing.assert_array_equal(model.reference_labels_, expected)
    by_labels = ExKMC(None, reference=expected, cost=cost).fit(X)
    np.testing.assert_array_equal(model.labels_, by_labels.labels_)
    assert f"agree with {type(clusterer).__name__}" in str(model.rules())


def test_a_pipeline_to_a_clusterer_without_centers():
    pipeline = make_pipeline(StandardScaler(), AgglomerativeClustering(3))
    model = ExKMC(None, reference=pipeline).fit(X)
    labels = AgglomerativeClustering(3).fit_predict(Z)
    np.testing.assert_array_equal(model.reference_labels_, labels)
    np.testing.assert_allclose(model.reference_centers_, group_means(Z, labels))  # its space
    assert model.tree_.n_features == X.shape[1]
    assert model.tree_.threshold[model.tree_.feature >= 0].max() > 3  # in raw units


def test_clusterers_of_distances_are_fitted_to_them():
    distances = np.abs(X[:, None, 12] - X[None, :, 12])
    clusterer = AgglomerativeClustering(3, metric="precomputed", linkage="average")
    with pytest.raises(ValueError, match=r"takes a table of distances of all rows \(precomputed\)"):
        ExKMC(reference=clusterer).fit(X)
    model = ExKMC(reference=clusterer.fit(distances), cost="labels", max_leaf_nodes=3).fit(X)
    assert model.labels_.tolist() == clusterer.labels_.tolist()


class OnlyFitPredict:
    """A clusterer of a package that does not know scikit-learn."""

    def fit_predict(self, rows):
        self.labels_ = (np.asarray(rows)[:, 12] > 750).astype(int)  # by proline
        return self.labels_


class OnlyLabels:
    def __init__(self):
        self.labels_ = Y


@pytest.mark.parametrize("table", [X, WINE_FRAME], ids=["array", "frame"])
@pytest.mark.parametrize("cost", ["auto", "labels"])
def test_clusterers_of_other_packages(table, cost):
    clusterer = OnlyFitPredict()
    model = ExKMC(reference=clusterer, cost=cost, max_leaf_nodes=2).fit(table)
    assert not hasattr(clusterer, "labels_")  # as clusterers of scikit-learn stay as they are
    assert model.labels_.tolist() == (X[:, 12] > 750).astype(int).tolist()
    assert "100 % agree with OnlyFitPredict" in str(model.rules())
    clusterer.fit_predict(X)
    clusterer.labels_ = 1 - clusterer.labels_
    fitted = ExKMC(reference=clusterer, cost=cost, max_leaf_nodes=2).fit(table)
    assert fitted.labels_.tolist() == (1 - model.labels_).tolist()
    given = ExKMC(reference=OnlyLabels(), cost=cost, max_leaf_nodes=4).fit(table)
    same = ExKMC(reference=Y, cost=cost, max_leaf_nodes=4).fit(table)
    assert given.labels_.tolist() == same.labels_.tolist()


def test_a_clusterer_of_another_package_sees_a_mixed_table():
    frame = WINE_FRAME.assign(name=NAMES)
    model = ExKMC(reference=OnlyFitPredict(), cost="labels", max_leaf_nodes=2).fit(frame)
    assert model.labels_.tolist() == (X[:, 12] > 750).astype(int).tolist()


def test_medoids():
    kmedoids = pytest.importorskip("kmedoids")
    reference = kmedoids.KMedoids(3, method="fasterpam", metric="euclidean", random_state=0)
    model = ExKMC(None, reference=reference).fit(X)
    expected = reference.fit(X)
    np.testing.assert_array_equal(model.reference_centers_, X[expected.medoid_indices_])


# ---- mixtures ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [GaussianMixture, BayesianGaussianMixture])
@pytest.mark.parametrize("covariance_type", ["full", "diag", "spherical", "tied"])
def test_a_mixture_is_priced_by_its_responsibilities(kind, covariance_type):
    mixture = kind(n_components=3, covariance_type=covariance_type, random_state=0).fit(X)
    model = ExKMC(None, reference=mixture, max_leaf_nodes=6).fit(X)
    expected = -np.log(np.maximum(mixture.predict_proba(X), 1e-300))
    np.testing.assert_array_equal(model.reference_labels_, mixture.predict(X))
    assert model.reference_inertia_ == pytest.approx(expected.min(axis=1).sum(), abs=1e-6)
    own = expected[np.arange(len(X)), model.labels_]
    if own.max() < 600:
        assert model.inertia_ == pytest.approx(own.sum(), rel=1e-6)
    assert model.score(X) == pytest.approx(-model.inertia_)
    frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(X.shape[1])])
    assert ExKMC(None, reference=mixture, max_leaf_nodes=6).fit(frame).score(frame) == (
        pytest.approx(-model.inertia_)
    )
    assert f"agree with {kind.__name__}" in str(model.rules())


def test_a_pipeline_to_a_mixture():
    pipeline = make_pipeline(StandardScaler(), GaussianMixture(3, random_state=0))
    model = ExKMC(None, reference=pipeline, max_leaf_nodes=6).fit(X)
    np.testing.assert_array_equal(model.reference_labels_, pipeline.fit(X).predict(X))
    assert model.score(X) == pytest.approx(-model.inertia_)


def test_probabilities_that_underflow():
    rng = np.random.default_rng(0)
    far = np.concatenate([rng.normal(c, 1e-3, (40, 2)) for c in (0.0, 1e3, 2e3)])
    mixture = GaussianMixture(3, random_state=0).fit(far)
    assert (mixture.predict_proba(far) == 0).any()
    model = ExKMC(None, reference=mixture).fit(far)
    np.testing.assert_array_equal(model.labels_, mixture.predict(far))
    # One leaf for all rows would have a finite cost, which still tells how far away they are.
    root = model.tree_.costs[0]
    assert np.isfinite(root).all()
    assert root.min() > 1e6


def test_means_of_a_mixture_with_another_cost():
    mixture = GaussianMixture(3, random_state=0).fit(X)
    model = ExKMC(None, reference=mixture, cost="kmeans").fit(X)
    np.testing.assert_array_equal(model.reference_centers_, mixture.means_)


def test_a_table_that_is_not_all_numbers():
    frame = WINE_FRAME.assign(region=np.where(X[:, 0] > 13, "north", "south"))
    frame.loc[::11, "ash"] = np.nan
    for parameters in ({"reference": NAMES, "cost": "labels"}, {"reference": NAMES}, FITS["table"]):
        model = ExKMC(None, max_leaf_nodes=6, **parameters).fit(frame)
        assert np.isfinite(model.cluster_centers_).all()
        np.testing.assert_array_equal(model.predict(frame), model.labels_)
        model.rules()


# ---- tables of costs -----------------------------------------------------------------------------


def squared(rows):
    return ((np.asarray(rows)[:, None, :] - group_means(X, Y)) ** 2).sum(axis=2)


@pytest.mark.parametrize("refine", ["none", "search"])
def test_a_table_of_squared_distances_gives_the_tree_of_its_centers(refine):
    rounds = 10 if refine == "search" else None
    model = ExKMC(None, cost=squared(X), max_leaf_nodes=6).fit(X)
    expected = ExKMC(None, reference=group_means(X, Y), max_leaf_nodes=6).fit(X)
    np.testing.assert_array_equal(model.reference_labels_, expected.reference_labels_)
    assert model.surrogate_inertia_ == pytest.approx(
        squared(X)[np.arange(len(X)), model.labels_].sum()
    )
    refined = ExKMC(None, cost=squared, max_leaf_nodes=6, refine=refine, search_rounds=rounds).fit(
        X
    )
    assert refined.inertia_ <= model.inertia_ * (1 + 1e-12)


def test_names_of_a_frame_of_costs():
    table = pd.DataFrame(squared(X), columns=["low", "middle", "high"])
    assert ExKMC(None, cost=table).fit(X).cluster_names_ == ("low", "middle", "high")


def test_names_of_an_arrow_table_of_costs():
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"cheap": X[:, 12], "dear": 1500 - X[:, 12]})
    assert ExKMC(None, cost=table).fit(X).cluster_names_ == ("cheap", "dear")


def test_a_function_of_costs_scores_other_rows():
    model = ExKMC(None, cost=squared).fit(X)
    half = X[::2]
    expected = squared(half)[np.arange(len(half)), model.predict(half)].sum()
    assert model.score(half) == pytest.approx(-expected)
    with pytest.raises(ValueError, match="costs of other rows are not known"):
        ExKMC(None, cost=squared(X)).fit(X).score(half)


def test_negative_costs_are_shifted():
    model = ExKMC(None, cost=squared(X)).fit(X)
    lower = ExKMC(None, cost=squared(X) - 1e6).fit(X)
    np.testing.assert_array_equal(lower.labels_, model.labels_)
    assert lower.inertia_ == pytest.approx(model.inertia_ - len(X) * squared(X).min())


def test_forbidden_pairs_are_honoured():
    rng = np.random.default_rng(0)
    for case in range(20):
        rows = rng.normal(size=(60, 3))
        table = rng.random((60, 4))
        table[np.arange(60), rng.integers(0, 4, 60)] = np.inf
        model = ExKMC(None, cost=table, max_leaf_nodes=60, base_tree="none").fit(rows)
        assert np.isfinite(table[np.arange(60), model.labels_]).all(), case


def test_forbidden_pairs_that_no_tree_keeps_apart():
    table = np.array([[0.0, np.inf], [np.inf, 0.0], [0.0, 1.0]])
    with pytest.warns(UserWarning, match="1 row is in a cluster of infinite cost"):
        ExKMC(None, cost=table).fit([[1.0], [1.0], [1.0]])


# ---- the same for every number of threads, and after saving --------------------------------------

FITS = {
    "kmedians": {"n_clusters": 3, "cost": "kmedians", "random_state": 0},
    "kmedians of labels": {"reference": NAMES, "cost": "kmedians"},
    "kmedians in a pipeline": {
        "reference": make_pipeline(StandardScaler(), KMedians(3, random_state=0)),
        "cost": "kmedians",
    },
    "cosine": {"n_clusters": 3, "cost": "cosine", "random_state": 0},
    "labels": {"reference": NAMES, "cost": "labels"},
    "means of labels": {"reference": NAMES},
    "mixture": {"reference": GaussianMixture(3, random_state=0)},
    "table": {"cost": squared(X)},
    "table with forbidden pairs": {"cost": np.where(squared(X) > 8e5, np.inf, squared(X))},
}


@pytest.mark.parametrize("parameters", FITS.values(), ids=FITS)
@pytest.mark.parametrize("refine", ["none", "search"])
def test_the_same_tree_for_any_number_of_threads(parameters, refine):
    rounds = 10 if refine == "search" else None
    models = [
        ExKMC(
            **{"n_clusters": None} | parameters, refine=refine, search_rounds=rounds, n_jobs=n
        ).fit(X)
        for n in (1, 2, 3)
    ]
    for model in models[1:]:
        np.testing.assert_array_equal(model.tree_.threshold, models[0].tree_.threshold)
        np.testing.assert_array_equal(model.path_, models[0].path_)


@pytest.mark.parametrize("parameters", FITS.values(), ids=FITS)
def test_saved_and_loaded(parameters, tmp_path):
    model = ExKMC(**{"n_clusters": None} | parameters, max_leaf_nodes=6).fit(X)
    model.save(tmp_path / "model.json")
    again = treemeans.load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.path_, model.path_)
    np.testing.assert_allclose(again.cluster_centers_, model.cluster_centers_)
    assert str(again.rules()) == str(model.rules())
    small = model.with_leaves(int(model.path_["n_leaves"][0]))
    loaded = again.with_leaves(small.n_leaves_)
    assert str(loaded.rules()) == str(small.rules())
    assert loaded.inertia_ == small.inertia_


@pytest.mark.parametrize(
    ("reference", "cost"), [(KMedians, "kmedians"), (SphericalKMeans, "cosine")]
)
def test_auto_is_the_cost_that_a_reference_lowers(reference, cost):
    own = reference(3, random_state=0)
    by_auto = ExKMC(3, reference=own, random_state=0).fit(X)
    by_name = ExKMC(3, reference=own, cost=cost, random_state=0).fit(X)
    assert by_auto._fit_result.cost == cost
    assert by_auto.inertia_ == by_name.inertia_
    rows = da.from_array(X, chunks=(50, X.shape[1]))
    with (
        dask.config.set({"treemeans.gather": 0}),
        pytest.raises(ValueError, match=f'cost="{cost}" needs all rows in one memory'),
    ):
        ExKMC(3, reference=own.fit(X), refine="local").fit(rows)


def test_labels_in_another_order_of_the_rows_are_refused():
    frame = pd.DataFrame(load_iris().data, columns=list("abcd"))
    labels = pd.Series(load_iris().target)
    shuffled = labels.sample(frac=1.0, random_state=0)
    with pytest.raises(ValueError, match=r"another order; pass reference.loc\[X.index\]"):
        ExKMC(None, reference=shuffled).fit(frame)
    costs = pd.DataFrame(np.eye(3)[labels]).sample(frac=1.0, random_state=0)
    with pytest.raises(ValueError, match=r"another order; pass cost.loc\[X.index\]"):
        ExKMC(None, cost=costs).fit(frame)
    same = ExKMC(None, reference=shuffled.loc[frame.index]).fit(frame).labels_
    other_index = labels.set_axis(range(1000, 1150))
    np.testing.assert_array_equal(ExKMC(None, reference=other_index).fit(frame).labels_, same)


@pytest.mark.parametrize(
    ("reference", "says"),
    [
        (np.ones((150, 3)), "a table of costs is passed as cost="),
        (lambda X: np.ones((len(X), 3)), "is passed as cost="),
        (pd.DataFrame({"segment": load_iris().target}), "pass a single column"),
    ],
)
def test_costs_and_columns_where_centers_are_expected(reference, says):
    with pytest.raises(ValueError, match=says):
        ExKMC(None, reference=reference).fit(load_iris().data)


def test_complex_costs_are_refused():
    with pytest.raises(ValueError, match="real numbers"):
        ExKMC(None, cost=np.ones((150, 3), complex)).fit(load_iris().data)


@pytest.mark.parametrize(("cost", "word"), [("kmedians", "k-medians"), ("cosine", "spherical")])
def test_given_centers_are_called_by_their_cost(cost, word):
    X = load_iris().data
    model = ExKMC(3, reference=X[[0, 60, 120]], cost=cost).fit(X)
    assert f"agree with {word}" in str(model.rules())


def test_costs_whose_sum_overflows_are_refused():
    table = np.random.default_rng(0).random((len(X), 3)) * 1e308
    with pytest.raises(ValueError, match="costs so large that their sum overflows"):
        ExKMC(None, cost=table).fit(X)


class ArraysOnly(ClusterMixin, BaseEstimator):
    """A clusterer that indexes rows as an array, like some packages beside scikit-learn."""

    def fit(self, X, y=None):
        self.labels_ = (X[:, 0] > X[[0, 1], 0].mean()).astype(int)
        return self


def test_a_clusterer_that_takes_arrays_only_explains_a_frame():
    frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(X.shape[1])])
    model = ExKMC(None, reference=ArraysOnly(), cost="labels").fit(frame)
    np.testing.assert_array_equal(model.labels_, X[:, 0] > X[[0, 1], 0].mean())


def test_medoids_of_a_frame():
    kmedoids = pytest.importorskip("kmedoids")
    frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(X.shape[1])])
    reference = kmedoids.KMedoids(3, metric="euclidean", random_state=0)
    of_frame = ExKMC(None, reference=reference).fit(frame)
    of_array = ExKMC(None, reference=reference).fit(X)
    np.testing.assert_array_equal(of_frame.tree_.threshold, of_array.tree_.threshold)
    np.testing.assert_array_equal(of_frame.reference_centers_, of_array.reference_centers_)
