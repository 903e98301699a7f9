"""Packed regrets: the same numbers and the same trees as with plain ones."""

import numpy as np
import pytest

from treemeans import _core
from treemeans.costs import KMeansCost, kmeans_cost
from treemeans.growth import grow
from treemeans.limits import Limits
from treemeans.progress import Progress
from treemeans.rows import Table, as_points
from treemeans.training_data import TrainingData


def mixed_table(n, k, seed):
    """A number without and one with missing values, a few categories and many; and its space."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, k, n)
    X = np.empty((n, 4))
    for i in range(2):
        X[:, i] = rng.normal(size=n) + 2 * rng.normal(size=k)[group]
    X[:, 2] = (group + rng.integers(0, 2, n)) % 6
    X[:, 3] = (100 * group + rng.integers(0, 150, n)) % 400
    space = X / X.std(axis=0)
    for i in range(1, 4):
        X[rng.random(n) < 0.1, i] = np.nan
    return X, space, np.stack([space[group == g].mean(axis=0) for g in range(k)])


def weights_of(kind, n):
    rng = np.random.default_rng(5)
    if kind is None:
        return None
    return rng.integers(0, 3, n).astype(float) if kind == "copies" else rng.random(n)


@pytest.mark.parametrize("kind", [None, "copies", "shares"])
@pytest.mark.parametrize("k", [1, 2, 5])
def test_same_numbers(k, kind):
    _, space, centers = mixed_table(100_000, k, k)
    cost = KMeansCost(space, as_points(space), weights_of(kind, len(space)), 1)
    plain, packed = cost.price(centers), cost.price_packed(centers)
    assert isinstance(packed.regrets.for_search, _core.PackedRegrets)
    np.testing.assert_array_equal(packed.regrets.values, plain.regrets.values)
    np.testing.assert_array_equal(packed.base.values, plain.base.values)
    np.testing.assert_array_equal(packed.nearest, plain.nearest)
    np.testing.assert_array_equal(packed.rows, plain.rows)
    assert packed.regrets.unit == plain.regrets.unit
    assert packed.n_clusters == plain.n_clusters == k
    assert (packed.reference, packed.rounding) == (plain.reference, plain.rounding)
    rows = plain.rows[::3].copy()
    np.testing.assert_array_equal(
        _core.sum_regrets(packed.regrets.for_search, rows, 2), plain.regrets.values[rows].sum(0)
    )


def test_large_regrets_stay_plain(monkeypatch):
    monkeypatch.setattr(kmeans_cost, "PACKED_ROWS", 1)
    _, space, centers = mixed_table(300, 3, 0)
    space[7] += 1e4  # nearly all of the sum is one row's
    cost = KMeansCost(space, as_points(space), None, 1)
    packed = cost.price_packed(centers).regrets
    assert isinstance(packed.for_search, np.ndarray)
    np.testing.assert_array_equal(packed.values, cost.price(centers).regrets.values)


@pytest.mark.parametrize(
    ("base", "kind", "n_threads"),
    [("imm", None, 2), ("none", "copies", 1), ("exgreedy", "copies", 2)],
)
def test_same_trees(base, kind, n_threads):
    X, space, centers = mixed_table(100_000, 6, 3)
    cost = KMeansCost(space, as_points(space), weights_of(kind, len(X)), n_threads)
    trees = [tree_of(X, cost, centers, costs, base) for costs in (cost.price, cost.price_packed)]
    assert same(*trees)


@pytest.mark.parametrize("base", ["imm", "none"])
def test_same_trees_of_many_rows(base):
    """Rows beyond which nodes are parted with a small buffer; the sides need all of their rows."""
    X, space, centers = mixed_table(200_000, 3, 4)
    cost = KMeansCost(space, as_points(space), None, 1)
    plain = tree_of(X, cost, centers, cost.price, base)
    assert same(plain, tree_of(X, cost, centers, cost.price_packed, base))
    leaf = plain.leaf_of_row()
    frozen = plain.freeze()
    nodes = np.arange(frozen.n_nodes, dtype=np.int32)
    found = frozen.outcome(as_points(X, accepts_missing=True), nodes, 1)
    np.testing.assert_array_equal(leaf, found)
    for node in plain.leaves:
        assert np.all(np.diff(plain.rows(node)) > 0)


def test_refuses_what_does_not_fit():
    with pytest.raises(ValueError, match="1 to 256 centers"):
        _core.packed_regrets(np.zeros(3, dtype=np.int32), 257)
    with pytest.raises(ValueError, match="1 to 256 centers"):
        _core.packed_regrets(np.array([0, 2], dtype=np.int32), 2)
    packed = _core.packed_regrets(np.zeros(3, dtype=np.int32), 2)
    with pytest.raises(ValueError, match="do not fit"):
        packed.pack(2, np.zeros((2, 2), dtype=np.int64))
    most = np.array([[0, 2**48 - 1]])
    assert packed.pack(0, most)
    assert not packed.pack(1, np.array([[0, 2**48]]))
    assert not packed.pack(1, np.array([[1, 0]]))


def tree_of(X, cost, centers, price, base):
    categorical = np.array([False, False, True, True])
    table = Table.of(X, cost.n_threads, None, categorical)
    columns = np.full((len(centers), 4), np.nan)
    columns[:, 0] = centers[:, 0]
    data = TrainingData.of(X, table, cost, Limits(), centers, columns, costs=price(centers))
    return grow(data, base, 15, Progress("", 1, False))


def same(one, other):
    a, b = one.freeze(), other.freeze()
    return (
        a.threshold.tobytes() == b.threshold.tobytes()
        and a.feature.tolist() == b.feature.tolist()
        and one.categories == other.categories
        and a.costs.tobytes() == b.costs.tobytes()
        and one.margins == other.margins
        and one.all_rows.tolist() == other.all_rows.tolist()
    )
