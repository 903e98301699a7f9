"""Outputs hold no row of the table, no index value and no extreme, unless rows are asked for."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from typer.testing import CliRunner

from tests.helpers.random_trees import random_tree
from treemeans import (
    Column,
    ExKMC,
    export_graphviz,
    export_text,
    open_parts,
    report_html,
    write_report,
)
from treemeans.cli.app import app
from treemeans.costs import rounded_mean
from treemeans.report.histogram_bins import category_bins, number_bins
from treemeans.report.histograms import merged_leaves
from treemeans.report.report_text import ReportText
from treemeans.report.summarize import summarize
from treemeans.tree import ThresholdTree

pytestmark = pytest.mark.usefixtures("one_thread")
N = 300
EXTREMES = {"salary": (1317.77, 191417.31), "steps": (1013, 14977)}
DAYS = (pd.Timestamp("1991-07-19"), pd.Timestamp("2019-11-23"))


def people():
    """Rows that identify people: unique numbers, one person at each end of each column."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 3, N)
    table = pd.DataFrame(
        {
            "salary": np.round(rng.lognormal(10, 0.2, N) + 40_000 * group, 2) + 0.0037,
            "steps": rng.integers(4000, 9000, N) + 2000.0 * (group == 1),
            "joined": pd.Timestamp("2000-01-01")
            + pd.to_timedelta(rng.integers(0, 4000, N) + 900 * group, unit="D"),
            "city_Oslo": (group == 2).astype(float),
            "city_Rome": (group != 2).astype(float),
        },
        index=[f"person{i}.secret@example.org" for i in range(N)],
    )
    for i, (name, ends) in enumerate({**EXTREMES, "joined": DAYS}.items()):
        table.iloc[[40 + i, 200 + i], table.columns.get_loc(name)] = ends
    return table


def fitted(X, *, scaled):
    kmeans = KMeans(3, n_init=4, random_state=0)
    reference = make_pipeline(StandardScaler(), kmeans) if scaled else kmeans
    return ExKMC(3, reference=reference, max_leaf_nodes=8, min_samples_leaf=8, random_state=0).fit(
        X
    )


@pytest.fixture(scope="module", params=[True, False], ids=["pipeline", "kmeans"])
def case(request):
    X = people()
    return fitted(X, scaled=request.param), X


def numbers_in(text):
    """Every number that a text holds."""
    return {float(found) for found in re.findall(r"-?\d+\.?\d*(?:e[+-]?\d+)?", text)}


def secrets_in(text, X):
    """What a text tells of single rows: index values, unique numbers, extremes."""
    found = [name for name in X.index if str(name) in text]
    told = numbers_in(text)
    found += [x for x in X["salary"] if x in told or round(x, 2) in told]
    found += [end for ends in EXTREMES.values() for end in ends if end in told]
    found += [day for day in DAYS if f"{day:%Y-%m-%d}" in text]
    return found


def outputs_of(model):
    """Everything that a model can be written as, but for files of models and reports."""
    return {
        "text": export_text(model),
        "rules": str(model.rules()),
        "rules in a notebook": model.rules()._repr_html_(),
        "notebook": model._repr_html_(),
        "graphviz": export_graphviz(model),
        "python": model.to_python(),
        **{f"SQL: {form}": str(model.to_sql("duckdb", form=form)) for form in ("case", "where")},
    }


def test_outputs_hold_nothing_of_single_rows(case):
    model, X = case
    for kind, text in outputs_of(model).items():
        assert secrets_in(text, X) == [], kind


def page_data(page):
    """What a page holds besides its own script and style."""
    title = re.search(r"<title>(.*?)</title>", page, re.DOTALL)[1]
    return title + re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1]


def test_a_report_holds_nothing_of_single_rows_unless_asked(case, tmp_path):
    model, X = case
    write_report(model, tmp_path / "report.html", X)
    for page in (report_html(model), report_html(model, X), (tmp_path / "report.html").read_text()):
        assert secrets_in(page_data(page), X) == []
        assert "secret@" not in page
    page = report_html(model, X, rows=12)
    assert sum(name in page for name in X.index) == 12
    assert len(secrets_in(page_data(page), X)) > 12  # values as well
    assert len(summarize(model, X, rows=12)["example_rows"]["values"]) == 12
    assert len(summarize(model, X, rows=2)["example_rows"]["values"]) == 2


def vectors_in(document):
    """All lists of numbers in a document, also as the columns of lists of lists."""
    if isinstance(document, dict):
        document = list(document.values())
    if not isinstance(document, list):
        return
    if document and all(isinstance(x, int | float) for x in document):
        yield np.array(document, dtype=float)
    for inner in document:
        yield from vectors_in(inner)


