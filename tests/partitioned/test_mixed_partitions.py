"""A fit on partitioned tables with categories and missing values is the fit in one memory."""

import dask
import dask.dataframe as dd
import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from tests.helpers.examples import examples
from tests.helpers.partitioned_cases import ListedFrames, ListedPartitions, split_rows
from tests.partitioned.test_best_cuts import TIGHT, set_to
from tests.partitioned.test_partitioned_fit import assert_same_trees
from treemeans import ExKMC, open_parts

pytestmark = [
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:.*rows of weight 0:UserWarning"),
    pytest.mark.filterwarnings("ignore:Columns left out:UserWarning"),
]
CITIES = ["Aachen", "Bonn", "Celle", "Dresden", "Emden", "Fulda", "Gotha", "Halle"]
COLUMNS = {
    "number": lambda rng, n: rng.normal(size=n) * 10.0 ** rng.integers(-3, 4),
    "whole": lambda rng, n: rng.integers(-3, 4, n).astype(float),
    "constant": lambda rng, n: np.full(n, 0.3),
    "groups": lambda rng, n: rng.normal(rng.choice([-5.0, 0.0, 7.0], n), 1.0),
    "city": lambda rng, n: rng.choice(CITIES[: rng.integers(1, 9)], n).astype(object),
    "rare": lambda rng, n: np.array([f"c{min(i, 30)}" for i in rng.geometric(0.2, n)], object),
    "flag": lambda rng, n: rng.random(n) < 0.5,
}


