"""The k-means of the comparison with shuffled columns, against a slow one."""

import numpy as np
import pytest

from tests.oracles.kmeans_oracle import greedy_kmeans_cost
from treemeans import _core
from treemeans.monitor.shuffled_columns import IN_FIT, compare_with_shuffles, shuffle_warnings


@pytest.mark.parametrize("seed", range(12))
def test_the_cost_of_kmeans_is_that_of_the_oracle(seed):
    rng = np.random.default_rng(seed)
    n, d, k = rng.integers(20, 90), rng.integers(1, 7), rng.integers(1, 6)
    rows = rng.normal(size=(n, d)) + 3.0 * rng.integers(0, 3, (n, 1))
    weights = rng.integers(1, 4, n).astype(float) if seed % 2 else np.ones(n)
    for trials in (1, 2):
        draws = rng.random(1 + trials * (k - 1))
        for rounds in (0, 1, 30):
            found = _core.kmeans_cost(rows, weights, int(k), draws, rounds, np.inf, np.inf)
            expected = greedy_kmeans_cost(rows, weights, k, draws, rounds)
            assert found == pytest.approx(expected, rel=1e-9)


def test_a_center_without_rows_moves_to_a_costly_row():
    # Both centers start at the same place: only two rows of three are distinct.
    rows = np.array([[0.0], [0.0], [0.0], [5.0]])
    draws = np.array([0.1, 0.0])  # the second draw falls on a row that costs something
    assert _core.kmeans_cost(rows, np.ones(4), 2, draws, 10, np.inf, np.inf) == 0.0
    assert _core.kmeans_cost(rows[:3], np.ones(3), 2, draws, 10, np.inf, np.inf) == 0.0


def test_runs_end_early_only_above_what_they_are_compared_with():
    rng = np.random.default_rng(0)
    rows, weights = rng.normal(size=(300, 4)), np.ones(300)
    draws = rng.random(1 + 3 * 5)

    def cost(aim, work=np.inf):
        return _core.kmeans_cost(rows, weights, 6, draws, 30, aim, work)

    whole, found = cost(np.inf), {}
    for share in (0.2, 0.9, 0.999, 1.001, 1.5):
        found[share] = cost(share * whole)
        assert found[share] == whole or found[share] > share * whole
    assert found[1.5] == whole
    assert found[0.2] > whole  # it ended early
    assert cost(np.inf, work=0.0) > whole
    with pytest.raises(ValueError, match="do not fit"):
        _core.kmeans_cost(rows, weights[:3], 6, np.ones(6), 5, np.inf, np.inf)


def test_a_comparison_ends_once_its_work_is_spent():
    rows = np.random.default_rng(0).normal(size=(300, 4))
    whole = compare_with_shuffles(rows, None, rows[:4], 0, IN_FIT, 1e9)
    needed = 1e9 - whole.work_left
    assert 0 < needed < 1e7
    short = compare_with_shuffles(rows, None, rows[:4], 0, IN_FIT, needed / 4)
    assert -needed / 2 < short.work_left < 0
    assert shuffle_warnings(short, IN_FIT) == []


@pytest.mark.parametrize("n", [1, 7, 100])
def test_rows_are_drawn_from_all_parts_of_a_table(n):
    assert _core.draw_rows(n, n, 3).tolist() == list(range(n))
    drawn = np.array([_core.draw_rows(100 * n, n, seed) for seed in range(50)])
    assert (drawn // 100 == np.arange(n)).all()
    assert len(np.unique(drawn[:, 0])) > 25
    with pytest.raises(ValueError, match="fewer rows"):
        _core.draw_rows(n, n + 1, 0)


def test_clusters_with_few_rows_in_the_sample_are_not_judged():
    """Shuffled rows lie between the two clusters, nearer to the third center than its own rows."""
    rng = np.random.default_rng(0)
    near = np.concatenate([rng.normal(center, 0.1, size=(100, 3)) for center in (0.0, 5.0)])
    centers = np.array([[0.0] * 3, [5.0] * 3, [2.5] * 3])
    own = np.array([[7.0, -2.0, 2.5], [-2.0, 7.0, 2.5]])

    def loose(repeats):
        rows = np.concatenate([near, np.tile(own, (repeats, 1))])
        return compare_with_shuffles(rows, None, centers, 0).loose

    assert loose(2) == []
    assert loose(3) == [2]
