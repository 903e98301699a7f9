"""The search for centers against slow, plain ones."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from tests.oracles import kmeans_oracle
from treemeans import _core
from treemeans.reference import center_search
from treemeans.reference.center_search import (
    _drawn,
    _Steps,
    _swap,
    _swapped,
    rand_index,
    seed_centers,
)
from treemeans.reference.lloyd import LloydRows
from treemeans.rows import as_points

X = make_blobs(200, 3, centers=6, random_state=0)[0]
X -= X.mean(axis=0)


def weighted(seed):
    weights = np.random.default_rng(seed).integers(0, 4, len(X))
    return LloydRows.of(X, weights, 1e-4), weights


@pytest.mark.parametrize("seed", range(5))
def test_seeds(seed):
    rows, weights = weighted(seed)
    found = seed_centers(rows, 6, 1, np.random.default_rng(seed))[0]
    expected = kmeans_oracle.greedy_seeds(X, weights, 6, np.random.default_rng(seed))
    assert found.tolist() == expected.tolist()
    assert weights[found].all(), "a row without weight is no seed"


@pytest.mark.parametrize("seed", range(5))
def test_a_swap_is_the_best_of_those_tried(seed):
    rows, weights = weighted(seed)
    centers = X[seed : seed + 5]
    found = _swap(rows, as_points(X), centers, np.random.default_rng(seed))
    costs = ((X[:, None] - centers) ** 2).sum(axis=2).min(axis=1)
    tried = _drawn(np.cumsum(costs * weights), np.random.default_rng(seed).random(5))
    expected = kmeans_oracle.best_swap(X, weights, centers, tried)
    assert kmeans_oracle.cost(X, weights, found) == pytest.approx(expected)


@pytest.mark.parametrize("k", [1, 2, 3, 6])
def test_swaps_end_when_they_fail(k, monkeypatch):
    starts = []

    def counted(*arguments):
        starts.append(_swap(*arguments))
        return starts[-1]

    monkeypatch.setattr(center_search, "_swap", counted)
    clusters, labels = make_blobs(120, 3, centers=k, cluster_std=0.01, random_state=0)
    rows = LloydRows.of(clusters - clusters.mean(axis=0), None, 1e-4)
    best = rows.run(np.stack([rows.X[labels == c].mean(axis=0) for c in range(k)]), 10)
    found = _swapped(rows, best, 300, np.random.default_rng(0), _Steps(None))
    assert len(starts) == min(3, k - 1)
    assert found.cost == best.cost


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_starts", [1, 4, 7])
def test_prices_of_tried_rows(n_starts, dtype):
    rng = np.random.default_rng(n_starts)
    rows, tried = rng.normal(size=(1100, 3)).astype(dtype), rng.normal(size=(n_starts * 2, 3))
    tried = tried.astype(dtype)
    least = rng.random((n_starts, len(rows)), dtype=dtype)
    weights = rng.random(len(rows))
    norms, own = (rows**2).sum(axis=1), (tried**2).sum(axis=1)
    products = tried @ rows.T
    expected = np.maximum(products * dtype(-2) + norms + own[:, None], 0)
    for limit in (None, least):
        if limit is not None:
            expected = np.minimum(expected, np.repeat(limit, 2, axis=0))
        costs = products.copy()
        sums = _core.price_tried(costs, norms, own, limit, weights)
        assert np.array_equal(costs, expected)
        assert sums == pytest.approx(expected.astype(float) @ weights)


@pytest.mark.parametrize("n_starts", [1, 5, 12])
def test_running_sums(n_starts):
    costs = np.random.default_rng(0).random((n_starts, 50))
    weights = np.random.default_rng(1).random(50)
    assert np.array_equal(_core.add_up(costs, weights), np.cumsum(costs * weights, axis=1))


@pytest.mark.parametrize("k", [2, 3, 20])
def test_second_least(k):
    values = np.random.default_rng(k).integers(0, 4, (40, k)).astype(float)
    assert _core.second_least(values).tolist() == np.sort(values, axis=1)[:, 1].tolist()


@pytest.mark.parametrize("k", [2, 9, 150])
def test_agreement(k):
    rng = np.random.default_rng(k)
    one, other = rng.integers(0, k, (2, 200)).astype(np.int32)
    other = np.where(rng.random(200) < 0.6, one, other).astype(np.int32)
    weights = rng.integers(1, 4, 200)
    expected = kmeans_oracle.adjusted_rand_index(one, other, weights)
    assert rand_index(one, other, weights.astype(float)) == pytest.approx(expected)
    assert rand_index(one, (one + 1) % k, weights.astype(float)) == pytest.approx(1.0)
