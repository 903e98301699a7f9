"""CLTree: the specification's examples, its oracle, and what pruning promises."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.examples import examples
from tests.helpers.plain_numpy import column
from tests.oracles import cltree_oracle as oracle
from treemeans.baselines import CLTree
from treemeans.baselines.cltree_growth import CLTreeNode, overgrow, touching
from treemeans.baselines.cltree_split import CRITERIA, LookAhead, Values, virtual_share
from treemeans.baselines.sorted_columns import SortedColumns

pytestmark = pytest.mark.usefixtures("one_thread")


def grown(X, min_split=1, weights=None, **how):
    weights = np.ones(len(X)) if weights is None else weights
    return overgrow(X, weights, min_split=min_split, **how)


def searched(X, min_split=1, criterion="entropy"):
    """A search, and the node it is for."""
    values = Values.of(SortedColumns.of(X, np.ones(len(X))))
    whole = values.whole(X.min(axis=0), X.max(axis=0), float(len(X)))
    return LookAhead(min_split, CRITERIA[criterion]), values, whole


# ---- the specification's examples ----------------------------------------------------------------

FOUR = column(0, 1, 2, 10)


@pytest.mark.parametrize(
    ("criterion", "expected"),
    [("entropy", [0.1379, 0.3113, 0.5488]), ("p15", [0.0414, 0.0955, 0.1710])],
)
def test_gains_of_four_points(criterion, expected):
    search, values, whole = searched(FOUR, criterion=criterion)
    gains = search.gains(values, whole, np.arange(4), np.array([4]))
    assert gains[:3].tolist() == pytest.approx(expected, abs=5e-5)
    assert gains[3] == -np.inf  # the end of the box
    assert search.gains_most(values, whole).tolist() == [2]


def test_the_lower_side_of_four_points():
    search, values, whole = searched(FOUR)
    left, right = whole.part(values, np.array([2]))
    assert (left.y[0], left.n[0], right.y[0], right.n[0]) == (3, 0, 1, 4)
    assert (left.density()[0], right.density()[0]) == (np.inf, 0.25)
    assert search.gains_most(values, right).tolist() == [-1]
    assert search.cut(values, np.zeros(1), np.full(1, 10.0), 4.0) == (0, 2.0)


def test_a_tree_of_four_points_and_its_pruning():
    tree = grown(FOUR, min_split=5)
    assert [(node.y, node.n) for node in tree.nodes] == [(4, 4), (3, 3), (1, 4)]
    assert [node.relative_density for node in tree.nodes[1:]] == [100, 25]
    assert tree.prune(0, 20).tree.n_leaves == 1
    assert tree.prune(0, 30).tree.n_leaves == 2


def test_the_second_cut_is_taken_where_it_leaves_a_dense_part_near_the_first():
    X = column(0, 1, 2, 3, 4, 12, 13, 20)
    search, values, whole = searched(X)
    first = search.gains_most(values, whole)
    assert values.value[first] == 2
    gains = search.gains(values, whole, np.arange(8), np.array([8]))
    assert gains.max() == pytest.approx(0.2190, abs=5e-5)
    left, right = whole.part(values, first)
    assert (left.density()[0], right.density()[0]) == (np.inf, 5 / 8)
    second = search.gains_most(values, right)
    assert values.value[second] == 4
    gain = search.gains(values, right, second, np.array([1]))
    assert gain[0] == pytest.approx(0.2459, abs=5e-5)
    near, far = right.part(values, second)
    assert (near.density()[0], far.density()[0]) == (np.inf, 0.375)
    assert search.cut(values, np.zeros(1), np.full(1, 20.0), 8.0) == (0, 4.0)


def test_the_third_cut_is_taken_inside_an_emptier_near_part():
    X = column(*range(8), 14, 19, 20)
    search, values, whole = searched(X)
    first = search.gains_most(values, whole)
    assert values.value[first] == 7
    gains = search.gains(values, whole, np.arange(11), np.array([11]))
    assert gains.max() == pytest.approx(0.1546, abs=5e-5)
    left, right = whole.part(values, first)
    assert (left.density()[0], right.density()[0]) == (8 / 3, 3 / 8)
    second = search.gains_most(values, right)
    assert values.value[second] == 19
    near, far = right.part(values, second)
    assert (near.y[0], near.n[0], far.y[0], far.n[0]) == (2, 7, 1, 1)
    third = search.gains_most(values, near)
    sides = near.part(values, third)
    assert [(side.y[0], side.n[0]) for side in sides] == [(1, 4), (1, 3)]
    assert search.cut(values, np.zeros(1), np.full(1, 20.0), 11.0) == (0, 14.0)


# ---- the oracle ----------------------------------------------------------------------------------


def table(rng, n, d):
    """Clumps and stray points; few or many distinct values, some columns of one value."""
    X = rng.normal(size=(n, d)) + 4 * rng.integers(0, 3, size=(n, d))
    X = np.round(X * rng.choice([1, 2, 8, 1000], size=d)) / rng.choice([1, 2, 8, 1000], size=d)
    X[:, rng.random(d) < 0.1] = 2.0
    return X


@st.composite
def tables(draw, max_rows=24, max_columns=3):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    return table(rng, draw(st.integers(2, max_rows)), draw(st.integers(1, max_columns)))


LIMITS = st.tuples(
    st.integers(1, 9), st.sampled_from([0, 5, 10, 12.5, 25]), st.sampled_from([0, 1, 10, 30, 50])
)


def nested(pruned, X, weights):
    """The tree as the oracle tells it."""
    tree = pruned.tree
    leaf_of_row = tree.apply(X)

    def tell(node):
        if tree.feature[node] < 0:
            rows = np.flatnonzero((leaf_of_row == node) & (weights > 0))
            copies = np.repeat(rows, weights[rows].astype(int))
            return tuple(copies.tolist()), pruned.nodes[node].n
        below = (tell(tree.left[node]), tell(tree.right[node]))
        return (int(tree.feature[node]), float(tree.threshold[node]), *below)

    return tell(0)


def numbered_as(told, of_copy):
    """The oracle's tree with rows in place of their copies."""
    if isinstance(told[0], tuple):
        return tuple(of_copy[copy] for copy in told[0]), told[1]
    return (*told[:2], *(numbered_as(part, of_copy) for part in told[2:]))


