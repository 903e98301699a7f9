"""Reading tables: formats, types, one schema for all batches, and one sentence for each mistake."""

import bz2
import datetime
import gc
import gzip
import io
import json
import os
import threading

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import csv as pacsv
from pyarrow import feather, ipc
from pyarrow import parquet as pq

from tests.helpers.examples import examples
from treemeans.files import delimited_text, json_lines
from treemeans.files.file_errors import InputError
from treemeans.files.read_table import decimal_mark, read_batches, read_table

TABLE = pa.table(
    {
        "age": pa.array([31, 42, 37], pa.int64()),
        "income": [1.5, 2.0, -3.25],
        "color": ["red", "a, b", 'say "x"\nagain'],
        "day": pa.array([0, 18262, 20000], pa.date32()),
    }
)


def whole(batches):
    """Batches as one table; they must agree on their schema."""
    batches = list(batches)
    assert len({str(batch.schema) for batch in batches}) == 1
    return pa.Table.from_batches(batches)


def both_ways(path, columns=None):
    """Read at once and in batches of two rows: the same values."""
    table = read_table(path, columns)
    batched = whole(read_batches(path, columns, batch_rows=2))
    assert batched.to_pydict() == table.to_pydict()
    return table


def wrong(path, columns=None, **how):
    """The sentence that both readers give."""
    with pytest.raises(InputError) as found:
        list(read_batches(path, columns, **how))
    with pytest.raises(InputError) as at_once:
        read_table(path, columns)
    sentence = str(found.value)
    assert "\n" not in sentence
    assert sentence.endswith((".", "?"))
    assert sentence[:1].isupper() or sentence[:1] == "'"
    assert str(at_once.value).split(" (")[0] == sentence.split(" (")[0]
    return sentence


def written(tmp_path, text, name="x.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def write_stream(table, path):
    with ipc.new_stream(str(path), table.schema) as stream:
        stream.write_table(table, max_chunksize=2)


def write_ipc(table, path):
    with ipc.new_file(str(path), table.schema) as file:
        file.write_table(table, max_chunksize=2)


WRITERS = {
    "x.csv": lambda t, p: pacsv.write_csv(t, str(p)),
    "x.TXT": lambda t, p: pacsv.write_csv(t, str(p), pacsv.WriteOptions(delimiter="|")),
    "x.tsv": lambda t, p: pacsv.write_csv(t, str(p), pacsv.WriteOptions(delimiter="\t")),
    "x.parquet": lambda t, p: pq.write_table(t, str(p), row_group_size=2),
    "x.pq": lambda t, p: pq.write_table(t, str(p)),
    "x.arrow": write_ipc,
    "x.ipc": write_ipc,
    "x.feather": lambda t, p: feather.write_feather(t, str(p), compression="lz4"),
    "stream.arrow": write_stream,
    "no_suffix": lambda t, p: pq.write_table(t, str(p)),
    "x.dat": write_ipc,
    "misnamed.csv": lambda t, p: pq.write_table(t, str(p)),
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_table(tmp_path, name):
    WRITERS[name](TABLE, tmp_path / name)
    assert both_ways(tmp_path / name).to_pydict() == TABLE.to_pydict()
    some = both_ways(tmp_path / name, ["day", "age", "day"])
    assert some.to_pydict() == TABLE.select(["day", "age"]).to_pydict()


@pytest.mark.parametrize("squeeze", [gzip.compress, bz2.compress])
@pytest.mark.parametrize("name", ["x.csv.gz", "x.csv.bz2", "x"])
def test_compressed_text(tmp_path, squeeze, name):
    path = written(tmp_path, squeeze(b"a,b\n1,2\n3,4\n5,6\n"), name)
    assert both_ways(path).to_pydict() == {"a": [1, 3, 5], "b": [2, 4, 6]}


# Rows that do not compress to nothing.
CUT = b"a,b\n" + b"\n".join(b"%d,%d" % (i * i, i**3 % 9973) for i in range(50_000))


def test_zstd(tmp_path):
    with pa.CompressedOutputStream(str(tmp_path / "x.csv.zst"), "zstd") as file:
        file.write(b"a,b\n1,2\n")
    assert both_ways(tmp_path / "x.csv.zst").to_pydict() == {"a": [1], "b": [2]}


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("name", ["x.csv", "x.tsv", "x.txt", "x"])
def test_the_delimiter_is_found(tmp_path, delimiter, name):
    rows = [["name", "a b", "c"], ["x", "1", "2"], ['"a, b; c|d\te"', "3", "4"]]
    text = "\n".join(delimiter.join(row) for row in rows) + "\n"
    table = both_ways(written(tmp_path, text, name))
    assert table.to_pydict() == {"name": ["x", "a, b; c|d\te"], "a b": [1, 3], "c": [2, 4]}


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_ends_of_lines_and_byte_order_mark(tmp_path, end):
    text = "\ufeff" + end.join(["é,b", "1,ü", "2,y", ""])
    assert both_ways(written(tmp_path, text)).to_pydict() == {"é": [1, 2], "b": ["ü", "y"]}


@pytest.mark.parametrize("delimiter", [";", ",", "\t", "|"])
def test_the_line_that_excel_writes_before_the_names(tmp_path, delimiter):
    rows = ["a b", "1 x", "2 y", ""]
    text = f"\ufeffSEP={delimiter}\r\n" + "\r\n".join(rows).replace(" ", delimiter)
    assert both_ways(written(tmp_path, text)).to_pydict() == {"a": [1, 2], "b": ["x", "y"]}


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a;b\n1,5;x\n2;y\n", [1.5, 2.0]),  # Europe
        ("a;b\n1,234;x\n2;y\n", [1.234, 2.0]),
        ("a;b\n1.5;x\n2;y\n", [1.5, 2.0]),
        ("a\tb\n1,5\tx\n2\ty\n", [1.5, 2.0]),
        ("a\tb\n1,234\tx\n2,345\ty\n", ["1,234", "2,345"]),  # thousands, or not: stays text
        ('a,b\n"1,5",x\n"2,25",y\n', [1.5, 2.25]),
        ('a,b\n"1,500",x\n"2,250",y\n', ["1,500", "2,250"]),
        ('a,b\n"1,5",x\n"2,25, or so",y\n', ["1,5", "2,25, or so"]),
        ('a,b\n"1,5","in 2020, 3"\n"2,25",y\n', [1.5, 2.25]),
        ('a,b\n"1.234,50",x\n2,y\n', ["1.234,50", "2"]),
        ("a;b\n1,5;v1.2\n2,5;v1.3\n3,25;y\n", [1.5, 2.5, 3.25]),
        ("a;b\n1.234,5;x\n2;y\n", ["1.234,5", "2"]),
    ],
)
def test_decimal_commas(tmp_path, text, values):
    assert both_ways(written(tmp_path, text))["a"].to_pylist() == values


