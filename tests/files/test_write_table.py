"""Writing tables: every format, whole or not at all, never over a file that is there."""

import csv
import datetime
import decimal
import gzip
import io
import os
import stat
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet as pq

from tests.helpers.examples import examples
from treemeans.files import write_table
from treemeans.files.csv_lines import csv_lines
from treemeans.files.file_errors import InputError
from treemeans.files.read_table import read_batches, read_table
from treemeans.files.write_table import TableWriter, with_column

BATCH = pa.RecordBatch.from_pydict(
    {
        "id": [1, 2, 3],
        "x": [0.1, None, -2.5e300],
        "said": ["plain", 'a "b", c', "two\nlines"],
        "day": pa.array([0, None, 19_000], pa.date32()),
    }
)
FORMATS = ["x.csv", "x.tsv", "x.txt", "x.csv.gz", "x.tsv.bz2", "x.csv.zst"]
FORMATS += ["x.parquet", "x.pq", "x.arrow", "x.feather", "x.ipc", "X.CSV"]


def saved(path, *batches, **how):
    with TableWriter(path, **how) as writer:
        for batch in batches:
            writer.write(batch)


def sentence_of(call, *args, **more):
    with pytest.raises(InputError) as found:
        call(*args, **more)
    assert "\n" not in str(found.value)
    assert str(found.value).endswith(".")
    return str(found.value)


@pytest.mark.parametrize("name", FORMATS)
def test_what_is_written_is_read(tmp_path, name):
    saved(tmp_path / name, BATCH, BATCH.slice(1, 1), BATCH.slice(0, 0))
    expected = pa.Table.from_batches([BATCH, BATCH.slice(1, 1)])
    assert read_table(tmp_path / name).equals(expected)
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("source", ["x.csv", "x.parquet", "x.arrow"])
@pytest.mark.parametrize("target", ["y.csv", "y.parquet", "y.arrow"])
def test_from_any_format_to_any(tmp_path, source, target):
    saved(tmp_path / source, BATCH, BATCH)
    with TableWriter(tmp_path / target) as writer:
        for batch in read_batches(tmp_path / source, batch_rows=2):
            writer.write(with_column(batch, "cluster", np.arange(batch.num_rows, dtype="i4")))
    found = read_table(tmp_path / target)
    assert found.schema.names == ["id", "x", "said", "day", "cluster"]
    assert found.drop_columns(["cluster"]).equals(pa.Table.from_batches([BATCH, BATCH]))


def test_text_goes_through_unchanged(tmp_path):
    text = 'zip,amount,said,none\n00501,1.50,"a, ""b""",\n1e3,+7,"two\nlines",NA\n'
    (tmp_path / "x.csv").write_text(text)
    saved(tmp_path / "y.csv", *read_batches(tmp_path / "x.csv", text=True))
    assert (tmp_path / "y.csv").read_text() == text


def test_standard_output(monkeypatch):
    class Standard:
        buffer = io.BytesIO()

        def isatty(self):
            return False

    monkeypatch.setattr("sys.stdout", Standard())
    saved(None, BATCH)
    saved("-", BATCH)
    text = Standard.buffer.getvalue().decode()
    expected = 'id,x,said,day\n1,0.1,plain,1970-01-01\n2,,"a ""b"", c",\n'
    expected += '3,-2.5e+300,"two\nlines",2022-01-08\n'
    assert text == 2 * expected


