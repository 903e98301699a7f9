"""CUBT: the specification's examples, its oracle, and what it promises."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from tests.helpers.plain_numpy import column
from tests.oracles import cubt_oracle as oracle
from treemeans.baselines import CUBT
from treemeans.baselines.cubt_growth import MINDEV_RULES, Group, Growth, best_cut, overgrow
from treemeans.baselines.cubt_pruning import JOINS, Pruner, distance_to, join, nearest_mean
from treemeans.baselines.sorted_columns import SortedColumns

pytestmark = pytest.mark.usefixtures("one_thread")


def grown(X, weights=None, **how):
    weights = np.ones(len(X)) if weights is None else weights
    usual = {"minsize": 1, "mindev": 0.0, "minsplit": 2, "max_depth": None}
    return overgrow(X, weights, **(usual | how))


def cut_of(X, minsize=1):
    weights = np.ones(len(X))
    columns = SortedColumns.of(X, weights)
    group = Group.of(X, weights, columns.rows, len(X))
    return group, best_cut(X, columns, group, minsize, len(X))


# ---- the specification's examples ----------------------------------------------------------------

PAIRS = column(0, 1, 10, 11)


def test_the_gains_of_two_pairs():
    group, cut = cut_of(PAIRS)
    assert group.deviance == 25.25
    gains = [gain for gain, *_ in oracle.cuts(PAIRS, np.arange(4), 1)]
    assert gains == pytest.approx([10 + 1 / 12, 25, 10 + 1 / 12])
    assert (cut.feature, cut.threshold, cut.gain) == (0, 5.5, pytest.approx(25))
    assert [threshold for *_, threshold in oracle.cuts(PAIRS, np.arange(4), 2)] == [5.5]
    assert cut_of(PAIRS, minsize=2)[1].threshold == 5.5
    assert cut_of(PAIRS, minsize=3)[1] is None
    tree = grown(PAIRS, minsize=2)
    assert [group.deviance for group in tree.groups] == [25.25, 0.125, 0.125]


@pytest.mark.parametrize(
    ("rule", "mindev", "n_leaves"),
    [
        ("root", 0.99, 2),
        ("root", 0.995, 1),
        ("node", 0.995, 2),
        ("node", 0.004, 4),  # 0.125 is 0.00495 of 25.25
        ("first", 0.99, 2),
        ("first", 1.0, 1),
        ("first", 0.004, 4),  # each further cut gains 0.005 of 25
    ],
)
def test_mindev_and_its_rules(rule, mindev, n_leaves):
    tree = grown(PAIRS, mindev=mindev, mindev_rule=rule)
    assert tree.draft.n_nodes == 2 * n_leaves - 1


@pytest.mark.parametrize(("alpha", "expected"), [(0.5, 2), (0.2, 2), (1, 4)])
def test_dissimilarity_of_two_pairs(alpha, expected):
    X = column(0, 1, 3, 7)
    a = distance_to(X, np.array([0, 1]), np.array([2, 3]))
    b = distance_to(X, np.array([2, 3]), np.array([0, 1]))
    assert sorted(a) == [2, 3]
    assert sorted(b) == [2, 6]
    ones = np.ones(2)
    assert max(nearest_mean(a, ones, alpha), nearest_mean(b, ones, alpha)) == expected
    tree = grown(X, minsize=2)
    assert tree.draft.n_nodes == 3
    for mindist, n_leaves in ((expected - 0.01, 2), (expected, 1)):
        assert len(Pruner(tree).prune(mindist, alpha, None).leaves) == n_leaves


@pytest.mark.parametrize(
    ("how", "expected"),
    [("deviance", [0.3, 20, 9 + 19 / 30]), ("ratio", [0.75, 0.9901, 0.9897])],
)
def test_what_joining_costs(how, expected):
    X = column(0, 1, 2, 10, 11)
    growth = Growth(X, np.ones(5))
    groups = [Group.of(X, np.ones(5), np.array(rows), 5.0) for rows in ([0, 1], [2], [3, 4])]
    measure = JOINS[how](growth, groups, 0.2)
    found = [measure.between(0, 1), measure.between(0, 2), measure.between(1, 2)]
    assert found == pytest.approx(expected, abs=5e-5)
    assert join(growth, groups, 2, how, 0.2) == [0, 0, 1]


# ---- the oracle ----------------------------------------------------------------------------------


def table(rng, n, d):
    """Rows on a coarse or fine grid, in clumps: many ties, or none."""
    X = rng.normal(size=(n, d)) + 3 * rng.integers(0, 3, size=(n, d))
    return np.round(X * rng.choice([1, 4, 100]))


def some_case(seed):
    """A table, and settings of all three stages that leave trees of some size."""
    rng = np.random.default_rng(seed)
    X = table(rng, int(rng.integers(8, 40)), int(rng.integers(1, 4)))
    grow = {
        "minsize": int(rng.integers(1, 4)),
        "mindev": float(rng.choice([0.0, 0.001, 0.01, 0.05])),
        "minsplit": int(rng.integers(2, 6)),
        "max_depth": [None, 2, 3, 5][rng.integers(4)],
        "mindev_rule": MINDEV_RULES[rng.integers(3)],
    }
    scale = np.ptp(X, axis=0).max() / 8
    mindist, alpha = rng.choice([0.0, 0.3, 1.0]) * scale, rng.choice([0.0, 0.3, 0.5, 1.0])
    prune = float(mindist), float(alpha), [None, 2, 4, 7][rng.integers(4)]
    return X, grow, prune, list(JOINS)[seed % 3], int(rng.integers(1, 5))


def told(tree, X):
    leaf_of_row = tree.apply(X)

    def tell(node):
        if tree.feature[node] < 0:
            return tuple(np.flatnonzero(leaf_of_row == node).tolist())
        below = (tell(tree.left[node]), tell(tree.right[node]))
        return (int(tree.feature[node]), float(tree.threshold[node]), *below)

    return tell(0)


@pytest.mark.parametrize("seed", range(90))
def test_all_stages_are_the_oracles(seed):
    X, how, (mindist, alpha, nleaves), join_by, k = some_case(seed)
    nodes = oracle.grow(X, *how.values())
    growth = grown(X, **how)
    full, _ = growth.draft.finish(X.shape[1], lambda node: True)
    assert told(full, X) == oracle.told(nodes[0])

    oracle.prune(X, nodes, mindist, alpha, nleaves)
    pruned = Pruner(growth).prune(mindist, alpha, nleaves)
    assert told(pruned.tree, X) == oracle.told(nodes[0])

    rows = [leaf.rows for leaf in pruned.leaves]
    groups = np.array(join(growth, pruned.leaves, k, join_by, alpha))
    assert len(set(groups)) == min(k, len(rows))
    found = [np.concatenate([rows[at] for at in np.flatnonzero(groups == g)]) for g in set(groups)]
    expected = oracle.join(X, rows, k, join_by, alpha)
    assert as_sets(found) == as_sets(expected)


def as_sets(groups):
    return {frozenset(group.tolist()) for group in groups}


def test_the_cases_for_the_oracle_are_of_all_sizes():
    joined = 0
    for seed in range(90):
        X, how, prune, _, k = some_case(seed)
        growth = grown(X, **how)
        joined += 1 < k < len(Pruner(growth).prune(*prune).leaves) - 1
    assert joined > 20


@pytest.mark.parametrize("seed", range(20))
def test_a_weight_is_a_number_of_copies(seed):
    X, how, prune, join_by, k = some_case(seed)
    weights = np.random.default_rng(seed).integers(0, 4, len(X)).astype(float)
    copies = np.repeat(X, weights.astype(int), axis=0)
    one, other = grown(X, weights, **how), grown(copies, **how)
    pruned = [Pruner(tree).prune(*prune) for tree in (one, other)]
    assert pruned[0].tree == pruned[1].tree
    groups = [
        join(tree, p.leaves, k, join_by, prune[1])
        for tree, p in zip((one, other), pruned, strict=True)
    ]
    assert groups[0] == groups[1]


# ---- properties ----------------------------------------------------------------------------------


def clumps(n=300, d=4, k=5, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) + 6 * rng.normal(size=(k, d))[rng.integers(k, size=n)]


def test_gains_are_what_the_deviance_drops_by():
    X = clumps()
    growth = grown(X, minsize=3, max_depth=5)
    leaves = [n for n in range(growth.draft.n_nodes) if growth.draft.is_leaf(n)]
    assert len(leaves) > 10
    for node in range(growth.draft.n_nodes):
        group = growth.groups[node]
        assert group.deviance == pytest.approx(oracle.deviance(X, group.rows, len(X)))
        assert len(group.rows) >= 3
    rows = np.concatenate([growth.groups[leaf].rows for leaf in leaves])
    assert sorted(rows) == list(range(len(X)))


def test_blocks_of_sums_do_not_show(monkeypatch):
    X = clumps(n=500)
    whole = grown(X, max_depth=6)
    monkeypatch.setattr("treemeans.baselines.cubt_growth._BLOCK", 4 * 7)
    assert grown(X, max_depth=6).draft == whole.draft


def test_a_pruner_can_be_used_again():
    X = clumps()
    growth = grown(X, minsize=5)
    pruner = Pruner(growth)
    for mindist, alpha, nleaves in ((0.5, 0.2, None), (0.5, 1.0, None), (0.0, 0.2, 6)):
        again = pruner.prune(mindist, alpha, nleaves)
        assert again.tree == Pruner(growth).prune(mindist, alpha, nleaves).tree
        assert nleaves is None or again.tree.n_leaves == nleaves


def test_an_offset_does_not_matter():
    X = np.round(clumps() * 64) / 64
    trees = [CUBT(5, max_leaf_nodes=8, random_state=0).fit(x) for x in (X, X + 2.0**20)]
    assert trees[0].n_leaves_ == 8
    assert trees[0].labels_.tolist() == trees[1].labels_.tolist()


def test_clumps_are_found_and_leaves_joined():
    corners = np.array([[0.0, 0.0], [0.0, 20.0], [20.0, 0.0]])
    X = np.concatenate([c + np.random.default_rng(0).random((40, 2)) for c in corners])
    for how in JOINS:
        model = CUBT(3, mindist=0.0, mindev=0.0, minsize=5, join=how, random_state=0).fit(X)
        assert model.n_leaves_ > 3
        assert model.inertia_ == pytest.approx(model.reference_inertia_)
        assert model.labels_.tolist() == model.reference_labels_.tolist()


def test_clusters_are_groups_and_not_the_cheapest_centers():
    X = np.concatenate([np.linspace(0, 1, 20), np.linspace(10, 11, 20)])[:, None]
    model = CUBT(3, mindist=0.0, mindev=0.0, minsize=10, reference=column(0.5, 10.5, 100.0))
    with pytest.warns(ConvergenceWarning, match="2 of the 3 reference centers"):
        model.fit(X)
    # No row is near the last center, yet it names a group, and the group has its own mean.
    assert sorted(set(model.labels_.tolist())) == [0, 1, 2]
    assert model.cluster_centers_.max() < 11
    assert model.inertia_ < model.reference_inertia_ < model.surrogate_inertia_
