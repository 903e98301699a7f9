"""IMM, EMN and ExGreedy: trees that separate the centers, against plain oracles and by example."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import sparse

from tests.helpers.datasets import kmeans, load
from tests.helpers.examples import SLOW, examples
from tests.helpers.plain_numpy import cluster_means, cost_to
from tests.helpers.training_data import data_of, price_rows
from tests.oracles.search_oracle import as_dense, counted_rows
from tests.oracles.separating_oracle import Bounds, Problem, scores_by_value, separating_tree
from tests.rows.test_search_oracle import (
    LONG_COLUMNS,
    long_problems,
    small_problems,
    sparse_problems,
)
from treemeans.costs import CostTable, Fixed
from treemeans.growth import InMemoryTree, emn, exgreedy, imm
from treemeans.limits import Limits
from treemeans.progress import Progress

METHODS = {"imm": imm, "emn": emn, "exgreedy": exgreedy}
RULES = st.sampled_from(sorted(METHODS))
STRUCTURE = ("feature", "threshold", "left", "right", "growth")


# ---- the two sides of every comparison -----------------------------------------------------------


def priced(X, centers, weights=None):
    return price_rows(X, centers, weights)


def built(rule, X, centers, costs, limits=None, allowed=None, n_threads=1):
    """The growing of a method. ``limits``: arguments of Limits."""
    rules = None if limits is None else Limits(*limits)
    how = {"rules": rules, "allowed": allowed, "n_threads": n_threads, "costs": costs}
    growing = InMemoryTree(data_of(X, centers, **how))
    METHODS[rule](growing, centers, Progress("", 1, False))
    return growing


def problem_of(X, centers, costs):
    weights = np.ones(X.shape[0], dtype=np.int64)
    weights = weights if costs.weights is None else costs.weights.values
    return Problem(as_dense(X), centers, costs.regrets.values, costs.nearest, weights)


def bounds_of(rule, costs, limits, allowed):
    """The limits of a tree in the oracle's units."""
    limits = Limits(*limits).for_rows(costs)
    whole = costs.cheapest / costs.regrets.unit if rule == "exgreedy" else costs.total_weight
    # A price is rounded to the unit of the scores; where that is a row, to a part of it.
    parts = 2**20 if rule != "exgreedy" and costs.weights is None else 1
    prices = None
    if limits.feature_costs is not None:
        prices = [
            Fraction(round(min(p * whole * parts, 2**61)), parts) for p in limits.feature_costs
        ]
    allowed = None if allowed is None or allowed.all() else allowed
    return Bounds(limits.min_weight, limits.max_depth, allowed, prices)


def assert_same(growing, expected):
    tree = growing.freeze()
    for name in STRUCTURE:
        np.testing.assert_array_equal(getattr(tree, name), getattr(expected, name), err_msg=name)
    assert growing.leaves == expected.leaves
    for leaf in expected.leaves:
        assert growing.label[leaf] == expected.label[leaf]


def check(rule, X, centers, weights=None, limits=None, allowed=None):
    costs = priced(X, centers, weights)
    bounds = None if limits is None else bounds_of(rule, costs, limits, allowed)
    rows = counted_rows(X.shape[0], weights)
    expected = separating_tree(problem_of(X, centers, costs), rows, rule, bounds)
    growing = built(rule, X, centers, costs, limits, allowed)
    assert_same(growing, expected)
    assert built(rule, X, centers, costs, limits, allowed, 2).freeze() == growing.freeze()
    return growing


@st.composite
def limits_for(draw, n_features):
    """Arguments of Limits, and the features allowed."""
    allowed = np.array(draw(st.lists(st.booleans(), min_size=n_features, max_size=n_features)))
    allowed[draw(st.integers(0, n_features - 1))] = True
    prices = st.lists(
        st.sampled_from([0.0, 0.001, 0.02, 0.3, 5.0, 1e30]),
        min_size=n_features,
        max_size=n_features,
    )
    limits = (
        draw(st.sampled_from([1, 2, 3, 2.5, 0.1, 0.3])),
        draw(st.sampled_from([None, None, 0, 1, 2, 3])),
        draw(st.one_of(st.none(), prices.map(np.array))),
    )
    return limits, draw(st.sampled_from([None, allowed]))


# ---- against the oracles -------------------------------------------------------------------------


@examples(300)
@given(small_problems(), RULES)
def test_small_tables(problem, rule):
    check(rule, *problem)


