"""Tables as numbers, and the same numbers again from what a model knows of its columns."""

import datetime
import decimal
import io

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pyarrow import csv as pacsv

from treemeans import ExKMC
from treemeans.columns import Column, describe_columns
from treemeans.columns.dates import dates_as_days
from treemeans.files.encode_for_model import category_sources, encode_for_model
from treemeans.files.encode_table import encode_table
from treemeans.files.file_errors import InputError
from treemeans.files.read_table import read_batches, read_table
from treemeans.files.write_table import TableWriter

UTC = datetime.UTC
EPOCH = datetime.datetime(1970, 1, 1)


def sentence_of(call, *args, **more):
    with pytest.raises(InputError) as found:
        call(*args, **more)
    sentence = str(found.value)
    assert "\n" not in sentence
    assert sentence.endswith((".", "?"))
    return sentence


def names(encoded):
    return [column.name for column in encoded.columns]


def column(values, kind=None):
    """One column, encoded beside another that keeps the table from being empty."""
    array = values if isinstance(values, pa.Array) else pa.array(values, kind)
    table = pa.table({"x": array, "other": np.arange(len(array)) * 1.5})
    return encode_table(table, columns=["x", "other"])


@pytest.mark.parametrize(
    ("values", "kind", "expected", "said"),
    [
        ([1, 2, 2], pa.int8(), [1, 2, 2], "integer"),
        ([1, 2, 2**60], pa.uint64(), [1, 2, 2**60], "integer"),
        ([0, 1, 1], pa.int64(), [0, 1, 1], "flag"),
        ([True, False, True], pa.bool_(), [1, 0, 1], "flag"),
        ([1.0, 2.0, 2.0], pa.float32(), [1, 2, 2], "number"),
        (np.array([1.5, 2, 2], np.float16), None, [1.5, 2, 2], "number"),
        ([decimal.Decimal("1.25"), decimal.Decimal("-2")], None, [1.25, -2], "number"),
        ([decimal.Decimal("3"), decimal.Decimal("2")], None, [3, 2], "integer"),
        ([0, 1, -1], pa.date32(), [0, 1, -1], "date"),
        ([0, 86_400_000], pa.date64(), [0, 1], "date"),
        ([0, 43_200], pa.timestamp("s"), [0, 0.5], "time"),
        ([0, 86_400_000], pa.timestamp("ms"), [0, 1], "date"),
        ([0, 21_600 * 10**6], pa.timestamp("us", "Asia/Tokyo"), [0, 0.25], "time"),
        ([-1, 10**9], pa.timestamp("ns"), [-1e-6 / 86_400, 1 / 86_400], "time"),
        (["2020-01-01", "2020-01-02"], pa.string(), [18262, 18263], "date"),
        (["2020-01-01T12:00Z", "2020-01-02T00:00Z"], pa.string(), [18262.5, 18263], "time"),
        (["1.5", " 2", "-3e1"], pa.large_string(), [1.5, 2, -30], "number"),
    ],
)
def test_kinds_of_columns(values, kind, expected, said):
    encoded = column(values, kind)
    assert encoded.X[:, 0].tolist() == expected
    assert encoded.X.flags.c_contiguous
    assert encoded.X.dtype == np.float64
    found = encoded.columns[0]
    is_date = said in ("date", "time")
    is_typed = is_date or kind == pa.bool_()
    assert found == Column("x", said, "D" if is_date else "", typed=is_typed)


def test_dates_agree_with_those_of_data_frames():
    pd = pytest.importorskip("pandas")
    stamps = pd.to_datetime(["1969-12-31 23:59:59.123456789", "2024-02-29 12:34:56.789", None])
    frame = pd.DataFrame({"naive": stamps, "zoned": stamps.tz_localize("Europe/Berlin")})
    encoded = encode_table(pa.Table.from_pandas(frame.iloc[:2]))
    assert np.array_equal(encoded.X, dates_as_days(frame).to_numpy()[:2])


def test_categories_by_frequency_then_name():
    encoded = column(["b", "a", "c", "c", "a", "b", "b", "d"])
    assert names(encoded) == ["x=b", "x=a", "x=c", "x=d", "other"]
    assert encoded.columns[1] == Column("x=a", "category", source="x", value="a", complete=True)
    assert encoded.X[:, :4].tolist() == [
        [float(value == wanted) for wanted in "bacd"] for value in "baccabbd"
    ]


