"""Rules: exactly what predict does, in the fewest conditions, with figures that add up."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tests.helpers.examples import SLOW, examples
from tests.helpers.plain_numpy import random_weights, scaled_pca
from tests.oracles import rules_oracle as oracle
from treemeans import ExKMC, ThresholdTree
from treemeans.columns import Column, plain_columns
from treemeans.columns.dates import dates_as_days
from treemeans.explain import merge_boxes
from treemeans.explain.cluster_rules import describe
from treemeans.explain.leaf_boxes import leaf_boxes
from treemeans.explain.leaf_grid import Grid

pytestmark = pytest.mark.usefixtures("one_thread")
IRIS = load_iris().data


# ---- exactly what predict does -------------------------------------------------------------------


def assert_exact(rules, tree, X):
    found = oracle.clusters_of(rules, X)
    assert found == [{label} for label in tree.predict(X).tolist()]


@st.composite
def trees(draw, most_leaves=60):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return rng, oracle.random_tree(
        rng,
        n_leaves=draw(st.integers(1, most_leaves)),
        n_features=draw(st.integers(1, 6)),
        n_clusters=draw(st.integers(1, 5)),
        levels=draw(st.sampled_from([None, 2, 4, 8])),
    )


@examples(80)
@given(trees())
def test_the_rules_of_a_cluster_are_where_predict_gives_it(problem):
    rng, tree = problem
    rules = describe(oracle.facts_of(tree))
    assert_exact(rules, tree, rng.random((300, tree.n_features)))
    assert_exact(rules, tree, oracle.critical_rows(rng, tree, 300))


@examples(30)
@given(trees())
def test_exact_too_where_the_search_is_cut_short(problem):
    rng, tree = problem
    limits = merge_boxes._STEPS, merge_boxes._FEWEST_STEPS
    merge_boxes._STEPS, merge_boxes._FEWEST_STEPS = 0, 1
    try:
        rules = describe(oracle.facts_of(tree))
    finally:
        merge_boxes._STEPS, merge_boxes._FEWEST_STEPS = limits
    assert_exact(rules, tree, oracle.critical_rows(rng, tree, 300))


@pytest.mark.slow
@pytest.mark.parametrize("n_features", [2, 20])
def test_a_thousand_leaves(n_features):
    rng = np.random.default_rng(0)
    tree = oracle.random_tree(rng, 1000, n_features, 10)
    assert tree.n_leaves == 1000
    assert_exact(describe(oracle.facts_of(tree)), tree, oracle.critical_rows(rng, tree, 500))


def test_fitted_models():
    rng = np.random.default_rng(0)
    wine = load_wine().data
    for model, X in (
        (ExKMC(3, max_leaf_nodes=22, random_state=0).fit(IRIS), IRIS),
        (ExKMC(3, max_leaf_nodes=12, reference=scaled_pca()).fit(wine), wine),
    ):
        assert_exact(model.rules(), model.tree_, X)
        assert_exact(model.rules(), model.tree_, oracle.critical_rows(rng, model.tree_, 1000))


# ---- the fewest ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_leaves", "n_features", "levels", "n_clusters"),
    [(6, 1, 9, 2), (9, 2, 4, 3), (9, 3, 2, 2), (12, 3, 3, 2)],
)
def test_no_cover_of_the_leaves_has_fewer_boxes_or_bounds(n_leaves, n_features, levels, n_clusters):
    for seed in range(50 if SLOW else 20):
        rng = np.random.default_rng(seed)
        tree = oracle.random_tree(rng, n_leaves, n_features, n_clusters, levels)
        grid = Grid(tree, plain_columns(n_features))
        for cluster in set(tree.label[tree.leaves].tolist()):
            own = grid.leaves(set(np.flatnonzero(tree.is_leaf & (tree.label == cluster)).tolist()))
            boxes = merge_boxes.merged(grid, own)
            found = len(boxes), sum(grid.price(box) for box in boxes)
            assert found <= oracle.fewest(tree, cluster)


def full_tree(formula, n_features, *given):
    """Nested for ``tree_from``: every flag is cut, then the formula says the label."""
    if len(given) == n_features:
        return int(formula(*given))
    sides = [full_tree(formula, n_features, *given, flag) for flag in (False, True)]
    return (len(given), *sides)


def flags(names):
    return tuple(Column(name, "flag") for name in names)


def conditions(rules, cluster):
    return sorted(str(rule) for rule in rules[cluster])


def test_a_formula_comes_back_from_its_full_tree():
    tree = oracle.tree_from(full_tree(lambda a, b, c, d, e: (a and b) or (c and not d) or e, 5), 5)
    assert tree.n_leaves == 32
    rules = describe(oracle.facts_of(tree, flags("abcde")))
    assert conditions(rules, 1) == ["a = 1 and b = 1", "c = 1 and d = 0", "e = 1"]
    assert len(rules[0]) == 4  # (not a or not b) and (not c or d) and not e


# "a and b, or c without a": the leaf "b and c" lies wholly in neither, but in their union.
A, B, C = range(3)
UNION = oracle.tree_from((B, (C, 0, (A, 1, 0)), (C, (A, 0, 1), 1)), 3)


def test_a_rule_inside_the_union_of_the_others_is_dropped():
    rules = describe(oracle.facts_of(UNION, flags("abc")))
    assert conditions(rules, 1) == ["a = 0 and c = 1", "a = 1 and b = 1"]


def test_a_row_of_leaves_is_one_interval():
    tree = oracle.random_tree(np.random.default_rng(0), 12, 1, 1)
    assert conditions(describe(oracle.facts_of(tree)), 0) == ["any row"]


def test_the_same_rules_every_time():
    tree = oracle.random_tree(np.random.default_rng(3), 60, 4, 3, levels=5)
    first, second = (describe(oracle.facts_of(tree)).to_dict() for _ in range(2))
    assert first == second


def test_rules_are_counted_before_conditions():
    cheap = {0b0001: 1, 0b0010: 1, 0b0100: 1, 0b1000: 1}
    pairs = {0b0011: 9, 0b1100: 9, 0b0110: 1, 0b1001: 8}
    assert sorted(merge_boxes._fewest(0b1111, cheap | pairs)) == [0b0110, 0b1001]
    assert len(merge_boxes._fewest(0b1111, cheap)) == 4


def test_the_greedy_choice_is_a_cover():
    chosen = merge_boxes._greedily(0b111111, [0b000111, 0b110000, 0b001100, 0b011110])
    assert np.bitwise_or.reduce(chosen) == 0b111111


# ---- categories ----------------------------------------------------------------------------------

COLORS = ["red", "blue", "green", "black", "white"]
SIZES = ["big", "small"]


def one_hot_columns(complete=True):
    """Two sources of categories, of five and two columns, and a number between them."""
    colors = [Column(f"color_{c}", "category", source="color", value=c) for c in COLORS]
    sizes = [Column(f"size_{s}", "category", source="size", value=s) for s in SIZES]
    return tuple(
        replace(column, complete=complete) if column.kind == "category" else column
        for column in (*colors, Column("spend"), *sizes)
    )


def one_hot_rows(rng, n_rows):
    eye, pair = np.eye(5), np.eye(2)
    return np.column_stack(
        [eye[rng.integers(5, size=n_rows)], rng.random(n_rows), pair[rng.integers(2, size=n_rows)]]
    )


def category_tree(rng, n_leaves):
    """Random cuts, at a half on columns of categories; some of them after what decides them."""
    tree = oracle.random_tree(rng, n_leaves, 8, 3)
    threshold = np.where(tree.feature == 5, tree.threshold, 0.5)
    return ThresholdTree(tree.feature, threshold, tree.left, tree.right, tree.label, 8)


def meant(rule, X):
    """For each row, whether it meets the conditions in words."""
    met = np.ones(len(X), dtype=bool)
    for condition in rule.conditions:
        if "spend" in condition:
            met &= oracle.inside({5: rule.box[5]}, X)
        elif condition.startswith("color"):
            named = oracle.categories_meant(condition, "color", COLORS)
            met &= np.isin(np.array(COLORS)[X[:, :5].argmax(axis=1)], list(named))
        else:
            named = oracle.categories_meant(condition, "size", SIZES)
            met &= np.isin(np.array(SIZES)[X[:, 6:].argmax(axis=1)], list(named))
    return met


@examples(80)
@given(st.integers(0, 2**32 - 1), st.integers(2, 40))
def test_exact_where_a_row_is_in_one_category_of_each_source(seed, n_leaves):
    rng = np.random.default_rng(seed)
    tree, X = category_tree(rng, n_leaves), one_hot_rows(rng, 300)
    rules = describe(oracle.facts_of(tree, one_hot_columns()))
    assert_exact(rules, tree, X)
    for each in rules:
        for rule in each:
            assert meant(rule, X).tolist() == oracle.inside(rule.box, X).tolist()


@examples(30)
@given(st.integers(0, 2**32 - 1))
def test_exact_for_any_numbers_where_categories_are_not_complete(seed):
    rng = np.random.default_rng(seed)
    tree = category_tree(rng, 25)
    rules = describe(oracle.facts_of(tree, one_hot_columns(complete=False)))
    assert_exact(rules, tree, rng.random((300, 8)))


RED, BLUE, GREEN, BLACK, WHITE, SPEND = range(6)


def test_what_a_category_rules_out_is_not_said():
    tree = oracle.tree_from((RED, (BLUE, 0, 1), 0), 8)
    rules = describe(oracle.facts_of(tree, one_hot_columns()))
    assert conditions(rules, 0) == ["color != blue"]
    assert conditions(rules, 1) == ["color = blue"]
    plain = describe(oracle.facts_of(tree, one_hot_columns(complete=False)))
    assert conditions(plain, 0) == ["color != blue", "color = red"]  # a row may be both


def test_categories_are_listed_the_shorter_way():
    tree = oracle.tree_from((BLACK, (WHITE, (RED, 2, 1), 0), 0), 8)
    rules = describe(oracle.facts_of(tree, one_hot_columns()))
    found = [conditions(rules, cluster) for cluster in range(3)]
    assert found == [["color in (black, white)"], ["color = red"], ["color in (blue, green)"]]


def test_a_category_is_not_joined_with_others_to_no_avail():
    tree = oracle.tree_from((BLUE, (RED, 1, (SPEND, 1, 0)), 0), 8)
    rules = describe(oracle.facts_of(tree, one_hot_columns()))
    assert conditions(rules, 0) == ["color = blue", "color = red and spend > 0.5"]


def test_a_leaf_no_row_can_come_to_needs_no_rule():
    tree = oracle.tree_from((RED, 0, (BLUE, 1, 2)), 8)
    rules = describe(oracle.facts_of(tree, one_hot_columns()))
    assert [len(each) for each in rules] == [1, 1, 0]
    assert "cluster 2: no rows, and no rule leads to it" in str(rules)


def test_cuts_that_part_no_categories():
    # A column of 0 and 1 cut below 0 and at 1, as a given tree may do.
    parts = [0, 0, -1, -1, -1], [-1.0, 1.0, 0, 0, 0], [2, 3, -1, -1, -1], [1, 4, -1, -1, -1]
    tree = ThresholdTree(*parts, [0, 0, 0, 1, 2], 8)
    rules = describe(oracle.facts_of(tree, one_hot_columns()))
    assert [conditions(rules, cluster) for cluster in range(3)] == [[], ["any row"], []]


def test_a_data_frame_with_dates_categories_and_whole_numbers():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    kind = rng.integers(3, size=600)
    frame = pd.DataFrame(
        {
            "spend": rng.lognormal(kind + 3.0, 0.4).round(2),
            "visits": rng.poisson(3 + 5 * kind),
            "since": pd.Timestamp("2018-01-01") + pd.to_timedelta(rng.integers(900, size=600), "D"),
        }
    )
    shares = np.array([[0.8, 0.1, 0.1, 0, 0], [0.1, 0.1, 0.3, 0.3, 0.2], [0, 0.3, 0.3, 0.3, 0.1]])
    colors = pd.Series([rng.choice(COLORS, p=shares[k]) for k in kind], name="color")
    frame = frame.join(pd.get_dummies(colors, prefix="color", dtype=float))
    reference = make_pipeline(StandardScaler(), KMeans(4, n_init=3, random_state=0))
    model = ExKMC(4, reference=reference, max_leaf_nodes=16, round_thresholds=True).fit(frame)
    X = dates_as_days(frame).to_numpy(dtype=float)
    assert model.predict(frame).tolist() == model.tree_.predict(X).tolist()
    assert_exact(model.rules(), model.tree_, X)
    assert any("color = " in str(rule) for each in model.rules() for rule in each)
    assert "color_" not in str(model.rules())


# ---- figures -------------------------------------------------------------------------------------


def first_rule(each, model):
    """For each training row, the first rule of a cluster that holds the row's leaf."""
    boxes = leaf_boxes(model.tree_)
    leaves = model.apply(IRIS).tolist()
    return np.argmax([[oracle.holds(r.box, boxes[n]) for n in leaves] for r in each], axis=0)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_leaves", [3, 6, 14])