def test_a_saved_model_holds_no_row(case, tmp_path):
    model, X = case
    model.save(tmp_path / "model.json")
    document = json.loads((tmp_path / "model.json").read_text())
    # Documented in the how-to: for each cut the two values next to it, to round thresholds later.
    beside_cuts = {document["tree"].pop(side) and side for side in ("below", "above")}
    assert beside_cuts == {"below", "above"}
    assert secrets_in(json.dumps(document), X) == []
    table = model._validate(X, reset=False)
    scaled = table
    if model._fit_result.reference.pipeline is not None:
        scaled = model._fit_result.reference.space(table, X)
    for vector in vectors_in(document):
        for rows in (table, scaled):
            if len(vector) == rows.shape[1]:
                assert not (rows == vector).all(axis=1).any()
                assert (rows == vector).sum(axis=1).max() <= 2  # a 0 or 1 of a city


def test_a_model_of_parts_holds_no_row(tmp_path):
    X = people()
    X["joined"] = (X["joined"] - pd.Timestamp(0)).dt.days.astype(float)
    X.reset_index(drop=True).to_parquet(tmp_path / "people.parquet")
    parts = open_parts(tmp_path / "people.parquet")
    model = ExKMC(3, reference=make_pipeline(StandardScaler(), KMeans(3, random_state=0)))
    model.set_params(max_leaf_nodes=6, min_samples_leaf=8, random_state=0).fit(parts)
    shift = model._fit_result.profile.shift
    assert (X.to_numpy() == shift).sum(axis=1).max() <= 2
    assert np.abs(X.to_numpy() - shift).min(axis=0).max() < X.to_numpy().std(axis=0).max()


def run(*arguments):
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == 0, result.output
    return result.output


def test_the_command_line_tells_nothing_of_single_rows_unless_asked(tmp_path):
    X = people()
    table = X.drop(columns=["city_Oslo", "city_Rome"]).rename_axis("e-mail").reset_index()
    table["joined"] = table["joined"].dt.strftime("%Y-%m-%d")
    table["name"] = [f"Surname{i} Given{i}" for i in range(N)]
    data, model, page = tmp_path / "people.csv", tmp_path / "model.json", tmp_path / "report.html"
    table.to_csv(data, index=False)
    chosen = ["--id", "e-mail", "--columns", "salary,steps,joined"]
    told = run("fit", data, "-k", 3, "--leaves", 4, *chosen, "-o", model, "--report", page)
    assert "it contains no rows of the table" in told
    document = json.loads(model.read_text())
    del document["tree"]["below"], document["tree"]["above"]
    written = {
        "fit": told,
        "model": json.dumps(document),
        "report": page_data(page.read_text()),
        **{command: run(command, model) for command in ("rules", "text", "sql")},
    }
    run("report", model, data, "--out", page, "--force")
    written["report again"] = page_data(page.read_text())
    for kind, text in written.items():
        assert secrets_in(text, X) == [], kind
        assert not [name for name in table["name"] if name in text], kind

    again = ["--out", page, "--force", "--rows", 9]
    assert "it contains up to 9 rows of the table" in run("report", model, data, *again)
    data_text = page_data(page.read_text())
    assert len(json.loads(data_text[data_text.index("{") :])["example_rows"]["values"]) == 9
    told = run("fit", data, "-k", 3, *chosen, "--report", page, "--force", "--rows", 5)
    assert "it contains up to 5 rows of the table" in told


def test_leaves_of_one_row_are_told_of(tmp_path):
    table = pd.DataFrame({"x": [*np.arange(50.0), *np.arange(500.0, 550.0), 9000.0]})
    table.to_csv(tmp_path / "outlier.csv", index=False)
    told = run("fit", tmp_path / "outlier.csv", "-k", 3, "-o", tmp_path / "model.json")
    assert "1 leaf holds a single row, whose values can be worked out from the file." in told


def test_rows_must_be_a_number_of_rows_of_a_table(case):
    model, X = case
    for wrong in (-1, 2.0, True, "5"):
        with pytest.raises(ValueError, match="rows must be 0 or a positive whole number"):
            report_html(model, X, rows=wrong)
    with pytest.raises(ValueError, match="rows=5 puts rows of X into the report; give X as well"):
        report_html(model, rows=5)
    runner = CliRunner()
    for arguments in (["report", "model.json", "--rows", "3"], ["fit", "a.csv", "-k2", "--rows=3"]):
        result = runner.invoke(app, arguments)
        assert result.exit_code != 0
        assert "--rows 3 puts rows of the table into" in result.output


