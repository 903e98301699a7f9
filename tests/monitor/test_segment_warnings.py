"""Warnings about bad segments: they are there where something is wrong, and not elsewhere."""

import copy
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_iris, load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import treemeans
from treemeans import ExKMC, FastKMeans
from treemeans.explain.segment_warnings import starts_disagree
from treemeans.monitor.segment_checks import look_in_passing
from treemeans.monitor.shuffled_columns import compare_with_shuffles
from treemeans.report.summarize import summarize


def kinds(model):
    return [each.kind for each in model.warnings_]


def blobs(centers, n, seed=0):
    rng = np.random.default_rng(seed)
    centers = np.asarray(centers, dtype=float)
    return np.concatenate([c + rng.normal(size=(n, centers.shape[1])) for c in centers])


SQUARE = [[0, 0], [0, 12], [12, 0], [12, 12]]


def with_outlier():
    return np.concatenate([blobs(SQUARE[:2], 60), [[900.0, 0.0]]])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, pd.DataFrame])
def test_good_clusters_give_no_warning(form, seed):
    X = blobs(SQUARE, 50, seed)
    table = form(X).rename(columns=str) if form is pd.DataFrame else form(X)
    model = ExKMC(4, max_leaf_nodes=4, random_state=0).fit(table)
    assert model.check_segments(table).warnings_ == ()
    assert "Warning" not in str(model.rules())


def test_known_tables_give_no_warning():
    X = load_iris().data
    assert ExKMC(3, random_state=0).fit(X).check_segments(X).warnings_ == ()
    X = load_wine().data
    pipe = make_pipeline(StandardScaler(), FastKMeans(3, random_state=0))
    assert ExKMC(3, reference=pipe).fit(X).check_segments(X).warnings_ == ()


def test_a_single_row_is_named():
    X = with_outlier()
    model = ExKMC(3, max_leaf_nodes=3, random_state=0).fit(X)
    assert kinds(model) == ["single row"]
    (warning,) = model.warnings_
    assert warning.clusters == (int(model.labels_[-1]),)
    assert "row 120" in str(warning)
    assert "row 120, counting from 0; x0 is 900, on average" in str(warning)
    assert "--scale robust" in str(warning)
    text = str(model.rules())
    assert text.index("Warning: cluster") < text.index("\ncluster 0")
    assert "row 120" in text
    assert "Warning: " in model.rules()._repr_html_()
    assert model.rules().to_dict()["warnings"][0]["kind"] == "single row"


def test_files_and_reports_name_no_row(tmp_path):
    X = with_outlier()
    model = ExKMC(3, max_leaf_nodes=3, random_state=0).fit(X)
    model.save(tmp_path / "model.json")
    loaded = treemeans.load(tmp_path / "model.json")
    assert kinds(loaded) == ["single row"]
    assert "row 120" not in str(loaded.warnings_[0])
    assert "row 120" not in (tmp_path / "model.json").read_text(encoding="utf-8")
    (shown,) = summarize(model, X)["warnings"]
    assert shown["groups"] == [int(model.labels_[-1])]
    assert "120" not in shown["what"].replace("121 rows", "")


def test_small_clusters():
    X = np.concatenate([blobs(SQUARE[:2], 300), blobs([[50, 50]], 3)])
    model = ExKMC(3, max_leaf_nodes=3, random_state=0).fit(X)
    assert kinds(model) == ["small"]
    assert "has 0.5 % of the rows" in str(model.warnings_[0])


def test_single_rows_of_a_tiny_table_are_no_surprise():
    assert ExKMC(3, random_state=0).fit(np.arange(6.0)[:, None]).warnings_ == ()


def test_weights_that_are_no_numbers_of_rows():
    X = with_outlier()
    weight = np.full(len(X), 0.5)
    model = ExKMC(3, max_leaf_nodes=3, random_state=0).fit(X, sample_weight=weight)
    assert kinds(model) == ["single row"]  # the fit knows the rows


def test_a_cluster_that_is_one_category():
    rng = np.random.default_rng(0)
    group = rng.integers(0, 3, 200)
    X = pd.DataFrame({"plan": np.array(["a", "b", "c"])[group], "noise": rng.normal(size=200) / 99})
    model = ExKMC(3, max_leaf_nodes=3, scale="none", random_state=0).fit(X)
    assert kinds(model) == ["one category"] * 3
    assert "one category of plan" in str(model.warnings_[0])
    one_hot = pd.get_dummies(X["plan"], prefix="plan", dtype=float).assign(noise=X["noise"])
    assert kinds(ExKMC(3, max_leaf_nodes=3, random_state=0).fit(one_hot)) == ["one category"] * 3


