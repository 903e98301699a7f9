"""Refits: the same clusters on the same rows, and a planted change is said."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, make_blobs
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from typer.testing import CliRunner

from treemeans import ExKMC, baselines, load
from treemeans.cli.app import app
from treemeans.monitor.cluster_changes import ClusterChanges, match_on_centers, match_on_rows
from treemeans.monitor.moved_thresholds import move_thresholds
from treemeans.monitor.warm_start import move_centers

IRIS = load_iris().data
CENTERS = [[0, 0], [10, 0], [0, 10]]


def blobs(centers=CENTERS, n=600, seed=0, std=1.0):
    return make_blobs(n, centers=centers, cluster_std=std, random_state=seed)[0]


@pytest.fixture(scope="module")
def model():
    return ExKMC(3, random_state=0).fit(blobs()).with_names(["old", "young", "new"])


# ---- the same rows -------------------------------------------------------------------------------


@pytest.mark.parametrize("keep_structure", [False, True])
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"refine": "local"},
        {"refine": "search", "search_rounds": 20},
        {"scale": "standard"},
        {"base_tree": "exgreedy", "round_thresholds": True},
        {"reference": "kmeans"},
    ],
)
def test_a_permutation_of_the_rows_has_the_same_ids(parameters, keep_structure, tmp_path):
    model = ExKMC(3, random_state=0, **parameters).fit(IRIS)
    model.save(tmp_path / "model.json")
    order = np.random.default_rng(0).permutation(150)
    for old in (model, load(tmp_path / "model.json")):
        again = old.refit(IRIS[order], keep_structure=keep_structure)
        assert (again.labels_ == model.labels_[order]).all()
        assert again.cluster_names_ == model.cluster_names_
        assert again.path_["n_leaves"].tolist() == model.path_["n_leaves"].tolist()
        np.testing.assert_array_equal(again.reference_centers_, model.reference_centers_)
        assert [fate.kind for fate in again.changes_.fates] == ["kept"] * 3
        assert again.changes_.n_moved == 0
        assert again.get_params()["max_leaf_nodes"] == old.get_params()["max_leaf_nodes"]


def test_a_smaller_size_stays_the_size_and_the_larger_ones_inside():
    model = ExKMC(3, max_leaf_nodes=8, random_state=0).fit(IRIS).with_leaves(5)
    for keep_structure in (False, True):
        again = model.refit(IRIS, keep_structure=keep_structure)
        assert again.n_leaves_ == 5
        assert again.with_leaves(8).n_leaves_ == 8
        assert (again.labels_ == model.labels_).all()


def test_a_sparse_table_and_weights():
    X = sparse.random(300, 10, 0.4, "csr", random_state=0)
    weights = np.random.default_rng(0).integers(1, 4, 300)
    model = ExKMC(4, random_state=0).fit(X, sample_weight=weights)
    order = np.random.default_rng(1).permutation(300)
    again = model.refit(X[order], weights[order])
    assert (again.labels_ == model.labels_[order]).all()


def test_a_baseline():
    model = baselines.CART(3, max_leaf_nodes=6, random_state=0).fit(IRIS)
    assert (model.refit(IRIS[::-1]).labels_ == model.labels_[::-1]).all()
    with pytest.raises(ValueError, match="this is a CART"):
        model.refit(IRIS, keep_structure=True)


# ---- what changed --------------------------------------------------------------------------------


def test_rows_that_move_a_little_keep_ids_names_and_are_silent(model):
    for seed in range(1, 6):
        again = model.refit(blobs(seed=seed) + 0.5)
        assert [fate.kind for fate in again.changes_.fates] == ["kept"] * 3
        assert again.cluster_names_ == model.cluster_names_
        np.testing.assert_allclose(again.reference_centers_, model.reference_centers_, atol=1.0)


def test_a_planted_split_is_said(model):
    old = int(model.predict([[0, 0]])[0])
    X = blobs([[-2.5, 0], [2.5, 0], [10, 0], [0, 10]], 800, 1, 0.7)
    again = model.refit(X, n_clusters=4)
    split = again.changes_.of_kind("split")
    assert [(fate.old, fate.new) for fate in split] == [(old, 3)]
    assert len(again.changes_.of_kind("kept")) == 3
    assert again.cluster_names_[:3] == model.cluster_names_
    assert "is split from" in str(again.changes_)
    merged = again.refit(blobs(seed=2), n_clusters=3).changes_.of_kind("merged")
    assert [(fate.old, fate.new) for fate in merged] == [(3, old)]


def test_a_segment_that_is_gone_and_one_that_is_new(model):
    X = blobs([[0, 0], [10, 0], [30, 30]], seed=1)
    again = model.refit(X)
    gone = again.changes_.of_kind("gone")
    assert [model.cluster_names_[fate.old] for fate in gone] == [
        model.cluster_names_[model.predict([[0, 10]])[0]]
    ]
    appeared = again.predict([[30, 30]])[0]
    assert again.cluster_names_[appeared] not in model.cluster_names_
    assert {fate.new for fate in again.changes_.of_kind("kept")} == {0, 1, 2} - {appeared}


def test_clusters_can_be_matched_on_shared_rows():
    X = blobs()
    model = ExKMC(3, random_state=0).fit(X)
    far = X[:, ::-1] + 40.0  # every center moved far, but the same rows are together
    assert model.refit(far).changes_.of_kind("kept") == ()
    again = model.refit(far, shared=(X, far))
    assert len(again.changes_.of_kind("kept")) == 3
    assert (again.labels_ == model.labels_).all()
    with pytest.raises(ValueError, match="row i of both must be the same"):
        model.refit(far, shared=(X, far[1:]))
    near = model.refit(blobs(seed=1) + 0.7, shared=X)
    assert len(near.changes_.of_kind("kept")) == 3


def test_fewer_clusters_than_ids():
    model = ExKMC(4, random_state=0).fit(blobs([*CENTERS, [10, 10]]))
    again = model.refit(blobs([*CENTERS, [10, 10]]), n_clusters=3)
    assert again.tree_.n_clusters == 3
    assert len(again.changes_.of_kind("kept")) >= 2
    assert again.changes_.crosstab.shape == (4, 3)


def test_matching():
    assert match_on_rows(np.array([[198.0, 201.0], [0.0, 0.0]]), [(0, 0)]) == ((0, 0),)
    assert match_on_rows(np.array([[5.0, 5.0], [5.0, 5.0]])) == ()
    assert match_on_centers(np.array([[0.0], [4.0]]), np.array([[0.0], [3.0], [9.0]])) == (
        (0, 0),
        (1, 1),
    )
    assert match_on_centers(np.array([[0.0]]), np.array([[7.0]])) == ((0, 0),)
    table = np.array([[10.0, 0.0], [0.0, 0.0]])
    changes = ClusterChanges(table, ((0, 0),), ("a", "b"), ("a", "c"))
    assert [fate.kind for fate in changes.fates] == ["kept", "new", "gone"]
    halves = ClusterChanges(np.array([[5.0, 5.0]]), (), ("a",), ("b", "c"))
    assert [fate.kind for fate in halves.fates] == ["split"] * 3
    assert halves.fates[2].text.endswith("is split into cluster 0 (b) and cluster 1 (c): 10 rows")
    assert json.dumps(changes.to_dict())


def test_centers_that_would_hardly_move_stay():
    X = blobs()
    centers = KMeans(3, n_init=5, random_state=0).fit(X).cluster_centers_
    np.testing.assert_array_equal(move_centers(X, None, centers, 3), centers)
    np.testing.assert_array_equal(move_centers(X, None, centers + 1e-3, 3), centers + 1e-3)
    assert np.abs(move_centers(X, None, centers + 1.0, 3) - centers).max() < 0.1
    four = move_centers(blobs([*CENTERS, [30, 30]]), None, centers, 4)
    assert np.linalg.norm(four[3] - 30) < 1


# ---- the structure -------------------------------------------------------------------------------


def test_thresholds_follow_the_rows_and_no_further():
    X = blobs()
    model = ExKMC(3, random_state=0).fit(X)
    moved = model.refit(X + np.array([2.0, 0.0]), keep_structure=True)
    np.testing.assert_array_equal(moved.tree_.feature, model.tree_.feature)
    inner = ~model.tree_.is_leaf
    change = (moved.tree_.threshold - model.tree_.threshold)[inner]
    on_x = model.tree_.feature[inner] == 0
    assert (change[~on_x] == 0).all()
    assert ((change[on_x] > -1e-9) & (change[on_x] < 2.0 + 1e-9)).all()
    assert change[on_x].max() > 0.5 or (moved.labels_ == model.labels_).all()
    assert (moved.labels_ == model.labels_).all()


def slow_threshold(values, regrets, old, share):
    """Every place between two values within the drift, the cheapest, nearest to the old one."""
    distinct = np.unique(values)
    places = (distinct[:-1] + distinct[1:]) / 2
    n_left = np.array([(values <= t).sum() for t in [*places, np.inf]])
    wanted = n_left[np.abs(n_left - share * len(values)).argmin()]
    own = (values <= old).sum()
    low, high = min(own, wanted), max(own, wanted)
    found = []
    for t in places:
        left = values <= t
        if low <= left.sum() <= high:
            cost = regrets[left].sum(axis=0).min() + regrets[~left].sum(axis=0).min()
            found.append((cost, abs(left.sum() - own), left.sum()))
    return min(found)[2] if found else own


@pytest.mark.parametrize("seed", range(5))
def test_a_threshold_is_that_of_a_plain_search(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 1)).round(2)
    tree = ExKMC(2, max_leaf_nodes=2, random_state=0).fit(X).tree_
    new = (X + rng.normal(0.3, 0.5, X.shape)).round(2)
    regrets = rng.random((60, 2))
    share = tree.weight[tree.left[0]] / tree.weight[0]
    found = move_thresholds(tree, new, regrets).threshold[0]
    wanted = slow_threshold(new[:, 0], regrets, tree.threshold[0], share)
    assert (new[:, 0] <= found).sum() == wanted


# ---- tables of all kinds -------------------------------------------------------------------------


def customers(n, seed, plans=("basic", "pro")):
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, len(plans), n)
    frame = pd.DataFrame(
        {
            "spend": 20.0 + 70 * kind + rng.normal(0, 5, n),
            "plan": np.array(plans, dtype=object)[kind],
            "since": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D"),
        }
    )
    frame.loc[::20, "spend"] = np.nan
    return frame


@pytest.mark.parametrize("keep_structure", [False, True])
def test_a_mixed_table_keeps_ids_and_learns_new_categories(keep_structure, tmp_path):
    frame = customers(400, 0)
    model = ExKMC(2, random_state=0).fit(frame)
    order = np.random.default_rng(0).permutation(400)
    model.save(tmp_path / "model.json")
    for old in (model, load(tmp_path / "model.json")):
        again = old.refit(frame.iloc[order], keep_structure=keep_structure)
        assert (again.labels_ == model.labels_[order]).all()
        assert again.feature_names_in_.tolist() == model.feature_names_in_.tolist()
    new = customers(600, 1, ("basic", "pro", "team"))
    again = model.refit(new, n_clusters=None if keep_structure else 3).with_missing_sides()
    assert again.columns_[1].categories == ("basic", "pro", "team")
    assert again.predict(new).shape == (600,)
    again.save(tmp_path / "again.json")
    assert (load(tmp_path / "again.json").predict(new) == again.predict(new)).all()


def test_columns_keep_what_was_said_of_them():
    model = ExKMC(3, random_state=0).fit(IRIS)
    model = model.with_columns(names=list("abcd"), units={"c": "cm"})
    again = model.refit(IRIS)
    assert [column.name for column in again.columns_] == list("abcd")
    assert again.columns_[2].unit == "cm"


def test_a_pipeline_that_is_not_in_the_file_must_be_passed(tmp_path):
    reference = make_pipeline(StandardScaler(), PCA(2), KMeans(3, n_init=1, random_state=0))
    model = ExKMC(3, reference=reference.fit(IRIS)).fit(IRIS)
    assert (model.refit(IRIS[::-1]).labels_ == model.labels_[::-1]).all()
    model.save(tmp_path / "model.json")
    loaded = load(tmp_path / "model.json")
    with pytest.raises(ValueError, match=r"pass it fitted: model.refit\(X, reference=pipeline\)"):
        loaded.refit(IRIS)
    assert (loaded.refit(IRIS, reference=reference).labels_ == model.labels_).all()
    with pytest.raises(ValueError, match="must be the pipeline of the model"):
        loaded.refit(IRIS, reference=KMeans(3))


def test_what_cannot_be_is_said(model):
    X = blobs()
    with pytest.raises(ValueError, match="n_clusters must be an integer"):
        model.refit(X, n_clusters=0)
    with pytest.raises(ValueError, match="keeps the 3 clusters"):
        model.refit(X, n_clusters=4, keep_structure=True)
    with pytest.raises(ValueError, match="should be >= n_clusters"):
        model.refit(X[:2])
    labelled = ExKMC(None, reference=np.array(["a", "b"] * 75), cost="labels").fit(IRIS)
    with pytest.raises(ValueError, match="fit a new one"):
        labelled.refit(IRIS)
    da = pytest.importorskip("dask.array")
    with pytest.raises(ValueError, match="refit needs rows in memory"):
        model.refit(da.from_array(X, chunks=100))
    frame = pd.DataFrame(X, columns=["a", "b"])
    plain = ExKMC(3, random_state=0).fit(frame)
    frame.loc[0, "a"] = np.nan
    with pytest.raises(ValueError, match="missing values, but the training rows had none"):
        plain.refit(frame)


# ---- the commands --------------------------------------------------------------------------------


def test_refit_and_diff_on_the_command_line(tmp_path):
    def run(*args, code=0):
        done = CliRunner().invoke(app, [str(arg) for arg in args])
        assert done.exit_code == code, done.output
        return done.stdout

    customers(300, 0).to_csv(tmp_path / "old.csv", index=False)
    customers(300, 1, ("basic", "pro", "team")).to_csv(tmp_path / "new.csv", index=False)
    first, second, third = (tmp_path / f"{name}.json" for name in ("first", "second", "third"))
    run("fit", tmp_path / "old.csv", "-k", 2, "-o", first, "-q")
    told = run("refit", first, tmp_path / "old.csv", "-o", second)
    assert told.count("is kept") == 2
    assert load(second).cluster_names_ == load(first).cluster_names_
    run("refit", first, tmp_path / "old.csv", "-o", second, code=1)  # it exists
    found = json.loads(run("refit", first, tmp_path / "new.csv", "-o", third, "-k", 3, "--json"))
    assert {fate["new"] for fate in found["clusters"]} >= {0, 1, 2}
    assert "team" in load(third).columns_[1].categories
    told = run("diff", first, third, tmp_path / "new.csv", "--plot", tmp_path / "flow.png")
    assert "changed their cluster" in told
    assert (tmp_path / "flow.png").read_bytes().startswith(b"\x89PNG")
    same = json.loads(run("diff", first, second, tmp_path / "old.csv", "--json"))
    assert (same["n_moved"], same["rules"]) == (0, [])
    run("refit", first, tmp_path / "old.csv", "-o", tmp_path / "k.json", "--keep-structure")
