"""Why a row is in its cluster, against a plain walk; and the ways to give a row."""

import json
import math
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from tests.helpers.examples import examples
from tests.helpers.explain_cases import cases, facts_of, fitted_customers, tree_of
from tests.oracles import explain_oracle as oracle
from treemeans import Column, ExKMC, ThresholdTree
from treemeans.explain.column_lookup import ColumnLookup
from treemeans.explain.explanation import Explanations
from treemeans.explain.parse_rows import number_of, single_row

IRIS = load_iris().data
NAMES = ["sepal length", "sepal width", "petal length", "petal width"]
pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def plain():
    return ExKMC(3, max_leaf_nodes=12, random_state=0).fit(IRIS)


@pytest.fixture(scope="module")
def iris(plain):
    return plain.with_columns(names=NAMES, units={"petal length": "cm"})


@pytest.fixture(scope="module")
def customers():
    return fitted_customers()


# ---- what is said --------------------------------------------------------------------------------


def walk(tree, x):
    """The cuts on the way of a row, and the leaf."""
    node, passed = 0, []
    while tree.feature[node] >= 0:
        passed.append(node)
        left = x[tree.feature[node]] <= tree.threshold[node]
        node = int(tree.left[node] if left else tree.right[node])
    return passed, node


@examples(150)
@given(cases(limited=False))
def test_path_margins_and_runner_up(case):
    facts, limits, _, rows = case
    tree, scale = facts.tree, facts.scale
    found = Explanations(facts, rows)
    for i, x in enumerate(rows):
        passed, leaf = walk(tree, x)
        one = found[i]
        assert [step.node for step in one.steps] == passed
        assert (one.leaf, one.cluster) == (leaf, tree.label[leaf])
        for step in one.steps:
            feature = tree.feature[step.node]
            assert step.value == x[feature]
            assert step.margin == abs(x[feature] - tree.threshold[step.node])
            assert step.spreads == pytest.approx(step.margin / scale[feature])
        if passed:
            least = min(step.spreads for step in one.steps)
            assert one.closest == next(step for step in one.steps if step.spreads == least)
            assert (found.margin[i], found.spreads[i]) == (one.closest.margin, one.closest.spreads)
        distance, clusters = oracle.nearest_other(tree, facts.columns, scale, limits, x)
        assert found.distance[i] == pytest.approx(distance, rel=1e-9, abs=1e-9)
        if math.isfinite(distance):
            assert one.runner_up in clusters
        else:
            assert (found.runner_up[i], one.runner_up, one.distance) == (-1, None, None)
        json.dumps(one.to_dict(), allow_nan=False)
        assert str(one)


def test_the_runner_up_is_where_a_counterfactual_leads(iris):
    why = iris.explain(IRIS)
    change = iris.counterfactual(IRIS)
    assert np.array_equal(why.runner_up, change.to)
    assert (change.distance >= why.distance - 1e-12).all()


def explained(tree, columns, x, spread):
    return Explanations(facts_of(tree, columns, spread), np.array([x], dtype=float))[0]


def test_a_column_cut_twice_is_one_reason_and_two_steps():
    columns = [Column("petal length", unit="cm"), Column("petal width")]
    tree = ThresholdTree(
        [0, -1, 0, 1, -1, -1, -1],
        [2.45, 0, 5.15, 1.75, 0, 0, 0],
        [1, -1, 3, 5, -1, -1, -1],
        [2, -1, 4, 6, -1, -1, -1],
        [0, 0, 1, 1, 2, 1, 2],
        2,
    )
    one = explained(tree, columns, [5.1, 0.2], [1.76, 0.76])
    assert one.because == ("2.45 cm < petal length <= 5.15 cm", "petal width <= 1.75")
    assert [step.condition for step in one.steps] == [
        "petal length > 2.45 cm",
        "petal length <= 5.15 cm",
        "petal width <= 1.75",
    ]
    assert str(one) == (
        "Cluster 1, because 2.45 cm < petal length <= 5.15 cm and petal width <= 1.75.\n"
        "The closest call was petal length <= 5.15 cm: the row has 5.1 cm, a margin of 0.05 cm "
        "(0.028 standard deviations).\n"
        "The nearest other cluster is 2, a change of 0.028 standard deviations away."
    )


