"""Fits on Spark DataFrames, on a local cluster of two processes."""

import shutil
import sys

import numpy as np
import pandas as pd
import pytest

from tests.helpers.partitioned_cases import weighted_frame
from treemeans import ExKMC

if shutil.which("java") is None:
    pytest.skip("Spark needs Java", allow_module_level=True)

pyspark = pytest.importorskip("pyspark")
# Spark says so of the newest pandas, which it does not need here.
pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")


@pytest.fixture(scope="module")
def spark():
    from pyspark.sql import SparkSession

    patch = pytest.MonkeyPatch()
    patch.setenv("PYSPARK_PYTHON", sys.executable)  # workers have the package that is tested
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "40")  # several frames a partition
        .getOrCreate()
    )
    yield session
    session.stop()
    patch.undo()


@pytest.fixture(scope="module")
def table():
    return weighted_frame()


def on_spark(spark, frame):
    """A frame as Spark's; from plain rows, because Spark may not know this pandas yet."""
    return spark.createDataFrame([tuple(row) for row in frame.itertuples(index=False)], list(frame))


def assert_same_tree(model, expected):
    for name in ("feature", "threshold", "left", "right", "label", "costs", "weight"):
        np.testing.assert_array_equal(
            getattr(model.tree_, name), getattr(expected.tree_, name), err_msg=name
        )


@pytest.mark.parametrize("n_partitions", [3, 17])
def test_the_tree_is_that_of_rows_in_memory(spark, table, n_partitions):
    """With 17 partitions replies are merged in two stages; weights in one of the cases."""
    names = ["a", "b", "c d", "n"]
    weighted = n_partitions == 3
    centers = table[names].sample(3, random_state=0).to_numpy()
    model = ExKMC(3, max_leaf_nodes=5, reference=centers)
    X = on_spark(spark, table).repartition(n_partitions)
    X = X if weighted else X.drop("w")
    model.fit(X, sample_weight="w" if weighted else None)
    expected = ExKMC(3, max_leaf_nodes=5, reference=centers).fit(
        table[names], sample_weight=table["w"] if weighted else None
    )
    assert_same_tree(model, expected)
    assert list(model.feature_names_in_) == names
    assert not X.storageLevel.useMemory  # the user's frame is not persisted
    with pytest.raises(ValueError, match="takes rows in memory"):
        model.predict(X)


def test_what_cannot_be_clustered_is_said(spark, table):
    text = on_spark(spark, table.assign(t="x"))
    listed = spark.createDataFrame([([1, 2], 1.0), ([3], 2.0)], ["t", "a"])
    with pytest.raises(ValueError, match="Column 't' holds array<bigint>, which are neither"):
        ExKMC(2).fit(listed)
    with pytest.raises(ValueError, match="no column 'z' for sample_weight"):
        ExKMC(2).fit(text, sample_weight="z")
    with pytest.raises(ValueError, match="must be a column of X"):
        ExKMC(2).fit(text, sample_weight=np.ones(600))
    with pytest.raises(ValueError, match="has no rows"):
        ExKMC(2).fit(text.limit(0))


def test_categories_and_missing_values_are_those_of_a_frame_in_memory(spark):
    rng = np.random.default_rng(1)
    n = 300
    kind = rng.integers(0, 3, n)
    frame = pd.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.1, np.nan, 40 + rng.normal(0, 9, n)),
            "plan": np.array(["basic", "pro", "team"])[np.where(rng.random(n) < 0.8, kind, 0)],
            "region": np.array(["n", "e", "s", "w", "x", "y"])[2 * kind + rng.integers(0, 2, n)],
            "active": rng.random(n) < 0.1 + 0.4 * kind,
            "visits": rng.poisson(4, n),
        }
    )
    frame.loc[rng.random(n) < 0.1, "plan"] = None
    rows = [
        tuple(None if value is None or value != value else value for value in row)
        for row in frame.astype(object).itertuples(index=False)
    ]
    X = spark.createDataFrame(rows, list(frame))
    model, expected = (ExKMC(3, max_leaf_nodes=6, random_state=0).fit(each) for each in (X, frame))
    assert_same_tree(model, expected)
    for name in ("missing_left", "category_first", "category_codes"):
        np.testing.assert_array_equal(getattr(model.tree_, name), getattr(expected.tree_, name))
    assert len(model.tree_.category_codes) > 0
    assert (model.tree_.missing_left >= 0).any()
    assert model.columns_ == expected.columns_
    assert str(model.schema_) == str(expected.schema_)
    np.testing.assert_array_equal(model.predict(frame), expected.labels_)


def test_nan_in_numbers_is_missing(spark, table):
    broken = table.drop(columns="w")
    broken.loc[::7, "a"] = np.nan
    X = on_spark(spark, broken)
    model, expected = (ExKMC(2, max_leaf_nodes=4, random_state=0).fit(x) for x in (X, broken))
    assert_same_tree(model, expected)
