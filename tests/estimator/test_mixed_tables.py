"""Data frames as they are: categories, dates, flags and missing values, from fit to predict."""

import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.cluster import KMeans
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from treemeans import ExKMC
from treemeans.columns.encoded_table import encode_table
from treemeans.explain.leaf_reasons import LeafReasons


def customers(n=400, seed=0):
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 3, n)
    countries = np.array([f"C{i:02d}" for i in range(30)])
    return pd.DataFrame(
        {
            "country": countries[(10 * group + rng.integers(0, 12, n)) % 30],
            "plan": np.where(rng.random(n) < 0.2, None, np.array(["a", "b", "c"])[group]),
            "age": np.where(rng.random(n) < 0.1, np.nan, (30 + 9 * group + rng.normal(0, 3, n))),
            "visits": rng.poisson(3 + 4 * group),
            "active": rng.random(n) < 0.2 + 0.3 * group,
            "signup": pd.to_datetime("2024-01-01")
            + pd.to_timedelta(rng.integers(0, 90, n) + 60 * group, unit="D"),
            "session": pd.to_timedelta(rng.exponential(200 + 300 * group).round(), unit="s"),
        }
    )


@pytest.fixture(scope="module")
def table():
    return customers()


@pytest.fixture(scope="module")
def model(table):
    return ExKMC(3, max_leaf_nodes=8, random_state=0).fit(table)


@pytest.mark.parametrize("convert", [pl.from_pandas, pa.Table.from_pandas])
def test_every_package_gives_the_same_tree(table, model, convert):
    other = ExKMC(3, max_leaf_nodes=8, random_state=0).fit(convert(table))
    assert other.tree_ == model.tree_
    assert other.columns_ == model.columns_
    assert np.array_equal(model.predict(convert(table)), model.labels_)


