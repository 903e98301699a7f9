"""SQL as text: names and numbers are data in every dialect, and every dialect can read it."""

import sys
from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sqlglot import exp

from tests.helpers.examples import examples
from tests.helpers.other_dialects import DIALECTS, in_duckdb
from tests.helpers.sql_cases import (
    HARD_NUMBERS,
    HOSTILE_NAMES,
    chain_tree,
    random_rows,
    random_tree,
    stump,
    with_gaps,
)
from treemeans import ExKMC
from treemeans.columns import Column, plain_columns
from treemeans.columns.dates import dates_as_days, from_count
from treemeans.export.flat_branches import chain, features_cut
from treemeans.export.sql_conditions import Conditions
from treemeans.export.sql_dialects import find_dialect
from treemeans.export.sql_query import to_sql

# Ours -> sqlglot's. SQLite is asked itself, in test_sql_servers: to others its REAL is single.


@pytest.fixture(params=DIALECTS)
def dialect(request):
    return request.param


@pytest.fixture(scope="module")
def model():
    return ExKMC(3, max_leaf_nodes=5, random_state=0).fit(load_iris(as_frame=True).data)


def nullable(rows, names):
    """A table with NULL where the rows have None, and an ``id``."""
    columns = {"id": range(len(rows))}
    for name, values in zip(names, zip(*rows, strict=True), strict=True):
        columns[name] = pd.array(values, dtype="Float64")
    return pd.DataFrame(columns)


def test_every_dialect_says_what_predict_says(dialect):
    rng = np.random.default_rng(0)
    tree = random_tree(rng, 40, 4, 5, [*HARD_NUMBERS, *rng.normal(size=20)])
    X = random_rows(rng, 2000, tree)
    rows, gone = with_gaps(rng, X)
    columns = plain_columns(4)
    table = nullable(rows, [column.name for column in columns])
    lacks = gone[:, features_cut(tree)].any(axis=1)
    expected = np.where(lacks, -1, tree.predict(X))
    found = in_duckdb(to_sql(tree, columns, dialect, "t", null=-1), dialect, table)
    assert found == dict(enumerate(expected.tolist()))
    queries = to_sql(tree, columns, dialect, "t", form="where", null=-1, pretty=False)
    answers = [in_duckdb(sql, dialect, table) for sql in queries.values()]
    assert sum(map(len, answers)) == len(rows)
    assert {i: c for answer in answers for i, c in answer.items()} == found


def test_every_dialect_compares_dates(dialect):
    rng = np.random.default_rng(1)
    when = np.datetime64("2024-02-29T23:59:59.999999") + rng.integers(10**13, size=300)
    frame = pd.DataFrame({"when": when})
    model = ExKMC(5, max_leaf_nodes=9, random_state=0).fit(frame)
    cuts = [from_count(t, "D") for t in model.tree_.threshold[~model.tree_.is_leaf]]
    around = [cut + timedelta(microseconds=step) for cut in cuts for step in (-1, 0, 1)]
    rows = pd.DataFrame({"when": np.array(around, "datetime64[us]")})
    expected = dict(enumerate(model.predict(rows).tolist()))
    found = in_duckdb(model.to_sql(dialect, "t"), dialect, rows.reset_index())
    assert found == expected


def test_every_dialect_compares_categories(dialect):
    columns = (
        Column("color_red", "category", source="color", value="it's \\ red"),
        Column("color_blue", "category", source="color", value="blau\n😀"),
    )
    tree = random_tree(np.random.default_rng(0), 3, 2, 9, [0.5])
    table = pd.DataFrame({"id": range(3), "color": ["it's \\ red", "blau\n😀", "green"]})
    expected = tree.predict([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]).tolist()
    found = in_duckdb(to_sql(tree, columns, dialect, "t", one_hot=False), dialect, table)
    assert found == dict(enumerate(expected))


