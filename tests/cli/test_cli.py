"""The command line, as a user runs it: files in, words and files out, mistakes in one sentence."""

import contextlib
import io
import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv as pacsv
from typer.testing import CliRunner

import treemeans
from treemeans import ExKMC
from treemeans.cli.app import app
from treemeans.cli.choose_command import ClusterCosts, reason, suggested_clusters
from treemeans.files.file_schema import encode_for_model
from treemeans.files.read_table import read_table

pytestmark = pytest.mark.usefixtures("one_thread")


def run(*args, **kwargs):
    return CliRunner().invoke(app, [str(arg) for arg in args], **kwargs)


def ok(*args, **kwargs):
    result = run(*args, **kwargs)
    assert result.exit_code == 0, result.output
    return result


def refused(*args, says, **kwargs):
    """One sentence on standard error, exit code 1, and no traceback."""
    result = run(*args, **kwargs)
    assert result.exit_code == 1, result.output
    error = [line for line in result.stderr.splitlines() if not line.startswith("Note: ")]
    assert len(error) == 1, result.stderr
    assert error[0].startswith("Error: ")
    assert error[0].endswith((".", "?"))
    assert says in error[0]
    assert result.stdout == ""


def customers(n=240, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "customer_id": np.arange(1000, 1000 + n),
            "spend": rng.gamma(2.0, 200.0, n).round(2),
            "visits": rng.poisson(4, n),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
            "color": rng.choice(["red", "blue", "<b>green</b>"], n),
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    customers().to_csv(folder / "customers.csv", index=False)
    ok("fit", folder / "customers.csv", "-k", 4, "--leaves", 8, "--out", folder / "model.json")
    return folder


@pytest.fixture(scope="module")
def data(folder):
    return folder / "customers.csv"


@pytest.fixture(scope="module")
def model(folder):
    return folder / "model.json"


# ---- fit -----------------------------------------------------------------------------------------


def test_limits_on_clusters(data, tmp_path):
    out = tmp_path / "limited.json"
    limits = ["--min-cluster-size", 50, "--max-cluster-size", 0.5, "--balance", "color:red=0.2:0.5"]
    asked = ["--protected", "color,visits", "--exclude", "color", "--out", out, "--json"]
    said = json.loads(ok("fit", data, "-k", 3, "--leaves", 9, *limits, *asked).stdout)
    sizes = [cluster["size"] for cluster in said["rules"]["clusters"]]
    assert 50 <= min(sizes) <= max(sizes) <= 120
    (balanced,) = said["rules"]["balanced"]
    assert (balanced["column"], balanced["value"]) == ("color", "red")
    assert 0.2 <= min(balanced["shares"]) <= max(balanced["shares"]) <= 0.5
    assert [each["column"] for each in said["rules"]["protected"]] == ["color", "visits"]
    saved = treemeans.load(out)
    cut = {saved.columns_[i].name for i in saved.tree_.feature if i >= 0}
    assert cut <= {"spend", "since"}


def test_limits_that_cannot_be_read_or_met(data):
    for limit, says in (
        (["--balance", "color"], "--balance must be like"),
        (["--balance", "colour=0.1:0.9"], "no column 'colour'"),
        (["--protected", "colour"], "no column 'colour'"),
        (["--min-cluster-size", 90], "The largest possible is 80"),
        (["--max-cluster-size", 0.1, "--engine", "stream"], "add --engine memory"),
    ):
        refused("fit", data, "-k", 3, "--quiet", *limit, says=says)


def test_demo_needs_nothing():
    said = ok("fit", "--demo").stdout
    assert "2,357 rows and 5 columns" in said
    assert "cluster 3" in said
    assert "cost / k-means" in said
    assert "<- suggested" in said


def test_fit_says_rules_cost_and_curve(data):
    result = ok("fit", data, "-k", 3, "--leaves", 6)
    assert "240 rows and 4 columns" in result.stdout
    assert "customer_id" in result.stderr  # left out, with a note
    assert "color=" not in result.stdout
    assert result.stdout.count("cluster ") >= 3


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "feather"])
def test_every_format_gives_the_same_model(tmp_path, data, model, suffix):
    frame, path = customers(), tmp_path / f"customers.{suffix}"
    if suffix in ("csv", "tsv"):
        frame.to_csv(path, index=False, sep="\t" if suffix == "tsv" else ",")
    else:
        getattr(frame, f"to_{suffix}")(path)
    ok("fit", path, "-k", 4, "--leaves", 8, "--out", tmp_path / "model.json")
    assert treemeans.load(tmp_path / "model.json").tree_ == treemeans.load(model).tree_


