"""Predictions for dask's collections stay lazy, and are those made in memory."""

import cloudpickle
import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from treemeans import ExKMC
from treemeans.baselines import CART
from treemeans.partitioned.readers.lazy_prediction import travelling

pytestmark = [pytest.mark.usefixtures("one_thread", "one_core")]
METHODS = ["predict", "apply", "transform"]
X = np.random.default_rng(0).normal(size=(120, 4)).round(2)
FRAME = pd.DataFrame(X, columns=["a", "b", 'say "b"', "<b>"])
FRAME["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(120) % 40, unit="D")


@pytest.fixture(scope="module")
def one_core():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(scope="module")
def model():
    return ExKMC(3, max_leaf_nodes=7, random_state=0, n_jobs=-1).fit(X)


@pytest.fixture(scope="module")
def framed():
    reference = make_pipeline(StandardScaler(), KMeans(3, n_init=2, random_state=0))
    return ExKMC(3, reference=reference).fit(FRAME)


def same(lazy, expected):
    assert isinstance(lazy, da.Array)
    assert lazy.dtype == expected.dtype
    assert lazy.ndim == expected.ndim
    assert lazy.shape[1:] == expected.shape[1:]
    found = lazy.compute()
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("chunks", [(50, 4), (7, 3), (120, 1)])
def test_arrays_with_known_chunks(model, method, chunks):
    rows = da.from_array(X, chunks=chunks)
    lazy = getattr(model, method)(rows)
    assert lazy.chunks[0] == rows.chunks[0]
    same(lazy, getattr(model, method)(X))


@pytest.mark.parametrize("method", METHODS)
def test_arrays_with_unknown_chunks(model, method):
    rows = da.from_array(X, chunks=(40, 2))
    rows = rows[rows[:, 0] > 0]
    lazy = getattr(model, method)(rows)
    assert np.isnan(lazy.shape[0])
    same(lazy, getattr(model, method)(X[X[:, 0] > 0]))


@pytest.mark.parametrize("method", METHODS)
def test_other_types_of_numbers(method):
    whole = (10 * X).astype(np.int16)
    model = ExKMC(3, random_state=0).fit(whole)
    same(getattr(model, method)(da.from_array(whole, chunks=33)), getattr(model, method)(whole))


@pytest.mark.parametrize("method", METHODS)
def test_data_frames(framed, method):
    rows = dd.from_pandas(FRAME, npartitions=5)
    same(getattr(framed, method)(rows), getattr(framed, method)(FRAME))


def test_fitting_and_predicting_at_once():
    rows = da.from_array(X, chunks=(50, 2))
    model = ExKMC(3, reference=X[:3], max_leaf_nodes=5)
    same(model.fit_predict(rows), model.fit_predict(X))
    same(model.fit_transform(rows), model.fit(rows).transform(X))
    assert not hasattr(model.fit(rows), "labels_")


def test_a_prediction_is_a_new_column(framed):
    rows = dd.from_pandas(FRAME, npartitions=5)
    rows = rows.assign(cluster=framed.predict(rows))
    assert rows.cluster.compute().tolist() == framed.predict(FRAME).tolist()


@pytest.mark.parametrize("method", METHODS)
def test_empty_partitions(model, framed, method):
    rows = da.concatenate([da.from_array(X[:5]), da.from_array(X[:0]), da.from_array(X[5:])])
    same(getattr(model, method)(rows), getattr(model, method)(X))
    frame = dd.from_pandas(FRAME, npartitions=5)
    late = FRAME[FRAME.day.index >= 60]
    frame = frame[frame.index.to_series() >= 60]
    same(getattr(framed, method)(frame), getattr(framed, method)(late))


@pytest.mark.parametrize("method", [*METHODS, "score"])
def test_other_columns_are_refused_at_once(model, framed, method):
    unread = da.map_blocks(fail, dtype=float, chunks=((10, 10), (3,)))
    with pytest.raises(ValueError, match="X has 3 features, but ExKMC is expecting 4 features"):
        getattr(model, method)(unread)
    renamed = dd.from_pandas(FRAME.rename(columns={"a": "A"}), npartitions=2)
    with pytest.raises(ValueError, match="feature names should match"):
        getattr(framed, method)(renamed.map_partitions(fail, meta=renamed._meta))
    with pytest.raises(ValueError, match="Feature names must be in the same order"):
        getattr(framed, method)(dd.from_pandas(FRAME[FRAME.columns[::-1]], npartitions=2))


def fail(*rows):
    raise AssertionError("nothing was to be computed")


@pytest.mark.parametrize("method", METHODS)
def test_a_bad_row_is_named_by_its_partition(model, method):
    rows = X.copy()
    rows[65, 2] = np.nan
    lazy = getattr(model, method)(da.from_array(rows, chunks=(30, 2)))
    with pytest.raises(ValueError, match=r"^Partition 2: Input X contains NaN\.$"):
        lazy.compute()


def test_a_score_is_one_number(model, framed):
    weights = np.arange(120) % 3
    rows = da.from_array(X, chunks=(50, 2))
    assert model.score(rows) == pytest.approx(model.score(X), rel=1e-14)
    expected = model.score(X, sample_weight=weights)
    assert model.score(rows, sample_weight=weights) == pytest.approx(expected, rel=1e-14)
    frame = dd.from_pandas(FRAME, npartitions=5)
    assert framed.score(frame) == pytest.approx(framed.score(FRAME), rel=1e-14)


def test_a_score_needs_weight_somewhere(model):
    rows = da.from_array(X, chunks=(50, 4))
    some = np.repeat([0.0, 1.0], [60, 60])
    expected = model.score(X, sample_weight=some)
    assert model.score(rows, sample_weight=some) == pytest.approx(expected, rel=1e-14)
    with pytest.raises(ValueError, match="sample_weight is zero for every row"):
        model.score(rows, sample_weight=np.zeros(120))
    bad = da.from_array(np.where(np.arange(120)[:, None] == 70, np.inf, X), chunks=(50, 4))
    with pytest.raises(ValueError, match=r"^Partition 1: Input X contains infinity"):
        model.score(bad)


def test_paths_are_made_in_memory(model):
    with pytest.raises(ValueError, match="decision_path makes a sparse matrix in memory"):
        model.decision_path(da.from_array(X, chunks=50))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (da.ones(5), "Expected 2D array, got a dask array of 1 dimensions"),
        (dd.from_pandas(FRAME, npartitions=1)["a"], "X is a Series of dask; pass a dask array"),
        (dask.delayed(X), "X is a Delayed.* of dask; pass a dask array"),
    ],
)
def test_what_is_no_table_is_refused(model, rows, message):
    for method in [*METHODS, "score"]:
        with pytest.raises(ValueError, match=message):
            getattr(model, method)(rows)


@pytest.mark.parametrize("method", METHODS)
def test_the_model_is_in_the_graph_once(model, framed, method):
    for fitted, rows in [
        (model, da.from_array(X, chunks=(10, 4))),
        (framed, dd.from_pandas(FRAME, npartitions=12)),
    ]:
        lazy = getattr(fitted, method)(rows)
        (optimized,) = dask.optimize(lazy)
        tasks = [cloudpickle.dumps(task) for task in dict(optimized.__dask_graph__()).values()]
        assert len(tasks) > 12
        assert sum(b"ThresholdTree" in task for task in tasks) == 1
        assert getattr(fitted, method)(rows).name == lazy.name


def test_training_rows_stay_at_home(model):
    light = travelling(model)
    assert light.n_jobs == 1
    assert not hasattr(light, "labels_")
    assert light._fit_result.leaf_of_row is None
    assert light._fit_result.reference_labels is None
    assert model._fit_result.leaf_of_row is not None
    assert len(model.labels_) == 120


def test_other_models_are_lazy_too():
    model = CART(3, random_state=0).fit(X)
    same(model.predict(da.from_array(X, chunks=50)), model.predict(X))