def some_frame(rng, n):
    kinds = [*rng.choice(["city", "rare"], rng.integers(0, 3)), *rng.choice(sorted(COLUMNS), 2)]
    frame = pd.DataFrame({f"{kind}{i}": COLUMNS[kind](rng, n) for i, kind in enumerate(kinds)})
    for name in frame.columns:
        share = rng.choice([0.0, 0.1, 0.6])
        if share and frame[name].dtype != bool:
            frame.loc[rng.random(n) < share, name] = None
    return frame if rng.random() < 0.6 else frame.iloc[rng.integers(0, n // 3 + 1, n)]


def texts_of(frame):
    return [name for name in frame.columns if name.startswith(("city", "rare", "plan"))]


def some_weights(rng, n):
    weights = [
        None,
        rng.integers(0, 4, n).astype(float),
        rng.integers(1, 16, n) / 8,
        np.where(rng.random(n) < 0.2, 0.0, rng.random(n)),
        10.0 ** rng.integers(-20, 20, n),
    ][rng.integers(5)]
    if weights is not None and not weights.any():
        weights[0] = 1.0
    return weights


def some_parameters(rng, n_features, k):
    parameters = {
        "base_tree": str(rng.choice(["imm", "imm", "emn", "none"])),
        "max_leaf_nodes": k + int(rng.choice([0, 1, 4, 12])),
    }
    if rng.random() < 0.3:
        parameters["max_depth"] = int(rng.integers(1, 5))
    if rng.random() < 0.3:
        parameters["min_samples_leaf"] = float(rng.choice([2, 2.5, 0.1, 0.3]))
    if rng.random() < 0.3:
        parameters["max_categories"] = int(rng.integers(1, 4))
    if rng.random() < 0.2:
        parameters["feature_costs"] = rng.choice([0, 1e-3, 0.01, 0.5], n_features)
    return parameters


def in_partitions(frame, n_partitions, weights=None, seed=0):
    pieces = split_rows(np.arange(len(frame)), n_partitions, seed)
    parts = [frame.iloc[rows] for rows in pieces]
    return ListedFrames(parts, None if weights is None else [weights[rows] for rows in pieces])


def check(frame, n_partitions, weights=None, seed=0, reference=None, k=3, **parameters):
    """Fit a table in memory and in partitions, and compare."""
    parameters = {"random_state": 0, "reference": reference} | parameters
    expected = ExKMC(k, **parameters).fit(frame, sample_weight=weights)
    model = ExKMC(k, **parameters).fit(in_partitions(frame, n_partitions, weights, seed))
    tree, other = model.tree_, expected.tree_
    for name in ("missing_left", "category_first", "category_codes", "has_seen_missing"):
        np.testing.assert_array_equal(getattr(tree, name), getattr(other, name), err_msg=name)
    assert_same_trees(tree, other)
    assert model.columns_ == expected.columns_
    assert str(model.schema_) == str(expected.schema_)
    np.testing.assert_array_equal(model.reference_centers_, expected.reference_centers_)
    for name in ("surrogate_cost", "kmeans_cost", "accuracy"):
        np.testing.assert_allclose(model.path_[name], expected.path_[name], rtol=1e-7, atol=1e-9)
    spread = np.nan_to_num(expected.cluster_profiles_, nan=0.0)
    np.testing.assert_allclose(
        np.nan_to_num(model.cluster_profiles_, nan=0.0), spread, rtol=1e-9, atol=1e-9
    )
    np.testing.assert_array_equal(model.predict(frame), expected.predict(frame))
    unseen = frame.copy()
    for name in texts_of(frame):
        unseen[name] = "never"
    np.testing.assert_array_equal(model.predict(unseen), expected.predict(unseen))
    assert model.to_sql("duckdb", "t") == expected.to_sql("duckdb", "t")
    return model


def check_some(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.choice([4, 9, 40, 200]))
    frame = some_frame(rng, n).dropna(axis=1, how="all").assign(last=COLUMNS["whole"](rng, n))
    if not texts_of(frame) and not frame.isna().to_numpy().any():
        frame["city"] = COLUMNS["city"](rng, n)
    k = int(rng.integers(1, min(n, 6) + 1))
    weights = some_weights(rng, n)
    if weights is not None and np.count_nonzero(weights) < k:
        weights = None
    parameters = some_parameters(rng, len(frame.columns), k)
    check(frame, int(rng.integers(1, 8)), weights, seed, k=k, **parameters)


@examples(20)
@given(st.integers(0, 2**32))
def test_random_tables(seed):
    check_some(seed)


@examples(8)
@given(st.integers(0, 2**32), st.sampled_from([1, 3000]))
def test_random_tables_in_many_passes(seed, room):
    with pytest.MonkeyPatch.context() as patch:
        set_to(patch, **TIGHT | {"RESULT_BYTES": room})
        check_some(seed)


# ---- one thing at a time -------------------------------------------------------------------------


def customers(n=300, seed=0):
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 3, n)
    frame = pd.DataFrame(
        {
            "plan": np.array(["basic", "pro", "team"], object)[kind],
            "city": rng.choice(CITIES, n).astype(object),
            "age": rng.normal(40 + 8 * kind, 5),
            "spend": np.exp(rng.normal(kind, 0.5)),
        }
    )
    for name in ("plan", "age"):
        frame.loc[rng.random(n) < 0.15, name] = None
    return frame


def fitted_pipeline(frame):
    texts = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder())
    columns = ColumnTransformer(
        [("texts", texts, ["plan", "city"]), ("numbers", SimpleImputer(), ["age", "spend"])]
    )
    return make_pipeline(columns, KMeans(4, n_init=1, random_state=0)).fit(frame)


@pytest.mark.parametrize("n_partitions", [1, 2, 7])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_given_pipeline_gets_the_frames_untouched(n_partitions, weighted):
    frame = customers()
    weights = np.random.default_rng(1).integers(0, 4, 300).astype(float) if weighted else None
    reference = fitted_pipeline(frame)
    model = check(frame, n_partitions, weights, reference=reference, k=None, max_leaf_nodes=12)
    assert len(model.tree_.category_codes) > 0


def test_dask_frames(tmp_path):
    dd = pytest.importorskip("dask.dataframe")
    frame = customers()
    expected = ExKMC(3, random_state=0, max_leaf_nodes=9).fit(frame)
    rows = dd.from_pandas(frame, npartitions=4)
    model = ExKMC(3, random_state=0, max_leaf_nodes=9).fit(rows)
    np.testing.assert_array_equal(model.tree_.category_codes, expected.tree_.category_codes)
    assert_same_trees(model.tree_, expected.tree_)
    assert model.feature_names_in_.tolist() == list(frame.columns)
    unseen = frame.assign(plan="enterprise", more=1)
    rows = dd.from_pandas(unseen, npartitions=3)
    np.testing.assert_array_equal(model.predict(rows).compute(), expected.predict(unseen))
    with pytest.raises(ValueError, match="The table has no column 'age'"):
        model.predict(rows.drop(columns="age"))