def test_standard_input(data, tmp_path, model):
    out = tmp_path / "m.json"
    ok("fit", "-", "-k", 4, "--leaves", 8, "--out", out, input=data.read_bytes())
    assert treemeans.load(out).tree_ == treemeans.load(model).tree_


def test_scale_columns_and_exact(tmp_path, data):
    out = tmp_path / "m.json"
    ok("fit", data, "-k", 3, "--columns", "spend,visits", "--scale", "none", "--exact", "-o", out)
    loaded = treemeans.load(out)
    X = customers()[["spend", "visits"]].to_numpy()
    expected = ExKMC(3, random_state=0).fit(X)
    assert [column.name for column in loaded.columns_] == ["spend", "visits"]
    assert loaded.inertia_ == pytest.approx(expected.inertia_, rel=0.05)
    cut = loaded.tree_.threshold[~loaded.tree_.is_leaf]
    gaps = loaded.tree_.gap[~loaded.tree_.is_leaf]
    np.testing.assert_allclose(cut, gaps.mean(axis=1))


def test_json_for_machines(data):
    said = json.loads(ok("fit", data, "-k", 3, "--columns", "spend,visits", "--json").stdout)
    assert said["n_rows"] == 240
    assert said["n_leaves"] == said["suggested_leaves"]
    assert said["path"]["n_leaves"] == [3, 4, 5, 6]
    ratio = said["path"]["ratio"][said["n_leaves"] - 3]
    assert said["cost"] / said["reference_cost"] == pytest.approx(ratio)
    assert len(said["rules"]["clusters"]) == 3


def test_quiet(data, tmp_path):
    result = ok("fit", data, "-k", 3, "--quiet", "--out", tmp_path / "m.json")
    assert (result.stdout, result.stderr) == ("", "")
    assert (tmp_path / "m.json").exists()


def test_missing_values(tmp_path):
    frame = customers()
    frame.loc[[3, 7], "spend"] = np.nan
    frame.loc[7, "color"] = None
    path = tmp_path / "gaps.csv"
    frame.to_csv(path, index=False)
    kept = ok("fit", path, "-k", 3, "--out", tmp_path / "kept.json")
    assert re.search(
        r"color +category \(3 values\) +1 +cut by sets of its values; missing values take",
        kept.stderr,
    )
    assert len(ok("predict", tmp_path / "kept.json", path).stdout.splitlines()) == 241
    assert (
        json.loads(ok("fit", path, "-k", 3, "--missing", "drop", "--json").stdout)["n_rows"] == 238
    )
    out = tmp_path / "m.json"
    ok("fit", path, "-k", 3, "--missing", "median", "--out", out)
    labelled = ok("predict", out, path).stdout
    assert len(labelled.splitlines()) == 241


def test_the_report(tmp_path, data, model):
    out = tmp_path / "report.html"
    ok("fit", data, "-k", 3, "--report", out)
    page = out.read_text(encoding="utf-8")
    assert page.lower().startswith("<!doctype html>")
    assert "customers.csv" in page
    assert "<b>green</b>" not in page
    refused("report", model, "--out", out, says="exists")
    ok("report", model, data, "--out", out, "--force")
    with_rows = out.read_text(encoding="utf-8")
    ok("report", model, "--out", out, "--force")
    assert len(out.read_text(encoding="utf-8")) < len(with_rows)
    same = tmp_path / "x"
    refused("fit", data, "-k", 3, "-o", same, "--report", same, says="Two outputs")


@pytest.mark.parametrize("engine", ["memory", "stream"])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("hour", ["", "T23:59:59", "T23:59:59-12:00"])
def test_dates_of_every_year(tmp_path, hour, suffix, engine):
    """The years 1 and 9999, and those beyond what nanoseconds since 1970 can count."""
    years = np.resize([1, 1677, 2024, 2262, 9999], 60)
    days = [f"{year:04d}-12-{15 + i % 17}{hour}" for i, year in enumerate(years)]
    table = pa.table({"day": days, "x": np.random.default_rng(0).normal(size=60)})
    path, model = tmp_path / f"days.{suffix}", tmp_path / "m.json"
    if suffix == "csv":
        pacsv.write_csv(table, path)
    else:
        zone = "UTC" if hour.endswith("00") else None
        kind = pa.timestamp("us", zone) if hour else pa.date32()
        pq.write_table(table.set_column(0, "day", table["day"].cast(kind)), path)
    page = tmp_path / "report.html"
    ok("fit", path, "-k", 3, "--engine", engine, "-o", model, "--report", page)
    assert "day" in ok("rules", model).stdout
    assert "CASE" in ok("sql", model, "--table", "days").stdout
    assert len(ok("predict", model, path, "--explain").stdout.splitlines()) == 61


