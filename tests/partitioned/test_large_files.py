"""Tables larger than memory: the same answers as from memory, and mistakes in one sentence."""

import pickle
import weakref
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest

from tests.helpers.partitioned_cases import ListedPartitions
from treemeans import ExKMC, open_parts
from treemeans.partitioned import MapReduceStep
from treemeans.partitioned.readers import arrow_columns, large_files, reread_partitions
from treemeans.partitioned.readers.row_store import RowStore
from treemeans.partitioned.row_summary import SummarizeRows

duckdb = pytest.importorskip("duckdb")
pytestmark = pytest.mark.usefixtures("one_thread")


@dataclass(frozen=True)
class Totals(MapReduceStep[tuple]):
    """Where every row is, and what the columns add up to: sees every row once, in order."""

    def map(self, partition):
        weights = np.ones(partition.n_rows) if partition.weights is None else partition.weights
        X = partition.X.astype(np.float64)
        return (
            [(partition.number, partition.first_row, partition.n_rows)],
            X.sum(axis=0),
            weights @ X,
        )

    def reduce(self, one, other):
        assert one[0][-1][0] < other[0][0][0], "in the order of the partitions"
        return one[0] + other[0], one[1] + other[1], one[2] + other[2]


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """Rows of 100 rows, decoded 30 at a time."""
    monkeypatch.setattr(arrow_columns, "_PARTITION_ROWS", 100)
    monkeypatch.setattr("treemeans.partitioned.readers.parquet_partitions.BATCH_ROWS", 30)
    monkeypatch.setattr(large_files, "BATCH_ROWS", 30)


def table(n=1000, seed=0):
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "a": rng.integers(0, 1000, n).astype(np.float32),
            "b": rng.integers(-5, 5, n).astype(np.int16),
            "c": rng.integers(0, 2, n).astype(bool),
        }
    )


def values(data):
    return np.column_stack([data.column(name).to_numpy() for name in data.schema.names])


def write(folder, data, *, name="t.parquet", group=1000, **kwargs):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(data, path, row_group_size=group, **kwargs)
    return path


def rows_of(partitions):
    """All rows, as the blocks give them."""
    return np.concatenate([partition.X for piece in partitions.pieces() for partition in piece])


def refused(source, *args, says, error=ValueError, step=None):
    with pytest.raises(error) as caught:
        large_files.open_table(source, *args).map_reduce(step or SummarizeRows(10))
    sentence = str(caught.value)
    assert says in sentence
    assert sentence.endswith(".")
    assert "\n" not in sentence
    return sentence


# ---- the same rows as in memory ------------------------------------------------------------------


@pytest.mark.parametrize("group", [1, 7, 100, 130, 350, 5000])
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_row_groups_of_any_size(tmp_path, monkeypatch, group, n_jobs):
    monkeypatch.setattr(reread_partitions, "n_threads", lambda _: n_jobs)
    data = table()
    partitions = large_files.open_table(write(tmp_path, data, group=group))
    assert (partitions.n_rows, partitions.n_features, list(partitions.names)) == (
        1000,
        3,
        ["a", "b", "c"],
    )
    np.testing.assert_array_equal(rows_of(partitions), values(data))
    where, total, weighted = partitions.map_reduce(Totals())
    assert [number for number, _, _ in where] == list(range(partitions.n_partitions))
    assert max(rows for _, _, rows in where) <= 100
    assert len(where) <= 20
    np.testing.assert_array_equal(total, values(data).sum(axis=0))
    np.testing.assert_array_equal(weighted, total)