@pytest.mark.parametrize(
    ("name", "false", "true"),
    [
        ("PostgreSQL", 'NOT "is_active"', '"is_active"'),
        ("DuckDB", 'NOT "is_active"', '"is_active"'),
        ("BigQuery", "NOT `is_active`", "`is_active`"),
        ("Snowflake", 'NOT "is_active"', '"is_active"'),
        ("Spark", "NOT `is_active`", "`is_active`"),
        ("SQLite", '"is_active" = 0', '"is_active" <> 0'),
        ("MySQL", "`is_active` = 0", "`is_active` <> 0"),
        ("T-SQL", "[is_active] = 0", "[is_active] <> 0"),
    ],
)
def test_every_dialect_tests_booleans(name, false, true):
    column = Column("is_active", "flag", typed=True)
    rules = to_sql(stump(0.5), (column,), name, form="where", pretty=False)
    assert [rule.split(" AND ")[1] for rule in rules.values()] == [false, true]
    case = to_sql(stump(0.5), (column,), name, pretty=False)
    assert f"WHEN {false} THEN 0 ELSE 1 END" in case
    assert sqlglot.parse_one(case, dialect=DIALECTS.get(name, "sqlite")).sql() is not None


@pytest.mark.parametrize("package", ["pandas", "polars", "dask", "nullable"])
def test_booleans_of_data_frames_are_known(package):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"is_active": rng.random(60) < 0.5, "spent": rng.normal(size=60)})
    if package == "polars":
        frame = pytest.importorskip("polars").from_pandas(frame)
    elif package == "dask":
        frame = pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=2)
    elif package == "nullable":
        frame = frame.astype({"is_active": "boolean"})
    model = ExKMC(3, random_state=0).fit(frame)
    assert model.columns_[0] == Column("is_active", "flag", typed=True)
    described = model.with_columns(categories={"state": {"is_active": "active"}}).columns_[0]
    assert described.is_boolean


def names_in(sql, dialect):
    """The names of columns, the alias and the table of a query that is read back."""
    statements = sqlglot.parse(sql, dialect=DIALECTS.get(dialect, "sqlite"))
    assert len(statements) == 1
    (query,) = statements
    assert isinstance(query, exp.Select)
    columns = {column.name for column in query.find_all(exp.Column)}
    return columns - {"*"}, query.selects[-1].alias, query.find(exp.Table).name


@pytest.mark.parametrize("pretty", [True, False])
@pytest.mark.parametrize("dialect", [*DIALECTS, "SQLite"])
def test_names_are_read_back(dialect, pretty):
    for name in HOSTILE_NAMES:
        if dialect == "BigQuery" and set(name) & set(".`\\"):
            continue  # in no name there; the test below
        labels = dict.fromkeys((0, 1), name)
        options = {"alias": name, "labels": labels, "pretty": pretty}
        sql = to_sql(stump(0.5), (Column(f"{name}!"),), dialect, [name], **options)
        assert names_in(sql, dialect) == ({f"{name}!"}, name, name)


@pytest.mark.parametrize("name", ["a`b", "back\\slash", "\\` from x; drop table x; --"])
def test_names_that_bigquery_has_not(model, name):
    names = ["a", "b", name, "d"]
    with pytest.raises(ValueError, match="bigquery does not allow a character of the name"):
        model.with_columns(names=names).to_sql("bigquery", "t")
    with pytest.raises(ValueError, match="bigquery does not allow a character of the name"):
        model.to_sql("bigquery", [name])


@examples(30)
@given(name=st.text(st.characters(codec="utf-8", exclude_characters="\0.`\\"), min_size=1))
def test_any_text_can_be_a_name_and_a_category(name):
    columns = (Column("c", "category", source=name, value=name),)
    tree = stump(0.5)
    for dialect in [*DIALECTS, "SQLite"]:
        sql = to_sql(tree, columns, dialect, [name], alias="c", one_hot=False)
        (query,) = sqlglot.parse(sql, dialect=DIALECTS.get(dialect, "sqlite"))
        comparison = query.find(exp.EQ) or query.find(exp.NEQ)
        assert comparison.this.find(exp.Column).name == comparison.expression.name == name
        assert query.find(exp.Table).name == name


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("postgres", "postgres"),
        ("PostgreSQL", "postgres"),
        ("duckdb", "duckdb"),
        ("sqlite3", "sqlite"),
        ("Big Query", "bigquery"),
        ("SNOWFLAKE", "snowflake"),
        ("spark_sql", "spark"),
        ("Databricks", "spark"),
        ("MariaDB", "mysql"),
        ("tsql", "tsql"),
        ("t-sql", "tsql"),
        ("SQL Server", "tsql"),
    ],
)
def test_spellings(spelling, name):
    assert find_dialect(spelling).name == name


