"""SQL gives what ``predict`` gives, in real databases."""

import math
from datetime import date, datetime, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from tests.helpers.databases import DATABASES
from tests.helpers.sql_cases import (
    HARD_NUMBERS,
    HOSTILE_NAMES,
    MISREAD,
    chain_tree,
    neighbours,
    random_rows,
    random_tree,
    stump,
    with_gaps,
)
from treemeans import ExKMC
from treemeans.columns import Column, plain_columns
from treemeans.columns.dates import from_count
from treemeans.explain.leaf_boxes import leaf_boxes
from treemeans.export.flat_branches import features_cut
from treemeans.export.sql_query import to_sql

N_ROWS = 10_000


@pytest.fixture(scope="module", params=DATABASES)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def database(name):
    opened = DATABASES[name]()
    yield opened
    opened.close()


def check(database, name, tree, columns, expected, table="t", **options):
    """Both forms against the clusters by row; None for a row that has none."""
    case = database.answers(to_sql(tree, columns, name, [table], **options))
    assert case == expected
    queries = to_sql(tree, columns, name, [table], form="where", **options)
    found = [pair for sql in queries.values() for pair in database.answers(sql).items()]
    assert len(found) == len(dict(found))
    assert dict(found) == {i: cluster for i, cluster in expected.items() if cluster is not None}


def clusters(tree, X, gone=None):
    """The cluster of each row by its number; None where a column that is cut is missing."""
    found = tree.predict(np.asarray(X, dtype=np.float64)).tolist()
    lacks = np.zeros(len(X), bool) if gone is None else gone[:, features_cut(tree)].any(axis=1)
    return {i: None if lacks[i] else label for i, label in enumerate(found)}


def test_ten_thousand_rows(database, name):
    rng = np.random.default_rng(0)
    tree = random_tree(rng, 60, 6, 5, [*HARD_NUMBERS, *rng.normal(size=40)])
    X = random_rows(rng, N_ROWS, tree)
    rows, gone = with_gaps(rng, X)
    columns = plain_columns(6)
    database.create("t", {column.name: "double" for column in columns}, rows)
    expected = clusters(tree, X, gone)
    assert set(expected.values()) == {None, 0, 1, 2, 3, 4}
    check(database, name, tree, columns, expected)


@pytest.mark.parametrize("seed", range(3))
def test_small_trees_of_hard_numbers(database, name, seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, 8, 2, 3, HARD_NUMBERS)
    X = random_rows(rng, 1000, tree)
    rows, gone = with_gaps(rng, X)
    database.create("t", {"x0": "double", "x1": "double"}, rows)
    check(database, name, tree, plain_columns(2), clusters(tree, X, gone))


def test_each_hard_number_alone(database, name):
    """Every threshold parts the floats on either side of it."""
    rng = np.random.default_rng(0)
    numbers = np.array([*HARD_NUMBERS, *MISREAD, *rng.normal(size=30)])
    random_bits = rng.integers(2**63, size=60, dtype=np.uint64).view(np.float64)
    numbers = np.append(numbers, random_bits[np.isfinite(random_bits)])
    x = neighbours(numbers)
    database.create("t", {"x0": "double"}, x[:, None].tolist())
    for threshold in numbers:
        tree = stump(threshold)
        sql = to_sql(tree, plain_columns(1), name, "t")
        assert database.answers(sql) == clusters(tree, x[:, None]), threshold


def test_columns_of_single_precision(database, name):
    rng = np.random.default_rng(1)
    thresholds = np.append(rng.normal(size=30), np.float32([0.1, 2.45, 1e-5]).astype(float))
    tree = random_tree(rng, 30, 2, 4, np.append(thresholds, [0.1, 2.45, 1e-5]))
    near = neighbours(tree.threshold[~tree.is_leaf]).astype(np.float32)
    near = np.concatenate(
        [near, np.nextafter(near, np.float32(-9)), np.nextafter(near, np.float32(9))]
    )
    X = rng.choice(near, (3000, 2))
    database.create("t", {"x0": "single", "x1": "single"}, X.tolist())
    check(database, name, tree, plain_columns(2), clusters(tree, X))


