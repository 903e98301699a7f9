"""Tables that users have and tests forget: every method works on them, or says why not."""

import datetime
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from treemeans import ExKMC, load, plot_regions

N = 40


def table(**more):
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "spend": rng.gamma(2, 200, N).round(2),
            "visits": rng.poisson(4, N),
            "plan": rng.choice(["basic", "pro", "team"], N),
            **more,
        }
    )


def indexed(frame, index):
    frame.index = index
    return frame


def with_gaps():
    frame = table().astype({"visits": "Int64"})
    frame.loc[::7, "spend"] = np.nan
    frame.loc[::5, "visits"] = pd.NA
    frame.loc[::6, "plan"] = None
    return frame


START = datetime.datetime(2024, 1, 1)
FRAMES = {
    "repeated index": lambda: indexed(table(), [0] * N),
    "gaps": with_gaps,
    "polars": lambda: pl.from_pandas(with_gaps()),
    "pyarrow": lambda: pa.Table.from_pandas(with_gaps()),
    "arrow types": lambda: with_gaps().convert_dtypes(dtype_backend="pyarrow"),
    "booleans with None": lambda: table(b=np.array([True, False, None, True] * 10, dtype=object)),
    "sparse columns": lambda: table(
        s=pd.arrays.SparseArray(np.arange(N) % 4 // 3 * 2.5, fill_value=0.0),
        b=pd.arrays.SparseArray(np.arange(N) % 5 == 0),
    ),
    "durations": lambda: table(t=pd.to_timedelta(np.arange(N) * 3.7, "h")),
    "time zones": lambda: table(t=pd.date_range(START, periods=N, freq="7h", tz="Asia/Kathmandu")),
    "dates as objects": lambda: table(
        t=[START.date() + datetime.timedelta(days=i) for i in range(N)]
    ),
    "numbers as categories": lambda: table(plan=pd.Categorical(np.arange(N) % 4 * 10)),
    "unused categories": lambda: table(
        plan=pd.Categorical(table()["plan"], ["zzz", "team", "basic", "pro", "never"])
    ),
    "large integers": lambda: table(account=2**60 + np.arange(N) * 3),
    "odd text": lambda: table(
        plan=["a\nb", "'\"`;--", "<b>", "{x}", "\x1b[31m", "", "nan", "="] * 5
    ),
    "odd names": lambda: table().rename(columns={"spend": "sp\"end'\n", "visits": "v\0<b>{x}"}),
    "two rows": lambda: table().iloc[:2],
    "few different rows": lambda: pd.concat([table().iloc[:2]] * 10, ignore_index=True),
    "one row again and again": lambda: pd.concat([table().iloc[:1]] * 10, ignore_index=True),
}


def fitted(frame, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ExKMC(min(3, len(frame)), random_state=0, **parameters).fit(frame)


@pytest.mark.parametrize("name", FRAMES)
def test_every_method_works(name, tmp_path):
    """Methods that take a table, or show what it holds, one after the other."""
    frame = FRAMES[name]()
    model = fitted(frame)
    labels = model.labels_.tolist()
    some = frame[:3] if not hasattr(frame, "iloc") else frame.iloc[:3]
    assert model.predict(frame).tolist() == labels
    assert model.predict(some).tolist() == labels[:3]
    assert model.predict_names(frame).tolist() == [model.cluster_names_[i] for i in labels]
    assert [each.cluster for each in model.explain(some)] == labels[:3]
    for change in model.counterfactual(some):
        assert str(change)
    if isinstance(frame, pd.DataFrame):
        assert model.explain(frame.iloc[0].to_dict()).cluster == labels[0]
        assert model.explain(frame.iloc[0]).cluster == labels[0]
    model.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert again.predict(frame).tolist() == labels
    assert str(again.rules()) == str(model.rules())
    model.report(tmp_path / "report.html", frame, rows=3)
    model.check_segments(frame, random_state=0)
    assert str(model.drift(frame))
    assert str(model.confidence(frame))
    assert str(model.stability(frame, 2, random_state=0, verbose=0))
    refitted = model.refit(frame)
    assert refitted.predict(frame).shape == model.labels_.shape
    assert model.refit(frame, keep_structure=True).n_leaves_ >= 1
    assert str(model.alternatives(frame, 2, verbose=0))


@pytest.mark.parametrize("name", ["numbers as categories", "booleans with None", "odd text"])
def test_the_exported_function_takes_rows_of_the_frame(name):
    frame = FRAMES[name]()
    model = fitted(frame, allowed_features=[frame.columns[-1]])
    assert model.n_leaves_ > 1
    space = {}
    exec(model.to_python(), space)
    found = [space["predict"](row) for row in frame.to_dict("records")]
    assert found == model.labels_.tolist()


def test_a_number_is_the_name_of_a_category_where_all_names_are_numbers():
    """10 is not the code of an eleventh category."""
    frame = table(plan=pd.Categorical(np.arange(N) % 4 * 10))[["plan"]]
    model = fitted(frame)
    assert len(set(model.labels_.tolist())) > 1
    for i in range(4):
        row = {"plan": 10 * i}
        assert model.explain(row).cluster == model.labels_[i]
        assert model.explain({"plan": 10.0 * i}).cluster == model.labels_[i]


def test_a_duration_is_explained_in_any_of_its_types():
    frame = table(t=pd.to_timedelta(np.arange(N) * 3.7, "h"))[["t"]]
    model = fitted(frame)
    length = frame["t"].iloc[5]
    for value in (length, length.to_pytimedelta(), length.to_timedelta64()):
        assert model.explain({"t": value}).cluster == model.labels_[5]
    with pytest.raises(ValueError, match=r"^t must be a duration; got 'long'\.$"):
        model.explain({"t": "long"})
    with pytest.raises(ValueError, match="There is no value for t"):
        model.explain({"t": np.timedelta64("NaT")})


@pytest.mark.parametrize("name", ["gaps", "polars", "pyarrow"])
def test_regions_are_drawn_without_the_rows_that_lack_a_value(name):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    frame = FRAMES[name]()
    ax = plot_regions(fitted(frame), frame, features=["spend", "visits"])
    drawn = sum(len(points.get_offsets()) for points in ax.collections)
    assert drawn >= np.count_nonzero((np.arange(N) % 7 > 0) & (np.arange(N) % 5 > 0))
    assert np.isfinite([*ax.get_xlim(), *ax.get_ylim()]).all()
    pyplot.close("all")


def test_regions_need_a_row_with_both_values():
    pytest.importorskip("matplotlib")
    frame = table()[["spend", "visits"]].astype(float)
    frame.loc[::2, "spend"] = np.nan
    model = fitted(frame.assign(visits=frame["visits"].where(frame.index % 3 > 0)))
    nothing = frame.assign(visits=frame["visits"].where(frame["spend"].isna()))
    with pytest.raises(ValueError, match=r"^No row has a value of both 'spend' and 'visits'"):
        plot_regions(model, nothing)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (table().to_dict("list"), "X is a dict; pass a data frame"),
        (table()[["spend"]].to_records(index=False), "X is an array of records; pass a data frame"),
        (table().to_numpy(), "X holds text, and an array must hold numbers; pass a data frame"),
        (pl.from_pandas(table()).lazy(), r"X is a LazyFrame, .* pass X.collect\(\)"),
        (pd.DataFrame(index=range(5)), "The table has no columns"),
        (np.ma.masked_less(table()[["spend"]].to_numpy(), 100), "X is a masked array; put NaN"),
        (None, "X is None; pass an array or data frame"),
        ({1.0, 2.0}, "X is a set; pass an array or data frame"),
        (table().to_dict("records"), "X is a list of dicts; pass a data frame"),
        (np.array([[1j], [2.0]]), "Complex data not supported: X holds complex numbers"),
        (sparse.csr_array([[1j], [2.0]]), "Complex data not supported: X holds complex numbers"),
    ],
)
def test_what_is_no_table_of_numbers_is_refused_in_a_sentence(X, message):
    model = fitted(table()[["spend"]].to_numpy())
    with pytest.raises(ValueError, match=message):
        ExKMC(2).fit(X)
    with pytest.raises(ValueError, match=message):
        model.predict(X)