@pytest.mark.parametrize("cost", ["labels", "kmeans"])
def test_given_labels_are_not_to_be_fewer_clusters(cost):
    rng = np.random.default_rng(0)
    labels = np.repeat(["rare", "x", "y"], [5, 400, 600])
    table = pd.DataFrame({"a": rng.normal(size=1005), "plan": labels})
    model = ExKMC(reference=labels, cost=cost, max_leaf_nodes=3).fit(table)
    assert {"small", "one category"} <= set(kinds(model))
    for warning in model.warnings_:
        assert "fewer clusters" not in warning.advice
        assert "scale=" not in warning.advice


def test_clusters_of_noise_are_no_more_compact_than_of_shuffled_columns():
    X = np.random.default_rng(1).normal(size=(400, 5))
    model = ExKMC(4, random_state=0).fit(X)
    checked = model.check_segments(X)
    for each in (model, checked):
        assert kinds(each)[-1] == "not compact"
        assert each.warnings_[-1].clusters == ()


def test_a_loose_cluster_beside_good_ones():
    rng = np.random.default_rng(0)
    X = np.concatenate([blobs(np.eye(6)[:3] * 40, 80), rng.uniform(-30, 60, size=(80, 6))])
    model = ExKMC(4, random_state=0).fit(X).check_segments(X)
    loose = [each for each in model.warnings_ if each.kind == "not compact"]
    assert len(loose) == 1
    assert loose[0].clusters == (int(np.bincount(model.labels_[240:]).argmax()),)


def test_the_comparison_with_shuffles():
    X = blobs(SQUARE, 50)
    centers = np.array(SQUARE, dtype=float)
    # A full square is what shuffling makes of it.
    good = [compare_with_shuffles(X, None, centers, seed) for seed in range(8)]
    assert max(abs(each.ratio - 1.0) for each in good) < 0.1
    assert sum(each.share > 0.05 for each in good) >= 6
    assert {each.uniform_share for each in good if each.share > 0.05} == {0.05}
    diagonal = blobs([SQUARE[0], SQUARE[3]], 100)
    found = compare_with_shuffles(diagonal, None, centers[[0, 3]], 0)
    assert (found.share, found.loose) == (0.05, [])
    weighted = compare_with_shuffles(diagonal, np.ones(200), centers[[0, 3]], 0)
    assert weighted == found


def test_starts_that_disagree():
    assert starts_disagree([0.9, 0.8, 0.2]) == []
    assert "0.30" in str(starts_disagree([0.3, 0.3, 0.9])[0])
    X = np.random.default_rng(0).normal(size=(500, 8))
    assert "starts" in kinds(ExKMC(6, random_state=0).fit(X))
    by_other = ExKMC(6, reference="kmeans", random_state=0).fit(X)
    assert "starts" not in kinds(by_other)  # it does not tell of its starts
    assert "starts" in kinds(by_other.check_segments(X))


def test_what_was_checked_is_saved(tmp_path):
    X = np.random.default_rng(1).normal(size=(400, 5))
    model = ExKMC(4, random_state=0).fit(X).check_segments(X).with_names(["a", "b", "c", "d"])
    model.save(tmp_path / "model.json")
    assert "not compact" in kinds(treemeans.load(tmp_path / "model.json"))


