"""Refinement on partitioned rows: never more expensive, as good as in memory, on any split."""

import warnings
from itertools import pairwise

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_digits, load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from tests.helpers.examples import examples
from tests.helpers.partitioned_cases import ListedPartitions, split_rows
from tests.helpers.plain_numpy import cluster_means, cost_to, leaf_of, random_weights, scaled_pca
from tests.partitioned.test_best_cuts import as_tuple
from treemeans import ExKMC
from treemeans.limits import Limits
from treemeans.partitioned.partitioned_fit import PartitionedFitOptions, prepare_data
from treemeans.partitioned.tree_refinement.partitioned_coreset import draw_coreset
from treemeans.partitioned.tree_refinement.reoptimize_pass import SplitSides, reoptimize_splits
from treemeans.partitioned.tree_refinement.routed_tree import RoutedNode
from treemeans.partitioned.tree_refinement.sum_leaves import cost_builder_for
from treemeans.partitioned.tree_refinement.tree_optimizer import EvaluatedTree, TreeOptimizer
from treemeans.refine import coreset

pytestmark = pytest.mark.usefixtures("one_thread")

KINDS = ("local", "search")
WINE = load_wine().data
WINES = np.repeat(WINE, 3, axis=0) * np.random.default_rng(0).normal(1, 0.05, (3 * len(WINE), 13))
SCALED = StandardScaler().fit_transform(WINES)
DIGITS = load_digits().data[::2]
ROUNDS = {"search_rounds": 6, "random_state": 0}