def test_types_are_found_in_all_of_a_text(tmp_path, monkeypatch):
    monkeypatch.setattr(
        delimited_text, "BLOCK", 200
    )  # bytes, so that most rows are in later blocks
    n = 100
    names = ["whole", "half", "truth", "day", "when", "zone", "code", "word", "empty"]
    plain = ["1", "1", "true", "2020-01-01", "2020-01-01", "2020-01-01T00:00:00Z", "7", "7", ""]
    late = ["2", "1.5", "FALSE", "NA", "2020-01-01 12:00", "", "007", "x", ""]
    text = "\n".join(",".join(row) for row in [names, *[plain] * n, late]) + "\n"
    path = written(tmp_path, text)
    batched = whole(read_batches(path))
    assert [str(kind) for kind in batched.schema.types] == [
        "int64",
        "double",
        "bool",
        "date32[day]",
        "timestamp[us]",
        "timestamp[us, tz=UTC]",
        "string",
        "string",
        "string",
    ]
    last = batched.slice(n).to_pylist()[0]
    assert [last[name] for name in names] == [
        2,
        1.5,
        False,
        None,
        datetime.datetime(2020, 1, 1, 12),
        None,
        "007",
        "x",
        None,
    ]
    assert read_table(path)["half"].type == pa.float64()


def test_text_as_it_is_written(tmp_path):
    path = written(tmp_path, 'a;zip;c\n1,50;007;" x"\nNA;;"""y"""\n')
    batch = whole(read_batches(path, text=True))
    assert batch.to_pydict() == {"a": ["1,50", "NA"], "zip": ["007", ""], "c": [" x", '"y"']}
    assert decimal_mark(batch) == ","
    some = whole(read_batches(path, text=["a"]))
    assert some.to_pydict() == {"a": ["1,50", "NA"], "zip": ["007", None], "c": [" x", '"y"']}