@examples(300)
@given(small_problems(), RULES, st.data())
def test_small_tables_within_limits(problem, rule, data):
    limits, allowed = data.draw(limits_for(problem[0].shape[1]))
    check(rule, *problem, limits, allowed)


@examples(150)
@given(st.data(), st.sampled_from([np.float64, np.int32]), RULES)
def test_sparse_tables(data, dtype, rule):
    X, matrix, centers, weights = data.draw(sparse_problems(60, dtype))
    limits, allowed = data.draw(limits_for(X.shape[1]))
    assume(len(centers) > 1)
    check(rule, matrix, centers, weights, limits, allowed)


@examples(150)
@given(long_problems(), RULES)
def test_long_tables(problem, rule):
    check(rule, *problem)


@examples(150)
@given(long_problems(), RULES, st.data())
def test_long_tables_within_limits(problem, rule, data):
    limits, allowed = data.draw(limits_for(problem[0].shape[1]))
    check(rule, *problem, limits, allowed)


@examples(40)
@given(st.integers(0, 2**32), RULES, st.sampled_from(["csr", "csc"]), st.booleans())
def test_long_sparse_tables(seed, rule, kind, limited):
    rng = np.random.default_rng(seed)
    n = rng.choice([300, 1500, 3000])
    X = rng.normal(size=(n, 6)) * rng.choice([0.01, 1.0, 100.0], 6)
    X[:, 3] = np.round(X[:, 3], 2)
    X[:, 4:] = np.abs(X[:, 4:])
    X[rng.random(X.shape) > [0.02, 0.05, 0.3, 0.9, 0.2, 0.06]] = 0.0
    centers = np.array([X[rng.integers(0, n, 9)].mean(axis=0) for _ in range(rng.integers(2, 7))])
    weights = rng.choice([None, 1])
    weights = None if weights is None else rng.integers(0, 4, n).astype(float)
    limits = (float(rng.choice([2, 20, 0.05])), None, None) if limited else None
    check(rule, sparse.coo_array(X).asformat(kind), centers, weights, limits)


@pytest.mark.parametrize("rule", METHODS)
@pytest.mark.parametrize("kind", LONG_COLUMNS)
@pytest.mark.parametrize("min_samples", [1, 40])
def test_long_columns(kind, rule, min_samples):
    """Every kind of column with only itself to cut, next to a copy of another sample of it."""
    rng = np.random.default_rng(12)
    X = np.column_stack([LONG_COLUMNS[kind](rng, 2500) for _ in range(2)])
    centers = np.array([X[rng.choice(len(X), 4)].mean(axis=0) for _ in range(6)])
    check(rule, X, centers, None, (min_samples, None, None))


