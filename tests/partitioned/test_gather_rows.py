"""Partitioned rows that fit into memory are gathered, and the fit is that of rows in memory."""

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tests.helpers.partitioned_cases import ListedFrames, ListedPartitions, split_rows
from treemeans import ExKMC, open_parts
from treemeans.partitioned import PartitionedRows, gather_rows
from treemeans.partitioned.gather_rows import GatherRows, bytes_in_memory, gather
from treemeans.partitioned.map_reduce import GATHER_BYTES
from treemeans.partitioned.readers.dask_partitions import DaskPartitions
from treemeans.partitioned.readers.pass_timer import PassTimer

pytestmark = pytest.mark.gathers
RNG = np.random.default_rng(0)
CENTERS = 8.0 * RNG.normal(size=(5, 3))
X = CENTERS[RNG.integers(5, size=900)] + RNG.normal(size=(900, 3))
BASES = ["imm", "none", "exgreedy", "emn", "kdtree", "random", "cart", "kauri", "best"]


@pytest.fixture(autouse=True)
def one_core(monkeypatch):
    monkeypatch.setattr(ListedPartitions, "gather_bytes", GATHER_BYTES)
    with dask.config.set(scheduler="synchronous"):
        yield


def shop(n=240):
    """A frame with categories, dates, booleans and missing values."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "plan": rng.choice(["pro", "basic", "team"], n),
            "age": rng.integers(18, 80, n).astype(float),
            "since": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 400, n), "D"),
            "paid": rng.random(n) < 0.5,
        }
    )
    frame.loc[::7, "age"] = np.nan
    return frame


def assert_same(model, expected):
    assert model.to_text() == expected.to_text()
    np.testing.assert_array_equal(model.tree_.threshold, expected.tree_.threshold)
    np.testing.assert_array_equal(model.tree_.costs, expected.tree_.costs)
    np.testing.assert_array_equal(model.cluster_centers_, expected.cluster_centers_)
    assert model.inertia_ == expected.inertia_
    assert not hasattr(model, "labels_")
    assert not hasattr(model, "reference_labels_")


# ---- the fit is that of memory -------------------------------------------------------------------


@pytest.mark.parametrize("base_tree", BASES)
def test_every_base_tree(base_tree):
    settings = {"n_clusters": 5, "max_leaf_nodes": 9, "base_tree": base_tree, "random_state": 0}
    rows = da.from_array(X, chunks=(250, 3))
    assert_same(ExKMC(**settings).fit(rows), ExKMC(**settings).fit(X))


@pytest.mark.parametrize("refine", ["local", "search"])
def test_refinement(refine):
    settings = {"reference": CENTERS, "refine": refine, "max_leaf_nodes": 8, "random_state": 0}
    rows = ListedPartitions(split_rows(X, 4))
    assert_same(ExKMC(**settings).fit(rows), ExKMC(**settings).fit(X))
    assert rows.n_passes == 1


def test_weights():
    weights = RNG.integers(0, 3, len(X)).astype(float)
    rows = da.from_array(X, chunks=(300, 3))
    model = ExKMC(reference=CENTERS).fit(rows, sample_weight=da.from_array(weights, chunks=300))
    assert_same(model, ExKMC(reference=CENTERS).fit(X, sample_weight=weights))


def test_a_frame_of_every_kind():
    frame = shop()
    model = ExKMC(3, random_state=0).fit(dd.from_pandas(frame, npartitions=4))
    expected = ExKMC(3, random_state=0).fit(frame)
    assert_same(model, expected)
    assert [column.kind for column in model._fit_result.columns] == [
        column.kind for column in expected._fit_result.columns
    ]
    assert model.schema_.columns == expected.schema_.columns
    assert list(model.feature_names_in_) == list(frame.columns)
    again = model.predict(dd.from_pandas(frame, npartitions=3)).compute()
    np.testing.assert_array_equal(again, expected.labels_)


def test_numbers_dates_and_booleans_keep_their_kinds():
    frame = shop().drop(columns=["plan", "age"])
    model = ExKMC(3, random_state=0).fit(dd.from_pandas(frame, npartitions=4))
    expected = ExKMC(3, random_state=0).fit(frame)
    assert_same(model, expected)


def test_numbers_with_missing_values():
    frame = shop()[["age"]].assign(more=RNG.normal(size=240))
    rows = ListedFrames([frame[:100], frame[100:]])
    assert_same(ExKMC(3, random_state=0).fit(rows), ExKMC(3, random_state=0).fit(frame))


def test_pipelines_get_the_rows_as_they_were_given():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    pipeline = make_pipeline(StandardScaler(), KMeans(5, n_init=1, random_state=0)).fit(frame)
    expected = ExKMC(reference=pipeline).fit(frame)
    assert_same(ExKMC(reference=pipeline).fit(dd.from_pandas(frame, npartitions=3)), expected)


@pytest.mark.parametrize("with_pipeline", [False, True])
def test_sparse_chunks(with_pipeline):
    table = np.where(RNG.random(X.shape) < 0.5, X, 0.0)
    reference = CENTERS
    if with_pipeline:
        steps = StandardScaler(with_mean=False), KMeans(5, n_init=1, random_state=0)
        reference = make_pipeline(*steps).fit(sparse.csr_array(table))
    rows = da.from_array(table, chunks=(300, 3)).map_blocks(sparse.csr_array)
    model = ExKMC(reference=reference).fit(rows)
    expected = ExKMC(reference=reference).fit(table)
    np.testing.assert_array_equal(model.tree_.threshold, expected.tree_.threshold)


@pytest.mark.parametrize("kind", ["numbers", "categories"])
def test_parquet_files(kind, tmp_path):
    frame = pd.DataFrame(X, columns=["a", "b", "c"]) if kind == "numbers" else shop()
    reference = CENTERS if kind == "numbers" else None
    pq.write_table(pa.Table.from_pandas(frame), tmp_path / "rows.parquet", row_group_size=50)
    model = ExKMC(reference=reference, random_state=0).fit(open_parts(tmp_path / "rows.parquet"))
    assert_same(model, ExKMC(reference=reference, random_state=0).fit(frame))


def test_what_needs_one_memory_is_possible():
    rows = ListedPartitions(np.split(X[:60], 3))
    model = ExKMC(3, refine="optimal", max_leaf_nodes=3, random_state=0).fit(rows)
    assert model.n_leaves_ == 3
    model = ExKMC(3, cost="kmedians", random_state=0).fit(rows)
    assert_same(model, ExKMC(3, cost="kmedians", random_state=0).fit(X[:60]))


# ---- which rows are gathered ---------------------------------------------------------------------


def test_one_pass_where_the_number_of_rows_is_known():
    rows = DaskPartitions.of(da.from_array(X, chunks=(100, 3)))
    ExKMC(reference=CENTERS).fit(rows)
    assert rows.traffic.passes == 1


def test_rows_that_take_more_stay_where_they_are():
    needed = bytes_in_memory(*X.shape, 8, 5)
    for most, passes in [(needed, 1), (needed - 1, 0)]:
        rows = ListedPartitions(np.split(X, 3))
        rows.n_rows, rows.gather_bytes = len(X), most
        assert (gather(rows, CENTERS, None) is not None) == bool(passes)
        assert rows.n_passes == passes


def test_partitions_of_unknown_size_are_looked_at_first():
    rows = ListedPartitions([X[:100], X[100:]])
    rows.gather_bytes = bytes_in_memory(*X.shape, 8, 5)
    gathered = gather(rows, CENTERS, None)
    assert rows.n_passes == 2  # the larger one takes more than half, but both together do not
    np.testing.assert_array_equal(gathered.X, X)
    rows.gather_bytes -= 1
    assert gather(rows, CENTERS, None) is None
    assert rows.n_passes == 3


def test_a_large_partition_sends_nothing():
    rows = ListedPartitions([X])
    step = GatherRows(10**6, 1000, 5)
    found = rows.map_reduce(step)
    assert found.X is None
    assert found.n_bytes == bytes_in_memory(*X.shape, 8, 5)


def test_a_quarter_of_the_available_memory(monkeypatch):
    rows = ListedPartitions([X])
    rows.n_rows = len(X)
    needed = bytes_in_memory(*X.shape, 8, 5)
    monkeypatch.setattr(gather_rows, "available_memory", lambda: 4 * needed - 4)
    assert gather(rows, CENTERS, None) is None
    monkeypatch.setattr(gather_rows, "available_memory", lambda: 4 * needed)
    assert gather(rows, CENTERS, None) is not None


def test_the_size_is_a_setting_of_dask():
    rows = da.from_array(X, chunks=(300, 3))
    assert DaskPartitions.of(rows).gather_bytes == PartitionedRows.gather_bytes == GATHER_BYTES
    with dask.config.set({"treemeans.gather": "64 MB"}):
        assert DaskPartitions.of(rows).gather_bytes == 64 * 10**6
    with dask.config.set({"treemeans.gather": 0}):
        partitions = DaskPartitions.of(rows)
        ExKMC(reference=CENTERS).fit(partitions)
        assert partitions.traffic.passes > 5


def test_timed_passes_stay_passes():
    rows = ListedPartitions(np.split(X, 3))
    ExKMC(reference=CENTERS).fit(PassTimer(rows))
    assert rows.n_passes > 5


def test_labels_stay_with_their_partitions():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    labels = pd.Series(np.where(X[:, 0] > 0, "high", "low"), name="group")
    table = dd.from_pandas(frame.assign(group=labels), npartitions=3)
    model = ExKMC(reference=table["group"], cost="labels").fit(table[["a", "b", "c"]])
    assert model.cluster_names_ == ("high", "low")


# ---- what is wrong with the rows -----------------------------------------------------------------


@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_a_partition_that_cannot_be_used_is_named(value, word):
    table = X.copy()
    table[700, 1] = value
    with pytest.raises(ValueError, match=f"Partition 2 contains {word} .row 100, column 1"):
        ExKMC(reference=CENTERS).fit(da.from_array(table, chunks=(300, 3)))


def test_a_fit_that_fails_keeps_nothing():
    rows = ListedPartitions([X])
    released = []
    rows.release = lambda: released.append(True)
    rows.map_reduce = lambda step: 1 / 0
    with pytest.raises(ZeroDivisionError):
        ExKMC(reference=CENTERS).fit(rows)
    assert released
