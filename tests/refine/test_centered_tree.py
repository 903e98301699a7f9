"""CenteredTree: the moves that lower a tree's cost, and the books it keeps."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from tests.helpers.examples import examples
from tests.helpers.kernel_cases import as_tuple
from tests.helpers.plain_numpy import leaf_of
from tests.helpers.training_data import (
    blobs,
    centered_tree_of,
    data_of,
    grown_tree,
    kmeans_cost,
    price_of_cuts,
    problems,
    rows_of,
    surrogate_cost,
    with_reference,
)
from treemeans.limits import Limits
from treemeans.refine.centered_tree import CenteredTree

MOVES = {
    "reoptimize": lambda centered, n_leaves: centered.reoptimize(),
    "a few looks": lambda centered, n_leaves: centered.reoptimize(max_looks=2),
    "grow": lambda centered, n_leaves: centered.grow(n_leaves),
    "recenter": lambda centered, n_leaves: centered.recenter(),
    "optimize": lambda centered, n_leaves: centered.optimize(n_leaves, 1e-3, 2),
}
SOME_MOVES = st.lists(st.sampled_from(sorted(MOVES)), min_size=1, max_size=6)
BASES = st.sampled_from(["imm", "none", "kdtree"])
ROUNDING = 1e-9


def no_more_than(cost):
    """Up to rounding."""
    return cost * (1 + ROUNDING) + ROUNDING


def leaf_totals(centered):
    """Sums of regrets by leaf, from the rows of the frozen tree's leaves."""
    X, weights = rows_of(centered.data)
    tree = centered.freeze()
    leaf = leaf_of(tree, X)
    numbers = [node.number for node in centered.tree.nodes()]
    regrets = centered.costs.regrets.values
    return {
        numbers[at]: regrets[(leaf == at) & (weights > 0)].sum(axis=0) for at in np.unique(leaf)
    }


def assert_books_are_right(centered):
    """Costs, labels and totals are those of the tree's cuts; no leaf is empty."""
    X, weights = rows_of(centered.data)
    tree = centered.freeze()
    counted = weights > 0
    expected = surrogate_cost(centered) + price_of_cuts(centered)
    assert centered.cost == pytest.approx(expected, rel=ROUNDING, abs=ROUNDING)
    clusters = centered.clusters()
    expected = kmeans_cost(centered) + price_of_cuts(centered)
    assert clusters.cost == pytest.approx(expected, rel=1e-7, abs=1e-7)
    np.testing.assert_array_equal(tree.predict(X)[counted], centered.tree.labels()[counted])
    assert (
        tree.n_leaves == centered.tree.n_leaves == len(centered.leaves) == len(centered.inner) + 1
    )
    assert set(leaf_of(tree, X[counted])) == set(tree.leaves)
    totals = leaf_totals(centered)
    for number in centered.leaves:
        np.testing.assert_array_equal(centered.tree.totals(number), totals[number])
        assert centered.tree.regret(number) == totals[number].min()
        assert dict_of_labels(centered)[number] == totals[number].argmin()


def dict_of_labels(centered):
    return {node.number: node.label for node in centered.tree.nodes()}


def state(centered):
    return (
        centered.tree.nodes(),
        centered.tree.labels().tolist(),
        centered.tree.cost,
        centered.centers.tolist(),
    )


# ---- moves ---------------------------------------------------------------------------------------


@examples(60)
@given(problems(), BASES, SOME_MOVES)
def test_the_books_are_right_after_every_move(problem, base_tree, moves):
    data, centers, n_leaves = problem
    centered = centered_tree_of(data, centers, n_leaves, base_tree)
    assert_books_are_right(centered)
    for move in moves:
        MOVES[move](centered, n_leaves)
        assert_books_are_right(centered)
        assert centered.tree.n_leaves <= n_leaves


@examples(100)
@given(problems(), BASES, SOME_MOVES)
def test_no_move_raises_the_surrogate_cost(problem, base_tree, moves):
    data, centers, n_leaves = problem
    centered = centered_tree_of(data, centers, n_leaves, base_tree)
    for move in moves:
        before = surrogate_cost(centered)
        MOVES[move](centered, n_leaves)
        assert surrogate_cost(centered) <= no_more_than(before)


@examples(60)
@given(problems(), BASES, SOME_MOVES)
def test_no_move_from_the_means_raises_the_kmeans_cost(problem, base_tree, moves):
    """Where the centers are the means, both costs are the same: the second assertion's bound."""
    data, centers, n_leaves = problem
    centered = centered_tree_of(data, centers, n_leaves, base_tree)
    for move in moves:
        before = kmeans_cost(centered)
        centered.recenter()
        surrogate = surrogate_cost(centered)
        assert (
            kmeans_cost(centered) <= no_more_than(surrogate) <= no_more_than(no_more_than(before))
        )
        MOVES[move](centered, n_leaves)
        assert kmeans_cost(centered) <= no_more_than(surrogate)


