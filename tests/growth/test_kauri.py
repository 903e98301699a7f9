"""Kauri against its oracle, and what it promises: gains that are drops of the k-means cost."""

import importlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from sklearn.decomposition import PCA

from tests.helpers.datasets import kmeans, load
from tests.helpers.examples import examples
from tests.helpers.training_data import data_of
from tests.oracles.kauri_oracle import kauri_tree, kmeans_cost
from treemeans import ExKMC, _core
from treemeans.growth import InMemoryTree, kauri
from treemeans.limits import Limits
from treemeans.progress import Progress
from treemeans.rows import as_points

QUIET = Progress("", 1, False)
MODULE = importlib.import_module("treemeans.growth.kauri")  # the package has the function


def growing_for(X, weights=None, *, allowed=None, n_threads=1, **limits):
    """One leaf of all rows. The reference plays no part in Kauri: two rows are its centers."""
    dense = X.toarray() if sparse.issparse(X) else X
    centers = np.ascontiguousarray(dense[[0, -1]], dtype=np.float64)
    rules = Limits(**limits)
    how = {"weights": weights, "rules": rules, "allowed": allowed, "n_threads": n_threads}
    return InMemoryTree(data_of(X, centers, **how))


def grown(X, k, n_leaves, weights=None, *, space=None, **how):
    """The tree and Kauri's cluster of each node."""
    growing = growing_for(X, weights, **how)
    space = growing.table.points if space is None else as_points(space)
    clusters = kauri(growing, space, weights, k, n_leaves, QUIET)
    return growing, clusters


def steps(X, k, n_leaves, weights=None, n_threads=1):
    """The cuts of the bare search."""
    points = as_points(X, by_column=True)
    rows = np.arange(X.shape[0]) if weights is None else np.flatnonzero(weights)
    features = range(X.shape[1])
    search = _core.Kauri(
        points,
        points,
        rows.astype(np.int32),
        weights,
        _core.Limits(),
        k,
        list(features),
        [0.0 for _ in features],
        n_threads,
    )
    found = []
    while len(found) < n_leaves - 1 and (cut := search.step()) is not None:
        clusters = (cut.left_cluster, cut.right_cluster)
        found.append((cut.node, cut.feature, cut.low, cut.high, *clusters, cut.gain))
    return found


def assert_same_tree(growing, clusters, tree):
    np.testing.assert_array_equal(growing.feature, tree.feature)
    np.testing.assert_array_equal(growing.threshold, tree.threshold)
    np.testing.assert_array_equal(growing.left, tree.left)
    np.testing.assert_array_equal(growing.right, tree.right)
    np.testing.assert_array_equal(growing.freeze().growth, tree.growth)
    np.testing.assert_array_equal(clusters, tree.label)


# ---- the specification's examples ----------------------------------------------------------------


def test_two_pairs_are_parted_and_no_more():
    (cut,) = steps(np.array([[0.0], [1.0], [10.0], [11.0]]), 2, 9)
    assert cut[:6] == (0, 0, 1.0, 10.0, 0, 1)
    assert cut[6] == pytest.approx(100.0)


def test_three_pairs_take_two_cuts():
    X = np.array([[0.0], [1.0], [10.0], [11.0], [20.0], [21.0]])
    cuts = steps(X, 3, 9)
    assert [cut[2:4] for cut in cuts] == [(1.0, 10.0), (11.0, 20.0)]
    assert [cut[6] for cut in cuts] == pytest.approx([300.0, 100.0])


def test_star_star_switch():
    X = np.array([[4, 5], [7, 9], [0, 1], [8, 9], [2, 3], [8, 4]], dtype=float)
    cuts = steps(X, 3, 4)
    assert [cut[1:3] for cut in cuts] == [(0, 4.0), (1, 4.0), (0, 2.0)]
    assert [cut[6] for cut in cuts] == pytest.approx([76 + 1 / 3, 16 + 5 / 6, 3.5])
    # Nodes: 1 and 2 under the root, 3 and 4 under 2, 5 and 6 under 1.
    assert [cut[0] for cut in cuts] == [0, 2, 1]
    of_8_4 = cuts[1][4]  # the low side of feature 1
    assert cuts[2][4:6] == (0, of_8_4)  # (4, 5), the right side, joins it


# ---- whole trees ---------------------------------------------------------------------------------

