"""The search: its moves, its budget, its samples, and what comes out of it."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from scipy import sparse
from sklearn.cluster import KMeans

from tests.helpers.examples import examples
from tests.helpers.plain_numpy import cluster_means, cost_to, leaf_of
from tests.helpers.training_data import (
    blobs,
    centered_tree_of,
    data_of,
    grown_tree,
    kmeans_cost,
    problems,
    rows_of,
    surrogate_cost,
    with_reference,
)
from tests.refine.test_centered_tree import (
    assert_books_are_right,
    assert_within_limits,
    no_more_than,
)
from treemeans import ExKMC
from treemeans.limits import Limits
from treemeans.progress import Progress
from treemeans.refine import Budget, annealing, coreset, refine, refinement, search_budget
from treemeans.refine.annealing import search

pytestmark = pytest.mark.usefixtures("one_thread")


class Told(Progress):
    """A progress bar that keeps what it is told."""

    def __init__(self):
        super().__init__("", 1000, False)
        self.told = []

    def update(self, done, note=""):
        self.told.append((done, note))


def rounds(n):
    return Budget(n, None, 1.0, Told())


def start_of(seed=0, n=150, d=3, k=4, n_leaves=7, **data):
    """An optimized tree to search from."""
    X, centers = blobs(np.random.default_rng(seed), n, d, k)
    centered = centered_tree_of(data_of(X, **data), centers, n_leaves)
    centered.recenter()
    centered.optimize(n_leaves, 1e-3, 5)
    return centered


def searched(start, n_rounds=25, n_leaves=7, seed=0, excess=0.1):
    rng = np.random.default_rng(seed)
    return search(start, n_leaves, excess * start.cost, rounds(n_rounds), 1.0, rng)


# ---- search --------------------------------------------------------------------------------------


@examples(25)
@given(problems(sizes=(12, 40, 150), limited=True))
def test_a_search_never_ends_worse_and_keeps_to_the_limits(problem):
    data, centers, n_leaves = problem
    start = centered_tree_of(data, centers, n_leaves)
    start.recenter()
    cost, tree = start.cost, start.freeze()
    found = searched(start, 15, n_leaves, excess=100.0)  # so hot that costlier trees are accepted
    assert found.cost <= cost
    assert found.tree.n_leaves <= n_leaves
    assert_books_are_right(found)
    assert_within_limits(found)
    assert start.freeze() == tree  # a search works on copies


def test_a_search_finds_better_trees():
    starts = [start_of(seed) for seed in range(6)]
    better = [searched(start, 60).cost < 0.999 * start.cost for start in starts]
    assert sum(better) >= 4


def test_the_same_seed_gives_the_same_tree():
    first, second, other = (searched(start_of(), 40, seed=seed) for seed in (1, 1, 2))
    assert first.freeze() == second.freeze()
    assert first.cost == second.cost
    assert first.freeze() != other.freeze()


def test_threads_do_not_matter():
    found = [searched(start_of(3, 4000, 18, n_threads=n), 12) for n in (1, 2)]
    assert found[0].freeze() == found[1].freeze()


def test_where_every_row_is_with_its_nearest_center_there_is_nothing_to_search():
    X = np.ones((10, 2))
    start = centered_tree_of(data_of(X), np.array([[1.0, 1.0], [2.0, 2.0]]), 3)
    budget = rounds(5)
    found = search(start, 3, 1.0, budget, 1.0, np.random.default_rng(0))
    assert found is start
    assert found.tree.n_leaves == 1
    assert budget.rounds == 0


@pytest.mark.parametrize("move", ["_change_feature", "_regrow_anywhere", "_regrow_here"])
def test_every_move_keeps_the_books_and_the_size(move):
    for seed in range(12):
        centered = start_of(seed, n=100).copy()
        rng = np.random.default_rng(seed)
        for node in centered.inner:
            if node in centered.inner:  # numbers of nodes removed since are gone
                getattr(annealing, move)(centered, node, 7, rng)
                assert_books_are_right(centered)
                assert centered.tree.n_leaves <= 7


def test_bending_takes_another_feature():
    """Of a tree of one cut, which has no sides to lose."""
    bent = 0
    for seed in range(12):
        centered = start_of(seed, d=2, n_leaves=2)
        feature = centered.tree.feature(0)
        if annealing._change_feature(centered, 0, 2, np.random.default_rng(seed)):
            assert centered.tree.feature(0) == 1 - feature
            bent += 1
    assert bent > 0


def test_a_look_ahead_finds_two_cuts_that_gain_together():
    """Rows of a chessboard: no single cut gains."""
    x, y = (grid.ravel() for grid in np.meshgrid(np.arange(20.0), np.arange(20.0)))
    X = np.column_stack([x, y, 100 * ((x < 10) ^ (y < 10))])
    centers = np.array([[9.5, 9.5, 0.0], [9.5, 9.5, 100.0]])
    allowed = np.array([True, True, False])
    centered = centered_tree_of(data_of(X, allowed=allowed), centers, 1, "none")
    centered.grow(4)
    assert centered.tree.n_leaves == 1
    annealing._grow_to_size(centered, 4, np.random.default_rng(0))
    assert centered.tree.n_leaves > 1
    assert_books_are_right(centered)


# ---- interruption --------------------------------------------------------------------------------


def interrupting(monkeypatch, after):
    """Ctrl-C in the middle of a change, after so many."""
    change, calls = annealing._change, itertools.count()

    def interrupted(centered, n_leaves, rng):
        changed = change(centered, n_leaves, rng)
        if next(calls) == after:
            raise KeyboardInterrupt
        return changed

    monkeypatch.setattr(annealing, "_change", interrupted)


def test_an_interrupt_keeps_the_best_so_far(monkeypatch):
    start, told = start_of(1, n=1000), Told()
    interrupting(monkeypatch, 20)
    budget = Budget(1000, None, start.cost, told)
    with pytest.warns(UserWarning, match="interrupted; the best tree so far is kept"):
        found = search(start, 7, 0.1 * start.cost, budget, 1.0, np.random.default_rng(0))
    assert budget.spent
    assert budget.rounds == 20
    assert found.cost < start.cost
    assert told.told[-1][1] == f"ratio {found.cost / start.cost:.4f}"
    assert_books_are_right(found)


def test_an_interrupted_fit_is_a_fit(monkeypatch):
    X, centers = blobs(np.random.default_rng(4), 200, 3, 4)
    X = sparse.csr_array(X)
    plain = ExKMC(n_clusters=None, reference=centers, max_leaf_nodes=8).fit(X)
    interrupting(monkeypatch, 30)
    model = ExKMC(n_clusters=None, reference=centers, max_leaf_nodes=8, refine="search")
    with pytest.warns(UserWarning, match="interrupted"):
        model.fit(X)
    assert model.n_iter_ == 1 + 30
    assert model.inertia_ <= plain.inertia_
    assert (model.predict(X) == model.labels_).all()


def test_an_interrupt_before_the_search_keeps_the_starts_that_are_ready(monkeypatch):
    X, centers = blobs(np.random.default_rng(4), 200, 3, 4)
    data = with_reference(data_of(X), centers)
    grown = grown_tree(data, "imm", 8)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(refinement, "kauri", interrupted)
    budget = rounds(50)
    with pytest.warns(UserWarning, match="interrupted"):
        found = refine("search", data, grown, 8, budget)
    assert budget.rounds == 0
    assert_refined(found, grown, data, 8)


# ---- budget --------------------------------------------------------------------------------------


def test_a_budget_of_rounds():
    budget = rounds(4)
    shares = []
    while not budget.spent:
        shares.append(budget.share)
        budget.spend(10**15, 1.0)  # steps count only by default
    assert shares == [0.0, 0.25, 0.5, 0.75]
    assert budget.share == 1.0
    assert budget.rounds == 4


@pytest.mark.parametrize("limits", [(0, None), (None, 0.0), (0, 5.0), (5, 0.0)])
def test_a_budget_of_nothing_is_spent(limits):
    assert Budget(*limits, 1.0, Told()).spent


def test_a_budget_of_seconds(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(search_budget.time, "monotonic", lambda: now[0])
    budget = Budget(None, 8.0, 1.0, Told())
    assert budget.share == 0.0
    now[0] += 2.0
    budget.spend(10**15, 1.0)
    assert budget.share == 0.25
    assert not budget.spent
    now[0] += 100.0
    assert budget.share == 1.0
    assert budget.spent


def test_of_rounds_and_seconds_the_first_to_be_spent_ends_it(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(search_budget.time, "monotonic", lambda: now[0])
    budget = Budget(10, 8.0, 1.0, Told())
    budget.spend(1, 1.0)
    assert budget.share == 0.1
    now[0] = 4.0
    assert budget.share == 0.5


def test_the_default_budget_counts_steps_and_rounds_not_time(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(search_budget.time, "monotonic", lambda: now[0])
    budget = Budget(None, None, 1.0, Told())
    now[0] = 1e9
    assert budget.share == 0.0
    budget.spend(search_budget.DEFAULT_STEPS // 2, 1.0)
    assert 0.5 <= budget.share < 0.51
    budget.spend(search_budget.DEFAULT_STEPS // 2, 1.0)
    assert budget.spent
    small = Budget(None, None, 1.0, Told())
    for _ in range(search_budget.DEFAULT_ROUNDS):
        assert not small.spent
        small.spend(0, 1.0)
    assert small.spent


def test_the_bar_is_told_the_share_and_the_ratio():
    told = Told()
    budget = Budget(4, None, 50.0, told)
    budget.spend(1, 100.0)
    budget.spend(1, 61.5)
    assert told.told == [(250, "ratio 2.0000"), (500, "ratio 1.2300")]
    free = Budget(4, None, 0.0, told)
    free.spend(1, 0.0)
    assert told.told[-1] == (250, "ratio 1.0000")


def test_a_search_tells_the_bar_the_best_ratio_so_far():
    told, start = Told(), start_of(2, n=1000)
    budget = Budget(30, None, start.cost, told)
    found = search(start, 7, 100.0 * start.cost, budget, 1.0, np.random.default_rng(0))
    ratios = [float(note.removeprefix("ratio ")) for _, note in told.told]
    assert [done for done, _ in told.told] == [round(1000 * i / 30) for i in range(1, 31)]
    assert ratios == sorted(ratios, reverse=True)
    assert ratios[-1] == pytest.approx(found.cost / start.cost, abs=1e-4)


# ---- samples -------------------------------------------------------------------------------------


@pytest.fixture
def small_samples(monkeypatch):
    """Tables of more than 400 rows, in effect, are sampled down to about 200."""
    monkeypatch.setattr(coreset, "MOST_VALUES", 1)
    monkeypatch.setattr(coreset, "_FEWEST_ROWS", 200)


def test_few_rows_are_not_sampled(small_samples):
    X, _ = blobs(np.random.default_rng(0), 400, 3, 3)
    data = data_of(X)
    same = coreset.search_data(data, np.random.default_rng(0))
    assert same.table.n_rows == 400
    assert same.weights is None
    np.testing.assert_array_equal(same.X, X)


@pytest.mark.parametrize("as_table", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_sample_stands_for_all_rows_without_bias(small_samples, as_table, weighted):
    rng = np.random.default_rng(1)
    X, centers = blobs(rng, 2000, 3, 3)
    weights = rng.integers(0, 4, 2000) / 2 if weighted else None
    data = data_of(as_table(X), weights=weights)
    totals, costs = [], []
    for seed in range(200):
        drawn = coreset.search_data(data, np.random.default_rng(seed))
        assert 120 < drawn.table.n_rows < 300
        totals.append(drawn.weights.sum())
        costs.append(drawn.cost.price(centers).cheapest)
    for estimates, full in [
        (totals, 2000.0 if weights is None else weights.sum()),
        (costs, data.cost.price(centers).cheapest),
    ]:
        error = np.std(estimates) / np.sqrt(len(estimates))
        assert abs(np.mean(estimates) - full) < 4 * error
        assert np.std(estimates) < 0.2 * full


def test_a_sample_misses_no_outlier_and_draws_no_row_without_weight(small_samples):
    X, _ = blobs(np.random.default_rng(2), 3000, 2, 3)
    X[7], X[2500] = [4000.0, 0.0], [0.0, -5000.0]
    weights = np.ones(3000)
    weights[1000:2000] = 0.0
    for seed in range(10):
        drawn = coreset.search_data(data_of(X, weights=weights), np.random.default_rng(seed))
        for row in (X[7], X[2500]):
            at = np.flatnonzero((row == drawn.X).all(axis=1))
            assert drawn.weights[at].tolist() == [1.0]
        assert not (drawn.X[:, None] == X[None, 1000:1050]).all(axis=2).any()


def test_a_sample_is_the_same_for_a_seed(small_samples):
    X, _ = blobs(np.random.default_rng(3), 1000, 2, 3)
    first, second, other = (
        coreset.search_data(data_of(X), np.random.default_rng(seed)) for seed in (5, 5, 6)
    )
    np.testing.assert_array_equal(first.X, second.X)
    np.testing.assert_array_equal(first.weights, second.weights)
    assert not np.array_equal(first.X, other.X)


def test_rows_all_in_one_place_are_drawn_evenly(small_samples):
    data = data_of(np.ones((1000, 2)))
    drawn = coreset.search_data(data, np.random.default_rng(0))
    assert 120 < drawn.table.n_rows < 300
    np.testing.assert_allclose(drawn.weights, 5.0)


# ---- the whole recipe ----------------------------------------------------------------------------


def refined(kind, data, n_leaves, n_rounds=15):
    grown = grown_tree(data, "imm", n_leaves)
    return grown, refine(kind, data, grown, n_leaves, rounds(n_rounds))


def assert_refined(found, grown, data, n_leaves):
    """No dearer than the grown tree, priced on all rows, and within the limits."""
    X, weights = rows_of(data)
    refined_tree, centers = found
    tree = refined_tree.freeze()
    labels = tree.predict(X)
    assert tree.n_leaves <= n_leaves
    assert tree.surrogate_cost == pytest.approx(cost_to(X, labels, centers, weights), 1e-7)
    means = cluster_means(X, labels, weights, centers)
    before = grown.predict(X)
    start = cost_to(X, before, cluster_means(X, before, weights, data.centers), weights)
    assert cost_to(X, labels, means, weights) <= no_more_than(start)
    np.testing.assert_allclose(tree.weight[0], weights.sum())


@examples(15)
@given(problems(sizes=(12, 40, 150), limited=True))
@pytest.mark.parametrize("kind", ["local", "search"])
def test_a_refined_tree_is_never_worse_than_the_one_it_came_from(kind, problem):
    data, centers, n_leaves = problem
    data = with_reference(data, centers)
    grown, found = refined(kind, data, n_leaves, 8)
    assert_refined(found, grown, data, n_leaves)


@pytest.mark.parametrize("as_table", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("least", [1, 100])
def test_a_search_on_a_sample_is_settled_on_all_rows(small_samples, as_table, least):
    """Leaves that weigh enough by the sample may not on all rows."""
    for seed in range(10):
        X, _ = blobs(np.random.default_rng(seed), 1500, 3, 4)
        centers = KMeans(4, n_init=1, random_state=0).fit(X).cluster_centers_
        rules = Limits(min_samples_leaf=least)
        data = with_reference(data_of(as_table(X), rules=rules), centers, seed)
        grown, found = refined("search", data, 8)
        assert_refined(found, grown, data, 8)
        tree = found[0].freeze()
        assert np.bincount(leaf_of(tree, X))[tree.leaves].min() >= least


def test_a_sampled_search_does_search_the_sample(small_samples, monkeypatch):
    rows = []

    def watched(start, *rest):
        rows.append(start.data.table.n_rows)
        return search(start, *rest)

    monkeypatch.setattr(refinement, "search", watched)
    X, centers = blobs(np.random.default_rng(0), 1200, 3, 4)
    refined("search", with_reference(data_of(sparse.csr_array(X)), centers), 8, 4)
    assert rows
    assert all(120 < n < 300 for n in rows)


def test_the_whole_recipe_gives_the_same_tree_for_a_seed():
    X, centers = blobs(np.random.default_rng(5), 300, 3, 4)
    data = with_reference(data_of(X), centers)
    (_, first), (_, second) = (refined("search", data, 8, 30) for _ in range(2))
    assert first[0].freeze() == second[0].freeze()
    np.testing.assert_array_equal(first[1], second[1])


def test_clusters_are_numbered_as_in_the_reference():
    X, centers = blobs(np.random.default_rng(6), 300, 3, 5)
    data = with_reference(data_of(X), centers)
    centered = centered_tree_of(data, centers, 9)
    centered.recenter()
    labels, cost = centered.tree.labels(), kmeans_cost(centered)
    centered.move_centers(centered.centers[[3, 0, 4, 1, 2]])
    assert surrogate_cost(centered) == pytest.approx(cost, rel=0.2)
    refinement._match_labels(centered, data)
    agree = (centered.tree.labels() == data.costs.nearest).mean()
    assert agree >= (labels == data.costs.nearest).mean() - 1e-12
    assert_books_are_right(centered)
