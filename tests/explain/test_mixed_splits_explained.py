"""Rules, explanations and counterfactuals of trees with sets of categories and missing values."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.examples import examples
from tests.helpers.explain_cases import facts_of
from tests.helpers.random_trees import (
    MIXED_COLUMNS,
    N_CODES,
    accepted,
    customers,
    mixed_rows,
    mixed_tree,
)
from treemeans.columns import Column
from treemeans.explain.allowed_changes import AllowedChanges
from treemeans.explain.cluster_rules import describe
from treemeans.explain.column_lookup import ColumnLookup
from treemeans.explain.counterfactual import Counterfactuals
from treemeans.explain.explanation import Explanations
from treemeans.explain.parse_rows import single_row

NAN = math.nan
COLUMNS = (
    Column("age", "integer"),
    Column("country", "codes", categories=("DE", "FR", "IT", "AT")),
)
pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture
def facts():
    return facts_of(customers(), COLUMNS, [10.0, 1.0])


@st.composite
def problems(draw, most_leaves=25):
    """(facts, rows that the tree accepts)."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    missing = draw(st.sampled_from(["none", "some", "all"]))
    tree = mixed_tree(rng, draw(st.integers(1, most_leaves)), missing=missing)
    X = mixed_rows(rng, 80)
    return facts_of(tree, MIXED_COLUMNS, [1.0, 2.0, 0.5, 3.0]), X[accepted(tree, X)]


# ---- rules ---------------------------------------------------------------------------------------


def inside(box, X):
    return np.all([values.holds(X[:, f]) for f, values in box.items()] or [[True] * len(X)], axis=0)


@examples(80)
@given(problems())
def test_the_rules_of_a_cluster_are_where_predict_gives_it(problem):
    facts, X = problem
    label = facts.tree.predict(X)
    for each in describe(facts):
        met = np.zeros(len(X), dtype=bool)
        for rule in each:
            met |= inside(rule.box, X)
        assert met.tolist() == (label == each.cluster).tolist()


def test_rules_in_words(facts):
    said = {each.cluster: [str(rule) for rule in each] for each in describe(facts)}
    assert said == {
        0: [
            "age is not missing and (country not in (DE, IT) or missing)",
            "(age <= 40 or missing) and country in (DE, IT)",
        ],
        1: ["age >= 41 and country in (DE, IT)"],
        2: ["age is missing and (country not in (DE, IT) or missing)"],
    }


def test_rules_as_a_dict(facts):
    (rule,) = describe(facts).to_dict()["clusters"][2]["rules"]
    age = {"feature": 0, "column": "age", "above": None, "upto": None}
    country = {"feature": 1, "column": "country", "above": None, "upto": None}
    assert rule["bounds"] == [
        age | {"missing": True, "only_missing": True},
        country | {"not_codes": [0, 2], "missing": True},
    ]


# ---- explanations --------------------------------------------------------------------------------


@examples(40)
@given(problems())
def test_explanations_follow_the_tree(problem):
    facts, X = problem
    found = Explanations(facts, X)
    assert found.cluster.tolist() == facts.tree.predict(X).tolist()
    for row, one in zip(X[:10], found, strict=False):
        for step in one.steps:
            split = facts.tree.split(step.node)
            has_margin = math.isfinite(split.threshold) and not math.isnan(row[split.feature])
            assert (step.margin is not None) == has_margin
        margins = [step.spreads for step in one.steps if step.spreads is not None]
        assert (one.closest is None) == (not margins)
        assert not margins or one.closest.spreads == min(margins)
        assert str(one)


def test_explanations_in_words(facts):
    rows = np.array([[30.0, 0.0], [NAN, 2.0], [50.0, 99.0], [NAN, NAN]])
    said = [str(one).split("\n")[0] for one in Explanations(facts, rows)]
    assert said == [
        "Cluster 0, because (age <= 40 or missing) and country in (DE, IT).",
        "Cluster 0, because (age <= 40 or missing) and country in (DE, IT).",
        "Cluster 0, because age is not missing and country is none of DE, FR, IT, AT, which was "
        "not seen in training.",
        "Cluster 2, because age is missing and (country not in (DE, IT) or missing).",
    ]
    first = Explanations(facts, rows)[0]
    assert str(first.steps[0]) == "country in (DE, IT): the row has DE"
    assert [step.shown for step in Explanations(facts, rows)[3].steps] == ["missing", "missing"]


