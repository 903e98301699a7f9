"""Workers die, schedulers vanish, partitions are bad: the same answer comes, or one sentence."""

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, Future, LocalCluster

from tests.helpers.map_reduce_steps import (
    Crowd,
    Deadly,
    HeldUp,
    Order,
    Slow,
    Total,
    held_up,
    tracked,
)
from tests.helpers.partitioned_cases import ListedPartitions
from treemeans import ExKMC
from treemeans.partitioned.readers.open_partitioned import as_partitioned
from treemeans.partitioned.row_summary import SummarizeRows

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="processes are killed by signals")
X = np.random.default_rng(0).normal(size=(240, 3)).round(2)
PIECES = np.split(X, 12)
ROWS = da.from_array(X, chunks=(20, 3))
TOTAL = ListedPartitions(PIECES).map_reduce(Total())


@pytest.fixture(scope="module")
def cluster():
    """Two workers, each a process; what they log of being killed is of no interest."""
    with LocalCluster(
        processes=True,
        n_workers=2,
        threads_per_worker=1,
        memory_limit="2GiB",
        dashboard_address="127.0.0.1:0",
        silence_logs=logging.CRITICAL,
    ) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    with dask.config.set({"treemeans.timeout": "2 minutes"}), Client(cluster) as client:
        client.wait_for_workers(2, timeout=120)
        yield client


def wait_for(what, seconds=120):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end
        time.sleep(0.01)


