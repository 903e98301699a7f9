"""The benchmark of scale: its tables, what it measures, and what its page shows."""

from dataclasses import asdict, replace

import numpy as np
import pytest

pytest.importorskip("dask")
pytest.importorskip("pyarrow")

from benchmarks import runner, scale
from benchmarks.scale import BLOCK, GB, Mixture, Setting, measure, summary, sweeps, tasks

TINY = Setting(rows=3_000, features=5, k=3, leaves=6, partitions=3)
SMALL = Mixture(BLOCK + 700, 5, 3)


# ---- tables --------------------------------------------------------------------------------------


def test_a_row_depends_on_its_number_alone():
    X = SMALL.rows(0, SMALL.n_rows)
    assert X.dtype == np.float32
    np.testing.assert_array_equal(SMALL.rows(BLOCK - 3, BLOCK + 5), X[BLOCK - 3 : BLOCK + 5])
    np.testing.assert_array_equal(replace(SMALL, n_rows=50).rows(7, 50), X[7:50])
    for n_partitions in (1, 3):
        found = SMALL.dask(n_partitions)
        assert found.numblocks == (n_partitions, 1)
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
    np.testing.assert_array_equal(table.stored(tmp_path)(20, 500), table.rows(20, 500))
    (path,) = tmp_path.iterdir()
    with path.open("ab") as file:
        file.write(b"what a stopped run left")
    longer = SMALL.stored(tmp_path)
    assert [path] == list(tmp_path.iterdir())
    np.testing.assert_array_equal(longer(0, SMALL.n_rows), SMALL.rows(0, SMALL.n_rows))
    np.testing.assert_array_equal(table.stored(tmp_path)(0, 500), table.rows(0, 500))


def test_parquet_files_hold_the_same_rows(tmp_path):
    import pyarrow.parquet as pq

    path = SMALL.parquet(tmp_path, file=60_000, row_group=25_000)
    files = sorted(path.iterdir())
    assert [pq.ParquetFile(file).num_row_groups for file in files] == [3, 2]
    found = np.vstack([pq.read_table(file).to_pandas().to_numpy() for file in files])
    np.testing.assert_array_equal(found, SMALL.rows(0, SMALL.n_rows))


# ---- settings ------------------------------------------------------------------------------------


@pytest.mark.parametrize("quick", [False, True])
def test_one_factor_changes_at_a_time(quick):
    found = sweeps(quick)
    base = found["source"][1]
    for name in ("rows", "features", "k", "leaves", "partitions"):
        settings = [one for one in found[name] if one.where == base.where]
        assert base in settings, name
        changed = {
            key
            for setting in settings
            for key, value in asdict(setting).items()
            if value != getattr(base, key)
        }
        assert changed <= {name, *(["leaves"] if name == "k" else [])}
    keys = [task.key for task in tasks(quick, ())]
    assert len(set(keys)) == len(keys)
    assert 0 < len(tasks(quick, ["leaves"])) < len(keys)


def test_the_largest_table_does_not_fit_into_its_memory():
    big = sweeps(quick=False)["rows"][-1]
    assert (big.rows, big.mixture.n_bytes, big.limit) == (5 * 10**7, 5 * GB, 2 * GB)


def test_memory_means_one_memory():
    assert TINY.in_memory.where == "memory"
    assert TINY.in_memory == replace(TINY, partitions=9).in_memory


# ---- measuring -----------------------------------------------------------------------------------

PLACES = {
    "file": TINY,
    "drawn": replace(TINY, source="drawn", partitions=5),
    "files": replace(TINY, where="files", source="parquet", workers=2),
    "memory": TINY.in_memory,
    "k-means": replace(TINY, given_centers=False),
}


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What was measured of small fits, one for each place that rows come from."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scale, "TABLES", tmp_path_factory.mktemp("tables"))
        return {name: measure(**asdict(setting)) for name, setting in PLACES.items()}


def test_all_places_give_the_same_tree(found):
    assert len({found[name]["tree"] for name in ("file", "drawn", "files", "memory")}) == 1


def test_every_pass_is_counted(found):
    one = found["file"]
    assert one["passes"] == found["files"]["passes"] == found["drawn"]["passes"] > 5
    assert one["kmeans_passes"] == 0 < found["k-means"]["kmeans_passes"]
    assert 0 < found["k-means"]["kmeans_seconds"] < found["k-means"]["seconds"]
    assert one["peak_bytes"] > 10**7


def test_bytes_are_those_of_dask(found):
    assert found["file"]["asked"] > 0
    assert found["file"]["answered"] >= found["file"]["returned"] / 2 > 0
    assert "answered" not in found["files"]
    assert found["files"]["returned"] > 0


def test_the_estimate_of_the_time_is_kept(found):
    (said,) = found["files"]["said"]
    assert said.startswith("3,000 rows")


@pytest.mark.slow
def test_a_limit_of_memory_is_one(tmp_path, monkeypatch):
    limited = replace(PLACES["files"], limit=30 * 10**6)
    result = runner.call(runner.Task("x", "benchmarks.scale:measure", asdict(limited)))
    assert "error" in result


# ---- the page ------------------------------------------------------------------------------------


def test_tables_show_what_was_measured(found, monkeypatch):
    settings = {name: [TINY] for name in sweeps(quick=True)}
    settings["k-means"] = [PLACES["k-means"]]
    settings["rows"] = [TINY, PLACES["files"]]
    monkeypatch.setattr(scale, "sweeps", lambda quick: settings)
    results = {PLACES[name].key: result for name, result in found.items()}
    made = summary(results, True, "a machine")
    first, last = made.tables["rows"].rows
    assert first[0] == last[0] == "3,000"
    assert first[1] == str(found["file"]["passes"])
    assert first[-1] == last[-1] == "yes"
    assert made.tables["k-means"].rows[0][-3] == str(found["k-means"]["kmeans_passes"])
    assert "Parquet files, in a process" in made.texts["large table"]
    nothing = summary({}, True, "a machine")
    assert set(nothing.tables["rows"].rows[0][1:]) == {"-"}
    assert "not measured" in nothing.texts["large table"]