def test_columns_of_large_integers_are_read_as_floats(database, name):
    x = [2**53 + i for i in range(-3, 9)] + [-(2**53) - i for i in range(5)]
    x += [2**62 + i for i in (0, 255, 256, 257, 511, 512, 513, 1024)] + [0, 1, -1]
    database.create("t", {"x0": "bigint"}, [[v] for v in x])
    expected = np.array(x, dtype=np.float64)[:, None]
    for threshold in {*expected.ravel().tolist(), 0.5}:
        tree = stump(threshold)
        check(database, name, tree, plain_columns(1), clusters(tree, expected))


def test_columns_of_decimals_are_read_as_floats(database, name):
    texts = ["0.3", "0.30000000000000001", "0.29999999999999999", "0.3000000000000001", "-7"]
    x = [Decimal(text) for text in texts]
    database.create("t", {"x0": "decimal"}, [[v] for v in x])
    for threshold in (0.3, 0.1 + 0.2, math.nextafter(0.3, 0.0)):
        tree = stump(threshold)
        expected = clusters(tree, [[float(v)] for v in x])
        check(database, name, tree, plain_columns(1), expected)


def test_names_are_data(database, name):
    rng = np.random.default_rng(4)
    names = [each for each in (*HOSTILE_NAMES, "x" * 60) if _may_be_name(name, each)]
    tree = random_tree(rng, 4 * len(names), len(names), 3, [0.5, -1.25, 7.0])
    assert set(features_cut(tree)) == set(range(len(names)))
    columns = plain_columns(len(names), names)
    X = random_rows(rng, 300, tree)
    labels = dict(enumerate(HOSTILE_NAMES[:3]))
    expected = {i: labels[c] for i, c in clusters(tree, X).items()}
    for table, pretty in (('t"; drop table t; --', True), ("a\nb.c'd", False)):
        database.create(table, dict.fromkeys(names, "double"), X.tolist())
        check(database, name, tree, columns, expected, table, labels=labels, pretty=pretty)


def _may_be_name(database, name):
    """MariaDB's names are of the first 65,536 letters of Unicode, and do not end in a blank."""
    return database != "mariadb" or (max(name) < "\U00010000" and name == name.rstrip())


@pytest.mark.parametrize("label", HOSTILE_NAMES)
def test_outcomes_are_data(database, name, label):
    tree = random_tree(np.random.default_rng(0), 1, 1, 1, [0.0])
    database.create("t", {"x0": "double"}, [[1.0]])
    alias = label if _may_be_name(name, label) else "outcome"
    sql = to_sql(tree, plain_columns(1), name, "t", labels={0: label}, alias=alias)
    assert database.answers(sql) == {0: label}


def test_rows_with_null_can_have_a_label(database, name):
    rng = np.random.default_rng(5)
    tree = random_tree(rng, 6, 2, 3, [0.0, 1.0])
    X = random_rows(rng, 200, tree)
    rows, gone = with_gaps(rng, X, 0.3)
    database.create("t", {"x0": "double", "x1": "double"}, rows)
    expected = {i: -1 if c is None else c for i, c in clusters(tree, X, gone).items()}
    check(database, name, tree, plain_columns(2), expected, null=-1)
    names = {0: "a", 1: "b", 2: "c", -1: "nobody knows"}
    expected = {i: names[c] for i, c in expected.items()}
    check(database, name, tree, plain_columns(2), expected, labels=names, null=names[-1])


def test_not_finite_is_missing_if_asked_for(database, name):
    if name == "mariadb":
        return  # its numbers are finite
    rng = np.random.default_rng(6)
    tree = random_tree(rng, 6, 2, 3, [0.0, 1.0])
    X = random_rows(rng, 300, tree)
    X[:2] = np.finfo(float).max, -np.finfo(float).max
    rows, gone = with_gaps(rng, X)
    for i in range(10, 60, 3):
        rows[i][i % 2] = (np.nan, np.inf, -np.inf)[i % 3]
        gone[i, i % 2] = True
    database.create("t", {"x0": "double", "x1": "double"}, rows)
    check(database, name, tree, plain_columns(2), clusters(tree, X, gone), finite=True)


def test_a_thousand_leaves_deep(database, name):
    tree = chain_tree(1000, "both")
    assert tree.depth.max() == 999
    X = np.append(neighbours(np.arange(1000)), -5)[:, None]
    database.create("t", {"x0": "double"}, X.tolist())
    check(database, name, tree, plain_columns(1), clusters(tree, X))


