"""CART on the reference's labels: scikit-learn's decision tree, as a base tree."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from treemeans.costs import CostTable
from treemeans.grow.given import from_sklearn
from treemeans.limits import Limits
from treemeans.tree import ThresholdTree


def cart(
    X: Any,
    costs: CostTable,
    weights: NDArray[np.float64] | None,
    n_leaves: int,
    limits: Limits,
    allowed: NDArray[np.bool_],
) -> ThresholdTree:
    """The cuts of a Gini decision tree that predicts each row's nearest center.

    Parameters
    ----------
    X : array or sparse matrix; scikit-learn reads it as float32
    costs : of the rows; their nearest centers are what is predicted
    weights : of the rows, None where all are 1
    n_leaves : at most so many leaves; the most impure is cut first
    limits : depth and weight of a leaf bind here; `follow` sees to the prices
    allowed : features that may be cut
    """
    share = limits.min_weight / costs.total_weight
    if n_leaves < 2 or share > 0.5 or limits.max_depth == 0 or not allowed.any():
        return _one_leaf(X.shape[1])
    features = np.flatnonzero(allowed)
    classifier = DecisionTreeClassifier(
        max_leaf_nodes=n_leaves,
        max_depth=limits.max_depth,
        min_samples_leaf=limits.min_weight if weights is None else 1,
        # A hair less, so that rounding does not refuse a leaf of just that weight.
        min_weight_fraction_leaf=0.0 if weights is None else share * (1.0 - 1e-9),
        random_state=0,
    )
    classifier.fit(X if allowed.all() else X[:, features], costs.nearest, weights)
    tree = from_sklearn(classifier)
    return replace(
        tree,
        feature=np.where(tree.is_leaf, -1, features[tree.feature]),
        n_features=X.shape[1],
        growth=_growth(tree),
    )


def _growth(tree: ThresholdTree) -> NDArray[np.int32]:
    """The order of the cuts: scikit-learn numbers the children of a node when it cuts it."""
    growth = np.zeros(tree.n_nodes, dtype=np.int32)
    inner = np.flatnonzero(~tree.is_leaf)
    growth[inner[np.argsort(tree.left[inner])]] = np.arange(2, len(inner) + 2)
    return growth


def _one_leaf(n_features: int) -> ThresholdTree:
    none = np.array([-1])
    return ThresholdTree(none, np.array([np.nan]), none, none, np.array([0]), n_features)
