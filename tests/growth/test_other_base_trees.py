"""Random cuts, KD-tree, CART and given trees: the specification's examples, and the limits."""

from collections import deque

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from sklearn.tree import DecisionTreeClassifier

from tests.helpers.examples import examples
from tests.helpers.plain_numpy import column
from tests.helpers.training_data import data_of
from tests.oracles.search_oracle import OracleTree, between, counted_rows
from treemeans import ThresholdTree, _core
from treemeans.growth import InMemoryTree, cart, follow, kdtree, random_cuts
from treemeans.limits import Limits
from treemeans.rows import as_points


def growing_for(X, centers=None, weights=None, *, allowed=None, n_threads=1, **limits):
    """One leaf of all rows; where centers do not matter, two rows are the centers."""
    if centers is None:
        dense = X.toarray() if sparse.issparse(X) else X
        centers = np.ascontiguousarray(dense[[0, -1]], dtype=np.float64)
    rules = Limits(**limits)
    how = {"weights": weights, "rules": rules, "allowed": allowed, "n_threads": n_threads}
    return InMemoryTree(data_of(X, centers, **how))


def leaf_sets(growing):
    return sorted(growing.rows(leaf).tolist() for leaf in growing.leaves)


def assert_same_cuts(growing, other):
    np.testing.assert_array_equal(growing.feature, other.feature)
    np.testing.assert_array_equal(growing.threshold, other.threshold)
    np.testing.assert_array_equal(growing.left, other.left)


def inner_nodes(growing):
    return [node for node, feature in enumerate(growing.feature) if feature >= 0]


VALUES = [
    st.integers(-2, 2).map(float),
    st.integers(-20, 20).map(lambda v: v / 2),
    st.sampled_from([0.0, 0.0, 0.0, 1.0, -3.0]),
    st.floats(-5, 5),
]


@st.composite
def tables(draw, max_rows=20, max_columns=4):
    n = draw(st.integers(2, max_rows))
    values = st.sampled_from(VALUES).flatmap(
        lambda elements: hnp.arrays(np.float64, n, elements=elements, fill=st.nothing())
    )
    X = np.column_stack([draw(values) for _ in range(draw(st.integers(1, max_columns)))])
    if not draw(st.booleans()):
        return X, None
    weights = draw(hnp.arrays(np.float64, n, elements=st.integers(0, 3).map(float)))
    weights[draw(st.integers(0, n - 1))] = 1.0
    return X, weights


@st.composite
def limits_for(draw, n_features):
    """Arguments of `growing_for`."""
    allowed = draw(hnp.arrays(bool, n_features))
    prices = draw(hnp.arrays(np.float64, n_features, elements=st.sampled_from([0.0, 0.5, 3.0])))
    return {
        "allowed": allowed,
        "min_samples_leaf": draw(st.sampled_from([1, 1, 2, 3])),
        "max_depth": draw(st.sampled_from([None, None, 1, 2])),
        "feature_costs": draw(st.sampled_from([None, prices])),
    }


def assert_limits_hold(growing, weights, limits):
    """Every cut of the tree, checked in plain numpy."""
    if limits["max_depth"] is not None:
        assert max(growing.depth) <= limits["max_depth"]
    for node in inner_nodes(growing):
        feature = growing.feature[node]
        assert limits["allowed"][feature]
        sides = [growing.rows(child) for child in (growing.left[node], growing.right[node])]
        weight = [len(rows) if weights is None else weights[rows].sum() for rows in sides]
        assert limits["min_samples_leaf"] <= 1 or min(weight) >= limits["min_samples_leaf"]
        if limits["feature_costs"] is not None:
            regrets = growing.costs.regrets.values
            cost = [int(regrets[rows].sum(axis=0).min()) for rows in sides]
            saved = int(regrets[growing.rows(node)].sum(axis=0).min()) - sum(cost)
            price = limits["feature_costs"][feature] * growing.costs.whole
            assert saved >= round(price * (1 - 1e-9))


# ---- random cuts ---------------------------------------------------------------------------------


class Drawn:
    """A generator that draws what it is told, as shares of the range."""

    def __init__(self, *shares):
        self.shares = list(shares)

    def uniform(self, low, high):
        return low + self.shares.pop(0) * (high - low)


