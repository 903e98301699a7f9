"""The exact solver against all trees, on many tiny tables.

``python -m tests.optimal.test_exact_solver 100000`` checks that many.
"""

import sys

import numpy as np
import pytest

from tests.oracles.optimal_oracle import AllTrees, cheapest_center, squared_deviation
from treemeans import _core
from treemeans.optimal.exact_solver import RankedColumns

SOLVERS = {
    2: _core.RegretSolver2,
    4: _core.RegretSolver4,
    8: _core.RegretSolver8,
    40: _core.RegretSolver,
}


def go_on(work):
    return True


def random_table(rng, n_rows):
    """Features, weights (or None), least leaf, prices (or None), depth: with many ties."""
    n, d = int(rng.integers(2, n_rows)), int(rng.integers(1, 4))
    X = rng.integers(0, rng.choice([2, 3, 8, 30]), (n, d)).astype(float)
    weights = rng.integers(1, 4, n).astype(float) if rng.random() < 0.5 else None
    least = float(rng.integers(1, 4)) if rng.random() < 0.3 else 0.0
    prices = rng.integers(0, 6, d) if rng.random() < 0.3 else None
    depth = int(rng.integers(1, 6)) if rng.random() < 0.5 else 64
    return X, weights, least, prices, depth


def ranked(X):
    return RankedColumns.of(X, tuple(range(X.shape[1])), np.arange(len(X), dtype=np.int32))


def cost_of(arrays, ranks, leaf_cost, prices):
    """Cost and number of leaves of a tree that the kernel returned."""
    feature, rank, left, right = arrays

    def below(node, rows):
        if feature[node] < 0:
            return leaf_cost(rows), 1
        goes_left = ranks[feature[node]][rows] <= rank[node]
        a, m = below(left[node], rows[goes_left])
        b, n = below(right[node], rows[~goes_left])
        return a + b + (0 if prices is None else prices[feature[node]]), m + n

    return below(0, np.arange(ranks.shape[1]))


def check_regrets(rng, n_rows, most_leaves):
    """One table: the least cost, and bounds below it for targets below it."""
    X, weights, least, prices, depth = random_table(rng, n_rows)
    k, n_leaves = int(rng.integers(1, 6)), int(rng.integers(1, most_leaves + 1))
    regrets = rng.integers(0, rng.integers(2, 30), (len(X), k))
    regrets -= regrets.min(axis=1, keepdims=True)
    width = next(width for width in SOLVERS if k <= width and (width < 40 or k == width))
    padded = np.concatenate([regrets, np.repeat(regrets[:, -1:], width - k, axis=1)], axis=1)
    leaf_cost, columns = cheapest_center(regrets), ranked(X)
    best = AllTrees(X, leaf_cost, prices, weights, least).least_cost(n_leaves, depth)
    solver = SOLVERS[width](columns.ranks, columns.n_distinct, padded, k, weights, least, prices, 0)
    for target in [*sorted(rng.integers(0, best + 10, 2).tolist()), 10**9]:
        bound, exact, tree = solver.solve(n_leaves, depth, target, go_on)
        assert bound <= best
        assert bound == best if exact else bound >= target
        assert exact or target <= best
        if exact:
            cost, size = cost_of(tree, columns.ranks, leaf_cost, prices)
            assert cost == best
            assert size <= n_leaves


def check_squares(rng, n_rows, most_leaves):
    """The same where leaves cost their squared deviation."""
    X, weights, least, prices, depth = random_table(rng, n_rows)
    n_leaves = int(rng.integers(1, most_leaves + 1))
    w = np.ones(len(X)) if weights is None else weights
    sums = np.zeros((len(X), 8))
    centered = X - X.mean(axis=0)
    sums[:, 0], sums[:, 1] = w, w * (centered**2).sum(axis=1)
    sums[:, 4 : 4 + X.shape[1]] = w[:, None] * centered
    leaf_cost, columns = squared_deviation(X, w), ranked(X)
    best = AllTrees(X, leaf_cost, prices, weights, least).least_cost(n_leaves, depth)
    floats = None if prices is None else prices.astype(float)
    tiny = 1e-9 * (1.0 + sums[:, 1].sum())
    solver = _core.SquaresSolver(
        columns.ranks, columns.n_distinct, sums, 0, weights, least, floats, tiny / 1000
    )
    for target in [best / 2, best - tiny, best + 1.0]:
        bound, exact, tree = solver.solve(n_leaves, depth, target, go_on)
        assert bound <= best + tiny
        assert abs(bound - best) <= tiny if exact else bound >= target - tiny
        if exact:
            assert abs(cost_of(tree, columns.ranks, leaf_cost, floats)[0] - best) <= tiny