@pytest.mark.parametrize(
    ("column", "threshold", "x", "sentence"),
    [
        (Column("n", "integer"), 2.5, 2, "n <= 2: the row has 2, a margin of 0.5 (0.5 st"),
        (Column("n", unit="EUR"), 2.5, 3.5, "n > 2.5 EUR: the row has 3.5 EUR, a margin of 1 EUR "),
        (Column("m", "flag"), 0.5, 1, "m = 1, a margin of 0.5 standard deviations"),
        (
            Column("t", "date", "D"),
            18262.5,
            18000,
            "has 2019-04-14, a margin of 262.5 days (260 st",
        ),
        (Column("t", "time", "h"), 8.5, 9, "has 1970-01-01 09:00, a margin of 30 minutes (0.5"),
        (Column("t", "time", "s"), 8.5, 9, "has 1970-01-01 00:00:09, a margin of 0.5 seconds (0.5"),
        (Column("t", "time", "D"), 8.5, 9.25, "has 1970-01-10 06:00, a margin of 18 hours (0.75"),
        (Column("n"), 0.5, 0.49999999999999, "n <= 0.5: the row has 0.5, a margin of 9.9"),
    ],
)
def test_margins_in_words(column, threshold, x, sentence):
    text = str(explained(tree_of((0, threshold)), [column], [x], [1.0]))
    assert sentence in text


def test_a_tree_without_cuts():
    tree = ThresholdTree([-1], [0.0], [-1], [-1], [0], 1)
    one = explained(tree, [Column("a")], [1.0], [1.0])
    assert (one.steps, one.because, one.closest) == ((), (), None)
    assert str(one) == "Cluster 0, as every row: the tree has no split."
    frame = Explanations(facts_of(tree, [Column("a")], [1.0]), np.ones((2, 1))).to_frame()
    assert frame.closest.tolist() == ["", ""]
    assert frame.why.tolist() == ["", ""]


def test_a_tree_of_one_cluster():
    tree = ThresholdTree([0, -1, -1], [1.0, 0, 0], [1, -1, -1], [2, -1, -1], [0, 0, 0], 1)
    one = explained(tree, [Column("a")], [1.0], [1.0])
    assert str(one).endswith("\nNo other cluster can be reached.")


def test_many_rows(iris):
    many = iris.explain(IRIS)
    assert len(many) == len(list(many)) == 150
    assert np.array_equal(many.cluster, iris.labels_)
    assert np.array_equal(many.leaf, iris.apply(IRIS))
    assert many[-1] == many[149] == iris.explain(IRIS[149])
    assert many[2:4] == [many[2], many[3]]
    assert repr(many) == "Explanations of 150 rows"
    assert str(many).startswith(f"{many[0]}\n\n{many[1]}\n\n")
    assert str(many).endswith("\n\n... and 130 more")
    with pytest.raises(IndexError):
        many[150]


def test_rows_are_answered_alike_in_many_blocks(iris, monkeypatch):
    whole = iris.explain(IRIS)
    monkeypatch.setattr("treemeans.explain.leaf_distances._AT_ONCE", 1)
    assert list(iris.explain(IRIS)) == list(whole)


def test_frames(iris):
    many = iris.explain(IRIS)
    frame = many.to_frame()
    assert frame.columns.tolist() == [
        "cluster", "leaf", "why", "runner_up", "distance", "closest", "margin", "spreads",
    ]  # fmt: skip
    for row, one in zip(frame.itertuples(), many, strict=True):
        assert (row.cluster, row.leaf, row.why) == (one.cluster, one.leaf, one.why)
        assert (row.runner_up, row.distance) == (one.runner_up, one.distance)
        assert (row.closest, row.margin) == (one.closest.column, one.closest.margin)
        assert row.spreads == one.closest.spreads
    assert many.to_frame("polars").equals(pl.from_pandas(frame))


def test_not_fitted():
    for method in ("explain", "counterfactual"):
        with pytest.raises(NotFittedError):
            getattr(ExKMC(3), method)(IRIS)


# ---- the ways to give a row ----------------------------------------------------------------------


def test_one_row_of_numbers(iris):
    wanted = iris.explain(IRIS)[60]
    row = IRIS[60]
    for given_as in (
        row,
        row.tolist(),
        tuple(row),
        pl.Series(row),
        pd.Series(row),
        pd.Series(row, index=NAMES),
        pd.Series(row, index=NAMES).iloc[::-1],
        dict(zip(NAMES, row, strict=True)),
        {0: row[0], 1: row[1], np.int64(2): row[2], "petal width": row[3]},
        [Decimal(str(value)) for value in row],
        sparse.csr_matrix(row),
        sparse.csr_array(row[None, :]),
        sparse.coo_array(row),
    ):
        assert iris.explain(given_as) == wanted, given_as