def test_groups_of_a_few_rows_have_no_averages():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(60, 2)), rng.normal(size=(60, 2)) + 9, [[777.25, 83.5]]])
    model = ExKMC(3, random_state=0).fit(X)
    private, asked = summarize(model, X), summarize(model, X, rows=3)
    assert [v["too_few"] for v in private["descriptions"]].count(True) == 1
    assert all(bool(v["differences"]) != v["too_few"] for v in private["descriptions"])
    assert all(v["differences"] for v in asked["descriptions"])
    assert not {777.25, 83.5, 777.2, 777.0, 83.0, 84.0} & numbers_in(
        json.dumps(private["descriptions"])
    )


@given(st.integers(1, 30), st.integers(1, 8), st.data())
def test_leaves_are_counted_together_until_there_are_enough_rows(n_leaves, least, data):
    tree = random_tree(np.random.default_rng(data.draw(st.integers(0, 99))), n_leaves, 2, 3)
    counts = np.array(data.draw(st.lists(st.integers(0, 9), min_size=n_leaves, max_size=n_leaves)))
    target = merged_leaves(tree, counts, least)
    merged = np.bincount(target, counts, minlength=n_leaves)
    assert merged.sum() == counts.sum()
    assert np.array_equal(target[target], target)
    if counts.sum() >= least:
        assert np.all((merged == 0) | (merged >= least))
    assert np.all(merged[counts >= least] >= counts[counts >= least])


@given(
    st.lists(st.integers(-500, 500), min_size=10, max_size=80),
    st.sampled_from(["number", "integer", "date"]),
)
def test_the_ends_of_a_histogram_hold_several_rows(values, kind):
    x = np.array(values, dtype=float)
    column = Column("x", kind, "D" if kind == "date" else "")
    empty = ThresholdTree([-1], [np.nan], [-1], [-1], [0], 1)
    bins = number_bins(ReportText(empty, (column,)), 0, x, 5)
    counts = np.bincount(bins.bin_of(x), minlength=len(bins.labels))
    assert counts[0] >= 5
    assert counts[-1] >= 5
    assert counts.sum() == len(x)


def test_rare_categories_have_no_bin_of_their_own():
    bins, bin_of = category_bins(["a", "b", "c", "d"], np.array([3, 50, 4, 9]), 5)
    assert bins.labels == ["b", "d", "2 others"]
    assert bin_of.tolist() == [2, 0, 2, 1]


@given(st.integers(0, 10**6), st.sampled_from([1e-300, 1e-3, 1.0, 1e9, 1e300]))
def test_the_shift_of_sums_is_near_the_rows_but_none_of_them(seed, scale):
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(50, 3)) + rng.normal(size=3) * 10) * scale
    shift = rounded_mean(X)
    assert np.all((shift >= X.min(axis=0)) & (shift <= X.max(axis=0)))
    assert not np.isin(X, shift).any()


def test_profiles_are_as_accurate_as_with_a_row_as_shift():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3)) + np.array([1e9, -1e7, 0.0])
    model = ExKMC(3, reference=make_pipeline(StandardScaler(), KMeans(3, n_init=2, random_state=0)))
    model.set_params(max_leaf_nodes=6, random_state=0).fit(X)
    offset = X[0]
    for cluster in range(3):
        exact = (X - offset)[model.labels_ == cluster].mean(axis=0) + offset
        error = np.abs(model.cluster_profiles_[cluster] - exact)
        assert np.all(error <= 1e-15 + np.spacing(np.abs(exact)))
    assert model._fit_result.spread == pytest.approx(X.std(axis=0), rel=1e-9)


def test_where_a_row_goes_starts_from_rounded_medians(case):
    model, X = case
    summary = summarize(model, X)
    start = dict(zip([f["name"] for f in summary["fields"]], summary["typical_row"], strict=True))
    assert {"salary", "steps"} & start.keys()
    for name in {"salary", "steps"} & start.keys():
        spread = X[name].std()
        assert abs(start[name] - X[name].median()) <= spread / 5
        assert start[name] not in X[name].to_numpy()
        assert float(f"{start[name]:.3g}") == start[name]  # a tidy number


def test_histograms_without_rows_count_every_row_but_no_few(case):
    model, X = case
    summary = summarize(model.with_leaves(model.n_leaves_), X)
    assert summary["histograms"]
    for histogram in summary["histograms"]:
        by_leaf = [sum(counts) for counts in histogram["counts"]]
        assert sum(by_leaf) == N
        assert all(count == 0 or count >= 5 for count in by_leaf)
        ends = np.sum([np.pad(c, (0, 60))[:60] for c in histogram["counts"]], axis=0)
        if histogram["ordered"]:
            assert ends[0] >= 5
            assert ends[len(histogram["labels"]) - 1] >= 5
    assert set(summary["ranges"]) == {""}