def test_more_columns_than_an_expression_is_deep(database, name):
    rng = np.random.default_rng(7)
    n = 1000 if name == "mariadb" else 1101  # whose tables have up to 1,017 columns
    tree = random_tree(rng, n + 1, n, 4, [0.0, 0.5])
    assert len(features_cut(tree)) == n
    X = rng.choice([-1.0, 0.0, 0.5, 1.0], (20, n))
    columns = plain_columns(n)
    database.create("t", {column.name: "single" for column in columns}, X.tolist())
    assert database.answers(to_sql(tree, columns, name, "t")) == clusters(tree, X)
    leaf = tree.apply(X)
    boxes = {cluster: [leaf_boxes(tree)[leaf[cluster]]] for cluster in range(2)}
    queries = to_sql(tree, columns, name, "t", form="where", boxes=boxes)
    for cluster, sql in queries.items():
        assert set(database.answers(sql)) == set(np.flatnonzero(leaf == leaf[cluster]))


def dated_frame():
    rng = np.random.default_rng(8)
    start = datetime(1969, 6, 1)
    moments = [start + timedelta(microseconds=int(n)) for n in rng.integers(2 * 10**15, size=400)]
    near = [moments[0] + timedelta(microseconds=int(n)) for n in rng.integers(9, size=100)]
    days = rng.integers(20000, size=500).astype("datetime64[D]")
    return pd.DataFrame({"when": [*moments, *near], "day": days, "spent": rng.normal(size=500)})


def on_thresholds(model, frame):
    """The frame's rows, with dates moved to the thresholds and a microsecond to either side."""
    rng = np.random.default_rng(9)
    rows = frame.sample(3000, replace=True, random_state=0).reset_index(drop=True)
    tree = model.tree_
    for feature, column in enumerate(model.columns_):
        cuts = [from_count(t, "D") for t in tree.threshold[tree.feature == feature] if column.typed]
        around = [cut + timedelta(microseconds=step) for cut in cuts for step in (-1, 0, 1)]
        if column.typed and around:
            moved = rng.random(len(rows)) < 0.7
            chosen = pd.Series(rng.choice(np.array(around, "datetime64[us]"), len(rows)))
            rows[column.name] = rows[column.name].where(~moved, chosen)
    return rows


def test_dates_compare_with_dates(database, name):
    frame = dated_frame()
    model = ExKMC(6, max_leaf_nodes=40, random_state=0).fit(frame)
    typed = {column.name: column.kind for column in model.columns_ if column.typed}
    assert typed == {"when": "time", "day": "date"}
    rows = on_thresholds(model, frame)
    values = list(
        zip(
            rows["when"].dt.to_pydatetime(),
            rows["day"].dt.to_pydatetime(),
            rows["spent"].tolist(),
            strict=True,
        )
    )
    database.create("t", {"when": "timestamp", "day": "timestamp", "spent": "double"}, values)
    expected = dict(enumerate(model.predict(rows).tolist()))
    assert set(features_cut(model.tree_)) >= {0, 1}
    check(database, name, model.tree_, model.columns_, expected)


SESSION_IN_TOKYO = {
    "duckdb": "SET TimeZone = 'Asia/Tokyo'",
    "postgresql": "SET TIME ZONE 'Asia/Tokyo'",
}


def test_dates_with_a_time_zone_compare_as_moments(database, name):
    frame = dated_frame().drop(columns="day")
    zoned = frame.assign(when=frame["when"].dt.tz_localize("UTC").dt.tz_convert("America/Lima"))
    model = ExKMC(6, max_leaf_nodes=40, random_state=0).fit(zoned)
    assert [column.zoned for column in model.columns_] == [True, False]
    rows = on_thresholds(model, frame)
    expected = dict(enumerate(model.predict(rows).tolist()))
    when = rows["when"].dt.tz_localize("UTC") if name in SESSION_IN_TOKYO else rows["when"]
    values = list(zip(when.dt.to_pydatetime(), rows["spent"].tolist(), strict=True))
    database.create("t", {"when": "moment", "spent": "double"}, values)
    tokyo = SESSION_IN_TOKYO.get(name)
    if tokyo is not None:
        database.run(tokyo)
    try:
        check(database, name, model.tree_, model.columns_, expected)
    finally:
        if tokyo is not None:
            database.run(tokyo.replace("Asia/Tokyo", "UTC"))