def test_tables(iris, plain):
    wanted = list(iris.explain(IRIS[:3]))
    dicts = [dict(zip(NAMES, row, strict=True)) for row in IRIS[:3]]
    for table in (IRIS[:3].tolist(), sparse.csr_matrix(IRIS[:3]), dicts, IRIS[:3].astype("f4")):
        found = iris.explain(table)
        assert [one.leaf for one in found] == [one.leaf for one in wanted]
    assert list(iris.explain(IRIS[:1])) == wanted[:1]  # an array of one row is a table
    named = ExKMC(3, random_state=0).fit(pd.DataFrame(IRIS, columns=NAMES))
    frame = pd.DataFrame(IRIS[:3], columns=NAMES)
    assert list(named.explain(frame)) == list(named.explain(pl.from_pandas(frame)))
    assert list(named.explain(frame.to_dict("records"))) == list(named.explain(frame))
    assert named.explain(frame.head(1)) == named.explain(frame.iloc[0]) == named.explain(frame)[0]
    assert (
        plain.explain(IRIS[0]).because
        == plain.explain({f"x{i}": IRIS[0, i] for i in range(4)}).because
    )


def test_a_row_of_every_kind_of_column(customers):
    model, table = customers
    wanted = model.explain(table)[9]
    row = table.iloc[9]
    as_dict = row.to_dict()
    by_category = {k: v for k, v in as_dict.items() if not k.startswith("color")}
    by_category["color"] = "red" if row.color_red else "blue"
    polars = pl.from_pandas(table)
    for given_as in (
        row,
        as_dict,
        by_category,
        table.iloc[[9]],
        polars[9],
        polars.row(9, named=True),
        list(polars.row(9)),
        as_dict | {"since": row.since.date(), "seen": row.seen.to_pydatetime()},
        as_dict | {"since": str(row.since.date()), "seen": row.seen.isoformat()},
        as_dict | {"since": row.since.to_datetime64()},
        as_dict | {"seen": row.seen.tz_localize("UTC").tz_convert("Asia/Tokyo")},
        as_dict | {"seen": row.seen.to_pydatetime().replace(tzinfo=UTC)},
        as_dict | {"member": bool(row.member)},
    ):
        assert model.explain(given_as) == wanted, given_as


def test_dates_are_in_utc():
    columns = [Column("t", "time", "h")]
    tree = tree_of((0, 2.5))
    east = datetime(1970, 1, 1, 5, tzinfo=timezone(timedelta(hours=3)))
    assert number_of(east, columns[0]) == 2.0
    assert number_of(date(1970, 1, 2), columns[0]) == 24.0
    assert explained(tree, columns, [2.0], [1.0]).cluster == 0


def test_a_category_that_has_no_column():
    some = tuple(Column(f"c_{v}", "category", "", "c", v) for v in "ab")
    assert single_row({"c": "other"}, ColumnLookup(some)).tolist() == [[0, 0]]
    every = tuple(Column(f"c_{v}", "category", "", "c", v, True) for v in "ab")
    with pytest.raises(ValueError, match="c must be a or b; got 'other'"):
        single_row({"c": "other"}, ColumnLookup(every))


def plans(*values):
    return [Column(f"plan={v}", "category", "", "plan", v, True) for v in values]


@pytest.mark.parametrize("as_matrix", [np.array, sparse.csr_array], ids=["dense", "sparse"])
def test_an_unseen_category_is_said_to_be_unseen(as_matrix):
    columns = [*plans("basic", "pro"), Column("age")]
    facts = facts_of(tree_of((2, 20.0), (0, 0.5), n_features=3), columns, [1.0, 1.0, 1.0])
    rows = [[0, 1, 30], [0, 0, 30], [1, 0, 30], [0, 0, 10]]
    many = Explanations(facts, as_matrix(np.array(rows, dtype=float)))
    assert many[0].because == ("plan = pro", "age > 20")
    assert many[2].because == ("plan = basic", "age > 20")
    assert many[3].because == ("age <= 20",)  # the plan plays no part
    unseen = many[1]
    assert unseen.why == "age > 20 and plan is none of basic, pro, which was not seen in training"
    assert [step.condition for step in unseen.steps] == ["age > 20", "plan != basic"]
    named = many.with_unseen_values({"plan": {1: "enterprise"}})
    said = 'plan is "enterprise", which was not seen in training; treated as none of basic, pro'
    assert named[1].because == ("age > 20", said)
    assert named.to_frame()["why"].tolist() == [row.why for row in named]
    assert [row.why for row in named][::2] == [row.why for row in many][::2]