def test_batches_are_small(tmp_path):
    path = written(tmp_path, "a,b\n" + "1,2\n" * 1000)
    for name in (path, tmp_path / "x.parquet"):
        if name != path:
            pq.write_table(pa.table({"a": range(1000)}), name)
        assert [b.num_rows for b in read_batches(name, batch_rows=300)] == [300, 300, 300, 100]


class Standard:
    def __init__(self, content):
        self.buffer = io.BytesIO(content)


@pytest.mark.parametrize("name", ["x.csv", "x.tsv", "x.parquet", "x.arrow", "stream.arrow"])
def test_standard_input(tmp_path, monkeypatch, name):
    WRITERS[name](TABLE, tmp_path / name)
    content = (tmp_path / name).read_bytes()
    monkeypatch.setattr("sys.stdin", Standard(content))
    assert read_table("-").to_pydict() == TABLE.to_pydict()
    monkeypatch.setattr("sys.stdin", Standard(content))
    assert whole(read_batches("-", batch_rows=1)).to_pydict() == TABLE.to_pydict()
    monkeypatch.setattr("sys.stdin", Standard(content))
    as_text = whole(read_batches("-", text=True))
    assert as_text["color"].to_pylist() == TABLE["color"].to_pylist()


def test_long_standard_input(monkeypatch):
    rows = b"".join(b"%d,%d\n" % (i, i * i) for i in range(100_000))
    monkeypatch.setattr("sys.stdin", Standard(gzip.compress(b"a,b\n" + rows)))
    b = whole(read_batches("-"))["b"].to_numpy()
    assert np.array_equal(b, np.arange(100_000) ** 2)


def test_mistakes_in_standard_input(monkeypatch):
    monkeypatch.setattr("sys.stdin", Standard(b""))
    with pytest.raises(InputError, match=r"^Standard input is empty"):
        read_table("-")
    monkeypatch.setattr("sys.stdin", Standard(b"a,b\n1,2\n3\n"))
    with pytest.raises(InputError, match=r"^Standard input: line 3 has 1 instead of 2 values"):
        read_table("-")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_named_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    feeder = threading.Thread(target=(tmp_path / "pipe").write_text, args=("a,b\n1,2\n",))
    feeder.start()
    assert read_table(tmp_path / "pipe").to_pydict() == {"a": [1], "b": [2]}
    feeder.join()


def test_no_such_file(tmp_path):
    written(tmp_path, "a\n1\n", "customers.csv")
    assert "did you mean" in wrong(tmp_path / "custmers.csv")
    assert "customers.csv'?" in wrong(tmp_path / "custmers.csv")
    assert "check the name" in wrong(tmp_path / "zzz")
    assert "nor a folder" in wrong(tmp_path / "zzz" / "x.csv")
    assert "is a folder; name a file" in wrong(tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("x.csv", b"", "is empty"),
        ("x.csv", b"\n \n", "is empty"),
        ("x.csv.gz", gzip.compress(b"", mtime=0), "is empty"),
        ("x.csv", b"a,b\n", "no rows"),
        ("x.csv", b"a,b", "no rows"),
        ("x.csv", b"a,b\n1,2\n3\n", "line 3 has 1 instead of 2 values"),
        (
            "x.csv",
            b"# exported today\n\na,b\n1,2\n",
            "a later line has 2 values; delete the lines above",
        ),
        ("x.csv", b"a;b\n1;2\n1;2;3\n", "put values that hold ';' in quotation marks"),
        ("x.csv", b"a,b,a\n1,2,3\n", "more than one column named 'a'"),
        ("x.csv", "a,b\n1,café\n".encode("latin-1"), "is not in UTF-8 (line 2)"),
        ("x.csv", b"a,b\n" + b"1,x\n" * 99_999 + b"1,\xe9\n", "convert it to UTF-8 first"),
        ("x.csv", "caf\xe9,b\n1,2\n".encode("latin-1"), "is not in UTF-8 (line 1)"),
        ("x.csv", "a,b\n1,2\n".encode("utf-16"), "iconv -f UTF-16 -t UTF-8"),
        ("x.csv", b"5.1,3.5\n4.9,3.0\n", "seems to have no line of names"),
        (
            "x.data",
            b"5.1,3.5,setosa\n4.9,3.0,setosa\n",
            "seems to have no line of names",
        ),
        ("x.csv", b'a,b\n1,"open\n2,3\n', "never closed"),
        ("x.csv", b'a,b\n1,"open' + b"2,3\n" * 3_000_000, "never closed"),
        ("x.csv.gz", gzip.compress(CUT)[:-9000], "cut short"),
        (
            "x.bin",
            b"\x01\x02\x00\x03",
            "unknown format; give CSV, TSV, JSON lines, Parquet or",
        ),
        ("x.parquet", b"a,b\n1,2\n", "not a Parquet file, in spite of its name"),
        ("x.arrow", b"a,b\n1,2\n", "not an Arrow file"),
        ("x.parquet", b"PAR1\x15\x00", "broken or cut short"),
        ("x.arrow", b"ARROW1\0\0\0", "broken or cut short"),
        ("x.arrow", b"\xff\xff\xff\xff\x10", "broken or cut short"),
        ("x.xlsx", b"PK\x03\x04...", "Excel workbook"),
        ("x.csv", b"PK\x03\x04...", "Excel workbook"),
        ("x.json", b'[{"a": 1}]', "is one JSON array; write a line for each row"),
        ("x.parquet.gz", gzip.compress(b"PAR1\x15\0\0\0", mtime=0), "decompress it first"),
    ],
)
def test_one_sentence_for_each_mistake(tmp_path, name, content, sentence):
    assert sentence in wrong(written(tmp_path, content, name))


