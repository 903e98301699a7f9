"""No refined tree costs more than the tree it came from, whatever the rows."""

import warnings

import dask
import dask.array as da
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.tree import DecisionTreeClassifier

from tests.helpers.examples import examples
from tests.helpers.plain_numpy import cluster_means, cost_to
from tests.helpers.training_data import data_of, price_rows
from treemeans import ExKMC
from treemeans.growth import InMemoryTree
from treemeans.growth.exshallow import exshallow
from treemeans.progress import Progress
from treemeans.refine import coreset

pytestmark = [
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]

KINDS = ("local", "search")
EFFORT = {"local": {}, "search": {"search_rounds": 3}}
FOUR_ROWS = np.array([[1.0, 1.0], [2.0, 0.0], [0.0, 2.0], [2.0, 2.0]])
FAR_CENTERS = np.array([[0.0, 0.0], [3.0, 2.5], [0.5, 4.0], [4.0, 2.0]])


def fit(X, weights=None, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # centers without rows
        model = ExKMC(None, random_state=0, **parameters)
        return model.fit(X) if weights is None else model.fit(X, sample_weight=weights)


def promised_cost(model, prices=None):
    """The k-means cost of the whole tree, and what its cuts cost by their features."""
    assert model.path_["kmeans_cost"][-1] == model.inertia_
    cuts = model.tree_.feature[model.tree_.feature >= 0]
    return model.inertia_ + (0.0 if prices is None else prices[cuts].sum()) * (
        model.reference_inertia_
    )


def assert_promised(plain, model, prices=None):
    before = promised_cost(plain, prices)
    assert promised_cost(model, prices) <= before * (1 + 1e-9) + 1e-12
    costs = model.path_["kmeans_cost"]
    assert (np.diff(costs) <= 1e-9 * costs.max()).all()


@st.composite
def tables(draw):
    """Few distinct values, repeated rows, up to 40 clusters; often more than there are rows for."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(4, 150)), draw(st.integers(1, 6))
    n_values = draw(st.integers(2, 6))
    X = rng.integers(0, n_values, size=(n, d)).astype(float)
    if draw(st.booleans()):
        X = X[rng.integers(n, size=n)]
    k = draw(st.integers(2, min(40, n)))
    weights = {
        "none": lambda: None,
        "copies": lambda: rng.integers(0, 4, size=n) + (np.arange(n) == 0.0),
        "range": lambda: 10.0 ** rng.uniform(-5, 5, size=n) * (rng.random(n) < 0.8) + 1e-6,
    }[draw(st.sampled_from(["none", "none", "copies", "range"]))]()
    if draw(st.booleans()):
        centers = rng.integers(-1, 2 * n_values, size=(k, d)) / 2.0
    else:
        rows = X if weights is None else X[weights > 0]
        k = min(k, len(np.unique(rows, axis=0)))
        centers = KMeans(k, n_init=1, random_state=0).fit(X, None, weights).cluster_centers_
    parameters = {
        "reference": centers,
        "max_leaf_nodes": k * draw(st.sampled_from([1, 1, 2, 4])),
        "base_tree": draw(st.sampled_from(["imm", "imm", "imm", "exgreedy", "emn", "random"])),
        "min_samples_leaf": draw(st.sampled_from([1, 1, 1, 2, 0.05])),
        "max_depth": draw(st.sampled_from([None, None, None, 4, 8])),
    }
    if draw(st.integers(0, 4)) == 0:
        parameters["feature_costs"] = rng.choice([0.0, 0.01, 0.1], size=d)
    return X, weights, parameters


@pytest.mark.parametrize("kind", KINDS)
@given(table=tables())
@examples(60)
def test_on_tables_of_few_whole_numbers(kind, table):
    X, weights, parameters = table
    plain = fit(X, weights, **parameters)
    model = fit(X, weights, refine=kind, **EFFORT[kind], **parameters)
    assert_promised(plain, model, parameters.get("feature_costs"))
    assert model.n_leaves_ <= max(parameters["max_leaf_nodes"], plain.n_leaves_)
    w = np.ones(len(X)) if weights is None else weights
    means = cluster_means(X, model.labels_, w, parameters["reference"])
    truth = cost_to(X, model.labels_, means, w)
    np.testing.assert_allclose(model.inertia_, truth, rtol=1e-6, atol=1e-9 * w.sum())


@given(table=tables(), size=st.sampled_from([1, 2, 4]))
@examples(25)
def test_a_search_is_never_above_the_trees_it_starts_from(table, size):
    X, weights, parameters = table
    assume(weights is None or weights.max() < 10)  # or costs of the others vanish beside one
    centers = parameters["reference"]
    n_leaves = size * len(centers)
    how = {"reference": centers, "max_leaf_nodes": n_leaves}
    search = fit(X, weights, refine="search", search_rounds=3, **how)
    most = search.inertia_ * (1 - 1e-9) - 1e-9
    for base in ("imm", "exgreedy", "emn", "kauri"):
        assert fit(X, weights, base_tree=base, **how).inertia_ >= most
    w = np.ones(len(X)) if weights is None else weights
    nearest = ((X[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
    cart = DecisionTreeClassifier(max_leaf_nodes=max(n_leaves, 2), random_state=0)
    labels = cart.fit(X, nearest, w).predict(X)
    assert cost_to(X, labels, cluster_means(X, labels, w, centers), w) >= most
    growing = InMemoryTree(data_of(X, centers, costs=price_rows(X, centers, weights)))
    exshallow(growing, X, centers, Progress("", 1, False))
    labels = growing.freeze().predict(X)
    assert cost_to(X, labels, cluster_means(X, labels, w, centers), w) >= most


@pytest.mark.parametrize("n_rows", [None, 30])
@pytest.mark.parametrize("kind", KINDS)
@given(table=tables())
@examples(12)
def test_on_rows_in_parts(kind, n_rows, table):
    X, _, parameters = table
    parameters["base_tree"] = "imm"
    rows = da.from_array(X, chunks=(max(len(X) // 3, 1), -1))
    with pytest.MonkeyPatch.context() as patch, dask.config.set({"treemeans.gather": 0}):
        if n_rows is not None:  # the search then sees a coreset
            patch.setattr(coreset, "MOST_VALUES", 1)
            patch.setattr(coreset, "_FEWEST_ROWS", n_rows)
        plain = fit(rows, **parameters)
        model = fit(rows, refine=kind, **EFFORT[kind], **parameters)
    assert_promised(plain, model, parameters.get("feature_costs"))


@pytest.mark.parametrize("kind", KINDS)
def test_a_base_tree_with_a_leaf_without_rows_is_refined_whole(kind):
    """IMM cuts [1, 1] and [2, 0] apart below a cut that parts no rows."""
    parameters = {"reference": FAR_CENTERS, "max_leaf_nodes": 6}
    plain = fit(FOUR_ROWS, **parameters)
    leaf, n_rows = np.unique(plain.tree_.apply(FOUR_ROWS), return_counts=True)
    assert len(leaf) < plain.n_leaves_
    assert n_rows.sum() == 4
    assert plain.inertia_ == 4.0
    assert fit(FOUR_ROWS, refine=kind, **EFFORT[kind], **parameters).inertia_ <= 4.0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [np.asarray, lambda X: da.from_array(X, chunks=(2, -1))])
def test_where_nothing_is_better_the_start_comes_back(kind, rows):
    """Every row is with its nearest center, and every center is the mean of its rows."""
    X = np.repeat([[0.0, 0.0], [0.0, 1.0], [5.0, 0.0], [5.0, 2.0]], 2, axis=0)
    X[::2, 0] += 0.25
    centers = X.reshape(4, 2, 2).mean(axis=1)
    parameters = {"reference": centers, "max_leaf_nodes": 4}
    plain = fit(rows(X), **parameters)
    model = fit(rows(X), refine=kind, **EFFORT[kind], **parameters)
    assert model.tree_ == plain.tree_
    assert model.inertia_ == plain.inertia_


def test_clusters_stay_where_leaves_without_rows_are_many():
    """Clusters used to vanish with the subtrees below cuts that part no rows."""
    rng = np.random.default_rng(3)
    X = rng.integers(0, 4, size=(300, 5)).astype(float)
    lost = []
    for seed in range(6):
        reference = KMeans(26, n_init=1, random_state=seed).fit(X).cluster_centers_
        plain = fit(X, reference=reference, max_leaf_nodes=26)
        model = fit(X, reference=reference, max_leaf_nodes=26, refine="local")
        assert_promised(plain, model)
        lost.append(len(np.unique(plain.labels_)) - len(np.unique(model.labels_)))
    assert max(lost) <= 0