def test_dictionaries():
    text = pa.array(["b", "a", None, "b"]).dictionary_encode()
    numbers = pa.array([5, 7, 5, 5]).dictionary_encode()
    encoded = encode_table(pa.table({"t": text, "n": numbers}), missing="drop")
    assert names(encoded) == ["t=b", "t=a", "n"]
    assert encoded.X.tolist() == [[1, 0, 5], [0, 1, 7], [1, 0, 5]]


def test_what_is_left_out_is_said():
    n = 60
    table = pa.table(
        {
            "": range(n),
            "customer_id": range(n),
            "rowId": range(n),
            "ORDER ID": [f"o{i}" for i in range(n)],
            "paid": range(n),
            "bike_id": [i // 2 for i in range(n)],
            "key": [f"k{i}" for i in range(n)],
            "same": [3] * n,
            "word": ["x"] * n,
            "only_yes": ["yes"] * (n - 1) + [""],
            "day": pa.array([5] * n, pa.date32()),
            "nothing": pa.nulls(n),
            "no_text": pa.nulls(n, pa.string()),
            "no_number": pa.nulls(n, pa.float64()),
            "nan": [float("nan")] * n,
            "hour": pa.array(range(n), pa.time32("s")),
            "list": [[i] for i in range(n)],
            "struct": [{"a": i} for i in range(n)],
            "binary": [b"%d" % i for i in range(n)],
            "lasting": pa.array(range(n), pa.duration("s")),
        }
    )
    encoded = encode_table(table, id="key")
    assert names(encoded) == ["paid", "bike_id"]
    kept = {"paid", "bike_id", "key"}
    assert len(encoded.notes) == len(set(table.schema.names) - kept)
    for name in set(table.schema.names) - kept:
        (note,) = [
            note for note in encoded.notes if note.startswith(f"Column {name!r} is skipped:")
        ]
        assert note.endswith(".")
    assert names(encode_table(table, columns=["customer_id", "paid"])) == ["customer_id", "paid"]
    for name in ("hour", "list", "struct", "binary", "lasting", "nothing", "no_text", "nan"):
        assert f"Column {name!r} cannot be used" in sentence_of(encode_table, table, columns=[name])
    assert "No column is left" in sentence_of(encode_table, table.select(["same", "customer_id"]))


def test_names_of_columns():
    table = pa.table({"age": [1, 2], "income": [3, 4]})
    assert names(encode_table(table, columns=["income", "age", "income"])) == ["income", "age"]
    assert "did you mean 'income'?" in sentence_of(encode_table, table, columns=["incom"])
    assert "did you mean 'age'?" in sentence_of(encode_table, table, id="agee")
    assert "cannot both" in sentence_of(encode_table, table, columns=["age"], id="age")
    assert "name at least one" in sentence_of(encode_table, table, columns=[])
    assert "no rows" in sentence_of(encode_table, table.slice(0, 0))
    assert "--missing must be one of" in sentence_of(encode_table, table, missing="zero")
    twice = pa.table([pa.array([1]), pa.array([2])], names=["a", "a"])
    assert "more than one column named 'a'" in sentence_of(encode_table, twice)


def test_one_hot_names_that_are_taken():
    table = pa.table(
        {
            "a": ["b=c", "x", "b=c"],
            "a=b": ["c", "c", "y"],
            "a=x": [1.0, 2.0, 5.0],
        }
    )
    encoded = encode_table(table)
    assert names(encoded) == ["a=b=c", "a=x (2)", "a=b=c (2)", "a=b=y", "a=x"]
    assert np.array_equal(encode_for_model(table, encoded.columns), encoded.X)
    assert encoded.X[:, 1].tolist() == [0, 1, 0]


def gaps():
    return pa.table(
        {
            "number": [1.0, None, 4.0, float("nan"), 10.0, 2.0],
            "whole": [1, 2, None, 3, 4, 9],
            "truth": [True, None, False, False, True, True],
            "day": pa.array([10, 20, 30, None, 40, 41], pa.date32()),
            "when": pa.array([0, 43_200, None, 86_400, 0, 0], pa.timestamp("s")),
            "text": ["b", "", "a", None, "b", "a"],
            "full": [1.5, 2.5, 3.5, 4.5, 5.5, 6.5],
        }
    )


def test_missing_values_are_refused_and_counted():
    sentence = sentence_of(encode_table, gaps())
    assert sentence == (
        "3 of 6 rows have missing values ('number': 2, 'whole': 1, 'truth': 1, 'day': 1, "
        "'when': 1, 'text': 2); use --missing drop or --missing median, or fill them in."
    )
    assert encode_table(gaps(), columns=["full"]).n_dropped == 0


def test_rows_with_missing_values_are_dropped():
    encoded = encode_table(gaps(), missing="drop")
    assert encoded.rows.tolist() == [0, 4, 5]
    assert encoded.n_dropped == 3
    assert names(encoded) == ["number", "whole", "day", "text=b", "text=a", "full"]
    assert encoded.X.tolist() == [
        [1, 1, 10, 1, 0, 1.5],
        [10, 4, 40, 1, 0, 5.5],
        [2, 9, 41, 0, 1, 6.5],
    ]
    # Only true and only midnight is left of these two.
    assert [note.split("'")[1] for note in encoded.notes] == ["truth", "when"]
    assert all(column.missing is None for column in encoded.columns)


def test_no_row_is_left():
    table = pa.table({"a": [1, None, 2, None], "b": [None, 2, None, 1]})
    assert "4 of 4 rows" in sentence_of(encode_table, table, missing="drop")


def test_medians_stand_in_and_are_kept():
    encoded = encode_table(gaps(), missing="median")
    kept = {column.name: column.missing for column in encoded.columns}
    assert kept == {
        "number": 3.0,  # between 2 and 4
        "whole": 3.0,
        "truth": 1.0,
        "day": 30.0,
        "when": 0.0,
        "text=a": 1.0,  # as frequent as b, and before it
        "text=b": 0.0,
        "full": 4.0,
    }
    assert encoded.X[1].tolist() == [3, 2, 1, 20, 0.5, 1, 0, 2.5]
    assert encoded.X[3].tolist() == [3, 3, 0, 30, 1, 1, 0, 4.5]
    nothing = pa.table({name: pa.nulls(1) for name in gaps().schema.names})
    assert encode_for_model(nothing, encoded.columns).tolist() == [list(kept.values())]


def test_whole_values_stay_whole():
    encoded = encode_table(pa.table({"a": [1, 2, None], "b": [1.0, 2.0, None]}), missing="median")
    assert encoded.X[2].tolist() == [1, 1.5]


def test_infinities_are_refused():
    table = pa.table({"a": [1.0, float("inf"), -float("inf")]})
    expected = "Column 'a' has 2 infinite values, the first in data row 2"
    assert expected in sentence_of(encode_table, table)
    assert expected in sentence_of(encode_for_model, table, (Column("a"),))


def test_too_many_categories():
    many = [f"c{i}" for i in range(51)] * 10
    sentence = sentence_of(column, many)
    assert "has 51 categories, more than 50" in sentence
    assert "--columns" in sentence
    assert len(column(many[:50] * 2).columns) == 51
    assert "--id" in sentence_of(column, [f"name {i}" for i in range(100)])


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (["1,234", "5,678"], "numbers written like '1,234'"),
        (["1,234.5", "7"], "without separators of thousands"),
        (["1,5", "2,25"], "with a decimal point"),
        (["1.234,5", "2"], "numbers written like '1.234,5'"),
        (["1 234", "22"], "numbers written like '1 234'"),
        (["1'234", "22"], "numbers written like"),
        (["31/12/2020", "1/1/2021"], "write them as YYYY-MM-DD"),
        (["31.12.2020", "01.01.2021"], "dates written like '31.12.2020'"),
        (["2020/12/31 10:00", "2021/01/01 10:00"], "YYYY-MM-DD"),
        ([f"${i}" for i in range(60)], "numbers written like '$0'; write them as plain"),
        ([f"{i} %" for i in range(60)], "write them as plain numbers"),
        ([*map(str, range(60)), "?"], "holds numbers, but '?' in data row 61 is not one"),
    ],
)
def test_numbers_and_dates_in_disguise(values, said):
    assert said in sentence_of(column, values)