def test_an_unseen_category_of_many():
    columns = plans(*"abcdefghij")
    facts = facts_of(tree_of((3, 0.5), n_features=10), columns, np.ones(10))
    why = Explanations(facts, np.zeros((1, 10)))[0].why
    assert (
        why == "plan is none of a, b, c, d, e, f, g, h and 2 more, which was not seen in training"
    )


def test_a_source_with_rows_of_no_category_has_nothing_unseen():
    columns = [replace(column, complete=False) for column in plans("basic", "pro")]
    facts = facts_of(tree_of((0, 0.5), n_features=2), columns, [1.0, 1.0])
    assert Explanations(facts, np.zeros((1, 2)))[0].because == ("plan != basic",)


GOOD = dict(zip(NAMES, [5.1, 3.5, 1.4, 0.2], strict=True))
BAD = {
    "too few": ([1, 2, 3], r"A row needs a value for each of 4 columns; got \[1, 2, 3\]"),
    "a number": (5.0, "A row needs a value for each of 4 columns; got 5.0"),
    "text": ("5,4,3,2", "A row needs a value for each of 4 columns; got '5,4,3,2'"),
    "nothing": (None, "A row needs a value for each of 4 columns; got None"),
    "a missing name": ({"petal width": 1}, "no value for sepal length, sepal width and petal len"),
    "an unknown name": (GOOD | {"hat": 1}, "The row names 'hat', which is not a column"),
    "both": (
        {"hat": 1} | dict.fromkeys(NAMES[:3], 1),
        "The row has no value for petal width and names 'hat', which is not a column",
    ),
    "an unknown number": (GOOD | {4: 1}, "names 4, which is not a column"),
    "NaN": ([1, np.nan, 3, 4], "There is no value for sepal width: nan"),
    "infinity": ([1, np.inf, 3, 4], "The row has no number for sepal width: inf"),
    "None": (GOOD | {"sepal width": None}, "There is no value for sepal width: None"),
    "NA": (GOOD | {"sepal width": pd.NA}, "There is no value for sepal width: <NA>"),
    "NaT": (GOOD | {"sepal width": pd.NaT}, "There is no value for sepal width: NaT"),
    "a word": (GOOD | {"sepal width": "wide"}, "sepal width must be a number; got 'wide'"),
    "a date": (GOOD | {"sepal width": date(2020, 1, 1)}, "sepal width must be a number; got"),
    "NaN in a table": ([[1, 2, 3, 4], [1, 2, np.nan, 4]], "Row 1 has no number for petal length"),
    "NaN in a sparse table": (
        sparse.csr_array([[1, 2, 3, 4], [0, 2, 3, np.nan]]),
        "Row 1 has no number for petal width: nan",
    ),
    "a dict in a list": ([GOOD, {"petal width": 1}], "The row has no value for sepal length"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_rows_get_one_sentence(iris, what):
    rows, sentence = BAD[what]
    for method in (iris.explain, iris.counterfactual):
        with pytest.raises(ValueError, match=sentence) as refusal:
            method(rows)
        assert str(refusal.value).endswith(".")
        assert "\n" not in str(refusal.value)


def test_a_date_that_is_none(customers):
    model, table = customers
    with pytest.raises(ValueError, match="since must be a date; got 'yesterday'"):
        model.explain(table.iloc[0].to_dict() | {"since": "yesterday"})
    gap = table.copy()
    gap.loc[3, "since"] = pd.NaT
    with pytest.raises(ValueError, match="Row 3 has no number for since: nan"):
        model.explain(gap)


def test_other_columns_are_refused_as_in_predict(customers, iris):
    model, table = customers
    with pytest.raises(ValueError, match="has no column 'spend', which the model needs"):
        model.explain(table.rename(columns={"spend": "cost"}))
    with pytest.raises(ValueError, match="is expecting 4 features"):
        iris.explain(np.ones((3, 5)))
