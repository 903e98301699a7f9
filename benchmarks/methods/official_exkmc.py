"""The official package, ExKMC 0.0.3: dense float64 input, a fitted k-means object."""

from __future__ import annotations

from typing import Any

import numpy as np
from ExKMC.Tree import Tree
from numpy.typing import NDArray
from problems import Table
from scipy import sparse
from sklearn.metrics import pairwise_distances_argmin


class GivenCenters:
    """The part of a fitted KMeans that the official package reads."""

    def __init__(self, centers: NDArray[Any]) -> None:
        self.cluster_centers_ = centers
        self.n_clusters = len(centers)

    def predict(self, X: NDArray[Any]) -> NDArray[Any]:
        """Return the nearest center of each row."""
        return pairwise_distances_argmin(X, self.cluster_centers_)


def prepare(X: Table) -> NDArray[Any]:
    """Return X as a dense float64 array."""
    return np.ascontiguousarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)


def fit(X: NDArray[Any], k: int, centers: NDArray[Any], threads: int) -> Tree:
    """Build the tree."""
    return Tree(k=k, max_leaves=2 * k, n_jobs=threads).fit(X, GivenCenters(centers))


def labels(model: Tree, X: NDArray[Any]) -> NDArray[Any]:
    """Return the cluster of each row of X."""
    return model.predict(X).astype(np.intp)
