"""A reference on scaled components, and everything the model says in the columns of the table."""

import math
import re
import sqlite3

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import treemeans
from treemeans import ExKMC, export_graphviz, export_text, plot_path, plot_regions, plot_tree

WINES = load_wine(as_frame=True).data


@pytest.fixture(scope="module")
def model():
    reference = make_pipeline(StandardScaler(), PCA(5), KMeans(8, n_init=2, random_state=0))
    return ExKMC(8, max_leaf_nodes=16, reference=reference, round_thresholds=True).fit(WINES)


@pytest.fixture(scope="module")
def cuts(model):
    """Feature and threshold of every cut, which lie within the range of the raw column."""
    tree = model.tree_
    pairs = {
        (int(f), float(t)) for f, t in zip(tree.feature, tree.threshold, strict=True) if f >= 0
    }
    for feature, threshold in pairs:
        column = WINES.iloc[:, feature]
        assert column.min() <= threshold <= column.max()
    return pairs


def assert_raw(text, cuts):
    """Names of columns and their thresholds, as they are in the table."""
    for feature, threshold in cuts:
        assert WINES.columns[feature] in text
        number = {f"{threshold:g}", f"{math.floor(threshold)}", f"{math.floor(threshold) + 1}"}
        assert any(shown in text for shown in number), (feature, threshold)


def test_the_space_is_not_that_of_the_table(model):
    assert model.reference_centers_.shape == (8, 5)
    assert model.cluster_profiles_.shape == (8, 13)


def test_text_and_rules(model, cuts):
    assert_raw(export_text(model), cuts)
    assert_raw(export_graphviz(model), cuts)
    rules = model.rules()
    for cluster in rules:
        for rule in cluster.rules:
            for feature, interval in rule.box.items():
                for bound in (interval.above, interval.upto):
                    assert math.isinf(bound) or (feature, bound) in cuts
    assert set(rules.to_frame("pandas")["cluster"]) <= set(range(8))


def test_what_sets_a_cluster_apart_is_in_raw_units(model):
    for cluster in model.rules():
        rows = model.labels_ == cluster.cluster
        for name, mean, others in re.findall(
            r"(\S+) ([\d.]+) \(others ([\d.]+)\)", cluster.summary
        ):
            column = WINES[name].to_numpy()
            assert column[rows].mean() == pytest.approx(float(mean), rel=0.05)
            assert column[~rows].mean() == pytest.approx(float(others), rel=0.05)


def test_explain_and_counterfactual(model, cuts):
    for step in model.explain(WINES.iloc[[0]].to_dict("records")[0]).steps:
        assert step.column in WINES.columns
    target = int(model.labels_[-1])
    found = model.counterfactual(WINES, to=target)
    assert found.possible.all()
    assert (model.predict(pd.DataFrame(found.X, columns=WINES.columns)) == target).all()


def test_sql(model):
    with sqlite3.connect(":memory:") as database:
        WINES.to_sql("wines", database, index=False)
        found = pd.read_sql(model.to_sql("sqlite", "wines"), database)
    database.close()
    assert found["cluster"].tolist() == model.labels_.tolist()


def test_other_exports(model, tmp_path):
    assert model.to_sklearn().predict(WINES).tolist() == model.labels_.tolist()
    namespace = {}
    exec(model.to_python(), namespace)
    rows = WINES.to_dict("records")
    assert [namespace["predict"](row) for row in rows] == model.labels_.tolist()
    model.save(tmp_path / "model.json")
    loaded = treemeans.load(tmp_path / "model.json")
    assert loaded.predict(WINES).tolist() == model.labels_.tolist()
    assert str(loaded.rules()) == str(model.rules())


def test_pictures(model):
    names = {text.get_text().split(" ")[0] for text in plot_tree(model).texts}
    assert names & set(WINES.columns)
    axes = plot_regions(model, WINES, features=("proline", "flavanoids"))
    assert {axes.get_xlabel(), axes.get_ylabel()} == {"proline", "flavanoids"}
    plot_path(model)
    plt.close("all")
    assert "proline" in model._repr_html_()


def test_a_smaller_tree_speaks_of_raw_columns_too(model):
    small = model.with_leaves(8)
    assert small.predict(WINES).tolist() == small.labels_.tolist()
    assert np.isfinite(small.cluster_profiles_).all()
    assert "cluster 7" in str(small.rules())
