"""Splits chosen again, the rest of the tree fixed: the kernels against the oracle."""

import copy

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import sparse

from tests.helpers.examples import examples
from tests.helpers.kernel_cases import (
    Case,
    as_tuple,
    cases,
    cuts_of,
    long_cases,
    random_prices,
    wide_case,
)
from tests.oracles import refine_oracle as oracle

ANY_NUMBER = 2**62
ANY_CASES = st.one_of(cases(), cases(), long_cases())


def planted(case, rng, most_cuts):
    """The same tree twice: the oracle's and the kernels'."""
    root = case.random_tree(rng, int(rng.integers(1, most_cuts + 1)))
    tree = case.mutable_tree(cuts_of(root))
    assert_same(tree, root, case)
    return root, tree


def assert_same(tree, root, case):
    assert as_tuple(tree) == root.as_tuple()
    assert tree.cost == oracle.cost(case.terms, root)


def inner_nodes(tree, root):
    """Every inner node: its number in the tree, and the oracle's node."""
    children = {node.number: (node.left, node.right) for node in tree.nodes()}
    pairs, stack = [], [(0, root)]
    while stack:
        number, node = stack.pop()
        if not node.is_leaf:
            pairs.append((number, node))
            stack += zip(children[number], (node.left, node.right), strict=True)
    return pairs


# ---- one look at one split -----------------------------------------------------------------------


@examples(200)
@given(ANY_CASES)
def test_one_look(problem):
    case, rng = problem
    root, tree = planted(case, rng, 6)
    pairs = inner_nodes(tree, root)
    assume(pairs)
    number, node = pairs[rng.integers(len(pairs))]
    oracle.choose_again(case.terms, node)
    tree.reoptimize(number, 1, 1)
    assert_same(tree, root, case)


@examples(150)
@given(ANY_CASES)
def test_replace_split_cuts_anew_even_if_that_costs_more(problem):
    case, rng = problem
    root, tree = planted(case, rng, 6)
    pairs = inner_nodes(tree, root)
    assume(pairs)
    number, node = pairs[rng.integers(len(pairs))]
    prices = random_prices(rng, case.terms.X.shape[1], int(rng.integers(1, 10**6)))
    cut = oracle.fork_cut(case.priced(prices), node)
    done = cut is not None and oracle.adopt(case.terms, node, cut)
    assert tree.replace_split(number, case.by_slot(prices), 1) == done
    assert_same(tree, root, case)


@examples(50)
@given(cases())
def test_replace_split_without_prices_takes_those_of_the_tree(problem):
    case, rng = problem
    root, tree = planted(case, rng, 3)
    assume(not root.is_leaf)
    cut = oracle.fork_cut(case.terms, root)
    assert tree.replace_split(0, None, 1) == (
        cut is not None and oracle.adopt(case.terms, root, cut)
    )
    assert_same(tree, root, case)


# ---- until nothing improves ----------------------------------------------------------------------


@examples(150)
@given(ANY_CASES)
def test_settle(problem):
    case, rng = problem
    root, tree = planted(case, rng, 9)
    before = tree.cost
    oracle.settle(case.terms, root)
    tree.reoptimize(0, ANY_NUMBER, 1)
    assert_same(tree, root, case)
    assert tree.cost <= before


@examples(60)
@given(cases(sizes=(20, 60)))
def test_settle_a_part_and_then_the_whole(problem):
    """What was settled once is looked at again where it depends on what changed since."""
    case, rng = problem
    root, tree = planted(case, rng, 9)
    for _ in range(3):
        pairs = inner_nodes(tree, root)
        if not pairs:
            break
        number, node = pairs[rng.integers(len(pairs))]
        oracle.settle(case.terms, node)
        tree.reoptimize(number, ANY_NUMBER, 1)
        assert_same(tree, root, case)
    oracle.settle(case.terms, root)
    tree.reoptimize(0, ANY_NUMBER, 1)
    assert_same(tree, root, case)


@examples(60)
@given(cases(sizes=(20, 60)), st.integers(0, 12))
def test_looks_that_run_out_leave_a_tree_that_costs_no_more(problem, max_looks):
    case, rng = problem
    root, tree = planted(case, rng, 9)
    before = tree.cost
    tree.reoptimize(0, max_looks, 1)
    shape = as_tuple(tree)
    again = oracle.grown(case.terms, case.rows, shape)
    assert again.as_tuple() == shape  # every leaf has its cheapest label
    assert tree.cost == oracle.cost(case.terms, again) <= before
    if max_looks == 0:
        assert shape == root.as_tuple()