# ---- mistakes ------------------------------------------------------------------------------------


def test_mistakes(tmp_path, data, model):
    refused("fit", says="Give a file to cluster, or --demo")
    refused("fit", data, "--demo", says="Give a file to cluster, or --demo")
    refused("fit", data, says="Add -k")
    refused("fit", tmp_path / "none.csv", "-k", 3, says="no file")
    refused("fit", tmp_path, "-k", 3, says="folder")
    refused("fit", data, "-k", 0, says="-k must be at least 1")
    refused("fit", data, "-k", 1000, says="too few for 1000 clusters")
    refused("fit", data, "-k", 5, "--leaves", 3, says="--leaves 3 is less than -k 5")
    refused("fit", data, "-k", 5, "--columns", "spent", says="did you mean 'spend'")
    refused("fit", data, "-k", 5, "--id", "custmer_id", says="did you mean 'customer_id'")
    refused("fit", data, "-k", 5, "--out", tmp_path / "no" / "m.json", says="no folder")
    refused("rules", data, says="is no")
    refused("rules", tmp_path / "none.json", says="none.json")
    refused("sql", model, "--dialect", "cobol", says="'cobol'")
    refused("text", model, "--leaves", 50, says="to 8 leaves, not of 50")
    refused("plot", model, "--out", tmp_path / "tree.gif", says=".png, .svg or .pdf")
    refused("choose", data, "--from", 5, "--to", 3, says="no number of clusters")


def test_usage_errors_have_exit_code_2(data):
    assert run("fit", data, "-k", "four").exit_code == 2
    assert run("fit", data, "-k", 3, "--scale", "maybe").exit_code == 2
    assert run("nothing").exit_code == 2


def test_an_existing_file_needs_force(tmp_path, data):
    out = tmp_path / "m.json"
    out.write_text("mine")
    refused("fit", data, "-k", 3, "--out", out, says="exists; use --force")
    assert out.read_text() == "mine"
    ok("fit", data, "-k", 3, "--out", out, "--force")
    assert treemeans.load(out).tree_.n_clusters == 3


# ---- a saved model -------------------------------------------------------------------------------


def test_predict_streams_between_formats(tmp_path, data, model):
    frame = customers(seed=5)
    for suffix in ("csv", "parquet"):
        source = tmp_path / f"new.{suffix}"
        frame.to_csv(source, index=False) if suffix == "csv" else frame.to_parquet(source)
        out = tmp_path / f"labelled-from-{suffix}.parquet"
        ok("predict", model, source, "--out", out, "--explain")
        table = pq.read_table(out)
        assert table.column_names == [*frame.columns, "cluster", "why"]
        labels = table["cluster"].to_numpy()
        assert set(labels) <= {0, 1, 2, 3}
        assert table["customer_id"].to_pylist() == frame["customer_id"].tolist()
        assert all(why for why in table["why"].to_pylist())
        printed = pd.read_csv(io.StringIO(ok("predict", model, source).stdout))
        assert printed["cluster"].tolist() == labels.tolist()


def test_predict_gives_the_training_rows_their_clusters(data, model):
    printed = pd.read_csv(io.StringIO(ok("predict", model, data).stdout))
    sizes = np.bincount(printed["cluster"], minlength=4)
    assert sizes.tolist() == [cluster.size for cluster in treemeans.load(model).rules()]


def test_predict_refuses_what_it_cannot_read(tmp_path, model):
    frame = customers()
    frame.drop(columns="spend").to_csv(tmp_path / "less.csv", index=False)
    refused("predict", model, tmp_path / "less.csv", says="spend")
    frame.assign(spend="much").to_csv(tmp_path / "text.csv", index=False)
    refused("predict", model, tmp_path / "text.csv", "--out", tmp_path / "o.csv", says="spend")
    assert not (tmp_path / "o.csv").exists()
    frame.assign(cluster=1).to_csv(tmp_path / "more.csv", index=False)
    refused("predict", model, tmp_path / "more.csv", "-o", tmp_path / "o.csv", says="'cluster'")