def test_figures_are_those_of_the_rows(weighted, n_leaves):
    weights = random_weights(150) if weighted else np.ones(150)
    model = ExKMC(3, max_leaf_nodes=n_leaves, random_state=0)
    model.fit(IRIS, sample_weight=weights if weighted else None)
    rules = model.rules()
    right = model.reference_labels_ == model.labels_
    for each in rules:
        rows = model.labels_ == each.cluster
        own, hit = weights[rows], right[rows]
        assert each.size == pytest.approx(own.sum())
        assert each.coverage == pytest.approx(own.sum() / weights.sum())
        assert each.purity == pytest.approx(own @ hit / own.sum())
        mean = np.average(IRIS[rows], axis=0, weights=own)
        cost = own @ ((IRIS[rows] - mean) ** 2).sum(axis=1)
        assert each.cost == pytest.approx(cost)
        assert each.cost_share == pytest.approx(cost / model.inertia_)
        first = first_rule(each, model)[rows]
        for i, rule in enumerate(each):
            here = own * (first == i)
            assert rule.size == pytest.approx(here.sum())
            assert rule.coverage == pytest.approx(here.sum() / weights.sum())
            assert rule.purity == pytest.approx(here @ hit / here.sum())
        sizes = [rule.size for rule in each]
        assert sizes == sorted(sizes, reverse=True)
    assert rules.size == pytest.approx(weights.sum())
    assert rules.cost == pytest.approx(model.inertia_)
    assert rules.purity == pytest.approx(weights @ right / weights.sum())


@examples(50)
@given(trees(most_leaves=30))
def test_each_leaf_counts_at_the_first_rule_that_holds_it(problem):
    rng, tree = problem
    tree = replace(tree, weight=rng.integers(0, 9, tree.n_nodes).astype(float))
    boxes = leaf_boxes(tree)
    for each in describe(oracle.facts_of(tree)):
        sizes = np.zeros(len(each))
        for node in np.flatnonzero(tree.is_leaf & (tree.label == each.cluster)).tolist():
            held = [oracle.holds(rule.box, boxes[node]) for rule in each]
            met = [oracle.meets(rule.box, boxes[node]) for rule in each]
            sizes[np.argmax(held if any(held) else met)] += tree.weight[node]
        assert [rule.size for rule in each] == sizes.tolist()
        assert sizes.sum() == each.size


def test_a_leaf_in_no_single_rule_counts_at_the_first_that_meets_it():
    leaf = UNION.is_leaf & (UNION.label == 1)
    tree = replace(UNION, weight=np.where(leaf, [0, 0, 0, 0, 1, 0, 0, 0, 0, 2, 4], 0.0))
    assert [rule.size for rule in describe(oracle.facts_of(tree))[1]] == [6, 1]
