"""k-medians and cosine costs: kernels against numpy, references, trees, and the bound of IMM."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.metrics.pairwise import cosine_distances, manhattan_distances
from sklearn.preprocessing import StandardScaler

from treemeans import ExKMC, _core
from treemeans.costs import CosineCost, KMediansCost
from treemeans.reference import KMedians, SphericalKMeans
from treemeans.rows import as_points

DATA = {
    "iris": load_iris().data,
    "wine": StandardScaler().fit_transform(load_wine().data),
    "digits": load_digits().data[:400],
}


def case(seed):
    rng = np.random.default_rng(seed)
    n, d, k = rng.integers(1, 60), rng.integers(1, 9), rng.integers(1, 6)
    X = np.round(rng.normal(size=(n, d)) * 3) * (rng.random((n, d)) < 0.6)
    weights = rng.integers(0, 4, n).astype(float) if seed % 2 else None
    if weights is not None and not weights.any():
        weights[0] = 1.0
    return X, rng.integers(0, k, n).astype(np.int32), int(k), weights


def tables(X):
    return {"dense": X, "sparse": sparse.csr_matrix(X)}


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("threads", [1, 2])
def test_prices_and_medians(seed, kind, threads):
    X, labels, k, weights = case(seed)
    centers = np.random.default_rng(seed).normal(size=(k, X.shape[1]))
    points = as_points(tables(X)[kind], by_column=True)
    base, nearest, regret = _core.price(points, centers, threads, absolute=True)
    expected = manhattan_distances(X, centers)
    np.testing.assert_allclose(base[:, None] + regret, expected, atol=1e-9)
    np.testing.assert_allclose(expected[np.arange(len(X)), nearest], expected.min(axis=1))
    medians = np.full((k, X.shape[1]), 7.5)
    costs = _core.group_medians(points, labels, weights, medians, threads)
    copies = np.ones(len(X), int) if weights is None else weights.astype(int)
    for c in range(k):
        rows = np.repeat(X, copies * (labels == c), axis=0)
        if len(rows):
            np.testing.assert_allclose(medians[c], np.median(rows, axis=0))
            assert costs[c] == pytest.approx(np.abs(rows - medians[c]).sum())
        else:
            assert costs[c] == 0
            assert (medians[c] == 7.5).all()


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_the_reference_is_a_fixed_point(name, kind):
    X = DATA[name]
    model = KMedians(4, random_state=0).fit(tables(X)[kind])
    distances = manhattan_distances(X, model.cluster_centers_)
    assert model.inertia_ == pytest.approx(distances.min(axis=1).sum())
    for c in range(4):
        own = X[model.labels_ == c]
        assert np.abs(own - np.median(own, axis=0)).sum() == pytest.approx(
            np.abs(own - model.cluster_centers_[c]).sum()
        )
    np.testing.assert_array_equal(model.predict(tables(X)[kind]), model.labels_)


@pytest.mark.parametrize("name", DATA)
def test_k_medians_beats_k_means_on_its_own_cost(name):
    X = DATA[name]
    centers = ExKMC(5, random_state=0).fit(X).reference_centers_
    cost = KMediansCost.of(X, None, 1)
    assert KMedians(5, random_state=0).fit(X).inertia_ <= cost.price(centers).cheapest


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("refine", ["none", "local", "search"])
def test_the_stated_cost_is_the_recomputed_one(name, refine):
    X, rounds = DATA[name], 10 if refine == "search" else None
    model = ExKMC(
        4, cost="kmedians", max_leaf_nodes=8, refine=refine, search_rounds=rounds, random_state=0
    ).fit(X)
    for size in model.path_["n_leaves"].tolist():
        small = model.with_leaves(size)
        medians = [np.median(X[small.labels_ == c], axis=0) for c in np.unique(small.labels_)]
        cost = sum(
            np.abs(X[small.labels_ == c] - center).sum()
            for c, center in zip(np.unique(small.labels_), medians, strict=True)
        )
        assert small.inertia_ == pytest.approx(cost)
        np.testing.assert_allclose(small.cluster_centers_[np.unique(small.labels_)], medians)
    assert "agree with k-medians" in str(model.rules())
    assert "k-means" not in str(model.rules())
    np.testing.assert_allclose(model.transform(X), manhattan_distances(X, model.cluster_centers_))
    assert model.score(X) == pytest.approx(-model.inertia_)


def depth(tree):
    below = [0] * tree.n_nodes
    for node in range(tree.n_nodes - 1, -1, -1):
        if tree.left[node] >= 0:
            below[node] = 1 + max(below[tree.left[node]], below[tree.right[node]])
    return below[0]


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("k", [2, 5, 12])
def test_imm_is_within_its_bound(name, k):
    """Theorem 3 of Dasgupta, Frost, Moshkovitz and Rashtchian (2020): (2 H + 1) times the cost."""
    X = DATA[name]
    model = ExKMC(k, cost="kmedians", max_leaf_nodes=k, random_state=0).fit(X)
    bound = 2 * depth(model.tree_) + 1
    assert model.surrogate_inertia_ <= bound * model.reference_inertia_
    assert model.inertia_ <= model.surrogate_inertia_ * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(30))
def test_imm_is_within_its_bound_on_small_tables(seed):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(40, 3)) * 4, 1)
    k = int(rng.integers(2, 8))
    model = ExKMC(k, cost="kmedians", max_leaf_nodes=k, random_state=seed).fit(X)
    assert model.surrogate_inertia_ <= (2 * depth(model.tree_) + 1) * model.reference_inertia_


@pytest.mark.parametrize("cost", ["kmedians", "cosine"])
@pytest.mark.parametrize("base_tree", ["imm", "none", "exgreedy", "emn", "kauri", "cart", "best"])
def test_expansion_never_raises_the_surrogate_cost_and_ends_at_the_reference(cost, base_tree):
    """Corollary of ExKMC: with enough leaves the reference comes back."""
    X = np.unique(DATA["iris"], axis=0)
    model = ExKMC(3, cost=cost, base_tree=base_tree, max_leaf_nodes=len(X), random_state=0).fit(X)
    surrogate = model.path_["surrogate_cost"]
    assert (np.diff(surrogate) <= 1e-9 * surrogate[0]).all()
    assert surrogate[-1] == pytest.approx(model.reference_inertia_)
    np.testing.assert_array_equal(model.labels_, model.reference_labels_)


# ---- cosine --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("refine", ["none", "local"])
def test_cosine(kind, refine):
    X = DATA["digits"]
    model = ExKMC(5, cost="cosine", max_leaf_nodes=10, refine=refine, random_state=0)
    model.fit(tables(X)[kind])
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    expected = 0.0
    for c in range(5):
        total = unit[model.labels_ == c].sum(axis=0)
        direction = total / np.linalg.norm(total)
        np.testing.assert_allclose(model.cluster_centers_[c], direction, atol=1e-9)
        expected += (1 - unit[model.labels_ == c] @ direction).sum()
    assert model.inertia_ == pytest.approx(expected)
    np.testing.assert_allclose(
        model.transform(X), cosine_distances(X, model.cluster_centers_), atol=1e-9
    )
    np.testing.assert_allclose(-model.score(X), model.inertia_)
    assert "agree with spherical k-means" in str(model.rules())


def test_rows_of_zeros_cost_the_same_everywhere():
    X = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [3.0, 0.1]])
    cost = CosineCost.of(X, None, 1)
    table = cost.price(np.eye(2))
    assert table.regrets.values[2].tolist() == [0, 0]
    model = SphericalKMeans(2, random_state=0).fit(X)
    expected = cosine_distances(X, model.cluster_centers_).min(axis=1).sum()
    assert model.inertia_ == pytest.approx(expected)


def test_lengths_do_not_matter():
    X = DATA["digits"][:200]
    longer = X * np.random.default_rng(0).uniform(0.5, 9.0, (200, 1))
    centers = SphericalKMeans(4, random_state=0).fit(X).cluster_centers_
    first = ExKMC(None, reference=centers, cost="cosine").fit(X)
    second = ExKMC(None, reference=centers * 7, cost="cosine").fit(longer)
    np.testing.assert_array_equal(first.reference_labels_, second.reference_labels_)