@pytest.mark.parametrize(
    ("law", "drawn", "expected"),
    [
        ("kmeans", 1.0, 1.0),
        ("kmeans", 4.0, 2 + np.sqrt(2)),
        ("kmeans", 8.0, 6 - np.sqrt(2)),
        ("l1", 1.0, 1.0),
        ("l1", 5.5, 5.5),
    ],
)
def test_a_drawn_place_becomes_a_threshold(law, drawn, expected):
    length = {"kmeans": 10.0, "l1": 6.0}[law]
    X = np.arange(0, 6.0005, 0.001)[:, None]  # so near each other that mid-gap says it all
    growing = growing_for(X, column(0, 2, 6))
    random_cuts(growing, column(0, 2, 6), Drawn(drawn / length, 0.5), law=law)
    assert growing.threshold[0] == pytest.approx(expected, abs=0.001)
    assert growing.n_leaves == 3


@pytest.mark.parametrize(("law", "share"), [("kmeans", 0.9), ("l1", 0.75)])
@pytest.mark.parametrize("rng", [np.random.default_rng(0), np.random.RandomState(0)])
def test_features_are_drawn_by_their_lengths(law, share, rng):
    X = np.array([[0.0, 0.0], [3.0, 1.0]])
    data = data_of(X, X)
    first = 0
    for _ in range(1500):
        growing = InMemoryTree(data)
        random_cuts(growing, X, rng, law=law)
        first += growing.feature[0] == 0
    assert first / 1500 == pytest.approx(share, abs=0.04)


@st.composite
def center_problems(draw):
    X, weights = draw(tables())
    rows = draw(st.lists(st.integers(0, len(X) - 1), min_size=1, max_size=6))
    offset = draw(st.sampled_from([0.0, 0.25]))
    return X, weights, X[rows] + offset, draw(st.integers(0, 2**31))


@given(center_problems(), st.booleans(), st.sampled_from(["kmeans", "l1"]))
def test_random_cuts_part_all_centers_mid_gap(problem, as_sparse, law):
    X, weights, centers, seed = problem
    growing = growing_for(sparse.csr_matrix(X) if as_sparse else X, centers, weights)
    random_cuts(growing, centers, np.random.default_rng(seed), law=law)
    leaf_of_center = growing.freeze().apply(centers)
    distinct = np.unique(centers, axis=0)
    assert growing.n_leaves == len(distinct) == len(np.unique(leaf_of_center))
    members = {0: np.arange(len(centers))}
    for node in range(growing.n_nodes):
        here = members[node]
        if growing.feature[node] < 0:
            # Its own center's, unless all its rows are another's.
            pure = growing.regret(node) == 0 and growing.totals[node][here.min()] > 0
            assert growing.label[node] == (growing.cheapest(node) if pure else here.min())
            continue
        feature, threshold = growing.feature[node], growing.threshold[node]
        values = np.append(X[growing.rows(node), feature], centers[here, feature])
        below, above = values[values <= threshold].max(), values[values > threshold].min()
        assert threshold == between(below, above)
        left = centers[here, feature] <= threshold
        assert 0 < left.sum() < len(here)
        members[growing.left[node]], members[growing.right[node]] = here[left], here[~left]


@given(center_problems(), st.data())
def test_random_cuts_honour_the_limits(problem, data):
    X, weights, centers, seed = problem
    limits = data.draw(limits_for(X.shape[1]))
    growing = growing_for(X, centers, weights, **limits)
    random_cuts(growing, centers, np.random.default_rng(seed))
    assert_limits_hold(growing, weights, limits)
    assert growing.n_leaves <= len(np.unique(centers, axis=0))


def test_random_cuts_are_the_seeds_and_draw_again_where_a_limit_forbids():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(300, 5))
    centers = X[:8]
    trees = []
    for seed in (0, 0, 1):
        growing = growing_for(X, centers, min_samples_leaf=10)
        random_cuts(growing, centers, np.random.default_rng(seed))
        trees.append(growing)
        assert min(map(len, leaf_sets(growing))) >= 10
    assert_same_cuts(trees[0], trees[1])
    assert trees[0].feature != trees[2].feature
    # The first draw leaves a single row on the left; the second one is made.
    tight = growing_for(column(0, 1, 2, 3, 10), column(0, 10), min_samples_leaf=2)
    random_cuts(tight, column(0, 10), Drawn(0.001, 0.1))
    assert thresholds(tight) == [2.5]