@pytest.mark.parametrize("rule", METHODS)
@pytest.mark.parametrize("seed", range(3 if SLOW else 2))
def test_centers_that_nearly_coincide(seed, rule):
    """Closer together than the values of a coarse bin: several gaps within one bin."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(1000, 3))
    groups = np.repeat(X[rng.choice(1000, 5)], 4, axis=0)
    centers = groups + 3e-3 * rng.normal(size=groups.shape)
    check(rule, X, centers)
    check(rule, X, centers, None, (8, None, None))


@pytest.mark.parametrize("rule", METHODS)
def test_many_columns_and_centers(rule):
    rng = np.random.default_rng(6)
    kinds = rng.choice(sorted(LONG_COLUMNS), 21)
    X = np.column_stack([LONG_COLUMNS[kind](rng, 300) for kind in kinds])
    X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12)
    check(rule, X, X[rng.choice(300, 24, replace=False)])


@pytest.mark.parametrize("rule", METHODS)
@pytest.mark.parametrize("as_table", [np.asarray, sparse.csr_array])
def test_enough_for_two_threads(as_table, rule):
    rng = np.random.default_rng(7)
    kinds = ["clusters", "rounded", "rare continuous", "heavy and continuous", "bytes", "few"]
    X = np.column_stack([LONG_COLUMNS[kinds[i % 6]](rng, 20_000) for i in range(9)])
    X /= X.std(axis=0)
    if as_table is sparse.csr_array:
        X[rng.random(X.shape) < 0.6] = 0.0
    check(rule, as_table(X), X[rng.choice(len(X), 5, replace=False)])


@examples(60)
@given(small_problems(), RULES)
def test_costs_of_another_space(problem, rule):
    """As with a pipeline: prices that have nothing to do with the columns."""
    X, centers, weights = problem
    rng = np.random.default_rng(len(X))
    elsewhere = price_rows(
        rng.normal(size=(len(X), 2)), rng.normal(size=(len(centers), 2)), weights
    )
    rows = counted_rows(len(X), weights)
    expected = separating_tree(problem_of(X, centers, elsewhere), rows, rule)
    assert_same(built(rule, X, centers, elsewhere), expected)


# ---- by example ----------------------------------------------------------------------------------

GREEDY_X = np.array([[0.0, 0], [1, 0], [5, 0], [4, 4], [5, 5]])
GREEDY_CENTERS = np.array([[0.5, 0], [5, 3]])


def test_exgreedy_example():
    """The costs of all cuts, by hand; f0 at 1 is free, since no row is parted from its center."""
    costs = priced(GREEDY_X, GREEDY_CENTERS)
    assert costs.cheapest == 15.5
    problem, rows = problem_of(GREEDY_X, GREEDY_CENTERS, costs), np.arange(5)

    def by_value(feature):
        scores = scores_by_value(problem, rows, [0, 1], feature, "exgreedy")
        return {v: float(s) * costs.regrets.unit + 15.5 for v, (s, _) in scores.items()}

    assert by_value(0) == {0.5: 40.25, 1.0: 15.5, 4.0: 41.75}
    assert by_value(1) == {0.0: 26.75}


def test_exgreedy_takes_the_cheapest_cut():
    costs = priced(GREEDY_X, GREEDY_CENTERS)
    tree = built("exgreedy", GREEDY_X, GREEDY_CENTERS, costs).freeze()
    assert (tree.feature[0], tree.threshold[0]) == (0, 2.5)
    only = np.array([False, True])
    tree = built("exgreedy", GREEDY_X, GREEDY_CENTERS, costs, None, only).freeze()
    assert (tree.feature[0], tree.threshold[0]) == (1, 1.5)  # half way to the center at 3
    assert tree.costs[1, 0] + tree.costs[2, 1] == 26.75


EMN_X = np.array([0.0, 6, 4, 16, 14, 20, 30, 18])[:, None]
EMN_LABELS = np.array([0, 0, 1, 1, 2, 2, 3, 3], dtype=np.int32)
EMN_CENTERS = np.array([0.0, 10, 20, 30])[:, None]


def emn_costs():
    """A cost of 1 for every center but a row's own."""
    regrets = 1 - np.eye(4, dtype=np.int64)[EMN_LABELS]
    return CostTable(
        nearest=EMN_LABELS,
        regrets=Fixed(regrets, 1.0),
        base=Fixed(np.zeros(8, dtype=np.int64), 1.0),
        weights=None,
        weighted_rows=None,
    )


def test_emn_example():
    costs = emn_costs()
    problem, rows, members = problem_of(EMN_X, EMN_CENTERS, costs), np.arange(8), [0, 1, 2, 3]
    mistakes = scores_by_value(problem, rows, members, 0, "imm")
    assert {v: int(s) for v, (s, _) in mistakes.items()} == dict(
        zip([0, 4, 6, 10, 14, 16, 18, 20], [1, 2, 1, 1, 2, 1, 2, 1], strict=True)
    )
    scores = scores_by_value(problem, rows, members, 0, "emn")
    assert [float(s) for s, _ in scores.values()] == [1, 2, 1, 0.5, 1, 0.5, 1, 1]


def test_emn_prefers_the_middle():
    costs = emn_costs()
    assert built("emn", EMN_X, EMN_CENTERS, costs).threshold[0] == 12.0  # from 10 to 14
    assert built("imm", EMN_X, EMN_CENTERS, costs).threshold[0] == 2.0  # from 0 to 4


@pytest.mark.parametrize("seed", range(5))
def test_emn_of_two_centers_is_imm(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 3)) + rng.integers(0, 2, 300)[:, None]
    centers = np.array([[0.0, 0, 0], [1, 1, 1]])
    costs = priced(X, centers)
    assert built("emn", X, centers, costs).freeze() == built("imm", X, centers, costs).freeze()


