"""Limits a user sets: kept by every base tree, by expansion, by refinement, at every size."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tests.helpers.datasets import kmeans
from tests.helpers.examples import examples
from tests.helpers.plain_numpy import a_tree, assert_same_model, dense, leaf_of, random_weights
from treemeans import ExKMC
from treemeans.growth.base_tree import BASE_TREES

IRIS = load_iris().data
NAMES = ["sepal length", "sepal width", "petal length", "petal width"]
REFINEMENTS = ("none", "local", "search")
REFERENCE = kmeans(IRIS, 4)
pytestmark = pytest.mark.usefixtures("one_thread")


def model_with(X=IRIS, weights=None, **parameters):
    parameters = {
        "reference": REFERENCE,
        "max_leaf_nodes": 12,
        "search_rounds": 8,
        "random_state": 0,
    } | parameters
    return ExKMC(4, **parameters).fit(X, sample_weight=weights)


def sizes(model):
    """The model of every row of the path."""
    return [model.with_leaves(n_leaves) for n_leaves in model.path_["n_leaves"]]


def leaf_weights(model, X, weights=None):
    tree, leaf = model.tree_, leaf_of(model.tree_, dense(X))
    return np.bincount(leaf, weights, minlength=tree.n_nodes)[tree.leaves]


def used(model):
    return set(model.tree_.feature.tolist()) - {-1}


def assert_refined_within_limits(refined, **parameters):
    """Not cut to size afterwards: it would cost more than the tree it came from."""
    plain = model_with(**parameters | {"refine": "none"})
    assert refined.inertia_ <= plain.inertia_ * (1 + 1e-9)


@pytest.fixture(params=[*BASE_TREES, "given"])
def base_tree(request):
    return a_tree() if request.param == "given" else request.param


@pytest.fixture(params=REFINEMENTS)
def refine(request):
    return request.param


# ---- the weight of a leaf ------------------------------------------------------------------------

LEAST = {"rows": (14, 14), "part of a row": (13.2, 14), "share": (0.095, 15)}


@pytest.mark.parametrize(("least", "rows"), LEAST.values(), ids=LEAST)
def test_every_leaf_has_enough_rows(base_tree, refine, least, rows):
    model = model_with(base_tree=base_tree, refine=refine, min_samples_leaf=least)
    assert 1 < model.n_leaves_ <= 150 // rows
    for small in sizes(model):
        assert leaf_weights(small, IRIS).min() >= rows
    assert_refined_within_limits(model, base_tree=base_tree, min_samples_leaf=least)


@pytest.mark.parametrize("least", [20.0, 0.1])
def test_weights_count(base_tree, refine, least):
    weights = random_weights(150)
    model = model_with(weights=weights, base_tree=base_tree, refine=refine, min_samples_leaf=least)
    assert model.n_leaves_ > 1
    enough = least if least > 1 else least * weights.sum()
    for small in sizes(model):
        assert leaf_weights(small, IRIS, weights).min() >= enough * (1 - 1e-9)


def test_a_weight_is_a_number_of_rows_to_a_leaf(base_tree):
    weights = np.random.default_rng(0).integers(0, 4, size=150)
    limits = {"base_tree": base_tree, "min_samples_leaf": 25}
    weighted = model_with(weights=weights, **limits)
    repeated = model_with(np.repeat(IRIS, weights, axis=0), **limits)
    np.testing.assert_array_equal(weighted.tree_.feature, repeated.tree_.feature)
    np.testing.assert_array_equal(weighted.tree_.threshold, repeated.tree_.threshold)


def test_a_share_is_of_all_rows(base_tree):
    share = model_with(base_tree=base_tree, min_samples_leaf=0.08)
    assert_same_model(share, model_with(base_tree=base_tree, min_samples_leaf=12))


@pytest.mark.parametrize("total", [1e-9, 1.0, 5.0, 1e9])
def test_a_share_is_one_whatever_the_unit_of_weight(base_tree, refine, total):
    weights = np.full(150, total / 150)
    limits = {"base_tree": base_tree, "refine": refine, "min_samples_leaf": 0.08}
    for small in sizes(model_with(weights=weights, **limits)):
        assert leaf_weights(small, IRIS).min() >= 12


def test_rows_of_little_weight(base_tree, refine):
    weights = np.full(150, 0.3)
    limits = {"base_tree": base_tree, "refine": refine}
    model = model_with(weights=weights, min_samples_leaf=3, **limits)
    assert model.n_leaves_ > 1
    for small in sizes(model):
        assert leaf_weights(small, IRIS).min() >= 10
    assert model_with(weights=1e-3 * weights, min_samples_leaf=4, **limits).n_leaves_ == 1


def test_one_row_is_no_limit(base_tree, refine):
    plain = model_with(base_tree=base_tree, refine=refine)
    for least in (1, 1.0, 1 / 150):
        limited = model_with(base_tree=base_tree, refine=refine, min_samples_leaf=least)
        assert_same_model(limited, plain)


@pytest.mark.parametrize("unit", [0.01, 1.0, 100.0])
def test_the_default_is_no_limit_whatever_rows_weigh(base_tree, unit):
    """Weights of 0.01 make leaves of that weight: a row may have a leaf of its own."""
    few = IRIS[[0, 1, 60, 61, 120, 121]]
    model = ExKMC(6, base_tree=base_tree, reference=few, random_state=0)
    model.fit(few, sample_weight=np.full(6, unit))
    weights = model.tree_.weight[model.tree_.leaves]
    occupied = weights[weights > 0]  # a given tree may have leaves that no row reaches
    assert occupied.tolist() == pytest.approx([unit] * 6)


def test_the_limit_binds():
    """Without it, leaves are smaller: the tests above could fail."""
    assert leaf_weights(model_with(), IRIS).min() < 14


@pytest.mark.parametrize("least", [76, 10**6, 0.6])
def test_no_room_for_any_cut(base_tree, refine, least):
    model = model_with(base_tree=base_tree, refine=refine, min_samples_leaf=least)
    assert model.n_leaves_ == 1
    assert model.path_["n_leaves"].tolist() == [1]
    assert len(set(model.predict(IRIS))) == 1


# ---- depth ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("max_depth", [1, 2, 3])
def test_no_leaf_is_deeper(base_tree, refine, max_depth):
    model = model_with(base_tree=base_tree, refine=refine, max_depth=max_depth)
    assert 1 < model.n_leaves_ <= 2**max_depth
    for small in sizes(model):
        assert small.tree_.depth.max() <= max_depth
    assert_refined_within_limits(model, base_tree=base_tree, max_depth=max_depth)


def test_a_great_depth_is_no_limit(base_tree, refine):
    plain = model_with(base_tree=base_tree, refine=refine)
    assert plain.tree_.depth.max() > 3
    assert_same_model(model_with(base_tree=base_tree, refine=refine, max_depth=40), plain)


# ---- allowed features ----------------------------------------------------------------------------


def frame(library="pandas"):
    frames = pytest.importorskip(library)
    return frames.DataFrame({name: IRIS[:, i] for i, name in enumerate(NAMES)})


def test_only_allowed_features_are_cut(base_tree, refine):
    for allowed in ([0, 1], [3]):
        model = model_with(base_tree=base_tree, refine=refine, allowed_features=allowed)
        for small in sizes(model):
            assert used(small) <= set(allowed)
        assert_refined_within_limits(model, base_tree=base_tree, allowed_features=allowed)
        assert used(model) == set(allowed)


SAME = {
    "numbers": [1, 3],
    "numbers from the end": [-3, -1],
    "both, twice": [1, 3, -1],
    "array": np.array([1, 3]),
    "tuple": (3, 1),
    "set": {1, 3},
    "range": range(1, 4, 2),
    "mask": [False, True, False, True],
    "mask array": np.array([False, True, False, True]),
}


@pytest.mark.parametrize("allowed", SAME.values(), ids=SAME)
def test_ways_to_say_which(allowed):
    assert_same_model(model_with(allowed_features=allowed), model_with(allowed_features=[1, 3]))


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize(
    "allowed",
    [["sepal width", "petal width"], ["petal width", 1], np.array(["sepal width", "petal width"])],
    ids=["names", "name and number", "array"],
)
def test_features_by_name(library, allowed):
    model = model_with(
        frame(library), reference=REFERENCE.cluster_centers_, allowed_features=allowed
    )
    expected = model_with(reference=REFERENCE.cluster_centers_, allowed_features=[1, 3])
    assert_same_model(model, expected)


def test_one_name():
    model = model_with(
        frame(), reference=REFERENCE.cluster_centers_, allowed_features="petal width"
    )
    assert used(model) == {3}


def test_all_features_allowed_is_no_limit(refine):
    plain = model_with(refine=refine)
    assert_same_model(model_with(refine=refine, allowed_features=[0, 1, 2, 3]), plain)
    assert_same_model(model_with(refine=refine, allowed_features=[True] * 4), plain)


def test_costs_are_measured_on_all_features(refine):
    model = model_with(refine=refine, allowed_features=[0, 1])
    assert model.reference_inertia_ == model_with().reference_inertia_
    assert model.cluster_centers_.shape == (4, 4)


def test_limits_of_a_pipeline_are_in_the_columns_of_x(base_tree, refine):
    pipeline = make_pipeline(StandardScaler(), kmeans(StandardScaler().fit_transform(IRIS), 4))
    pipeline[0].fit(IRIS)
    model = model_with(
        base_tree=base_tree,
        refine=refine,
        reference=pipeline,
        allowed_features=[0, 2],
        min_samples_leaf=9,
        max_depth=3,
    )
    assert model.n_leaves_ > 1
    for small in sizes(model):
        assert used(small) <= {0, 2}
        assert leaf_weights(small, IRIS).min() >= 9
        assert small.tree_.depth.max() <= 3


# ---- all of them at once -------------------------------------------------------------------------


@st.composite
def problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d, k = draw(st.integers(6, 40)), draw(st.integers(1, 4)), draw(st.integers(1, 4))
    X = rng.integers(-5, 6, size=(n, d)) / draw(st.sampled_from([1, 4]))
    weights = draw(st.sampled_from([None, rng.integers(0, 4, size=n) + (np.arange(n) == 0)]))
    limits = {
        "min_samples_leaf": draw(st.sampled_from([1, 2, 3, 5])),
        "max_depth": draw(st.sampled_from([None, 1, 2, 3])),
        "allowed_features": draw(
            st.sampled_from([None, rng.random(d) < 0.6 + (np.arange(d) == 0)])
        ),
    }
    centers = X[rng.integers(n, size=k)] + rng.normal(scale=0.1, size=(k, d))
    return X, weights, centers, limits, k + draw(st.integers(0, 6))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("refine", REFINEMENTS)
@given(problem=problems(), base=st.sampled_from(BASE_TREES), as_sparse=st.booleans())
@examples(60)
def test_any_limits_are_kept(refine, problem, base, as_sparse):
    X, weights, centers, limits, n_leaves = problem
    model = ExKMC(
        None,
        reference=centers,
        base_tree=base,
        max_leaf_nodes=n_leaves,
        refine=refine,
        search_rounds=4,
        **limits,
    ).fit(sparse.csr_matrix(X) if as_sparse else X, sample_weight=weights)
    allowed = limits["allowed_features"]
    for small in sizes(model):
        assert small.labels_.tolist() == small.predict(X).tolist()
        if small.n_leaves_ > 1 and limits["min_samples_leaf"] > 1:
            assert leaf_weights(small, X, weights).min() >= limits["min_samples_leaf"]
        assert limits["max_depth"] is None or small.tree_.depth.max() <= limits["max_depth"]
        assert allowed is None or used(small) <= set(np.flatnonzero(allowed).tolist())


# ---- costs of features ---------------------------------------------------------------------------


def nearly_as_good():
    """The first column parts the clusters; the second parts all but one row of forty."""
    X = np.repeat([[0.0, 0.0], [10.0, 5.0]], 20, axis=0)
    X[0, 1] = 5.0
    return X, np.array([[0.0, 0.0], [10.0, 5.0]])


def root_feature(base, refine, costs, form=np.asarray):
    X, centers = nearly_as_good()
    model = ExKMC(
        2,
        reference=centers,
        base_tree=base,
        refine=refine,
        max_leaf_nodes=2,
        feature_costs=costs,
        search_rounds=8,
    )
    return int(model.fit(form(X)).tree_.feature[0])


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("base", ["none", "imm", "emn", "exgreedy", "kauri", "best"])
def test_a_costed_feature_is_used_only_when_it_saves_more(base, refine, form):
    # The reference costs 25, for one row that would cost 100 with the other center: the first
    # column saves three times the reference's cost; where mistakes are counted, 1 of 40 rows.
    assert root_feature(base, refine, None, form) == 0
    assert root_feature(base, refine, [0.01, 0.0], form) == 0
    assert root_feature(base, refine, [5.0, 0.0], form) == 1


PRICES = {"array": [0.03, 0.0, 0.4, 0.0], "dict": {0: 0.03, -2: 0.4}}


@pytest.mark.parametrize("costs", PRICES.values(), ids=PRICES)
def test_ways_to_say_what_a_feature_costs(costs, refine):
    expected = model_with(refine=refine, feature_costs=np.array(PRICES["array"]))
    assert_same_model(model_with(refine=refine, feature_costs=costs), expected)


def test_costs_by_name():
    costs = {"sepal length": 0.03, "petal length": 0.4}
    centers = REFERENCE.cluster_centers_
    model = model_with(frame(), reference=centers, base_tree="none", feature_costs=costs)
    expected = model_with(reference=centers, base_tree="none", feature_costs=PRICES["array"])
    assert_same_model(model, expected)
    assert model.tree_ != model_with(reference=centers, base_tree="none").tree_


def test_no_costs_are_no_limit(base_tree, refine):
    plain = model_with(base_tree=base_tree, refine=refine)
    for costs in ([0.0] * 4, {}, {2: 0}):
        assert_same_model(
            model_with(base_tree=base_tree, refine=refine, feature_costs=costs), plain
        )


def test_what_cannot_be_saved_is_not_spent(base_tree, refine):
    costs = {2: 1e9, 3: 1e9}
    model = model_with(base_tree=base_tree, refine=refine, feature_costs=costs)
    for small in sizes(model):
        assert used(small) <= {0, 1}


def saved_by(tree, node):
    best = tree.costs.min(axis=1)
    return best[node] - best[tree.left[node]] - best[tree.right[node]]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_every_cut_of_an_expanded_tree_saves_more_than_its_price(seed, weighted):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 4)) + 3 * rng.integers(2, size=(80, 4))
    prices = rng.choice([0.0, 0.005, 0.05], size=4, p=[0.2, 0.4, 0.4])
    weights = random_weights(80, seed) if weighted else None
    model = ExKMC(
        5, reference=X[:5], base_tree="none", max_leaf_nodes=40, feature_costs=prices
    ).fit(X, sample_weight=weights)
    tree = model.tree_
    inner = np.flatnonzero(~tree.is_leaf)
    assert len(inner)
    for node in inner:
        price = prices[tree.feature[node]] * model.reference_inertia_
        if price > 0:
            assert saved_by(tree, node) > price * (1 - 1e-9)
    # A leaf that is left has no such cut: the prices stop the growth.
    free = ExKMC(5, reference=X[:5], base_tree="none", max_leaf_nodes=40)
    assert tree.n_leaves < free.fit(X, sample_weight=weights).n_leaves_ or (prices == 0).any()


def test_expansion_of_a_base_tree_pays_too(base_tree):
    prices = np.array([0.02, 0.05, 0.01, 0.03])
    model = model_with(base_tree=base_tree, feature_costs=prices, max_leaf_nodes=40)
    tree, fewest = model.tree_, model.path_["n_leaves"][0]
    for node in np.flatnonzero(tree.growth > fewest):
        price = prices[tree.feature[node]] * model.reference_inertia_
        assert saved_by(tree, node) > price * (1 - 1e-9)
    assert model.n_leaves_ < model_with(base_tree=base_tree, max_leaf_nodes=40).n_leaves_
