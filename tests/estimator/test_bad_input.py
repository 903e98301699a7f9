"""Bad input gets one clear sentence, and nothing else happens."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.cluster import (
    DBSCAN,
    AffinityPropagation,
    AgglomerativeClustering,
    KMeans,
)
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from tests.helpers.datasets import kmeans
from treemeans import ExKMC, ThresholdTree

X = load_iris().data
CENTERS = np.array([[5.0, 3.4, 1.5, 0.2], [5.9, 2.7, 4.4, 1.4], [6.8, 3.1, 5.7, 2.1]])


def given(n_clusters=3, **parameters):
    """A model whose reference is given, so that nothing but the input can be at fault."""
    return ExKMC(n_clusters, **({"reference": CENTERS} | parameters))


def refused(action, sentence, error=ValueError):
    """The message with which ``action`` fails; a warning on the way is a failure of the test."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(error, match=sentence) as refusal:
            action()
    return str(refusal.value)


def fit_refused(model, rows, sentence, error=ValueError, **fit):
    """Fitting fails with the sentence, and leaves no fitted model behind."""
    before = model.get_params()
    message = refused(lambda: model.fit(rows, **fit), sentence, error)
    assert not hasattr(model, "tree_")
    assert not hasattr(model, "labels_")
    assert model.get_params() == before
    return message


def one_sentence(message):
    return "\n" not in message and message.rstrip().endswith((".", "!"))


def broken(value, dtype=np.float64, place=(17, 2)):
    rows = X.astype(dtype)
    rows[place] = value
    return rows


@pytest.fixture(scope="module")
def model():
    return given().fit(X)


# ---- X -------------------------------------------------------------------------------------------