def some_case(seed):
    """A table, whole weights, and settings that leave a tree of some size."""
    rng = np.random.default_rng(seed)
    X = table(rng, int(rng.integers(12, 30)), int(rng.integers(1, 4)))
    weights = np.ones(len(X)) if seed % 2 else rng.integers(0, 4, len(X)).astype(float)
    weights[0] = 1.0
    limits = rng.integers(1, 9), rng.choice([0, 5, 10, 12.5, 20]), rng.choice([10, 40, 60, 80, 100])
    return X, weights, *(limit.item() for limit in limits), ["entropy", "p15"][seed // 2 % 2]


@pytest.mark.parametrize("seed", range(80))
def test_tree_is_the_oracles(seed):
    X, weights, min_split, min_y, min_rd, criterion = some_case(seed)
    of_copy = np.repeat(np.arange(len(X)), weights.astype(int))
    copies = [tuple(row) for row in X[of_copy].tolist()]
    told = oracle.cltree(copies, min_split, min_y, min_rd, criterion)
    expected = numbered_as(told, of_copy.tolist())
    # Grown to what this pruning needs, or to the end: the pruned tree is the same.
    for grown_for in (min_y, 0):
        tree = grown(X, min_split, weights, min_y=grown_for, criterion=criterion)
        assert nested(tree.prune(min_y, min_rd), X, weights) == expected


def test_the_cases_for_the_oracle_are_of_all_sizes():
    sizes = []
    for seed in range(80):
        X, weights, min_split, min_y, min_rd, criterion = some_case(seed)
        tree = grown(X, min_split, weights, criterion=criterion)
        sizes.append(tree.prune(min_y, min_rd).tree.n_leaves)
    assert min(sizes) == 1
    assert np.mean(np.array(sizes) > 3) > 0.4


def test_counts_of_virtual_points_are_whole_where_they_should_be():
    share = virtual_share(*(np.array(x) for x in (100.0, 0.29, 0.0, 1.0)))
    assert 0.29 * 100 < 29 == share


@examples(40)
@given(tables(max_columns=2), st.integers(1, 6), st.sampled_from([0, 10, 40]))
def test_touching_leaves_are_the_oracles(X, min_split, min_rd):
    pruned = grown(X, min_split).prune(0, 50)
    leaves = [pruned.nodes[leaf] for leaf in pruned.tree.leaves]
    group = touching(leaves, min_rd)
    found = {frozenset(np.flatnonzero(group == g).tolist()) for g in np.unique(group)}
    boxes = [list(zip(leaf.low, leaf.high, strict=True)) for leaf in leaves]
    assert found == oracle.touching(boxes, [leaf.relative_density > min_rd for leaf in leaves])


def box(*ends, y=1.0):
    low, high = np.array(ends, dtype=float).T
    return CLTreeNode(low, high, y, 1.0)


def test_boxes_that_meet_in_a_corner_do_not_touch():
    square, above, corner = box((0, 1), (0, 1)), box((0, 1), (1, 2)), box((1, 2), (1, 2))
    assert touching([square, corner], 10).tolist() == [0, 1]
    assert touching([square, corner, above], 10).tolist() == [0, 0, 0]
    sparse = box((0, 1), (1, 2), y=0.05)
    assert len(set(touching([square, corner, sparse], 10).tolist())) == 3


# ---- properties ----------------------------------------------------------------------------------


@examples(30)
@given(tables(), LIMITS, st.sampled_from([0.25, 8.0]), st.sampled_from([0.0, 16.0]))
def test_units_do_not_matter(X, limits, scale, offset):
    min_split, min_y, min_rd = limits
    one = grown(X, min_split).prune(min_y, min_rd).tree
    other = grown(X * scale + offset, min_split).prune(min_y, min_rd).tree
    if np.array_equal((X * scale + offset - offset) / scale, X):  # nothing was rounded
        assert one.feature.tolist() == other.feature.tolist()
        np.testing.assert_array_equal(one.threshold * scale + offset, other.threshold)


@examples(50)
@given(tables(), st.integers(1, 6))
def test_nodes_hold_the_rows_and_no_fewer_virtual_points(X, min_split):
    tree = grown(X, min_split)
    for at, node in enumerate(tree.nodes):
        inside = np.all((node.low <= X) & (node.high >= X), axis=1)
        assert node.y <= inside.sum()
        assert node.n >= node.y
        if not tree.draft.is_leaf(at):
            assert sum(tree.nodes[child].y for child in tree.draft.children(at)) == node.y


@examples(50)
@given(tables(), LIMITS)
def test_every_leaf_of_the_pruned_tree_has_rows(X, limits):
    min_split, min_y, min_rd = limits
    pruned = grown(X, min_split).prune(min_y, min_rd)
    assert set(pruned.tree.apply(X).tolist()) == set(pruned.tree.leaves.tolist())
    for leaf in pruned.tree.leaves:
        assert pruned.nodes[leaf].y == (pruned.tree.apply(X) == leaf).sum()


@pytest.mark.parametrize("criterion", CRITERIA)
def test_weights_need_not_be_whole(criterion):
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(60, 2)), rng.random(60) + 0.5
    tree = grown(X, 4, weights, criterion=criterion).prune(1, 30)
    assert tree.tree.n_leaves > 3
    total = sum(tree.nodes[leaf].y for leaf in tree.tree.leaves)
    assert total == pytest.approx(weights.sum())