def test_unknown_categories_are_counted(tmp_path, model):
    customers().assign(color="pink").to_csv(tmp_path / "pink.csv", index=False)
    assert "240 rows have a category of color" in ok("predict", model, tmp_path / "pink.csv").stderr


def test_an_unseen_category_is_never_given_a_false_reason(tmp_path):
    plan = np.repeat(["basic", "pro", "enterprise"], [60, 50, 40])
    spend = np.repeat(["little", "some", "much"], [60, 50, 40])
    frame = pd.DataFrame({"plan": plan, "spend": spend})
    frame.to_csv(tmp_path / "plans.csv", index=False)
    ok("fit", tmp_path / "plans.csv", "-k", 3, "--leaves", 6, "-o", tmp_path / "m.json")
    new = frame.assign(plan=["trial"] * 75 + ["pro"] * 75)
    new.to_parquet(tmp_path / "new.parquet")
    new.to_csv(tmp_path / "new.csv", index=False)
    for name in ("new.csv", "new.parquet"):
        result = ok("predict", tmp_path / "m.json", tmp_path / name, "--explain")
        why = pd.read_csv(io.StringIO(result.stdout))["why"]
        assert "75 rows have a category of plan" in result.stderr
        unseen = 'plan is "trial", which was not seen in training; '
        unseen += "treated as none of basic, enterprise, pro"
        assert why[:75].str.contains(unseen, regex=False).all()
        assert not why[:75].str.contains("plan =", regex=False).any()
        assert not why[75:].str.contains("seen", regex=False).any()


def test_rules_text_sql(model, tmp_path):
    loaded = treemeans.load(model)
    assert ok("rules", model).stdout.strip() == str(loaded.rules()).strip()
    assert json.loads(ok("rules", model, "--json").stdout) == loaded.rules().to_dict()
    assert ok("text", model).stdout.strip() == treemeans.export_text(loaded)
    five = loaded.with_leaves(5)
    assert ok("text", model, "--leaves", 5).stdout.strip() == treemeans.export_text(five)
    said = ok("sql", model, "--dialect", "sqlite", "--table", "customers").stdout
    assert said.strip() == loaded.to_sql("sqlite", "customers", one_hot=False)
    where = ok("sql", model, "--dialect", "duckdb", "--table", "t", "--form", "where").stdout
    assert where.count("-- cluster") == 4
    out = tmp_path / "case.sql"
    ok("sql", model, "--out", out)
    refused("sql", model, "--out", out, says="exists")


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_plot(model, tmp_path, suffix):
    out = tmp_path / f"tree.{suffix}"
    ok("plot", model, "--out", out)
    start = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[suffix]
    assert out.read_bytes().startswith(start)


def test_onnx(model, tmp_path, data):
    onnxruntime = pytest.importorskip("onnxruntime")
    out = tmp_path / "tree.onnx"
    ok("onnx", model, "--out", out)
    session = onnxruntime.InferenceSession(out.read_bytes())
    n_features = len(treemeans.load(model).columns_)
    X = np.random.default_rng(0).normal(size=(50, n_features)) * 1000
    assert session.run(None, {"X": X})[0].tolist() == treemeans.load(model).predict(X).tolist()


# ---- choose and compare --------------------------------------------------------------------------


def test_choose(data, tmp_path):
    out = tmp_path / "grid.png"
    said = ok("choose", data, "--to", 5, "--plot", out).stdout
    assert said.count("<- suggested") == 1
    assert len(said.splitlines()) == 1 + 4 + 2  # and the reason
    assert out.read_bytes().startswith(b"\x89PNG")
    document = json.loads(ok("choose", data, "--to", 3, "--json").stdout)
    assert [choice["clusters"] for choice in document["choices"]] == [2, 3]


def test_the_knee_of_the_number_of_clusters():
    path = ExKMC(2, random_state=0).fit(np.eye(6)).path_
    costs = {2: 500.0, 3: 150.0, 4: 140.0, 5: 131.0, 6: 125.0}
    choices = [
        ClusterCosts(k, cost, 1000.0, path, uniform_share=k ** (-2 / 3))
        for k, cost in costs.items()
    ]
    for first in (0, 1):
        for last in (3, 5):
            assert suggested_clusters(choices[first:last]) == 3  # whatever else is tried
    assert "largest" not in reason(choices, 3)
    assert reason(choices[:2], 3).endswith("the largest number tried: try --to 6 as well.")
    assert reason(choices[1:], 3).endswith("the smallest number tried: try --from 2 as well.")
    assert "resamples" not in reason(choices, 3)


