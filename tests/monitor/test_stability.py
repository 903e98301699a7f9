"""Stability: clusters that are there are found again, those that are not are not."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import treemeans
from tests.oracles.stability_oracle import matched_jaccard, returned_cuts
from treemeans import ExKMC, FastKMeans, baselines
from treemeans.monitor import resample
from treemeans.monitor.resample import Refit, in_threads
from treemeans.monitor.stability import _Comparison, measure_stability
from treemeans.monitor.training_setup import TrainingSetup


def blobs(centers, n, seed=0, spread=1.0):
    rng = np.random.default_rng(seed)
    centers = np.asarray(centers, dtype=float)
    return np.concatenate([c + spread * rng.normal(size=(n, centers.shape[1])) for c in centers])


def square(n):
    """Four corners: two clusters along one side are exactly as good as along the other."""
    X = blobs([[0, 0], [0, 10], [10, 0], [10, 10]], n)
    return np.concatenate([X, X[:, ::-1]])


def test_separated_clusters_are_very_stable():
    X = blobs([[0, 0], [12, 0], [0, 12]], 80)
    found = ExKMC(3, max_leaf_nodes=3, random_state=0).fit(X).stability(X, 30)
    assert [each.grade for each in found.clusters] == ["very stable"] * 3
    assert all(each.jaccard > 0.99 and each.dissolved == 0 for each in found.clusters)
    assert all(cut.returned == 1.0 and cut.low <= cut.threshold <= cut.high for cut in found.cuts)
    assert all(rule.returned == 1.0 for rule in found.rules)
    assert {each.feature: each.used for each in found.features} == {0: 1.0, 1: 1.0}
    assert "All clusters are stable" in found.sentence


def test_a_cloud_cut_in_two_is_not_stable_and_the_cluster_beside_it_is():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5))
    X[300:, 0] += 40
    model = ExKMC(3, max_leaf_nodes=3, random_state=0).fit(X)
    far = int(model.predict(X[-1:])[0])
    found = model.stability(X, 40)
    grades = {each.cluster: each.grade for each in found.clusters}
    assert grades.pop(far) == "very stable"
    assert not {"stable", "very stable"} & set(grades.values())
    assert found.lowest.cluster != far
    assert "are not stable" in found.sentence


def test_a_warm_start_does_not_hide_another_optimum():
    X = square(25)
    found = ExKMC(2, max_leaf_nodes=2, random_state=0).fit(X).stability(X, 40)
    assert 0.2 < found.cuts[0].returned < 0.8
    assert {each.used > 0.2 for each in found.features} == {True}


@pytest.mark.parametrize("seed", range(5))
def test_comparison_is_the_oracles(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 12, size=(60, 3)).astype(float)
    models = [
        ExKMC(3, max_leaf_nodes=6, random_state=i).fit(X[rng.permutation(60)[:45]]) for i in (0, 1)
    ]
    setup = TrainingSetup.of(models[0], X, None, 1, "stability")
    other = models[1].tree_
    found = _Comparison(models[0].tree_, setup)(Refit(other, other.apply(X)))
    expected = matched_jaccard(models[0].predict(X), models[1].predict(X), 3)
    np.testing.assert_allclose(found.jaccard, expected)
    assert found.returned.tolist() == returned_cuts(models[0].tree_, other, X)
    assert np.isnan(found.threshold).tolist() == (~found.returned).tolist()


def test_the_order_of_cuts_is_free():
    X = blobs([[0, 0], [0, 10], [10, 0], [10, 10]], 20)
    by_column = [
        ExKMC(4, max_leaf_nodes=4, random_state=0, feature_costs={i: 1e-9}).fit(X[:, ::1])
        for i in (0, 1)
    ]
    setup = TrainingSetup.of(by_column[0], X, None, 1, "stability")
    other = by_column[1].tree_
    found = _Comparison(by_column[0].tree_, setup)(Refit(other, other.apply(X)))
    assert found.returned.all()


def mixed(n=150, seed=0):
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 3, n)
    return pd.DataFrame(
        {
            "plan": np.array(["basic", "pro", "team"])[group],
            "spend": group * 100.0 + rng.normal(size=n),
            "age": np.where(rng.random(n) < 0.1, np.nan, rng.normal(40, 5, n)),
        }
    )


def test_mixed_tables():
    X = mixed()
    model = ExKMC(3, max_leaf_nodes=3, allowed_features=["plan"], random_state=0).fit(X)
    found = model.stability(X, 15)
    assert all(each.jaccard > 0.9 for each in found.clusters)
    assert found.cuts[0].text.startswith("plan")
    assert np.isnan(found.cuts[0].low)


def test_sparse_tables_give_what_dense_ones_do():
    X = np.where(np.random.default_rng(0).random((120, 4)) < 0.5, 0.0, blobs([[3, 0, 5, 0]], 120))
    model = ExKMC(3, random_state=0).fit(X)
    dense = model.stability(X, 8)
    thin = model.stability(sparse.csr_matrix(X), 8)
    for one, other in zip(dense.clusters, thin.clusters, strict=True):
        assert one.jaccard == pytest.approx(other.jaccard, abs=0.15)
    assert len(dense.cuts) == len(thin.cuts)


def test_pipelines_and_large_offsets():
    X = blobs([[0, 0], [1e3, 0], [0, 9]], 60) + 1e6
    pipe = make_pipeline(StandardScaler(), FastKMeans(3, random_state=0))
    found = ExKMC(3, reference=pipe, random_state=0).fit(X).stability(X, 10)
    assert found.jaccard > 0.99


def test_large_tables_compare_starts_on_a_sample(monkeypatch):
    monkeypatch.setattr(resample, "_SAMPLE", 40)
    X = square(50)
    found = ExKMC(2, max_leaf_nodes=2, random_state=0).fit(X).stability(X, 30)
    assert 0.1 < found.cuts[0].returned < 0.9  # the other optimum is found, and finished
    assert ExKMC(4, random_state=0).fit(X).stability(X, 5).jaccard > 0.99


@pytest.mark.parametrize("method", ["bootstrap", "subsample"])
def test_the_same_for_any_threads(method):
    X = load_iris().data
    results = [
        ExKMC(3, random_state=0, n_jobs=jobs).fit(X).stability(X, 12, method=method)
        for jobs in (1, 2)
    ]
    assert results[0].to_dict() == results[1].to_dict()
    other = ExKMC(3, random_state=0).fit(X).stability(X, 12, method=method, random_state=1)
    assert other.to_dict() != results[0].to_dict()


def test_refined_trees_are_refined_again():
    X = load_iris().data
    model = ExKMC(3, max_leaf_nodes=4, refine="search", search_rounds=20, random_state=0).fit(X)
    assert model.stability(X, 5).jaccard > 0.7


def test_weights_count():
    X = np.concatenate([blobs([[0, 0], [9, 0]], 40), [[500.0, 500.0]]])
    weight = np.append(np.ones(80), 0.0)
    found = (
        ExKMC(2, random_state=0).fit(X, sample_weight=weight).stability(X, 10, sample_weight=weight)
    )
    assert found.jaccard > 0.99


def test_ctrl_c_keeps_what_is_done():
    X = load_iris().data
    model = ExKMC(3, random_state=0).fit(X)

    def press(done):
        if done >= 3:
            raise KeyboardInterrupt

    found = measure_stability(model, X, 50, tell=press)
    assert 3 <= found.n_resamples < 10
    assert found.n_asked == 50
    assert "stopped; 50 were asked for" in str(found)
    with pytest.raises(KeyboardInterrupt):  # nothing is done, so there is nothing to keep
        in_threads(lambda i: (_ for _ in ()).throw(KeyboardInterrupt), 3, 1, press)


def test_loaded_models_and_what_they_lack(tmp_path):
    X = load_iris().data
    model = ExKMC(3, random_state=0).fit(X)
    model.save(tmp_path / "model.json")
    assert (
        treemeans.load(tmp_path / "model.json").stability(X, 5).to_dict()
        == model.stability(X, 5).to_dict()
    )
    pipe = make_pipeline(FunctionTransformer(), FastKMeans(3, random_state=0))
    ExKMC(3, reference=pipe).fit(X).save(tmp_path / "other.json")
    with pytest.raises(ValueError, match=r"pipeline; .*the model that was fitted\.$"):
        treemeans.load(tmp_path / "other.json").stability(X, 5)
    with pytest.raises(ValueError, match="this is a CUBT"):
        baselines.CUBT(3).fit(X).stability(X)
    tree = ExKMC(3, base_tree=model.tree_).fit(X)
    assert tree.stability(X, 3).n_resamples == 3
    tree.save(tmp_path / "third.json")
    with pytest.raises(ValueError, match="base_tree, an object that the file does not hold"):
        treemeans.load(tmp_path / "third.json").stability(X, 3)


def test_bad_parameters():
    X = load_iris().data
    model = ExKMC(3, random_state=0).fit(X)
    with pytest.raises(ValueError, match="n_resamples must be an integer of at least 1; got 0"):
        model.stability(X, 0)
    with pytest.raises(ValueError, match="got 'jackknife'"):
        model.stability(X, method="jackknife")
    with pytest.raises(ValueError, match="features"):
        model.stability(X[:, :3], 2)


def test_it_is_shown_as_text_table_frame_and_picture():
    X = load_iris().data
    found = ExKMC(3, max_leaf_nodes=4, random_state=0).fit(X).stability(X, 10)
    text = str(found)
    assert "x2 <= 2.45" in text
    assert found.sentence in text
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["clusters"][0]["grade"]
    assert found._repr_html_().count("<table>") == 4
    assert list(found.to_frame("features").columns) == ["feature", "name", "in_model", "used"]
    assert len(found.to_frame("rules", "polars")) == len(found.rules)
    with pytest.raises(ValueError, match="table must be one of"):
        found.to_frame("nodes")
    pytest.importorskip("matplotlib").use("agg")
    left, right = found.plot()
    assert len(left.get_yticklabels()) == 3
    assert len(right.patches) == len(found.cuts)


def test_a_cluster_without_rows_has_no_index():
    from treemeans.monitor.stability import _cluster

    empty = _cluster(1, "none", 0.0, np.full(3, np.nan))
    assert empty.grade == "no rows"
    assert np.isnan(empty.jaccard)