def test_a_summary_of_files_is_that_of_the_same_partitions_in_memory(tmp_path):
    data = table()
    partitions = large_files.open_table(write(tmp_path, data, group=100))
    listed = ListedPartitions(np.split(values(data).astype(np.float32), 10))
    ours, theirs = partitions.map_reduce(SummarizeRows(50)), listed.map_reduce(SummarizeRows(50))
    assert ours.row_counts == theirs.row_counts
    for name in ("low", "high", "binary", "sample", "ranks"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))
    partitions.first_rows = ours.first_rows(partitions.n_partitions)
    assert [first for _, first, _ in partitions.map_reduce(Totals())[0]] == list(
        range(0, 1000, 100)
    )


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        (["f4", "f4"], "f4"),
        (["f4", "i2"], "f4"),
        (["f4", "i4"], "f8"),
        (["f2", "f2"], "f4"),
        (["i1", "u1"], "i2"),
        (["?", "?"], "u1"),
        (["u8", "u1"], "f8"),
        (["i8", "i8"], "i8"),
    ],
)
def test_numbers_keep_their_type_where_kernels_read_it(tmp_path, types, expected):
    data = pa.table({str(i): np.arange(4).astype(kind) for i, kind in enumerate(types)})
    partitions = large_files.open_table(write(tmp_path, data))
    assert rows_of(partitions).dtype == expected
    np.testing.assert_array_equal(rows_of(partitions), values(data))


def test_dates_decimals_and_dictionaries(tmp_path):
    data = pa.table(
        {
            "day": pa.array([0, 1, 19723], pa.date32()),
            "time": pa.array([43_200_000_000, 0, -1], pa.timestamp("us", "UTC")),
            "price": pa.array(["1.25", "2.50", "0.00"]).cast(pa.decimal128(9, 2)),
            "code": pa.array([5, 7, 5]).dictionary_encode(),
        }
    )
    partitions = large_files.open_table(write(tmp_path, data))
    assert partitions.dates == {"day": False, "time": True}
    expected = [[0, 0.5, 1.25, 5], [1, 0, 2.5, 7], [19723, -1 / 86_400_000_000, 0, 5]]
    np.testing.assert_array_equal(rows_of(partitions), expected)


def test_folders_lists_and_columns(tmp_path):
    first, second = table(seed=1), table(250, seed=2)
    write(tmp_path, second, name="data/year=2021/b.parquet")
    write(tmp_path, first, name="data/year=2020/a.parquet")
    (tmp_path / "data" / "README.txt").write_text("not a table")
    (tmp_path / "data" / "_SUCCESS").write_text("")
    partitions = large_files.open_table(tmp_path / "data")
    assert list(partitions.names) == ["a", "b", "c", "year"]
    X = rows_of(partitions)
    np.testing.assert_array_equal(X[:, :3], np.concatenate([values(first), values(second)]))
    np.testing.assert_array_equal(X[:, 3], np.repeat([2020, 2021], [1000, 250]))
    listed = large_files.open_table(
        [tmp_path / "data/year=2021/b.parquet", str(tmp_path / "data/year=2020/a.parquet")],
        ["c", "a"],
    )
    both = pa.concat_tables([second, first]).select(["c", "a"])
    np.testing.assert_array_equal(rows_of(listed), values(both))


def test_many_small_files_are_put_together(tmp_path):
    data = table(300)
    for i in range(60):
        write(tmp_path, data.slice(5 * i, 5), name=f"data/{i:02}.parquet")
    partitions = large_files.open_table(tmp_path / "data")
    assert partitions.n_partitions == 3
    np.testing.assert_array_equal(rows_of(partitions), values(data))


def test_weights_are_a_column(tmp_path):
    data = table().append_column("w", pa.array(np.arange(1000) % 3))
    partitions = large_files.open_table(write(tmp_path, data), None, "w")
    assert list(partitions.names) == ["a", "b", "c"]
    X = values(data)
    _, _, weighted = partitions.map_reduce(Totals())
    np.testing.assert_array_equal(weighted, X[:, 3] @ X[:, :3])
    assert partitions.map_reduce(SummarizeRows(5)).weight == X[:, 3].sum()
    refused(write(tmp_path, data), ["a"], "v", says="no column 'v'")
    bad = data.set_column(3, "w", pa.array(np.arange(1000) - 150))
    refused(write(tmp_path, bad), None, "w", says="weights of partition 0")


def test_names_reach_the_reference_in_a_frame_that_shares_memory(tmp_path):
    partitions = large_files.open_table(write(tmp_path, table()))
    partition = next(iter(next(partitions.pieces())))
    assert list(partition.raw.columns) == ["a", "b", "c"]
    assert np.shares_memory(partition.raw.to_numpy(), partition.X)