def test_choose_prefers_clusters_that_come_back():
    path = ExKMC(2, random_state=0).fit(np.eye(6)).path_
    choices = [
        ClusterCosts(3, 200.0, 1000.0, path, uniform_share=0.48, stability=0.95),
        ClusterCosts(4, 150.0, 1000.0, path, uniform_share=0.40, stability=0.4),
    ]
    assert suggested_clusters(choices) == 3
    assert "they come back on resamples (mean Jaccard index 0.95)" in reason(choices, 3)
    assert "but they do not come back" in reason(choices, 4)
    steady = [replace(choice, stability=0.9) for choice in choices]
    assert suggested_clusters(steady) == 4


def test_choose_finds_the_clusters_that_are_there(tmp_path):
    rng = np.random.default_rng(0)
    centers = rng.permutation(np.eye(4) * 30)
    X = np.concatenate([center + rng.normal(size=(40, 4)) for center in centers])
    pd.DataFrame(X, columns=list("abcd")).to_csv(tmp_path / "t.csv", index=False)
    for more in (("--to", 5), ("--from", 3, "--to", 7), ("--to", 6, "--resamples", 0)):
        found = json.loads(ok("choose", tmp_path / "t.csv", *more, "--json").stdout)
        assert found["suggested_clusters"] == 4
    assert {choice["stability"] for choice in found["choices"]} == {None}


@pytest.mark.parametrize(("n_columns", "apart"), [(4, 8.0), (10, 5.0)])
def test_choose_finds_two_clusters_in_few_and_in_many_columns(tmp_path, n_columns, apart):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, n_columns))
    X[:100, 0] += apart
    pd.DataFrame(X).add_prefix("x").to_csv(tmp_path / "t.csv", index=False)
    found = json.loads(ok("choose", tmp_path / "t.csv", "--to", 6, "--json").stdout)
    assert found["suggested_clusters"] == 2


def test_compare(data):
    rows = json.loads(ok("compare", data, "-k", 3, "--json").stdout)
    methods = [row["method"] for row in rows]
    own = ["ExKMC", "ExKMC, refined", "IMM", "CART", "KD-tree", "CUBT", "CLTree"]
    assert methods[: len(own)] == own
    assert "Kauri (gemclus)" in methods
    by_method = {row["method"]: row for row in rows}
    assert by_method["ExKMC, refined"]["ratio"] <= by_method["ExKMC"]["ratio"] + 1e-12
    assert all(row["leaves"] <= 6 for row in rows if row["method"] != "CLTree")
    found = ok("compare", data, "-k", 3)
    assert "<- lowest" in found.stdout
    if "ShallowTree" not in methods:
        assert "ShallowTree is left out: `pip install ShallowTree` adds it (up to" in found.stderr


@pytest.mark.parametrize("cost", ["kmedians", "cosine"])
def test_compare_by_other_costs(data, cost):
    result = ok("compare", data, "-k", 3, "--cost", cost, "--json")
    rows = {row["method"]: row for row in json.loads(result.stdout)}
    assert rows["ExKMC, refined"]["ratio"] <= rows["ExKMC"]["ratio"] + 1e-12
    assert all(row["ratio"] >= 0.9 for row in rows.values())
    name = {"kmedians": "cost / k-medians", "cosine": "cost / spherical k-means"}[cost]
    assert name in ok("compare", data, "-k", 3, "--cost", cost, "--scale", "none").stdout


# ---- as a process --------------------------------------------------------------------------------


def spawn(*args, options=(), **kwargs):
    source = str(Path(treemeans.__file__).parents[1])
    env = os.environ | {"PYTHONPATH": source, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, *options, "-m", "treemeans", *map(str, args)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, env=env, **(pipes | kwargs))


def test_ctrl_c_leaves_no_half_file(tmp_path, model):
    """A predict that reads from a pipe that never ends, stopped in the middle."""
    out = tmp_path / "labelled.csv"
    process = spawn("predict", model, "-", "--out", out, stdin=subprocess.PIPE)
    text = customers(20_000).to_csv(index=False)
    assert len(text) > 2**18  # more than a pipe holds: once it is written, it is being read
    process.stdin.write(text)
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert error.splitlines()[-1] == "Stopped: nothing was written."
    assert "Traceback" not in error
    assert list(tmp_path.iterdir()) == []