def test_a_center_without_a_place_gets_no_leaf():
    centers = column(0, np.nan, 9)
    growing = growing_for(column(0, 1, 8, 9), column(0, 4, 9))
    random_cuts(growing, centers, np.random.default_rng(0))
    assert sorted(growing.label[leaf] for leaf in growing.leaves) == [0, 2]


def test_centers_far_from_others_are_parted_however_near_each_other():
    # The gap of 1e-3 is lost when added to the square of a gap of 1e9.
    centers = column(0, 1e9, 1e9 + 1e-3)
    growing = growing_for(centers, centers)
    random_cuts(growing, centers, np.random.default_rng(0))
    assert growing.n_leaves == 3


# ---- KD-tree -------------------------------------------------------------------------------------


def thresholds(growing):
    return [growing.threshold[node] for node in inner_nodes(growing)]


def test_kdtree_cuts_at_medians_level_by_level():
    growing = growing_for(column(*range(1, 9)))
    kdtree(growing, 4)
    assert thresholds(growing) == [4.5, 2.5, 6.5]


@pytest.mark.parametrize(("n_leaves", "made"), [(3, 2), (5, 4), (6, 4)])
def test_kdtree_leaves_are_of_a_size(n_leaves, made):
    growing = growing_for(np.random.default_rng(0).permutation(150)[:, None])
    kdtree(growing, n_leaves)
    assert growing.n_leaves == made
    if made == 2:
        assert [len(rows) for rows in leaf_sets(growing)] == [75, 75]


def test_kdtree_never_makes_more_leaves_than_asked_for():
    growing = growing_for(column(*range(1, 9)))
    kdtree(growing, 3)
    assert leaf_sets(growing) == [[0, 1], [2, 3], [4, 5, 6, 7]]


def test_kdtree_cuts_below_a_median_that_is_the_largest_value():
    growing = growing_for(column(0, 5, 5, 5))
    kdtree(growing, 2)
    assert thresholds(growing) == [2.5]