def noisy(n=900, k=5, d=4, seed=0):
    """Clusters that overlap, of different sizes."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(k, d)) * 2
    return centers[rng.integers(k, size=n) ** 2 % k] + rng.normal(size=(n, d))


NOISY = noisy()


def centers_of(X, k, weights=None):
    with threadpool_limits(1):
        return KMeans(k, n_init=2, random_state=0).fit(X, sample_weight=weights).cluster_centers_


def fit(X, n_partitions, weights=None, seed=0, **parameters):
    """A model on partitioned rows of different sizes."""
    model = ExKMC(None, **parameters)
    pieces = None if weights is None else split_rows(weights, n_partitions, seed)
    model._fit_partitioned(ListedPartitions(split_rows(X, n_partitions, seed), pieces))
    return model


@pytest.fixture
def sampled(monkeypatch):
    """Few rows stand for all."""
    monkeypatch.setattr(coreset, "MOST_VALUES", 1)
    monkeypatch.setattr(coreset, "_FEWEST_ROWS", 200)


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
    monkeypatch.setattr(coreset, "_FEWEST_ROWS", 1000)
    X = noisy(3000, seed=2)
    parameters = {"reference": centers_of(X, 5), "search_rounds": 20, "random_state": 0}
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


# ---- partitions leave no trace -------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_parts_leave_no_trace(sampled, kind, weighted):
    weights = random_weights(len(NOISY)) if weighted else None
    parameters = {"reference": centers_of(NOISY, 5), "refine": kind} | ROUNDS
    one, three, many = (fit(NOISY, n, weights, seed=n, **parameters) for n in (1, 3, 17))
    for other in (three, many):
        for name in ("feature", "threshold", "left", "right", "label", "growth", "gap"):
            np.testing.assert_array_equal(getattr(other.tree_, name), getattr(one.tree_, name))
        np.testing.assert_array_equal(other._fit_result.centers, one._fit_result.centers)
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
    assert fit(NOISY, 2, search_rounds=3, **parameters).n_iter_ == 4
    assert fit(NOISY, 2, max_time=0.05, **parameters).n_iter_ >= 1
    assert fit(NOISY, 2, reference=parameters["reference"], refine="local").n_iter_ == 1


def test_a_reference_that_is_fitted_in_passes(sampled):
    reference = make_pipeline(StandardScaler(), KMeans(4, n_init=1, random_state=0))
    parameters = {"reference": reference, "random_state": 0}
    plain, model = (fit(WINES, 3, refine=kind, **parameters) for kind in ("none", "local"))
    np.testing.assert_array_equal(model.reference_centers_, plain.reference_centers_)
    assert model.inertia_ <= plain.inertia_ * (1 + 1e-12)
    assert_as_stated(model, WINES, model._fit_result.reference.space(WINES, WINES), None)


def test_a_given_tree_is_refined(sampled):
    reference = centers_of(NOISY, 5)
    base = ExKMC(None, reference=reference, base_tree="kdtree").fit(NOISY).tree_
    parameters = {"reference": reference, "base_tree": base, "max_leaf_nodes": base.n_leaves}
    plain, model = (fit(NOISY, 3, refine=kind, **parameters) for kind in ("none", "local"))
    assert model.inertia_ < plain.inertia_


# ---- what stands for all -------------------------------------------------------------------------


def optimizer_on(X, weights=None, k=4, n_leaves=8, n_partitions=3, **rules):
    partitions = ListedPartitions(
        split_rows(X, n_partitions), None if weights is None else split_rows(weights, n_partitions)
    )
    plan = PartitionedFitOptions(
        None, X[:k].astype(float), "imm", n_leaves, Limits(**rules), None, 0, False
    )
    data = prepare_data(partitions, plan)
    return TreeOptimizer(data, draw_coreset(data, 0), n_leaves)


def test_a_coreset_weighs_as_much_as_all_rows(monkeypatch):
    monkeypatch.setattr(coreset, "MOST_VALUES", 1)
    monkeypatch.setattr(coreset, "_FEWEST_ROWS", 300)
    weights = random_weights(len(NOISY))
    for own in (None, weights):
        rows = optimizer_on(NOISY, own).coreset
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
    optimizer = optimizer_on(NOISY)
    for centers in (NOISY[:4] * 100, NOISY[:4] / 100, NOISY[100:104], NOISY[[0, 0, 0, 0]]):
        cost_builder = cost_builder_for(optimizer.data, centers)
        squares = ((NOISY[:, None] - centers) ** 2).sum(axis=2)
        regrets = (squares - squares.min(axis=1)[:, None]).sum(axis=0).max()
        assert regrets * cost_builder.scales.regrets < 2**61
        base = squares.min(axis=1).sum() * cost_builder.scales.base
        assert 2**40 < base < 2**61


# ---- splits chosen again -------------------------------------------------------------------------


def random_node(rng, X, rows, depth, k):
    """Random cuts between values of the rows."""
    feature = int(rng.integers(X.shape[1]))
    values = np.unique(X[rows, feature])
    if depth == 0 or len(values) < 2:
        return RoutedNode(int(rng.integers(k)))
    at = int(rng.integers(len(values) - 1))
    threshold = (values[at] + values[at + 1]) / 2
    left = X[rows, feature] <= threshold
    children = (
        random_node(rng, X, rows[left], depth - 1, k),
        random_node(rng, X, rows[~left], depth - 1, k),
    )
    return RoutedNode(0, feature, float(threshold), children)


def ends_of(node, X, rows):
    """The label of each row that comes to a node."""
    if node.children is None:
        return np.full(len(rows), node.label)
    left = X[rows, node.feature] <= node.threshold
    labels = np.empty(len(rows), dtype=int)
    for side, child in zip((left, ~left), node.children, strict=True):
        labels[side] = ends_of(child, X, rows[side])
    return labels


def least_split(node, X, rows, regrets, min_weight):
    """Every cut on every feature, one by one."""
    left, right = (regrets[rows, ends_of(child, X, rows)] for child in node.children)
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
        int((regrets[rows, ends_of(node, X, rows)] - right).sum()),
    )


@pytest.mark.filterwarnings("ignore:Only .* reference centers are nearest")
@examples(25)
@given(st.integers(0, 10**6), st.integers(1, 3), st.sampled_from([1, 4]))
def test_every_split_of_a_depth_is_the_best_there_is(seed, depth, min_weight):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(60, 3)) * 4) / 2  # many rows alike
    optimizer = optimizer_on(X, min_samples_leaf=min_weight)
    root = random_node(rng, X, np.arange(len(X)), 3, 4)
    level = [(root, np.arange(len(X)))]
    for _ in range(depth - 1):
        level = [
            (child, rows[side])
            for node, rows in level
            if node.children is not None
            for child, side in zip(
                node.children,
                (X[rows, node.feature] <= node.threshold, X[rows, node.feature] > node.threshold),
                strict=True,
            )
        ]
    level = [(node, rows) for node, rows in level if node.children is not None]
    if not level:
        return
    nodes = [node for node, _ in level]
    labels = {leaf: leaf.label for leaf in root.leaves}
    sides = SplitSides(
        root.router({node: i for i, node in enumerate(nodes)}, ends=set(nodes)),
        root.router(labels, sent=dict.fromkeys(nodes, np.inf)),
        root.router(labels, sent=dict.fromkeys(nodes, -np.inf)),
        root.router(labels),
    )
    cost_builder = optimizer.data.cost_builder
    current = [(node.feature, node.threshold) for node in nodes]
    splits = reoptimize_splits(optimizer.data, cost_builder, sides, current, optimizer.coreset.X)
    squares = ((X[:, None] - cost_builder.reference.centers) ** 2).sum(axis=2)
    regrets = squares - squares.min(axis=1)[:, None]
    regrets = np.rint(regrets * cost_builder.scales.regrets).astype(np.int64)
    for (node, rows), split in zip(level, splits, strict=True):
        best, all_left, now = least_split(node, X, rows, regrets, min_weight)
        found = None if split.best is None else as_tuple(split.best)
        assert found == best
        assert (split.all_left, split.now) == (all_left, now)


@pytest.mark.filterwarnings("ignore:Only .* reference centers are nearest")
@examples(15)
@given(st.integers(0, 10**6), st.sampled_from([1, 5]), st.booleans())
def test_optimizing_never_raises_the_cost(seed, min_weight, weighted):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(80, 3)) * 4) / 2
    weights = random_weights(len(X), seed) if weighted else None
    optimizer = optimizer_on(X, weights, min_samples_leaf=min_weight)
    root = random_node(rng, X, np.arange(len(X)), 3, 4)
    tree = optimizer.evaluate([(root, X[4:8])])[0]
    assert_evaluated(tree, X, weights, min_weight)
    optimized = optimizer.optimize(tree, 1e-3, 2)
    assert optimized.cost <= tree.cost
    assert len(optimized.root.leaves) <= 8
    assert_evaluated(optimized, X, weights, min_weight)


def assert_evaluated(tree: EvaluatedTree, X, weights, min_weight):
    weights = np.ones(len(X)) if weights is None else weights
    every = np.arange(len(X))
    labels = ends_of(tree.root, X, every)
    for label in np.unique(labels[weights > 0]):
        mine = labels == label
        mean = np.average(X[mine], axis=0, weights=weights[mine])
        np.testing.assert_allclose(tree.centers[label], mean, atol=1e-9)
    np.testing.assert_allclose(
        tree.cost, cost_to(X, labels, tree.centers, weights), rtol=1e-9, atol=1e-9
    )
    numbers = {leaf: number for number, leaf in enumerate(tree.root.leaves)}
    root = tree.root.copy()
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
    parameters = {"reference": reference, "random_state": 0, "search_rounds": 5}
    lazy = dd.from_pandas(frame, npartitions=3)
    plain, model = (ExKMC(None, refine=kind, **parameters).fit(lazy) for kind in ("none", "search"))
    assert model.inertia_ < plain.inertia_
    assert_as_stated(model, NOISY.astype(np.float32), reference[:-1].transform(frame), None)
    assert set(model.tree_.feature) <= {-1, 1, 3}