@contextmanager
def killer(folder):
    """Kills the process that waits for it."""

    def kill():
        wait_for((folder / "pid").exists)
        os.kill(int((folder / "pid").read_text()), signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    yield
    thread.join()
    assert (folder / "pid").exists()


def test_passes_on_a_cluster(client):
    weights = np.arange(240) % 5
    partitions = as_partitioned(ROWS, weights)
    expected = ListedPartitions(PIECES, np.split(weights.astype(float), 12))
    assert partitions.map_reduce(Order()) == expected.map_reduce(Order())
    np.testing.assert_array_equal(partitions.map_reduce(Total(3)), 3 * TOTAL)
    frame = dd.from_pandas(pd.DataFrame(X, columns=["a", "b", "c"]), npartitions=12)
    np.testing.assert_array_equal(as_partitioned(frame).map_reduce(Total()), TOTAL)
    np.testing.assert_array_equal(as_partitioned(ROWS.persist()).map_reduce(Total()), TOTAL)


def test_nothing_is_left_on_the_cluster(client):
    as_partitioned(ROWS).map_reduce(Total())
    wait_for(lambda: not client.cluster.scheduler.tasks)


def test_a_worker_holds_one_part_at_a_time(client):
    pieces = [dask.delayed(tracked)(number) for number in range(20)]
    rows = da.concatenate([da.from_delayed(piece, (50, 3), float) for piece in pieces])
    assert as_partitioned(rows).map_reduce(Crowd()) == 1


def test_a_worker_is_killed_in_a_chain_of_passes(client, tmp_path):
    partitions = as_partitioned(ROWS, np.ones(240))
    np.testing.assert_array_equal(partitions.map_reduce(Total()), TOTAL)
    with killer(tmp_path):
        found = partitions.map_reduce(HeldUp(number=5, folder=str(tmp_path)))
    np.testing.assert_array_equal(found, TOTAL)
    assert [row[3] for row in partitions.map_reduce(Order())] == [20.0] * 12


def test_a_worker_is_killed_in_the_middle_of_a_fit(client, tmp_path):
    model = ExKMC(3, max_leaf_nodes=5, reference=X[:3])
    expected = model.fit(X).tree_
    rows = ROWS.map_blocks(held_up, folder=str(tmp_path), reads=40, dtype=float)
    with killer(tmp_path):
        tree = model.fit(rows).tree_
    assert len(list(tmp_path.glob("read-*"))) > 60  # there were passes after it
    np.testing.assert_array_equal(tree.feature, expected.feature)
    np.testing.assert_array_equal(tree.threshold, expected.threshold)
    np.testing.assert_array_equal(tree.label, expected.label)


BAD = {
    "nan": (np.where(X[:20] == X[4, 1], np.nan, X[:20]), r"Partition 2 contains NaN \(row 4, col"),
    "text": (np.full((20, 3), "x", dtype=object), "Partition 2 holds something that is no number"),
    "narrow": (X[:20, :2], r"Partition 2 has the shape \(20, 2\); the others have 3 columns"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_partition_is_named(client, case):
    bad, message = BAD[case]
    pieces = [da.from_array(X[:20])] * 4
    pieces[2] = da.from_delayed(dask.delayed(bad), (20, 3), float)
    with pytest.raises(ValueError, match="^" + message) as caught:
        as_partitioned(da.concatenate(pieces)).map_reduce(SummarizeRows(5))
    assert "\n" not in str(caught.value)


def test_empty_partitions_are_left_out_of_a_fit(client):
    rows = da.from_array(X, chunks=((100, 0, 140), 3))
    model = ExKMC(3, max_leaf_nodes=4, reference=X[:3])
    with pytest.warns(UserWarning, match=r"^Partition 1 of 3 is empty and is left out\.$") as seen:
        tree = model.fit(rows).tree_
    assert len(seen) == 1
    np.testing.assert_array_equal(tree.threshold, model.fit(X).tree_.threshold)


def test_a_pass_on_a_cluster_ends_in_time(client, tmp_path):
    until, limit = tmp_path / "until", {"treemeans.timeout": "300ms"}
    partitions = as_partitioned(ROWS)
    with dask.config.set(limit), pytest.raises(TimeoutError, match=r"longer than 0\.3 seconds"):
        partitions.map_reduce(Slow(until=str(until)))
    until.touch()
    wait_for(lambda: not client.cluster.scheduler.tasks)  # nothing of it goes on
    np.testing.assert_array_equal(partitions.map_reduce(Total()), TOTAL)


def test_a_pass_on_a_cluster_can_be_interrupted(client, tmp_path, no_collection):
    until = tmp_path / "until"

    def interrupt():
        wait_for(lambda: client.cluster.scheduler.tasks)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        as_partitioned(ROWS).map_reduce(Slow(until=str(until)))
    thread.join()
    until.touch()
    wait_for(lambda: not client.cluster.scheduler.tasks)


def test_work_that_is_cancelled_by_someone_else(client, tmp_path):
    until = tmp_path / "until"

    def cancel():
        wait_for(lambda: client.futures)
        client.cancel([Future(key, client) for key in list(client.futures)])

    thread = threading.Thread(target=cancel)
    thread.start()
    with pytest.raises(ConnectionError, match="cancelled the work in the middle of a fit"):
        as_partitioned(ROWS).map_reduce(Slow(until=str(until)))
    thread.join()
    until.touch()


def test_predictions_on_a_cluster(client):
    model = ExKMC(3, max_leaf_nodes=5, reference=X[:3]).fit(X)
    np.testing.assert_array_equal(model.predict(ROWS).compute(), model.predict(X))
    assert model.score(ROWS) == pytest.approx(model.score(X), rel=1e-14)


def test_a_part_that_no_worker_survives(client, monkeypatch):
    monkeypatch.setattr(client.cluster.scheduler, "allowed_failures", 0)
    rows = da.ones((240, 3), chunks=(20, 3))
    with pytest.raises(RuntimeError, match=r"1 worker died while partition \d+, or another .* mem"):
        as_partitioned(rows).map_reduce(Deadly(number=5))


@pytest.fixture
def scheduler(tmp_path):
    """A scheduler in a process of its own, to which no worker ever comes."""
    address = tmp_path / "scheduler.json"
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--dashboard-address", ":0"]
    process = subprocess.Popen(
        [*command, "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(address)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(address.exists)
        client = Client(scheduler_file=str(address), timeout=60)
        client.run_on_scheduler(type, Total())  # it has to import what is asked, which takes time
        with dask.config.set({"treemeans.timeout": "2 minutes"}):
            yield process
    finally:
        process.kill()
        process.wait()
    client.close(timeout=5)


def after(seconds, action):
    timer = threading.Timer(seconds, action)
    timer.start()
    return timer


def test_a_lost_scheduler_and_one_without_workers(scheduler):
    process, partitions = scheduler, as_partitioned(ROWS)
    limit = {"treemeans.timeout": "300ms"}
    with dask.config.set(limit), pytest.raises(TimeoutError, match="the cluster has no workers"):
        partitions.map_reduce(Total())
    process.send_signal(signal.SIGSTOP)
    with dask.config.set(limit), pytest.raises(TimeoutError, match="scheduler does not answer"):
        partitions.map_reduce(Total())
    process.send_signal(signal.SIGCONT)
    timer = after(1.0, process.kill)
    with pytest.raises(ConnectionError, match=r"^The dask scheduler tcp://.* was lost in the"):
        partitions.map_reduce(Total())
    timer.join()
    with pytest.raises(ConnectionError, match="connect a new Client and fit again"):
        partitions.map_reduce(Total())