def test_an_error_while_a_pipe_is_read_is_one_sentence(tmp_path, model):
    """A thread of the reader still waits for the pipe, which nobody closes, when Python ends."""
    for _ in range(3):  # without what ends the process at once, two of three are aborted
        process = spawn("predict", model, "-", "--out", tmp_path / "x", stdin=subprocess.PIPE)
        lines = customers(20_000).to_csv(index=False).splitlines(keepends=True)
        lines[15_000] = lines[15_000].rstrip() + ",too,many\n"
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write("".join(lines))
            process.stdin.flush()
            for _ in range(100):
                process.stdin.write("".join(lines[1:2000]))
                process.stdin.flush()
        process.wait(timeout=60)
        error = process.stderr.read()
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        process.stdout.close()
        process.stderr.close()
        assert process.returncode == 1, error
        assert error.count("\n") == 1, error
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "imported",
    [
        "treemeans.optional_imports",
        "typer.main",
        "pyarrow.lib",
        "numpy",
        "sklearn.base",
        "treemeans.estimator",
        "treemeans.cli.fit_command",
    ],
)
def test_ctrl_c_while_packages_are_imported(tmp_path, imported):
    """Python tells on standard error what it has imported; stopped at that moment."""
    out = tmp_path / "model.json"
    process = spawn("fit", "--demo", "--out", out, options=["-X", "importtime"])
    for line in process.stderr:
        if line.split("|")[-1].strip() == imported:
            process.send_signal(signal.SIGINT)
            break
    else:
        pytest.fail(f"{imported} is not imported")
    output, error = process.communicate(timeout=60)
    said = [line for line in error.splitlines() if not line.startswith("import time:")]
    assert (process.returncode, output) == (130, "")
    assert said == ["Stopped: nothing was written."]
    assert list(tmp_path.iterdir()) == []


def test_help_needs_no_slow_import():
    """Help is printed at once, since scikit-learn is imported by the commands that use it."""
    with spawn("--help", options=["-X", "importtime"]) as process:
        _, error = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "sklearn" not in error


def test_a_reader_that_stops_is_no_error(model):
    with spawn("rules", model) as process:
        process.stdout.close()
        assert process.stderr.read() == ""
        process.wait(timeout=60)


def test_version_and_help():
    assert ok("--version").stdout.strip() == f"treemeans {treemeans.__version__}"
    said = ok("--help").stdout
    for command in (
        "fit",
        "choose",
        "compare",
        "predict",
        "rules",
        "sql",
        "plot",
        "onnx",
        "report",
    ):
        assert command in said


# ---- sizes, formulas, what was written -----------------------------------------------------------


def test_fit_takes_the_size_that_it_suggests(data, tmp_path):
    out, page = tmp_path / "m.json", tmp_path / "r.html"
    result = ok("fit", data, "-k", 4, "--out", out, "--report", page)
    marked = [line for line in result.stdout.splitlines() if line.endswith("<- suggested")]
    suggested = int(marked[0].split()[0])
    assert treemeans.load(out).n_leaves_ == suggested
    assert f", {suggested} rules" in result.stdout or suggested > 4
    sizes = treemeans.load(out)._fit_result.path["n_leaves"].tolist()
    start = re.search(r'"start_size":(\d+)', page.read_text(encoding="utf-8"))
    assert sizes[int(start[1])] == suggested
    assert sizes[-1] == 8  # larger trees are in the file
    chosen = json.loads(ok("choose", data, "--from", 4, "--to", 4, "--json").stdout)
    assert chosen["choices"][0]["suggested_leaves"] == suggested
    said = ok("fit", data, "-k", 4, "--leaves", 8).stdout
    assert suggested == 8 or said.count("<- this tree") == 1


def test_a_refined_tree_is_refined_at_the_suggested_size(data):
    grown = json.loads(ok("fit", data, "-k", 3, "--json").stdout)
    refined = json.loads(ok("fit", data, "-k", 3, "--refine", "local", "--json").stdout)
    assert refined["path"]["n_leaves"][-1] <= grown["suggested_leaves"]
    assert refined["cost"] <= grown["cost"] * (1 + 1e-9)


def test_rules_are_computed_once(data, monkeypatch):
    calls = []
    original = ExKMC.rules
    monkeypatch.setattr(ExKMC, "rules", lambda self: calls.append(1) or original(self))
    ok("fit", data, "-k", 3)
    ok("fit", data, "-k", 3, "--json")
    assert len(calls) == 2


FORMULAS = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "plain", "-", "-12.5", "+3", "\t=1"]


