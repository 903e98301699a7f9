"""A tree as an ONNX graph."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

from treemeans.export.model_or_tree import reader_of
from treemeans.optional_imports import need
from treemeans.split import Split
from treemeans.tree import ThresholdTree

# The oldest versions with thresholds in float64, so that old runtimes read the graph too.
_ML_OPSET, _OPSET, _IR_VERSION = 3, 15, 8


def export_onnx(model: Any, feature_names: Sequence[str] | None = None) -> Any:
    """The tree as an ONNX graph that gives the clusters of ``predict``, row for row.

    The graph has one input, ``X``, a float64 tensor of rows x columns, and one output,
    ``cluster``, an int64 tensor with an entry for each row. It compares in float64, as the tree
    does. The names of the columns are in its metadata, under ``columns``, as JSON. Dates are given
    as the numbers they stand for: days since 1970, unless the model says otherwise; categories as
    their codes. A value that is missing (NaN) takes the side that the split has for it. A graph
    cannot refuse a row: where a split has no such side, the value goes right.

    Parameters
    ----------
    model : fitted model or ThresholdTree
    feature_names : sequence of str, optional
        Names of the columns; by default the model's, or ``x0``, ``x1``, ...

    Returns
    -------
    onnx.ModelProto
        Its ``SerializeToString()`` is what a file with the ending ``.onnx`` holds. Needs the
        package onnx (``pip install "treemeans[onnx]"``).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from treemeans import ExKMC, export_onnx
    >>> model = ExKMC(3, max_leaf_nodes=3, random_state=0).fit(load_iris().data)
    >>> proto = export_onnx(model)
    >>> proto.graph.output[0].name
    'cluster'
    """
    need("onnx", "onnx")
    from onnx import TensorProto, helper, numpy_helper

    reader = reader_of(model, feature_names)
    tree = reader.tree
    nodes = [
        helper.make_node(
            "TreeEnsembleRegressor", ["X"], ["label"], domain="ai.onnx.ml", **_ensemble(tree)
        ),
        helper.make_node("Cast", ["label"], ["whole"], to=TensorProto.INT64),
        helper.make_node("Reshape", ["whole", "one_a_row"], ["cluster"]),
    ]
    graph = helper.make_graph(
        nodes,
        "treemeans",
        [helper.make_tensor_value_info("X", TensorProto.DOUBLE, ["rows", tree.n_features])],
        [helper.make_tensor_value_info("cluster", TensorProto.INT64, ["rows"])],
        [numpy_helper.from_array(np.array([-1], dtype=np.int64), "one_a_row")],
    )
    proto = helper.make_model(
        graph,
        opset_imports=[
            helper.make_opsetid("", _OPSET),
            helper.make_opsetid("ai.onnx.ml", _ML_OPSET),
        ],
        ir_version=_IR_VERSION,
        producer_name="treemeans",
        producer_version=version("treemeans"),
    )
    names = [column.name for column in reader.columns]
    helper.set_model_props(proto, {"columns": json.dumps(names)})
    return proto


def _ensemble(tree: ThresholdTree) -> dict[str, Any]:
    """The attributes of an ensemble of one tree, whose leaves are worth the number of their label.

    A regressor and not a classifier: runtimes read two classes as yes and no, with rules of their
    own. The sum over one tree is the label itself, exact in float32 up to 2^24 clusters.
    """
    from onnx import numpy_helper

    nodes = _Nodes(tree)
    leaves = tree.leaves
    missing = {"nodes_missing_value_tracks_true": nodes.missing_true}
    return (missing if any(nodes.missing_true) else {}) | {
        "nodes_treeids": [0] * len(nodes.modes),
        "nodes_nodeids": list(range(len(nodes.modes))),
        "nodes_featureids": nodes.features,
        "nodes_modes": nodes.modes,
        "nodes_values_as_tensor": numpy_helper.from_array(np.array(nodes.values), "cuts"),
        "nodes_truenodeids": nodes.true_nodes,
        "nodes_falsenodeids": nodes.false_nodes,
        "target_treeids": [0] * len(leaves),
        "target_nodeids": leaves.tolist(),
        "target_ids": [0] * len(leaves),
        "target_weights_as_tensor": numpy_helper.from_array(
            tree.label[leaves].astype(np.float64), "labels"
        ),
        "n_targets": 1,
        "aggregate_function": "SUM",
        "post_transform": "NONE",
    }


class _Nodes:
    """The nodes of the tree as those of the ensemble, which have the same numbers.

    ONNX has no node for a set of categories. The split becomes a chain of nodes that compare the
    column with one code each, all of which lead to the same left child; the first has the number of
    the split, the others are added at the end.
    """

    def __init__(self, tree: ThresholdTree) -> None:
        n = tree.n_nodes
        self.features, self.modes, self.values = [0] * n, ["LEAF"] * n, [0.0] * n
        self.true_nodes, self.false_nodes, self.missing_true = [0] * n, [0] * n, [0] * n
        for node in np.flatnonzero(~tree.is_leaf).tolist():
            self._add(node, tree.split(node), int(tree.left[node]), int(tree.right[node]))

    def _add(self, node: int, split: Split, left: int, right: int) -> None:
        mode = "BRANCH_EQ" if split.is_categorical else "BRANCH_LEQ"
        values = [float(code) for code in split.categories] or [split.threshold]
        first = len(self.modes)
        chain = [node, *range(first, first + len(values) - 1)]
        for entries in (self.features, self.true_nodes, self.false_nodes, self.missing_true):
            entries += [0] * (len(values) - 1)
        self.modes += [mode] * (len(values) - 1)
        self.values += [0.0] * (len(values) - 1)
        for place, value, following in zip(chain, values, [*chain[1:], right], strict=True):
            self.features[place], self.modes[place] = split.feature, mode
            self.values[place] = value
            self.true_nodes[place], self.false_nodes[place] = left, following
            self.missing_true[place] = int(split.missing_left is True)
