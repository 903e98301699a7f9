"""What a user may pass to ExKMC; anything else gets one sentence."""

import numbers
import warnings
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.tree import BaseDecisionTree
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from treemeans.grow.given import from_sklearn
from treemeans.tree import ThresholdTree


def check_parameters(model: Any) -> None:
    """Refuse numbers of clusters and leaves that cannot be, before any work is done."""
    for name in ("n_clusters", "max_leaf_nodes"):
        value = getattr(model, name)
        if value is None:
            continue
        if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < 1:
            raise ValueError(f"{name} must be an integer of at least 1, or None; got {value!r}.")
    if model.n_clusters is None and model.reference is None:
        raise ValueError("n_clusters=None takes the number from a reference; pass either.")
    if model.n_clusters is not None:
        check_max_leaves(model.max_leaf_nodes, model.n_clusters, None)


def check_max_leaves(
    max_leaf_nodes: int | None, n_clusters: int, base_tree: str | ThresholdTree | None
) -> int:
    """The number of leaves to grow to."""
    base_leaves = base_tree.n_leaves if isinstance(base_tree, ThresholdTree) else 1
    if max_leaf_nodes is None:
        return max(2 * n_clusters, base_leaves)
    if max_leaf_nodes < n_clusters:
        raise ValueError(
            f"max_leaf_nodes={max_leaf_nodes} is less than n_clusters={n_clusters}; "
            "a tree needs a leaf for every cluster."
        )
    if max_leaf_nodes < base_leaves:
        raise ValueError(
            f"max_leaf_nodes={max_leaf_nodes}, but base_tree already has {base_leaves} leaves."
        )
    return int(max_leaf_nodes)


def check_base_tree(base_tree: Any, n_features: int) -> str | ThresholdTree:
    """``"imm"``, ``"none"``, or a tree for tables of ``n_features`` columns."""
    if isinstance(base_tree, str) and base_tree in ("imm", "none"):
        return base_tree
    if isinstance(base_tree, FrozenEstimator):
        base_tree = base_tree.estimator
    if isinstance(base_tree, BaseDecisionTree):
        check_is_fitted(base_tree)
        base_tree = from_sklearn(base_tree)
    if not isinstance(base_tree, ThresholdTree):
        raise ValueError(
            'base_tree must be "imm", "none", a ThresholdTree or a fitted decision tree of '
            f"scikit-learn; got {base_tree!r}."
        )
    if base_tree.n_features != n_features:
        raise ValueError(
            f"base_tree was made for {base_tree.n_features} columns, but X has {n_features}."
        )
    return base_tree


def check_weights(X: Any, sample_weight: Any) -> NDArray[np.float64] | None:
    """Weights that are finite, not negative and not all zero; or None."""
    if sample_weight is None:
        return None
    weights: NDArray[np.float64] = _check_sample_weight(
        sample_weight, X, dtype=np.float64, ensure_non_negative=True
    )
    if not weights.any():
        raise ValueError("sample_weight is zero for every row, so there is nothing to cluster.")
    return np.ascontiguousarray(weights)


def check_enough_rows(n_rows: int, n_clusters: int) -> None:
    """As many rows as clusters."""
    if n_rows < n_clusters:
        raise ValueError(f"n_samples={n_rows} should be >= n_clusters={n_clusters}.")


def refuse_not_finite(X: Any) -> NoReturn:
    """Say, in scikit-learn's words, what X holds that is no number."""
    assert_all_finite(X.data if sparse.issparse(X) else X, input_name="X")
    raise ValueError("Input X contains NaN or infinity.")


def warn_if_empty(nearest: NDArray[np.int32], n_clusters: int) -> None:
    """Some reference centers are nearest to no row, as when there are too few distinct rows."""
    occupied = int(np.count_nonzero(np.bincount(nearest)))
    if occupied < n_clusters:
        warnings.warn(
            f"Only {occupied} of the {n_clusters} reference centers are nearest to any row; "
            "the other clusters are empty.",
            ConvergenceWarning,
            stacklevel=4,
        )