def test_cells_are_no_formulas(tmp_path, model):
    frame = customers().assign(note=np.resize(FORMULAS, 240))
    frame = frame.rename(columns={"note": "=note"})
    frame.to_csv(tmp_path / "new.csv", index=False)
    frame.to_parquet(tmp_path / "new.parquet")
    out = tmp_path / "labelled.csv"
    for name in ("new.csv", "new.parquet"):
        result = ok("predict", model, tmp_path / name, "-o", out, "--explain", "--force")
        labelled = pd.read_csv(out, dtype=str)
        expected = [
            f"'{cell}" if cell not in ("plain", "-", "-12.5", "+3") else cell for cell in FORMULAS
        ]
        assert labelled["'=note"].tolist() == np.resize(expected, 240).tolist()
        assert "apostrophe before them" in result.stderr
        ok("predict", model, tmp_path / name, "-o", out, "--raw", "--force")
        assert pd.read_csv(out, dtype=str)["=note"].tolist() == frame["=note"].tolist()
    kept = tmp_path / "labelled.parquet"
    ok("predict", model, tmp_path / "new.csv", "-o", kept)
    assert pq.read_table(kept)["=note"].to_pylist() == frame["=note"].tolist()


def test_reasons_are_those_of_explain(tmp_path, data, model):
    loaded = treemeans.load(model)
    out = tmp_path / "o.parquet"
    ok("predict", model, data, "-o", out, "--explain")
    table = encode_for_model(read_table(str(data)), loaded.columns_)
    assert pq.read_table(out)["why"].to_pylist() == [each.why for each in loaded.explain(table)]


def test_pictures_and_onnx_say_where_they_are(model, tmp_path):
    picture, graph = tmp_path / "tree.svg", tmp_path / "tree.onnx"
    assert ok("plot", model, "-o", picture).stderr == f"The picture is in {picture}.\n"
    assert ok("onnx", model, "-o", graph).stderr == f"The ONNX model is in {graph}.\n"
    assert ok("plot", model, "-o", picture, "--force", "--quiet").stderr == ""


def test_debug_shows_the_traceback(model):
    result = run("rules", "none.json", "--debug")
    assert isinstance(result.exception, ValueError)
    assert run("rules", "none.json").stderr.startswith("Error: ")


def test_short_help_and_completion():
    assert "--clusters" in ok("fit", "-h").stdout
    assert "--install-completion" in ok("-h").stdout
    shown = CliRunner().invoke(
        app,
        [],
        prog_name="treemeans",
        env={
            "_TREEMEANS_COMPLETE": "complete_bash",
            "COMP_WORDS": "treemeans pre",
            "COMP_CWORD": "1",
        },
    )
    assert shown.stdout.split() == ["predict"]


@pytest.mark.parametrize("words", ["--version", "--help"])
def test_the_first_answer_is_quick(words):
    """What takes seconds to import is not imported; benchmarks/COMMANDS.md has the times."""
    with spawn(words, options=("-X", "importtime")) as process:
        _, imports = process.communicate(timeout=60)
    assert process.returncode == 0
    modules = {line.rpartition("|")[2].strip() for line in imports.splitlines()}
    assert "treemeans" in modules
    slow = {"numpy", "scipy", "sklearn", "pandas", "pyarrow", "matplotlib"}
    assert slow & modules == set()


def test_ctrl_c_says_what_was_written(data, tmp_path):
    """Stopped while the report is made, when the model is there already."""
    out, page = tmp_path / "m.json", tmp_path / "r.html"
    code = (
        "import sys, os, signal, treemeans.report.report_file as r;"
        "r.html_page = lambda *_: os.kill(os.getpid(), signal.SIGINT);"
        "from treemeans.cli.app import app;"
        "app(sys.argv[1:])"
    )
    command = ["fit", data, "-k", 3, "-o", out, "--report", page]
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, command)], capture_output=True, text=True
    )
    assert done.returncode == 130
    assert done.stderr.splitlines()[-1] == f"Stopped: {out} was written, nothing else."
    assert [path.name for path in tmp_path.iterdir()] == ["m.json"]


def test_progress_is_shown_on_a_terminal(data, tmp_path):
    """k-means and the report have a line of their own while they work."""
    pty = pytest.importorskip("pty")
    leader, follower = pty.openpty()
    page = tmp_path / "r.html"
    process = spawn("fit", data, "-k", 3, "--report", page, stderr=follower)
    os.close(follower)
    said = b""
    with process:
        try:
            while piece := os.read(leader, 1 << 16):
                said += piece
        except OSError:  # the other end is closed
            pass
        process.stdout.read()
    os.close(leader)
    assert b"k-means" in said
    assert b"report" in said


