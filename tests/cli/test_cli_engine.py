"""``treemeans fit`` on files in passes over their rows: the same output as in memory."""

import json
import re
import sys
import tempfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import treemeans
from tests.cli.test_cli import customers, ok, refused
from treemeans.cli import choose_engine
from treemeans.files.file_schema import ReadOptions
from treemeans.partitioned.readers import arrow_columns

pytestmark = pytest.mark.usefixtures("one_thread")
FIT = ("-k", 4, "--leaves", 8)


def numbers():
    """A table of numbers and dates, which every engine cuts alike."""
    return customers().drop(columns="color")


@pytest.fixture(autouse=True)
def small_parts(monkeypatch, tmp_path):
    """Partitions of 50 rows; and a place of its own for temporary files, empty at the end."""
    monkeypatch.setattr(arrow_columns, "_PARTITION_ROWS", 50)
    monkeypatch.setattr("treemeans.partitioned.readers.parquet_partitions.BATCH_ROWS", 30)
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    yield
    assert list(place.iterdir()) == []


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """What a fit in memory says."""
    path = tmp_path_factory.mktemp("engine") / "customers.parquet"
    numbers().to_parquet(path)
    return ok("fit", path, *FIT, "--engine", "memory")


def write(folder, frame, name="customers.parquet", group=40):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    table = frame if isinstance(frame, pa.Table) else pa.Table.from_pandas(frame)
    pq.write_table(table, path, row_group_size=group)
    return path


def notes(result):
    return [line for line in result.stderr.splitlines() if line.startswith("Note: ")]


def without_shuffling(text):
    """The text without the warning that needs the table in memory, to shuffle its columns."""
    return re.sub(r"Warning: the clusters are no more compact.*\n(  .*\n)*", "", text)


# ---- the same words ------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["stream", "dask"])
def test_every_engine_says_the_same(tmp_path, said, engine):
    path = write(tmp_path, numbers())
    result = ok("fit", path, *FIT, "--engine", engine)
    assert result.stdout == said.stdout
    assert notes(result) == notes(said)
    begin = "read in " if engine == "stream" else "a pass takes "
    assert f"240 rows (0.0058 MB as numbers): {begin}" in result.stderr
    assert " passes are to come, " in result.stderr


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "feather"])
def test_every_format_is_read_in_bounded_memory(tmp_path, said, suffix):
    path = tmp_path / f"customers.{suffix}"
    if suffix == "feather":
        numbers().to_feather(path)
    else:
        numbers().to_csv(path, index=False)
    result = ok("fit", path, *FIT, "--engine", "stream")
    assert result.stdout == said.stdout
    assert notes(result) == notes(said)


def test_standard_input(said):
    text = numbers().to_csv(index=False).encode()
    assert ok("fit", "-", *FIT, "--engine", "stream", input=text).stdout == said.stdout


def test_a_folder_needs_no_engine_to_be_named(tmp_path, said):
    frame = numbers()
    write(tmp_path, frame[:100], "data/part-0.parquet")
    write(tmp_path, frame[100:], "data/part-1.parquet")
    (tmp_path / "data" / "_SUCCESS").write_text("")
    assert ok("fit", tmp_path / "data", *FIT).stdout == said.stdout
    for year, part in (("2020", frame[:100]), ("2021", frame[100:])):
        write(tmp_path, part, f"years/year={year}/part.parquet")
    result = ok("fit", tmp_path / "years", *FIT, "--columns", "spend,year", "--json")
    assert json.loads(result.stdout)["n_rows"] == 240


def test_columns_scale_exact_out_and_json(tmp_path):
    path = write(tmp_path, numbers())
    options = ("-k", 3, "--columns", "visits, spend", "--scale", "none", "--exact", "--json")
    ours, theirs = tmp_path / "ours.json", tmp_path / "theirs.json"
    said = ok("fit", path, *options, "--engine", "stream", "-o", ours)
    assert said.stderr == ""
    found = json.loads(said.stdout)
    expected = json.loads(ok("fit", path, *options, "--engine", "memory", "-o", theirs).stdout)
    assert found.keys() == expected.keys()
    assert found["n_rows"] == expected["n_rows"] == 240
    np.testing.assert_allclose(found["cost"], expected["cost"])
    ours, theirs = treemeans.load(ours), treemeans.load(theirs)
    np.testing.assert_array_equal(ours.tree_.threshold, theirs.tree_.threshold)
    assert str(ours.rules()) == without_shuffling(str(theirs.rules()))
    assert ours.columns_ == theirs.columns_


def test_rows_without_values_are_dropped(tmp_path):
    frame = numbers()
    frame.loc[[5, 70, 71], "spend"] = np.nan
    frame.loc[[71, 200], "visits"] = np.nan
    path = write(tmp_path, frame)
    both = [ok("fit", path, *FIT, "--missing", "drop", "--engine", e) for e in ("memory", "stream")]
    assert "236 rows and 3 columns" in both[1].stdout
    assert both[1].stdout == without_shuffling(both[0].stdout)
    both = [
        ok("fit", path, *FIT, "--missing", "median", "--engine", e) for e in ("memory", "stream")
    ]
    assert both[1].stdout == without_shuffling(both[0].stdout)


