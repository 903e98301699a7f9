"""ONNX graphs: they give the clusters of predict, in a runtime that is not ours."""

import json
import sys

import numpy as np
import pytest
from hypothesis import given
from sklearn.datasets import load_iris

import treemeans
from tests.helpers.examples import examples
from tests.helpers.onnx_runs import run
from tests.helpers.random_trees import random_tree, rows_near, trees
from treemeans import ExKMC, ThresholdTree, export_onnx

onnx = pytest.importorskip("onnx")
pytestmark = pytest.mark.usefixtures("one_thread")


@examples(80)
@given(trees())
def test_the_clusters_of_predict_at_thresholds_and_next_to_them(problem):
    tree, rng = problem
    X = rows_near(tree, rng)
    proto = export_onnx(tree)
    onnx.checker.check_model(proto, full_check=True)
    found = run(proto, X)
    assert found.dtype == np.int64
    assert found.tolist() == tree.predict(X).tolist()


def test_two_clusters_are_not_read_as_yes_and_no():
    for labels in ([0, 0, 1], [0, 1, 0], [0, 1, 1], [0, 0, 0]):
        tree = ThresholdTree(
            [0, -1, -1], [0.5, 0, 0], [1, -1, -1], [2, -1, -1], labels, 1, costs=np.zeros((3, 2))
        )
        assert run(export_onnx(tree), np.array([[0.5], [0.6]])).tolist() == labels[1:]


@pytest.mark.parametrize("n_rows", [0, 1, 20_000])
def test_any_number_of_rows(n_rows):
    rng = np.random.default_rng(0)
    tree = random_tree(rng, 30, 3, 5)
    X = rows_near(tree, rng, n_rows)
    found = run(export_onnx(tree), X)
    assert found.shape == (n_rows,)
    assert n_rows == 0 or found.tolist() == tree.predict(X).tolist()


def test_a_thousand_leaves():
    rng = np.random.default_rng(0)
    tree = random_tree(rng, 1000, 20, 50)
    X = rows_near(tree, rng, 5000)
    proto = export_onnx(tree)
    assert proto.ByteSize() < 100_000
    assert run(proto, X).tolist() == tree.predict(X).tolist()


def test_of_a_model():
    X = load_iris().data
    model = ExKMC(3, max_leaf_nodes=8, random_state=0).fit(X)
    proto = model.to_onnx()
    assert run(proto, X).tolist() == model.labels_.tolist()
    small = model.with_leaves(4)
    assert run(small.to_onnx(), X).tolist() == small.labels_.tolist()


def test_ports_and_metadata():
    names = ["größe", 'a "b"\n', "<img src=x onerror=alert(1)>", "\U0001f377"]
    tree = random_tree(np.random.default_rng(0), 5, 4, 3)
    proto = export_onnx(tree, names)
    (X,), (cluster,) = proto.graph.input, proto.graph.output
    assert (X.name, cluster.name) == ("X", "cluster")
    assert X.type.tensor_type.elem_type == onnx.TensorProto.DOUBLE
    assert [d.dim_value for d in X.type.tensor_type.shape.dim][1] == 4
    assert cluster.type.tensor_type.elem_type == onnx.TensorProto.INT64
    assert (proto.producer_name, proto.producer_version) == ("treemeans", treemeans.__version__)
    assert {p.key: json.loads(p.value) for p in proto.metadata_props} == {"columns": names}
    again = onnx.load_from_string(proto.SerializeToString())
    assert again == proto


def test_names_of_a_model_are_its_columns():
    model = ExKMC(3, random_state=0).fit(load_iris().data)
    model = model.with_columns(names=[f"c{i}" for i in range(4)])
    (columns,) = model.to_onnx().metadata_props
    assert json.loads(columns.value) == [f"c{i}" for i in range(4)]


def test_without_onnx_one_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    tree = random_tree(np.random.default_rng(0), 5, 4, 3)
    with pytest.raises(ImportError) as caught:
        export_onnx(tree)
    expected = 'This needs onnx; install it with `pip install "treemeans[onnx]"`.'
    assert str(caught.value) == expected
