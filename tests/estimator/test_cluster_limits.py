"""Limits on clusters hold exactly on the training rows, at every size of the tree."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, load_wine

from tests.estimator.test_bad_input import one_sentence
from treemeans import ExKMC, load
from treemeans.tree import ThresholdTree


def rows(n=400, d=4, seed=0):
    """Three unequal blobs, and a group that depends on the first column."""
    rng = np.random.default_rng(seed)
    blob = rng.choice(3, p=[0.7, 0.2, 0.1], size=n)
    X = rng.normal(size=(n, d)) + 3 * blob[:, None] * np.eye(d)[blob]
    gender = np.where(rng.random(n) < 0.3 + 0.4 * (X[:, 0] > 0), "f", "m")
    return X, gender


def sizes_of(model, weights=None):
    """Weights of the clusters of each size of a model."""
    k = model.tree_.n_clusters
    for n_leaves in model.path_["n_leaves"].tolist():
        small = model.with_leaves(n_leaves)
        yield small, np.bincount(small.labels_, weights, minlength=k)


LIMITS = [
    {"min_cluster_size": 90},
    {"max_cluster_size": 160},
    {"min_cluster_size": 0.25, "max_cluster_size": 0.45},
    {"balance": {"gender": (0.4, 0.6)}},
    {"balance": {"gender": {"f": (0.45, 0.55)}}, "min_cluster_size": 40},
]


@pytest.mark.parametrize("refine", ["none", "local"])
@pytest.mark.parametrize("limits", LIMITS, ids=str)
def test_limits_hold_at_every_size(limits, refine):
    X, gender = rows()
    model = ExKMC(
        3, max_leaf_nodes=9, refine=refine, search_rounds=10, random_state=0, **limits
    ).fit(X, groups={"gender": gender})
    low, high = limits.get("min_cluster_size", 0), limits.get("max_cluster_size", 400)
    low, high = (each * 400 if each < 1 else each for each in (low, high))
    bounds = limits.get("balance", {"gender": (0, 1)})["gender"]
    least, most = bounds["f"] if isinstance(bounds, dict) else bounds
    for small, size in sizes_of(model):
        assert low <= size.min()
        assert size.max() <= high
        there = size > 0
        share = np.bincount(small.labels_, gender == "f", minlength=3)[there] / size[there]
        assert least <= share.min()
        assert share.max() <= most
        np.testing.assert_array_equal(small.predict(X), small.labels_)
    # With its labels at every size, a larger tree costs no more.
    assert np.all(np.diff(model.path_["surrogate_cost"]) <= 1e-9 * model.reference_inertia_)


def test_no_labels_of_the_same_leaves_within_the_limits_cost_less():
    X, _ = rows(120)
    model = ExKMC(3, max_leaf_nodes=7, min_cluster_size=35, random_state=0).fit(X)
    for n_leaves in model.path_["n_leaves"].tolist():
        tree = model.with_leaves(n_leaves).tree_
        leaves, k = tree.leaves, tree.n_clusters
        every = np.indices((k,) * n_leaves).reshape(n_leaves, -1).T
        weights = np.stack([(every == c) @ tree.weight[leaves] for c in range(k)], axis=1)
        allowed = every[weights.min(axis=1) >= 35]
        costs = tree.costs[leaves][np.arange(n_leaves), allowed].sum(axis=1)
        assert tree.surrogate_cost == pytest.approx(costs.min(), rel=1e-9)


@pytest.mark.parametrize("base_tree", ["imm", "exgreedy", "none", "kauri", "cart", "best"])
def test_limits_that_hold_anyway_change_nothing(base_tree):
    X = load_iris().data
    same = {"max_leaf_nodes": 7, "base_tree": base_tree, "random_state": 0}
    plain = ExKMC(3, **same).fit(X)
    limited = ExKMC(3, min_cluster_size=1, max_cluster_size=149, **same).fit(X)
    n = limited.n_leaves_
    assert n == plain.n_leaves_
    np.testing.assert_array_equal(limited.labels_, plain.labels_)
    np.testing.assert_array_equal(limited.tree_.threshold, plain.tree_.threshold)
    assert limited.path_["kmeans_cost"][-1] == pytest.approx(plain.path_["kmeans_cost"][-1])


def test_the_tree_does_not_depend_on_threads():
    X, gender = rows(1500)
    fits = [
        ExKMC(3, min_cluster_size=0.28, balance={"g": (0.4, 0.6)}, n_jobs=jobs, random_state=0).fit(
            X, groups={"g": gender}
        )
        for jobs in (1, 2)
    ]
    assert fits[0].tree_ == fits[1].tree_
    np.testing.assert_array_equal(fits[0].path_, fits[1].path_)


def test_a_weight_of_two_counts_as_two_rows():
    X, _ = rows(200)
    weights = np.random.default_rng(0).integers(0, 4, size=200)
    centers = X[:3]
    same = {"min_cluster_size": 95, "max_leaf_nodes": 8, "reference": centers}
    weighted = ExKMC(3, **same).fit(X, sample_weight=weights)
    repeated = ExKMC(3, **same).fit(np.repeat(X, weights, axis=0))
    np.testing.assert_array_equal(weighted.tree_.threshold, repeated.tree_.threshold)
    for _, size in sizes_of(weighted, weights):
        assert size.min() >= 95


def test_weights_that_are_no_whole_numbers():
    X, _ = rows(200)
    weights = np.random.default_rng(0).random(200)
    least = 0.3 * weights.sum()
    model = ExKMC(3, min_cluster_size=0.3, max_leaf_nodes=9, random_state=0)
    for _, size in sizes_of(model.fit(X, sample_weight=weights), weights):
        assert size.min() >= least * (1 - 1e-9)


def test_a_refined_tree_costs_no_more_than_the_grown_one():
    X, _ = rows()
    same = {"min_cluster_size": 0.28, "max_leaf_nodes": 8, "random_state": 0}
    grown, local, search = (
        ExKMC(3, refine=refine, search_rounds=20, **same).fit(X).inertia_
        for refine in ("none", "local", "search")
    )
    assert local <= grown
    assert search <= local


def test_a_search_keeps_the_limits():
    test_limits_hold_at_every_size(LIMITS[4], "search")


def test_where_cuts_by_cost_do_not_lead_to_the_limits_leaves_of_equal_weight_do():
    X = np.concatenate([np.random.default_rng(0).normal(size=(98, 2)), [[50, 0], [0, 50]]])
    model = ExKMC(3, max_leaf_nodes=3, min_cluster_size=33, random_state=0).fit(X)
    assert sorted(np.bincount(model.labels_)) == [33, 33, 34]


def test_a_given_tree_is_kept_where_it_can_be():
    X = load_wine().data
    tree = ThresholdTree([12, -1, -1], [650.0, 0, 0], [1, -1, -1], [2, -1, -1], [0, 0, 1], 13)
    model = ExKMC(3, base_tree=tree, max_leaf_nodes=8, min_cluster_size=40, random_state=0).fit(X)
    assert (model.tree_.feature[0], model.tree_.threshold[0]) == (12, 650.0)
    assert np.bincount(model.labels_).min() >= 40


def test_columns_of_categories_and_missing_values():
    X, gender = rows(300)
    table = pd.DataFrame(X, columns=list("abcd")).assign(plan=np.where(X[:, 1] > 0, "pro", "basic"))
    table.loc[::7, "b"] = np.nan
    table["gender"] = gender
    model = ExKMC(
        3, min_cluster_size=60, balance={"gender": (0.4, 0.6)}, protected=["gender"], random_state=0
    ).fit(table)
    assert np.bincount(model.labels_).min() >= 60
    share = np.bincount(model.labels_, gender == "f") / np.bincount(model.labels_)
    assert 0.4 <= share.min() <= share.max() <= 0.6
    assert "gender" not in [model.columns_[i].name for i in model.tree_.feature if i >= 0]


# ---- shares --------------------------------------------------------------------------------------


def test_the_share_of_a_flag_is_that_of_true():
    X, gender = rows()
    flag = gender == "f"
    for values in (flag, flag.astype(int), flag.astype(object), pd.array(flag)):
        model = ExKMC(3, balance={"f": (0.42, 1.0)}, max_leaf_nodes=9, random_state=0)
        model.fit(X, groups=pd.DataFrame({"f": values}))
        size = np.bincount(model.labels_)
        assert (np.bincount(model.labels_, flag)[size > 0] / size[size > 0]).min() >= 0.42


def test_each_of_many_values_is_limited():
    X, _ = rows()
    color = np.array(["red", "green", "blue"])[np.random.default_rng(0).integers(0, 3, len(X))]
    model = ExKMC(3, balance={"color": (0.25, 0.42)}, max_leaf_nodes=9, random_state=0)
    model.fit(X, groups={"color": color})
    shares = model.rules().balanced
    assert [each.value for each in shares] == ["blue", "green", "red"]
    for each in shares:
        expected = [(color[model.labels_ == c] == each.value).mean() for c in range(3)]
        np.testing.assert_allclose(each.shares, expected)
        assert 0.25 <= min(each.shares) <= max(each.shares) <= 0.42


def test_a_missing_value_is_a_value():
    X, gender = rows()
    gender = np.where(np.arange(len(X)) % 3 == 0, None, gender.astype(object))
    for value in (None, "missing"):
        model = ExKMC(3, balance={"g": {value: (0.3, 0.4)}}, max_leaf_nodes=9, random_state=0)
        (share,) = model.fit(X, groups={"g": gender}).rules().balanced
        assert (share.value, share.low, share.high) == ("missing", 0.3, 0.4)
        assert 0.3 <= min(share.shares) <= max(share.shares) <= 0.4


def test_a_column_of_x_is_named_by_name_or_number():
    X, gender = rows()
    X = np.column_stack([X, gender == "f"])
    by_number = ExKMC(3, balance={4: (0.4, 0.6)}, random_state=0).fit(X)
    table = pd.DataFrame(X, columns=["a", "b", "c", "d", "f"])
    by_name = ExKMC(3, balance={"f": (0.4, 0.6)}, random_state=0).fit(table)
    np.testing.assert_array_equal(by_number.labels_, by_name.labels_)


# ---- protected columns ---------------------------------------------------------------------------


def test_a_protected_column_is_never_cut_and_its_figure_is_told():
    X, gender = rows()
    model = ExKMC(3, protected=[0, "gender"], random_state=0).fit(X, groups={"gender": gender})
    assert 0 not in model.tree_.feature
    number, category = model.rules().protected
    labels, values = model.labels_, X[:, 0]
    within = sum(((values[labels == c] - values[labels == c].mean()) ** 2).sum() for c in range(3))
    assert number.revealed == pytest.approx(1 - within / ((values - values.mean()) ** 2).sum())
    share = (gender == "f").mean()
    errors = sum(
        (labels == c).mean() * 2 * p * (1 - p)
        for c in range(3)
        for p in [(gender[labels == c] == "f").mean()]
    )
    assert category.revealed == pytest.approx(1 - errors / (2 * share * (1 - share)))
    assert "gender is protected: no rule uses it" in str(model.rules())
    small = model.with_leaves(int(model.path_["n_leaves"][0]))
    assert small.rules().protected[1].revealed != category.revealed


def test_what_is_saved_has_the_figures_and_no_values(tmp_path):
    X, gender = rows()
    secret = np.array([f"person {i}" for i in range(len(X))])
    model = ExKMC(3, min_cluster_size=90, balance={"g": (0.4, 0.6)}, protected=["who"])
    model.set_params(random_state=0).fit(X, groups={"g": gender, "who": secret})
    model.save(tmp_path / "m.json")
    assert "person" not in (tmp_path / "m.json").read_text(encoding="utf-8")
    again = load(tmp_path / "m.json")
    for n_leaves in model.path_["n_leaves"].tolist():
        one, other = again.with_leaves(n_leaves), model.with_leaves(n_leaves)
        assert str(one.rules()) == str(other.rules())
        np.testing.assert_array_equal(one.predict(X), other.predict(X))
    assert again.get_params()["balance"] == {"g": [0.4, 0.6]}
    model.report(tmp_path / "r.html", X)
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "who is protected" in page
    assert "person" not in page


# ---- what cannot be ------------------------------------------------------------------------------

BAD = [
    ({"min_cluster_size": 0}, "min_cluster_size must be"),
    ({"max_cluster_size": "5"}, "max_cluster_size must be"),
    ({"min_cluster_size": 50, "max_cluster_size": 40}, "is more than max_cluster_size=40"),
    ({"min_cluster_size": 134}, "The largest possible is 133"),
    ({"max_cluster_size": 133}, "The least possible is 134"),
    ({"min_cluster_size": 0.4}, "The largest possible is 133"),
    ({"balance": ["g"]}, "balance must be a dict"),
    ({"balance": {"g": 0.3}}, "must be two shares"),
    ({"balance": {"g": (0.7, 0.3)}}, "the least first"),
    ({"balance": {"g": {"f": (0.9, 1.0)}}}, "The lower bound can be at most 0."),
    ({"balance": {"g": {"f": (0.0, 0.1)}}}, "The upper bound can be at least 0."),
    ({"balance": {"g": (0.1, 0.3)}}, "cannot add up to 1"),
    ({"balance": {"g": {"x": (0.1, 0.3)}}}, "which no row has"),
    ({"balance": {"h": (0.1, 0.3)}}, "which is no column of X"),
    ({"balance": {"short": (0.1, 0.9)}}, "has 2 values, but X has 400 rows"),
    ({"balance": {"number": (0.0, 0.9)}}, "too many to limit the share of each"),
    ({"protected": "g"}, "protected must be a list"),
    ({"protected": [9]}, "numbers below 4"),
    ({"protected": ["h"]}, "which is no column of X"),
    ({"protected": [0, 1, 2, 3]}, "nothing to cut"),
    ({"min_cluster_size": 5, "refine": "optimal"}, 'use refine="search"'),
]


@pytest.mark.parametrize(("parameters", "words"), BAD, ids=lambda each: str(each)[:60])
def test_one_sentence_says_what_cannot_be(parameters, words):
    X, gender = rows()
    model = ExKMC(3, **{"random_state": 0, **parameters})
    groups = {"g": gender, "short": ["f", "m"], "number": X[:, 0]}
    with pytest.raises(ValueError, match=r"\.$") as error:
        model.fit(X, groups=groups)
    assert words in str(error.value)
    assert not hasattr(model, "tree_")


def test_groups_of_another_kind_are_refused():
    with pytest.raises(ValueError, match="groups must be a data frame or a dict"):
        ExKMC(2, protected=["g"]).fit([[1.0], [2.0]], groups=[1, 2])


def test_the_nearest_limits_are_told_and_can_be_met():
    # Many equal values: leaves cannot have any size.
    X = np.repeat([[0.0], [1.0], [2.0], [3.0]], [50, 30, 15, 5], axis=0)
    model = ExKMC(3, min_cluster_size=25, max_leaf_nodes=6, random_state=0)
    with pytest.raises(ValueError, match="the nearest limits that one meets are") as error:
        model.fit(X)
    assert "min_cluster_size=20." in str(error.value)
    assert one_sentence(str(error.value).split(". Relax")[0] + ".")
    model.set_params(min_cluster_size=20).fit(X)
    assert np.bincount(model.labels_).min() == 20


OF_PARTITIONS = (
    {"min_cluster_size": 0.2},
    {"max_cluster_size": 0.5},
    {"balance": {"group": (0.2, 0.8)}, "protected": ["group"]},
)


@pytest.mark.parametrize("limit", OF_PARTITIONS)
@pytest.mark.parametrize("dask_groups", [False, True])
def test_rows_in_partitions_that_fit_into_memory_have_limits(limit, dask_groups):
    dask_array = pytest.importorskip("dask.array")
    X, _ = rows()
    groups = np.arange(len(X)) % 2
    given = dask_array.from_array(groups, chunks=70) if dask_groups else groups
    in_memory = ExKMC(3, max_leaf_nodes=8, reference=X[:3], **limit)
    in_memory.fit(X, groups={"group": groups} if "balance" in limit else None)
    in_parts = ExKMC(3, max_leaf_nodes=8, reference=X[:3], **limit)
    in_parts.fit(
        dask_array.from_array(X, chunks=(100, -1)),
        groups={"group": given} if "balance" in limit else None,
    )
    np.testing.assert_array_equal(in_parts.tree_.feature, in_memory.tree_.feature)
    np.testing.assert_array_equal(in_parts.tree_.threshold, in_memory.tree_.threshold)
    np.testing.assert_array_equal(in_parts.tree_.label, in_memory.tree_.label)
    assert in_parts.inertia_ == in_memory.inertia_
    assert str(in_parts.rules()) == str(in_memory.rules())


def test_limits_on_rows_that_are_not_gathered_are_refused():
    dask = pytest.importorskip("dask")
    dask_array = pytest.importorskip("dask.array")
    X = dask_array.from_array(rows()[0], chunks=(100, -1))
    limits = ({"min_cluster_size": 5}, {"balance": {0: (0, 1)}}, {"protected": [0]})
    with dask.config.set({"treemeans.gather": "1 kB"}):
        for limit in limits:
            sentence = f"{next(iter(limit))} needs all rows in one memory, and only rows"
            with pytest.raises(ValueError, match=sentence):
                ExKMC(3, **limit).fit(X)
        with pytest.raises(ValueError, match="groups needs all rows in one memory"):
            ExKMC(3).fit(X, groups={"a": np.zeros(len(X))})
