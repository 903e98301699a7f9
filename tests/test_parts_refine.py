"""Refinement of trees on rows in parts: never dearer, as good as in memory, no trace of parts."""

import warnings
from itertools import pairwise

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from parts_cases import Listed, cut_up
from plain import cluster_means, cost_to, leaf_of, random_weights, scaled_pca
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_digits, load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from treemeans import ExKMC
from treemeans.limits import Rules
from treemeans.parts.fit import FarPlan, survey_field
from treemeans.parts.refine.count import pricing_to
from treemeans.parts.refine.fork import Sides, find_forks
from treemeans.parts.refine.shape import FarShape, Workshop
from treemeans.parts.refine.standin import draw_stand_in
from treemeans.parts.refine.twigs import Twig
from treemeans.refine import sample

pytestmark = pytest.mark.usefixtures("one_thread")

KINDS = ("local", "search")
WINE = load_wine().data
WINES = np.repeat(WINE, 3, axis=0) * np.random.default_rng(0).normal(1, 0.05, (3 * len(WINE), 13))
SCALED = StandardScaler().fit_transform(WINES)
DIGITS = load_digits().data[::2]
ROUNDS = {"max_iter": 6, "random_state": 0}


def noisy(n=900, k=5, d=4, seed=0):
    """Clusters that overlap, of different sizes."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(k, d)) * 2
    return centers[rng.integers(k, size=n) ** 2 % k] + rng.normal(size=(n, d))


NOISY = noisy()


def centers_of(X, k, weights=None):
    with threadpool_limits(1):
        return KMeans(k, n_init=2, random_state=0).fit(X, sample_weight=weights).cluster_centers_


def fit(X, n_parts, weights=None, seed=0, **parameters):
    """A model on rows in parts of different sizes."""
    model = ExKMC(None, **parameters)
    model._check()
    pieces = None if weights is None else cut_up(weights, n_parts, seed)
    model._fit_parts(Listed(cut_up(X, n_parts, seed), pieces))
    return model


@pytest.fixture
def sampled(monkeypatch):
    """Few rows stand for all."""
    monkeypatch.setattr(sample, "MOST_VALUES", 1)
    monkeypatch.setattr(sample, "_FEWEST_ROWS", 200)


def inertia_of(model, X, space, weights):
    weights = np.ones(len(X)) if weights is None else weights
    labels = model.tree_.label[leaf_of(model.tree_, X)]
    return cost_to(
        space, labels, cluster_means(space, labels, weights, model.reference_centers_), weights
    )


def assert_as_stated(model, X, space, weights):
    np.testing.assert_allclose(model.inertia_, inertia_of(model, X, space, weights), rtol=1e-9)
    np.testing.assert_allclose(model.inertia_, model.path_["kmeans_cost"][-1])
    assert model.surrogate_inertia_ >= model.inertia_ * (1 - 1e-12)
    assert (np.diff(model.path_["kmeans_cost"]) <= 0).all()


# ---- few rows: all of them are drawn -------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_few_rows_give_the_tree_of_one_memory(kind, weighted):
    weights = random_weights(len(DIGITS)) if weighted else None
    parameters = {"reference": centers_of(DIGITS, 6, weights), "refine": kind} | ROUNDS
    far = fit(DIGITS, 4, weights, **parameters)
    near = ExKMC(None, **parameters).fit(DIGITS, sample_weight=weights)
    for name in ("feature", "left", "right", "label", "growth"):
        np.testing.assert_array_equal(getattr(far.tree_, name), getattr(near.tree_, name))
    rows = DIGITS if weights is None else DIGITS[weights > 0]
    np.testing.assert_array_equal(far.predict(rows), near.predict(rows))
    np.testing.assert_allclose(far.inertia_, near.inertia_)
    np.testing.assert_allclose(far.cluster_centers_, near.cluster_centers_, atol=1e-9)
    assert far.n_iter_ == near.n_iter_


# ---- many rows: some stand for all ---------------------------------------------------------------

CASES = {
    "plain": (NOISY, None, None),
    "weighted": (NOISY, random_weights(len(NOISY)), None),
    "pipeline": (WINES, None, scaled_pca),
    "weighted pipeline": (WINES, random_weights(len(WINES)), scaled_pca),
    "float32": (SCALED.astype(np.float32), None, None),
    "far from the origin": (SCALED + 1e4, None, None),
    "a leaf a cluster": (NOISY, None, lambda: KMeans(5, n_init=1, random_state=0)),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", CASES)
def test_never_dearer_and_as_stated(sampled, case, kind):
    X, weights, make = CASES[case]
    reference = centers_of(X, 5, weights) if make is None else make().fit(X)
    leaves = {"max_leaf_nodes": 5} if case == "a leaf a cluster" else {}
    plain = fit(X, 3, weights, reference=reference, **leaves)
    model = fit(X, 3, weights, reference=reference, refine=kind, **ROUNDS, **leaves)
    space = reference[:-1].transform(X) if "pipeline" in case else X.astype(float)
    assert_as_stated(model, X, space, weights)
    assert model.inertia_ <= plain.inertia_ * (1 + 1e-12)
    assert model.n_leaves_ <= plain.n_leaves_
    assert model.path_["accuracy"][-1] > 0.4
    if X is NOISY:
        assert model.inertia_ < 0.999 * plain.inertia_


def test_as_good_as_in_one_memory(sampled, monkeypatch):
    monkeypatch.setattr(sample, "_FEWEST_ROWS", 1000)
    X = noisy(3000, seed=2)
    parameters = {"reference": centers_of(X, 5), "max_iter": 20, "random_state": 0}
    for kind in KINDS:
        far = fit(X, 2, refine=kind, **parameters)
        near = ExKMC(None, refine=kind, **parameters).fit(X)
        assert far.inertia_ < 1.005 * near.inertia_


def test_thresholds_lie_half_way(sampled):
    model = fit(NOISY, 4, reference=centers_of(NOISY, 5), refine="search", **ROUNDS)
    tree = model.tree_
    for node in np.flatnonzero(~tree.is_leaf):
        below = np.isin(leaf_of(tree, NOISY), leaves_below(tree, node))
        values = NOISY[below, tree.feature[node]]
        left = values <= tree.threshold[node]
        low, high = values[left].max(), values[~left].min()
        np.testing.assert_allclose(tree.threshold[node], (low + high) / 2, rtol=1e-12)
        assert tree.gap[node].tolist() == [low, high]


def leaves_below(tree, node):
    if tree.is_leaf[node]:
        return [node]
    return leaves_below(tree, tree.left[node]) + leaves_below(tree, tree.right[node])


# ---- parts leave no trace ------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_parts_leave_no_trace(sampled, kind, weighted):
    weights = random_weights(len(NOISY)) if weighted else None
    parameters = {"reference": centers_of(NOISY, 5), "refine": kind} | ROUNDS
    one, three, many = (fit(NOISY, n, weights, seed=n, **parameters) for n in (1, 3, 17))
    for other in (three, many):
        for name in ("feature", "threshold", "left", "right", "label", "growth", "gap"):
            np.testing.assert_array_equal(getattr(other.tree_, name), getattr(one.tree_, name))
        np.testing.assert_array_equal(other._record.centers, one._record.centers)
        np.testing.assert_allclose(other.inertia_, one.inertia_, rtol=1e-12)


def test_the_same_with_dask(sampled):
    parameters = {"reference": centers_of(NOISY, 5), "refine": "search"} | ROUNDS
    lazy = ExKMC(None, **parameters).fit(da.from_array(NOISY, chunks=(300, 4)))
    assert lazy.tree_ == fit(NOISY, 2, **parameters).tree_


# ---- what the user may ask for -------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_limits_are_honoured(sampled, kind, weighted):
    weights = random_weights(len(NOISY)) if weighted else None
    parameters = {
        "reference": centers_of(NOISY, 5),
        "min_samples_leaf": 40,
        "max_depth": 4,
        "allowed_features": [0, 2, 3],
    }
    plain = fit(NOISY, 3, weights, **parameters)
    model = fit(NOISY, 3, weights, refine=kind, **parameters, **ROUNDS)
    tree = model.tree_
    heavy = np.bincount(leaf_of(tree, NOISY), weights, minlength=tree.n_nodes)[tree.leaves]
    assert heavy.min() >= 40 * (1 - 1e-9)
    np.testing.assert_allclose(tree.weight[tree.leaves], heavy)
    assert tree.depth.max() <= 4
    assert 1 not in tree.feature
    assert model.inertia_ <= plain.inertia_ * (1 + 1e-12)
    assert_as_stated(model, NOISY, NOISY, weights)


@pytest.mark.parametrize("kind", KINDS)
def test_features_have_their_price(sampled, kind):
    parameters = {"reference": centers_of(NOISY, 5), "feature_costs": {0: 0.5, 1: 0.001}}
    plain = fit(NOISY, 3, **parameters)
    model = fit(NOISY, 3, refine=kind, **parameters, **ROUNDS)

    def cost(model):
        used = np.bincount(model.tree_.feature[~model.tree_.is_leaf], minlength=4)
        return model.inertia_ + model.reference_inertia_ * (used @ [0.5, 0.001, 0, 0])

    assert cost(model) <= cost(plain) * (1 + 1e-12)


def test_the_effort_is_the_users(sampled):
    parameters = {"reference": centers_of(NOISY, 5), "refine": "search", "random_state": 0}
    assert fit(NOISY, 2, max_iter=3, **parameters).n_iter_ == 4
    assert fit(NOISY, 2, max_time=0.05, **parameters).n_iter_ >= 1
    assert fit(NOISY, 2, reference=parameters["reference"], refine="local").n_iter_ == 1


def test_a_reference_that_is_fitted_in_passes(sampled):
    reference = make_pipeline(StandardScaler(), KMeans(4, n_init=1, random_state=0))
    parameters = {"reference": reference, "random_state": 0}
    plain, model = (fit(WINES, 3, refine=kind, **parameters) for kind in ("none", "local"))
    np.testing.assert_array_equal(model.reference_centers_, plain.reference_centers_)
    assert model.inertia_ <= plain.inertia_ * (1 + 1e-12)
    assert_as_stated(model, WINES, model._record.reference.space(WINES, WINES), None)


def test_a_given_tree_is_refined(sampled):
    reference = centers_of(NOISY, 5)
    base = ExKMC(None, reference=reference, base_tree="kdtree").fit(NOISY).tree_
    parameters = {"reference": reference, "base_tree": base, "max_leaf_nodes": base.n_leaves}
    plain, model = (fit(NOISY, 3, refine=kind, **parameters) for kind in ("none", "local"))
    assert model.inertia_ < plain.inertia_


# ---- what stands for all -------------------------------------------------------------------------


def workshop(X, weights=None, k=4, n_leaves=8, n_parts=3, **rules):
    parts = Listed(cut_up(X, n_parts), None if weights is None else cut_up(weights, n_parts))
    plan = FarPlan(None, X[:k].astype(float), "imm", n_leaves, Rules(**rules), None, 0, False)
    field = survey_field(parts, plan)
    return Workshop(field, draw_stand_in(field, 0), n_leaves)


def test_rows_that_stand_for_all_weigh_as_much(monkeypatch):
    monkeypatch.setattr(sample, "MOST_VALUES", 1)
    monkeypatch.setattr(sample, "_FEWEST_ROWS", 300)
    weights = random_weights(len(NOISY))
    for own in (None, weights):
        rows = workshop(NOISY, own).rows
        every = np.ones(len(NOISY)) if own is None else own
        assert len(rows.X) == 300
        np.testing.assert_allclose(rows.weights.sum(), every.sum(), rtol=0.1)
        mean = np.average(NOISY, axis=0, weights=every)
        np.testing.assert_allclose(np.average(rows.X, axis=0, weights=rows.weights), mean, atol=0.2)
        spread = (every[:, None] * (NOISY - mean) ** 2).sum()
        drawn = (rows.weights[:, None] * (rows.X - mean) ** 2).sum()
        np.testing.assert_allclose(drawn, spread, rtol=0.1)
        assert set(map(bytes, rows.X)) <= set(map(bytes, NOISY[every > 0]))


def test_costs_fit_whatever_the_centers():
    """How costs are rounded is told without a pass: no sum may overflow, nor lose its digits."""
    shop = workshop(NOISY)
    for centers in (NOISY[:4] * 100, NOISY[:4] / 100, NOISY[100:104], NOISY[[0, 0, 0, 0]]):
        pricing = pricing_to(shop.field, centers)
        squares = ((NOISY[:, None] - centers) ** 2).sum(axis=2)
        regrets = (squares - squares.min(axis=1)[:, None]).sum(axis=0).max()
        assert regrets * pricing.scales.regrets < 2**61
        base = squares.min(axis=1).sum() * pricing.scales.base
        assert 2**40 < base < 2**61


# ---- splits chosen again -------------------------------------------------------------------------


def grown_twig(rng, X, rows, depth, k):
    """Random cuts between values of the rows."""
    feature = int(rng.integers(X.shape[1]))
    values = np.unique(X[rows, feature])
    if depth == 0 or len(values) < 2:
        return Twig(int(rng.integers(k)))
    at = int(rng.integers(len(values) - 1))
    threshold = (values[at] + values[at + 1]) / 2
    left = X[rows, feature] <= threshold
    children = (
        grown_twig(rng, X, rows[left], depth - 1, k),
        grown_twig(rng, X, rows[~left], depth - 1, k),
    )
    return Twig(0, feature, float(threshold), children)


def ends_of(twig, X, rows):
    """The label of each row that comes to a node."""
    if twig.children is None:
        return np.full(len(rows), twig.label)
    left = X[rows, twig.feature] <= twig.threshold
    labels = np.empty(len(rows), dtype=int)
    for side, child in zip((left, ~left), twig.children, strict=True):
        labels[side] = ends_of(child, X, rows[side])
    return labels


def least_fork(twig, X, rows, regrets, min_weight):
    """Every cut on every feature, one by one."""
    left, right = (regrets[rows, ends_of(child, X, rows)] for child in twig.children)
    best = None
    for feature in range(X.shape[1]):
        values = np.unique(X[rows, feature])
        for low, high in pairwise(values):
            on_left = X[rows, feature] <= low
            if min(on_left.sum(), (~on_left).sum()) < min_weight:
                continue
            place = (int((left - right)[on_left].sum()), feature, low, high)
            best = place if best is None else min(best, place)
    return (
        best,
        int((left - right).sum()),
        int((regrets[rows, ends_of(twig, X, rows)] - right).sum()),
    )


@pytest.mark.filterwarnings("ignore:Only .* reference centers are nearest")
@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(1, 3), st.sampled_from([1, 4]))
def test_every_split_of_a_depth_is_the_best_there_is(seed, depth, min_weight):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(60, 3)) * 4) / 2  # many rows alike
    shop = workshop(X, min_samples_leaf=min_weight)
    root = grown_twig(rng, X, np.arange(len(X)), 3, 4)
    level = [(root, np.arange(len(X)))]
    for _ in range(depth - 1):
        level = [
            (child, rows[side])
            for twig, rows in level
            if twig.children is not None
            for child, side in zip(
                twig.children,
                (X[rows, twig.feature] <= twig.threshold, X[rows, twig.feature] > twig.threshold),
                strict=True,
            )
        ]
    level = [(twig, rows) for twig, rows in level if twig.children is not None]
    if not level:
        return
    twigs = [twig for twig, _ in level]
    labels = {leaf: leaf.label for leaf in root.leaves}
    sides = Sides(
        root.routes({twig: i for i, twig in enumerate(twigs)}, ends=set(twigs)),
        root.routes(labels, sent=dict.fromkeys(twigs, np.inf)),
        root.routes(labels, sent=dict.fromkeys(twigs, -np.inf)),
        root.routes(labels),
    )
    pricing = shop.field.pricing
    current = [(twig.feature, twig.threshold) for twig in twigs]
    forks = find_forks(shop.field, pricing, sides, current, shop.rows.X)
    squares = ((X[:, None] - pricing.reference.centers) ** 2).sum(axis=2)
    regrets = squares - squares.min(axis=1)[:, None]
    regrets = np.rint(regrets * pricing.scales.regrets).astype(np.int64)
    for (twig, rows), fork in zip(level, forks, strict=True):
        best, all_left, now = least_fork(twig, X, rows, regrets, min_weight)
        found = None if fork.best is None else fork.best[:4]
        assert found == best
        assert (fork.all_left, fork.now) == (all_left, now)


@pytest.mark.filterwarnings("ignore:Only .* reference centers are nearest")
@settings(max_examples=15)
@given(st.integers(0, 10**6), st.sampled_from([1, 5]), st.booleans())
def test_settling_never_raises_the_cost(seed, min_weight, weighted):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(80, 3)) * 4) / 2
    weights = random_weights(len(X), seed) if weighted else None
    shop = workshop(X, weights, min_samples_leaf=min_weight)
    root = grown_twig(rng, X, np.arange(len(X)), 3, 4)
    shape = shop.weigh([(root, X[4:8])])[0]
    assert_weighed(shape, X, weights, min_weight)
    settled = shop.settle(shape, 1e-3, 2)
    assert settled.cost <= shape.cost
    assert len(settled.root.leaves) <= 8
    assert_weighed(settled, X, weights, min_weight)


def assert_weighed(shape: FarShape, X, weights, min_weight):
    weights = np.ones(len(X)) if weights is None else weights
    every = np.arange(len(X))
    labels = ends_of(shape.root, X, every)
    for label in np.unique(labels[weights > 0]):
        mine = labels == label
        mean = np.average(X[mine], axis=0, weights=weights[mine])
        np.testing.assert_allclose(shape.centers[label], mean, atol=1e-9)
    np.testing.assert_allclose(
        shape.cost, cost_to(X, labels, shape.centers, weights), rtol=1e-9, atol=1e-9
    )
    numbers = {leaf: number for number, leaf in enumerate(shape.root.leaves)}
    root = shape.root.copy()
    for leaf, number in zip(root.leaves, numbers.values(), strict=True):
        leaf.label = number
    heavy = np.bincount(ends_of(root, X, every), weights, minlength=len(numbers))
    assert heavy.min() > 0
    if min_weight > 1:
        assert heavy.min() >= min_weight * (1 - 1e-9)


# ---- tables with nothing to gain -----------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_to_gain(sampled, kind):
    alike = np.ones((500, 2))
    two = np.repeat([[0.0, 0.0], [1.0, 5.0]], 250, axis=0)
    for X, centers, n_leaves in (
        (alike, alike[:1], 1),
        (alike, [[1.0, 1.0], [2.0, 2.0]], 1),
        (two, two[[0, -1]], 2),
        (NOISY, NOISY[:1], 1),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a center without rows
            model = fit(X, 3, reference=np.array(centers), refine=kind, **ROUNDS)
        assert model.n_leaves_ == n_leaves
        means = np.array([X[model.predict(X) == label].mean(axis=0) for label in range(n_leaves)])
        np.testing.assert_allclose(model.cluster_centers_[:n_leaves], means, atol=1e-12)


def test_data_frames_and_a_pipeline_that_wants_their_names(sampled):
    frame = pd.DataFrame(NOISY.astype(np.float32), columns=list("abcd"))
    scaler = ColumnTransformer([("scaled", StandardScaler(), ["d", "b"])])
    reference = make_pipeline(scaler, KMeans(4, n_init=1, random_state=0)).fit(frame)
    parameters = {"reference": reference, "random_state": 0, "max_iter": 5}
    lazy = dd.from_pandas(frame, npartitions=3)
    plain, model = (ExKMC(None, refine=kind, **parameters).fit(lazy) for kind in ("none", "search"))
    assert model.inertia_ < plain.inertia_
    assert_as_stated(model, NOISY.astype(np.float32), reference[:-1].transform(frame), None)
    assert set(model.tree_.feature) <= {-1, 1, 3}
