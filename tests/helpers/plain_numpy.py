"""Shared by the tests of the estimator: plain numpy to compare with, and things to start from."""

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from treemeans import ThresholdTree

PATH_FIELDS = ("n_leaves", "surrogate_cost", "kmeans_cost", "ratio", "accuracy")
FLOATS = (
    "inertia_",
    "surrogate_inertia_",
    "reference_inertia_",
    "feature_importances_",
    "cluster_centers_",
    "cluster_profiles_",
    "reference_centers_",
)


def squared_distances(X, centers):
    return ((X[:, None, :] - centers[None, :, :]) ** 2).sum(axis=2)


def cluster_means(X, labels, weights, fallback):
    means = fallback.copy()
    for cluster in range(len(means)):
        rows = (labels == cluster) & (weights > 0)
        if rows.any():
            means[cluster] = np.average(X[rows], axis=0, weights=weights[rows])
    return means


def cost_to(X, labels, centers, weights):
    return float(weights @ ((X - centers[labels]) ** 2).sum(axis=1))


def leaf_of(tree, X):
    """Leaf of each row, step by step."""
    node = np.zeros(len(X), dtype=int)
    for _ in range(tree.n_nodes):
        inner = tree.feature[node] >= 0
        if not inner.any():
            return node
        at = node[inner]
        below = X[inner, tree.feature[at]] <= tree.threshold[at]
        node[inner] = np.where(below, tree.left[at], tree.right[at])
    raise AssertionError("the tree has a cycle")


def same_partition(a, b):
    """Whether two labellings part the rows in the same way, whatever the labels are called."""
    pairs = len(np.unique(np.column_stack([a, b]), axis=0))
    return pairs == len(np.unique(a)) == len(np.unique(b))


def column(*values):
    """A table of one column."""
    return np.array(values, dtype=np.float64)[:, None]


def dense(X):
    return (X.toarray() if sparse.issparse(X) else np.asarray(X)).astype(np.float64)


def random_weights(n, seed=0):
    """From 0 to 3, a quarter of them zero."""
    rng = np.random.default_rng(seed)
    return np.where(rng.random(n) < 0.25, 0.0, 3.0 * rng.random(n))


def assert_same_model(model, other):
    assert model.tree_ == other.tree_  # bit for bit
    assert model.n_leaves_ == other.n_leaves_
    assert model.labels_.tolist() == other.labels_.tolist()
    assert model.reference_labels_.tolist() == other.reference_labels_.tolist()
    for name in FLOATS:
        np.testing.assert_allclose(
            getattr(model, name), getattr(other, name), rtol=1e-10, atol=1e-12, err_msg=name
        )
    for name in PATH_FIELDS:
        np.testing.assert_allclose(
            model.path_[name], other.path_[name], rtol=1e-10, err_msg=f"path_[{name}]"
        )


def a_tree():
    """Some tree on Iris's columns with five leaves; not one that any search would find."""
    return ThresholdTree(
        feature=[1, 0, 0, 3, -1, -1, -1, -1, -1],
        threshold=[3.0, 5.5, 6.0, 1.0, 0, 0, 0, 0, 0],
        left=[1, 3, 4, 5, -1, -1, -1, -1, -1],
        right=[2, 7, 8, 6, -1, -1, -1, -1, -1],
        label=[0] * 9,
        n_features=4,
    )


def scaled_pca():
    return make_pipeline(StandardScaler(), PCA(2), KMeans(3, n_init=3, random_state=0))


def assert_same_centers(centers, others):
    """The same centers, in whatever order."""
    np.testing.assert_allclose(np.sort(centers, axis=0), np.sort(others, axis=0), rtol=1e-9)