def test_categories_with_numbers_among_them():
    encoded = column(["2", "3", "4", "5more", "2", "3"])
    assert len(encoded.columns) == 5
    assert "most values are numbers, but '5more' in data row 4 is not" in encoded.notes[0]
    codes = column(["00501", "10001", "00501"])
    assert names(codes) == ["x=00501", "x=10001", "other"]


@pytest.mark.parametrize(
    "values", [["1.2.13", "1.10.2"], ["1,2,3", "1,3"], ["18-25", "26-35"], ["A1", "10-20-30"]]
)
def test_categories_that_have_digits(values):
    assert names(column(values)) == [*sorted(f"x={value}" for value in values), "other"]


def test_missing_words_in_text_of_numbers():
    table = pa.table({"x": ["1", "NA", "2.5", ""], "y": [1, 2, 3, 5]})
    assert "'x': 2" in sentence_of(encode_table, table)
    assert encode_table(table, missing="median").X[:, 0].tolist() == [1, 1.75, 2.5, 1.75]
    words = encode_table(pa.table({"x": ["NA", "SE", "NA"]}))  # Namibia
    assert names(words) == ["x=NA", "x=SE"]


# The same again, from the columns of a model.


def model_columns():
    return (
        Column("age", "integer"),
        Column("day", "date", "D", typed=True),
        Column("color=red", "category", source="color", value="red"),
        Column("color=blue", "category", source="color", value="blue"),
    )