def test_alternatives_of_a_tree_that_costs_nothing():
    frame = pd.DataFrame({"a": [0.0, 0.0, 1.0, 1.0], "b": [5.0, 5.0, 9.0, 9.0]})
    found = ExKMC(2, random_state=0).fit(frame).alternatives(frame, verbose=0)
    assert [each.cost_ratio for each in found] == [1.0]


def test_a_loaded_model_warns_as_the_saved_one(tmp_path):
    """Starts of k-means that disagree are told of by a file, too."""
    rng = np.random.default_rng(0)
    model = ExKMC(6, random_state=0).fit(rng.normal(size=(300, 12)))
    assert "other starts" in str(model.rules())
    model.save(tmp_path / "model.json")
    assert str(load(tmp_path / "model.json").rules()) == str(model.rules())


@pytest.mark.parametrize("scale", ["auto", "none"])
def test_a_column_of_numbers_that_was_left_out_may_be_there_later(scale, tmp_path):
    frame = table()[["spend", "visits"]].assign(nothing=pd.array([None] * N, dtype="Int64"))
    frame.loc[0, "spend"] = None
    with pytest.warns(UserWarning, match="Columns left out: 'nothing'"):
        model = ExKMC(3, scale=scale, random_state=0).fit(frame)
    assert model.predict(frame).tolist() == model.labels_.tolist()
    model.save(tmp_path / "model.json")
    assert load(tmp_path / "model.json").predict(frame).tolist() == model.labels_.tolist()


def test_a_tree_of_one_leaf_may_accept_missing_values():
    model = ExKMC(1).fit(table()[["spend", "visits"]])
    missing = pd.DataFrame({"spend": [None, 1.0], "visits": [1.0, None]}, dtype="float64")
    with pytest.raises(ValueError, match="Input X contains NaN"):
        model.predict(missing)
    assert model.with_missing_sides().predict(missing).tolist() == [0, 0]


