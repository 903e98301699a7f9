"""The benchmark of scale: its tables, what it measures, what is worked out, and the pages."""

import json
import math
import re
import sys
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]
if not (ROOT / "benchmarks" / "scale.py").is_file():
    pytest.skip("the benchmarks are not beside the tests", allow_module_level=True)
pytest.importorskip("dask")
pytest.importorskip("pyarrow")
sys.path.insert(0, str(ROOT / "benchmarks"))

import scale  # noqa: E402
import scale_docs  # noqa: E402
import scale_example  # noqa: E402
import scale_law  # noqa: E402
import scale_page  # noqa: E402
import scale_run  # noqa: E402
import scale_worker  # noqa: E402
from scale_cells import FILES, FULL, GB, MADE, MEMORY, PARQUET, QUICK, Setting  # noqa: E402
from scale_data import BLOCK, Table, as_dask, store, write_parquet  # noqa: E402
from scale_law import KINDS, TERMS, Measured  # noqa: E402

TINY = Setting(rows=3_000, features=5, k=3, leaves=6, parts=3)
SMALL = Table(BLOCK + 700, 5, 3)


# ---- tables --------------------------------------------------------------------------------------


def test_a_row_depends_on_its_number_alone():
    X = SMALL.rows(0, SMALL.n_rows)
    assert X.dtype == np.float32
    np.testing.assert_array_equal(SMALL.rows(BLOCK - 3, BLOCK + 5), X[BLOCK - 3 : BLOCK + 5])
    np.testing.assert_array_equal(replace(SMALL, n_rows=50).rows(7, 50), X[7:50])
    for n_parts in (1, 3):
        found = as_dask(SMALL, n_parts)
        assert found.numblocks == (n_parts, 1)
        np.testing.assert_array_equal(found.compute(scheduler="sync"), X)