@pytest.mark.parametrize("seed", range(4))
def test_regrets_of_tiny_tables(seed):
    rng = np.random.default_rng(seed)
    for _ in range(250):
        check_regrets(rng, 9, 6)


def test_regrets_of_tables_with_bins():
    # From 16 rows on, sides with two leaves are bounded from pairs of features.
    rng = np.random.default_rng(4)
    for _ in range(40):
        check_regrets(rng, 50, 4)


def test_one_center_is_costly_for_each_row():
    """The largest costs of all rows together are far above those of any center, 2**61."""
    rng = np.random.default_rng(6)
    for _ in range(60):
        n, k = int(rng.integers(16, 40)), 16
        X = rng.integers(0, 6, (n, 3)).astype(float)
        regrets = rng.integers(0, 2, (n, k))
        regrets[np.arange(n), rng.integers(0, k - 1, n)] = 1000
        regrets[:, -1] *= rng.integers(0, 3, n)
        regrets -= regrets.min(axis=1, keepdims=True)
        regrets <<= 61 - int(regrets.sum(axis=0).max()).bit_length()
        best = AllTrees(X, cheapest_center(regrets), None, None, 0.0).least_cost(4, 64)
        columns = ranked(X)
        solver = _core.RegretSolver16(
            columns.ranks, columns.n_distinct, regrets, k, None, 0.0, None, 0
        )
        for target in (best // 2, best, best + 1):
            bound, exact, _ = solver.solve(4, 64, target, go_on)
            assert bound <= best
            assert bound == best if exact else bound >= target


def test_squares():
    rng = np.random.default_rng(5)
    for _ in range(200):
        check_squares(rng, 9, 5)
    for _ in range(10):
        check_squares(rng, 40, 4)


def many_rows(n=1_000, k=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).round(1)
    centers = rng.normal(size=(k, 4))
    regrets = ((X[:, None] - centers) ** 2).sum(axis=2)
    regrets = np.rint(1e6 * (regrets - regrets.min(axis=1, keepdims=True))).astype(np.int64)
    return X, regrets


def test_a_stopped_solver_goes_on_where_it_was():
    X, regrets = many_rows()
    columns = ranked(X)

    def solver():
        return _core.RegretSolver4(
            columns.ranks, columns.n_distinct, regrets, 4, None, 0.0, None, 0
        )

    whole, stopped = solver(), solver()
    stopped.stop_at(2e7)
    assert stopped.solve(5, 64, 2**60, lambda work: work < 2e7) is None
    expected = whole.solve(5, 64, 2**60, go_on)
    found = stopped.solve(5, 64, 2**60, go_on)
    assert found[:2] == expected[:2]
    for a, b in zip(found[2], expected[2], strict=True):
        np.testing.assert_array_equal(a, b)


def test_an_error_in_pause_ends_the_solver():
    X, regrets = many_rows()
    columns = ranked(X)
    solver = _core.RegretSolver4(columns.ranks, columns.n_distinct, regrets, 4, None, 0.0, None, 0)

    def fail(work):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solver.solve(5, 64, 2**60, fail)


@pytest.mark.parametrize("depth", [2, 3])
def test_agreement_with_streed(depth):
    pystreed = pytest.importorskip("pystreed")
    X, regrets = many_rows(300, 3)
    # STreeD reads binary columns: the same candidate thresholds for both.
    cuts = [np.quantile(X[:, f], [0.2, 0.5, 0.8]) for f in range(4)]
    binary = np.column_stack([X[:, f] > t for f in range(4) for t in np.unique(cuts[f])])
    small = regrets // 1000
    table = binary.astype(np.float64)
    columns = ranked(table)
    solver = _core.RegretSolver4(
        columns.ranks, columns.n_distinct,
        np.ascontiguousarray(np.concatenate([small, small[:, -1:]], axis=1)),
        3, None, 0.0, None, 0,
    )  # fmt: skip
    best, exact, _ = solver.solve(2**depth, depth, 2**60, go_on)
    model = pystreed.STreeDInstanceCostSensitiveClassifier(
        max_depth=depth, max_num_nodes=2**depth - 1, time_limit=60
    )
    model.fit(binary.astype(int), small.astype(float))
    labels = np.asarray(model.predict(binary.astype(int)))
    assert exact
    assert small[np.arange(len(small)), labels].sum() == best


if __name__ == "__main__":
    rng = np.random.default_rng(20200603)
    for _ in range(int(sys.argv[1])):
        check_regrets(rng, 9, 6)
    print(f"{sys.argv[1]} tables, no mismatch")
