"""The SVG of a tree in a notebook, which is well formed whatever the names are."""

import re
import xml.etree.ElementTree as ET

import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator
from sklearn.datasets import load_iris

from tests.helpers.mutable_trees import HOSTILE, chain, scattered
from treemeans import ExKMC
from treemeans.columns import Reader, plain_columns
from treemeans.export.notebook import tree_html
from treemeans.export.svg import tree_svg
from treemeans.tree_layout.text_fitting import one_line
from treemeans.tree_layout.tree_labels import label_tree

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def model():
    return ExKMC(3, max_leaf_nodes=3, random_state=0).fit(load_iris().data)


def svg_of(tree, names=None, cluster_names=None):
    reader = Reader(tree, plain_columns(tree.n_features, names))
    return tree_svg(label_tree(reader, cluster_names))


def words(element):
    return [text.text if text.text else text[0].tail for text in element.iter(f"{SVG}text")]


def test_what_the_picture_holds(model):
    root = ET.fromstring(svg_of(model.tree_, ["a", "b", "c", "d"]))
    assert root.tag == f"{SVG}svg"
    assert set(words(root)) == {
        *("c", "≤ 2.45", "> 2.45", "≤ 5.15", "> 5.15"),
        *("cluster 0", "cluster 1", "cluster 2", "50 rows", "66 rows", "34 rows"),
    }
    assert len(list(root.iter(f"{SVG}rect"))) == 5
    assert len(list(root.iter(f"{SVG}polyline"))) == 4


@pytest.mark.parametrize("start", range(0, len(HOSTILE), 4))
@pytest.mark.parametrize("n_leaves", [6, 20])
def test_names_are_text_and_nothing_else(start, n_leaves):
    names = HOSTILE[start : start + 4]
    svg = svg_of(scattered(n_leaves, n_clusters=4), names, names)
    svg.encode()
    root = ET.fromstring(svg)
    tags = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert tags <= {"svg", "g", "rect", "polyline", "text", "title"}
    keys = {key for element in root.iter() for key in element.attrib}
    assert not any(key.startswith("on") or "href" in key for key in keys)


def test_what_is_shortened_is_told_in_full():
    name = "very " * 30 + "long <name>"
    root = ET.fromstring(svg_of(chain(20), [name] * 4))
    full = {title.text for title in root.iter(f"{SVG}title")}
    assert any(text.startswith(one_line(name)) for text in full)


def test_light_and_dark(model):
    svg = svg_of(model.tree_)
    assert 'fill="currentColor"' in svg
    assert 'stroke="currentColor"' in svg
    inks = set(re.findall(r'(?:fill|stroke)="(.*?)"', svg))
    assert all(ink in ("currentColor", "none") or ink.startswith("#") for ink in inks)


def test_a_fitted_model_shows_its_tree(model):
    html = model._repr_html_()
    assert html.count("<svg") >= 1
    assert 'aria-label="Tree of 3 leaves for 3 clusters"' in html
    assert "x2 &lt;= 2.45: cluster 1 (50 rows)" in html  # the rules as text
    own = BaseEstimator._repr_html_inner(model)
    assert re.sub(r"id-\d+", "", own) in re.sub(r"id-\d+", "", html)
    bundle = model._repr_mimebundle_()
    assert bundle["text/plain"] == repr(model)
    assert "Tree of 3 leaves" in bundle["text/html"]


def test_an_unfitted_model_shows_what_scikit_learn_shows():
    html = ExKMC()._repr_html_()
    assert "Tree of" not in html
    assert "ExKMC" in html


def test_text_display():
    model = ExKMC(2).fit([[0.0], [1.0], [2.0]])
    with config_context(display="text"):
        assert not hasattr(model, "_repr_html_")
        assert set(model._repr_mimebundle_()) == {"text/plain"}


def own_part(model):
    return tree_html(model.tree_, model.columns_, "")


def test_hostile_names_in_a_notebook():
    X = load_iris().data
    names = ["<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "</svg><b>", "\"'&"]
    model = ExKMC(3, max_leaf_nodes=9, random_state=0).fit(X).with_columns(names=names)
    html = model._repr_html_()
    assert "<script>alert" not in html
    assert "<img" not in html
    assert "</svg><b>" not in html
    ET.fromstring(own_part(model))
    assert "<script" not in own_part(model)


def test_only_the_first_sixty_leaves():
    tree = scattered(80)
    columns = plain_columns(4)
    html = tree_html(tree, columns, "\n".join(f"rule {i}" for i in range(600)))
    root = ET.fromstring(html)
    assert any("The first 60 of 80 leaves." in line for line in words(root))
    assert sum(line.startswith("cluster") for line in words(root)) == 60
    assert "rule 499\n... and 100 more lines" in html
    assert "The first" not in tree_html(scattered(60), columns, "")


def test_explanations_and_changes_are_tables():
    X = load_iris().data
    model = ExKMC(3, max_leaf_nodes=4, random_state=0).fit(X)
    model = model.with_columns(names=["<b>a</b>", "b", "c", "d"])
    one = model.explain(X[60])._repr_html_()
    assert one.startswith("<table><caption>Cluster ")
    assert one.count("<tr>") == 1 + len(model.explain(X[60]).steps)
    many = model.explain(X)._repr_html_()
    assert many.count("<tr>") == 1 + 20
    assert "and 130 more rows" in many
    assert "<b>" not in one + many
    change = model.counterfactual(X[60], to=1)
    html = change._repr_html_()
    assert html.count("<tr>") == 1 + change.n_changed
    every = model.counterfactual(X, to=1)._repr_html_()
    assert every.count("<tr>") == 1 + 20
    assert "nothing has to change" in every
    assert "<b>" not in html + every
    none = model.counterfactual(X[60], to=1, allowed=["b"])._repr_html_()
    assert none == "<p><b>No leaf of cluster 1 can be reached by changing only b.</b></p>"