@pytest.mark.parametrize("name", ["oracle", "", None, 3])
def test_unknown_dialects_are_named(model, name):
    with pytest.raises(ValueError, match=r"choose one of PostgreSQL, DuckDB, .*, MySQL, T-SQL"):
        model.to_sql(name, "t")


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (2.45, "2.45"),
        (-0.5, "-0.5"),
        (-0.0, "0.0"),
        (800.0, "800.0"),
        (0.1 + 0.2, "CAST(1351079888211149 AS REAL) / 4503599627370496 /* 0.30000000000000004 */"),
        (-(2.0**-64), "CAST(-1 AS REAL) / 4611686018427387904 / 4 /* -5.421010862427522e-20 */"),
    ],
)
def test_sqlite_reads_numbers_exactly(number, text):
    tree = stump(number)
    assert f'WHEN "x0" <= {text}' in to_sql(tree, plain_columns(1), "sqlite")


def test_a_large_threshold_casts_the_column():
    tree = stump(2.0**53)
    sql = to_sql(tree, plain_columns(1), "duckdb")
    assert 'CAST("x0" AS DOUBLE) <= 9007199254740992.0E0' in sql


def test_other_alphabets_in_t_sql():
    tree = random_tree(np.random.default_rng(0), 1, 1, 1, [0.0])
    sql = to_sql(tree, plain_columns(1), "tsql", labels={0: "größer"})
    assert sql == "N'größer'"


def test_the_table_is_a_name_of_up_to_three_parts(model):
    for table in ("a.b.c", ["a", "b", "c"], ("a", "b", "c")):
        assert model.to_sql("duckdb", table).endswith('FROM "a"."b"."c"')
    assert model.to_sql("duckdb", ["a.b"]).endswith('FROM "a.b"')
    for table in ("", "a..b", "a.b.c.d", [], [3], ["a", ""]):
        with pytest.raises(ValueError, match="table must be a name such as"):
            model.to_sql("duckdb", table)


def test_without_a_table_it_is_an_expression(model):
    assert model.to_sql("duckdb").startswith("CASE\n  WHEN")
    rules = model.to_sql("duckdb", form="where")
    assert set(rules) == {0, 1, 2}
    assert all("SELECT" not in rule for rule in rules.values())


def test_one_leaf():
    tree = random_tree(np.random.default_rng(0), 1, 2, 1, [0.0])
    assert to_sql(tree, plain_columns(2), "tsql") == "0"
    assert to_sql(tree, plain_columns(2), "tsql", form="where") == {0: "0 = 0"}


def test_one_cluster_in_many_leaves_still_looks_for_null():
    tree = random_tree(np.random.default_rng(0), 5, 2, 1, [0.0, 1.0])
    sql = to_sql(tree, plain_columns(2), "duckdb", pretty=False)
    assert sql == 'CASE WHEN "x0" IS NULL OR "x1" IS NULL THEN NULL ELSE 0 END'


def test_boxes_can_be_given(model):
    box = {2: next(iter(chain(model.tree_).branches)).side}
    rules = to_sql(model.tree_, model.columns_, "duckdb", form="where", boxes={1: [box]})
    assert list(rules) == [1]
    assert '"petal length (cm)" <= 2.45E0' in rules[1]