@examples(40)
@given(problems(), BASES)
def test_choose_splits_ends_where_no_look_helps(problem, base_tree):
    data, centers, n_leaves = problem
    centered = centered_tree_of(data, centers, n_leaves, base_tree)
    centered.reoptimize()
    optimized = state(centered)
    again = CenteredTree.replay(
        data, centered.freeze(), centered.centers
    )  # no split is known to be best
    again.reoptimize()
    assert again.tree.cost == centered.tree.cost
    assert as_tuple(again.tree) == as_tuple(centered.tree)
    assert state(centered) == optimized


@examples(40)
@given(problems(limited=True), BASES, SOME_MOVES)
def test_limits_hold_after_every_move(problem, base_tree, moves):
    data, centers, n_leaves = problem
    centered = centered_tree_of(data, centers, n_leaves, base_tree)
    for move in moves:
        MOVES[move](centered, n_leaves)
        assert_within_limits(centered)


def assert_within_limits(centered):
    X, weights = rows_of(centered.data)
    tree, rules = centered.freeze(), centered.data.limits
    assert centered.data.table.allowed[tree.feature[~tree.is_leaf]].all()
    if rules.max_depth is not None:
        assert tree.depth.max() <= rules.max_depth
    least = rules.min_samples_leaf
    least = least * weights.sum() if least < 1 else least
    if tree.n_leaves > 1 and least > 1:
        weight = np.bincount(leaf_of(tree, X), weights, minlength=tree.n_nodes)
        assert weight[tree.leaves].min() >= least - ROUNDING


# ---- what must not matter ------------------------------------------------------------------------


@examples(25)
@given(st.integers(0, 2**32), SOME_MOVES)
def test_sparse_is_dense(seed, moves):
    """As long as the centers have few digits, the costs are the same bit by bit."""
    rng = np.random.default_rng(seed)
    X, centers = blobs(rng, 200, 4, 4)
    trees = [centered_tree_of(data_of(as_table(X)), centers, 7) for as_table in TABLES]
    for move in moves:
        for centered in trees:
            if move not in ("recenter", "optimize"):
                MOVES[move](centered, 7)
    assert trees[0].freeze() == trees[1].freeze() == trees[2].freeze()
    for centered in trees:
        centered.optimize(7, 1e-4, 5)
    costs = [centered.cost for centered in trees]
    assert costs == pytest.approx([costs[0]] * 3, rel=ROUNDING)


TABLES = (np.asarray, sparse.csr_array, sparse.csc_matrix)


@pytest.mark.parametrize("as_table", [np.asarray, sparse.csr_array])
def test_threads_do_not_matter(as_table):
    rng = np.random.default_rng(0)
    X, centers = blobs(rng, 9000, 10, 6)
    trees = [centered_tree_of(data_of(as_table(X), n_threads=n), centers, 12) for n in (1, 2)]
    for centered in trees:
        centered.optimize(12, 1e-4, 3)
    assert trees[0].freeze() == trees[1].freeze()
    np.testing.assert_array_equal(trees[0].centers, trees[1].centers)


# ---- copies, leaves and cuts ---------------------------------------------------------------------


@examples(40)
@given(problems(), SOME_MOVES)
def test_a_copy_and_its_original_do_not_change_each_other(problem, moves):
    data, centers, n_leaves = problem
    centered = centered_tree_of(data, centers, n_leaves)
    before = state(centered)
    copy = centered.copy()
    assert state(copy) == before
    for move in [*moves, "optimize"]:
        MOVES[move](copy, n_leaves)
    copy.tree.collapse(0)
    assert state(centered) == before
    assert_books_are_right(centered)
    changed = state(copy)
    centered.optimize(n_leaves, 1e-3, 3)
    assert state(copy) == changed
    assert_books_are_right(copy)


@examples(40)
@given(problems(sizes=(12, 40, 150)), st.integers(0, 2**32))
def test_cutting_and_collapsing_keep_the_books(problem, seed):
    """Numbers of removed nodes are used again, so a wrong link would show."""
    data, centers, n_leaves = problem
    centered, rng = centered_tree_of(data, centers, n_leaves), np.random.default_rng(seed)
    for _ in range(12):
        act(centered, rng)
        assert_books_are_right(centered)


def act(centered, rng):
    """Collapse a node, cut a leaf, or cut a node anew; all at random."""
    choice, tree, before = rng.integers(3), centered.tree, centered.tree.n_leaves
    if choice == 0:
        node = rng.choice(centered.inner + centered.leaves)
        below = len(leaves_below(tree, node))
        tree.collapse(node)
        assert tree.n_leaves == before - below + 1
        assert tree.feature(node) == -1
    elif choice == 1:
        leaf = rng.choice(centered.leaves)
        cut = tree.search(leaf, None, 1)
        if cut is not None:
            children = tree.split(leaf, cut.feature, cut.threshold)
            assert tree.n_leaves == before + 1
            assert tree.children(leaf) == children
            assert cut.cost == sum(map(tree.regret, children))
    elif centered.inner:
        prices = np.where(rng.random(len(centered.data.table.bins.feature)) < 0.5, -1, 0)
        tree.replace_split(rng.choice(centered.inner), prices, 1)
        assert tree.n_leaves <= before


