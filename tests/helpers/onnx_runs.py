"""ONNX graphs, run as the runtime runs them."""

import pytest


def run(proto, X):
    """The clusters of rows; skips the test where the runtime is missing."""
    onnxruntime = pytest.importorskip("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options)
    (cluster,) = session.run(None, {"X": X})
    return cluster
