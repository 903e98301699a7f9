"""Rows that are kept after the first pass: in memory, in a scratch file, or not at all."""

import os
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from tests.helpers.system_faults import full_disk
from treemeans import ExKMC, open_parts
from treemeans.partitioned import partition_cache
from treemeans.partitioned.partition_cache import PartitionCache, available_memory
from treemeans.partitioned.readers import arrow_columns, reread_partitions, row_store
from treemeans.partitioned.readers.row_store import RowStore

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setattr(arrow_columns, "_PARTITION_ROWS", 100)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 4)).astype(np.float32)
    columns = {name: X[:, j] for j, name in enumerate("abcd")}
    pq.write_table(
        pa.table({**columns, "w": rng.random(1000)}), tmp_path / "t.parquet", row_group_size=130
    )
    return tmp_path / "t.parquet"


def counted(parts):
    """Count how often the rows are read."""
    parts.n_reads = 0
    pieces = parts.pieces

    def counting():
        parts.n_reads += 1
        return pieces()

    parts.pieces = counting
    return parts


def fitted(parts, reference="fast"):
    return ExKMC(4, max_leaf_nodes=9, random_state=0, reference=reference).fit(parts)


@pytest.mark.parametrize("weights", [None, "w"])
@pytest.mark.parametrize("memory", [2**40, 3_000, 0])
def test_rows_are_read_once_wherever_they_are_kept(path, monkeypatch, memory, weights):
    """With no memory at all, codes go to a file, and costs are computed again in every pass."""
    names = list("abcd")
    centers = np.random.default_rng(1).normal(size=(4, 4))
    table = pq.read_table(path)
    X = np.column_stack([table.column(name).to_numpy() for name in names])
    sample_weight = None if weights is None else table.column("w").to_numpy()
    expected = ExKMC(4, max_leaf_nodes=9, reference=centers).fit(X, sample_weight=sample_weight)
    monkeypatch.setattr(reread_partitions, "memory_budget", lambda: memory)
    parts = counted(open_parts(path, names, weights))
    model = ExKMC(4, max_leaf_nodes=9, reference=centers).fit(parts)
    assert parts.n_reads == 1
    np.testing.assert_array_equal(model.tree_.feature, expected.tree_.feature)
    np.testing.assert_array_equal(model.tree_.threshold, expected.tree_.threshold)
    np.testing.assert_array_equal(model.tree_.costs, expected.tree_.costs)


def test_where_there_is_no_room_every_pass_reads(path, monkeypatch):
    plain = fitted(open_parts(path, list("abcd")))
    monkeypatch.setattr(reread_partitions, "memory_budget", lambda: 0)
    monkeypatch.setattr(row_store, "_SPARE", 1e15)
    parts = counted(open_parts(path, list("abcd")))
    model = fitted(parts)
    assert parts.n_reads > 5
    np.testing.assert_array_equal(model.tree_.threshold, plain.tree_.threshold)


@pytest.mark.skipif(sys.platform != "linux", reason="a limit on the size of files")
def test_where_the_disk_fills_while_rows_are_kept_every_pass_reads(path, monkeypatch):
    plain = fitted(open_parts(path, list("abcd")))
    monkeypatch.setattr(reread_partitions, "memory_budget", lambda: 0)
    parts = counted(open_parts(path, list("abcd")))
    with full_disk(5_000):
        model = fitted(parts)
    assert parts.n_reads > 5
    np.testing.assert_array_equal(model.tree_.threshold, plain.tree_.threshold)


def test_a_store_says_where_rows_are(path, monkeypatch):
    parts = open_parts(path, list("abcd"))
    seen = []
    reduce = parts.map_reduce

    def watched(step):
        found = reduce(step)
        seen.append(parts.kept_in)
        return found

    parts.map_reduce = watched
    fitted(parts)
    assert set(seen) == {"memory"}
    seen.clear()
    monkeypatch.setattr(reread_partitions, "memory_budget", lambda: 0)
    fitted(parts)
    assert set(seen) == {f"a scratch file in {tempfile.gettempdir()}"}
    assert parts.kept_in == ""  # the fit is over