def test_a_line_is_named_in_a_long_file(tmp_path, monkeypatch):
    monkeypatch.setattr(delimited_text, "BLOCK", 1 << 16)  # the line is in the third block
    path = written(tmp_path, "a,b\n" + "1,2\n" * 40_000 + "3\n" + "1,2\n" * 10)
    assert "line 40002 has 1 instead of 2 values" in wrong(path)


def test_unknown_columns(tmp_path):
    for name in ("x.csv", "x.parquet", "x.arrow"):
        WRITERS[name](TABLE, tmp_path / name)
        assert "did you mean 'income'?" in wrong(tmp_path / name, ["age", "incme"])
        assert "its columns are 'age', 'income'" in wrong(tmp_path / name, ["zz", "qq"])


@pytest.mark.parametrize("name", ["x.parquet", "x.arrow", "stream.arrow"])
def test_two_columns_of_one_name(tmp_path, name):
    twice = pa.table([pa.array([1]), pa.array([2])], names=["a", "a"])
    WRITERS[name](twice, tmp_path / name)
    assert "more than one column named 'a'" in wrong(tmp_path / name)


def test_a_table_without_rows(tmp_path):
    for name in ("x.parquet", "x.arrow"):
        WRITERS[name](TABLE.slice(0, 0), tmp_path / name)
        assert "no rows" in wrong(tmp_path / name)


@pytest.mark.parametrize("name", ["x.parquet", "x.arrow", "stream.arrow", "x.feather"])
def test_broken_files_are_refused_or_read_but_never_crash(tmp_path, name):
    table = pa.concat_tables([TABLE] * 20)
    WRITERS[name](table, tmp_path / name)
    content = (tmp_path / name).read_bytes()
    rng = np.random.default_rng(0)
    refused = 0
    for trial in range(60):
        bad = bytearray(content[: len(content) - trial % 3 * 5])
        for place in rng.integers(8, len(bad), 4):
            bad[place] = rng.integers(256)
        try:
            read_table(written(tmp_path, bytes(bad), "bad"))
        except InputError as error:
            refused += "\n" not in str(error)
    assert refused > 10


def test_text_that_is_not_utf8_in_arrow(tmp_path):
    bad = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"\xe9")]
    )
    write_ipc(pa.table({"a": bad}), tmp_path / "x.arrow")
    assert "broken" in wrong(tmp_path / "x.arrow")


@pytest.mark.parametrize("names", ["0,1,2", "2019,2020,2021", "name,2020,2021", "a,7", "PAR1,b"])
def test_names_that_are_numbers(tmp_path, names):
    text = names + "\n" + ",".join("5" for _ in names.split(",")) + "\n"
    assert both_ways(written(tmp_path, text)).schema.names == names.split(",")


def test_odd_names_of_columns(tmp_path):
    names = ["", "a.b", "a", 'q"', "two\nlines", "<img onerror=x>", "[red]", "={1}", "🌲", "x,y"]
    table = pa.table([pa.array([i, i + 1]) for i in range(len(names))], names=names)
    for name in ("x.csv", "x.parquet", "x.arrow"):
        WRITERS[name](table, tmp_path / name)
        assert both_ways(tmp_path / name).equals(table)
        for column in names:
            assert read_table(tmp_path / name, [column]).equals(table.select([column]))