VALUES = [
    st.integers(-2, 2).map(float),
    st.integers(-20, 20).map(lambda v: v / 2),
    st.sampled_from([0.0, 0.0, 0.0, 0.0, 1.0, -3.0]),
    st.integers(0, 40).map(lambda v: 1000.0 + v / 4),
]


@st.composite
def problems(draw):
    n = draw(st.integers(2, 12))
    column = st.sampled_from(VALUES).flatmap(
        lambda values: hnp.arrays(np.float64, n, elements=values, fill=st.nothing())
    )
    X = np.column_stack([draw(column) for _ in range(draw(st.integers(1, 3)))])
    weights = None
    if draw(st.booleans()):
        weights = draw(hnp.arrays(np.float64, n, elements=st.integers(0, 3).map(float)))
        weights[draw(st.integers(0, n - 1))] = 1.0
    return X, weights, draw(st.integers(1, 5)), draw(st.integers(1, 7))


@examples(200)
@given(problems(), st.booleans())
def test_tree_is_the_oracles(problem, as_sparse):
    X, weights, k, n_leaves = problem
    tree, _ = kauri_tree(X, X, weights, k, n_leaves)
    growing, clusters = grown(sparse.csr_matrix(X) if as_sparse else X, k, n_leaves, weights)
    assert_same_tree(growing, clusters, tree)


@examples(100)
@given(problems(), st.data())
def test_limits_are_honoured_as_the_oracle_does(problem, data):
    X, weights, k, n_leaves = problem
    allowed = np.array(data.draw(st.lists(st.booleans(), min_size=3, max_size=3))[: X.shape[1]])
    min_weight = data.draw(st.integers(1, 4))
    max_depth = data.draw(st.sampled_from([None, 1, 2]))
    shares = np.array(data.draw(st.lists(st.sampled_from([0.0, 0.25, 2.0]), min_size=3)))[:3]
    prices = shares[: X.shape[1]]
    growing, clusters = grown(
        X,
        k,
        n_leaves,
        weights,
        allowed=allowed,
        min_samples_leaf=min_weight,
        max_depth=max_depth,
        feature_costs=prices,
    )
    tree, _ = kauri_tree(
        X,
        X,
        weights,
        k,
        n_leaves,
        features=np.flatnonzero(allowed),
        min_weight=min_weight,
        max_depth=max_depth,
        prices=prices * growing.costs.cheapest,
    )
    assert_same_tree(growing, clusters, tree)


@examples(100)
@given(problems(), st.sampled_from(["dense", "sparse"]), st.sampled_from(["dense", "sparse"]))
def test_cost_may_be_measured_in_another_space(problem, table, space):
    X, weights, k, n_leaves = problem
    mixed = np.column_stack([X @ np.arange(1.0, X.shape[1] + 1), X[:, 0] ** 2, np.sign(X[:, -1])])
    tree, _ = kauri_tree(X, mixed, weights, k, n_leaves)
    form = {"dense": np.asarray, "sparse": sparse.csr_matrix}
    growing, clusters = grown(form[table](X), k, n_leaves, weights, space=form[space](mixed))
    assert_same_tree(growing, clusters, tree)


@examples(40)
@given(st.integers(0, 10**6), st.sampled_from(["floats", "counts", "sparse counts"]), st.booleans())
def test_outliers_leave_one_by_one(seed, kind, weighted):
    # Few rows leave a leaf of a wide table: its sums are corrected, not added up again.
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (10, 40)) * rng.integers(0, 2, (10, 40)) * 1.0
    X[rng.choice(10, 3, replace=False)] += rng.integers(0, 9, (3, 40)) * rng.integers(0, 2, (3, 40))
    if kind == "floats":
        X = X[:, :20] + rng.random((10, 20))
    weights = rng.integers(1, 4, 10) * 1.0 if weighted else None
    tree, _ = kauri_tree(X, X, weights, 4, 5)
    growing, clusters = grown(sparse.csr_matrix(X) if "sparse" in kind else X, 4, 5, weights)
    assert_same_tree(growing, clusters, tree)


# ---- larger tables -------------------------------------------------------------------------------


