"""scikit-learn's decision tree with 2k leaves on the reference labels: the rival of ``predict``."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray
from problems import Table
from sklearn.metrics import pairwise_distances_argmin
from sklearn.tree import DecisionTreeClassifier

# Growing it is not timed, and so many rows are enough to give 2k leaves their shape.
ROWS = 20_000


def prepare(X: Table) -> Table:
    """Return X as it is: dense or sparse."""
    return X


def fit(X: Table, k: int, centers: NDArray[Any], threads: int) -> DecisionTreeClassifier:
    """Grow the tree on the first rows of X, each labelled by its nearest center."""
    some = X[:ROWS]
    tree = DecisionTreeClassifier(max_leaf_nodes=2 * k, random_state=0)
    return tree.fit(some, pairwise_distances_argmin(some, centers))


def labels(model: DecisionTreeClassifier, X: Table) -> NDArray[Any]:
    """Return the cluster of each row of X."""
    return model.predict(X)