# ---- counterfactuals -----------------------------------------------------------------------------


def changes_of(tree, row):
    """What each value of a row may become, the present first: all that no split tells apart."""
    options = []
    for feature, x in enumerate(row):
        others = [float(code) for code in range(N_CODES)]
        if feature % 2 == 0:
            cuts = tree.threshold[(tree.feature == feature) & np.isfinite(tree.threshold)]
            others = [*cuts.tolist(), *np.nextafter(cuts, np.inf).tolist()]
        options.append([x] if math.isnan(x) else [x, *(other for other in others if other != x)])
    return options


def fewest_changes(tree, row, to):
    """The fewest values that must change for a cluster, by trying all; None if there is no way."""
    options = changes_of(tree, row)
    rows = np.array(list(itertools.product(*options)))
    changed = np.array(list(itertools.product(*(range(len(each)) for each in options)))) > 0
    fine = accepted(tree, rows)
    there = tree.predict(rows[fine]) == to
    return int(changed[fine][there].sum(axis=1).min()) if there.any() else None


@examples(30)
@given(problems(most_leaves=6), st.integers(0, 4))
def test_counterfactuals_lead_to_the_cluster_by_the_fewest_changes(problem, to):
    facts, X = problem
    X = X[:4]
    found = Counterfactuals(facts, X, to, AllowedChanges.of(ColumnLookup(facts.columns)))
    for row, one in zip(X, found, strict=True):
        fewest = fewest_changes(facts.tree, row, to)
        assert one.possible == (fewest is not None)
        assert str(one)
        if one.possible:
            assert facts.tree.predict(one.row[None, :]).tolist() == [to]
            assert one.n_changed == fewest
            assert (np.isnan(one.row) == np.isnan(row)).all()
            assert math.isfinite(one.distance)
            assert (one.distance == 0) == (fewest == 0)


def test_counterfactuals_in_words(facts):
    def changed(row, **limits):
        allowed_changes = AllowedChanges.of(ColumnLookup(COLUMNS), **limits)
        return str(Counterfactuals(facts, np.array([row]), 1, allowed_changes)[0])

    assert changed([50.0, 1.0]) == "To be in cluster 1: change country from FR to DE."
    assert changed([50.0, 99.0]) == "To be in cluster 1: change country from 99 to DE."
    assert changed([30.0, 0.0]) == "To be in cluster 1: raise age from 30 to 41."
    assert changed([NAN, 0.0]) == "No leaf of cluster 1 can be reached."
    said = "No leaf of cluster 1 can be reached without changing country."
    assert changed([50.0, 1.0], frozen=["country"]) == said
    with pytest.raises(ValueError, match="bounds is for columns of numbers, but 'country' has"):
        changed([50.0, 1.0], bounds={"country": (0, 1)})


def test_a_change_of_category_is_one_standard_deviation(facts):
    allowed_changes = AllowedChanges.of(ColumnLookup(COLUMNS))
    one = Counterfactuals(facts, np.array([[50.0, 3.0]]), 1, allowed_changes)[0]
    assert (one.distance, one.changes) == (1.0, {"country": ("AT", "DE")})


# ---- rows as they are given ----------------------------------------------------------------------


@pytest.mark.parametrize("nothing", [None, NAN])
def test_rows_may_name_categories_and_lack_values(nothing):
    lookup = ColumnLookup(COLUMNS, accepts_missing=True)
    row = single_row({"age": nothing, "country": "IT"}, lookup)[0]
    assert np.isnan(row[0])
    assert row[1] == 2.0
    assert single_row({"age": 3, "country": "somewhere"}, lookup).tolist() == [[3.0, -1.0]]
    with pytest.raises(ValueError, match="There is no value for age"):
        single_row({"age": nothing, "country": "IT"}, ColumnLookup(COLUMNS))