def test_columns_in_any_order_and_more_of_them():
    table = pa.table(
        {
            "junk": [[1], [2], [3]],
            "color": ["blue", "green", "red"],
            "day": pa.array([1, 2, 3], pa.date32()),
            "age": [1.5, 2.0, 3.0],
        }
    )
    unseen = {}
    X = encode_for_model(table, model_columns(), unseen=unseen)
    assert X.tolist() == [[1.5, 1, 0, 1], [2, 2, 0, 0], [3, 3, 1, 0]]
    assert unseen == {"color": {2: "green"}}
    for first_row, batch in enumerate(table.to_batches(max_chunksize=1), 11):
        encode_for_model(batch, model_columns(), first_row=first_row, unseen=unseen)
    assert unseen == {"color": {2: "green", 12: "green"}}
    assert category_sources(model_columns()) == ["color"]


def test_one_hot_columns_that_are_there_are_taken():
    table = pa.table(
        {
            "age": [1],
            "day": pa.array([0], pa.date32()),
            "color=red": [True],
            "color=blue": [0],
            "color": ["blue"],
        }
    )
    assert encode_for_model(table, model_columns()).tolist() == [[1, 0, 1, 0]]
    part = table.drop_columns(["color=red"])
    assert encode_for_model(part, model_columns()).tolist() == [[1, 0, 0, 1]]
    lacking = table.drop_columns(["color=red", "color", "age"])
    sentence = sentence_of(encode_for_model, lacking, model_columns())
    assert sentence == (
        "The table has no columns 'color', 'age', which the model needs; add what is missing."
    )


def test_categories_that_are_stored_as_something_else():
    columns = tuple(
        Column(f"g_{value}", "category", source="g", value=value) for value in ("1", "2.0", "x")
    )
    for values in ([1, 2, 3], [1.0, 2.0, 3.5]):
        assert encode_for_model(pa.table({"g": values}), columns).tolist() == [
            [1, 0, 0],
            [0, 1, 0],
            [0, 0, 0],
        ]
    truth = tuple(
        Column(f"t_{value}", "category", source="t", value=value) for value in ("True", "False")
    )
    assert encode_for_model(pa.table({"t": [True, False]}), truth).tolist() == [[1, 0], [0, 1]]
    days = (Column("d_", "category", source="d", value="2020-01-01"),)
    table = pa.table({"d": pa.array([18262, 18263], pa.date32())})
    assert encode_for_model(table, days).tolist() == [[1], [0]]
    lists = pa.table({"d": [[1], [2]]})
    assert "must hold categories" in sentence_of(encode_for_model, lists, days)


def test_values_that_do_not_fit_are_named_with_their_row():
    age, day = (Column("x", "integer"),), (Column("x", "time", "D", typed=True),)
    n = 20_000
    written = [str(i) for i in range(n)]
    written[12_345] = "abc"
    sentence = sentence_of(encode_for_model, pa.table({"x": written}), age, first_row=101)
    assert sentence == "Column 'x' must hold numbers but has 'abc' in data row 12446; correct it."
    dates = ["2020-01-01"] * n
    dates[7] = "soon"
    assert "has 'soon' in data row 8" in sentence_of(encode_for_model, pa.table({"x": dates}), day)
    mixed = ["2020-01-01 10:00", "2020-01-01 10:00Z"]
    assert "in data row 2" in sentence_of(encode_for_model, pa.table({"x": mixed}), day)
    for table, columns in (
        (pa.table({"x": pa.array([1], pa.date32())}), age),
        (pa.table({"x": [1]}), day),
        (pa.table({"x": [[1]]}), age),
        (pa.table({"x": [[1]]}), day),
    ):
        assert "but is of the type" in sentence_of(encode_for_model, table, columns)
    empty = pa.table({"x": [1.0, 2.0, None, float("nan")]})
    assert "has no value in data row 3" in sentence_of(encode_for_model, empty, age)
    nothing = pa.table({"x": ["a", "", None]})
    category = (Column("x=a", "category", source="x", value="a"),)
    assert "'x' has no value in data row 2" in sentence_of(encode_for_model, nothing, category)