@pytest.mark.parametrize("kind", ["filtered", "in memory", "arrow files", "query", "csv query"])
def test_what_can_only_be_streamed(tmp_path, kind):
    data = table()
    path = write(tmp_path, data, group=130)
    kept = values(data)
    if kind == "filtered":
        source = pads.dataset(path).filter(pads.field("b") > 0)
        kept = kept[kept[:, 1] > 0]
    elif kind == "in memory":
        source = pads.dataset(data)
    elif kind == "arrow files":
        pads.write_dataset(data, tmp_path / "arrow", format="feather")
        source = pads.dataset(tmp_path / "arrow", format="feather")
    elif kind == "query":
        source = duckdb.sql(f"select c, a from '{path}' where b > 0")
        kept = kept[kept[:, 1] > 0][:, [2, 0]]
    else:
        import pyarrow.csv as pacsv

        pacsv.write_csv(data, tmp_path / "t.csv")
        source = duckdb.sql(f"select * from '{tmp_path / 't.csv'}'")
    partitions = large_files.open_table(source)
    assert partitions.n_rows == len(kept)
    np.testing.assert_array_equal(rows_of(partitions), kept)
    for _ in range(2):
        np.testing.assert_array_equal(partitions.map_reduce(Totals())[1], kept.sum(axis=0))
    summary = partitions.map_reduce(SummarizeRows(10))
    assert summary.n_rows == len(kept)
    partitions.first_rows = summary.first_rows(partitions.n_partitions)
    assert partitions.map_reduce(Totals())[0][-1][1] == 100 * (partitions.n_partitions - 1)


def test_a_query_takes_columns_with_any_name():
    query = duckdb.sql("""select range as "a ""b"" ' ; drop", 1.5::float as c from range(250)""")
    partitions = large_files.open_table(query, ['a "b" \' ; drop'])
    np.testing.assert_array_equal(rows_of(partitions)[:, 0], np.arange(250))


# ---- mistakes ------------------------------------------------------------------------------------


def test_wrong_paths(tmp_path):
    refused(tmp_path / "none.parquet", says="no file", error=FileNotFoundError)
    refused(str(tmp_path), says="no Parquet file")
    refused([], says="name at least one")
    (tmp_path / "t.parquet").write_text("a,b\n1,2\n")
    refused(tmp_path / "t.parquet", says="is not a Parquet file")
    whole = write(tmp_path, table(), name="whole.pq")
    (tmp_path / "cut.parquet").write_bytes(whole.read_bytes()[:900])
    refused(tmp_path / "cut.parquet", says="cut.parquet' cannot be read")
    refused([whole, tmp_path / "cut.parquet"], says="cut.parquet' cannot be read")


def test_wrong_columns(tmp_path):
    path = write(tmp_path, table())
    refused(path, ["a", "z"], says="no column 'z'; the columns are 'a', 'b', 'c'")
    refused(path, [], says="no column to cluster by")
    lists = table(3).append_column("visits", pa.array([[1], [2, 3], []]))
    for source in (write(tmp_path, lists), duckdb.from_arrow(lists), pads.dataset(lists)):
        refused(source, says="'visits' holds lists")


def test_no_rows(tmp_path):
    refused(write(tmp_path, table(0)), says="no rows")
    refused(duckdb.sql("select 1 as a where false"), says="no rows")
    refused(pads.dataset(table()).filter(pads.field("a") < -1), says="no rows")


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("kind", ["file", "query"])
def test_what_is_no_number_in_the_third_partition(tmp_path, value, kind):
    a = table().column("a").to_pylist()
    a[217] = value
    path = write(tmp_path, table().set_column(0, "a", pa.array(a, pa.float32())), group=100)
    source = path if kind == "file" else duckdb.sql(f"from '{path}'")
    assert "row 17" in refused(source, says="Partition 2")