@pytest.mark.parametrize("rule", METHODS)
def test_a_center_that_has_no_place(rule):
    X = np.arange(12.0)[:, None]
    centers = np.array([[1.0], [np.nan], [9.0], [9.0], [5.0]])
    costs = priced(X, np.nan_to_num(centers, nan=100.0))
    growing = built(rule, X, centers, costs)
    assert sorted(growing.label[leaf] for leaf in growing.leaves) == [0, 2, 4]


@pytest.mark.parametrize("rule", ["emn", "exgreedy"])
def test_a_side_without_rows_is_no_side(rule):
    """No row lies between the centers: IMM cuts there, the others cannot."""
    X = np.array([[5.0], [6.0], [7.0]])
    centers = np.array([[0.0], [4.0]])
    costs = priced(X, centers)
    assert built("imm", X, centers, costs).n_leaves == 2
    growing = built(rule, X, centers, costs)
    assert growing.n_leaves == 1
    assert growing.label[0] == 1  # all rows are that one's


# ---- limits --------------------------------------------------------------------------------------


@examples(100)
@given(st.one_of(small_problems(), long_problems(sizes=(300, 1100))), RULES, st.data())
def test_limits_are_kept(problem, rule, data):
    X, centers, weights = problem
    (min_samples, max_depth, prices), allowed = data.draw(limits_for(X.shape[1]))
    costs = priced(X, centers, weights)
    growing = built(rule, X, centers, costs, (min_samples, max_depth, prices), allowed)
    tree = growing.freeze()
    if growing.n_leaves > 1 and (rule != "imm" or growing.limits.min_weight > 1):
        assert min(growing.weight(leaf) for leaf in growing.leaves) >= growing.limits.min_weight
    if max_depth is not None:
        assert max(growing.depth) <= max_depth
    if allowed is not None:
        assert allowed[tree.feature[~tree.is_leaf]].all()


@pytest.mark.parametrize("rule", METHODS)
def test_a_leaf_that_may_not_be_cut_has_the_cheapest_center(rule):
    X = np.concatenate([np.full(3, 0.0), np.full(9, 4.0), np.full(5, 8.0)])[:, None]
    centers = np.array([[0.0], [4.0], [8.0]])
    costs = priced(X, centers)
    assert built(rule, X, centers, costs, (1, 0, None)).label == [1]
    shallow = built(rule, X, centers, costs, (1, 1, None))
    assert [shallow.label[leaf] for leaf in shallow.leaves] == [0, 1]
    heavy = built(rule, X, centers, costs, (4, None, None))
    assert [(heavy.label[leaf], heavy.weight(leaf)) for leaf in heavy.leaves] == [(1, 12), (2, 5)]


@pytest.mark.parametrize("rule", METHODS)
def test_a_priced_feature_must_save_more(rule):
    """The first column parts the clusters; the second parts all but one row of forty."""
    near, far = [0.0, 0.0], [10.0, 5.0]
    X = np.repeat([near, far], 20, axis=0)
    X[0, 1] = 5.0
    centers = np.array([near, far])
    costs = priced(X, centers)
    assert costs.cheapest == 25.0  # of the first row, which would cost 100 with the other center
    saved = (100.0 - 25.0) / 25.0 if rule == "exgreedy" else 1 / 40
    for share, feature in [(0.0, 0), (0.9, 0), (1.1, 1)]:
        limits = (1, None, np.array([share * saved, 0.0]))
        assert built(rule, X, centers, costs, limits).feature[0] == feature


# ---- real data -----------------------------------------------------------------------------------


def excess(rule, X, reference):
    """K-means cost of the tree's clusters by that of the reference, less 1."""
    centers = reference.cluster_centers_
    growing = built(rule, X, centers, priced(X, centers), n_threads=2)
    labels = np.array(growing.label)[growing.leaf_of_row()]
    ones = np.ones(len(X))
    return (
        cost_to(X, labels, cluster_means(X, labels, ones, centers), ones) / reference.inertia_ - 1
    )


@pytest.mark.parametrize(
    "names",
    [("iris", "wine", "breast_cancer", "digits"), ("digits", "mice_protein", "anuran", "avila")],
)
def test_exgreedy_is_closer_to_the_reference_than_imm(names):
    excesses = {"imm": [], "exgreedy": []}
    for name in names:
        X, k = load(name)
        reference = kmeans(X, k, n_init=3)
        for rule, found in excesses.items():
            found.append(excess(rule, X, reference))
    assert np.mean(excesses["exgreedy"]) < np.mean(excesses["imm"])
    assert max(excesses["exgreedy"]) < 0.3