def test_a_file_that_exists_is_not_replaced(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("precious")
    assert "exists; use --force to replace it" in sentence_of(TableWriter, path)
    assert path.read_text() == "precious"
    saved(path, BATCH, force=True)
    assert read_table(path).num_rows == 3


def test_a_file_that_appears_meanwhile_is_not_replaced(tmp_path):
    path = tmp_path / "x.csv"
    writer = TableWriter(path)
    writer.write(BATCH)
    path.write_text("precious")
    assert "exists" in sentence_of(writer.__exit__, None, None, None)
    assert path.read_text() == "precious"
    assert os.listdir(tmp_path) == ["x.csv"]


@pytest.mark.parametrize("name", ["x.csv", "x.csv.gz", "x.parquet", "x.arrow"])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_nothing_is_left_after_a_failure(tmp_path, name, error):
    def fail(force):
        with TableWriter(tmp_path / name, force=force) as writer:
            writer.write(BATCH)
            assert len(os.listdir(tmp_path)) == 1 + force
            assert not (tmp_path / name).exists() or force
            raise error

    with pytest.raises(error):
        fail(force=False)
    assert os.listdir(tmp_path) == []
    (tmp_path / name).write_text("precious")
    with pytest.raises(error):
        fail(force=True)
    assert (tmp_path / name).read_text() == "precious"
    assert os.listdir(tmp_path) == [name]


def test_nothing_is_left_when_a_batch_does_not_fit(tmp_path):
    for name in ("x.parquet", "x.arrow"):
        with pytest.raises((ValueError, pa.ArrowException)):
            saved(tmp_path / name, BATCH, BATCH.select(["id"]))
    assert os.listdir(tmp_path) == []


def test_without_batches_there_is_no_file(tmp_path):
    saved(tmp_path / "x.csv")
    assert os.listdir(tmp_path) == []


def test_places_that_cannot_be_written(tmp_path):
    assert "is a folder" in sentence_of(TableWriter, tmp_path)
    assert "make it first" in sentence_of(TableWriter, tmp_path / "no" / "x.csv")
    for name in ("x", "x.xlsx", "x.json", "x.parquet.gz", "x.gz"):
        assert "name it .csv, .tsv, .parquet or .arrow" in sentence_of(TableWriter, tmp_path / name)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write all")
def test_a_folder_without_permission(tmp_path):
    tmp_path.chmod(0o500)
    try:
        assert "cannot be written" in sentence_of(saved, tmp_path / "x.csv", BATCH)
    finally:
        tmp_path.chmod(0o700)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_a_full_disk(tmp_path):
    rows = pa.RecordBatch.from_pydict({"x": np.arange(100_000)})
    for _ in range(2):
        assert "cannot be written (No space left" in sentence_of(saved, "/dev/full", rows)


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_permissions_are_those_of_any_new_file(tmp_path):
    mask = os.umask(0o022)
    try:
        saved(tmp_path / "x.csv", BATCH)
        assert stat.S_IMODE((tmp_path / "x.csv").stat().st_mode) == 0o644
        (tmp_path / "x.csv").chmod(0o600)
        saved(tmp_path / "x.csv", BATCH, force=True)
        assert stat.S_IMODE((tmp_path / "x.csv").stat().st_mode) == 0o600
    finally:
        os.umask(mask)


@pytest.mark.skipif(os.name != "posix", reason="links and pipes of POSIX")
def test_links_and_pipes(tmp_path):
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to("real.csv")
    assert "exists" in sentence_of(TableWriter, tmp_path / "link.csv")
    saved(tmp_path / "link.csv", BATCH, force=True)
    assert (tmp_path / "link.csv").is_symlink()
    assert read_table(tmp_path / "real.csv").num_rows == 3

    os.mkfifo(tmp_path / "pipe")
    read = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    saved(tmp_path / "pipe", BATCH)
    reader.join()
    assert read == [(tmp_path / "real.csv").read_bytes()]
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_the_source_may_be_the_target(tmp_path):
    for name in ("x.csv", "x.parquet", "x.arrow"):
        saved(tmp_path / name, BATCH)
        batches = read_batches(tmp_path / name, batch_rows=1)
        with TableWriter(tmp_path / name, force=True) as writer:
            for batch in batches:
                writer.write(with_column(batch, "cluster", [7]))
        assert read_table(tmp_path / name)["cluster"].to_pylist() == [7, 7, 7]


def test_row_groups_are_gathered(tmp_path, monkeypatch):
    monkeypatch.setattr(write_table, "_GROUP_ROWS", 7)
    saved(tmp_path / "x.parquet", *[BATCH] * 5)
    groups = pq.ParquetFile(tmp_path / "x.parquet").metadata
    assert [groups.row_group(i).num_rows for i in range(groups.num_row_groups)] == [9, 6]


@pytest.mark.parametrize("name", ["x.csv", "x.parquet", "x.arrow"])
def test_dictionaries_that_change_from_batch_to_batch(tmp_path, name):
    batches = [
        pa.RecordBatch.from_pydict({"a": pa.array(values).dictionary_encode()})
        for values in (["x", "y"], ["z", None], ["y", "x"])
    ]
    saved(tmp_path / name, *batches)
    values = [value or None for value in read_table(tmp_path / name)["a"].to_pylist()]
    assert values == ["x", "y", "z", None, "y", "x"]


def test_a_name_that_is_taken():
    sentence = sentence_of(with_column, BATCH, "said", [1, 2, 3])
    assert "has a column 'said' already" in sentence


def test_what_a_line_cannot_hold(tmp_path):
    for values in ([[1]], [{"a": 1}], [b"\xff"]):
        batch = pa.RecordBatch.from_pydict({"odd": values})
        assert "write a Parquet or Arrow" in sentence_of(saved, tmp_path / "x.csv", batch)
        saved(tmp_path / "x.parquet", batch, force=True)
        assert read_table(tmp_path / "x.parquet")["odd"].to_pylist() == values
    assert os.listdir(tmp_path) == ["x.parquet"]


def test_kinds_of_values_in_lines():
    at = datetime.datetime(2020, 1, 1, 12, 30, 15, 250_000)
    values = {
        "f16": pa.array([np.float16(1.5)]),
        "f32": pa.array([0.1], pa.float32()),
        "whole": [3.0],
        "truth": [True],
        "null": pa.nulls(1),
        "decimal": [decimal.Decimal("1.50")],
        "when": [at],
        "zoned": pa.array([at], pa.timestamp("s", "Asia/Tokyo")),
        "time": [datetime.time(1, 2)],
        "bytes": [b"a,b"],
        "large": pa.array(["x"], pa.large_string()),
    }
    assert csv_lines(pa.RecordBatch.from_pydict(values), ",").decode() == (
        "1.5,0.1,3,true,,1.50,2020-01-01 12:30:15.250000,2020-01-01 12:30:15Z,"
        '01:02:00.000000,"a,b",x\n'
    )


@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|"])
@examples(40)
@given(rows=st.lists(st.tuples(*[st.text('a,;|\t"\n\r é', max_size=4)] * 2), max_size=5))
def test_lines_are_read_by_others(delimiter, rows):
    """The module csv of Python reads the same."""
    columns = [pa.array([row[i] for row in rows], pa.string()) for i in (0, 1)]
    batch = pa.record_batch(columns, names=["a", "b"])
    text = csv_lines(batch, delimiter).decode()
    found = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    assert [tuple(row) for row in found] == rows
    parts = [csv_lines(batch.slice(i, 1), delimiter) for i in range(len(rows))]
    assert b"".join(parts).decode() == text


def test_a_single_column_keeps_its_empty_rows(tmp_path):
    saved(tmp_path / "x.csv", pa.RecordBatch.from_pydict({"a": ["x", "", None, "y"]}))
    assert read_table(tmp_path / "x.csv")["a"].to_pylist() == ["x", None, None, "y"]


def test_only_marks_where_they_are_needed(tmp_path):
    saved(
        tmp_path / "x.tsv.gz", pa.RecordBatch.from_pydict({"a": ["x, y", "t\tt"], "b": ["1", "2"]})
    )
    text = gzip.decompress((tmp_path / "x.tsv.gz").read_bytes()).decode()
    assert text == 'a\tb\nx, y\t1\n"t\tt"\t2\n'


def test_a_terminal_does_not_obey_what_a_table_holds(monkeypatch):
    shown = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=shown, isatty=lambda: True))
    text = "name,cluster\r\n\x1b[31mred\x07,0\r\n\u0085é\t,1\n".encode()
    assert write_table._Terminal().write(text) == len(text)
    expected = "name,cluster\r\n\\x1b[31mred\\x07,0\r\n\\xc285é\t,1\n"
    assert shown.getvalue().decode() == expected