def test_dask_frames_of_numbers_with_missing_values():
    dd = pytest.importorskip("dask.dataframe")
    frame = customers().drop(columns=["plan", "city"])
    expected = ExKMC(3, random_state=0, max_leaf_nodes=9).fit(frame)
    model = ExKMC(3, random_state=0, max_leaf_nodes=9).fit(dd.from_pandas(frame, npartitions=4))
    assert_same_trees(model.tree_, expected.tree_)
    np.testing.assert_array_equal(model.tree_.missing_left, expected.tree_.missing_left)
    with pytest.raises(ValueError, match="'empty' cannot be used"):
        ExKMC(3).fit(dd.from_pandas(frame.assign(empty=np.nan), npartitions=2))


def test_a_large_table_is_prepared_by_a_sample_that_partitions_leave_alone(monkeypatch):
    place = "treemeans.partitioned.clustering.partitioned_reference."
    monkeypatch.setattr(f"{place}_COLLECTED", 0)
    monkeypatch.setattr(f"{place}_PREPARED_ROWS", 700)
    frame = customers(2000)
    models = [ExKMC(3, random_state=0).fit(in_partitions(frame, n)) for n in (1, 2, 7)]
    for model in models[1:]:
        assert model.preparation_ == models[0].preparation_
        np.testing.assert_array_equal(model.reference_centers_, models[0].reference_centers_)
        assert_same_trees(model.tree_, models[0].tree_)
    in_memory = ExKMC(3, random_state=0).fit(frame)
    agreement = (models[0].predict(frame)[:, None] == in_memory.predict(frame)).mean()
    assert agreement > 0.3  # clusters may have other numbers
    assert models[0].reference_inertia_ < 1.1 * in_memory.reference_inertia_


def test_kinds_that_differ_between_partitions_are_told():
    parts = [pd.DataFrame({"a": ["x", "y"]}), pd.DataFrame({"a": pd.Series([1, 2], dtype=object)})]
    with pytest.raises(ValueError, match="'a' holds both number and text"):
        ExKMC(2).fit(ListedFrames(parts))


def test_what_needs_one_memory_is_refused():
    frame = customers()
    rows = in_partitions(frame, 2)
    with pytest.raises(ValueError, match="'plan', 'city', 'age' are categories or missing"):
        ExKMC(3, refine="local").fit(rows)
    pipeline = fitted_pipeline(frame)
    with pytest.raises(ValueError, match="fit it on a sample and pass it fitted"):
        ExKMC(None, reference=make_pipeline(*pipeline[:-1], KMeans(3))).fit(rows)
    with pytest.raises(ValueError, match="centers of another space are no reference"):
        ExKMC(None, reference=np.zeros((2, 4))).fit(in_partitions(frame, 2))


@pytest.mark.parametrize(
    "parameters",
    [
        {"refine": "local"},
        {"min_cluster_size": 30},
        {"max_cluster_size": 0.6},
        {"balance": {"plan": (0.0, 0.9)}},
        {"protected": ["plan"]},
    ],
    ids=lambda parameters: next(iter(parameters)),
)
def test_what_is_possible_where_rows_are_gathered(parameters):
    frame = customers()
    rows = dd.from_pandas(frame, npartitions=3)
    wanted = ExKMC(3, max_leaf_nodes=6, random_state=0, **parameters)
    with dask.config.set({"treemeans.gather": "1 GB"}):
        assert clone(wanted).fit(rows).to_text() == clone(wanted).fit(frame).to_text()
    said = (
        r"needs all rows in one memory, and only rows whose fit takes at most 0\.001 MB [^.]*"
        r'raise that size: dask.config.set\({"treemeans.gather": "8 GB"}\)'
    )
    with dask.config.set({"treemeans.gather": "1 kB"}), pytest.raises(ValueError, match=said):
        wanted.fit(rows)