def test_a_store_refuses_what_does_not_fit(monkeypatch):
    dtype = np.dtype(np.float32)
    assert RowStore.for_rows(dtype, 100, 100).scratch_folder is None
    assert RowStore.for_rows(dtype, 101, 100).scratch_folder == tempfile.gettempdir()
    assert RowStore.for_rows(dtype, 2**62, 100) is None
    assert RowStore.for_rows(dtype, None, 100) is None


FIT = """
import sys, time, os, numpy as np
from tests.helpers.system_faults import full_disk
from treemeans import ExKMC, open_parts
from treemeans.partitioned.readers import reread_partitions
reread_partitions.memory_budget = lambda: 0
parts = open_parts(sys.argv[1])
map_reduce = parts.map_reduce
def slow(step):
    found = map_reduce(step)
    print(os.readlink(f"/proc/self/fd/{parts._store._file.number}"), flush=True)
    time.sleep(60)
parts.map_reduce = slow
ExKMC(4, random_state=0).fit(parts)
"""


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs the files of /proc")
def test_a_killed_process_leaves_no_scratch_file(path, tmp_path):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-c", FIT, str(path)],
        stdout=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(scratch)},
        text=True,
    )
    try:
        name = process.stdout.readline()
        assert name.startswith(str(scratch))  # the rows are in a file there
        process.send_signal(signal.SIGKILL)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    for _ in range(50):
        if not any(scratch.iterdir()):
            break
        time.sleep(0.1)
    assert not any(scratch.iterdir())


def test_codes_and_labels_that_do_not_fit_go_to_a_scratch_file():
    cache = PartitionCache(100)
    codes, labels = np.arange(90, dtype=np.uint8).reshape(9, 10), np.arange(40, dtype=np.int32)
    for number in range(3):
        one = cache.of(number)
        assert one.keep("codes", "key", codes + number, codes.nbytes, spare=True, spills=True)
        assert one.keep("labels", "key", labels + number, labels.nbytes, spills=True)
        assert not one.keep("costs", "key", codes, 101)  # what is made again quickly does not
    assert cache.n_bytes <= 100
    found = [cache.of(number).find("codes", "key") for number in range(3)]
    for number in range(3):
        np.testing.assert_array_equal(found[number], codes + number)
        np.testing.assert_array_equal(cache.of(number).find("labels", "key"), labels + number)
        assert cache.of(number).find("labels", "other") is None
    cache.clear()
    np.testing.assert_array_equal(found[2], codes + 2)  # a view outlives the file
    assert cache.of(1).find("codes", "key") is None


@pytest.mark.parametrize("free", [0, 1000])
def test_a_scratch_file_leaves_half_of_the_free_space(monkeypatch, free):
    monkeypatch.setattr(partition_cache, "free_scratch", lambda: free)
    codes = np.zeros((4, 100), dtype=np.uint8)
    cache = PartitionCache(0)
    kept = [cache.of(i).keep("codes", "key", codes, codes.nbytes, spills=True) for i in range(3)]
    assert kept == ([True, False, False] if free else [False] * 3)


@pytest.mark.skipif(sys.platform != "linux", reason="a limit on the size of files")
def test_where_the_disk_fills_codes_are_found_again():
    codes = np.zeros((4, 100_000), dtype=np.uint8)
    cache = PartitionCache(0)
    with full_disk(5_000):
        assert not cache.of(0).keep("codes", "key", codes, codes.nbytes, spills=True)
    assert cache.of(0).find("codes", "key") is None


def test_a_cache_keeps_to_its_budget():
    cache = PartitionCache(100)
    one = cache.of(1)
    assert one.keep("a", "key", "value", 60)
    assert not one.keep("b", "key", "value", 60)
    assert one.find("a", "key") == "value"
    assert one.find("a", "other key") is None
    assert cache.of(2).find("a", "key") is None
    assert one.keep("a", "other key", "new", 90)  # in place of the first
    assert cache.n_bytes == 90
    assert not one.keep("c", "key", "value", 5, spare=True)
    assert one.keep("a", "key", "value", 10)
    assert one.keep("c", "key", "value", 40, spare=True)
    cache.clear()
    assert (cache.n_bytes, one.find("a", "key")) == (0, None)
    assert available_memory() > 0
