"""Names of clusters: automatic ones are distinct and stable, given ones are used everywhere."""

import json

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from typer.testing import CliRunner

from treemeans import ExKMC, export_graphviz, export_text, load, plot_tree
from treemeans.cli.app import app


def blobs(seed=0, n=300):
    """Three clusters: high in x0, high in x1, and low in both."""
    rng = np.random.default_rng(seed)
    centers = np.array([[10.0, 0, 0], [0, 10, 0], [0, 0, 0]])
    return centers[rng.integers(0, 3, n)] + rng.normal(0, 1, (n, 3))


def fitted(X, k=3, **more):
    return ExKMC(k, random_state=0, **more).fit(X)


def test_names_say_what_sets_a_cluster_apart():
    assert set(fitted(blobs()).cluster_names_) == {"high x0", "high x1", "low x0, low x1"}


def test_names_are_the_same_on_other_draws():
    names = {frozenset(fitted(blobs(seed)).cluster_names_) for seed in range(20)}
    assert len(names) == 1


@pytest.mark.parametrize("k", [1, 2, 5, 9])
def test_names_are_distinct_when_clusters_differ_in_degree(k):
    X = np.repeat(np.arange(9.0) * 10, 5)[:, None] + np.tile(np.arange(5.0), 9)[:, None] / 10
    names = fitted(X, k).cluster_names_
    assert len(set(names)) == k
    assert all(names)


def test_names_of_one_column_twice_and_of_constants():
    X = np.repeat(blobs()[:, :1], 4, axis=1)
    assert len(set(fitted(X, 3).cluster_names_)) == 3
    assert fitted(np.ones((5, 2)), 1).cluster_names_ == ("all rows",)


def test_long_names_of_columns_are_cut():
    model = fitted(blobs()).with_columns(names=["a" * 500, "b" * 500, "c"])
    assert max(map(len, model.cluster_names_)) <= 80
    assert len(set(model.cluster_names_)) == 3


def test_all_sizes_have_the_same_names():
    model = fitted(blobs(), max_leaf_nodes=8)
    assert model.with_leaves(3).cluster_names_ == model.cluster_names_


def test_sparse_tables_have_names():
    X = blobs()
    X[X < 5] = 0
    assert fitted(sparse.csr_matrix(X)).cluster_names_ == fitted(X).cluster_names_


NAMES = ["O'Neil; DROP TABLE", "<b>loyal</b>", 'quiet "ones"']


def test_given_names_are_used_everywhere(tmp_path):
    X = blobs()
    model = fitted(X).with_names(NAMES)
    model.save(tmp_path / "model.json")
    for each in (model, load(tmp_path / "model.json"), model.with_leaves(3)):
        assert each.cluster_names_ == tuple(NAMES)
        assert each.predict_names(X[:5]).tolist() == [NAMES[i] for i in each.predict(X[:5])]
        rules = each.rules()
        assert [cluster.name for cluster in rules] == NAMES
        assert f"cluster 1: {NAMES[1]}\n" in str(rules)
        assert "&lt;b&gt;loyal" in rules._repr_html_()
        assert rules.to_frame()["cluster_name"].isin(NAMES).all()
        assert NAMES[1] in export_text(each)
        assert NAMES[1] in export_graphviz(each)
        assert any(NAMES[1] == text.get_text() for text in plot_tree(each).texts)
        sql = each.to_sql("postgresql", "t", labels="names")
        assert "'O''Neil; DROP TABLE'" in sql


def test_automatic_names_in_pictures_are_asked_for():
    model = fitted(blobs())
    assert "cluster 0" in export_text(model)
    automatic = export_text(model, cluster_names="automatic")
    for i, name in enumerate(model.cluster_names_):
        assert f": {i}: {name} (" in automatic
    with pytest.raises(ValueError, match="bare tree"):
        export_text(model.tree_, cluster_names="automatic")


def test_some_names_by_number_and_back():
    model = fitted(blobs())
    automatic = model.cluster_names_
    named = model.with_names({2: " new\n name "})
    assert named.cluster_names_ == (*automatic[:2], "new name")
    assert named.with_names(None).cluster_names_ == automatic
    assert model.cluster_names_ == automatic


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a", "b"], "3 names"),
        ("abc", "3 names"),
        (["a", "a", "b"], "named 'a'"),
        (["a", "", "b"], "cluster 1 must be a text"),
        (["a", "b", 3], "cluster 2 must be a text"),
        (["a", "b", "c\x00"], "cluster 2 must be a text"),
        (["a", "b", "c" * 201], "201 letters"),
        ({3: "a"}, "no cluster 3"),
        ({"x": "a"}, "no cluster 'x'"),
    ],
)
def test_names_that_cannot_be_are_refused(names, message):
    with pytest.raises(ValueError, match=message):
        fitted(blobs()).with_names(names)


def test_files_without_names_load(tmp_path):
    path = tmp_path / "model.json"
    fitted(blobs()).save(path)
    document = json.loads(path.read_text())
    assert document["cluster_names"]["given"] is False
    del document["cluster_names"]
    path.write_text(json.dumps(document))
    assert load(path).cluster_names_ == fitted(blobs()).cluster_names_