NOT_FINITE = {
    "NaN": (np.nan, "Input X contains NaN"),
    "infinity": (np.inf, "Input X contains infinity"),
    "minus infinity": (-np.inf, "Input X contains infinity"),
}
TABLES = {
    "float64": np.asarray,
    "float32": lambda rows: rows.astype(np.float32),
    "objects": lambda rows: rows.astype(object),
    "csr": sparse.csr_matrix,
    "csc": sparse.csc_matrix,
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
@pytest.mark.parametrize(("value", "sentence"), NOT_FINITE.values(), ids=NOT_FINITE)
@pytest.mark.parametrize("reference", [CENTERS, None], ids=["centers", "no reference"])
def test_not_finite(value, sentence, table, reference):
    fit_refused(given(reference=reference), table(broken(value)), sentence)


@pytest.mark.parametrize(("value", "sentence"), NOT_FINITE.values(), ids=NOT_FINITE)
def test_not_finite_is_said_in_one_sentence(value, sentence):
    # scikit-learn goes on about supervised learning, six lines long; a clustering should not.
    assert one_sentence(fit_refused(given(), broken(value), sentence))


@pytest.mark.parametrize("place", [(0, 0), (149, 3)], ids=["first", "last"])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_not_finite_anywhere(place, n_jobs):
    where = rf"contains NaN \(first in row {place[0]}, column {place[1]}\); fill it in, or pass a"
    fit_refused(given(n_jobs=n_jobs), broken(np.nan, place=place), where)


@pytest.mark.parametrize("method", ["predict", "apply", "decision_path", "transform", "score"])
@pytest.mark.parametrize("table", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize(("value", "sentence"), NOT_FINITE.values(), ids=NOT_FINITE)
def test_not_finite_later(model, method, table, value, sentence):
    refused(lambda: getattr(model, method)(table(broken(value))), sentence)


SHAPES = {
    "strings": (
        np.array([["low", "high"], ["high", "low"], ["low", "low"]]),
        "X holds text, and an array must hold numbers",
    ),
    "strings among objects": (
        broken("tall", dtype=object),
        "X holds text, and an array must hold numbers",
    ),
    "no rows": (np.empty((0, 4)), r"0 sample\(s\) .* minimum of 1 is required"),
    "no rows, sparse": (sparse.csr_matrix((0, 4)), r"0 sample\(s\)"),
    "no columns": (np.empty((20, 0)), r"0 feature\(s\) .* minimum of 1 is required"),
    "1-d": (np.arange(20.0), "Expected 2D array, got 1D array instead"),
    "0-d": (np.float64(3.0), "Expected 2D array, got scalar array instead"),
    "3-d": (np.zeros((5, 4, 2)), "Found array with dim 3"),
    "complex": (X * 1j, "Complex data not supported"),
    "nothing": (None, "X is None; pass an array or data frame"),
}


@pytest.mark.parametrize(("rows", "sentence"), SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("base_tree", ["imm", "none"])
def test_no_table_of_numbers(rows, sentence, base_tree):
    fit_refused(ExKMC(3, base_tree=base_tree), rows, sentence)


def test_values_whose_squares_overflow():
    message = fit_refused(given(), X * 1e200, "squared distances overflow: .* too large")
    assert "StandardScaler" in message


@pytest.mark.parametrize("reference", [CENTERS * 1e95, None], ids=["centers", "none"])
def test_weights_that_make_squares_overflow_are_named(reference):
    estimator = ExKMC(len(CENTERS), reference=reference)
    with pytest.raises(ValueError, match="times the sample weights overflow"):
        estimator.fit(X * 1e95, sample_weight=np.full(len(X), 1e127))


# ---- rows and clusters ---------------------------------------------------------------------------

REFERENCES = {
    "no reference": None,
    "centers": CENTERS,
    "unfitted": KMeans(3, n_init=1, random_state=0),
    "fitted": kmeans(X, 3),
    "pipeline": make_pipeline(StandardScaler(), KMeans(3, n_init=1, random_state=0)),
}


@pytest.mark.parametrize("reference", REFERENCES.values(), ids=REFERENCES)
def test_fewer_rows_than_clusters(reference):
    fit_refused(given(reference=reference), X[:2], "n_samples=2 should be >= n_clusters=3")


@pytest.mark.parametrize("name", [name for name in REFERENCES if name != "no reference"])
def test_fewer_rows_than_clusters_of_the_reference(name):
    model = ExKMC(None, reference=REFERENCES[name])
    fit_refused(model, X[:2], "n_samples=2 should be >= n_clusters=3")


@pytest.mark.parametrize("base_tree", ["imm", "none"])
@pytest.mark.parametrize("reference", ["no reference", "centers", "unfitted", "fitted"])
def test_fewer_distinct_rows_than_clusters(reference, base_tree):
    rows = np.repeat(X[[0, 149]], 10, axis=0)
    model = given(reference=REFERENCES[reference], base_tree=base_tree)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(rows)
    assert caught
    assert {type(warning.message) for warning in caught} <= {ConvergenceWarning}
    assert model.cluster_centers_.shape == (3, 4)
    assert np.isfinite(model.cluster_centers_).all()
    assert len(set(model.labels_[:10])) == len(set(model.labels_[10:])) == 1
    assert model.labels_[0] != model.labels_[10]
    assert model.predict(rows).tolist() == model.labels_.tolist()
    assert model.inertia_ == pytest.approx(0.0, abs=1e-12)


def test_the_warning_of_empty_clusters_says_how_many():
    with pytest.warns(ConvergenceWarning, match="Only 2 of the 3 reference centers") as caught:
        given().fit(X[[0, 149] * 10])
    assert len(caught) == 1
    assert caught[0].filename == __file__, "the warning should point at the call of fit"


# ---- parameters ----------------------------------------------------------------------------------

NUMBERS = [0, -1, 2.5, 3.0, "3", True, [3]]


@pytest.mark.parametrize("value", NUMBERS, ids=repr)
def test_n_clusters(value):
    sentence = "n_clusters must be an integer of at least 1, or None; got "
    assert one_sentence(fit_refused(ExKMC(value), X, sentence))


@pytest.mark.parametrize("value", NUMBERS, ids=repr)
def test_max_leaf_nodes(value):
    sentence = "max_leaf_nodes must be an integer of at least 1, or None; got "
    assert one_sentence(fit_refused(given(max_leaf_nodes=value), X, sentence))


def test_no_number_of_clusters_at_all():
    assert ExKMC(random_state=0).fit(X).reference_centers_.shape[0] == 8
    assert ExKMC(reference=LABELS).fit(X).tree_.n_clusters == 3


@pytest.mark.parametrize("reference", REFERENCES.values(), ids=REFERENCES)
@pytest.mark.parametrize("n_clusters", [3, None])
@pytest.mark.parametrize("base_tree", ["imm", "none"])
def test_fewer_leaves_than_clusters(reference, n_clusters, base_tree):
    if n_clusters is None and reference is None:
        return
    model = ExKMC(n_clusters, max_leaf_nodes=2, reference=reference, base_tree=base_tree)
    message = fit_refused(model, X, "max_leaf_nodes=2 is less than n_clusters=3")
    assert one_sentence(message)


def test_parameters_are_checked_before_the_reference_is_fitted():
    class Untouched(KMeans):
        def fit(self, X, y=None, sample_weight=None):
            raise AssertionError("the reference was fitted")

    fit_refused(ExKMC(3, max_leaf_nodes=2, reference=Untouched(3)), X, "max_leaf_nodes=2")
    fit_refused(ExKMC(3, base_tree="oak", reference=Untouched(3)), X, "base_tree must be")
    weights = -np.ones(len(X))
    fit_refused(ExKMC(3, reference=Untouched(3)), X, "Negative", sample_weight=weights)
    fit_refused(ExKMC(3, reference=Untouched(3)), broken(np.nan), "NaN")


def test_n_jobs_zero():
    fit_refused(given(n_jobs=0), X, "n_jobs == 0")


BASE_TREES = {
    "unknown": ("oak", 'base_tree must be one of "none", "imm", .* a ThresholdTree or a fitted'),
    "None": (None, "base_tree must be .* got None"),
    "a number": (3, "base_tree must be .* got 3"),
    "an array": (CENTERS, "base_tree must be "),
    "a model": (ExKMC(3), "base_tree must be "),
    "for fewer columns": (
        ThresholdTree([-1], [0.0], [-1], [-1], [0], n_features=2),
        "base_tree was made for 2 columns, but X has 4",
    ),
    "a decision tree for fewer columns": (
        DecisionTreeClassifier().fit(X[:, :3], load_iris().target),
        "base_tree was made for 3 columns, but X has 4",
    ),
}


@pytest.mark.parametrize(("base_tree", "sentence"), BASE_TREES.values(), ids=BASE_TREES)
def test_base_tree(base_tree, sentence):
    fit_refused(given(base_tree=base_tree), X, sentence)


def test_base_tree_that_is_not_fitted():
    model = given(base_tree=DecisionTreeClassifier())
    fit_refused(model, X, "DecisionTreeClassifier .* not fitted", NotFittedError)


def test_base_tree_with_more_leaves_than_allowed():
    tree = given(max_leaf_nodes=6).fit(X).tree_
    model = given(base_tree=tree, max_leaf_nodes=5)
    fit_refused(model, X, "max_leaf_nodes=5, but base_tree already has 6 leaves")


# ---- sample_weight -------------------------------------------------------------------------------

ONES = np.ones(len(X))
WEIGHTS = {
    "negative": (np.where(np.arange(150) == 3, -1.0, 1.0), "Negative values .* `?sample_weight"),
    "NaN": (np.where(np.arange(150) == 3, np.nan, 1.0), "sample_weight contains NaN"),
    "infinite": (np.where(np.arange(150) == 3, np.inf, 1.0), "sample_weight contains infinity"),
    "all zero": (0 * ONES, "(?i)sample.weight.*zero"),
    "too few": (ONES[:-1], r"sample_weight.shape == \(149,\), expected \(150,\)"),
    "too many": (np.ones(151), r"sample_weight.shape == \(151,\), expected \(150,\)"),
    "2-d": (ONES[:, None], "Sample weights must be 1D array or scalar"),
    "strings": (["heavy"] * 150, "could not convert string to float"),
}


@pytest.mark.parametrize(("weights", "sentence"), WEIGHTS.values(), ids=WEIGHTS)
@pytest.mark.parametrize("reference", [CENTERS, None], ids=["centers", "no reference"])
def test_weights(weights, sentence, reference):
    message = fit_refused(given(reference=reference), X, sentence, sample_weight=weights)
    assert "\n" not in message


@pytest.mark.parametrize("name", [name for name in WEIGHTS if name != "all zero"])
def test_weights_of_score(model, name):
    weights, sentence = WEIGHTS[name]
    refused(lambda: model.score(X, sample_weight=weights), sentence)


def test_weights_the_reference_cannot_take():
    class Unweighted(KMeans):
        def fit(self, X, y=None):
            return super().fit(X)

    model = ExKMC(3, reference=Unweighted(3, n_init=1))
    fit_refused(model, X, "Unweighted.fit takes none", sample_weight=ONES)


# ---- the reference -------------------------------------------------------------------------------

UNPRICED = {
    "precomputed affinity": (
        AffinityPropagation(affinity="precomputed", random_state=0).fit(
            -euclidean_distances(X[::10], squared=True)
        ),
        "AffinityPropagation was fitted to 15 rows and cannot label others",
    ),
    "pipeline to none": (make_pipeline(StandardScaler(), PCA(2)), "PCA is not one"),
    "labels of other rows": (
        AgglomerativeClustering(3).fit(X[::2]),
        "AgglomerativeClustering was fitted to 75 rows .*, but X has 150",
    ),
    "noise only": (DBSCAN(eps=1e-9), "DBSCAN has noise .* only; .* at least two"),
}


@pytest.mark.parametrize(("reference", "sentence"), UNPRICED.values(), ids=UNPRICED)
def test_clusterings_without_a_price(reference, sentence):
    assert one_sentence(fit_refused(ExKMC(None, reference=reference), X, sentence))


def test_another_metric_than_euclidean():
    class Medoids(KMeans):
        metric = "manhattan"

    reference = Medoids(3, n_init=1, random_state=0).fit(X)
    sentence = "Medoids clusters with metric='manhattan', .* use cost=\"kmedians\""
    fit_refused(ExKMC(3, reference=reference), X, sentence)


def test_a_classifier_is_no_clustering():
    # It would need a y to be fitted; the message must speak of the reference all the same.
    model = ExKMC(3, reference=LogisticRegression())
    fit_refused(model, X, "LogisticRegression has no cluster_centers_|reference must be")


def test_a_class_instead_of_a_clusterer():
    fit_refused(ExKMC(3, reference=KMeans), X, "class, not an instance", (ValueError, TypeError))


CENTER_ARRAYS = {
    "a word": ("k-means", "reference must be one of .*, a clusterer, .*, or an array of centers"),
    "anything else": (object(), "reference must be a clusterer, .* got object"),
    "ragged": ([[1.0, 2.0], [3.0]], "reference must be a clusterer, .* got list"),
    "a number": (5.0, r"must be a finite 2-d array, .* shape \(\)"),
    "1-d": (CENTERS[0], "reference has 4 labels, but X has 150 rows"),
    "3-d": (CENTERS[None], r"must be a finite 2-d array, .* shape \(1, 3, 4\)"),
    "empty": (CENTERS[:0], r"must be a finite 2-d array, .* shape \(0, 4\)"),
    "NaN": (CENTERS * np.nan, "must be a finite 2-d array"),
    "infinite": (CENTERS * np.inf, "must be a finite 2-d array"),
    "too narrow": (CENTERS[:, :3], "centers have 3 coordinates, .* have 4"),
    "too wide": (np.ones((3, 5)), "centers have 5 coordinates, .* have 4"),
}


@pytest.mark.parametrize(("centers", "sentence"), CENTER_ARRAYS.values(), ids=CENTER_ARRAYS)
def test_centers(centers, sentence):
    fit_refused(ExKMC(None, reference=centers), X, sentence)


@pytest.mark.parametrize(
    ("reference", "name"),
    [
        (CENTERS, "reference"),
        (kmeans(X, 3), "KMeans"),
        (KMeans(3, n_init=1, random_state=0), "KMeans"),
        (make_pipeline(StandardScaler(), KMeans(3, n_init=1, random_state=0)), "Pipeline"),
    ],
    ids=["centers", "fitted", "unfitted", "pipeline"],
)
def test_numbers_of_clusters_that_disagree(reference, name):
    model = ExKMC(4, reference=reference)
    message = fit_refused(model, X, f"n_clusters=4, but {name} has 3 clusters")
    assert one_sentence(message)


def test_a_fitted_reference_for_other_columns():
    model = ExKMC(3, reference=kmeans(X[:, :2], 3))
    fit_refused(model, X, "centers have 2 coordinates, .* have 4")


def test_a_pipeline_that_makes_nan():
    def spoil(rows):
        return np.where(np.arange(len(rows))[:, None] == 3, np.nan, rows)

    fitted = make_pipeline(FunctionTransformer(), kmeans(X, 3))
    fitted.steps[0] = ("spoil", FunctionTransformer(spoil))
    fit_refused(ExKMC(3, reference=fitted), X, "reference pipeline makes of X contains NaN")


LABELS = np.repeat([0, 1, 2], 50)
GIVEN_LABELS = {
    "too few": (LABELS[:-1], "reference has 149 labels, but X has 150 rows"),
    "too many": (np.append(LABELS, 0), "reference has 151 labels, but X has 150 rows"),
    "one": (["a"] * 150, "reference is 'a' for every row; .* at least two"),
    "noise": ([-1] * 150, "reference has noise .* only"),
    "one for each row": (np.arange(150.0) / 7, "150 different labels for 150 rows"),
    "unhashable": (
        pd.Series([{}] * 150),
        "A label must be .* hashable",
    ),
}


@pytest.mark.parametrize(("labels", "sentence"), GIVEN_LABELS.values(), ids=GIVEN_LABELS)
@pytest.mark.parametrize("cost", ["auto", "labels"])
def test_labels(labels, sentence, cost):
    assert one_sentence(fit_refused(ExKMC(None, reference=labels, cost=cost), X, sentence))


def test_numbers_of_labels_that_disagree():
    sentence = "n_clusters=8, but the labels have 3 clusters; leave n_clusters out"
    assert one_sentence(fit_refused(ExKMC(8, reference=LABELS), X, sentence))


TABLE = np.ones((150, 3)) * np.arange(3)
SPOILED = {
    value: np.where(np.arange(150)[:, None] == 7, value, TABLE) for value in (np.nan, np.inf)
}
COST_TABLES = {
    "NaN": (SPOILED[np.nan], "table of costs has NaN in row 7, column 0"),
    "minus infinity": (-SPOILED[np.inf], "has minus infinity in row 7, column 0"),
    "nothing allowed": (SPOILED[np.inf], "forbids every cluster to row 7"),
    "too few rows": (TABLE[:-1], "table of costs has 149 rows, but X has 150"),
    "1-d": (TABLE[:, 0], r"must have two dimensions, .* shape \(150,\)"),
    "one column": (TABLE[:, :1], "must have at least two columns"),
    "texts": (np.full((150, 2), "a"), "must hold numbers only"),
    "function": (lambda rows: TABLE[:3], "What the function of costs returned has 3 rows"),
    "overflow": (np.where(TABLE > 1, 1.7e308, -1.7e308), "so far apart"),
    "a word": ("inertia", 'cost must be one of "auto", "kmeans", .*, a table of costs'),
    "nothing": (None, "cost must be one of .* got None"),
}


@pytest.mark.parametrize(("cost", "sentence"), COST_TABLES.values(), ids=COST_TABLES)
def test_tables_of_costs(cost, sentence):
    assert one_sentence(fit_refused(ExKMC(None, cost=cost), X, sentence))


def test_a_table_of_costs_beside_a_reference():
    model = ExKMC(None, cost=TABLE, reference=LABELS)
    fit_refused(model, X, "a reference by itself; leave reference out")


def test_a_number_of_clusters_beside_a_table_of_costs():
    fit_refused(ExKMC(4, cost=TABLE), X, "n_clusters=4, but the table of costs has 3 columns")


def test_noise_of_no_kind():
    fit_refused(ExKMC(None, reference=LABELS, noise="drop"), X, "noise must be one of")


def test_proofs_of_other_costs():
    model = ExKMC(None, reference=LABELS, cost="labels", refine="optimal")
    fit_refused(model, X, 'refine="optimal" proves k-means costs only')


# ---- a fitted model, and one that is not ---------------------------------------------------------

METHODS = ["predict", "apply", "decision_path", "transform", "score"]


@pytest.mark.parametrize("method", METHODS)
def test_unfitted(method):
    refused(lambda: getattr(ExKMC(3), method)(X), "ExKMC .* not fitted yet", NotFittedError)


def test_unfitted_with_leaves():
    refused(lambda: ExKMC(3).with_leaves(3), "ExKMC .* not fitted yet", NotFittedError)


def test_unfitted_names():
    refused(lambda: ExKMC(3).get_feature_names_out(), "ExKMC .* not fitted yet", NotFittedError)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_columns", [3, 5])
@pytest.mark.parametrize("table", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_wrong_number_of_columns(model, method, n_columns, table):
    rows = table(np.resize(X, (150, n_columns)))
    sentence = f"X has {n_columns} features, but ExKMC is expecting 4 features as input"
    assert one_sentence(refused(lambda: getattr(model, method)(rows), sentence))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_reordered_names(method, library):
    frame = pytest.importorskip(library).DataFrame({name: X[:, i] for i, name in enumerate("abcd")})
    model = given().fit(frame)
    for names in ("bacd", "dcba"):
        refused(
            lambda names=names: getattr(model, method)(frame[list(names)]),
            "(?s)feature names should match .* same order",
        )


@pytest.mark.parametrize("method", METHODS)
def test_renamed_columns(method):
    frame = pytest.importorskip("pandas").DataFrame(X, columns=list("abcd"))
    model = given().fit(frame)
    renamed = frame.rename(columns={"d": "e"})
    refused(
        lambda: getattr(model, method)(renamed),
        "(?s)feature names should match .*unseen at fit time.*- e",
    )


@pytest.mark.parametrize("n_leaves", [0, 2, 7, -3, "3", None, 3.5])
def test_sizes_the_fit_does_not_have(model, n_leaves):
    sentence = f"This fit has trees of 3 to 6 leaves, not of {n_leaves}"
    assert one_sentence(refused(lambda: model.with_leaves(n_leaves), sentence))


@pytest.mark.parametrize(
    ("rows", "fit"),
    [
        (broken(np.nan), {}),
        (X[:2], {}),
        (X, {"sample_weight": -ONES}),
        (X[:, :3], {}),
        (np.arange(5.0), {}),
    ],
    ids=["NaN", "few rows", "weights", "other columns", "1-d"],
)
def test_a_fit_that_is_refused_leaves_the_model_as_it_was(rows, fit):
    model = given().fit(X)
    tree, labels = model.tree_, model.predict(X)
    refused(lambda: model.fit(rows, **fit), ".")
    assert model.tree_ is tree
    assert model.n_features_in_ == 4
    assert model.predict(X).tolist() == labels.tolist()
