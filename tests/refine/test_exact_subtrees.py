"""Small subtrees are the cheapest ones there are, by the enumeration of all trees."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.training_data import centered_tree_of, data_of
from tests.oracles.optimal_oracle import AllTrees, cheapest_center
from tests.refine.test_centered_tree import assert_books_are_right, assert_within_limits
from treemeans.limits import Limits
from treemeans.refine.exact_subtrees import solve_subtrees


@settings(max_examples=30)
@given(st.integers(0, 2**32), st.sampled_from([None, 2, 3]), st.sampled_from([1, 2]))
def test_a_tree_of_four_leaves_is_the_cheapest_for_its_centers(seed, max_depth, least):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, size=(14, 2)).astype(float)
    centers = X[rng.choice(len(X), 3, replace=False)] + 0.1
    tree = centered_tree_of(data_of(X, rules=Limits(least, max_depth)), centers, 4)
    before = tree.cost
    solve_subtrees(tree, 4, 1e-4, 4)
    assert tree.cost <= before
    assert_books_are_right(tree)
    assert_within_limits(tree)
    if tree.tree.n_leaves == 4:  # otherwise the budget of leaves was not used up
        trees = AllTrees(X, cheapest_center(tree.costs.regrets.values), min_weight=least)
        assert tree.tree.cost == trees.least_cost(4, max_depth or 99)


@settings(max_examples=20)
@given(st.integers(0, 2**32), st.integers(4, 8))
def test_a_tree_of_limited_depth_is_the_cheapest_for_its_centers(seed, n_leaves):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 5, size=(16, 2)).astype(float)
    centers = X[rng.choice(len(X), 4, replace=False)] + 0.1
    tree = centered_tree_of(data_of(X, rules=Limits(1, 3)), centers, n_leaves)
    solve_subtrees(tree, n_leaves, 1e-4, 4)
    before = tree.cost
    solve_subtrees(tree, n_leaves, 1e-4, 4)
    assert tree.cost <= before
    assert_books_are_right(tree)
    assert_within_limits(tree)
    if tree.cost == before:  # otherwise the centers moved after the last solution
        trees = AllTrees(X, cheapest_center(tree.costs.regrets.values))
        assert tree.tree.cost == trees.least_cost(n_leaves, 3)


def test_large_trees_are_solved_in_parts():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    tree = centered_tree_of(data_of(X), X[:5].copy(), 12)
    tree.tree.reoptimize(0, 100, 1)
    before = tree.cost
    solve_subtrees(tree, 12, 1e-4, 4)
    assert tree.cost < before
    assert tree.tree.n_leaves <= 12
    assert_books_are_right(tree)