def oracle_kdtree(X, weights, n_leaves):
    """Of rows repeated as often as their weight says."""
    counted = counted_rows(len(X), weights)
    times = np.ones(len(X), dtype=int) if weights is None else weights.astype(int)
    tree, queue = OracleTree.one_leaf(counted), deque([0])
    size = max(1, times.sum() // n_leaves)
    while queue and tree.n_leaves < n_leaves:
        node = queue.popleft()
        copies = np.repeat(X[tree.rows[node]], times[tree.rows[node]], axis=0)
        variance = copies.var(axis=0)
        variance[np.ptp(copies, axis=0) == 0] = 0.0
        if len(copies) < 2 * size or variance.max() == 0:
            continue
        feature = int(np.flatnonzero(variance >= variance.max() * (1 - 1e-12))[0])
        values = np.sort(copies[:, feature])
        at = values[(len(values) - 1) // 2]
        if at == values[-1]:
            at = values[values < at].max()
        queue.extend(tree.split(X, node, feature, between(at, values[values > at].min())))
    return tree


@given(tables(), st.booleans(), st.integers(1, 8))
def test_kdtree_is_the_oracles(problem, as_sparse, n_leaves):
    X, weights = problem
    growing = growing_for(sparse.csr_matrix(X) if as_sparse else X, None, weights)
    kdtree(growing, n_leaves)
    assert_same_cuts(growing, oracle_kdtree(X, weights, n_leaves))


@given(tables(), st.lists(st.integers(1, 8), min_size=2, max_size=4))
def test_kdtree_goes_along_cuts_that_are_there(problem, sizes):
    """A tree that had other sizes before gives the leaves of a fresh one."""
    X, weights = problem
    shared = growing_for(X, None, weights)
    for n_leaves in sizes:
        fresh = growing_for(X, None, weights)
        expected = [fresh.rows(leaf).tolist() for leaf in kdtree(fresh, n_leaves)]
        assert [sorted(shared.rows(leaf)) for leaf in kdtree(shared, n_leaves)] == expected
        assert len(expected) == fresh.n_leaves


@given(tables(), st.data())
def test_kdtree_honours_the_limits(problem, data):
    X, weights = problem
    limits = data.draw(limits_for(X.shape[1]))
    growing = growing_for(X, None, weights, **limits)
    kdtree(growing, 6)
    assert_limits_hold(growing, weights, limits)


def test_kdtree_takes_the_next_feature_where_the_first_is_forbidden():
    X = np.column_stack([np.repeat([0.0, 100.0], [9, 1]), np.arange(10.0)])
    growing = growing_for(X, min_samples_leaf=3)
    kdtree(growing, 2)
    assert growing.feature[0] == 1
    assert growing.threshold[0] == 4.5


def test_kdtree_scales_with_weights_that_are_no_copies():
    X = np.random.default_rng(0).normal(size=(64, 3))
    plain, light = growing_for(X), growing_for(X, None, np.full(64, 1 / 128))
    kdtree(plain, 8)
    kdtree(light, 8)
    assert plain.n_leaves == 8
    assert_same_cuts(plain, light)


@examples(50)
@given(tables(), st.booleans())
def test_variances_are_those_of_numpy(problem, as_sparse):
    X, weights = problem
    rows = counted_rows(len(X), weights)[1:] if len(X) > 2 else np.arange(len(X))
    if len(rows) == 0:
        return
    points = as_points(sparse.csr_matrix(X) if as_sparse else X, by_column=True)
    given_weights = None if weights is None else np.maximum(weights[rows], 0.5)
    found = _core.variances(points, rows.astype(np.int32), given_weights, 1)
    mean = np.average(X[rows], axis=0, weights=given_weights)
    expected = np.average((X[rows] - mean) ** 2, axis=0, weights=given_weights)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


def test_variances_do_not_depend_on_threads_or_an_offset(two_threads):
    X = np.random.default_rng(0).normal(size=(3000, 40)) + 1e8
    rows = np.arange(0, 3000, 2, dtype=np.int32)
    one, two = (_core.variances(as_points(X), rows, None, n) for n in (1, 2))
    np.testing.assert_array_equal(one, two)
    np.testing.assert_allclose(one, X[rows].var(axis=0), rtol=1e-7)


def test_column_reads_the_rows_asked_for():
    X = np.arange(12.0).reshape(4, 3)
    rows = np.array([0, 3], dtype=np.int32)
    for points in (as_points(X), as_points(sparse.csr_matrix(X), by_column=True)):
        assert _core.column(points, 1, rows, 1).tolist() == [1.0, 10.0]


# ---- CART ----------------------------------------------------------------------------------------


def clustered(seed=0, n=400, d=5, k=4):
    rng = np.random.default_rng(seed)
    centers = 2 * rng.normal(size=(k, d))
    return rng.normal(size=(n, d)) + centers[rng.integers(k, size=n)], centers


def cart_tree(X, centers, n_leaves, weights=None, **limits):
    growing = growing_for(X, centers, weights, **limits)
    table = growing.table
    tree = cart(X, growing.costs, weights, n_leaves, growing.limits, table.allowed)
    follow(growing, tree, recenter=True)
    return growing, tree


@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_cart_parts_the_rows_as_scikit_learn_does(as_sparse, weighted):
    X, centers = clustered()
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    weights = np.random.default_rng(1).integers(1, 4, len(X)) * 1.0 if weighted else None
    X = sparse.csr_matrix(X) if as_sparse else X
    growing, tree = cart_tree(X, centers, 9, weights)
    for n_leaves in (2, 5, 9):
        sklearns = DecisionTreeClassifier(max_leaf_nodes=n_leaves, random_state=0)
        leaves = sklearns.fit(X, growing.costs.nearest, weights).apply(X)
        for ours in (tree, growing.freeze()):
            found = ours.with_leaves(n_leaves).apply(X)
            assert len(np.unique(np.column_stack([leaves, found]), axis=0)) == n_leaves


def test_cart_thresholds_lie_mid_gap():
    X, centers = clustered()
    growing, _ = cart_tree(X, centers, 9)
    assert growing.n_leaves == 9
    for node in inner_nodes(growing):
        values = X[growing.rows(node), growing.feature[node]]
        left = values <= growing.threshold[node]
        assert growing.threshold[node] == between(values[left].max(), values[~left].min())


@given(tables(), st.data())
def test_cart_honours_the_limits(problem, data):
    X, weights = problem
    limits = data.draw(limits_for(X.shape[1]))
    growing, _ = cart_tree(X, X[[0, -1]], 6, weights, **limits)
    assert_limits_hold(growing, weights, limits)
    assert growing.n_leaves <= 6


def test_cart_searches_within_the_limits_and_so_loses_no_cut_to_them():
    X, centers = clustered()
    allowed = np.array([False, True, False, True, True])
    weights = np.random.default_rng(1).integers(1, 4, len(X)) * 1.0
    for given_weights in (None, weights):
        growing, tree = cart_tree(
            X, centers, 8, given_weights, allowed=allowed, min_samples_leaf=20, max_depth=4
        )
        assert growing.n_leaves == tree.n_leaves > 4
        assert set(growing.feature) <= {-1, 1, 3, 4}
        assert max(growing.depth) <= 4


@pytest.mark.parametrize(
    ("n_leaves", "limits"),
    [
        (1, {}),
        (5, {"max_depth": 0}),
        (5, {"min_samples_leaf": 201}),
        (5, {"allowed": np.zeros(5, dtype=bool)}),
    ],
)
def test_cart_of_one_leaf(n_leaves, limits):
    X, centers = clustered()
    growing, tree = cart_tree(X, centers, n_leaves, **limits)
    assert growing.n_leaves == tree.n_leaves == 1


# ---- given trees ---------------------------------------------------------------------------------

LADDER = ThresholdTree(
    feature=[0, -1, 1, -1, 0, -1, -1],
    threshold=[1.5, 0, 0.5, 0, 4.5, 0, 0],
    left=[1, -1, 3, -1, 5, -1, -1],
    right=[2, -1, 4, -1, 6, -1, -1],
    label=[0] * 7,
    n_features=2,
)
STEPS = np.array([[0, 0], [1, 1], [2, 0], [3, 0], [4, 1], [5, 1], [6, 1]], dtype=float)


@pytest.mark.parametrize(
    ("limits", "n_leaves"),
    [
        ({}, 4),
        ({"max_depth": 2}, 3),
        ({"max_depth": 1}, 2),
        ({"min_samples_leaf": 2}, 3),  # the last cut leaves row 4 alone
        ({"min_samples_leaf": 3}, 1),  # the first leaves two rows, and all is below it
        ({"allowed": np.array([True, False])}, 2),
        ({"allowed": np.array([False, True])}, 1),
        ({"feature_costs": np.array([0.0, 100.0])}, 2),
    ],
)
def test_a_given_tree_honours_the_limits(limits, n_leaves):
    growing = growing_for(STEPS, STEPS[[0, 3, 6]], **limits)
    place = follow(growing, LADDER)
    assert growing.n_leaves == n_leaves
    assert len(place) == growing.n_nodes
    for node, here in place.items():
        if growing.feature[here] >= 0:
            assert growing.feature[here] == LADDER.feature[node]
            assert growing.threshold[here] == LADDER.threshold[node]


def test_what_a_priced_cut_saves_is_weighed_exactly():
    # Cut at 1.5 of feature 0, rows 0-1 from the rest: a price just below and just above its worth.
    growing = growing_for(STEPS, STEPS[[0, 6]])
    regret = growing.regret(0)
    left, right = growing.split(0, 0, 1.5)
    saved = regret - growing.regret(left) - growing.regret(right)
    share = saved * growing.costs.regrets.unit / growing.costs.cheapest
    for factor, n_leaves in ((0.999, 2), (1.001, 1)):
        priced = np.array([share * factor, 0.0])
        growing = growing_for(STEPS, STEPS[[0, 6]], feature_costs=priced)
        follow(growing, LADDER.with_leaves(2))
        assert growing.n_leaves == n_leaves


def test_without_limits_empty_sides_are_kept():
    tree = ThresholdTree(
        [0, -1, -1], [99.0, np.nan, np.nan], [1, -1, -1], [2, -1, -1], [0] * 3, n_features=2
    )
    for recenter in (False, True):
        growing = growing_for(STEPS)
        follow(growing, tree, recenter=recenter)
        assert growing.n_leaves == 2
        assert growing.threshold[0] == 99.0


@given(tables(max_columns=2), st.data())
def test_given_trees_honour_any_limits(problem, data):
    X, weights = problem
    X = np.column_stack([X, X[:, 0]])[:, :2]
    limits = data.draw(limits_for(2))
    growing = growing_for(X, None, weights, **limits)
    follow(growing, LADDER)
    assert_limits_hold(growing, weights, limits)
