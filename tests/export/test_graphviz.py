"""export_graphviz: DOT that Graphviz reads as it is meant."""

import re
import shutil
import subprocess
import xml.etree.ElementTree as ET

import pytest
from sklearn.datasets import load_iris

from tests.helpers.mutable_trees import HOSTILE, SHAPES, scattered
from treemeans import ExKMC, export_graphviz
from treemeans.tree_layout.text_fitting import one_line

needs_dot = pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
QUOTED = r'"(?:[^"\\]|\\.)*"'
VALUE = rf"(?:{QUOTED}|[\w.+-]+)"
ATTRIBUTES = rf"\[\w+={VALUE}(?:, \w+={VALUE})*\]"
STATEMENT = re.compile(rf"  (?:(?:graph|node|edge|n\d+|n\d+ -> n\d+) {ATTRIBUTES}|label={QUOTED});")


def unquoted(label):
    """Lines of a quoted label as Graphviz shows them."""
    text = re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], label[1:-1])
    return text.replace("&amp;", "&").split("\n")


def labels(dot, of):
    """Labels of the nodes (``n\\d+``) or the edges."""
    return [
        unquoted(found) for found in re.findall(rf"^  {of} \[label=({QUOTED})", dot, re.MULTILINE)
    ]


@pytest.mark.parametrize("shape", SHAPES)
def test_every_line_is_a_statement(shape):
    dot = export_graphviz(shape(20), HOSTILE[:4], cluster_names=HOSTILE[:5])
    first, *lines, last, end = dot.split("\n")
    assert (first, last, end) == ("digraph tree {", "}", "")
    assert all(STATEMENT.fullmatch(line) for line in lines)
    assert len(labels(dot, r"n\d+")) == 39
    assert len(labels(dot, r"n\d+ -> n\d+")) == 38


def test_names_come_back():
    tree = scattered(30, n_features=len(HOSTILE), n_clusters=len(HOSTILE))
    dot = export_graphviz(tree, HOSTILE, cluster_names=HOSTILE)
    dot.encode()
    names = labels(dot, r"n\d+")
    for node in range(tree.n_nodes):
        if tree.is_leaf[node]:
            cluster = tree.label[node]
            expected = one_line(HOSTILE[cluster]) or f"cluster {cluster}"
            rows = tree.weight[node]
            assert names[node] == [expected, f"{rows:,.0f} row{'' if rows == 1 else 's'}"]
        else:
            assert names[node] == [one_line(HOSTILE[tree.feature[node]])]


def test_a_model():
    iris = load_iris(as_frame=True).data
    model = ExKMC(3, max_leaf_nodes=8, random_state=0).fit(iris)
    dot = export_graphviz(model, max_leaves=3)
    assert '  label="The first 3 of 8 leaves.";' in dot
    assert labels(dot, r"n\d+")[0] == ["petal length (cm)"]
    assert labels(dot, r"n0 -> n\d+") == [[" ≤ 2.45 "], [" > 2.45 "]]


def drawn(dot):
    done = subprocess.run(
        ["dot", "-Tsvg"], input=dot.encode(), capture_output=True, check=True, timeout=60
    )
    # Quartz fonts and the like may be missing; anything else on stderr would be ours.
    assert b"syntax" not in done.stderr
    root = ET.fromstring(done.stdout)
    return [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]


@needs_dot
def test_graphviz_shows_the_names():
    tree = scattered(30, n_features=len(HOSTILE), n_clusters=len(HOSTILE), seed=1)
    texts = drawn(export_graphviz(tree, HOSTILE, cluster_names=HOSTILE))
    shown = {" ".join((text or "").split()) for text in texts}
    cut = set(tree.feature[~tree.is_leaf].tolist())
    assert len(cut) > 6
    for feature in cut:
        assert one_line(HOSTILE[feature]) in shown | {""}


@needs_dot
@pytest.mark.parametrize("name", ["\\", "\\\\", 'a\\"b', "&amp;", "&", "\\N", "\\G", "<b>x</b>"])
def test_graphviz_reads_what_it_might_take_for_a_command(name):
    tree = scattered(2)
    assert name in drawn(export_graphviz(tree, [name] * 4))