def test_files_of_different_columns(tmp_path):
    first = write(tmp_path, table())
    other = write(tmp_path, table().select(["a", "b"]), name="u.parquet")
    refused([first, other], says="u.parquet' has no column 'c'")
    text = table().set_column(2, "c", pa.array(["x"] * 1000))
    refused(
        [first, write(tmp_path, text, name="v.parquet")],
        says="v.parquet' holds string, but numbers in other",
    )
    dates = table().set_column(2, "c", pa.array(np.arange(1000), pa.timestamp("s")))
    refused([first, write(tmp_path, dates, name="w.parquet")], says="dates in some files")
    wide = table().set_column(1, "b", pa.array(np.arange(1000) + 0.1))
    partitions = large_files.open_table([first, write(tmp_path, wide, name="x.parquet")])
    np.testing.assert_array_equal(
        rows_of(partitions), np.concatenate([values(table()), values(wide)])
    )


@pytest.fixture
def nothing_kept(monkeypatch):
    """As where there is no room for rows, neither in memory nor on the disk: passes read again."""
    monkeypatch.setattr(RowStore, "for_rows", lambda *_: None)


@pytest.mark.usefixtures("nothing_kept")
def test_files_and_queries_that_change_between_passes(tmp_path):
    path = write(tmp_path, table())
    partitions = large_files.open_table(path)
    partitions.map_reduce(SummarizeRows(10))
    write(tmp_path, table(900))
    with pytest.raises(ValueError, match=r"has changed while it was read; start again\.$"):
        partitions.map_reduce(SummarizeRows(10))
    path.unlink()
    with pytest.raises(ValueError, match="cannot be read"):
        partitions.map_reduce(SummarizeRows(10))

    connection = duckdb.connect()
    connection.execute("create table t as select range as a from range(1000)")
    partitions = large_files.open_table(connection.sql("from t"))
    partitions.map_reduce(SummarizeRows(10))
    connection.execute("update t set a = 7 where a = 3")
    with pytest.raises(ValueError, match=r"^The query gave other rows than at first; .*\.$"):
        partitions.map_reduce(SummarizeRows(10))
    connection.execute("delete from t where a = 9")
    with pytest.raises(ValueError, match=r"gave 1,000 rows at first, and 999 now"):
        partitions.map_reduce(SummarizeRows(10))
    connection.execute("insert into t select range from range(500)")
    with pytest.raises(ValueError, match=r"gave 1,000 rows at first, and more now"):
        partitions.map_reduce(SummarizeRows(10))
    connection.execute("drop table t")
    with pytest.raises(ValueError, match="DuckDB could not run the query"):
        partitions.map_reduce(SummarizeRows(10))


@pytest.mark.usefixtures("nothing_kept")
def test_a_query_in_another_order_is_the_same_query():
    connection = duckdb.connect()
    connection.execute("create table t as select range as a, range * 2 as b from range(1000)")
    partitions = large_files.open_table(connection.sql("from t"))
    before = partitions.map_reduce(Totals())[1]
    connection.execute("create or replace table t as from t order by hash(a)")
    np.testing.assert_array_equal(partitions.map_reduce(Totals())[1], before)


def test_a_failure_in_a_thread_stops_the_rest(tmp_path, monkeypatch):
    monkeypatch.setattr(reread_partitions, "n_threads", lambda _: 3)
    a = table(5000).column("a").to_pylist()
    a[350] = a[1200] = None
    path = write(tmp_path, pa.table({"a": a}), group=100)
    refused(path, says="Partition 3 contains NaN (row 50")


class Alive(MapReduceStep[int]):
    """How many blocks were in memory at a time, at most."""

    def __init__(self):
        self.seen = []

    def map(self, partition):
        self.seen.append(weakref.ref(partition.X.base))
        return sum(each() is not None for each in self.seen)

    def reduce(self, one, other):
        return max(one, other)