# ---- stability -----------------------------------------------------------------------------------


def test_stability_of_a_saved_model(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"x": np.repeat([0.0, 9.0], 40) + rng.normal(size=80), "y": rng.random(80)}
    )
    table.to_csv(tmp_path / "table.csv", index=False)
    path = tmp_path / "model.json"
    ok("fit", tmp_path / "table.csv", "-k", 2, "--scale", "none", "--out", path, "-q")
    printed = ok("stability", path, tmp_path / "table.csv", "--resamples", 10)
    assert "All clusters are stable" in printed.stdout
    args = ("stability", path, tmp_path / "table.csv", "--resamples", 5, "--method", "subsample")
    plotted = ok(*args, "--json", "--plot", tmp_path / "plot.png")
    assert json.loads(plotted.stdout)["n_resamples"] == 5
    assert (tmp_path / "plot.png").stat().st_size > 1000
    refused(*args, "--plot", tmp_path / "plot.png", says="exists")


def test_many_categories(tmp_path):
    """--max-categories limits what a cut lists; rules list six of a set, or all if asked."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 3, 600)
    country = [f"C{i:02d}" for i in (10 * group + rng.integers(0, 10, 600))]
    path = tmp_path / "table.csv"
    numbers = {f"x{i}": 2 * group + rng.normal(size=600) for i in range(6)}
    pd.DataFrame({"country": country, **numbers}).to_csv(path, index=False)
    ok("fit", path, "-k", "3", "--out", tmp_path / "model.json")
    short = ok("text", tmp_path / "model.json").output
    assert re.search(r"country (not )?in \(C\d\d(, C\d\d){5}, \+\d+\)", short)
    whole = ok("rules", tmp_path / "model.json", "--all-categories").output
    assert ", +" not in whole
    assert whole.count("C0") >= 9
    ok("fit", path, "-k", "3", "--max-categories", "2", "--out", tmp_path / "short.json")
    lists = re.findall(r"in \((.*?)\)", ok("text", tmp_path / "short.json").output)
    assert {len(names.split(", ")) for names in lists} <= {2}


def test_alternatives_of_a_saved_model(tmp_path):
    rng = np.random.default_rng(0)
    group = np.repeat([0.0, 9.0], 40)
    table = pd.DataFrame(
        {"x": group + rng.normal(size=80) / 9, "y": group + rng.normal(size=80) / 9}
    )
    table.to_csv(tmp_path / "table.csv", index=False)
    path = tmp_path / "model.json"
    ok("fit", tmp_path / "table.csv", "-k", 2, "--scale", "none", "--out", path, "-q")
    args = ("alternatives", path, tmp_path / "table.csv", "-n", 2)
    result = ok(*args, "--out", tmp_path / "other.json")
    assert "1 other tree" in result.stdout
    columns = treemeans.load(tmp_path / "other-1.json").tree_.feature[0]
    assert columns != treemeans.load(path).tree_.feature[0]
    assert len(json.loads(ok(*args, "--json").stdout)["trees"]) == 2
    refused(*args, "--out", tmp_path / "other.json", says="exists")


def test_fit_warns_of_bad_segments(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=90), "y": rng.normal(size=90)})
    table.loc[90] = [900.0, 0.0]
    table.to_csv(tmp_path / "table.csv", index=False)
    args = ("fit", tmp_path / "table.csv", "-k", 2, "--leaves", 2)
    result = ok(*args, "--out", tmp_path / "model.json")
    assert "Warning: cluster" in result.stdout
    assert "row 90" in result.stdout
    assert "--scale robust" in " ".join(result.stdout.split())
    assert "Warning: cluster" in ok("rules", tmp_path / "model.json").stdout
    assert "row 90" not in ok("rules", tmp_path / "model.json").stdout
    kinds = [each["kind"] for each in json.loads(ok(*args, "--json").stdout)["rules"]["warnings"]]
    assert "single row" in kinds


def test_numbers_with_missing_values_are_fitted_without_a_note(tmp_path):
    table = customers().drop(columns=["customer_id"]).select_dtypes("number")
    table.loc[::7, "spend"] = np.nan
    table.to_csv(tmp_path / "t.csv", index=False)
    report = tmp_path / "r.html"
    result = ok("fit", tmp_path / "t.csv", "-k", "3", "--report", report)
    assert "feature names" not in result.stderr
    assert "feature names" not in ok("choose", tmp_path / "t.csv", "--to", "3").stderr
