"""ExShallow against a plain oracle, node by node, and by example."""

import numpy as np
import pytest

from tests.helpers.training_data import data_of, price_rows
from tests.oracles.shallow_oracle import scores, sum_of_depths
from treemeans.growth import InMemoryTree
from treemeans.growth.exshallow import exshallow
from treemeans.progress import Progress


def built(X, centers, weights=None):
    growing = InMemoryTree(data_of(X, centers, costs=price_rows(X, centers, weights)))
    exshallow(growing, X, centers, Progress("", 1, False))
    return growing


def test_depths_of_the_worked_example():
    assert [sum_of_depths(1, 4, 2, 0.5, 0.5)] * 2 == [8, 8]
    assert (sum_of_depths(1, 2, 1, 0.25, 0.25), sum_of_depths(1, 6, 3, 0.25, 0.25)) == (2, 16)


def test_costs_of_the_worked_example():
    X = np.array([[0, 0], [1, 0], [5, 0], [4, 4], [5, 5]], dtype=float)
    centers = np.array([[0.5, 0], [5, 3]])
    found = scores(X, np.ones(5), centers)
    assert found[0, 1.0] == pytest.approx(1.03)
    assert found[0, 4.0] == pytest.approx(41.75 / 15.5 + 0.03)
    growing = built(X, centers)
    assert (growing.feature[0], growing.threshold[0]) == (0, 2.5)


@pytest.mark.parametrize("seed", range(100))
def test_every_cut_has_the_least_score(seed):
    rng = np.random.default_rng(seed)
    n, d, k = rng.integers(4, 40), rng.integers(1, 4), rng.integers(2, 7)
    X = rng.integers(0, rng.integers(2, 9), (n, d)).astype(float)
    centers = rng.integers(0, 17, (k, d)) / 2
    if seed % 4 > 1:  # a near copy of a column: cuts that cost the same, and depths decide
        X[:, 0], centers[:, 0] = X[:, -1], centers[:, -1]
        X[rng.random(n) < 0.1, 0] += 1.0
    weights = rng.integers(1, 4, n).astype(float) if seed % 2 else None
    growing = built(X, centers, weights)
    w = np.ones(n) if weights is None else weights
    open_nodes = [(0, np.arange(n), np.arange(k), (), ())]
    while open_nodes:
        node, rows, members, left, right = open_nodes.pop()
        found = scores(X[rows], w[rows], centers[members], left, right) if len(members) > 1 else {}
        feature, threshold = growing.feature[node], growing.threshold[node]
        assert (feature >= 0) == bool(found)
        if feature < 0:
            continue
        values = [value for f, value in found if f == feature and value <= threshold]
        assert found[feature, max(values)] == pytest.approx(min(found.values()), abs=1e-9)
        goes, center_goes = X[rows, feature] <= threshold, centers[members, feature] <= threshold
        open_nodes += [
            (growing.left[node], rows[goes], members[center_goes], (*left, feature), right),
            (growing.right[node], rows[~goes], members[~center_goes], left, (*right, feature)),
        ]
