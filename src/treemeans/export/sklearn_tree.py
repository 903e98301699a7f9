"""A tree as a decision tree of scikit-learn."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier
from sklearn.tree._tree import NODE_DTYPE, TREE_LEAF, TREE_UNDEFINED, Tree

from treemeans.export.model_or_tree import reader_of
from treemeans.tree import ThresholdTree, parents_first


def export_sklearn(model: Any) -> DecisionTreeClassifier:
    """The tree as a fitted ``DecisionTreeClassifier``, for tools that read those.

    It is the classifier that a fit to the model's own clusters could have given: every leaf is
    sure of its cluster, and inner nodes hold the clusters' shares of the training rows. Nodes keep
    their numbers, so that ``apply`` and ``decision_path`` give what the tree's give.

    Trees of scikit-learn round what they are shown to float32. Therefore:

    - A threshold moves, within its gap, where rounding would carry a training value across it.
      So training rows keep their cluster.
    - Rows of float32 get the cluster that ``predict`` gives, always, but for values between a
      threshold and where it moved.
    - A row of float64 may get another cluster if rounding carries one of its values across a
      threshold: the two are within 6e-8 of each other, relative to their size.
    - Training values on both sides of a cut that are the same in float32 cannot be told apart. A
      warning says how many cuts have such values.

    Missing values take the sides that the tree has for them, and go right where it has none.

    Parameters
    ----------
    model : fitted model or ThresholdTree

    Returns
    -------
    DecisionTreeClassifier

    Raises
    ------
    ValueError
        If the tree splits by sets of categories, which trees of scikit-learn cannot.

    Warns
    -----
    UserWarning
        If training values on both sides of a cut are the same in float32.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from treemeans import ExKMC, export_sklearn
    >>> X = load_iris().data
    >>> model = ExKMC(3, max_leaf_nodes=6, random_state=0).fit(X)
    >>> classifier = export_sklearn(model)
    >>> bool((classifier.predict(X) == model.predict(X)).all())
    True
    """
    tree = reader_of(model).tree
    n_categorical = np.count_nonzero(tree.is_categorical)
    if n_categorical:
        raise ValueError(
            f"{n_categorical} of the tree's {tree.n_leaves - 1} splits ask for a set of "
            "categories, which trees of scikit-learn cannot; export the tree to ONNX, SQL or "
            "Python instead."
        )
    depth = int(tree.depth.max())
    classifier = DecisionTreeClassifier(max_leaf_nodes=max(tree.n_leaves, 2), random_state=0)
    classifier.n_features_in_ = classifier.max_features_ = tree.n_features
    classifier.n_outputs_ = 1
    classifier.classes_ = np.arange(tree.n_clusters)
    classifier.n_classes_ = np.int64(tree.n_clusters)
    if hasattr(model, "feature_names_in_"):
        classifier.feature_names_in_ = model.feature_names_in_
    classifier.tree_ = Tree(tree.n_features, np.array([tree.n_clusters], dtype=np.intp), 1)
    weight, shares = _shares(tree)
    classifier.tree_.__setstate__(
        {
            "max_depth": depth,
            "node_count": tree.n_nodes,
            "nodes": _nodes(tree, weight, shares),
            "values": shares[:, None, :],
        }
    )
    return classifier


def _nodes(
    tree: ThresholdTree, weight: NDArray[np.float64], shares: NDArray[np.float64]
) -> NDArray[np.void]:
    leaf = tree.is_leaf
    nodes = np.zeros(tree.n_nodes, dtype=NODE_DTYPE)
    nodes["left_child"] = np.where(leaf, TREE_LEAF, tree.left)
    nodes["right_child"] = np.where(leaf, TREE_LEAF, tree.right)
    nodes["feature"] = np.where(leaf, TREE_UNDEFINED, tree.feature)
    nodes["threshold"] = np.where(leaf, TREE_UNDEFINED, _thresholds(tree))
    nodes["missing_go_to_left"] = tree.missing_left == 1
    nodes["impurity"] = 1.0 - (shares * shares).sum(axis=1)
    nodes["n_node_samples"] = np.clip(np.rint(weight), 1, 2.0**62)
    nodes["weighted_n_node_samples"] = weight
    return nodes


def _shares(tree: ThresholdTree) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Weight of each node, and the tree's clusters' shares of it.

    Where no rows are known to come to a cut, as in a tree that was made by hand, every leaf counts
    as one row: tools divide by these weights.
    """
    leaves = tree.leaves
    known = tree.weight[0] > 0 and (tree.weight[~tree.is_leaf] > 0).all()
    held = np.zeros((tree.n_nodes, tree.n_clusters))
    held[leaves, tree.label[leaves]] = tree.weight[leaves] if known else 1.0
    for node in reversed(parents_first(tree.left, tree.right)):
        if not tree.is_leaf[node]:
            held[node] = held[tree.left[node]] + held[tree.right[node]]
    weight = held.sum(axis=1)
    held[leaves] = 0.0
    held[leaves, tree.label[leaves]] = 1.0  # also of a leaf without rows
    inner = ~tree.is_leaf
    held[inner] /= weight[inner, None]
    return weight, held


def _thresholds(tree: ThresholdTree) -> NDArray[np.float64]:
    """The thresholds that part the training values as the tree does, once they are float32.

    The rounded values must be on either side: float32(below) <= threshold < float32(above).
    """
    threshold = np.array(tree.threshold)
    inner = np.flatnonzero(np.isfinite(threshold))
    with np.errstate(over="ignore"):  # a value beyond float32 is infinite there
        below, above = tree.gap[inner].astype(np.float32).T
    up = (below < above) & (threshold[inner] < below)
    down = (below < above) & (threshold[inner] >= above)
    threshold[inner[up]] = below[up]
    before = np.nextafter(above[down], np.float32(-np.inf))
    threshold[inner[down]] = np.maximum(before, tree.gap[inner[down], 0])
    lost = np.count_nonzero((below == above) & (tree.gap[inner, 0] < tree.gap[inner, 1]))
    if lost:
        warnings.warn(
            f"{lost} of the tree's {len(inner)} cuts part training values that are the same in "
            "float32, which is all that trees of scikit-learn see: those rows may get another "
            "cluster.",
            UserWarning,
            stacklevel=4,
        )
    return threshold
