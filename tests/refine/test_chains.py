"""Chains of annealing in the core: their bins, sums and limits, for any number of threads."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given

from tests.helpers.examples import examples
from tests.helpers.training_data import (
    blobs,
    centered_tree_of,
    data_of,
    kmeans_cost,
    problems,
)
from tests.refine.test_annealing import rounds
from tests.refine.test_centered_tree import assert_books_are_right, assert_within_limits
from treemeans import ExKMC, _core
from treemeans.refine import chains
from treemeans.refine.chains import ChainBins, can_search, search_chains

pytestmark = pytest.mark.usefixtures("one_thread")


def searched(start, n_leaves, n_rounds=40, seed=0, excess=0.1):
    rng = np.random.default_rng(seed)
    return search_chains([start], start.data, n_leaves, excess * start.cost, rounds(n_rounds), rng)


@examples(25)
@given(problems(sizes=(12, 40, 150), limited=True))
def test_chains_never_end_worse_and_keep_to_the_limits(problem):
    data, centers, n_leaves = problem
    start = centered_tree_of(data, centers, n_leaves)
    start.recenter()
    cost = start.cost
    if not can_search(data, n_leaves):
        return
    found = searched(start, n_leaves, excess=100.0)  # so hot that costlier trees are accepted
    assert found.cost <= cost
    assert found.tree.n_leaves <= n_leaves
    assert_books_are_right(found)
    assert_within_limits(found)


@examples(20)
@given(problems(sizes=(40, 150), limited=False))
def test_the_stated_cost_is_that_of_the_rows(problem):
    """Sums that are kept from round to round stay right: the cost is measured from the rows."""
    data, centers, n_leaves = problem
    start = centered_tree_of(data, centers, n_leaves)
    start.recenter()
    if not can_search(data, n_leaves) or start.tree.cost == 0:
        return
    running = chains._Chains([start] * 4, data, n_leaves, 63, np.random.default_rng(1))
    running.run(rounds(200), chains._PHASES[-1], 0.1 * start.cost)
    for chain in range(4):
        stated = running._chains.best_cost(chain)
        tree = running.best(chain, data)
        prices = data.limits.price_of_cuts(tree.freeze().feature) * data.reference_cost
        measured = kmeans_cost(tree) + prices
        assert measured <= stated * (1 + 1e-9) + 1e-9 * data.costs.cheapest


def test_the_same_tree_for_any_number_of_threads():
    X, centers = blobs(np.random.default_rng(3), 3000, 8, 6)
    models = [
        ExKMC(
            None,
            reference=centers,
            max_leaf_nodes=12,
            refine="search",
            search_rounds=200,
            random_state=0,
            n_jobs=n,
        ).fit(X)
        for n in (1, 2, 3)
    ]
    assert models[0].tree_ == models[1].tree_ == models[2].tree_
    assert models[0].inertia_ == models[2].inertia_


def test_chains_find_better_trees():
    better = 0
    for seed in range(6):
        X, centers = blobs(np.random.default_rng(seed), 150, 3, 4)
        start = centered_tree_of(data_of(X), centers, 7)
        start.recenter()
        start.optimize(7, 1e-3, 5)
        better += searched(start, 7, 300).cost < 0.999 * start.cost
    assert better >= 4


def test_a_subtree_grows_again_with_centers_of_its_own():
    """Groups that no center stands for: cuts chosen by costs to the centers hardly find them."""
    rng = np.random.default_rng(0)
    means = rng.uniform(-20.0, 20.0, (8, 12))
    X = (means[:, None] + rng.normal(size=(8, 40, 12))).reshape(-1, 12)
    poor = np.vstack([X[:7], X[40:].mean(axis=0)])  # seven centers in one group
    start = centered_tree_of(data_of(X), poor, 8)
    start.recenter()
    running = chains._Chains([start] * 2, start.data, 8, 255, np.random.default_rng(1))
    only = chains.policy(1.0, 0.0)  # no other moves
    running._chains.run(range(2), only, 2000, 10**12, 0.1 * start.cost, 1e-3 * start.cost, 1)
    within = sum(
        ((X[i : i + 40] - X[i : i + 40].mean(axis=0)) ** 2).sum() for i in range(0, 320, 40)
    )
    assert running.best_cost <= 1.05 * within < 0.2 * start.cost
    assert sum(running._chains.accepted(0)[:8]) == 0


def test_a_chain_takes_the_subtree_that_another_has():
    """Clusters are an XOR in each half of the rows, which no single cut finds; a start has one."""
    half, a, b = (np.repeat(np.arange(8), 5) >> np.arange(3)[:, None]) & 1
    codes = np.ascontiguousarray(np.column_stack([half, a, b]), dtype=np.uint8)
    space = 100.0 * half + 10.0 * (a ^ b)
    space, mean = (space - space.mean())[:, None], space.mean()
    counts, rows = np.full(3, 2, dtype=np.int32), np.arange(40, dtype=np.int32)
    running = _core.AnnealingChains(
        codes,
        counts,
        np.zeros(3, dtype=np.uint8),
        space,
        None,
        2.0**-10,
        float((space**2).sum()),
        rows,
        _core.Limits(),
        8,
    )
    centers = np.array([[0.0], [10.0], [100.0], [110.0]]) - mean
    leaf = (-1,)
    xor = (1, (2, leaf, leaf), (2, leaf, leaf))
    for seed, tree in enumerate([(0, xor, leaf), (0, leaf, xor)]):
        slot, left, right = _arrays(tree)
        none = np.full(len(slot), -1, dtype=np.int8)
        running.add(slot, np.zeros_like(slot), none, left, right, centers, seed)
    costs = [running.best_cost(chain) for chain in range(2)]
    grafts = chains.policy(0.0, 1.0)
    running.run(range(2), grafts, 50, 10**12, 1.0, 1.0, 1)
    assert [running.best_cost(chain) for chain in range(2)] == costs  # nothing to take yet
    running.exchange()
    running.run(range(2), grafts, 50, 10**12, 1.0, 1.0, 1)
    assert min(costs) > 400.0
    assert max(running.best_cost(chain) for chain in range(2)) < 1e-6


def _arrays(tree):
    """Slot of each node, and its children; parents first."""
    slot, left, right = [], [], []
    queue = [tree]
    for node in queue:
        slot.append(node[0])
        left.append(len(queue) if len(node) > 1 else -1)
        right.append(len(queue) + 1 if len(node) > 1 else -1)
        queue += node[1:]
    return (np.array(values, dtype=np.int32) for values in (slot, left, right))


@pytest.mark.parametrize("n_drawn", [63, 255])
def test_cuts_of_the_starts_are_edges_and_far_rows_have_bins_of_their_own(n_drawn):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 2))
    X[:5, 0] = [50.0, 60.0, 70.0, 80.0, 90.0]
    centers = np.array([[0.0, 0.0], [70.0, 0.0], [1.0, 1.0]])
    start = centered_tree_of(data_of(X), centers, 6)
    tree = start.freeze()
    bins = ChainBins.of(start.data, [tree], n_drawn)
    for node in np.flatnonzero(~tree.is_leaf):
        slot = int(np.flatnonzero(bins.features == tree.feature[node])[0])
        goes_left = X[:, tree.feature[node]] <= tree.threshold[node]
        last = bins.bin_below(slot, tree.threshold[node])
        np.testing.assert_array_equal(bins.codes[:, slot] <= last, goes_left)
    assert len(set(bins.codes[:5, 0])) == 5
    assert bins.n_values.max() <= min(n_drawn + tree.n_leaves, 256)


def test_missing_values_are_searched_too():
    rng = np.random.default_rng(2)
    X, _ = blobs(rng, 400, 4, 5)
    X[rng.random(X.shape) < 0.1] = np.nan
    X = pd.DataFrame(X, columns=list("abcd"))
    model = ExKMC(5, max_leaf_nodes=9, random_state=0)
    plain = model.fit(X).inertia_
    refined = ExKMC(5, max_leaf_nodes=9, random_state=0, refine="search", search_rounds=200).fit(X)
    assert refined.inertia_ <= plain
    assert (refined.predict(X) == refined.labels_).all()
