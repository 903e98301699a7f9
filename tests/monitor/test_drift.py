"""Drift: found where it was planted, silence where there is none."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import chi2_contingency
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from typer.testing import CliRunner

from treemeans import ExKMC, load
from treemeans.cli.app import app
from treemeans.monitor.drift_page import drift_page
from treemeans.monitor.share_statistics import (
    change_p_value,
    excess_p_value,
    psi_terms,
    wilson_interval,
)

CENTERS = [[0, 0, 0], [12, 0, 3], [0, 12, 6]]


def blobs(n, seed):
    return make_blobs(n, centers=CENTERS, random_state=seed)[0]


@pytest.fixture(scope="module")
def model():
    return ExKMC(3, random_state=0).fit(blobs(2000, 0))


# ---- statistics ----------------------------------------------------------------------------------


def test_the_test_of_change_is_pearsons():
    then, now = np.array([50.0, 30.0, 20.0]), np.array([90.0, 80.0, 30.0])
    wanted = chi2_contingency(np.stack([then, now]), correction=False).pvalue
    assert change_p_value(then, now, 100, 200) == pytest.approx(wanted)


def test_small_bins_are_put_together():
    then, now = np.array([500.0, 1.0, 0.0, 499.0]), np.array([500.0, 0.0, 2.0, 498.0])
    assert change_p_value(then, now, 1000, 1000) > 0.9


def test_the_interval_of_wilson_covers_its_share():
    rng = np.random.default_rng(0)
    for share in (0.02, 0.3):
        counts = rng.binomial(400, share, 2000)
        inside = [low <= share <= high for low, high in (wilson_interval(c, 400) for c in counts)]
        assert 0.935 < np.mean(inside) < 0.98


def test_an_excess_is_found_and_chance_is_not():
    assert excess_p_value(5, 1000, 4, 1000) > 0.3
    assert excess_p_value(100, 1000, 4, 1000) < 1e-10
    assert psi_terms(np.array([1.0, 1.0]), np.zeros(2)).tolist() == [0, 0]


# ---- what is found -------------------------------------------------------------------------------


def test_the_same_rows_have_not_drifted(model):
    found = model.drift(blobs(2000, 0))
    assert found.findings == ()
    assert found.rules_psi == 0
    assert found.cost.ratio == pytest.approx(1.0)
    assert all(c.then == c.now for c in found.clusters)
    assert all(column.psi == 0 for column in found.columns)


def test_other_rows_of_the_same_distribution_are_silent(model):
    for seed in range(1, 11):
        found = model.drift(blobs(500, seed))
        assert found.findings == (), seed
        for cluster in found.clusters:
            assert cluster.interval[0] <= cluster.now <= cluster.interval[1]


def test_drift_in_one_column_is_found_there_and_nowhere_else(model):
    X = blobs(1000, 1)
    X[:, 2] += 1.5
    found = model.drift(X)
    drifted = [column.name for column in found.columns if found.is_drifted(column)]
    assert drifted == ["x2"]
    assert found.findings[0].startswith("x2 has drifted")


def test_a_segment_that_grows_is_found_in_its_rules(model):
    X = np.concatenate([blobs(600, 1), np.random.default_rng(0).normal([12, 0, 3], 1, (600, 3))])
    found = model.drift(X)
    assert any("shares of the rules" in finding for finding in found.findings)
    cluster = int(model.predict([[12, 0, 3]])[0])
    grown = found.clusters[cluster]
    assert grown.interval[0] > grown.then
    most = max(found.rules, key=lambda rule: rule.now - rule.then)
    assert most.cluster == cluster


def test_rows_outside_the_range_and_their_costs(model):
    X = blobs(1000, 1)
    X[:100, 1] = 500.0
    found = model.drift(X)
    assert found.columns[1].outside_now == pytest.approx(0.105, abs=0.01)
    assert any("outside the training range" in finding for finding in found.findings)
    assert any("times what they cost" in finding for finding in found.findings)


def test_limits_are_the_users(model):
    X = blobs(1000, 1) + np.array([0.0, 0.0, 1.5])
    assert model.drift(X, psi=10, cost_ratio=10, outside=1).findings == ()
    with pytest.raises(ValueError, match="level must be a probability"):
        model.drift(X, level=2)
    with pytest.raises(ValueError, match="psi must be a number"):
        model.drift(X, psi=-1)


def test_batches_count_as_one_table(model):
    X = blobs(1000, 1)
    parts, whole = model.drift(iter([X[:300], X[300:]])), model.drift(X)
    assert parts.columns == whole.columns
    assert parts.clusters == whole.clusters
    assert parts.cost.ratio == pytest.approx(whole.cost.ratio)


def test_a_sparse_table():
    X = sparse.random(500, 20, 0.3, "csr", random_state=0)
    model = ExKMC(3, random_state=0).fit(X)
    assert model.drift(X).findings == ()
    assert model.drift(X).to_dict()["columns"] == model.drift(X.toarray()).to_dict()["columns"]
    assert model.drift(X * 3).findings


def test_a_dask_table(model):
    da = pytest.importorskip("dask.array")
    X = blobs(1000, 1)
    found = model.drift(da.from_array(X, chunks=(300, 2)))
    assert found.columns == model.drift(X).columns


def customers(n, seed, plans=("basic", "pro")):
    rng = np.random.default_rng(seed)
    pro = rng.random(n) < 0.4
    return pd.DataFrame(
        {
            "spend": np.where(pro, 90.0, 20.0) + rng.normal(0, 5, n),
            "plan": np.where(pro, plans[-1], plans[0]),
            "age": rng.integers(18, 80, n),
        }
    )


def test_a_mixed_table_with_unseen_categories_and_new_missing_values():
    model = ExKMC(2, random_state=0).fit(customers(800, 0))
    assert model.drift(customers(400, 1)).findings == ()
    new = customers(400, 1, ("basic", "team"))
    new.loc[:199, "age"] = np.nan
    found = model.drift(new)
    plan = next(column for column in found.columns if column.name == "plan")
    assert plan.unseen_now == pytest.approx((new["plan"] == "team").mean())
    assert found.unseen["plan"]["team"] == (new["plan"] == "team").sum()
    age = next(column for column in found.columns if column.name == "age")
    assert (age.missing_then, age.missing_now) == (0, 0.5)
    assert found.is_drifted(age)
    assert any("no training row had" in finding for finding in found.findings)


def test_weighted_rows_count_by_weight():
    X = blobs(1000, 0)
    weights = np.where(X[:, 0] > 6, 3.0, 1.0)
    model = ExKMC(3, random_state=0).fit(X, sample_weight=weights)
    again = np.repeat(X, weights.astype(int), axis=0)
    found = model.drift(again)
    assert found.findings == ()
    assert found.rules_psi == pytest.approx(0, abs=1e-9)


def test_models_without_histograms_say_so(tmp_path, model):
    model.save(tmp_path / "model.json")
    document = json.loads((tmp_path / "model.json").read_text())
    del document["histograms"]
    (tmp_path / "old.json").write_text(json.dumps(document))
    with pytest.raises(ValueError, match=r"no training histograms to compare .* fit and save it"):
        load(tmp_path / "old.json").drift(blobs(10, 0))


def test_costs_of_a_pipeline_that_is_not_in_the_file_are_unknown(tmp_path):
    X = blobs(300, 0)
    reference = make_pipeline(StandardScaler(), PCA(2), KMeans(3, n_init=1, random_state=0))
    model = ExKMC(3, reference=reference).fit(X)
    assert model.drift(X).cost.ratio == pytest.approx(1.0)
    model.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json").drift(X)
    assert again.cost is None
    assert again.rules_psi == 0


def test_the_page_escapes_and_needs_nothing(model):
    frame = pd.DataFrame(blobs(200, 0), columns=["<script>", "b", "c"])
    found = ExKMC(3, random_state=0).fit(frame).drift(frame)
    page = drift_page(found, "<b>")
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "http" not in page.replace("http-equiv", "")
    assert found.to_frame()["psi"].max() == 0
    assert "no drift" in str(found)


# ---- the command ---------------------------------------------------------------------------------


def test_the_command_prints_json_writes_a_page_and_exits_with_3(tmp_path):
    frame = customers(600, 0)
    frame.to_csv(tmp_path / "old.csv", index=False)
    customers(300, 1).to_parquet(tmp_path / "same.parquet")
    (customers(300, 1).assign(spend=lambda f: f["spend"] * 2)).to_csv(
        tmp_path / "new.csv", index=False
    )
    run = CliRunner().invoke
    path = str(tmp_path / "model.json")
    fitted = run(app, ["fit", str(tmp_path / "old.csv"), "-k", "2", "-o", path, "-q"])
    assert fitted.exit_code == 0, fitted.output
    same = run(app, ["drift", path, str(tmp_path / "same.parquet"), "--json"])
    assert same.exit_code == 0, same.output
    assert json.loads(same.stdout)["findings"] == []
    page = tmp_path / "drift.html"
    new = run(app, ["drift", path, str(tmp_path / "new.csv"), "-o", str(page)])
    assert new.exit_code == 3
    assert "spend has drifted" in new.stdout
    assert "spend" in page.read_text()
    assert run(app, ["drift", path, str(tmp_path / "new.csv"), "-o", str(page)]).exit_code == 1
    labelled = run(app, ["predict", path, str(tmp_path / "new.csv"), "--confidence"])
    assert labelled.exit_code == 0, labelled.output
    assert "cut_distance,cost_advantage,close_call" in labelled.stdout