@examples(60)
@given(cases(sizes=(20, 60)))
def test_other_regrets_question_every_split(problem):
    case, rng = problem
    root, tree = planted(case, rng, 6)
    tree.reoptimize(0, ANY_NUMBER, 1)
    root = oracle.grown(case.terms, case.rows, as_tuple(tree))
    case.terms.regrets = np.roll(case.terms.regrets, 1, axis=1)[::-1].copy()
    case.terms.prices = random_prices(rng, case.terms.X.shape[1], 20)
    slot_prices = case.by_slot(case.terms.prices)
    tree.reprice(case.terms.regrets, slot_prices)
    root = oracle.grown(case.terms, case.rows, root.as_tuple())
    assert_same(tree, root, case)
    oracle.settle(case.terms, root)
    tree.reoptimize(0, ANY_NUMBER, 1)
    assert_same(tree, root, case)


@pytest.mark.parametrize("as_table", [np.asarray, sparse.csr_array])
def test_enough_for_two_threads(as_table):
    rng = np.random.default_rng(3)
    case = wide_case(rng, as_table)
    root = case.random_tree(rng, 8)
    trees = [case.mutable_tree(cuts_of(root)) for _ in range(2)]
    expected = copy.deepcopy(root)
    oracle.settle(case.terms, expected)
    assert expected.as_tuple() != root.as_tuple()
    for n_threads, tree in enumerate(trees, start=1):
        tree.reoptimize(0, ANY_NUMBER, n_threads)
        assert_same(tree, expected, case)


# ---- cases worked out by hand --------------------------------------------------------------------


def stairs(**terms):
    """Values 0 to 8, three of each: rows 0-2 want center 0, then 1, then 2; being wrong costs 10.

    A second column puts the same rows in the same order, backwards.
    """
    X = np.column_stack([np.arange(9.0), -np.arange(9.0)])
    regrets = 10 * (np.arange(9)[:, None] // 3 != np.arange(3)).astype(np.int64)
    return Case(X, regrets, **terms)


def test_a_poor_cut_moves_to_where_it_costs_nothing():
    tree = stairs().mutable_tree((0, 1.5, None, (0, 5.5, None, None)))
    assert tree.cost == 10
    tree.reoptimize(0, ANY_NUMBER, 1)
    assert as_tuple(tree) == (0, 2.5, 0, (0, 5.5, 1, 2))
    assert tree.cost == 0


def test_a_cut_between_equal_labels_is_dropped():
    tree = stairs().mutable_tree((0, 2.5, (0, 0.5, None, None), (0, 5.5, None, None)))
    assert tree.n_leaves == 4
    tree.reoptimize(0, ANY_NUMBER, 1)
    assert as_tuple(tree) == (0, 2.5, 0, (0, 5.5, 1, 2))
    assert tree.n_leaves == 3


def test_a_cut_that_saves_no_more_than_its_price_is_dropped():
    for price, label in [(29, (0, 2.5, 0, 1)), (30, 1)]:
        case = stairs(prices=np.array([price, -1]))
        tree = case.mutable_tree((0, 2.5, None, None))
        assert tree.cost == 30 + price
        tree.reoptimize(0, ANY_NUMBER, 1)
        assert as_tuple(tree) == (label if price == 29 else 0)
        assert tree.cost == min(30 + price, 60)


def test_of_two_features_that_do_as_well_the_lower_one_is_taken():
    case = stairs()
    twice = Case(case.terms.X[:, [0, 0]], case.terms.regrets)
    tree = twice.mutable_tree((1, 1.5, None, None))
    tree.reoptimize(0, ANY_NUMBER, 1)
    assert as_tuple(tree) == (0, 2.5, 0, 1)


def test_a_forbidden_feature_that_is_in_use_stays_until_another_saves():
    case = stairs(prices=np.array([-1, 0]))
    tree = case.mutable_tree((0, 2.5, None, (0, 5.5, None, None)))
    tree.reoptimize(0, ANY_NUMBER, 1)
    assert as_tuple(tree) == (0, 2.5, 0, (0, 5.5, 1, 2))


def test_a_leaf_further_down_that_would_get_too_light_stops_a_cut():
    """The root does best between 2 and 3; then row 2 is alone in a leaf."""
    X = np.arange(8.0)[:, None]
    regrets = np.array([[0, 9, 9]] * 2 + [[9, 0, 20]] + [[9, 4, 0]] * 5)
    cuts = (0, 5.5, (0, 1.5, None, None), None)
    free, bound = (Case(X, regrets, min_weight=least).mutable_tree(cuts) for least in (1, 2))
    for tree in (free, bound):
        assert as_tuple(tree) == (0, 5.5, (0, 1.5, 0, 1), 2)
        tree.reoptimize(0, ANY_NUMBER, 1)
    assert as_tuple(free) == (0, 2.5, (0, 1.5, 0, 1), 2)
    assert as_tuple(bound) == (0, 5.5, (0, 1.5, 0, 1), 2)
    assert bound.replace_split(0, None, 1) is False
    assert bound.labels().tolist() == [0, 0, 1, 1, 1, 1, 2, 2]