def messy():
    """Categories, flags, amounts, dates and durations, some of each missing."""
    rng = np.random.default_rng(3)
    n = 400
    kind = rng.integers(0, 4, n)
    frame = pd.DataFrame(
        {
            "plan": np.array(["basic", "pro", "team", "trial"])[
                np.where(rng.random(n) < 0.8, kind, 0)
            ],
            "country": rng.choice(["DE", "FR", "AT", "CH", "IT"], n),
            "spend": [f"€{v:.2f}" for v in np.exp(rng.normal(kind, 0.3))],
            "zip": [f"{v:05d}" for v in rng.choice([501, 10115, 80331], n)],
            "visits": rng.poisson(3 + 2 * kind),
            "active": rng.random(n) < 0.5,
            "since": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D"),
        }
    )
    frame = frame.astype(object)
    for name in ("plan", "country", "spend", "visits", "active", "since"):
        frame.loc[rng.random(n) < 0.1, name] = None
    paid = pd.Timestamp("2023-01-01") + pd.to_timedelta(200 * kind + rng.integers(0, 99, n), "D")
    frame["paid"] = paid.strftime("%d.%m.%Y")
    frame["sales"] = [f"{v:,.2f}" for v in rng.normal(1000 + 900 * kind, 300)]
    return frame


@pytest.mark.parametrize("engine", ["stream", "dask"])
def test_every_engine_cuts_categories_and_missing_values_alike(tmp_path, engine):
    path, new = tmp_path / "messy.csv", tmp_path / "new.csv"
    messy().to_csv(path, index=False)
    models = [tmp_path / "ours.json", tmp_path / "theirs.json"]
    ours, theirs = (
        ok("fit", path, *FIT, "--engine", e, "-o", model)
        for e, model in zip((engine, "memory"), models, strict=True)
    )
    assert without_shuffling(ours.stdout) == without_shuffling(theirs.stdout)
    ours, theirs = map(treemeans.load, models)
    for name in ("feature", "threshold", "missing_left", "category_codes", "label", "gap"):
        np.testing.assert_array_equal(
            getattr(ours.tree_, name), getattr(theirs.tree_, name), err_msg=name
        )
    assert len(ours.tree_.category_codes) > 0
    assert (ours.tree_.missing_left >= 0).any()
    assert ours.columns_ == theirs.columns_
    assert {c.date_format for c in ours.columns_} == {"", "day.month.year"}
    assert {c.name for c in ours.columns_ if c.kind == "number"} == {"spend", "sales"}
    assert str(ours.preparation_) == str(theirs.preparation_)
    messy().replace({"plan": {"pro": "enterprise"}}).to_csv(new, index=False)
    said = [ok("predict", model, new).stdout for model in models]
    assert said[0] == said[1]


def test_scales_in_passes(tmp_path):
    path = tmp_path / "messy.csv"
    messy().to_csv(path, index=False)
    for scale in ("robust", "rank"):
        ours, theirs = (
            ok("fit", path, *FIT, "--scale", scale, "--engine", e).stdout
            for e in ("stream", "memory")
        )
        assert without_shuffling(ours) == without_shuffling(theirs)


def test_a_report_shows_rows_that_are_drawn(tmp_path, monkeypatch):
    monkeypatch.setattr("treemeans.cli.fit_command._REPORT_ROWS", 100)
    path, page = write(tmp_path, numbers()), tmp_path / "page.html"
    result = ok("fit", path, *FIT, "--engine", "stream", "--report", page)
    assert "Its histograms are of 100 rows, drawn evenly from all." in result.stderr
    assert "customers.parquet" in page.read_text(encoding="utf-8")


def test_numbers_stay_as_small_as_they_are(tmp_path):
    from treemeans.cli.fit_large_file import open_large_file

    frame = pd.DataFrame({"a": np.arange(90, dtype="f4") % 7, "b": np.arange(90) % 5 == 0})
    with open_large_file(str(write(tmp_path, frame)), ReadOptions()) as (parts, _):
        blocks = [block for piece in parts.pieces() for block in piece]
    assert {block.X.dtype for block in blocks} == {np.dtype("f4")}
    assert [block.n_rows for block in blocks] == [40, 50]
    np.testing.assert_array_equal(np.concatenate([block.X for block in blocks]), frame)