def test_columns_of_the_same_name(model):
    same = model.with_columns(names=["a", "b", "a", "b"])
    with pytest.raises(ValueError, match="two columns that are both called 'a'"):
        same.to_sql("postgres")
    mixed = model.with_columns(names=["a", "b", "A", "B"])
    assert '"A"' in mixed.to_sql("postgres")
    with pytest.raises(ValueError, match="both called 'a'"):
        mixed.to_sql("sqlite")
    unused = {0, 1, 2, 3} - set(features_cut(model.tree_))
    names = ["same" if i in unused else f"x{i}" for i in range(4)]
    assert "same" not in model.with_columns(names=names).to_sql("sqlite")


@pytest.mark.parametrize("name", ["", "a\0b", "\ud800"])
def test_names_no_database_has(model, name):
    with pytest.raises(ValueError, match="SQL"):
        model.with_columns(names=[name, "b", "c", "d"]).to_sql("duckdb")
    with pytest.raises(ValueError, match="SQL"):
        model.to_sql("duckdb", "t", alias=name)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"form": "view"}, "form must be one of 'case', 'where'; got 'view'"),
        ({"null": 1}, "a number that is no cluster; got 1"),
        ({"null": "none"}, "a number that is no cluster"),
        ({"labels": {0: "a", 1: "b"}}, r"each of the clusters \[0, 1, 2\] to a text"),
        ({"labels": ["a", "b", "c"]}, "labels must map each"),
        ({"labels": {0: "a", 1: "b", 2: 3}}, "labels must map each"),
        ({"labels": {0: "a", 1: "b", 2: "c"}, "null": -1}, "null must be None or a text"),
    ],
)
def test_options_that_make_no_sense(model, options, message):
    with pytest.raises(ValueError, match=message):
        model.to_sql("duckdb", "t", **options)


def test_dates_outside_the_calendar():
    tree = stump(1e9)
    with pytest.raises(ValueError, match="No calendar has"):
        to_sql(tree, (Column("when", "time", "D", typed=True),), "duckdb")


def test_sqlglot_is_optional(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "sqlglot.expressions", None)
    with pytest.raises(ImportError, match=r'needs sqlglot.*pip install "treemeans\[sql\]"'):
        model.to_sql("duckdb", "t")


@pytest.mark.parametrize("side", ["left", "right", "both"])
def test_nesting_is_shallow_however_deep_the_tree(side):
    assert all(not branch.then.branches for branch in chain(chain_tree(2000, side)).branches)

    def levels(tests):
        return 1 + max((levels(branch.then) for branch in tests.branches), default=0)

    tree = random_tree(np.random.default_rng(0), 600, 3, 600, [0.0, 1.0])
    assert levels(chain(tree)) <= 1 + np.log2(600)


@examples(60)
@given(st.datetimes(datetime(1, 2, 1), datetime(9999, 11, 1)), st.integers(-3, 3))
def test_the_last_moment_is_what_predict_finds(when, steps):
    def days(moments):
        return dates_as_days(pd.DataFrame({"when": np.array(moments, "datetime64[us]")}))["when"]

    threshold = days([when])[0] + 0.0
    for _ in range(abs(steps)):
        threshold = np.nextafter(threshold, np.inf if steps > 0 else -np.inf)
    last = from_count(float(threshold), "D")
    before, after = days([last, last + timedelta(microseconds=1)])
    assert before <= threshold < after


@pytest.mark.parametrize("n", [1, 2, 50, 51, 101, 2600])
@pytest.mark.parametrize("join", ["all_of", "any_of"])
def test_no_condition_of_many_is_lost(join, n):
    """They are joined in groups, since databases limit how deep an expression is."""
    words = Conditions(plain_columns(1), find_dialect("duckdb"), one_hot=False, finite=False)
    joined = getattr(words, join)([exp.column(f"c{i}") for i in range(n)])
    names = [column.name for column in joined.find_all(exp.Column, bfs=False)]
    assert sorted(names) == sorted(f"c{i}" for i in range(n))
    found = sqlglot.parse_one(joined.sql("duckdb"), read="duckdb")
    assert {type(node) for node in found.walk()} & {exp.And, exp.Or} == (
        set() if n == 1 else {exp.And if join == "all_of" else exp.Or}
    )