def warned(model, X):
    """The Python warnings about segments of a fit."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        model.fit(X)
    return [each for each in found if each.category is treemeans.BadSegmentWarning]


def test_fit_shows_all_of_them_as_one_warning():
    X = np.concatenate([with_outlier(), [[0.0, -900.0]]])
    (shown,) = warned(ExKMC(4, max_leaf_nodes=4, random_state=0), X)
    assert str(shown.message).count("has only 1 of 122 rows") == 2
    assert shown.filename == __file__
    (shown,) = warned(ExKMC(3, reference=FastKMeans(3), random_state=0), with_outlier())
    assert "row 120" in str(shown.message)


def test_fit_is_silent_where_nothing_is_wrong():
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 3, 300)
    mixed = pd.DataFrame(
        {
            "spend": groups * 40.0 + rng.normal(size=300),
            "plan": np.array(["a", "b"])[rng.integers(0, 2, 300)],
            "age": rng.normal(40, 3, 300) + 20 * groups,
        }
    )
    for model, X in (
        (ExKMC(3, random_state=0), load_iris().data),
        (ExKMC(4, random_state=0), blobs(SQUARE, 50)),
        (ExKMC(4, random_state=0), sparse.csr_matrix(blobs(SQUARE, 50))),
        (ExKMC(3, random_state=0), mixed),
    ):
        assert warned(model, X) == []
    centers = 6.0 * rng.normal(size=(4, 250))
    large = centers[rng.integers(4, size=4200)] + rng.normal(size=(4200, 250))
    assert warned(ExKMC(4, random_state=0), large) == []


@pytest.mark.parametrize("seed", range(10))
def test_fit_does_not_call_clusters_that_overlap_a_little_noise(seed):
    rng = np.random.default_rng(seed)
    centers = 2.0 * rng.normal(size=(5, 6))  # five to seven deviations apart
    X = centers[rng.integers(5, size=600)] + rng.normal(size=(600, 6))
    assert (
        look_in_passing(X, None, ExKMC(5, random_state=0).fit(X).reference_centers_, given=False)
        == ()
    )


def test_single_columns_may_show_the_clusters():
    # Proline alone makes the clusters of these rows; shuffling it changes nothing.
    X = load_wine().data
    assert "not compact" not in kinds(ExKMC(3, random_state=0).fit(X))
    steps = np.repeat([0.0, 10.0, 20.0], 70)[:, None]
    rows = np.hstack([steps, np.zeros((210, 1))]) + np.random.default_rng(0).normal(size=(210, 2))
    assert look_in_passing(rows, None, np.array([[0.0, 0], [10, 0], [20, 0]]), given=False) == ()


def test_fit_compares_tables_with_shuffles():
    found = []
    for seed in range(12):  # it is missing in one of six
        X = np.random.default_rng(seed).normal(size=(600, 8))
        found += warned(ExKMC(3, reference="kmeans", random_state=0), X)
    assert len(found) >= 6
    said = "no more compact than those of k-means on shuffled columns"
    assert sum(said in str(each.message) for each in found) >= 6
    assert look_in_passing(X[:9], None, X[:2], given=False) == ()  # too few rows to tell
    tables = (X, sparse.csr_matrix(X))
    assert len({look_in_passing(each, None, X[:3], given=False) for each in tables}) == 1


def test_a_fit_to_given_centers_does_not_compare_for_longer_than_it_takes():
    X = np.random.default_rng(0).normal(size=(2000, 20))
    centers = ExKMC(8, random_state=0).fit(X).reference_centers_
    assert look_in_passing(X, None, centers, given=False) != ()
    assert look_in_passing(X, None, centers, given=True) == ()


@pytest.mark.parametrize("seed", range(6))
def test_a_fit_warns_of_what_the_rules_warn_of(seed):
    # Rules take longer than many fits: a fit makes only those that a warning depends on.
    rng = np.random.default_rng(seed)
    n = 120
    X = pd.DataFrame(
        {
            "a": rng.normal(size=n),
            "b": rng.integers(0, 2, n),
            "c": np.array(["x", "y", "z"])[rng.integers(0, 3, n)],
            "d": rng.exponential(size=n) ** 3,
        }
    )
    seen = set()
    for k, leaves, scale in ((2, 2, "none"), (3, 6, "auto"), (5, 5, "auto"), (4, 9, "none")):
        model = ExKMC(k, max_leaf_nodes=leaves, scale=scale, random_state=seed).fit(X)
        found = model._fit_result.segment_warnings()
        assert found == model.warnings_
        seen.update(each.kind for each in found)
    assert seen


def test_reports_check_the_rows_they_are_given(tmp_path):
    X = np.random.default_rng(1).normal(size=(400, 5))
    model = ExKMC(4, random_state=0).fit(X)

    def said(model, X):
        return [each["what"] for each in summarize(model, X)["warnings"]]

    unchecked = copy.copy(model)
    unchecked._fit_result = replace(model._fit_result, warnings=())
    assert not any("shuffled" in each for each in said(unchecked, None))
    assert any("shuffled" in each for each in said(unchecked, X))
    assert "not compact" not in kinds(unchecked)  # the model is as it was
    good = blobs(SQUARE, 50)
    assert said(ExKMC(4, max_leaf_nodes=4, random_state=0).fit(good), good) == []
    model.report(tmp_path / "page.html", X)
    assert "shuffled columns" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_model_without_its_pipeline_says_so(tmp_path):
    from sklearn.preprocessing import FunctionTransformer

    X = load_iris().data
    pipe = make_pipeline(FunctionTransformer(), FastKMeans(3, random_state=0))
    ExKMC(3, reference=pipe).fit(X).save(tmp_path / "model.json")
    with pytest.raises(ValueError, match=r"check_segments needs the space .* fitted\.$"):
        treemeans.load(tmp_path / "model.json").check_segments(X)


def test_the_benchmark_of_false_alarms_runs():
    from benchmarks.trust import stable_share, warning_shares

    assert warning_shares("clusters", 4) == {"none": 1.0}
    assert warning_shares("normal", 4)["not compact"] >= 0.5
    assert stable_share("clusters", 2, 5) == (1.0, 0.0)
