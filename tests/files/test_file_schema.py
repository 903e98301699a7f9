"""What the columns of a file are read as: the same for every format, and however it is read."""

import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather
from pyarrow import parquet as pq

from treemeans.cli.fit_large_file import open_large_file
from treemeans.files.file_errors import InputError
from treemeans.files.file_schema import (
    ReadOptions,
    encode_for_model,
    infer_schema,
    refuse_problems,
)
from treemeans.files.read_table import decimal_mark, read_table

ROWS = [
    {
        "zip": f"{501 + i % 3:05d}",
        "rate": f"{i % 7}.5%",
        "spend": f"€{1000 + i:,}.25",
        "active": i % 3 == 0,
        "day": f"2024-01-{i % 28 + 1:02d}",
        "age": 20 + i % 40,
        "plan": ["basic", "pro", "True"][i % 3],
        "x": i * 0.25,
    }
    for i in range(60)
]


def _schema(path, options=None, *, n_parts=1):
    options = options or ReadOptions()
    table = read_table(path, text=[*options.text, *options.category])
    step = -(-table.num_rows // n_parts)

    def batches(names):
        chosen = table.select(names)
        return iter([chosen.slice(i, step) for i in range(0, table.num_rows, step)])

    return infer_schema(batches, table.schema, options, decimal_mark(table)), table


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    table = pa.Table.from_pylist(ROWS)
    names = list(ROWS[0])
    lines = ["\t".join(map(str, row.values())) for row in ROWS]
    (folder / "t.tsv").write_text("\n".join(["\t".join(names), *lines]) + "\n")
    quoted = [",".join(f'"{value}"' for value in row.values()) for row in ROWS]
    (folder / "t.csv").write_text("\n".join([",".join(names), *quoted]) + "\n")
    (folder / "t.jsonl").write_text("\n".join(map(json.dumps, ROWS)) + "\n")
    pq.write_table(table, folder / "t.parquet")
    feather.write_feather(table, folder / "t.arrow")
    return {path.suffix: path for path in folder.iterdir()}


def test_every_format_is_read_alike(paths):
    found = {suffix: _schema(path) for suffix, path in paths.items()}
    expected, table = found[".csv"]
    kinds = {column.name: column.kind for column in expected.columns}
    assert kinds == {
        "zip": "codes",
        "rate": "number",
        "spend": "number",
        "active": "flag",
        "day": "date",
        "age": "integer",
        "plan": "codes",
        "x": "number",
    }
    assert expected.columns[0].categories == ("00501", "00502", "00503")
    assert expected.columns[2].unit == "€"
    X = expected.encode(table)
    assert X[:3, 2].tolist() == [1000.25, 1001.25, 1002.25]
    for suffix, (schema, other) in found.items():
        assert schema.columns == expected.columns, suffix
        assert str(schema.table) == str(expected.table), suffix
        assert np.array_equal(schema.encode(other), X), suffix
        # A model reads other files by its columns alone.
        assert np.array_equal(encode_for_model(other, expected.columns), X), suffix


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_streamed_files_are_read_alike(paths, suffix):
    whole, _ = _schema(paths[".csv"])
    assert str(_schema(paths[suffix], n_parts=7)[0].table) == str(whole.table)
    with open_large_file(str(paths[suffix]), ReadOptions()) as (_, found):
        assert str(found.table) == str(whole.table)


def test_amounts_with_a_decimal_comma(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("betrag;rate\n1.271,64 €;4,03%\n-3,50 €;12,5%\n")
    schema, table = _schema(path)
    assert schema.encode(table).tolist() == [[1271.64, 4.03], [-3.5, 12.5]]
    again = read_table(path, text=True)
    assert encode_for_model(again, schema.columns).tolist() == [[1271.64, 4.03], [-3.5, 12.5]]
    with open_large_file(str(path), ReadOptions()) as (_, streamed):
        assert str(streamed.table) == str(schema.table)


MIXED_MARKS = "betrag;rabatt;laenge;version\n" + "".join(
    f"{euro} €;{rate}%;{length};1.{euro[:1]}.{i}\n"
    for i, (euro, rate, length) in enumerate(
        [("1.271,64", "7.1", "3.125"), ("-3,50", "12.55", "2.5"), ("1.250", "3.125", "4")] * 9
    )
)


@pytest.mark.parametrize("n_parts", [1, 2, 9])
def test_each_column_has_its_own_mark_before_decimals(tmp_path, n_parts):
    path = tmp_path / "t.csv"
    path.write_text(MIXED_MARKS)
    schema, table = _schema(path, n_parts=n_parts)
    refuse_problems(schema)
    expected = [[1271.64, 7.1, 3.125], [-3.5, 12.55, 2.5], [1250.0, 3.125, 4.0]]
    names = [column.name for column in schema.columns]
    assert names == ["betrag", "rabatt", "laenge"]  # versions identify the rows
    assert schema.encode(table)[:3].tolist() == expected
    assert "with a decimal comma, like 1.271,64 €" in str(schema.table)
    # The third row alone could be read with either mark; the columns remember theirs.
    again = read_table(path, text=True).slice(2, 1)
    assert encode_for_model(again, schema.columns).tolist() == [expected[2]]
    with open_large_file(str(path), ReadOptions()) as (_, streamed):
        assert str(streamed.table) == str(schema.table)


def test_a_column_that_can_be_read_with_the_mark_of_the_file_is(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("amount;x\n" + "1.271,64 €;1\n3,50 €;2\n1.250 €;7\n" * 9)
    schema, _ = _schema(path)
    assert [column.decimal for column in schema.columns] == ["", ""]


def test_codes_are_numbers_if_the_user_says_so(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("zip,price,x\n" + "00501,1 000,1\n30330,22 500,2\n00502,7,3\n" * 9)
    schema, table = _schema(path, ReadOptions(number=("zip", "price")))
    refuse_problems(schema)
    assert [column.kind for column in schema.columns] == ["integer"] * 3
    expected = [[501, 1000, 1], [30330, 22500, 2], [502, 7, 3]]
    assert schema.encode(table)[:3].tolist() == expected
    again = read_table(path, text=True)
    assert encode_for_model(again, schema.columns)[:3].tolist() == expected
    for n_parts in (2, 9):  # the first code may come late
        in_parts, _ = _schema(path, ReadOptions(number=("zip", "price")), n_parts=n_parts)
        assert str(in_parts.table) == str(schema.table)
    refused, _ = _schema(path, ReadOptions(date=("zip",)))
    with pytest.raises(InputError, match="'zip' cannot be read as dates like 2024-12-31"):
        refuse_problems(refused)


def test_text_is_kept_as_it_is_written(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("version,x\n" + "1.50,1\n1.5,2\n2.0,3\n" * 9)
    schema, _ = _schema(path, ReadOptions(text=["version"]))
    assert schema.columns[0].categories == ("1.5", "1.50", "2.0")
    with open_large_file(str(path), ReadOptions(text=["version"])) as (_, streamed):
        assert str(streamed.table) == str(schema.table)


def test_what_a_column_is_taken_for_is_said(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("code,x\n" + "".join(f"{i % 4 if i else 'none'},{i}\n" for i in range(30)))
    schema, _ = _schema(path)
    assert "most values are numbers, but 'none' is not" in str(schema.table)


def test_a_text_among_amounts_is_named(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("rebate,x\n" + "".join(f"{i % 4 if i else 'n/k'}.5 %,{i}\n" for i in range(30)))
    schema, _ = _schema(path)
    assert "most values are numbers, but 'n/k.5 %' is not" in str(schema.table)
    schema, _ = _schema(path, ReadOptions(number=["rebate"]))
    assert "cannot be read as numbers: it holds 'n/k.5 %'" in str(schema.table)


@pytest.mark.parametrize("codes", [["3A", "7B", "x"], ["a1", "7 kg", "b"], ["1st", "2nd", "3rd"]])
def test_codes_with_digits_are_no_amounts(codes, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("code,x\n" + "".join(f"{codes[i % 3]},{i}\n" for i in range(30)))
    schema, _ = _schema(path)
    assert "most values are numbers" not in str(schema.table)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"date": ["x"]}, "Column 'x' cannot be read as dates: it holds numbers"),
        ({"number": ["day"]}, "Column 'day' cannot be read as numbers"),
        ({"number": ["plan"]}, "Column 'plan' cannot be read as numbers: it holds 'basic'"),
        ({"number": ["active"]}, ""),
        ({"number": ["spend"]}, ""),
        ({"date": ["day"]}, ""),
    ],
)
def test_columns_that_are_not_what_the_user_says(paths, options, says):
    schema, _ = _schema(paths[".csv"], ReadOptions(**options))
    if not says:
        refuse_problems(schema)
        return
    with pytest.raises(InputError, match=says):
        refuse_problems(schema)


def test_a_last_date_that_stands_for_none_is_said():
    table = pa.table({"x": [1.0, 2.0, 3.0], "until": ["2024-01-01", "2025-01-01", "9999-12-31"]})
    found = infer_schema(lambda names: iter([table.select(names)]), table.schema, ReadOptions())
    assert "its last date, 9999-12-31, may stand for a missing one" in str(found.table)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"missing": "guess"}, "--missing must be one of .*; got 'guess'"),
        ({"date_order": "ymd"}, "--date-order must be .* or .*; got 'ymd'"),
        ({"columns": []}, "No column is asked for; name at least one"),
        ({"exclude": ["age"], "number": ["age"]}, "'age' cannot both be left out and be used"),
        ({"number": ["age"], "text": ["age"]}, "'age' is named twice; name it in one of --text"),
    ],
)
def test_options_that_contradict_each_other(options, says):
    with pytest.raises(InputError, match=says):
        ReadOptions(**options).check(list(ROWS[0]))


@pytest.mark.parametrize(
    ("column", "options", "says"),
    [
        (pa.array([True, False]), {"date": ["x"]}, "'x' cannot be read as dates: it holds"),
        (pa.array(["a", "b"]), {"number": ["x"]}, "'x' cannot be read as numbers: it holds 'a'"),
        (pa.array(["1", "2"]), {"date": ["x"]}, "cannot be read as dates like .*: it holds '1'"),
    ],
)
def test_columns_of_another_type_than_asked_for(column, options, says):
    table = pa.table({"x": column, "y": [1.0, 2.0]})
    found = infer_schema(
        lambda names: iter([table.select(names)]), table.schema, ReadOptions(**options)
    )
    with pytest.raises(InputError, match=says):
        refuse_problems(found)


def test_no_column_is_left():
    table = pa.table({"x": [1.0, 1.0]})
    found = infer_schema(lambda names: iter([table.select(names)]), table.schema, ReadOptions())
    with pytest.raises(InputError, match="No column is left to cluster by: 'x' is"):
        refuse_problems(found)
