"""`treemeans explain`: rules, SQL and a report for a column of labels."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from typer.testing import CliRunner

import treemeans
from treemeans.cli.app import app

WINE = load_wine(as_frame=True)
FRAME = WINE.frame.drop(columns="target").assign(
    segment=np.array(WINE.target_names)[WINE.target],
    region=np.where(WINE.frame["alcohol"] > 13, "north", "south"),
)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    FRAME.to_parquet("wine.parquet")
    FRAME.assign(segment=FRAME["segment"].where(FRAME.index % 9 > 0, "-1")).to_csv(
        "noisy.csv", index=False
    )
    return tmp_path


def run(*arguments, code=0):
    result = CliRunner().invoke(app, ["explain", *arguments])
    assert result.exit_code == code, result.output
    return result.output


def test_rules_sql_and_report(folder):
    output = run("wine.parquet", "--labels", "segment")
    assert "178 rows; 3 groups of the column 'segment'" in output
    assert "cluster 1: class_1" in output
    assert "agree with the given labels" in output
    assert "k-means" not in output
    assert "'class_0'" in output
    page = (folder / "wine_segment.html").read_text(encoding="utf-8")
    assert "class_2" in page
    assert "of the rows differ" in page


def test_the_labels_are_no_column_to_cut(folder):
    run("wine.parquet", "--labels", "segment", "--out", "model.json", "--report", "none")
    model = treemeans.load("model.json")
    assert "segment" not in [column.name for column in model.columns_]
    frame = FRAME.drop(columns="segment")
    agree = np.array(model.cluster_names_)[model.predict(frame)] == FRAME["segment"]
    assert agree.mean() > 0.85
    assert not (folder / "wine_segment.html").exists()


def test_files_and_json(folder):
    output = run(
        "wine.parquet", "--labels", "segment", "--leaves", "6", "--sql", "query.sql",
        "--report", "page.html", "--refine", "local", "--json",
    )  # fmt: skip
    found = json.loads(output.splitlines()[-1])
    assert found["n_leaves"] <= 6
    assert found["rules"]["reference"] == "the given labels"
    assert (folder / "query.sql").read_text().strip() == found["sql"].strip()
    assert (folder / "page.html").exists()


@pytest.mark.parametrize(("noise", "groups"), [("ignore", 3), ("cluster", 4)])
def test_rows_without_a_label(noise, groups):
    output = run("noisy.csv", "--labels", "segment", "--noise", noise, "--report", "none")
    assert f"{groups} groups of the column 'segment'" in output
    left_out = "178 rows, of which 20 without a label are left out; 3 groups"
    assert (left_out in output) == (noise == "ignore")


def test_a_group_without_rows_differs_by_nothing():
    rare = FRAME.assign(segment=np.where(FRAME.index % 40 == 7, "rare", FRAME["region"]))
    rare.to_csv("rare.csv", index=False)
    output = run("rare.csv", "--labels", "segment", "--report", "none", "--leaves", "3")
    told = output.partition("cluster 1: rare\n")[2].splitlines()
    assert told[0].strip() == "no rows, and no rule leads to it"
    assert not told[1].strip()


def test_squared_distances():
    output = run("wine.parquet", "--labels", "segment", "--cost", "kmeans", "--report", "none")
    assert "times their cost" in output


MISTAKES = {
    "no such column": (["--labels", "sgment"], "There is no column 'sgment' for --labels"),
    "a column of numbers": (["--labels", "alcohol"], "'alcohol' has 126 different labels"),
    "too few leaves": (["--labels", "segment", "--leaves", "2"], "--leaves 2 is less than the 3"),
    "dropping rows": (["--labels", "segment", "--missing", "drop"], "--missing drop would drop"),
}


@pytest.mark.parametrize(("arguments", "sentence"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes(arguments, sentence):
    output = run("wine.parquet", "--report", "none", *arguments, code=1)
    assert sentence in " ".join(output.split())


def test_one_label(folder):
    pd.DataFrame({"x": [1.0, 2.0], "kind": ["a", "a"]}).to_csv("one.csv", index=False)
    output = run("one.csv", "--labels", "kind", code=1)
    assert "The column 'kind' is 'a' for every row" in output


def test_a_report_that_exists_is_kept(folder):
    (folder / "wine_segment.html").write_text("mine")
    assert "use --force to replace it" in run("wine.parquet", "--labels", "segment", code=1)
    assert (folder / "wine_segment.html").read_text() == "mine"