def run(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    return result.exit_code, result.output


@pytest.mark.parametrize(
    "content",
    [
        "cluster,name\n0,first\n1,second\n2,third\n",
        '{"cluster_names": ["first", "second", "third"]}',
    ],
)
def test_names_from_a_file(tmp_path, content):
    X = blobs()
    data, names, model = tmp_path / "t.csv", tmp_path / "names", tmp_path / "m.json"
    data.write_text("a,b,c\n" + "\n".join(",".join(map(str, row)) for row in X.round(3)))
    names.write_text(content)
    code, output = run("fit", data, "-k", 3, "--names", names, "--out", model)
    assert code == 0, output
    assert "cluster 1: second\n" in output
    assert "'third'" in run("sql", model, "--as", "names")[1]
    assert "third" in run("text", model)[1]
    out = tmp_path / "out.csv"
    assert run("predict", model, data, "--as", "names", "--out", out)[0] == 0
    assert {line.split(",")[-1] for line in out.read_text().split()[1:]} == {
        "first",
        "second",
        "third",
    }
    names.write_text('{"1": "other"}')
    assert "cluster 1: other\n" in run("rules", model, "--names", names)[1]
    names.write_text("{")
    code, output = run("rules", model, "--names", names)
    assert code == 1
    assert "has no names of clusters" in output


def test_pictures_and_reports_show_automatic_names_after_numbers(tmp_path):
    model = fitted(blobs())
    shown = [f"{i}: {name}" for i, name in enumerate(model.cluster_names_)]
    some = model.with_names({1: "loyal"})
    assert list(some._fit_result.shown_names) == [shown[0], "loyal", shown[2]]
    for each, wanted in ((model, shown), (some, [shown[0], "loyal", shown[2]])):
        dot = export_graphviz(each)
        assert all(f'"{name}\\n' in dot for name in wanted)
        each.report(tmp_path / "report.html")
        page = (tmp_path / "report.html").read_text(encoding="utf-8")
        data = json.loads(page.split('id="data">')[1].split("</script>")[0])
        assert [group["name"] for group in data["groups"]] == wanted
        assert [group["plain"] for group in data["groups"]] == list(each.cluster_names_)
        assert "Group 0" not in page
    assert "cluster 0" in export_graphviz(model, cluster_names="numbers")


def test_a_long_column_leaves_room_for_the_next_one():
    X = np.repeat(blobs()[:, :1], 3, axis=1)
    model = fitted(X, 2).with_columns(
        names=[f"a column with a very long name {i}" for i in range(3)]
    )
    assert any(
        name.startswith("high a column") and name.endswith("name 1")
        for name in model.cluster_names_
    )


# ---- categories ----------------------------------------------------------------------------------


def plans(n=300, seed=0):
    """Groups that differ in a category, a number and nothing else."""
    rng = np.random.default_rng(seed)
    group = np.arange(n) % 3
    plan = np.array(["basic", "pro", "team"], dtype=object)[group]
    plan[rng.random(n) < 0.05] = None
    plan[:3] = ["Ann's own", "basic", "pro"]  # a category of a single row
    return pd.DataFrame(
        {
            "plan": plan,
            "spend": np.array([10.0, 50.0, 90.0])[group] + rng.normal(0, 2, n),
            "shop": rng.choice(["north", "south"], n),
        }
    )


def test_names_and_differences_speak_of_categories():
    X = plans()
    rules = fitted(X).rules()
    names = [each.name for each in rules]
    assert sorted(names) == ["plan basic, low spend", "plan pro", "plan team, high spend"]
    for each in rules:
        (told,) = [one for one in each.apart if one.name == "plan"]
        labels = fitted(X).labels_
        inside = (X["plan"] == told.category).to_numpy()
        assert told.mean == pytest.approx(inside[labels == each.cluster].mean())
        assert told.others == pytest.approx(inside[labels != each.cluster].mean())
        assert f"plan = {told.category}" in str(each)


def test_shares_of_categories_follow_weights_sizes_and_partitions(tmp_path):
    X = plans()
    weights = np.random.default_rng(1).integers(0, 3, len(X)).astype(float)
    weighted = ExKMC(3, random_state=0).fit(X, sample_weight=weights)
    counts = weighted._fit_result.categories[0]
    column = weighted._fit_result.columns[0]
    assert [column.category(code) for code in counts.codes] == ["basic", "pro", "team"]
    for code, found in zip(counts.codes, counts.weight.sum(axis=0), strict=True):
        assert found == weights[(X["plan"] == column.category(code)).to_numpy()].sum()
    model = fitted(X, max_leaf_nodes=6)
    model.save(tmp_path / "model.json")
    streamed = fitted(dd.from_pandas(X, npartitions=4), max_leaf_nodes=6)
    for other in (load(tmp_path / "model.json"), streamed):
        assert other.cluster_names_ == model.cluster_names_
        for n_leaves in model.path_["n_leaves"]:
            mine, theirs = (each.with_leaves(n_leaves).rules() for each in (model, other))
            texts = [[str(one) for each in rules for one in each.apart] for rules in (mine, theirs)]
            assert texts[0] == texts[1]
    saved = json.loads((tmp_path / "model.json").read_text())["categories"]
    assert [len(each["codes"]) for each in saved] == [3, 2]  # no count of a single row