def leaves_below(tree, node):
    if tree.feature(node) < 0:
        return [node]
    return [leaf for child in tree.children(node) for leaf in leaves_below(tree, child)]


def test_a_cut_beside_all_rows_is_not_made():
    centered = centered_tree_of(
        data_of(np.arange(6.0)[:, None]), np.array([[1.0], [4.0]]), 1, "none"
    )
    before = state(centered)
    assert centered.tree.split(0, 0, 7.0) is None
    assert centered.tree.split(0, 0, -1.0) is None
    assert state(centered) == before


def test_cuts_of_a_tree_that_part_no_rows_are_left_out():
    X = np.arange(8.0)[:, None]
    centers = np.array([[1.0], [6.0]])
    data = data_of(X)
    tree = grown_tree(with_reference(data, centers), "kdtree", 4)
    half = data_of(X[:4])
    centered = CenteredTree.replay(half, tree, centers)
    assert centered.tree.n_leaves < tree.n_leaves
    assert_books_are_right(centered)


def test_the_steps_grow_with_every_look_and_are_the_same_each_time():
    rng = np.random.default_rng(1)
    X, centers = blobs(rng, 300, 3, 4)
    first, second = (centered_tree_of(data_of(X), centers, 8) for _ in range(2))
    before = first.tree.steps
    for centered in (first, second):
        centered.reoptimize()
    assert first.tree.steps == second.tree.steps > before


def test_max_depth_stops_the_search_of_a_leaf():
    rng = np.random.default_rng(2)
    X, centers = blobs(rng, 200, 3, 5)
    centered = centered_tree_of(data_of(X, rules=Limits(max_depth=2)), centers, 20)
    centered.grow(20)
    depth = dict(
        zip((node.number for node in centered.tree.nodes()), centered.freeze().depth, strict=True)
    )
    deep = [leaf for leaf in centered.leaves if depth[leaf] == 2 and centered.tree.regret(leaf) > 0]
    assert deep
    assert max(depth.values()) == 2
    assert all(centered.tree.search(leaf, None, 1) is None for leaf in deep)


def test_growth_is_in_the_order_of_what_cuts_save():
    """A cut never comes before the one above it; of those that can come, the best is first."""
    rng = np.random.default_rng(3)
    X, centers = blobs(rng, 400, 3, 5)
    centered = centered_tree_of(data_of(X), centers, 12)
    centered.optimize(12, 1e-4, 5)
    tree = centered.freeze()
    leaf = leaf_of(tree, X)
    passed = tree.paths_to(leaf.astype(np.int32)).toarray().astype(bool)
    regret = np.array(
        [centered.costs.regrets.values[column].sum(axis=0).min() for column in passed.T]
    )
    open_cuts, made = {0}, []
    while open_cuts:
        saved = {
            at: regret[at] - regret[tree.left[at]] - regret[tree.right[at]] for at in open_cuts
        }
        best = min(saved, key=lambda at: (-saved[at], at))
        made.append(best)
        open_cuts.remove(best)
        open_cuts |= {c for c in (tree.left[best], tree.right[best]) if tree.feature[c] >= 0}
    inner = np.flatnonzero(~tree.is_leaf)
    assert inner[np.argsort(tree.growth[inner])].tolist() == made


@pytest.mark.parametrize(
    ("rules", "allowed", "n_leaves"),
    [
        (Limits(), None, 4),
        (Limits(min_samples_leaf=3), None, 2),
        (Limits(max_depth=1), None, 2),
        (Limits(), np.array([False, True]), 1),
    ],
)
def test_cuts_of_a_tree_that_the_limits_forbid_are_left_out(rules, allowed, n_leaves):
    """Such as those of a tree that was searched on a sample of the rows."""
    X = np.column_stack([np.arange(8.0), np.zeros(8)])
    centers = X[[0, 2, 4, 6]]
    tree = grown_tree(with_reference(data_of(X), centers), "kdtree", 4)
    centered = CenteredTree.replay(data_of(X, rules=rules, allowed=allowed), tree, centers)
    assert centered.tree.n_leaves == n_leaves
    assert_within_limits(centered)
    assert_books_are_right(centered)


def test_prices_beyond_all_costs_do_not_overflow():
    X, centers = np.arange(40.0)[:, None], np.linspace(0.0, 39.0, 8)[:, None]
    centered = centered_tree_of(
        data_of(X, rules=Limits(feature_costs=np.array([1e30]))), centers, 8
    )
    assert centered.tree.n_leaves == 8
    assert centered.tree.cost >= 2**61
    centered.reoptimize()
    assert centered.tree.n_leaves == 1