def test_columns_are_of_three_kinds():
    X = SMALL.rows(0, BLOCK).astype(np.float64)
    whole = (np.rint(X) == X).all(axis=0)
    np.testing.assert_array_equal(whole, [False, False, False, False, True])
    centers = SMALL.centers()
    off = X - centers[((X[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)]
    kurtosis = (off**4).mean(axis=0) / (off**2).mean(axis=0) ** 2
    assert kurtosis[3] > 3 * kurtosis[:3].max()


def test_a_file_begins_with_every_smaller_table(tmp_path):
    table = replace(SMALL, n_rows=500)
    stored = store(table, tmp_path)
    np.testing.assert_array_equal(stored.rows(20, 500), table.rows(20, 500))
    with stored.path.open("ab") as file:
        file.write(b"what a stopped run left")
    longer = store(SMALL, tmp_path)
    assert longer.path == stored.path
    np.testing.assert_array_equal(longer.rows(0, SMALL.n_rows), SMALL.rows(0, SMALL.n_rows))


def test_parquet_files_hold_the_same_rows(tmp_path):
    import pyarrow.parquet as pq

    path = write_parquet(SMALL, tmp_path, file=60_000, group=25_000)
    files = sorted(path.iterdir())
    assert [pq.ParquetFile(file).num_row_groups for file in files] == [3, 2]
    found = np.vstack([pq.read_table(file).to_pandas().to_numpy() for file in files])
    np.testing.assert_array_equal(found, SMALL.rows(0, SMALL.n_rows))


# ---- settings ------------------------------------------------------------------------------------


@pytest.mark.parametrize("plan", [FULL, QUICK])
def test_one_factor_changes_at_a_time(plan):
    for name, sweep in plan.sweeps().items():
        if name in ("rows", "features", "k", "leaves", "parts"):
            assert plan.base in sweep, name
            changed = {
                key
                for setting in sweep
                for key, value in asdict(setting).items()
                if value != getattr(plan.base, key)
            }
            assert changed <= {name, *(["leaves"] if name == "k" else [])}
    settings = plan.settings()
    assert len({setting.key for setting in settings}) == len(settings)
    assert plan.settings(["leaves"], most=plan.base.rows) != settings


def test_a_whole_run_is_not_expected_to_take_all_day():
    assert FULL.rows[0] == 10**5
    assert FULL.big.rows == 5 * 10**7
    assert FULL.big.table.n_bytes == 5 * GB
    assert FULL.big.limit == 2 * GB
    assert 10 * 60 < sum(map(scale_run.guess, FULL.settings())) < 45 * 60
    assert sum(map(scale_run.guess, QUICK.settings())) < 150


# ---- measuring -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    return tmp_path_factory.mktemp("tables")


@pytest.fixture(scope="module")
def found(tables):
    """What was measured of small fits, one for each place that rows come from."""
    places = {
        "file": TINY,
        "made": replace(TINY, source=MADE, parts=5),
        "files": replace(TINY, where=FILES, source=PARQUET, workers=2),
        "memory": TINY.in_memory,
    }
    results = {}
    for name, setting in places.items():
        scale_worker.prepare(setting, tables)
        results[name] = Measured(setting, scale_worker.run(setting, tables))
    return results


def test_all_places_give_the_same_tree(found):
    assert len({one.result["tree"] for one in found.values()}) == 1
    assert {one.result["leaves"] for one in found.values()} == {TINY.leaves}


def test_every_pass_is_counted(found):
    one = found["file"]
    known = {name for names in KINDS.values() for name in names}
    assert set(one.kinds) <= known | {"reference"}
    assert {"sketch", "pricing", "last"} <= set(one.kinds)
    assert one.total("passes", KINDS["first look"]) >= 2
    assert one.passes == found["files"].passes == found["made"].passes
    assert 0 < one.total("seconds") <= one.result["seconds"]
    assert one.result["peak_bytes"] >= one.result["before_bytes"] > 10**7


def test_bytes_are_those_of_dask(found):
    for kind, record in found["file"].kinds.items():
        assert record["asked"] > 0, kind
        assert record["answered"] >= record["returned"] / 2 > 0, kind
    assert found["files"].kinds["sketch"]["answered"] is None
    assert found["files"].total("returned") > 0


def test_the_time_it_will_take_is_kept(found):
    (said,) = found["files"].result["said"]
    assert re.search(r"3,000 rows .*: a pass takes .* more are to come", said)


def test_a_limit_of_memory_is_one(tables):
    setting = replace(TINY, where=FILES, source=PARQUET, limit=30 * 10**6)
    scale_worker.prepare(setting, tables)
    assert "error" in scale_run.measure(setting, tables)


# ---- what is worked out --------------------------------------------------------------------------


def made_up(setting, seconds):
    """A fit whose passes take what ``seconds`` says of a setting."""
    kinds = {
        name: {
            "passes": 2,
            "seconds": 2 * seconds(setting),
            "cpu_seconds": 2 * seconds(setting),
            "worker_seconds": 0.0,
            "asked": 10,
            "answered": 2 * 1000 * setting.parts,
            "returned": 2000,
        }
        for names in KINDS.values()
        for name in names
    }
    peak = 10**8 + setting.rows / setting.parts * (50 + 4 * setting.features + 16 * setting.k)
    about = {"before_bytes": 10**8, "peak_bytes": peak, "seconds": 1.0, "tree": "", "depth": 3}
    return Measured(setting, {"kinds": kinds, **about})


def by_law(s):
    return 1e-8 * s.rows + 2e-9 * s.rows * s.features + 3e-10 * s.rows * s.features * s.k


def test_the_law_finds_what_made_the_times():
    settings = [one for one in FULL.settings() if one.where == "sync" and one.source == "file"]
    cells = [made_up(setting, by_law) for setting in settings]
    law = scale_law.law_of(cells)
    for kind in KINDS:
        constants = law.constants[kind]
        assert set(constants) == {*TERMS, scale_law.BYTE}
        assert constants["row and feature"] == pytest.approx(2e-9, rel=0.01)
        assert constants["row, feature and center"] == pytest.approx(3e-10, rel=0.01)
        far = replace(FULL.base, rows=10**9)
        assert law.seconds(kind, far, 0.0) == pytest.approx(by_law(far), rel=0.01)
    room = scale_law.room_of(cells)
    far = room.bytes(10**6, 40, 20, 1000.0)
    assert far == pytest.approx(10**8 + 10**6 * (50 + 4 * 40 + 16 * 20), rel=0.05)


def test_closer_looks_grow_with_the_logarithm_of_the_rows():
    found = [scale_law.closer_looks(10**power) for power in range(3, 13)]
    assert found == sorted(found)
    assert found[:4] == [1, 1, 1, 1]
    assert found[-1] <= 4


def test_tasks_of_a_pass():
    assert scale_example.n_tasks(1) == 1
    assert scale_example.n_tasks(8) == 9
    assert scale_example.n_tasks(9) == 9 + 2 + 1
    assert scale_example.n_tasks(20_000) == 20_000 + 2_500 + 313 + 40 + 5 + 1


def test_the_slowest_counts():
    shared = {"kind": "price", "n": 2, "answer": 1.0}
    one = scale_example.Pass(
        **shared, compute=1, reading=2, merging=3, scheduler=5, storage=4, network=0
    )
    assert one.seconds == one.workers == 6
    assert replace(one, scheduler=7).seconds == 7


# ---- pages ---------------------------------------------------------------------------------------


def test_small_runs_end_to_end(tmp_path, monkeypatch, capsys, found):
    plan = replace(QUICK, base=TINY, rows=(3_000,), features=(5,), k=(3,), leaves=(6,), parts=(3,))
    monkeypatch.setattr(scale, "QUICK", plan)
    folders = ["--cells", str(tmp_path / "cells"), "--tables", str(tmp_path / "tables")]
    asked = ["--quick", "--only", "rows", "--out", str(tmp_path), *folders]
    scale.main(asked)
    paths = capsys.readouterr().out.split()
    assert [Path(path).name for path in paths] == ["SCALE.md", "scale.md", "scale.png"]
    page = Path(paths[0]).read_text()
    assert "quick run" in page
    assert re.search(r"\| 3,000 \| \d+ \| .* \| yes \|", page)
    results = json.loads((tmp_path / "benchmarks" / "scale.json").read_text())
    trees = {cell["result"]["tree"] for cell in results["cells"]}
    assert trees == {found["file"].result["tree"]}

    monkeypatch.setattr(scale_run, "measure", lambda *_: pytest.fail("it was measured again"))
    scale.main(asked)


def table_lines(text):
    return [line for line in text.splitlines() if line.startswith("|")]


@pytest.mark.parametrize("page", ["benchmarks/SCALE.md", "docs/scale.md"])
def test_the_pages_are_those_of_the_results(page):
    results = json.loads((ROOT / "benchmarks" / "scale.json").read_text())
    plan = QUICK if results["quick"] else FULL
    cells = scale_law.measured(results)
    write = scale_page.page if page.startswith("benchmarks") else scale_docs.page
    text = (ROOT / page).read_text(encoding="utf-8")
    assert text == scale_page.wrapped(write(results, cells, plan))
    assert len(table_lines(text)) > 20
    for line, after in zip(table_lines(text), table_lines(text)[1:], strict=False):
        if after.startswith(("|--", "|:--")):
            assert line.count("|") == after.count("|")
    assert " NO |" not in text
    assert "nan" not in text.lower().split()


def test_numbers_are_written_for_people():
    assert scale_page.size(math.nan) == scale_page.NONE
    assert scale_page.size(5e9) == "5 GB"
    assert scale_page.seconds(1234.5) == "1,234"
    assert scale_page.seconds(0.01234) == "0.0123"
    text = "a b\nc\n\n| x |\n|---:|\n\n- d\n  e\n- f"
    assert scale_page.wrapped(text) == "a b c\n\n| x |\n|---:|\n\n- d e\n- f\n"


def test_memory_means_one_memory():
    assert TINY.in_memory.where == MEMORY
    assert TINY.in_memory == replace(TINY, parts=9).in_memory