def test_missing_values_of_columns_that_no_split_asks(table, tmp_path):
    """Training rows lacked values, but no split has a side for them: rows may lack them again."""
    model = ExKMC(3, max_leaf_nodes=8, allowed_features=["visits"], random_state=0).fit(table)
    assert not (model.tree_.missing_left >= 0).any()
    assert np.array_equal(model.predict(table), model.labels_)
    model.save(tmp_path / "model.json")
    for again in (ExKMC.load(tmp_path / "model.json"), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(again.predict(table), model.labels_)
        assert again.with_leaves(4).predict(table).shape == (len(table),)
        assert str(again.explain(table.iloc[[0]])).startswith("Cluster")
    exec(model.to_python(), found := {})
    rows = table.astype(object).to_dict("records")
    assert [found["predict"](row) for row in rows] == model.labels_.tolist()


def test_a_missing_value_where_training_rows_had_none(table):
    rows = table.head(5).astype({"visits": float})
    rows.loc[1, "visits"] = np.nan
    rows["age"], rows["signup"], rows["session"] = np.nan, pd.NaT, pd.NaT
    whole = ExKMC(3, max_leaf_nodes=4, allowed_features=["visits"], random_state=0).fit(table)
    with pytest.raises(ValueError, match=r"column 'visits' has no value in row 1.*with_missing"):
        whole.predict(rows)
    assert whole.with_missing_sides().predict(rows).shape == (5,)


def test_lists_of_categories_are_short(table):
    model = ExKMC(3, max_leaf_nodes=6, allowed_features=["country"], random_state=0).fit(table)
    text = model.to_text()
    assert "country in (C" in text
    assert ", +" in text
    assert all(line.count(",") <= 6 for line in text.splitlines())
    assert ", +" in str(model.rules())
    whole = model.with_columns(all_categories=True)
    assert ", +" not in whole.to_text()
    assert max(line.count(",") for line in whole.to_text().splitlines()) > 6
    assert np.array_equal(whole.predict(table), model.labels_)
    # The reason names the row's own category.
    for i in range(60):
        reason = str(model.explain(table.iloc[[i]])).splitlines()[0]
        if "country in (" in reason:
            assert re.search(rf"[( ]{table['country'][i]}[,)]", reason)


def test_max_categories(table):
    for most in (1, 3):
        model = ExKMC(3, max_categories=most, max_leaf_nodes=8, random_state=0).fit(table)
        assert np.diff(model.tree_.category_first).max() <= most
    with pytest.raises(ValueError, match="max_categories must be an integer of at least 1"):
        ExKMC(3, max_categories=0).fit(table)


def test_durations_read_as_people_write_them(table):
    model = ExKMC(3, max_leaf_nodes=8, allowed_features=["session"], random_state=0)
    text = model.fit(table).to_text()
    assert "session <= 0 days 00:" in text
    assert "." not in text
    rounded = ExKMC(
        3, max_leaf_nodes=8, allowed_features=["session"], round_thresholds=True, random_state=0
    ).fit(table)
    assert np.array_equal(rounded.labels_, model.labels_)
    seconds = rounded.tree_.threshold[~rounded.tree_.is_leaf] * 86400
    assert np.isclose(seconds, seconds.round()).sum() >= 5  # some gaps are of a second
    exec(model.to_python(), found := {})
    rows = table[["session"]].to_dict("records")
    assert [found["predict"](row) for row in rows] == model.labels_.tolist()


def test_a_table_vectorizer_gets_the_frame(table):
    skrub = pytest.importorskip("skrub")
    seen = []

    class Watching(skrub.TableVectorizer):
        def fit_transform(self, X, y=None):
            seen.append(X)
            return super().fit_transform(X, y)

    frame = table.drop(columns="session")
    steps = (SimpleImputer(), StandardScaler(), KMeans(3, n_init=2, random_state=0))
    model = ExKMC(None, reference=make_pipeline(Watching(), *steps), random_state=0).fit(frame)
    assert seen[0] is frame
    assert np.array_equal(model.predict(frame), model.labels_)
    assert model.rules()


@pytest.mark.parametrize(
    ("column", "sentence"),
    [
        ([[1], [2]] * 5, "'bad' holds lists.*leave the column out"),
        ([1, "a"] * 5, "'bad' holds both number and text values; convert them to one type"),
        ([np.inf, 1.0] * 5, "infinit"),
        ([{"a": 1}] * 10, "'bad' holds .*leave the column out"),
    ],
)
def test_columns_that_cannot_be(column, sentence):
    frame = pd.DataFrame({"x": range(10), "y": ["a", "b"] * 5, "bad": column})
    with pytest.raises(ValueError, match=sentence):
        ExKMC(2, random_state=0).fit(frame)


def test_columns_that_are_left_out():
    n = 300
    frame = pd.DataFrame({"x": np.arange(n) % 7, "y": ["a", "b"] * (n // 2)})
    frame["key"] = [f"user-{i}" for i in range(n)]
    frame["empty"] = pd.Series([None] * n, dtype=object)
    with pytest.warns(UserWarning, match=r"'key' \(it has 300 different.*'empty' \(it has no"):
        model = ExKMC(2, random_state=0).fit(frame)
    assert [column.name for column in model.columns_] == ["x", "y"]
    assert "left out" in str(model.schema_)
    assert np.array_equal(model.predict(frame), model.labels_)


def test_a_category_of_rows_without_weight():
    frame = pd.DataFrame({"x": [1.0, 2, 8, 9, 5], "y": ["a", "a", "b", "b", "c"]})
    with pytest.warns(UserWarning, match="'c' occurs only in rows of weight 0"):
        ExKMC(2, random_state=0).fit(frame, sample_weight=[1, 1, 1, 1, 0])


def test_a_million_different_texts_are_left_out_and_said():
    n = 1_000_000
    numbers = np.arange(n)
    texts = pa.array(numbers).cast(pa.string())
    frame = pa.table({"token": texts, "group": pa.array(numbers % 3 == 0), "x": numbers % 7 + 0.5})
    says = r"'token' \(it has more than 10,000 different texts in 1,000,000 rows"
    with pytest.warns(UserWarning, match=says):
        encoded = encode_table(frame)
    assert [column.name for column in encoded.columns] == ["group", "x"]


def test_reasons_of_rows_list_their_own_category():
    """Of a long set, each row's own category is among those that are listed."""
    rng = np.random.default_rng(0)
    names = np.array([f"c{i:02d}" for i in range(24)], object)
    code = rng.integers(0, 24, 600)
    frame = pd.DataFrame({"city": names[code], "x": np.where(code < 12, 0.0, 9.0)})
    X = encode_table(frame).X
    model = ExKMC(2, max_leaf_nodes=2, random_state=0, allowed_features=["city"]).fit(frame)
    reasons = LeafReasons(model.tree_, model.columns_)
    number, texts = reasons.of_rows(X)
    said = [texts[i] for i in number]
    listed = [text for text in said if "city in (" in text]
    assert len(listed) > 200
    for text, city in zip(said, frame["city"], strict=True):
        assert ("city in (" in text) == (city in text), text