CELLS = {
    "number": st.floats(allow_nan=False, allow_infinity=False).map(repr),
    "integer": st.integers(-(2**53), 2**53).map(str),
    "truth": st.sampled_from(["true", "false", "True", "FALSE"]),
    "date": st.dates().map(str),
    "time": st.datetimes(datetime.datetime(1700, 1, 1), datetime.datetime(2200, 1, 1)).map(str),
    "text": st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6),
    "missing": st.sampled_from(["", "NA", "null"]),
}


@st.composite
def written_columns(draw):
    kinds = draw(st.lists(st.sampled_from(sorted(CELLS)), min_size=1, max_size=2))
    n = draw(st.integers(1, 8))
    return draw(st.lists(st.one_of(*[CELLS[kind] for kind in kinds]), min_size=n, max_size=n))


@examples(80)
@given(written_columns())
def test_batches_have_the_values_of_the_whole(tmp_path_factory, values):
    """What pyarrow finds for the whole text, batches find too, or keep the text as it is."""
    path = tmp_path_factory.mktemp("x") / "x.csv"
    quoted = ['"' + value.replace('"', '""') + '"' for value in values]
    path.write_bytes("\n".join(["row,x", *(f"1,{q}" for q in quoted)]).encode() + b"\n")
    at_once, batched = read_table(path)["x"], whole(read_batches(path, batch_rows=3))["x"]
    if batched.type == pa.string():
        assert batched.to_pylist() == [value or None for value in values]
    elif at_once.type != pa.string():
        same = at_once.cast(batched.type, safe=False)
        assert same.to_pylist() == batched.to_pylist()
    texts = whole(read_batches(path, text=True))["x"].to_pylist()
    assert texts == values


@pytest.mark.parametrize("name", ["x.csv", "x.parquet", "x.arrow"])
def test_memory_does_not_grow_with_the_file(tmp_path, monkeypatch, name):
    monkeypatch.setattr(delimited_text, "BLOCK", 1 << 17)
    n, at_once = 300_000, 10_000
    table = pa.table({f"x{i}": np.arange(n) * (i + 0.5) for i in range(10)})
    if name == "x.arrow":
        feather.write_feather(table, str(tmp_path / name), compression="lz4", chunksize=at_once)
    elif name == "x.parquet":
        pq.write_table(table, tmp_path / name, row_group_size=at_once)
    else:
        pacsv.write_csv(table, tmp_path / name)
    size = table.nbytes
    del table
    gc.collect()
    before, rows, most = pa.total_allocated_bytes(), 0, 0
    for batch in read_batches(tmp_path / name, batch_rows=at_once, text=True):
        rows += batch.num_rows
        most = max(most, pa.total_allocated_bytes() - before)
    assert rows == n
    assert most < size / 3


def test_a_short_row_that_is_not_utf8_is_told_of_in_one_sentence(tmp_path, capsys):
    """pyarrow prints a traceback where it cannot show such a row to the code that skips it."""
    path = tmp_path / "cut.csv"
    path.write_bytes(b"a,b\n1,2\nx\xe4\n3,4\n")
    with pytest.raises(InputError, match=r"is not in UTF-8 \(line 3\)"):
        read_table(path)
    assert "Traceback" not in capsys.readouterr().err


def test_json_lines_in_blocks_are_those_read_at_once(tmp_path, monkeypatch):
    """A column that is missing, whole or of another type at first has one type in all batches."""
    rows = [{"id": i, "plan": [None, "basic"][i % 2], "day": "2024-01-01"} for i in range(200)]
    rows += [{"id": i + 0.5, "plan": "pro", "day": "soon", "late": i} for i in range(200)]
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    whole = read_table(path)
    monkeypatch.setattr(json_lines, "BLOCK", 500)
    batches = list(read_batches(path, batch_rows=50))
    assert len(batches) > 10
    assert pa.Table.from_batches(batches).to_pylist() == whole.to_pylist()
    assert whole.num_rows == 400
    assert whole.column("late").null_count == 200
    some = pa.Table.from_batches(list(read_batches(path, ["late", "id"])))
    assert some.column_names == ["late", "id"]


def test_json_lines_of_texts_and_numbers_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "t.jsonl"
    path.write_text('{"a": 1}\n' * 50 + '{"a": "x"}\n' * 50)
    for block in (1 << 24, 100):
        monkeypatch.setattr(json_lines, "BLOCK", block)
        with pytest.raises(InputError, match="broken"):
            read_table(path)