def test_arrays_with_missing_values_need_a_pipeline():
    X = customers()[["age", "spend"]].to_numpy()
    rows = ListedPartitions(np.split(X, [100, 210]))
    with pytest.raises(ValueError, match=r"Partition 0 contains NaN \(row \d+, column 0\)"):
        ExKMC(3).fit(rows)
    reference = make_pipeline(SimpleImputer(), KMeans(3, n_init=1, random_state=0)).fit(X)
    model = ExKMC(None, reference=reference, max_leaf_nodes=6).fit(rows)
    expected = ExKMC(None, reference=reference, max_leaf_nodes=6).fit(X)
    assert_same_trees(model.tree_, expected.tree_)
    np.testing.assert_array_equal(model.tree_.missing_left, expected.tree_.missing_left)


@pytest.fixture(scope="module")
def messy_file(tmp_path_factory):
    """A frame with columns of all kinds and missing values, and a Parquet file of it."""
    rng = np.random.default_rng(4)
    n = 600
    group = rng.integers(0, 3, n)
    frame = pd.DataFrame(
        {
            "age": rng.normal(40, 15, n) + 5 * group,
            "city": np.array(CITIES, object)[(2 * group + rng.integers(0, 2, n)) % 6],
            "plan": np.array(["basic", "plus", "pro"], object)[group],
            "size": pd.Categorical(np.array(["S", "M", "L"])[group], ["S", "M", "L", "XL"]),
            "active": rng.random(n) < 0.2 + 0.3 * group,
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(1 * (group == 1), "D"),
            "weight": rng.integers(1, 4, n),
        }
    )
    frame.loc[rng.random(n) < 0.1, "age"] = np.nan
    frame.loc[rng.random(n) < 0.1, "city"] = None
    path = tmp_path_factory.mktemp("messy") / "messy.parquet"
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), path, row_group_size=150)
    return frame, path


@pytest.mark.parametrize("source", ["open_parts", "dataset", "filtered", "duckdb"])
@pytest.mark.parametrize("weighted", [False, True])
def test_files_and_queries_give_the_tree_of_the_frame(messy_file, source, weighted):
    frame, path = messy_file
    opened = {
        "open_parts": lambda: path,
        "dataset": lambda: pads.dataset(path),
        "filtered": lambda: pads.dataset(path).filter(pads.field("weight") > 0),
        "duckdb": lambda: duckdb.sql(f"from '{path}'"),
    }[source]()
    columns = ["age", "city", "plan", "size", "active", "since"]
    rows = open_parts(opened, columns, "weight" if weighted else None)
    model = ExKMC(3, max_leaf_nodes=6, random_state=0)
    memory = model.fit(frame[columns], sample_weight=frame["weight"] if weighted else None)
    expected, labels = str(memory.rules()), memory.predict(frame[columns])
    model.fit(rows)
    assert str(model.rules()) == expected
    assert any(f"{name} {word} " in expected for name in columns[1:4] for word in ("=", "in"))
    np.testing.assert_array_equal(model.predict(frame[columns]), labels)


@pytest.mark.parametrize("missing", [None, np.nan])
@pytest.mark.parametrize("source", ["file", "query"])
def test_numbers_with_missing_values_in_files(tmp_path, missing, source):
    rng = np.random.default_rng(0)
    numbers = [missing if i % 9 == 0 else float(x) for i, x in enumerate(rng.normal(size=200))]
    others = rng.normal(size=200)
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": pa.array(numbers, pa.float64()), "b": others}), path)
    frame = pd.DataFrame({"a": np.array(numbers, float), "b": others})
    expected = str(ExKMC(3, random_state=0).fit(frame).rules())
    rows = open_parts(path if source == "file" else duckdb.sql(f"from '{path}'"))
    assert str(ExKMC(3, random_state=0).fit(rows).rules()) == expected


def test_a_pipeline_is_not_given_codes_of_categories(messy_file):
    frame, path = messy_file
    columns = ["age", "city"]
    prepare = ColumnTransformer(
        [("age", SimpleImputer(), ["age"]), ("city", OneHotEncoder(), ["city"])]
    )
    pipeline = make_pipeline(prepare, KMeans(3, n_init=1, random_state=0)).fit(frame[columns])
    with pytest.raises(ValueError, match="A pipeline takes rows as they are written"):
        ExKMC(3, reference=pipeline).fit(open_parts(path, columns))