def test_a_terminal_sees_what_is_read(tmp_path, monkeypatch, capsys):
    from treemeans import progress
    from treemeans.cli.fit_large_file import open_large_file

    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr(progress, "_PATIENCE", 0)
    monkeypatch.setattr(progress, "_REFRESH", 0)
    path = tmp_path / "customers.csv"
    numbers().to_csv(path, index=False)
    with open_large_file(str(path), ReadOptions(), shown=True):
        pass
    said = capsys.readouterr().err
    assert "treemeans: rows read 240" in said
    assert "treemeans: inferring columns [" in said
    assert "100 % 240 rows" in said


# ---- which engine --------------------------------------------------------------------------------


def test_a_file_too_large_for_memory_is_told_and_streamed(tmp_path, said, monkeypatch):
    path = write(tmp_path, numbers())
    monkeypatch.setattr(choose_engine, "memory_limit", lambda: 10_000)
    result = ok("fit", path, *FIT)
    assert result.stdout == said.stdout
    told = result.stderr.splitlines()[0]
    assert told.startswith(
        "'customers.parquet' needs about 0.046 MB of memory; 0.01 MB are available."
    )
    assert "--engine memory" in told
    assert "passes are to come" in result.stderr
    result = ok("fit", path, *FIT, "--engine", "memory")
    assert "passes are to come" not in result.stderr
    monkeypatch.setattr(choose_engine, "memory_limit", lambda: 10**9)
    assert "passes are to come" not in ok("fit", path, *FIT).stderr


def test_sizes_and_limits(tmp_path, monkeypatch):
    assert 2**26 < choose_engine.memory_limit() < 2**50
    path = write(tmp_path, numbers())
    assert choose_engine.estimate_size(str(path), None) == 240 * 4 * 8
    assert choose_engine.estimate_size(str(path), ["spend"]) == 240 * 8
    (tmp_path / "t.csv").write_text("a\n1\n")
    assert choose_engine.estimate_size(str(tmp_path / "t.csv"), None) == 4
    assert choose_engine.estimate_size("-", None) is None
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(choose_engine, "_LIMITS", (str(limit),))
    limit.write_text("max\n")
    machine = choose_engine.memory_limit()
    limit.write_text("70000000\n")
    assert choose_engine.memory_limit() == 70_000_000 < machine


def test_no_more_threads_than_there_is_memory_for(monkeypatch):
    monkeypatch.setattr("treemeans.threads.n_threads", lambda _: 16)
    for memory, expected in [(10**8, 1), (2 * 10**9, 5), (10**11, 16), (None, 16)]:
        monkeypatch.setattr(choose_engine, "memory_limit", lambda memory=memory: memory)
        assert choose_engine.reading_threads() == expected


def test_dask_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "dask", None)
    path = write(tmp_path, numbers())
    refused("fit", path, *FIT, "--engine", "dask", says='pip install "treemeans[dask]"')


# ---- mistakes ------------------------------------------------------------------------------------


def test_mistakes_in_the_command(tmp_path):
    path, by = write(tmp_path, numbers()), ("--engine", "stream")
    refused("fit", tmp_path / "costumers.parquet", *FIT, *by, says="did you mean")
    refused("fit", tmp_path / "temporary", *FIT, *by, says="no Parquet file")
    refused("fit", path, *FIT, *by, "--columns", "spent", says="did you mean 'spend'?")
    refused("fit", path, "-k", 241, *by, says="The table has 240 rows, too few for 241 clusters")
    refused("fit", path, "-k", 0, *by, says="-k must be at least 1")
    refused("fit", path, "-k", 4, "--leaves", 3, *by, says="--leaves 3 is less than -k 4")
    refused("fit", path, *FIT, *by, "-o", path, says="exists")


def test_mistakes_in_the_file(tmp_path):
    frame = numbers()
    by = ("--engine", "stream")
    refused("fit", write(tmp_path, frame[:0]), *FIT, *by, says="no rows")
    frame["name"] = [f"Ann {i}" for i in range(240)]
    said = ok("fit", write(tmp_path, frame), *FIT, *by).stderr
    assert "left out: it has 240 different texts in 240 rows" in said
    frame = numbers()
    frame.loc[101, "spend"] = np.inf
    refused("fit", write(tmp_path, frame), *FIT, *by, says="Column 'spend' has 1 infinite value")
    broken = write(tmp_path, numbers(), "broken.parquet")
    broken.write_bytes(broken.read_bytes()[:-300])
    refused("fit", broken, *FIT, *by, says="cannot be read")
    text = tmp_path / "t.csv"
    text.write_text("a,b\n1,2\n3\n")
    refused("fit", text, *FIT, *by, says="line 3 has 1 instead of 2 values")


def test_files_of_different_columns(tmp_path):
    frame = numbers()
    write(tmp_path, frame, "data/a.parquet")
    write(tmp_path, frame.drop(columns="visits"), "data/b.parquet")
    refused("fit", tmp_path / "data", *FIT, says="all files must have the same columns")
    write(tmp_path, frame.assign(visits=frame["visits"] + 0.5), "data/b.parquet")
    refused("fit", tmp_path / "data", *FIT, says="is of the type double in")
