"""Partitions of dask give the answers of the same rows in a list, on every scheduler."""

import _thread
import multiprocessing
import threading
import time
import warnings
import weakref
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

import cloudpickle
import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from tests.helpers.examples import examples
from tests.helpers.map_reduce_steps import Deadly, Order, Slow, Total
from tests.helpers.partitioned_cases import ListedPartitions
from treemeans import ExKMC
from treemeans.columns.dates import dates_as_days
from treemeans.partitioned import partition_cache
from treemeans.partitioned.readers.open_partitioned import as_partitioned
from treemeans.partitioned.row_summary import SummarizeRows

X = np.random.default_rng(0).normal(size=(130, 3)).round(3)
WEIGHTS = np.random.default_rng(1).integers(0, 4, 130)
FRAME = pd.DataFrame(X, columns=["a", 'say "b"', "c"])
FRAME["day"] = pd.Timestamp("2024-01-01 06:00") + pd.to_timedelta(np.arange(130), unit="h")
LOCAL = ["synchronous", "threads"]


@pytest.fixture(autouse=True)
def one_core():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(scope="module")
def pool():
    """A process, started as on every system: nothing of this one is in it."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        yield pool


def listed(sizes, X=X, weights=None):
    borders = np.cumsum(sizes)[:-1]
    return ListedPartitions(
        np.split(X, borders), None if weights is None else np.split(weights, borders)
    )


def lengths(draw_from):
    """Sizes of partitions that add up to all rows."""
    return [int(size) for size in np.diff([0, *sorted(draw_from), len(X)])]


def quietly(partitions, step):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*empty and .* left out", category=UserWarning)
        return partitions.map_reduce(step)


@examples(30)
@given(
    borders=st.lists(st.integers(0, len(X)), max_size=20),
    columns=st.sampled_from([(3,), (1, 2), (1, 1, 1)]),
    weighted=st.booleans(),
)
def test_any_chunks(borders, columns, weighted):
    sizes = lengths(borders)
    weights = WEIGHTS if weighted else None
    partitions = as_partitioned(da.from_array(X, chunks=(tuple(sizes), columns)), weights)
    assert (partitions.n_partitions, partitions.n_features) == (len(sizes), 3)
    assert partitions.names is None
    assert not partitions.dates
    assert quietly(partitions, Order()) == listed(sizes, weights=weights).map_reduce(Order())


@pytest.mark.parametrize("n_partitions", [1, 2, 8, 9, 64, 65])
def test_answers_are_merged_in_order(n_partitions):
    sizes = [2] * (n_partitions - 1) + [len(X) - 2 * (n_partitions - 1)]
    partitions = as_partitioned(da.from_array(X, chunks=(tuple(sizes), 3)))
    partitions.first_rows = np.arange(n_partitions) * 2
    found = quietly(partitions, Order())
    assert [number for number, *_ in found] == [n for n in range(n_partitions) if sizes[n]]
    assert [first for _, first, *_ in found] == [2 * n for n in range(n_partitions) if sizes[n]]


def test_unknown_sizes():
    rows = da.from_array(X, chunks=(50, 2))
    rows = rows[rows[:, 0] > 0]
    pieces = [piece[piece[:, 0] > 0] for piece in np.split(X, [50, 100])]
    weights = [np.full(len(piece), 2.0) for piece in pieces]
    assert as_partitioned(rows).map_reduce(Order()) == ListedPartitions(pieces).map_reduce(Order())
    assert as_partitioned(rows, 2 * da.ones_like(rows[:, 0])).map_reduce(Order()) == (
        ListedPartitions(pieces, weights).map_reduce(Order())
    )


def test_a_data_frame_with_dates():
    days = np.asarray(dates_as_days(FRAME))
    for npartitions in (1, 4):
        partitions = as_partitioned(dd.from_pandas(FRAME, npartitions=npartitions))
        assert partitions.names.tolist() == list(FRAME.columns)
        assert list(partitions.dates) == ["day"]
        sizes = [row[2] for row in partitions.map_reduce(Order())]
        assert partitions.n_partitions == len(sizes) == npartitions
        found, expected = (
            partitions.map_reduce(SummarizeRows(7)),
            listed(sizes, days).map_reduce(SummarizeRows(7)),
        )
        np.testing.assert_array_equal(found.sample, expected.sample)
        np.testing.assert_array_equal(found.high, expected.high)
        assert found.row_counts == expected.row_counts


def test_names_that_are_no_strings():
    partitions = as_partitioned(dd.from_pandas(pd.DataFrame(X), npartitions=2))
    assert partitions.names is None
    np.testing.assert_array_equal(
        partitions.map_reduce(Total()), listed([65, 65]).map_reduce(Total())
    )


@pytest.mark.parametrize(
    "weights",
    [
        WEIGHTS,
        WEIGHTS.tolist(),
        pd.Series(WEIGHTS),
        da.from_array(WEIGHTS, chunks=65),
        da.from_array(WEIGHTS, chunks=17),
        dd.from_pandas(pd.Series(WEIGHTS), npartitions=2),
    ],
    ids=["array", "list", "series", "same chunks", "other chunks", "dask series"],
)
def test_weights_of_an_array(weights):
    partitions = as_partitioned(da.from_array(X, chunks=(65, 2)), weights)
    assert partitions.map_reduce(Order()) == listed([65, 65], weights=WEIGHTS).map_reduce(Order())


def test_weights_of_a_data_frame():
    frame = FRAME[["a", "c"]].assign(weight=WEIGHTS)
    rows = dd.from_pandas(frame, npartitions=2)
    expected = listed([65, 65], frame[["a", "c"]].to_numpy(), WEIGHTS).map_reduce(Total())
    for weights in (rows.weight, rows.weight.to_dask_array(), da.from_array(WEIGHTS, chunks=65)):
        partitions = as_partitioned(rows[["a", "c"]], weights)
        assert [row[3] for row in partitions.map_reduce(Order())] == [
            WEIGHTS[:65].sum(),
            WEIGHTS[65:].sum(),
        ]
        np.testing.assert_array_equal(partitions.map_reduce(Total()), expected)


ROWS = da.from_array(X, chunks=(65, 3))
UNKNOWN = ROWS[ROWS[:, 0] > -100]


@pytest.mark.parametrize(
    ("rows", "weights", "message"),
    [
        (ROWS, WEIGHTS[:-1], r"sample_weight has the shape \(129,\), but X has 130 rows"),
        (ROWS, da.ones(129), "sample_weight has 129 entries, but X has 130 rows"),
        (ROWS, da.ones((130, 1)), r"must have one dimension; it has the shape \(130, 1\)"),
        (UNKNOWN, da.ones(130, chunks=50), "sample_weight has 3 partitions, but X has 2"),
        (UNKNOWN, WEIGHTS, "It is not known how many rows each partition of X has"),
        (dd.from_pandas(FRAME, npartitions=2), WEIGHTS, "It is not known how many rows"),
        (ROWS, dd.from_pandas(FRAME, npartitions=2), "pass one of its columns"),
        (da.ones((4, 2, 2)), None, "Expected 2D array"),
        (dd.from_pandas(FRAME, npartitions=2)["a"], None, "X is a Series of dask"),
        (dask.delayed(X), None, "X is a Delayed"),
    ],
)
def test_what_does_not_fit_together_is_refused(rows, weights, message):
    with pytest.raises(ValueError, match=message):
        as_partitioned(rows, weights)


def third_is(bad):
    """Four partitions, the third of them something else."""
    pieces = [dask.delayed(X[:10])] * 4
    pieces[2] = dask.delayed(bad)
    return da.concatenate([da.from_delayed(piece, (10, 3), float) for piece in pieces])


BAD = {
    "sparse": (sparse.csr_array((10**7, 10**7)), "Partition 2 is sparse and needs 800000.0 GB"),
    "text": (np.full((10, 3), "x", dtype=object), "Partition 2 holds something that is no number"),
    "narrow": (X[:10, :2], r"Partition 2 has the shape \(10, 2\); the others have 3 columns"),
    "nan": (np.where(X[:10] == X[4, 1], np.nan, X[:10]), r"Partition 2 contains NaN \(row 4, col"),
    "infinity": (np.full((10, 3), np.inf), "Partition 2 contains infinity"),
}


@pytest.mark.parametrize("scheduler", LOCAL)
@pytest.mark.parametrize("case", BAD)
def test_a_bad_partition_is_named(case, scheduler):
    rows, message = BAD[case]
    with dask.config.set(scheduler=scheduler):
        partitions = as_partitioned(third_is(rows))
    with pytest.raises(ValueError, match="^" + message) as caught:
        partitions.map_reduce(SummarizeRows(3))
    assert "\n" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_of_two_bad_partitions_the_first_is_named():
    rows = da.concatenate([third_is(X[:10, :2]), third_is(X[:10, :1])])
    with pytest.raises(ValueError, match=r"^Partition 2 has the shape"):
        as_partitioned(rows).map_reduce(Total())


def test_a_data_frame_with_other_columns_is_named():
    pieces = [dask.delayed(FRAME[:9]), dask.delayed(FRAME[9:20].rename(columns={"c": "C"}))]
    rows = dd.from_delayed(pieces, meta=FRAME[:0], verify_meta=False)
    with pytest.raises(ValueError, match=r"^Partition 1 has the columns 'a', 'say .b.', 'C'"):
        as_partitioned(rows).map_reduce(Total())


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.full(65, np.nan), "The weights of partition 1 must be finite and not negative"),
        (np.full(65, -1.0), "The weights of partition 1 must be finite and not negative"),
        (np.ones(64), r"Partition 1 has 65 rows, but weights of the shape \(64,\)"),
    ],
)
def test_bad_weights_are_named(bad, message):
    pieces = [da.ones(65), da.from_delayed(dask.delayed(bad), (65,), float)]
    with pytest.raises(ValueError, match=message):
        as_partitioned(ROWS, da.concatenate(pieces)).map_reduce(Total())


def test_empty_partitions_are_named_once():
    partitions = as_partitioned(da.from_array(X, chunks=((60, 0, 70), 3)))
    expected = "^Partition 1 of 3 is empty and is left out.$"
    with pytest.warns(UserWarning, match=expected):
        partitions.map_reduce(Total())
    partitions.map_reduce(Total())  # a warning would be an error
    partitions = as_partitioned(da.from_array(X, chunks=((0, 60, 0, 70), 3)))
    expected = "^2 of 4 partitions are empty and are left out: 0, 2.$"
    with pytest.warns(UserWarning, match=expected):
        assert [row[0] for row in partitions.map_reduce(Order())] == [1, 3]


def test_nothing_but_empty_partitions():
    with pytest.raises(ValueError, match="All 3 partitions are empty; there are no rows"):
        as_partitioned(da.zeros((0, 3), chunks=((0, 0, 0), 3))).map_reduce(Total())


def tasks_of(partitions, step):
    """The tasks of a pass, pickled."""
    seen = {}

    def get(graph, keys, **_):
        seen.update(dict(graph.__dask_graph__() if hasattr(graph, "__dask_graph__") else graph))
        return dask.get(seen, keys)

    with dask.config.set(scheduler=get):
        as_partitioned(partitions).map_reduce(step)
    return {key: cloudpickle.dumps(t) for key, t in seen.items()}


def rows_of(number):
    return FRAME[["a"]] + number


@pytest.mark.parametrize(
    "rows",
    [
        da.random.default_rng(0).random((60, 3), chunks=(5, 3)) * 2 + 1,
        dd.from_map(rows_of, range(12), meta=FRAME[["a"]][:0]) * 2,
    ],
    ids=["array", "frame"],
)
def test_a_pass_is_one_task_for_each_part_and_the_question_travels_once(rows):
    tasks = tasks_of(rows, Total(factor=123456789))
    names = Counter(key if isinstance(key, str) else key[0] for key in tasks)
    assert sorted(names.values()) == [1, 3, 12]  # the task, merges, maps
    assert sum((123456789).to_bytes(4, "little") in task for task in tasks.values()) == 1


@pytest.mark.parametrize(("scheduler", "at_once"), [("synchronous", 1), ("threads", 2)])
def test_rows_are_let_go_as_soon_as_they_were_asked(scheduler, at_once):
    alive, most, made = set(), [], []
    lock = threading.Lock()

    def make(block_id=None):
        rows = np.full((4, 3), block_id[0], dtype=float)
        with lock:
            made.append(block_id)
            alive.add(id(rows))
            most.append(len(alive))
        weakref.finalize(rows, alive.discard, id(rows))
        return rows

    rows = da.map_blocks(make, chunks=((4,) * 20, (3,)), dtype=float, meta=np.empty((0, 0)))
    with dask.config.set(scheduler=scheduler, num_workers=2):
        partitions = as_partitioned(rows)
        for _ in range(2):
            partitions.map_reduce(Total())
            assert not alive
    assert len(made) == 40  # nothing was kept for the second pass
    assert max(most) <= at_once


def test_rows_that_were_persisted_are_read_once():
    made = []

    def make(block_id=None):
        made.append(block_id)
        return np.full((4, 3), block_id[0], dtype=float)

    rows = da.map_blocks(make, chunks=((4,) * 5, (3,)), dtype=float, meta=np.empty((0, 0)))
    partitions = as_partitioned(rows.persist())
    np.testing.assert_array_equal(partitions.map_reduce(Total()), partitions.map_reduce(Total()))
    assert len(made) == 5


def test_traffic_does_not_grow_with_rows():
    seen = []
    for factor in (1, 50):
        rows = da.from_array(np.tile(X, (factor, 1)), chunks=(13 * factor, 3))
        partitions = as_partitioned(rows)
        partitions.map_reduce(Total())
        partitions.map_reduce(Total(2))
        seen.append(partitions.traffic)
    few, many = seen
    assert few == many
    assert few.passes == 2
    assert few.answered > 2 * 10 * 24  # ten answers of three whole numbers, twice
    assert 48 < few.returned < few.answered
    assert 0 < few.asked < 1000


def test_bytes_are_those_of_the_arrays():
    partitions = as_partitioned(ROWS)
    partitions.map_reduce(SummarizeRows(50))
    assert partitions.traffic.answered > 2 * 50 * 3 * 8
    assert partitions.traffic.returned < partitions.traffic.answered


def wait_for(what, seconds=60):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end
        time.sleep(0.01)


def passing():
    return [thread for thread in threading.enumerate() if thread.name == "treemeans-pass"]


def counted(asked):
    def note(rows, block_id=None):
        asked.append(block_id[0])
        return rows

    return da.from_array(X, chunks=(13, 3)).map_blocks(note, dtype=float)


@pytest.mark.parametrize("scheduler", LOCAL)
def test_a_pass_ends_in_time(scheduler, tmp_path):
    asked, until = [], tmp_path / "until"
    limit = {"treemeans.timeout": "200ms", "scheduler": scheduler, "num_workers": 1}
    with dask.config.set(limit):
        partitions = as_partitioned(counted(asked))
        with pytest.raises(TimeoutError, match=r"took longer than 0\.2 seconds .*; allow it more"):
            partitions.map_reduce(Slow(until=str(until)))
    until.touch()
    wait_for(lambda: not passing())
    assert len(asked) == 1  # it was read to its end, and no other after it


def test_a_pass_may_take_for_ever():
    with dask.config.set({"treemeans.timeout": None}):
        np.testing.assert_array_equal(
            as_partitioned(ROWS).map_reduce(Total()), listed([65, 65]).map_reduce(Total())
        )


@pytest.mark.parametrize("scheduler", LOCAL)
def test_a_pass_can_be_interrupted(scheduler, tmp_path, no_collection):
    asked, until = [], tmp_path / "until"

    def interrupt():
        wait_for(lambda: asked)
        _thread.interrupt_main()

    with dask.config.set(scheduler=scheduler, num_workers=1):
        partitions = as_partitioned(counted(asked))
        thread = threading.Thread(target=interrupt)
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            partitions.map_reduce(Slow(until=str(until)))
    thread.join()
    until.touch()
    wait_for(lambda: not passing())


def test_what_fails_elsewhere_is_not_dressed_up():
    def lose(rows):
        raise FileNotFoundError("part.7.parquet")

    for scheduler in LOCAL:
        with dask.config.set(scheduler=scheduler):
            partitions = as_partitioned(ROWS.map_blocks(lose, dtype=float))
        with pytest.raises(FileNotFoundError, match=r"^part\.7\.parquet$"):
            partitions.map_reduce(Total())


def test_other_processes(pool, tmp_path):
    with dask.config.set(scheduler="processes", pool=pool):
        assert as_partitioned(ROWS, WEIGHTS).map_reduce(Order()) == (
            listed([65, 65], weights=WEIGHTS).map_reduce(Order())
        )
        for rows, message in BAD.values():
            with pytest.raises(ValueError, match="^" + message) as caught:
                as_partitioned(third_is(rows)).map_reduce(SummarizeRows(3))
            assert "\n" not in str(caught.value)
        until, limit = tmp_path / "until", {"treemeans.timeout": "300ms"}
        with dask.config.set(limit), pytest.raises(TimeoutError, match="took longer than"):
            as_partitioned(ROWS).map_reduce(Slow(until=str(until)))
        until.touch()
        wait_for(lambda: not passing())
        with pytest.raises(RuntimeError, match="A process of dask's pool died while it read a"):
            as_partitioned(ROWS).map_reduce(Deadly(number=1))


@pytest.mark.parametrize("disk", [0, 2**40])
def test_labels_whose_costs_are_not_kept(monkeypatch, disk):
    """Costs of labels do not follow from the rows, so that no pass may price some of them anew."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(3000, 4)), columns=list("abcd"))
    labels = np.array(list("uvwxy"))[rng.integers(0, 5, len(frame))]
    labels[frame.a > 0.3] = "u"
    table = dd.from_pandas(frame.assign(group=labels), npartitions=3)
    trees = []
    with dask.config.set({"treemeans.gather": 0, "scheduler": "synchronous"}):
        for _ in range(2):
            model = ExKMC(reference=table["group"], cost="labels", max_leaf_nodes=15)
            trees.append(model.fit(table[list("abcd")]).tree_)
            monkeypatch.setattr(partition_cache, "memory_budget", lambda: 0)
            monkeypatch.setattr(partition_cache, "free_scratch", lambda: disk)
    for name in ("feature", "threshold", "label", "costs"):
        np.testing.assert_array_equal(getattr(trees[1], name), getattr(trees[0], name))
