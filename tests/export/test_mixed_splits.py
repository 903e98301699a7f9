"""Exports of trees with sets of categories and sides for missing values: all say what predict says.

Growth makes no such trees yet; these are made by hand, or at random.
"""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator

from tests.helpers.databases import DATABASES
from tests.helpers.examples import examples
from tests.helpers.onnx_runs import run
from tests.helpers.other_dialects import DIALECTS, in_duckdb
from tests.helpers.random_trees import (
    MIXED_COLUMNS,
    accepted,
    customers,
    mixed_rows,
    mixed_table,
    mixed_tree,
)
from treemeans import ThresholdTree, export_graphviz, export_onnx, export_sklearn, export_text
from treemeans.columns import Column, plain_columns
from treemeans.export.notebook import tree_html
from treemeans.export.python_code import to_python
from treemeans.export.sql_query import to_sql

pytestmark = pytest.mark.usefixtures("one_thread")

COUNTRIES = Column("country", "codes", categories=("DE", "FR", "it's", "AT"))
NAN = math.nan


@pytest.fixture
def columns():
    return (Column("age", "integer"), COUNTRIES)


@st.composite
def problems(draw, missing=None):
    """(tree, rows that it accepts, rows that it does not)."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    kind = missing or draw(st.sampled_from(["none", "some", "all"]))
    tree = mixed_tree(rng, draw(st.integers(1, 25)), missing=kind)
    X = mixed_rows(rng, 150)
    fine = accepted(tree, X)
    return tree, X, fine


# ---- words ---------------------------------------------------------------------------------------


def test_text(columns):
    class Model(BaseEstimator):
        tree_, columns_ = customers(), columns

        def fit(self, X):
            return self

        def predict(self, X):
            return self.tree_.predict(X)

    assert export_text(Model()).split("\n") == [
        "|-- country in (DE, it's)",
        "|   |-- age <= 40 or missing: cluster 0 (0 rows)",
        "|   |-- age >= 41: cluster 1 (0 rows)",
        "|-- country not in (DE, it's) or missing",
        "|   |-- age is missing: cluster 2 (0 rows)",
        "|   |-- age is not missing: cluster 0 (0 rows)",
    ]
    assert 'label=" in (DE, it\'s) "' in export_graphviz(Model())
    html = tree_html(customers(), columns, export_text(Model()))
    assert "is not missing" in html


def test_codes_without_names_are_written_as_they_are():
    text = export_text(customers(), ["age", "country"])
    assert "country in (0, 2)" in text
    assert "country not in (0, 2) or missing" in text


# ---- SQL -----------------------------------------------------------------------------------------


def test_sql_text(columns):
    rules = to_sql(customers(), columns, "duckdb", form="where", pretty=False)
    assert rules == {
        0: (
            "(\"country\" IN ('DE', 'it''s') AND (\"age\" <= 40.0E0 OR \"age\" IS NULL)) OR "
            "((NOT \"country\" IN ('DE', 'it''s') OR \"country\" IS NULL) AND \"age\" IS NOT NULL)"
        ),
        1: "\"country\" IN ('DE', 'it''s') AND \"age\" > 40.0E0",
        2: "(NOT \"country\" IN ('DE', 'it''s') OR \"country\" IS NULL) AND \"age\" IS NULL",
    }
    case = to_sql(customers(), columns, "duckdb", pretty=False)
    assert "WHEN \"country\" IN ('DE', 'it''s') THEN" in case


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("missing", ["none", "some", "all"])
def test_every_dialect_says_what_predict_says(dialect, missing):
    rng = np.random.default_rng(7)
    tree = mixed_tree(rng, 20, missing=missing)
    X = mixed_rows(rng, 600)
    fine = accepted(tree, X)
    expected = np.full(len(X), -1)
    expected[fine] = tree.predict(X[fine])
    table = pd.DataFrame(mixed_table(X), columns=[column.name for column in MIXED_COLUMNS])
    for column in MIXED_COLUMNS:
        kind = "string" if column.categories else "Float64"
        table[column.name] = table[column.name].astype(kind)
    table.insert(0, "id", range(len(X)))
    found = in_duckdb(to_sql(tree, MIXED_COLUMNS, dialect, "t", null=-1), dialect, table)
    assert found == dict(enumerate(expected.tolist()))
    queries = to_sql(tree, MIXED_COLUMNS, dialect, "t", form="where", null=-1, pretty=False)
    answers = [in_duckdb(sql, dialect, table) for sql in queries.values()]
    assert sum(map(len, answers)) == len(X)
    assert {i: c for answer in answers for i, c in answer.items()} == found


@pytest.fixture(scope="module", params=DATABASES)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def database(name):
    opened = DATABASES[name]()
    yield opened
    opened.close()


@pytest.mark.parametrize("finite", [False, True])
@pytest.mark.parametrize("missing", ["none", "some", "all"])
def test_databases_say_what_predict_says(database, name, missing, finite):
    rng = np.random.default_rng(3)
    tree = mixed_tree(rng, 30, missing=missing)
    X = mixed_rows(rng, 1200)
    fine = accepted(tree, X)
    assert fine.sum() > 100
    expected = dict.fromkeys(range(len(X)))
    expected |= dict(
        zip(np.flatnonzero(fine).tolist(), tree.predict(X[fine]).tolist(), strict=True)
    )
    kinds = {c.name: "text" if c.categories else "double" for c in MIXED_COLUMNS}
    database.create("t", kinds, mixed_table(X))
    case = to_sql(tree, MIXED_COLUMNS, name, "t", finite=finite)
    assert database.answers(case) == expected
    queries = to_sql(tree, MIXED_COLUMNS, name, "t", form="where", finite=finite)
    found = [pair for sql in queries.values() for pair in database.answers(sql).items()]
    assert len(found) == len(dict(found))
    assert dict(found) == {i: cluster for i, cluster in expected.items() if cluster is not None}


def test_sql_of_a_category_without_a_name(columns):
    few = (columns[0], Column("country", "codes", categories=("DE", "FR")))
    with pytest.raises(ValueError, match="asks for category 2 of column 'country'"):
        to_sql(customers(), few, "duckdb")


# ---- Python --------------------------------------------------------------------------------------


def function(source):
    namespace = {}
    exec(source, namespace)
    return namespace["predict"]


def check_python(tree, X, fine, columns, rows):
    predict = function(to_python(tree, columns))
    expected = tree.predict(X[fine]).tolist() if fine.any() else []
    found = []
    for row, is_fine in zip(rows, fine, strict=True):
        given_row = dict(zip([c.name for c in columns], row, strict=True))
        if is_fine:
            found.append(predict(given_row))
        elif tree.accepts_missing:
            with pytest.raises(ValueError, match="The row lacks a value"):
                predict(given_row)
    assert found == expected


@examples(40)
@given(problems())
def test_python(problem):
    tree, X, fine = problem
    check_python(tree, X, fine, MIXED_COLUMNS, mixed_table(X))
    check_python(tree, X, fine, plain_columns(4), X.tolist())


@pytest.mark.parametrize("nothing", [None, NAN, pd.NA, np.float64("nan"), pd.NaT])
def test_python_knows_what_is_missing(nothing, columns):
    predict = function(to_python(customers(), columns))
    assert predict({"country": "DE", "age": nothing}) == 0
    assert predict({"country": nothing, "age": nothing}) == 2
    assert predict({"country": "somewhere else", "age": 3}) == 0
    with pytest.raises(ValueError, match="no finite number in column 'age'"):
        predict({"country": "DE", "age": "forty"})
    with pytest.raises(ValueError, match="no category in column 'country'"):
        predict({"country": 7, "age": 3})


def test_python_dates_may_be_missing():
    tree = ThresholdTree(
        [0, -1, -1], [0.5, NAN, NAN], [1, -1, -1], [2, -1, -1], [0, 0, 1], 1, missing_left=[1, 0, 0]
    )
    predict = function(to_python(tree, (Column("day", "date", "D", typed=True),)))
    days = [pd.Timestamp(1970, 1, 1), pd.Timestamp(1970, 1, 2), pd.NaT, None]
    assert [predict({"day": day}) for day in days] == [0, 1, 0, 0]


# ---- ONNX and scikit-learn -----------------------------------------------------------------------


@examples(40)
@given(problems())
def test_onnx(problem):
    onnx = pytest.importorskip("onnx")
    tree, X, fine = problem
    proto = export_onnx(tree)
    onnx.checker.check_model(proto, full_check=True)
    found = run(proto, X[fine])
    assert found.tolist() == (tree.predict(X[fine]).tolist() if fine.any() else [])


def test_scikit_learn_has_no_sets_of_categories():
    with pytest.raises(ValueError, match="1 of the tree's 3 splits ask for a set of categories"):
        export_sklearn(customers())


@pytest.mark.parametrize("seed", range(5))
def test_scikit_learn_sends_missing_values_where_the_tree_does(seed):
    rng = np.random.default_rng(seed)
    tree = mixed_tree(rng, 12, n_features=1, missing="all")
    X = rng.integers(-4, 5, (200, 1)) / 2
    X[rng.random(200) < 0.3] = NAN
    assert export_sklearn(tree).predict(X).tolist() == tree.predict(X).tolist()
