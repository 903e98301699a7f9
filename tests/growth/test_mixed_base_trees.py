"""Base trees of tables with categories and missing values: the search of IMM by brute force."""

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from tests.oracles import mixed_oracle as oracle
from treemeans import ExKMC
from treemeans.costs import KMeansCost
from treemeans.growth import mistake_subsets
from treemeans.growth.in_memory_tree import InMemoryTree
from treemeans.growth.mistake_search import MistakeSearch
from treemeans.growth.mistake_subsets import SubsetSearch
from treemeans.limits import Limits
from treemeans.refine import coreset
from treemeans.rows import Table, as_points
from treemeans.split import Split
from treemeans.training_data import TrainingData


def _mistakes(choice, feature_values, place, center, counted):
    cut = choice.as_cut(0, choice.mistakes)
    split = Split(0, cut.threshold, cut.missing_left, tuple(cut.categories))
    if np.isnan(np.concatenate([feature_values, place])).any():
        assert cut.missing_left is not None
    left, centers = split.goes_left(feature_values), split.goes_left(place)
    assert np.array_equal(centers, choice.goes_left)
    assert 0 < centers.sum() < len(centers)
    return int(counted[left != centers[center]].sum())


def _case(rng, n_codes, k):
    n = int(rng.integers(1, 30))
    values = rng.integers(0, n_codes, n).astype(float)
    values[rng.random(n) < 0.2] = np.nan
    center = rng.integers(0, k, n)
    counted = rng.integers(0, 4, n)
    place = rng.integers(0, n_codes, k).astype(float)
    place[rng.random(k) < 0.2] = np.nan
    return values, center, counted, place


@pytest.mark.parametrize("most_places", [10, 1])
def test_sets_of_categories_make_the_fewest_mistakes(monkeypatch, most_places):
    """Every way to part the centers is tried; with 1, minimum cuts are found by maximum flows."""
    monkeypatch.setattr(mistake_subsets, "_MOST_PLACES", most_places)
    rng = np.random.default_rng(most_places)
    n_found = 0
    for _ in range(400 if most_places > 1 else 150):
        n_codes, k = int(rng.integers(1, 6)), int(rng.integers(2, 6))
        values, center, counted, place = _case(rng, n_codes, k)
        group = np.where(np.isnan(values), n_codes, values).astype(int)
        counts = np.zeros((n_codes + 1, k), dtype=np.int64)
        np.add.at(counts, (group, center), counted)
        at = np.where(np.isnan(place), n_codes, place).astype(int)
        weight = np.bincount(group, minlength=n_codes + 1)
        search = SubsetSearch(counts, at, weight, Limits())
        found = search.run(None)
        best = oracle.least_mistakes(values, True, center, counted, place)
        if found is None:
            assert best is None
            continue
        n_found += 1
        assert found.mistakes == best
        assert _mistakes(found, values, place, center, counted) == best
        assert search.run(best - 1) is None
    assert n_found > 100


def _search(X, categorical, centers, weights, limits=None):
    """The search of IMM at the root of a tree on X; costs are measured on other columns."""
    table = Table.of(X, 1, None, np.array(categorical))
    rng = np.random.default_rng(len(X))
    space = rng.normal(size=(len(X), 2))
    cost = KMeansCost(space, as_points(space), weights, 1)
    limits = Limits() if limits is None else limits
    columns = np.full((len(centers), X.shape[1]), np.nan)
    growing = InMemoryTree(TrainingData.of(X, table, cost, limits, centers, columns))
    search = MistakeSearch(growing, columns.T.copy(), per_center=False, empty_sides=True)
    return search, growing


@pytest.mark.parametrize(("n", "least"), [(8, 1), (8, 3), (25, 1), (25, 8), (700, 1), (700, 250)])
def test_thresholds_beside_missing_values_make_the_fewest_mistakes(n, least):
    """700 different values are more than there are bins. ``least``: weight of a leaf."""
    rng = np.random.default_rng(n)
    n_found = 0
    for case in range(400 if n < 100 else 15):
        values = rng.normal(size=n) if n > 100 else rng.integers(0, 6, n).astype(float)
        values[rng.random(n) < rng.choice([0.1, 0.45])] = np.nan
        values[0] = np.nan  # else it is a column like others
        centers = rng.normal(size=(int(rng.integers(2, 5)), 2))
        weights = rng.integers(1, 5, n).astype(float) if case % 2 else None
        limits = Limits(min_samples_leaf=least)
        search, growing = _search(values[:, None], [False], centers, weights, limits)
        if not growing.table.bins.mixed:
            continue
        nearest = growing.costs.nearest
        members = np.unique(nearest)
        if len(members) < 2:
            continue
        place = search._mixed._columns[0].place
        counted = np.ones(n, dtype=int) if growing.weights is None else growing.weights
        number = np.searchsorted(members, nearest)
        unit = 1 if weights is None else counted[0] / weights[0]
        wanted = least * unit if least > 1 else 0
        best = oracle.least_mistakes(values, False, number, counted, place[members], wanted)
        cut = search.cut(0, members.astype(np.intp))
        if cut is None:
            assert best is None
            continue
        n_found += 1
        assert cut.cost >> search._shift == best
        split = Split(0, cut.threshold, cut.missing_left)
        centers_left = split.goes_left(place[members])
        assert np.array_equal(centers_left, search.centers_left(cut)[members])
        parted = split.goes_left(values) != centers_left[number]
        assert int(counted[parted].sum()) == best
    assert n_found > (100 if n < 100 else 5)