@pytest.mark.usefixtures("nothing_kept")
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("kind", ["large groups", "small groups", "query"])
def test_few_blocks_are_in_memory_at_a_time(tmp_path, monkeypatch, kind, n_jobs):
    monkeypatch.setattr(reread_partitions, "n_threads", lambda _: n_jobs)
    path = write(tmp_path, table(5000), group=10 if kind == "small groups" else 1000)
    partitions = large_files.open_table(duckdb.sql(f"from '{path}'") if kind == "query" else path)
    assert partitions.n_partitions == 50
    assert partitions.map_reduce(Alive()) <= (2 * n_jobs + 2 if kind == "query" else 2 * n_jobs)


# ---- on dask's schedulers ------------------------------------------------------------------------


@pytest.mark.parametrize("scheduler", ["threads", "sync"])
def test_dask_gives_the_same_answers(tmp_path, scheduler):
    dask = pytest.importorskip("dask")
    from treemeans.partitioned.readers.dask_parquet import DaskParquetPartitions

    path = write(tmp_path, table(5000), group=130)
    ours = large_files.open_table(path)
    with dask.config.set(scheduler=scheduler):
        theirs = DaskParquetPartitions(large_files.open_table(path))
        assert list(theirs.names) == ["a", "b", "c"]
        assert theirs.map_reduce(Totals())[0] == ours.map_reduce(Totals())[0]
        summary = theirs.map_reduce(SummarizeRows(20))
        np.testing.assert_array_equal(summary.sample, ours.map_reduce(SummarizeRows(20)).sample)
        theirs.first_rows = summary.first_rows(theirs.n_partitions)
        assert theirs.map_reduce(Totals())[0][-1][1] > 4800
        path.unlink()
        with pytest.raises(ValueError, match="cannot be read"):
            theirs.map_reduce(Totals())


def test_a_question_to_dask_is_small(tmp_path):
    pytest.importorskip("dask")
    from treemeans.partitioned.readers.dask_parquet import DaskParquetPartitions

    partitions = DaskParquetPartitions(
        large_files.open_table(write(tmp_path, table(5000), group=130))
    )
    assert max(len(pickle.dumps(piece)) for piece in partitions.files.cut) < 1000
    assert len(pickle.dumps(partitions.files.converter)) < 1000


# ---- a fit ---------------------------------------------------------------------------------------


def test_a_fit_is_that_of_the_rows_in_memory(tmp_path):
    data = table(600)
    path, X = write(tmp_path, data, group=70), values(data)
    centers = X[[3, 50, 99, 400]].astype(float)
    expected = ExKMC(4, max_leaf_nodes=9, reference=centers).fit(X)
    for source in (pads.dataset(path), duckdb.sql(f"from '{path}'"), open_parts(path)):
        model = ExKMC(4, max_leaf_nodes=9, reference=centers).fit(source)
        assert list(model.feature_names_in_) == ["a", "b", "c"]
        np.testing.assert_array_equal(model.tree_.feature, expected.tree_.feature)
        np.testing.assert_array_equal(model.tree_.threshold, expected.tree_.threshold)
        assert model.inertia_ == pytest.approx(expected.inertia_)
        with pytest.raises(ValueError, match="A fitted model takes rows in memory"):
            model.predict(source)


def test_weights_of_a_fit_are_the_name_of_a_column(tmp_path):
    weights = np.arange(600) % 3
    data = table(600).append_column("w", pa.array(weights))
    X, path = values(data)[:, :3], write(tmp_path, data, group=70)
    centers = X[[3, 50, 99, 400]].astype(float)
    expected = ExKMC(4, max_leaf_nodes=9, reference=centers).fit(X, sample_weight=weights)
    model = ExKMC(4, max_leaf_nodes=9, reference=centers)
    model.fit(pads.dataset(path), sample_weight="w")
    np.testing.assert_array_equal(model.tree_.threshold, expected.tree_.threshold)
    model.fit(open_parts(path, weights="w"))
    np.testing.assert_array_equal(model.tree_.threshold, expected.tree_.threshold)
    with pytest.raises(ValueError, match="pass its name as sample_weight"):
        model.fit(pads.dataset(path), sample_weight=weights)
    with pytest.raises(ValueError, match="Leave sample_weight out: these rows have their weights"):
        model.fit(open_parts(path, weights="w"), sample_weight=weights)
