"""The exported function gives what ``predict`` gives, and needs nothing."""

import ast
import math
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris

from tests.helpers.examples import examples
from tests.helpers.sql_cases import (
    HARD_NUMBERS,
    HOSTILE_NAMES,
    chain_tree,
    random_rows,
    random_tree,
    stump,
)
from treemeans import ExKMC
from treemeans.columns import Column, plain_columns
from treemeans.columns.dates import from_count
from treemeans.export.python_code import to_python


def function(source, name="predict"):
    """The function, from a namespace that has nothing but it."""
    namespace = {}
    exec(compile(source, "exported", "exec", dont_inherit=True), namespace)
    assert set(namespace) == {"__builtins__", name}
    return namespace[name]


def check(tree, columns, X):
    predict = function(to_python(tree, columns))
    names = [column.name for column in columns]
    found = [predict(dict(zip(names, row, strict=True))) for row in X.tolist()]
    assert found == tree.predict(X).tolist()


@examples(30)
@given(st.integers(0, 2**32), st.integers(1, 40))
def test_random_trees(seed, n_leaves):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, n_leaves, 3, 4, [*HARD_NUMBERS, *rng.normal(size=20)])
    X = random_rows(rng, 200, tree) if n_leaves > 1 else rng.normal(size=(20, 3))
    check(tree, plain_columns(3), X)


@pytest.mark.parametrize("side", ["left", "right", "both"])
def test_deeper_than_python_indents(side):
    tree = chain_tree(3000, side)
    check(tree, plain_columns(1), random_rows(np.random.default_rng(0), 300, tree))


def test_names_are_data():
    rng = np.random.default_rng(0)
    names = [*HOSTILE_NAMES, '"""', "'''", "\\N{BULLET}", "\u202eright to left", "{row}", "a\\"]
    tree = random_tree(rng, 3 * len(names), len(names), 3, [0.5, -1.25])
    source = to_python(tree, plain_columns(len(names), names))
    found = {n.value for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Constant)}
    assert set(names) <= found
    assert "\u202e" not in source
    check(tree, plain_columns(len(names), names), random_rows(rng, 200, tree))


def test_the_source_is_one_function_of_builtins():
    source = to_python(stump(0.5), plain_columns(1))
    (statement,) = ast.parse(source).body
    assert isinstance(statement, ast.FunctionDef)
    assert not any(isinstance(node, ast.Import | ast.ImportFrom) for node in ast.walk(statement))


def test_the_docstring_has_the_sizes():
    model = ExKMC(3, max_leaf_nodes=3, random_state=0).fit(load_iris().data)
    words = function(model.to_python("of_flower"), "of_flower").__doc__
    for cluster, size in enumerate(np.bincount(model.labels_)):
        assert f"cluster {cluster}: {size} rows" in words


@pytest.mark.parametrize("value", [1, True, np.float32(0.75), np.int64(1), Decimal("0.75"), "0.75"])
def test_any_number_will_do(value):
    predict = function(to_python(stump(0.5), plain_columns(1)))
    assert predict({"x0": value}) == 1


def test_numbers_are_compared_as_floats():
    predict = function(to_python(stump(2.0**53), plain_columns(1)))
    assert predict({"x0": 2**53 + 1}) == 0
    assert predict({"x0": 2**53 + 2}) == 1
    assert function(to_python(stump(0.1), plain_columns(1)))({"x0": np.float32(0.1)}) == 1


@pytest.mark.parametrize("value", [None, math.nan, math.inf, -math.inf, pd.NA, 10**400, [], "x"])
def test_what_predict_refuses_is_refused(value):
    predict = function(to_python(stump(0.5), plain_columns(1)))
    with pytest.raises(ValueError, match="no finite number in column 'x0'"):
        predict({"x0": value})


def test_every_column_that_is_cut_must_be_there():
    tree = random_tree(np.random.default_rng(0), 4, 2, 9, [0.0, 1.0])
    predict = function(to_python(tree, plain_columns(3)[:2]))
    with pytest.raises(KeyError, match="x1"):
        predict({"x0": -9.0})
    with pytest.raises(ValueError, match="'x1'"):
        predict({"x0": -9.0, "x1": None})


@pytest.fixture(scope="module")
def dated():
    rng = np.random.default_rng(1)
    when = np.datetime64("1969-12-31T23:59:59.999999") + rng.integers(10**15, size=300)
    frame = pd.DataFrame({"when": when, "spent": rng.normal(size=300)})
    model = ExKMC(5, max_leaf_nodes=12, random_state=0).fit(frame)
    cuts = [from_count(t, "D") for t in model.tree_.threshold[model.tree_.feature == 0]]
    around = [cut + timedelta(microseconds=step) for cut in cuts for step in (-1, 0, 1)]
    rows = pd.DataFrame({"when": np.array(around, "datetime64[us]"), "spent": 0.0})
    return model, pd.concat([frame, rows], ignore_index=True)


def test_dates_compare_with_dates(dated):
    model, rows = dated
    predict = function(model.to_python())
    expected = model.predict(rows).tolist()
    assert [predict(row) for row in rows.to_dict("records")] == expected  # Timestamps
    plain = zip(rows["when"].dt.to_pydatetime(), rows["spent"], strict=True)
    assert [predict({"when": w, "spent": s}) for w, s in plain] == expected


def test_dates_with_a_time_zone_are_read_in_utc(dated):
    model, rows = dated
    predict = function(model.to_python())
    expected = model.predict(rows).tolist()
    zone = timezone(timedelta(hours=5, minutes=30))
    for row, cluster in zip(rows.to_dict("records"), expected, strict=True):
        moment = row["when"].to_pydatetime().replace(tzinfo=UTC)
        assert predict(row | {"when": moment.astimezone(zone)}) == cluster
        berlin = row["when"].tz_localize("UTC").tz_convert("Europe/Berlin")
        assert predict(row | {"when": berlin}) == cluster


def test_a_date_is_its_midnight():
    columns = (Column("day", "date", "D", typed=True),)
    predict = function(to_python(stump(19723.0), columns))
    assert predict({"day": date(2024, 1, 1)}) == 0
    assert predict({"day": date(2024, 1, 2)}) == 1
    assert predict({"day": datetime(2024, 1, 1, 0, 0, 0, 1)}) == 1
    assert predict({"day": pd.Timestamp("2024-01-01 00:00:00.000000001")}) == 0  # as in X


@pytest.mark.parametrize("value", [None, pd.NaT, 19723.0, "2024-01-01", np.datetime64("2024")])
def test_what_is_no_date_is_refused(value):
    predict = function(to_python(stump(0.0), (Column("day", "date", "D", typed=True),)))
    with pytest.raises(ValueError, match="no date in column 'day'"):
        predict({"day": value})


@pytest.mark.parametrize("name", ["of_row", "größe", "_", "match", "row", "number", "x0"])
def test_names_for_the_function(name):
    source = to_python(stump(0.5), plain_columns(1), name)
    assert function(source, name)({"x0": 1.0}) == 1


@pytest.mark.parametrize(
    "name", ["", "1a", "a b", "lambda", "None", "float", "\uff46loat", "f(x): pass\ndef g", None, 3]
)
def test_names_that_no_function_can_have(name):
    with pytest.raises(ValueError, match="A function cannot be called"):
        to_python(stump(0.5), plain_columns(1), name)


def test_columns_of_the_same_name():
    tree = random_tree(np.random.default_rng(0), 4, 2, 9, [0.0, 1.0])
    with pytest.raises(ValueError, match="two columns that are both called 'a'"):
        to_python(tree, plain_columns(2, ["a", "a"]))