def _customers(n=600, seed=0):
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 4, n)
    return pd.DataFrame(
        {
            "country": np.array(["DE", "FR", "IT", "ES", "PL", "NL"])[
                (group + rng.integers(0, 2, n)) % 6
            ],
            "plan": np.where(rng.random(n) < 0.1, None, np.array(["a", "b"])[group // 2]),
            "age": np.where(rng.random(n) < 0.2, np.nan, 30 + 10 * group + rng.normal(0, 2, n)),
            "income": rng.lognormal(8 + group, 0.3),
        }
    )


def test_every_cluster_has_a_leaf():
    table = _customers()
    for drop in ([], ["income"], ["income", "age"]):
        model = ExKMC(4, max_leaf_nodes=4, random_state=0).fit(table.drop(columns=drop))
        assert model.n_leaves_ == 4
        assert set(model.labels_) == {0, 1, 2, 3}
        assert model.path_["n_leaves"].tolist() == [4]


@pytest.mark.parametrize("base", ["emn", "exgreedy", "random", "kauri", "cart", "kdtree", "best"])
def test_other_base_trees_start_on_columns_of_numbers(base):
    table = _customers()
    model = ExKMC(4, base_tree=base, random_state=0).fit(table)
    assert set(model.predict(table)) == {0, 1, 2, 3}
    # Without such a column they start from one leaf.
    model = ExKMC(4, base_tree=base, random_state=0).fit(table.drop(columns="income"))
    assert set(model.labels_) == {0, 1, 2, 3}


def test_imm_keeps_to_the_limits():
    table = _customers()
    for settings in ({"max_categories": 1}, {"min_samples_leaf": 60}, {"max_depth": 2}):
        model = ExKMC(4, max_leaf_nodes=8, random_state=0, **settings).fit(table)
        tree = model.tree_
        if "max_categories" in settings:
            assert tree.is_categorical.any()
            assert np.diff(tree.category_first).max() == 1
        if "min_samples_leaf" in settings:
            assert tree.weight[tree.leaves].min() >= 60
        if "max_depth" in settings:
            assert tree.depth.max() == 2


@pytest.mark.parametrize("refine", ["local", "search"])
@pytest.mark.parametrize("sampled", [False, True])
def test_refinement_takes_mixed_tables(monkeypatch, refine, sampled):
    """Large tables are searched on a sample, in which a column may lack no value."""
    if sampled:
        monkeypatch.setattr(coreset, "rows_wanted", lambda per_row: 100)
    n = 600
    table = _customers(n)
    table["rare"] = np.where(np.arange(n) == 7, np.nan, np.arange(n) % 5)
    plain = ExKMC(4, random_state=0).fit(table)
    model = ExKMC(4, refine=refine, search_rounds=30, random_state=0).fit(table)
    assert model.inertia_ <= plain.inertia_ * (1 + 1e-12)
    assert np.array_equal(model.predict(table), model.labels_)


def test_optimal_refinement_refuses_mixed_tables():
    with pytest.raises(ValueError, match=r'refine="optimal".*country.*use refine="search"'):
        ExKMC(4, refine="optimal", random_state=0).fit(_customers())


def test_pipelines_get_the_frame_untouched():
    table = _customers()
    prepare = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["country", "plan"]),
        (SimpleImputer(), ["age", "income"]),
    )
    reference = make_pipeline(prepare, KMeans(4, n_init=2, random_state=0))
    model = ExKMC(None, reference=reference, random_state=0).fit(table)
    alone = make_pipeline(prepare, KMeans(4, n_init=2, random_state=0)).fit(table)
    assert model.reference_inertia_ == pytest.approx(alone[-1].inertia_)
    assert np.array_equal(model.predict(table), model.labels_)
    assert not hasattr(model, "preparation_")
