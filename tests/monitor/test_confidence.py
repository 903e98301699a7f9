"""Close calls, against a plain search of the thresholds that part a row from another cluster."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, make_blobs
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from treemeans import ExKMC, load

IRIS = load_iris().data


def slow_distance(model, x):
    """Try every threshold of the tree: just beyond it, is the row in another cluster?"""
    tree, best = model.tree_, np.inf
    own = tree.predict(x[None])[0]
    for node in np.flatnonzero(~tree.is_leaf):
        f, t = tree.feature[node], tree.threshold[node]
        on_the_way = node in tree.decision_path(x[None]).indices
        moved = x.copy()
        moved[f] = np.nextafter(t, np.inf) if x[f] <= t else t
        if on_the_way and tree.predict(moved[None])[0] != own:
            best = min(best, abs(x[f] - t) / model._fit_result.spread[f])
    return best


@pytest.mark.parametrize("leaves", [3, 9])
def test_distances_are_those_of_a_plain_search(leaves):
    model = ExKMC(3, max_leaf_nodes=leaves, random_state=0).fit(IRIS)
    found = model.confidence(IRIS)
    wanted = [slow_distance(model, x) for x in IRIS]
    np.testing.assert_allclose(found.cut_distance, wanted)
    np.testing.assert_array_equal(found.cluster, model.predict(IRIS))
    assert ((found.nearest_column >= 0) == np.isfinite(found.cut_distance)).all()


def test_advantage_is_of_costs():
    model = ExKMC(3, random_state=0).fit(IRIS)
    costs = model.transform(IRIS) ** 2
    own = costs[np.arange(150), model.labels_]
    other = np.sort(np.where(np.eye(3, dtype=bool)[model.labels_], np.inf, costs), axis=1)[:, 0]
    wanted = (other - own) / np.maximum(own, other)
    np.testing.assert_allclose(model.confidence(IRIS).advantage, wanted, rtol=1e-9)


def test_far_blobs_have_no_close_calls_and_a_row_between_them_is_one():
    X, _ = make_blobs(300, centers=[[0, 0], [20, 0], [0, 20]], random_state=0)
    model = ExKMC(3, random_state=0).fit(X)
    assert not model.confidence(X).is_close.any()
    assert np.allclose(model.confidence(X).close_shares, 0)
    between = model.cluster_centers_[:2].mean(axis=0)
    assert model.confidence([between]).is_close.all()


def test_sparse_rows_and_frames_give_the_same():
    X = np.round(IRIS - 3).clip(0)
    model = ExKMC(3, random_state=0).fit(X)
    dense, thin = model.confidence(X), model.confidence(sparse.csr_matrix(X))
    np.testing.assert_array_equal(dense.cut_distance, thin.cut_distance)
    np.testing.assert_allclose(dense.advantage, thin.advantage)


def mixed(n=300, seed=0):
    rng = np.random.default_rng(seed)
    spend = np.where(rng.random(n) < 0.5, 10.0, 100.0) + rng.normal(0, 2, n)
    plan = np.where(spend > 50, "pro", rng.choice(["basic", "free"], n))
    frame = pd.DataFrame({"spend": spend, "plan": plan})
    frame.loc[::25, "spend"] = np.nan
    return frame


def test_a_mixed_table_and_its_saved_model(tmp_path):
    frame = mixed()
    model = ExKMC(3, random_state=0).fit(frame).with_missing_sides()
    found = model.confidence(frame)
    model.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json").confidence(frame)
    np.testing.assert_array_equal(found.cut_distance, again.cut_distance)
    # Ranks are interpolated between fewer quantiles in a file.
    np.testing.assert_allclose(found.advantage, again.advantage, atol=0.05)
    assert np.isfinite(found.advantage).all()


def test_without_the_space_of_the_reference_costs_are_unknown(tmp_path):
    reference = make_pipeline(StandardScaler(), PCA(2), KMeans(3, n_init=1, random_state=0))
    ExKMC(3, reference=reference).fit(IRIS).save(tmp_path / "model.json")
    found = load(tmp_path / "model.json").confidence(IRIS)
    assert np.isnan(found.advantage).all()
    assert (found.is_close == (found.cut_distance < 0.1)).all()


def test_results():
    model = ExKMC(3, random_state=0).fit(IRIS)
    found = model.confidence(IRIS, within=0.2)
    assert found.to_frame()["close_call"].sum() == found.is_close.sum()
    shares = [cluster["close_share"] for cluster in found.to_dict()["clusters"]]
    np.testing.assert_allclose(shares, found.close_shares)
    assert "close calls" in str(found)
    with pytest.raises(ValueError, match="within must be a number"):
        model.confidence(IRIS, within=-1)
