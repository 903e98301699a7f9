"""What k-means sees of a table that is not all numbers."""

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from treemeans import ExKMC
from treemeans.columns import Column
from treemeans.preparation import TablePreparation


def customers(seed, n_countries=30, n=1500):
    """Four segments that differ in numbers and in their plan; the country means nothing."""
    rng = np.random.default_rng(seed)
    segment = rng.integers(0, 4, n)
    numbers = (2 * rng.normal(size=(4, 4)))[segment] + rng.normal(size=(n, 4))
    numbers[:, 0] = np.exp(numbers[:, 0])
    shares = 1 / np.arange(1, n_countries + 1)
    country = rng.choice(n_countries, n, p=shares / shares.sum())
    plan = np.where(rng.random(n) < 0.7, segment % 3, rng.integers(0, 3, n))
    X = np.column_stack([numbers, country, plan, rng.random(n) < 0.5])
    X[rng.random(n) < 0.05, 1] = np.nan
    columns = (
        *(Column(name) for name in ("income", "age", "visits", "basket")),
        Column("country", "codes", categories=tuple(map(str, range(n_countries)))),
        Column("plan", "codes", categories=("a", "b", "c")),
        Column("active", "flag"),
    )
    return columns, X, segment


def standardised_one_hot(prepared, rows):
    start = 0
    for view in prepared.views:
        if view.how == "one-hot":
            block = rows[:, start : start + view.width]
            block /= block.std(axis=0)
        start += view.width
    return rows


def largest_share_of_one_country(labels, country):
    return max(
        np.bincount(country[labels == g].astype(int)).max() / (labels == g).sum()
        for g in set(labels)
    )


def test_standardised_categories_make_clusters_of_single_countries():
    columns, X, _ = customers(0)
    prepared = TablePreparation.of(columns, X)
    rows = standardised_one_hot(prepared, prepared.transform(X))
    found = KMeans(4, n_init=3, random_state=0).fit_predict(rows)
    assert largest_share_of_one_country(found, X[:, 4]) == 1.0


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_rare_countries_do_not_outvote_the_numbers(seed):
    columns, X, segment = customers(seed)
    prepared = TablePreparation.of(columns, X)
    rows = prepared.transform(X)
    found = KMeans(4, n_init=3, random_state=0).fit_predict(rows)
    other = KMeans(4, n_init=3, random_state=0).fit_predict(
        standardised_one_hot(prepared, rows.copy())
    )
    assert largest_share_of_one_country(found, X[:, 4]) < 0.5
    assert adjusted_rand_score(segment, found) > adjusted_rand_score(segment, other) + 0.1


def test_skewed_and_outlying_numbers_are_noticed():
    rng = np.random.default_rng(0)
    values = {
        "money": rng.lognormal(8, 1.2, 2000),
        "age": rng.normal(40, 10, 2000),
        "balance": rng.standard_t(1.2, 2000),
        "late": 100 - rng.exponential(5, 2000) ** 1.5,
        "clicks": np.where(rng.random(2000) < 0.96, 0, rng.integers(1, 99, 2000)),
    }
    X = np.column_stack(list(values.values()))
    prepared = TablePreparation.of(tuple(map(Column, values)), X)
    assert [view.how for view in prepared.views] == ["log", "standard", "rank", "rank", "rank"]
    rows = prepared.transform(X)
    np.testing.assert_allclose(rows.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(rows.std(axis=0), 1, atol=1e-9)
    assert "logarithm, standardised (skewed to the right)" in str(prepared)


@pytest.mark.parametrize("scale", ["auto", "none", "standard", "robust", "log", "rank"])
def test_a_weight_is_a_number_of_rows(scale):
    columns, X, _ = customers(5, n=200)
    weights = np.random.default_rng(0).integers(0, 4, 200).astype(float)
    one = TablePreparation.of(columns, X, weights, scale)
    other = TablePreparation.of(columns, np.repeat(X, weights.astype(int), axis=0), None, scale)
    np.testing.assert_allclose(one.transform(X), other.transform(X), atol=1e-9)


def test_scales_of_a_table_of_numbers():
    rng = np.random.default_rng(0)
    X = rng.lognormal(size=(300, 3)) * [1, 100, 1e4]
    asis = ExKMC(3, random_state=0).fit(X)
    assert not hasattr(asis, "preparation_")
    assert ExKMC(3, scale="none", random_state=0).fit(X).inertia_ == asis.inertia_
    standard = ExKMC(3, scale="standard", random_state=0).fit(X)
    pipeline = make_pipeline(StandardScaler(), KMeans(3, n_init=10, random_state=0))
    given = ExKMC(3, reference=pipeline).fit(X)
    assert standard.inertia_ == pytest.approx(given.inertia_, rel=1e-3)
    for scale in ("robust", "log", "rank"):
        assert [v.how for v in ExKMC(3, scale=scale).fit(X).preparation_.views] == [scale] * 3
    with pytest.raises(ValueError, match="scale must be one of"):
        ExKMC(3, scale="minmax").fit(X)
    with pytest.raises(ValueError, match="scale='log' is for a reference that is no pipeline"):
        ExKMC(3, scale="log", reference=pipeline).fit(X)


def test_dates_are_clustered_as_time_and_a_pipeline_gets_them_untouched():
    rng = np.random.default_rng(0)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, 200), "D")
    table = pd.DataFrame({"day": days, "amount": rng.lognormal(size=200)})
    model = ExKMC(3, random_state=0).fit(table)
    assert [view.how for view in model.preparation_.views] == ["standard", "log"]
    assert "date" in str(model.schema_)
    assert (model.predict(table[["amount", "day"]]) == model.labels_).all()
    np.testing.assert_allclose(
        model.transform(table).min(axis=1) ** 2 @ np.ones(200), -model.score(table), rtol=0.5
    )

    seen = []

    class Months(StandardScaler):
        def fit(self, X, y=None, sample_weight=None):
            seen.append(X.dtypes["day"])
            return super().fit(self._months(X))

        def transform(self, X, copy=None):
            return super().transform(self._months(X))

        def _months(self, X):
            return np.column_stack([X["day"].dt.month, X["amount"]])

    ExKMC(3, reference=make_pipeline(Months(), KMeans(3, random_state=0))).fit(table)
    assert seen[0].kind == "M"
    # Scalers do not take dates: they get days.
    transformer = make_column_transformer((StandardScaler(), ["day", "amount"]))
    ExKMC(3, reference=make_pipeline(transformer, KMeans(3, random_state=0))).fit(table)