def test_columns_of_whole_days(database, name):
    days = np.arange(0, 20000, 37).astype("datetime64[D]")
    frame = pd.DataFrame({"day": days})
    model = ExKMC(8, max_leaf_nodes=20, random_state=0).fit(frame)
    every = pd.DataFrame({"day": np.arange(-5, 20010, 3).astype("datetime64[D]")})
    values = [[date(1970, 1, 1) + timedelta(days=n)] for n in range(-5, 20010, 3)]
    database.create("t", {"day": "date"}, values)
    expected = dict(enumerate(model.predict(every).tolist()))
    check(database, name, model.tree_, model.columns_, expected)


@pytest.fixture(scope="module")
def shop():
    rng = np.random.default_rng(10)
    colors = np.array(["red", "it's", 'say "hi" \\ 😀', "new\nline", "Red", ""])
    color = rng.choice(colors, 600)
    spent = rng.normal(size=600) + 3 * (color == "red") - 3 * (color == "it's")
    one_hot = pd.get_dummies(pd.Series(color), prefix="color", dtype=float)
    categories = {"color": {f"color_{c}": c for c in colors}}
    frame = one_hot.assign(spent=spent)
    model = ExKMC(7, max_leaf_nodes=25, random_state=0).fit(frame)
    return model.with_columns(categories=categories), frame, color


def test_categories(database, name, shop):
    model, frame, color = shop
    columns = model.columns_
    assert sum(columns[f].kind == "category" for f in features_cut(model.tree_)) >= 4
    expected = dict(enumerate(model.predict(frame).tolist()))
    values = [[c, s] for c, s in zip(color.tolist(), frame["spent"].tolist(), strict=True)]
    values += [[None, 0.0], ["red", None]]
    lacking = {len(color): None, len(color) + 1: None}
    database.create("t", {"color": "text", "spent": "double"}, values)
    check(database, name, model.tree_, columns, expected | lacking, one_hot=False)
    names = [f"c{i}" for i in range(len(columns))]  # red and Red are the same name to some
    columns = model.with_columns(names=names).columns_
    database.create("t", dict.fromkeys(names, "double"), frame.to_numpy().tolist())
    check(database, name, model.tree_, columns, expected)


@pytest.mark.parametrize("threshold", [-0.5, -0.0, 0.0, 0.3, 0.999, 1.0, 7.0])
def test_a_category_is_zero_or_one(database, name, threshold):
    tree = stump(threshold)
    columns = (Column("color_red", "category", source="color", value="red"),)
    database.create("t", {"color": "text"}, [["red"], ["blue"]])
    expected = clusters(tree, [[1.0], [0.0]])
    check(database, name, tree, columns, expected, one_hot=False)


def boolean_frame():
    rng = np.random.default_rng(11)
    active, spent = rng.random(400) < 0.5, rng.normal(size=400)
    return pd.DataFrame({"is_active": active, "spent": spent + 6 * active})


def test_booleans_are_tested_as_booleans(database, name):
    frame = boolean_frame()
    model = ExKMC(4, max_leaf_nodes=12, random_state=0, allowed_features=["is_active", "spent"])
    tree = random_tree(np.random.default_rng(3), 9, 2, 4, [0.5, 0.2])
    columns = model.fit(frame).columns_
    assert columns[0] == Column("is_active", "flag", typed=True)
    assert set(features_cut(tree)) == {0, 1}
    rows, gone = with_gaps(np.random.default_rng(0), frame.to_numpy(dtype=float))
    values = [[None if a is None else bool(a), s] for a, s in rows]
    database.create("t", {"is_active": "boolean", "spent": "double"}, values)
    check(database, name, tree, columns, clusters(tree, frame, gone))
    check(database, name, tree, columns, clusters(tree, frame, gone), finite=True)