def test_rows_without_weight_may_be_all_that_a_center_has():
    """Means of no weight are no numbers, and nobody is told so by numpy."""
    frame = pd.DataFrame({"a": [0.0, 0.1, 9.0, 9.1, None], "b": [True, False, True, True, False]})
    centers = [0, 0, 1, 1, 0]
    model = ExKMC(None, reference=centers, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", UserWarning)
        model.fit(frame, sample_weight=[1.0, 1.0, 0.0, 0.0, 1.0])
    assert len(model.labels_) == 5


def test_costs_stay_exact_beside_infinite_ones_and_weights_of_any_range():
    rng = np.random.default_rng(0)
    X, costs = rng.normal(size=(14, 2)), rng.uniform(3, 6, size=(14, 2))
    costs[3, 1] = np.inf
    weights = np.where(np.arange(14) % 2, 1e18, 1.0)
    model = ExKMC(None, cost=costs, max_leaf_nodes=2).fit(X, sample_weight=weights)
    own = costs[np.arange(14), model.labels_]
    assert np.isfinite(own).all()
    assert model.inertia_ == pytest.approx(float(weights @ own), rel=1e-9)


def test_columns_of_one_name_in_an_arrow_table_are_refused():
    twice = pa.Table.from_arrays([[1.0, 2.0], [3.0, 4.0]], names=["a", "a"])
    with pytest.raises(ValueError, match="2 columns are named 'a'"):
        ExKMC(2).fit(twice)


def test_texts_that_arrow_stores_as_views():
    if not hasattr(pa, "string_view"):
        pytest.skip("pyarrow is too old")
    plain = pa.table({"place": ["x", "y", "z"] * 9, "spend": np.arange(27.0)})
    views = plain.set_column(0, "place", plain["place"].cast(pa.string_view()))
    model, other = (ExKMC(3, random_state=0).fit(each) for each in (plain, views))
    assert model.tree_ == other.tree_
    assert np.array_equal(model.labels_, other.predict(views))


def test_indices_of_64_bits():
    X = sparse.random(40, 5, 0.4, "csr", random_state=0)
    wide = X.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    assert ExKMC(3, random_state=0).fit(X).tree_ == ExKMC(3, random_state=0).fit(wide).tree_


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ma.masked_less(np.arange(6.0), 2), "sample_weight is a masked array; put 0"),
        (np.ones(6) * 1j, "Complex data not supported: sample_weight"),
    ],
)
def test_weights_that_are_none_are_refused_in_a_sentence(weights, message):
    with pytest.raises(ValueError, match=message):
        ExKMC(2).fit(np.arange(6.0)[:, None], sample_weight=weights)


def test_types_without_an_order_are_named():
    frame = pd.DataFrame({"a": np.arange(4.0), "month": pd.period_range("2024-01", periods=4)})
    with pytest.raises(ValueError, match=r"'month' holds values of the type period"):
        ExKMC(2).fit(frame)
    with pytest.raises(ValueError, match="X is a list of dicts"):
        ExKMC(2).fit(frame[["a"]].to_dict("records"))


def test_explain_says_that_a_category_is_missing():
    frame = pd.DataFrame({"plan": ["a", "b"] * 10, "x": np.arange(20.0) % 3})
    model = ExKMC(2, random_state=0).fit(frame)
    with pytest.raises(ValueError, match=r"no value for plan.*with_missing_sides"):
        model.explain(pd.DataFrame({"plan": [None, "a"], "x": [1.0, 2.0]}))


def test_a_frame_of_sparse_columns_has_the_tree_of_its_matrix():
    matrix = sparse.random(200, 6, 0.3, format="csr", random_state=0)
    frame = pd.DataFrame.sparse.from_spmatrix(matrix, columns=list("abcdef"))
    of_frame, of_matrix = (ExKMC(3, random_state=0).fit(rows) for rows in (frame, matrix))
    np.testing.assert_array_equal(of_frame.tree_.threshold, of_matrix.tree_.threshold)
    np.testing.assert_array_equal(of_frame.predict(frame), of_matrix.labels_)
    assert list(of_frame.feature_names_in_) == list("abcdef")


@pytest.mark.parametrize("fills", [(np.nan, np.nan), (0.0, 1.0), (0.0, np.nan)])
def test_sparse_columns_that_leave_out_other_values_than_zeros(fills):
    values = np.random.default_rng(0).integers(0, 3, (60, 2)).astype(float)
    frame = pd.DataFrame(values, columns=["a", "b"])
    kinds = {n: pd.SparseDtype("float", f) for n, f in zip("ab", fills, strict=True)}
    model = ExKMC(3, max_leaf_nodes=4, random_state=0).fit(frame)
    found = ExKMC(3, max_leaf_nodes=4, random_state=0).fit(frame.astype(kinds))
    assert found.to_text() == model.to_text()
    assert (found.predict(frame.astype(kinds)) == model.labels_).all()