def test_counted_dates():
    table = pa.table({"x": pa.array([0, 90_000], pa.timestamp("s"))})
    expected = {"D": 90_000 / 86_400, "h": 25, "s": 90_000, "ms": 9e7, "us": 9e10, "ns": 9e13}
    for unit, count in expected.items():
        said = (Column("x", "time", unit),)
        assert encode_for_model(table, said)[:, 0].tolist() == [0, count]
        assert encode_for_model(pa.table({"x": [0, 7]}), said)[:, 0].tolist() == [0, 7]
        assert encode_for_model(pa.table({"x": ["0", "7"]}), said)[:, 0].tolist() == [0, 7]


def test_flags_may_be_written_out():
    flag = (Column("x", "flag", missing=0.0),)
    assert encode_for_model(pa.table({"x": ["true", "FALSE", ""]}), flag)[:, 0].tolist() == [
        1,
        0,
        0,
    ]
    assert encode_for_model(pa.table({"x": ["1", "0", "NA"]}), flag)[:, 0].tolist() == [1, 0, 0]


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), "1", True, 10**400, [1]])
def test_what_stands_in_is_a_number(bad):
    with pytest.raises(ValueError, match="finite number"):
        Column("x", missing=bad)


def test_what_stands_in_survives_a_description():
    columns = (Column("t", missing=1.0), Column("c_a", missing=0.0))
    more = describe_columns(columns, dates={"t": "s"}, categories=["c"])
    assert [column.missing for column in more] == [1.0, 0.0]


def test_a_model_reads_well(one_thread):
    rng = np.random.default_rng(0)
    n = 300
    plan = rng.choice(["gold", "basic"], n)
    table = pa.table({"id": range(n), "plan": plan, "visits": rng.integers(0, 5, n)})
    encoded = encode_table(table)
    model = ExKMC(2, max_leaf_nodes=2, random_state=0).fit(encoded.X)
    assert (
        model.predict(encode_for_model(table, encoded.columns)).tolist() == model.labels_.tolist()
    )


# Random tables.

HOSTILE = ["", "NA", "0", "=1+1", "a=b", 'q"', "two\nlines", "<img onerror=x>", "🌲", "'; --", "x "]
HOUR = 3_600_000_000
LETTERS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=3)
COLUMNS = {
    "number": (st.floats(allow_nan=True, allow_infinity=False), pa.float64()),
    "integer": (st.integers(-(2**53), 2**53), pa.int64()),
    "truth": (st.booleans(), pa.bool_()),
    "day": (st.dates(), pa.date32()),
    "when": (st.integers(-(10**6) * HOUR, 10**6 * HOUR), pa.timestamp("us")),
    "zoned": (st.integers(-(10**9), 10**9), pa.timestamp("ms", "UTC")),
    "text": (st.sampled_from(HOSTILE) | LETTERS, pa.string()),
}


@st.composite
def tables(draw):
    n = draw(st.integers(1, 12))
    titles = draw(st.lists(st.sampled_from(HOSTILE), min_size=1, max_size=4, unique=True))
    arrays = {}
    for title in titles:
        values, kind = COLUMNS[draw(st.sampled_from(sorted(COLUMNS)))]
        cells = draw(st.lists(st.none() | values, min_size=n, max_size=n))
        arrays[title] = pa.array(cells, kind)
    return pa.table(list(arrays.values()), names=list(arrays))


def is_missing(value):
    return value is None or value == "" or value != value


def plain_number(value):
    """One value as a number, the slow way."""
    if isinstance(value, datetime.datetime):
        value = value.replace(tzinfo=None) - EPOCH
        micro = (value.days * 86_400 + value.seconds) * 10**6 + value.microseconds
        return micro / (86_400 * 10**6)
    if isinstance(value, datetime.date):
        return float((value - EPOCH.date()).days)
    return float(value)


def origin_of(known):
    return known.source if known.kind == "category" else known.name


