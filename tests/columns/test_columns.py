"""How columns read: kinds found in the data, words, short numbers, dates."""

import math
from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from treemeans import Column, ExKMC, ThresholdTree, export_text
from treemeans.columns import Reader
from treemeans.columns.dates import PER_DAY, from_count, to_count
from treemeans.columns.number_text import format_number, format_rounded
from treemeans.columns.threshold_rounding import (
    shorten_date,
    shorten_number,
    shortest_date,
    shortest_number,
)
from treemeans.value_set import ValueSet

pytestmark = pytest.mark.usefixtures("one_thread")

finite = st.floats(allow_nan=False, allow_infinity=False)


def stump(threshold=2.5, gap=None):
    gap = None if gap is None else [gap, [math.nan] * 2, [math.nan] * 2]
    return ThresholdTree(
        [0, -1, -1], [threshold, 0, 0], [1, -1, -1], [2, -1, -1], [0, 0, 1], 1, gap=gap
    )


def customers(n=300, seed=0):
    """A small shop: money, visits, a colour, a day, a membership."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "spend": rng.gamma(2.0, 200.0, n),
            "visits": rng.poisson(4, n),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
            "member": rng.random(n) < 0.4,
            "color": rng.choice(["red", "dark green", "blue"], n),
        }
    )
    return pd.get_dummies(frame, columns=["color"], dtype=float)


# ---- kinds that the data shows -------------------------------------------------------------------


def kinds(model):
    return {column.name: column.kind for column in model.columns_}


def fit_scaled(X, k=6, leaves=25, **settings):
    reference = make_pipeline(StandardScaler(), KMeans(k, n_init=2, random_state=0))
    return ExKMC(k, max_leaf_nodes=leaves, reference=reference, **settings).fit(X)


def test_kinds_of_the_columns_that_are_cut():
    model = fit_scaled(customers())
    cut = {model.columns_[f].name for f in model.tree_.feature if f >= 0}
    expected = {
        "spend": "number",
        "visits": "integer",
        "since": "date",
        "member": "flag",
        "color_red": "category",
        "color_blue": "category",
        "color_dark green": "category",
    }
    assert {name: kind for name, kind in kinds(model).items() if name in cut} == {
        name: expected[name] for name in cut
    }
    assert {"color_red", "color_blue", "color_dark green"} <= {
        name for name, kind in kinds(model).items() if kind == "category"
    }


def test_one_hot_needs_a_single_one_in_every_row():
    X = customers()
    X.loc[0, ["color_red", "color_blue", "color_dark green"]] = 0.0
    assert "category" not in kinds(fit_scaled(X)).values()


def test_the_longest_name_that_holds_for_every_row_is_the_source():
    colors = np.random.default_rng(0).integers(0, 3, 200)
    names = ["favourite_color_dark_red", "favourite_color_dark_blue", "favourite_color_green"]
    X = pd.DataFrame(np.eye(3)[colors], columns=names)
    columns = ExKMC(3, random_state=0).fit(X).columns_
    assert {column.source for column in columns} == {"favourite_color"}
    assert [column.value for column in columns] == ["dark_red", "dark_blue", "green"]


def test_arrays_have_no_names_to_tell_categories_from():
    colors = np.random.default_rng(0).integers(0, 3, 200)
    model = ExKMC(3, random_state=0).fit(np.eye(3)[colors])
    assert set(kinds(model).values()) <= {"flag", "number"}
    assert [column.name for column in model.columns_] == ["x0", "x1", "x2"]


def test_it_reads_like_a_person_would_say_it():
    text = export_text(fit_scaled(customers(), k=4, leaves=12, round_thresholds=True))
    assert "color_" not in text
    assert "0.5" not in text
    assert any(phrase in text for phrase in ("color = red", "color = blue", "color = dark green"))


# ---- dates ---------------------------------------------------------------------------------------


def dated(kind, dates):
    values = np.where(np.arange(len(dates)) % 2, 0.0, 1.0)
    if kind == "pandas":
        return pd.DataFrame({"since": dates, "other": values})
    if kind == "polars":
        return pl.DataFrame({"since": list(dates.to_pydatetime()), "other": values})
    return pl.DataFrame({"since": [d.date() for d in dates], "other": values})


@pytest.mark.parametrize("kind", ["pandas", "polars", "polars dates"])
def test_dates_of_a_frame(kind):
    dates = pd.to_datetime(["2020-01-01", "2020-01-03", "2021-06-01", "2021-06-05"])
    X = dated(kind, dates)
    model = ExKMC(2, max_leaf_nodes=2, random_state=0).fit(X)
    assert model.columns_[0] == Column("since", "date", "D", typed=True)
    late = int(model.labels_[2])
    assert f"since <= 2020-09-16: cluster {1 - late}" in export_text(model)
    assert f"since >= 2020-09-17: cluster {late}" in export_text(model)
    assert model.predict(X).tolist() == model.labels_.tolist()
    days = ((dates - pd.Timestamp("1970-01-01")) / pd.Timedelta("1D")).to_numpy()
    np.testing.assert_allclose(
        sorted(model.cluster_profiles_[:, 0]), [days[:2].mean(), days[2:].mean()]
    )


def test_hours_are_shown_where_there_are_some():
    dates = pd.to_datetime(
        ["2020-01-01 08:00", "2020-01-01 09:00", "2020-01-02 19:30", "2020-01-02 20:00"]
    )
    model = ExKMC(2, max_leaf_nodes=2, random_state=0).fit(dated("pandas", dates))
    assert model.columns_[0].kind == "time"
    assert "since <= 2020-01-02 02:15" in export_text(model)


def test_time_zones_become_utc():
    dates = pd.to_datetime(["2020-01-01", "2020-01-03", "2021-06-01", "2021-06-05"])
    model = ExKMC(2, max_leaf_nodes=2, random_state=0).fit(dated("pandas", dates))
    tokyo = dates.tz_localize("UTC").tz_convert("Asia/Tokyo")
    other = ExKMC(2, max_leaf_nodes=2, random_state=0).fit(dated("pandas", tokyo))
    assert other.tree_ == model.tree_


def test_a_missing_date_takes_a_side():
    X = dated("pandas", pd.to_datetime(["2020-01-01", None, "2021-06-01", "2021-06-05"]))
    model = ExKMC(2, random_state=0).fit(X)
    assert model.predict(X).tolist() == model.labels_.tolist()


def test_a_pipeline_fitted_here_sees_days_and_a_fitted_one_sees_dates():
    X = customers()
    model = fit_scaled(X)
    assert model.transform(X).shape == (len(X), 6)
    seconds = make_pipeline(_Seconds(), StandardScaler(), KMeans(3, n_init=1, random_state=0))
    given_model = ExKMC(3, reference=seconds.fit(X)).fit(X)
    assert given_model.transform(X).shape == (len(X), 3)


class _Seconds(StandardScaler):
    """Reads the dates of a frame itself, and would fail on anything else."""

    def fit(self, X, y=None):
        return super().fit(self._read(X))

    def transform(self, X):
        return super().transform(self._read(X))

    @staticmethod
    def _read(X):
        return X.assign(since=X["since"].dt.year)


@given(
    st.datetimes(datetime(1800, 1, 1), datetime(2140, 1, 1)), st.sampled_from(["D", "h", "s", "us"])
)
def test_a_moment_is_the_last_of_its_count(when, unit):
    count = to_count(when, unit)
    found, microsecond = from_count(count, unit), timedelta(microseconds=1)
    assert to_count(found, unit) == count < to_count(found + microsecond, unit)
    assert when <= found <= when + 2 * microsecond
    assert from_count(np.nextafter(count, -math.inf), unit) < when


def test_units_of_dates():
    assert from_count(1.5, "D") == datetime(1970, 1, 2, 12)
    for unit, per_day in PER_DAY.items():
        assert from_count(2.0 * per_day, unit) == datetime(1970, 1, 3)


# ---- what the user says --------------------------------------------------------------------------


def test_with_columns_leaves_the_model_as_it_was():
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = ExKMC(2, max_leaf_nodes=3, random_state=0).fit(X)
    other = model.with_columns(names=["spend", "age"], units={"spend": "EUR", 1: "years"})
    assert [column.name for column in model.columns_] == ["x0", "x1"]
    assert [(c.name, c.unit) for c in other.columns_] == [("spend", "EUR"), ("age", "years")]
    assert other.tree_ == model.tree_
    assert other.with_leaves(2).columns_ == other.columns_


def test_short_thresholds_stay_short_in_other_units():
    days = np.array([[18000.0], [18010.0], [18400.0], [18500.0]])
    model = ExKMC(2, max_leaf_nodes=2, random_state=0, round_thresholds=True).fit(days)
    assert model.tree_.threshold[0] == 18200.0
    dated_model = model.with_columns(columns=[Column("day", "date", "D")])
    assert "day <= 2020-01-01" in export_text(dated_model)
    assert dated_model.predict(days).tolist() == model.labels_.tolist()
    with pytest.raises(ValueError, match="1 columns, but 2 were given"):
        model.with_columns(columns=[Column("day"), Column("night")])


def test_with_columns_dates_and_categories():
    X = np.random.default_rng(0).integers(0, 2, size=(60, 4)).astype(float)
    X[:, 0] = np.arange(60)
    model = (
        ExKMC(2, random_state=0)
        .fit(X)
        .with_columns(
            names=["day", "size_small", "size_large", "c3"],
            dates={"day": "D"},
        )
    )
    said = model.with_columns(categories=["size"]).columns_
    assert said[0].is_date
    assert [c.value for c in said] == ["", "small", "large", ""]
    said = model.with_columns(categories={"shape": {"c3": "round", 1: "square"}}).columns_
    assert [(c.source, c.value) for c in said[1:]] == [
        ("shape", "square"),
        ("", ""),
        ("shape", "round"),
    ]


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"names": ["a"]}, "2 columns, but 1 names"),
        ({"units": {"nothing": "EUR"}}, "no column 'nothing'"),
        ({"units": {2: "EUR"}}, "no column 2"),
        ({"dates": {0: "years"}}, "counted in one of D, h, m, s, ms, us, ns"),
        ({"categories": ["color"]}, "category of 'color'"),
    ],
)
def test_with_columns_refuses_what_is_not_there(said, message):
    model = ExKMC(2, random_state=0).fit(np.random.default_rng(0).normal(size=(20, 2)))
    with pytest.raises(ValueError, match=message):
        model.with_columns(**said)


# ---- words ---------------------------------------------------------------------------------------

INF = math.inf


@pytest.mark.parametrize(
    ("column", "above", "upto", "words"),
    [
        (Column("spend", unit="EUR"), -INF, 500.25, "spend <= 500.25 EUR"),
        (Column("spend"), 0.1, INF, "spend > 0.1"),
        (Column("spend"), 0.1, 7.0, "0.1 < spend <= 7"),
        (Column("spend"), -INF, INF, ""),
        (Column("visits", "integer"), -INF, 2.5, "visits <= 2"),
        (Column("visits", "integer"), -INF, 2.0, "visits <= 2"),
        (Column("visits", "integer"), 2.5, INF, "visits >= 3"),
        (Column("visits", "integer"), -2.5, INF, "visits >= -2"),
        (Column("visits", "integer"), 2.5, 3.5, "visits = 3"),
        (Column("visits", "integer", "days"), 2.5, 7.5, "3 days <= visits <= 7 days"),
        (Column("member", "flag"), -INF, 0.5, "member = 0"),
        (Column("member", "flag"), 0.5, INF, "member = 1"),
        (Column("since", "date", "D"), -INF, 0.5, "since <= 1970-01-01"),
        (Column("since", "date", "D"), 0.5, INF, "since >= 1970-01-02"),
        (Column("since", "time", "h"), 1.5, INF, "since > 1970-01-01 01:30"),
        (Column("since", "time", "s"), -INF, 86400.0, "since <= 1970-01-02"),
        (Column("since", "time", "D"), -INF, 1e12, "since <= 1000000000000 D"),
    ],
)
def test_conditions(column, above, upto, words):
    assert Reader(stump(), (column,)).condition(0, ValueSet(above, upto)) == words


def colors(complete):
    return tuple(
        Column(f"c{i}", "category", source="color", value=value, complete=complete)
        for i, value in enumerate(["red", "green", "blue"])
    )


NO, YES = ValueSet(upto=0.5), ValueSet(above=0.5)


@pytest.mark.parametrize(
    ("box", "complete", "words"),
    [
        ({0: YES}, True, ["color = red"]),
        ({0: NO}, True, ["color != red"]),
        ({0: YES, 1: NO}, True, ["color = red"]),
        ({0: NO, 1: NO}, True, ["color = blue"]),
        ({0: NO, 1: NO}, False, ["color not in (red, green)"]),
        ({0: ValueSet()}, True, []),
    ],
)
def test_categories(box, complete, words):
    tree = ThresholdTree([0, -1, -1], [0.5, 0, 0], [1, -1, -1], [2, -1, -1], [0, 0, 1], 3)
    assert Reader(tree, colors(complete)).conditions(box) == words


def test_means():
    columns = (
        Column("a", unit="EUR"),
        Column("b", "flag"),
        Column("c", "date", "D"),
        *colors(True),
    )
    tree = ThresholdTree([-1], [0], [-1], [-1], [0], 6)
    reader = Reader(tree, columns)
    assert [reader.mean(i, x) for i, x in enumerate([1234.567, 0.25, 1.5, 0.812])] == [
        "1235 EUR",
        "25 %",
        "1970-01-02",
        "81 %",
    ]


def test_kinds_are_checked():
    with pytest.raises(ValueError, match="of a kind in number, integer"):
        Column("a", "colour")
    with pytest.raises(ValueError, match="described by text"):
        Column(3)


# ---- numbers -------------------------------------------------------------------------------------


@given(finite)
def test_written_loses_nothing(number):
    assert float(format_number(number)) == number


@pytest.mark.parametrize(
    ("number", "text"),
    [(500.0, "500"), (0.1, "0.1"), (-0.0, "0"), (1e-5, "0.00001"), (1e15, "1000000000000000")],
)
def test_written(number, text):
    assert format_number(number) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0"),
        (1234.567, "1235"),
        (0.012346, "0.01235"),
        (12.0, "12"),
        (1e-9, "1e-09"),
        (99.99, "99.99"),
    ],
)
def test_about(number, text):
    assert format_rounded(number) == text


@given(finite, finite)
def test_shown_stays_in_the_gap(a, b):
    below, above = min(a, b), max(a, b)
    threshold = below / 2 + above / 2
    if not below <= threshold < above:
        threshold = below
    short = shorten_number(threshold, below, above)
    assert short == threshold or below <= short < above
    assert significant(short) <= significant(threshold)


@given(finite, finite)
def test_shortest_is_inside_and_none_is_shorter(a, b):
    below, above = min(a, b), max(a, b)
    threshold = below / 2 + above / 2
    short = shortest_number(threshold, below, above)
    assert short == threshold or below < short < above
    digits = significant(short)
    for fewer in range(1, min(digits, 8)):  # every number of so few digits about the middle
        for candidate in neighbours(threshold, fewer):
            assert not below < candidate < above, (candidate, short)


def significant(number):
    digits = f"{abs(number):.16e}".split("e")[0].replace(".", "") if number else "0"
    for n in range(1, 18):
        if float(f"{number:.{n - 1}e}") == number:
            return n
    return len(digits.rstrip("0"))


def neighbours(number, digits):
    if number == 0:
        return [0.0]
    unit = 10.0 ** (math.floor(math.log10(abs(number))) - digits + 1)
    if not 1e-290 < unit < 1e290:
        return []
    return [float(f"{(round(number / unit) + i) * unit:.{digits - 1}e}") for i in (-1, 0, 1)]


@pytest.mark.parametrize(
    ("below", "above", "expected"),
    [
        (480.2, 524.06, 500.0),
        (0.1229, 0.1239, 0.123),
        (5.0, 1005.0, 500.0),
        (-1.0, 1.0000001, 0.0),
        (2.0, 3.0, 2.5),
        (2.0, 10.0, 6.0),
        (-1290.0, -1234.2, -1260.0),
        (0.0, 1.0, 0.5),
        (1.0, np.nextafter(1.0, 2.0), 1.0),
        (-INF, 524.06, 500.0),
        (-INF, INF, 510.0),
    ],
)
def test_shortest(below, above, expected):
    threshold = 510.0 if math.isinf(below) else below / 2 + above / 2
    assert shortest_number(threshold, below, above) == expected


@pytest.mark.parametrize(
    ("below", "above", "expected"),
    [
        ("2019-11-03", "2020-05-01", "2020-01-01"),
        ("2020-02-20", "2020-04-10", "2020-03-01"),
        ("2020-02-03", "2020-02-09", "2020-02-06"),
        ("2020-02-03 08:10", "2020-02-03 09:50", "2020-02-03 09:00"),
        ("2020-02-03 08:10:07", "2020-02-03 08:10:09", "2020-02-03 08:10:08"),
    ],
)
@pytest.mark.parametrize("unit", ["D", "s"])
def test_shortest_date(below, above, expected, unit):
    low, high = (to_count(datetime.fromisoformat(text), unit) for text in (below, above))
    found = shortest_date(low / 2 + high / 2, low, high, unit)
    assert found == to_count(datetime.fromisoformat(expected), unit)


# ---- short thresholds ----------------------------------------------------------------------------


@st.composite
def tables(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(8, 120)), draw(st.integers(1, 4))
    scale = 10.0 ** rng.integers(-6, 7, size=d)
    X = rng.normal(size=(n, d)) * scale + rng.normal(size=d) * scale * 100
    if draw(st.booleans()):
        X = np.round(X)
    if draw(st.booleans()):
        X = np.round(X * 64) / 64 + 1e9  # hardly any room between values
    return X


@given(tables(), st.integers(2, 5), st.sampled_from(["none", "local"]))
def test_no_training_row_changes_side(X, k, refine):
    centers = np.unique(X, axis=0)[:k]
    settings = {"max_leaf_nodes": 3 * k, "reference": centers, "refine": refine}
    plain = ExKMC(len(centers), **settings).fit(X)
    short = ExKMC(len(centers), **settings, round_thresholds=True).fit(X)
    assert short.tree_.apply(X).tolist() == plain.tree_.apply(X).tolist()
    assert short.labels_.tolist() == plain.labels_.tolist() == short.predict(X).tolist()
    for n_leaves in short.path_["n_leaves"].tolist():
        assert (
            short.with_leaves(n_leaves).predict(X).tolist()
            == plain.with_leaves(n_leaves).labels_.tolist()
        )
    cut = ~plain.tree_.is_leaf
    for old, new in zip(plain.tree_.threshold[cut], short.tree_.threshold[cut], strict=True):
        assert significant(new) <= significant(old)


@given(tables(), st.integers(2, 5))
def test_words_put_no_training_row_on_the_wrong_side(X, k):
    centers = np.unique(X, axis=0)[:k]
    model = ExKMC(len(centers), max_leaf_nodes=3 * k, reference=centers).fit(X)
    reader, tree = Reader(model.tree_, model.columns_), model.tree_
    passed = tree.decision_path(X).toarray().astype(bool)
    for node in np.flatnonzero(~tree.is_leaf):
        values = X[passed[:, node], tree.feature[node]]
        words = reader.sides(node)[0]
        _, sign, number = words.split(" ")
        if sign == "=":  # a flag
            continue
        assert sign == "<="
        np.testing.assert_array_equal(values <= float(number), values <= tree.threshold[node])


def test_dates_are_rounded_to_dates():
    X = customers()
    model = fit_scaled(X, round_thresholds=True, leaves=30)
    plain = fit_scaled(X, leaves=30)
    assert model.labels_.tolist() == plain.labels_.tolist() == model.predict(X).tolist()
    since = [column.name for column in model.columns_].index("since")
    wide = (model.tree_.feature == since) & (np.diff(model.tree_.gap)[:, 0] > 1)
    assert wide.any()
    assert np.array_equal(model.tree_.threshold[wide], np.floor(model.tree_.threshold[wide]))


def test_round_thresholds_is_checked():
    with pytest.raises(ValueError, match="round_thresholds must be True or False; got 3"):
        ExKMC(2, round_thresholds=3).fit(np.eye(4))


# ---- the ends of the calendar --------------------------------------------------------------------


@pytest.mark.parametrize("unit", ["D", "h", "s", "us"])
def test_the_shortest_date_at_the_ends_of_the_calendar(unit):
    for first, last in [
        (datetime(9999, 6, 1), datetime(9999, 12, 31)),
        (datetime(9999, 12, 30, 1), datetime(9999, 12, 31, 2)),
        (datetime(9999, 12, 31, 23, 30, 1), datetime(9999, 12, 31, 23, 59, 59)),
        (datetime(1, 1, 1, 0, 0, 1), datetime(1, 2, 3)),
        (datetime(1677, 9, 20), datetime(2262, 4, 12)),
    ]:
        below, above = to_count(first, unit), to_count(last, unit)
        short = shortest_date((below + above) / 2, below, above, unit)
        assert below < short < above
        assert shorten_date(short, below, above, unit) == short


def test_years_have_four_digits():
    column = Column("day", "time", "m")
    reader = Reader(stump(), (column,))
    x = to_count(datetime(1, 2, 3, 4, 5), "m")
    assert reader.mean(0, x) == "0001-02-03"
    assert reader.value(0, x).startswith("0001-02-03 04:05")
    assert reader.compared(0, x, x + 144) == ("0001-02-03 04:05", "0001-02-03 06:29")
    assert Reader(stump(), (replace(column, kind="date"),)).value(0, x) == "0001-02-03"