def blobs(n=4000, d=30, k=6, seed=0):
    """Blobs that overlap, so that there is always something to gain."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) + rng.normal(size=(k, d))[rng.integers(k, size=n)]


def labels_by(cuts, X):
    """Cluster of each row after the cuts of the bare search."""
    node, clusters = np.zeros(len(X), dtype=int), [0]
    for parent, feature, low, _, left, right, _ in cuts:
        here, below = node == parent, X[:, feature] <= low
        node[here & below], node[here & ~below] = len(clusters), len(clusters) + 1
        clusters += [left, right]
    return np.array(clusters)[node]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_gain_is_the_drop_of_the_cost(weighted, offset):
    X = blobs(n=600, d=8) + offset
    weights = np.random.default_rng(1).random(len(X)) + 0.1 if weighted else np.ones(len(X))
    cuts = steps(X, 5, 25, weights if weighted else None)
    assert len(cuts) == 24
    before = kmeans_cost(X, weights, np.zeros(len(X), dtype=int))
    for n in range(len(cuts)):
        after = kmeans_cost(X, weights, labels_by(cuts[: n + 1], X))
        assert cuts[n][6] == pytest.approx(before - after, rel=1e-6)
        before = after


def test_no_single_move_is_left_when_it_stops():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, size=(25, 2)).astype(float)
    _, clusters = grown(X, 3, 1000)
    tree, gains = kauri_tree(X, X, None, 3, 1000)
    assert len(clusters) == len(tree.feature) < 2 * len(np.unique(X, axis=0))
    assert min(gains) > 0


@pytest.mark.parametrize("as_sparse", [False, True])
def test_threads_do_not_change_the_tree(as_sparse, two_threads):
    X = blobs()
    if as_sparse:
        X = sparse.csr_matrix(np.where(np.abs(X) > 1.5, X.round(1), 0.0))
    assert steps(X, 6, 24) == steps(X, 6, 24, n_threads=2)


def test_a_weight_is_a_number_of_copies():
    X = blobs(n=300, d=4).round(1)
    times = np.random.default_rng(2).integers(0, 4, len(X))
    times[[0, -1]] = 1
    weighted, by_weight = grown(X, 4, 16, times.astype(float))
    repeated, by_copies = grown(np.repeat(X, times, axis=0), 4, 16)
    assert weighted.feature == repeated.feature
    np.testing.assert_array_equal(weighted.threshold, repeated.threshold)
    np.testing.assert_array_equal(by_weight, by_copies)


def test_mostly_constant_columns_need_only_their_few_rows():
    # The same numbers as one dense and one sparse table, with the usual value in the middle.
    X = np.random.default_rng(3).choice([-2.0, -1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 3.0], (500, 20))
    dense, by_dense = grown(X, 5, 20)
    thin, by_sparse = grown(sparse.csr_matrix(X), 5, 20)
    assert dense.feature == thin.feature
    np.testing.assert_array_equal(dense.threshold, thin.threshold)
    np.testing.assert_array_equal(by_dense, by_sparse)


def test_a_large_table_is_searched_on_a_sample(monkeypatch):
    X = blobs(n=3000, d=4)
    rows = np.sort(np.random.RandomState(0).permutation(3000)[:500])
    sampled = steps(X[rows], 5, 15)
    monkeypatch.setattr(MODULE, "_MOST_ROWS", 500)
    growing, clusters = grown(X, 5, 15)
    inner = [node for node, feature in enumerate(growing.feature) if feature >= 0]
    assert [cut[0] for cut in sampled] == sorted(inner, key=lambda n: growing.freeze().growth[n])
    for node, feature, low, high, left, right, _ in sampled:
        assert growing.feature[node] == feature
        assert low <= growing.threshold[node] < high
        assert clusters[growing.left[node]] == left
        assert clusters[growing.right[node]] == right
        # Half way between two neighbours among all of the node's rows.
        values = X[growing.rows(node), feature]
        below = values[values <= growing.threshold[node]].max()
        above = values[values > growing.threshold[node]].min()
        assert growing.threshold[node] == pytest.approx((below + above) / 2, abs=1e-12)


def test_limits_hold_for_all_rows_when_a_sample_is_searched(monkeypatch):
    X = blobs(n=3000, d=4)
    monkeypatch.setattr(MODULE, "_MOST_ROWS", 300)
    growing, _ = grown(X, 5, 40, min_samples_leaf=100, max_depth=4)
    assert growing.n_leaves > 5
    assert min(len(growing.rows(leaf)) for leaf in growing.leaves) >= 100
    assert max(growing.depth) <= 4


def test_one_row_and_equal_rows_stay_one_leaf():
    assert grown(np.ones((1, 2)), 2, 4)[0].n_leaves == 1
    assert grown(np.ones((5, 2)), 2, 4)[0].n_leaves == 1
    assert grown(np.arange(8.0)[:, None], 3, 1)[0].n_leaves == 1


def test_pipeline_space_on_real_data(one_thread):
    X, k = load("iris")
    space = PCA(2).fit_transform(X)
    growing, clusters = grown(X, k, 6, space=space)
    labels = clusters[growing.leaf_of_row()]
    assert kmeans_cost(space, np.ones(len(X)), labels) < 1.1 * kmeans(space, k).inertia_


def test_excess_on_digits_is_the_published_one(one_thread):
    X, k = load("digits")
    cost = kmeans(X, k).inertia_
    excess = []
    for n_leaves in (k, 2 * k, 4 * k):
        growing, clusters = grown(X, k, n_leaves)
        labels = clusters[growing.leaf_of_row()]
        excess.append(kmeans_cost(X, np.ones(len(X)), labels) / cost - 1)
    assert excess == pytest.approx([0.191, 0.108, 0.061], abs=0.002)


# ---- extreme weights and values ------------------------------------------------------------------

EXTREME_ROWS = np.array([[0.82], [0.58], [0.29], [-0.16], [0.6]])
EXTREME_WEIGHTS = np.array(
    [0.01, 1020356.9879825459, 5.367971379905133e-06, 344899683020.34076, 1e11]
)


@pytest.mark.parametrize("how", [{"refine": "search"}, {"base_tree": "best"}])
def test_searches_that_try_kauri_leave_it_out_where_weights_range_too_far(how):
    model = ExKMC(
        3, max_leaf_nodes=4, reference=EXTREME_ROWS[:3], search_rounds=1, random_state=0, **how
    ).fit(EXTREME_ROWS, sample_weight=EXTREME_WEIGHTS)
    assert model.inertia_ == pytest.approx(
        kmeans_cost(EXTREME_ROWS, EXTREME_WEIGHTS, model.labels_), rel=1e-6
    )


def test_kauri_says_that_weights_range_too_far():
    with pytest.raises(ValueError, match=r"from 5\.36797e-06 to 3\.449e\+11 here"):
        ExKMC(3, base_tree="kauri", reference=EXTREME_ROWS[:3]).fit(
            EXTREME_ROWS, sample_weight=EXTREME_WEIGHTS
        )


@given(problems(), st.integers(0, 2**32))
def test_any_weights_leave_the_bare_search_within_its_arrays(problem, seed):
    X, _, k, n_leaves = problem
    rng = np.random.default_rng(seed)
    weights = 10.0 ** rng.uniform(-20, 20, len(X))
    for node, feature, low, high, left, right, _ in steps(X, k, n_leaves, weights):
        assert 0 <= node < 2 * n_leaves - 1
        assert 0 <= feature < X.shape[1]
        assert low < high
        assert 0 <= left < k
        assert 0 <= right < k


@pytest.mark.parametrize("scale", [2.0**-500, 2.0**-400, 2.0**400, 2.0**504])
@pytest.mark.parametrize("as_table", [np.asarray, sparse.csr_array])
def test_the_scale_of_the_values_does_not_matter(scale, as_table):
    X = np.random.default_rng(0).normal(size=(300, 3))
    usual, scaled = steps(as_table(X), 3, 6), steps(as_table(X * scale), 3, 6)
    assert [cut[:2] + cut[4:6] for cut in scaled] == [cut[:2] + cut[4:6] for cut in usual]
    assert [cut[2] for cut in scaled] == [cut[2] * scale for cut in usual]


def test_a_fit_of_huge_values_is_the_usual_one():
    X = np.random.default_rng(0).normal(size=(1000, 2))
    centers = kmeans(X, 3).cluster_centers_
    scale = 2.0**505  # about 1e152
    usual = ExKMC(3, base_tree="kauri", reference=centers).fit(X)
    scaled = ExKMC(3, base_tree="kauri", reference=centers * scale).fit(X * scale)
    np.testing.assert_array_equal(scaled.labels_, usual.labels_)
    assert scaled.inertia_ / scale / scale == pytest.approx(usual.inertia_)