def plainly(table, encoded, missing):
    """X, value by value."""
    cells = {name: table[name].to_pylist() for name in table.schema.names}
    X = np.empty((len(encoded.rows), len(encoded.columns)))
    for j, known in enumerate(encoded.columns):
        for i, row in enumerate(encoded.rows):
            value = cells[origin_of(known)][row]
            if is_missing(value):
                assert missing == "median"
                X[i, j] = known.missing
            elif known.kind == "category":
                X[i, j] = value == known.value
            else:
                X[i, j] = plain_number(value)
    return X


@settings(max_examples=80)
@given(tables(), st.sampled_from(["drop", "median"]))
def test_random_tables(table, missing):
    try:
        encoded = encode_table(table, missing=missing)
    except InputError:
        assume(False)
    assert np.array_equal(encoded.X, plainly(table, encoded, missing))
    assert np.isfinite(encoded.X).all()
    assert (encoded.X.min(axis=0) < encoded.X.max(axis=0)).all() or missing == "median"
    assert encoded.n_dropped + len(encoded.rows) == table.num_rows
    used = {origin_of(known) for known in encoded.columns}
    for row in set(range(table.num_rows)) - set(encoded.rows.tolist()):
        values = [table[name][row].as_py() for name in table.schema.names]
        assert any(map(is_missing, values))
    assert len(set(names(encoded))) == len(encoded.columns)

    kept = table.take(encoded.rows)
    assert np.array_equal(encode_for_model(kept, encoded.columns), encoded.X)
    if not encoded.n_dropped:
        parts = [encode_for_model(batch, encoded.columns) for batch in table.to_batches(3)]
        assert np.array_equal(np.vstack(parts), encoded.X)
    back = kept.select([name for name in reversed(table.schema.names) if name in used])
    assert np.array_equal(encode_for_model(back, encoded.columns), encoded.X)


@settings(max_examples=25)
@given(tables())
def test_random_tables_through_files(tmp_path_factory, table):
    """What a model is fitted on, predict sees again in a CSV, a Parquet and an Arrow file."""
    try:
        encoded = encode_table(table, missing="median")
    except InputError:
        assume(False)
    folder = tmp_path_factory.mktemp("x")
    for name in ("x.csv", "x.tsv.gz", "x.parquet", "x.arrow"):
        with TableWriter(folder / name) as writer:
            for batch in table.to_batches(max_chunksize=5):
                writer.write(batch)
        for text in (True, category_sources(encoded.columns)):
            parts = [
                encode_for_model(batch, encoded.columns)
                for batch in read_batches(folder / name, batch_rows=4, text=text)
            ]
            assert np.array_equal(np.vstack(parts), encoded.X), (name, text)


def test_a_text_is_encoded_as_its_table_is(tmp_path):
    """Fit reads a CSV at once, predict in batches of text: the same numbers."""
    rng = np.random.default_rng(0)
    n = 5000
    table = pa.table(
        {
            "id": range(n),
            "amount": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
            "count": pa.array(rng.integers(0, 9, n), mask=rng.random(n) < 0.1),
            "active": pa.array(rng.random(n) < 0.5, mask=rng.random(n) < 0.1),
            "day": pa.array(rng.integers(0, 20_000, n), pa.int32()).cast(pa.date32()),
            "when": pa.array(rng.integers(0, 10**9, n), pa.timestamp("s")),
            "color": rng.choice(["red", "blue, dark", "", 'say "x"'], n),
        }
    )
    sink = io.BytesIO()
    pacsv.write_csv(table, sink)
    path = tmp_path / "x.csv"
    path.write_bytes(sink.getvalue())
    encoded = encode_table(read_table(path), missing="median")
    assert np.array_equal(encoded.X, encode_table(table, missing="median").X)
    kinds = [known.kind for known in encoded.columns]
    assert kinds == ["number", "integer", "flag", "date", "time", *["category"] * 3]
    for text in (True, category_sources(encoded.columns)):
        batches = read_batches(path, batch_rows=700, text=text)
        parts = [encode_for_model(batch, encoded.columns) for batch in batches]
        assert np.array_equal(np.vstack(parts), encoded.X)


def test_decimal_commas_stay_known(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("a;b\n1,5;x\n2,25;y\n-3;x\n")
    encoded = encode_table(read_table(path))
    assert encoded.X[:, 0].tolist() == [1.5, 2.25, -3]
    for text in (True, ["b"]):
        (batch,) = read_batches(path, text=text)
        assert np.array_equal(encode_for_model(batch, encoded.columns), encoded.X)
