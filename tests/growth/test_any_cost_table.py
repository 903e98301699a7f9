"""The expansion on any table of costs, against brute force."""

import numpy as np
import pytest

from tests.oracles.expansion_oracle import expansion
from treemeans.costs import TableCost
from treemeans.growth import grow
from treemeans.limits import Limits
from treemeans.progress import Progress
from treemeans.rows import Table
from treemeans.training_data import TrainingData

TABLES = 2_000
QUIET = Progress("", 1, False)


def draw(rng):
    """A small table with ties, and costs of one of several kinds, whole numbers to compare sums."""
    n, d, k = rng.integers(2, 13), rng.integers(1, 4), rng.integers(2, 5)
    X = rng.integers(0, rng.integers(2, 9), (n, d)).astype(float)
    kind = rng.integers(4)
    if kind == 0:  # labels
        costs = 1.0 - np.eye(k)[rng.integers(0, k, n)]
    elif kind == 1:  # distances along a column, of any shape
        costs = np.abs(X[:, :1] - rng.integers(0, 9, k)) ** rng.integers(1, 4)
    elif kind == 2:  # nothing to do with X
        costs = rng.integers(0, 50, (n, k)).astype(float)
    else:  # few that are very large
        costs = np.where(rng.random((n, k)) < 0.2, 2.0**20, rng.integers(0, 5, (n, k)))
    return X, costs.astype(float)


def grown(X, costs, threads=1):
    table = Table.of(X, threads, None)
    base = costs.min(axis=1)
    cost = TableCost(base, costs - base[:, None], None, None, threads)
    centers = np.zeros((costs.shape[1], X.shape[1]))
    data = TrainingData.of(X, table, cost, Limits(), centers)
    return grow(data, "none", len(X), QUIET).freeze()


def test_expansion_of_any_cost_table():
    rng = np.random.default_rng(0)
    n_cuts = 0
    for case in range(TABLES):
        X, costs = draw(rng)
        tree = grown(X, costs)
        sizes, cuts = expansion(X, costs, len(X))
        found = [
            (int(node), int(tree.feature[node]), float(tree.threshold[node]))
            for node in np.argsort(tree.growth)
            if tree.growth[node] > 0
        ]
        assert found == cuts, case
        best = tree.costs[tree.leaves].min(axis=1).sum()
        assert best == pytest.approx(sizes[-1]), case
        n_cuts += len(cuts)
    assert n_cuts > 2 * TABLES


def test_two_threads():
    rng = np.random.default_rng(1)
    for _ in range(200):
        X, costs = draw(rng)
        np.testing.assert_array_equal(grown(X, costs).threshold, grown(X, costs, 2).threshold)