def test_a_tree_cannot_be_pruned_to_what_was_never_grown():
    X = np.random.default_rng(0).normal(size=(100, 2))
    tree = grown(X, min_y=10)
    assert tree.prune(20, 30).tree == grown(X).prune(20, 30).tree
    with pytest.raises(ValueError, match="min_y=5 is a percentage that asks for 5"):
        tree.prune(5, 30)


def test_percentages_of_rows_are_whole_where_they_should_be():
    X = np.random.default_rng(0).normal(size=(1000, 1))
    assert grown(X, 500, min_y=0.7).min_rows == 7  # 0.7 / 100 * 1000 is a little less


def test_rows_that_are_all_equal_make_one_leaf():
    assert grown(np.ones((5, 2))).prune(0, 0).tree.n_leaves == 1


# ---- the estimator -------------------------------------------------------------------------------


def two_clumps_and_a_gap():
    rng = np.random.default_rng(0)
    return np.concatenate([rng.random((60, 2)), rng.random((60, 2)) + np.array([8, 0])])


def test_dense_clumps_are_parted_in_the_gap():
    X = two_clumps_and_a_gap()
    model = CLTree(2, min_split=40, min_y=5, min_rd=30, random_state=0).fit(X)
    assert len(set(model.labels_[:60])) == len(set(model.labels_[60:])) == 1
    assert model.labels_[0] != model.labels_[-1]
    assert model.inertia_ == pytest.approx(model.reference_inertia_)


def test_touching_leaves_get_one_label():
    X = np.random.default_rng(0).random((400, 2))
    centers = np.array([[0.25, 0.25], [0.75, 0.25], [0.25, 0.75], [0.75, 0.75]])
    how = {"min_split": 20, "min_y": 5, "min_rd": 60, "reference": centers}
    apart = CLTree(4, **how).fit(X)
    together = CLTree(4, merge_touching=True, **how).fit(X)
    assert together.n_leaves_ == apart.n_leaves_ > 4
    pruned = grown(X, 20, min_y=5).prune(5, 60)
    group = touching([pruned.nodes[leaf] for leaf in pruned.tree.leaves], 60)
    assert 1 < len(set(group)) < len(group)
    of_leaf = dict(zip(pruned.tree.leaves.tolist(), group.tolist(), strict=True))
    of_row = np.array([of_leaf[leaf] for leaf in pruned.tree.apply(X).tolist()])
    costs = ((X[:, None, :] - centers) ** 2).sum(axis=2)
    for one in set(group):
        rows = of_row == one
        assert set(together.labels_[rows]) == {costs[rows].sum(axis=0).argmin()}
    assert together.surrogate_inertia_ > apart.surrogate_inertia_