@pytest.mark.parametrize("threshold", [-0.5, -0.0, 0.0, 0.3, 0.999, 1.0, 7.0])
def test_a_boolean_is_zero_or_one(database, name, threshold):
    tree = stump(threshold)
    database.create("t", {"x": "boolean"}, [[True], [False]])
    expected = clusters(tree, [[1.0], [0.0]])
    check(database, name, tree, (Column("x", "flag", typed=True),), expected)


def test_one_hot_columns_of_booleans(database, name):
    color = np.random.default_rng(12).choice(["red", "green", "blue"], 90)
    frame = pd.get_dummies(pd.DataFrame({"color": color}))
    assert {dtype.kind for dtype in frame.dtypes} == {"b"}
    model = ExKMC(3, random_state=0).fit(frame)
    assert all(column.kind == "category" for column in model.columns_)
    database.create("t", dict.fromkeys(frame.columns, "boolean"), frame.to_numpy().tolist())
    expected = dict(enumerate(model.predict(frame).tolist()))
    check(database, name, model.tree_, model.columns_, expected)


@pytest.fixture(scope="module")
def customers():
    """A messy table, and rows with categories that it lacks and with more missing values."""
    rng = np.random.default_rng(13)
    countries = np.array(
        ["DE", "de", "FR", "IT", "ES", "it's", "PL", "NL", "BE", "AT", "CZ", "ü😀"]
    )

    def table(n):
        group = rng.integers(0, 4, n)
        frame = pd.DataFrame(
            {
                "country": countries[(3 * group + rng.integers(0, 4, n)) % len(countries)],
                "plan": np.array(["basic", "pro", "pro "], dtype=object)[rng.integers(0, 3, n)],
                "age": rng.normal(30 + 8 * group, 4).round(),
                "income": rng.lognormal(9 + 0.4 * group, 0.5),
                "active": pd.array(rng.random(n) < 0.2 + 0.2 * group, dtype="boolean"),
                "signup": pd.to_datetime("2022-01-01")
                + pd.to_timedelta(rng.integers(0, 300, n) + 100 * group, unit="D"),
                "seen": pd.to_datetime("2023-06-01")
                + pd.to_timedelta(rng.integers(0, 2 * 10**13, n), unit="us"),
            }
        )
        for name in frame.columns:
            frame.loc[rng.random(n) < 0.1, name] = None
        return frame

    model = ExKMC(6, max_leaf_nodes=40, random_state=0).fit(table(3000)).with_missing_sides()
    rows = table(N_ROWS)
    rows.loc[rng.random(N_ROWS) < 0.1, "country"] = "XX"
    rows.loc[rng.random(N_ROWS) < 0.05, "plan"] = "PRO"
    return model, rows


def test_a_mixed_table_with_unseen_categories(database, name, customers):
    model, rows = customers
    used = {model.columns_[feature].name for feature in features_cut(model.tree_)}
    assert used >= {"country", "plan", "age", "active", "signup"}
    kinds = {
        "country": "text",
        "plan": "text",
        "age": "double",
        "income": "double",
        "active": "boolean",
        "signup": "date",
        "seen": "timestamp",
    }
    values = [
        [None if pd.isna(value) else _as_python(name, value) for name, value in row.items()]
        for row in rows[list(kinds)].to_dict("records")
    ]
    database.create("t", kinds, values)
    expected = dict(enumerate(model.predict(rows).tolist()))
    assert set(expected.values()) == set(range(6))
    check(database, name, model.tree_, model.columns_, expected)


def _as_python(name, value):
    if isinstance(value, pd.Timestamp):
        return value.date() if name == "signup" else value.to_pydatetime()
    return bool(value) if isinstance(value, np.bool_) else value


def test_durations(database, name):
    rng = np.random.default_rng(14)
    lengths = pd.to_timedelta(rng.integers(0, 10**12, 500), unit="us")
    frame = pd.DataFrame({"spent": lengths})
    model = ExKMC(5, max_leaf_nodes=20, random_state=0).fit(frame)
    if name not in ("postgresql", "duckdb"):
        with pytest.raises(ValueError, match="'spent' holds durations"):
            model.to_sql(name, "t")
        return
    database.types["interval"] = "INTERVAL"
    database.create("t", {"spent": "interval"}, [[length.to_pytimedelta()] for length in lengths])
    expected = dict(enumerate(model.predict(frame).tolist()))
    check(database, name, model.tree_, model.columns_, expected)
