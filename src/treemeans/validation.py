"""What a user may pass to ExKMC; anything else is refused with one sentence."""

import math
import numbers
import warnings
from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.tree import BaseDecisionTree
from sklearn.utils import assert_all_finite, check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from treemeans.columns.group_column import MISSING
from treemeans.costs import COST_KINDS, SMALLEST, TOO_SMALL
from treemeans.growth.base_tree import BASE_TREES
from treemeans.growth.given_tree import from_sklearn
from treemeans.preparation import SCALES
from treemeans.renamed_parameters import given
from treemeans.tree import ThresholdTree
from treemeans.warning_level import depth_in_package

_WIDEST_PROOF = 1e15  # largest by smallest weight
_SMALLEST_WEIGHT = 1e-300
_SMALLEST32, _LARGEST32 = 1e-8, 1e37
"""Value, and sum of squares, that floats of 32 bits are enough for."""
REFINEMENTS = ("none", "local", "search", "optimal")
REFERENCES = ("fast", "kmeans")
COSTS = ("auto", *(kind for kind in COST_KINDS if kind not in ("mixture", "table")))
NOISE = ("ignore", "cluster")
DEFAULT_CLUSTERS = 8
"""Number of clusters that k-means looks for where nobody names one, as in scikit-learn."""


def check_parameters(model: Any) -> None:
    """Refuse invalid parameters before any work is done."""
    for name in ("n_clusters", "max_leaf_nodes", "max_depth", "max_categories", "n_random_trees"):
        value = given(model, name)
        if value is None and name != "n_random_trees":
            continue
        if not is_integer(value) or value < 1:
            or_none = "" if name == "n_random_trees" else ", or None"
            raise ValueError(f"{name} must be an integer of at least 1{or_none}; got {value!r}.")
    check_cost(model.cost)
    if not isinstance(model.noise, str) or model.noise not in NOISE:
        raise ValueError(f"noise must be one of {quoted(NOISE)}; got {model.noise!r}.")
    by_name = isinstance(model.cost, str) and is_named_reference(model.reference)
    n_clusters = DEFAULT_CLUSTERS if by_name and model.n_clusters is None else model.n_clusters
    if n_clusters is not None:
        check_max_leaves(model.max_leaf_nodes, n_clusters, None)
    if not isinstance(model.refine, str) or model.refine not in REFINEMENTS:
        raise ValueError(f"refine must be one of {quoted(REFINEMENTS)}; got {model.refine!r}.")
    if not isinstance(model.scale, str) or model.scale not in SCALES:
        raise ValueError(f"scale must be one of {quoted(SCALES)}; got {model.scale!r}.")
    if not isinstance(model.round_thresholds, bool | np.bool_):
        raise ValueError(f"round_thresholds must be True or False; got {model.round_thresholds!r}.")
    _check_effort(given(model, "search_rounds"), model.max_time)
    _check_min_samples_leaf(model.min_samples_leaf)
    check_cluster_sizes(model.min_cluster_size, model.max_cluster_size)
    check_balance(model.balance)
    check_protected(model.protected)
    if model.refine == "optimal" and any(
        each is not None for each in (model.min_cluster_size, model.max_cluster_size, model.balance)
    ):
        raise ValueError(
            'refine="optimal" cannot prove trees with limits on clusters; use refine="search".'
        )


def _check_effort(rounds: Any, max_time: Any) -> None:
    if rounds is not None and (not is_integer(rounds) or rounds < 0):
        raise ValueError(
            f"search_rounds must be an integer of at least 0, or None; got {rounds!r}."
        )
    if max_time is not None and not (is_number(max_time) and max_time >= 0):
        raise ValueError(f"max_time must be a number of seconds, or None; got {max_time!r}.")


def _check_min_samples_leaf(least: Any) -> None:
    if not (is_number(least) and (0 < least < 1 or least >= 1)):
        raise ValueError(
            "min_samples_leaf must be a number of rows of at least 1, or a share of them between "
            f"0 and 1; got {least!r}."
        )


def check_cost(cost: Any) -> None:
    """Refuse texts that name no cost, and what can be no table of costs."""
    unnamed = isinstance(cost, str) and cost not in COSTS
    if unnamed or cost is None or isinstance(cost, bool | numbers.Number | type):
        raise ValueError(
            f"cost must be one of {quoted(COSTS)}, a table of costs (n_samples, n_clusters), or a "
            f"function of X that makes one; got {cost!r}."
        )


def check_cluster_sizes(least: Any, most: Any) -> None:
    """Refuse values that are not sizes of clusters."""
    for name, size in (("min_cluster_size", least), ("max_cluster_size", most)):
        if size is not None and not (is_number(size) and size > 0):
            raise ValueError(
                f"{name} must be a number of rows of at least 1, a share of them between 0 and 1, "
                f"or None; got {size!r}."
            )
    same_form = least is not None and most is not None and (least < 1) == (most < 1)
    if same_form and least > most:
        raise ValueError(
            f"min_cluster_size={least!r} is more than max_cluster_size={most!r}; no cluster can be "
            "both."
        )


def check_balance(balance: Any) -> list[tuple[Any, Any, float, float]]:
    """The bounds on shares: column, value (None for all values), least and largest share."""
    if balance is None:
        return []
    if not isinstance(balance, Mapping):
        raise ValueError(
            'balance must be a dict like {"gender": (0.3, 0.7)} or {"gender": {"f": (0.3, 0.7)}}; '
            f"got {balance!r}."
        )
    found: list[tuple[Any, Any, float, float]] = []
    for column, bounds in balance.items():
        if isinstance(bounds, Mapping):
            for value, each in bounds.items():
                named = MISSING if value is None else value
                found.append((column, named, *_shares(column, each)))
        else:
            found.append((column, None, *_shares(column, bounds)))
    return found


def _shares(column: Any, bounds: Any) -> tuple[float, float]:
    """The two shares of a bound."""
    pair = list(bounds) if isinstance(bounds, Iterable) and not isinstance(bounds, str) else []
    if len(pair) != 2 or not all(is_number(share) for share in pair):
        raise ValueError(
            f"balance of {column!r} must be two shares, the least and the largest, like "
            f"(0.3, 0.7); got {bounds!r}."
        )
    low, high = float(pair[0]), float(pair[1])
    if not 0 <= low <= high <= 1:
        raise ValueError(
            f"balance of {column!r}: shares must be between 0 and 1, the least first; got "
            f"({pair[0]!r}, {pair[1]!r})."
        )
    return low, high


def check_protected(protected: Any) -> list[Any]:
    """The protected columns, by name or number."""
    if protected is None:
        return []
    if isinstance(protected, str) or not isinstance(protected, Iterable):
        raise ValueError(f"protected must be a list of columns; got {protected!r}.")
    return list(protected)


def without_protected(
    allowed: NDArray[np.bool_] | None,
    protected: list[Any],
    n_features: int,
    names: NDArray[Any] | None,
) -> NDArray[np.bool_] | None:
    """The features that may be cut, less those that are protected; others are not in X."""
    mask = np.ones(n_features, dtype=bool) if allowed is None else allowed.copy()
    for column in protected:
        known = names is not None and column in names.tolist()
        if known or not isinstance(column, str):
            mask[_position(column, n_features, names, "protected")] = False
    if mask.all():
        return allowed
    if not mask.any():
        raise ValueError("Every feature that may be cut is protected, so there is nothing to cut.")
    return mask


def is_integer(value: Any) -> bool:
    """Whether a value is a whole number and not a boolean."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Whether a value is a finite number and not a boolean."""
    return (
        isinstance(value, numbers.Real)
        and not isinstance(value, bool)
        and math.isfinite(float(value))
    )


def quoted(names: tuple[str, ...]) -> str:
    """Names in a row, each in quotation marks."""
    return ", ".join(f'"{name}"' for name in names)


def tree_seed(random_state: Any) -> int:
    """Seed of the tree's own randomness; without a random state, always the same."""
    if random_state is None:
        return 0
    return int(check_random_state(random_state).randint(2**31 - 1))


def check_allowed_features(
    allowed: Any, n_features: int, names: NDArray[Any] | None
) -> NDArray[np.bool_] | None:
    """For each feature, whether it may be cut; None where all may."""
    if allowed is None:
        return None
    if not isinstance(allowed, Iterable):
        raise ValueError(f"allowed_features must be a list of features or a mask; got {allowed!r}.")
    entries = [allowed] if isinstance(allowed, str) else list(allowed)
    if len(entries) == n_features and all(isinstance(entry, bool | np.bool_) for entry in entries):
        mask = np.array(entries, dtype=bool)
    else:
        mask = np.zeros(n_features, dtype=bool)
        for entry in entries:
            mask[_position(entry, n_features, names, "allowed_features")] = True
    if not mask.any():
        raise ValueError("allowed_features allows no feature, so there is nothing to cut.")
    return mask


def check_feature_costs(
    costs: Any, n_features: int, names: NDArray[Any] | None
) -> NDArray[np.float64] | None:
    """The price of a cut on each feature; None where all are free."""
    if costs is None:
        return None
    by_feature = isinstance(costs, Mapping)
    prices = _numbers(list(costs.values()) if by_feature else costs)
    if by_feature and prices.shape == (len(costs),):
        places = [_position(feature, n_features, names, "feature_costs") for feature in costs]
        given, prices = prices, np.zeros(n_features)
        prices[places] = given
    if prices.shape != (n_features,) or not np.all(np.isfinite(prices) & (prices >= 0)):
        raise ValueError(
            f"feature_costs must be a dict or an array of {n_features} finite costs, none of them "
            "negative."
        )
    return prices if prices.any() else None


def _numbers(values: Any) -> NDArray[np.float64]:
    """An array of its own; of something else than numbers, NaN."""
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        return np.array(np.nan)


def _position(feature: Any, n_features: int, names: NDArray[Any] | None, where: str) -> int:
    """Column of a feature that is given by name or number."""
    if isinstance(feature, str):
        found = [] if names is None else np.flatnonzero(names == feature).tolist()
        if not found:
            known = "X has no feature names" if names is None else "X has no feature of that name"
            raise ValueError(f"{where} names {feature!r}, but {known}.")
        return int(found[0])
    if not is_integer(feature) or not -n_features <= feature < n_features:
        raise ValueError(
            f"{where} must hold names of features or numbers below {n_features}; got {feature!r}."
        )
    return int(feature) % n_features


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
            f"max_leaf_nodes={max_leaf_nodes}, but base_tree already has {base_leaves} leaves; "
            "raise max_leaf_nodes, or give a smaller tree."
        )
    return int(max_leaf_nodes)


def check_base_tree(base_tree: Any, n_features: int) -> str | ThresholdTree:
    """The name of a base tree, or a tree for tables of ``n_features`` columns."""
    if isinstance(base_tree, str) and base_tree in BASE_TREES:
        return base_tree
    if isinstance(base_tree, FrozenEstimator):
        base_tree = base_tree.estimator
    if isinstance(base_tree, BaseDecisionTree):
        check_is_fitted(base_tree)
        base_tree = from_sklearn(base_tree)
    if not isinstance(base_tree, ThresholdTree):
        raise ValueError(
            f"base_tree must be one of {quoted(BASE_TREES)}, a ThresholdTree or a fitted decision "
            f"tree of scikit-learn; got {base_tree!r}."
        )
    if base_tree.n_features != n_features:
        raise ValueError(
            f"base_tree was made for {base_tree.n_features} columns, but X has {n_features}."
        )
    return base_tree


def is_named_reference(reference: Any) -> bool:
    """Whether it stands for k-means fitted here: None or a name. Refuse any other text."""
    if isinstance(reference, str) and reference not in REFERENCES:
        raise ValueError(
            f"reference must be one of {quoted(REFERENCES)}, a clusterer, a Pipeline that ends in "
            f"one, one label for each row, or an array of centers; got {reference!r}."
        )
    return reference is None or isinstance(reference, str)


def check_weights(X: Any, sample_weight: Any) -> NDArray[np.float64] | None:
    """Weights that are finite, not negative and not all zero; or None."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, np.ma.MaskedArray) and np.ma.is_masked(sample_weight):
        raise ValueError("sample_weight is a masked array; put 0 for what is masked.")
    if isinstance(sample_weight, np.ndarray) and sample_weight.dtype.kind == "c":
        raise ValueError("Complex data not supported: sample_weight holds complex numbers.")
    weights: NDArray[np.float64] = _check_sample_weight(
        sample_weight, X, dtype=np.float64, ensure_non_negative=True
    )
    if not weights.any():
        raise ValueError("sample_weight is zero for every row, so there is nothing to cluster.")
    with np.errstate(over="ignore"):
        total = float(weights.sum())
    if not math.isfinite(total) or weights.max() < _SMALLEST_WEIGHT:
        what = "smaller" if math.isfinite(total) else "larger"
        raise ValueError(
            f"The sample weights, of which the largest is {weights.max():g}, add up to a number "
            f"{what} than floats can hold precisely. Multiply all of them by a constant."
        )
    return np.ascontiguousarray(weights)


def check_weights_of_proof(weights: NDArray[np.float64] | None) -> None:
    """Refuse weights so far apart that fixed point, in which trees are proven, loses rows."""
    used = np.zeros(0) if weights is None else weights[weights > 0]
    if len(used) and used.max() / _WIDEST_PROOF > used.min():
        raise ValueError(
            f"sample_weight ranges from {used.min():g} to {used.max():g}, too far for "
            'refine="optimal" to prove a tree; use refine="search".'
        )


def check_some_weight(weights: NDArray[np.float64] | None) -> None:
    """Refuse weights that are 0 for every row that is not noise."""
    if weights is not None and not weights.any():
        raise ValueError("Every row with a weight is noise, so there is nothing to cluster.")


def check_not_tiny(X: Any) -> None:
    """Refuse rows whose squared distances would underflow. A few rows tell of most tables."""
    some = X[:: max(1, X.shape[0] // 32)]
    if 0.0 < _largest(some) < SMALLEST and _largest(X) < SMALLEST:
        raise ValueError(TOO_SMALL)


def with_room_for_squares(X: Any) -> Any:
    """The rows; in 64 bits if sums of their squares overflow, or lose digits, in 32."""
    if X.dtype != np.float32:
        return X
    largest = _largest(X)
    n_values = X.nnz if sparse.issparse(X) else X.size
    if largest == 0.0 or (largest > _SMALLEST32 and largest**2 * n_values < _LARGEST32):
        return X
    return X.astype(np.float64)


def _largest(X: Any) -> float:
    values = X.data if sparse.issparse(X) else X
    if not values.size:
        return 0.0
    return max(float(values.max()), -float(values.min()))


def check_enough_rows(n_rows: int, n_clusters: int) -> None:
    """Refuse fewer rows than clusters."""
    if n_rows < n_clusters:
        raise ValueError(f"n_samples={n_rows} should be >= n_clusters={n_clusters}.")


def refuse_not_finite(X: Any) -> NoReturn:
    """Say, in scikit-learn's words, what X holds that is no number."""
    assert_all_finite(X.data if sparse.issparse(X) else X, input_name="X")
    raise ValueError("Input X contains NaN or infinity.")


def refuse_training_rows(X: Any) -> NoReturn:
    """Say what a table of training rows holds that is no number, and where it is first missing."""
    if not sparse.issparse(X) and np.isnan(X).any():
        row, column = np.argwhere(np.isnan(X))[0]
        raise ValueError(
            f"Input X contains NaN (first in row {row}, column {column}); fill it in, or pass a "
            "data frame, whose values may be missing."
        )
    refuse_not_finite(X)


def refuse_no_table(X: Any) -> None:
    """Refuse what looks like a table and is not one, before scikit-learn makes numbers of it."""
    name = type(X).__name__
    if name == "LazyFrame":
        raise ValueError("X is a LazyFrame, which holds no rows yet; pass X.collect().")
    if X is None or isinstance(X, Set | Iterator):
        raise ValueError(
            f"X is {'None' if X is None else f'a {name}'}; pass an array or data frame."
        )
    if isinstance(X, np.ndarray | sparse.sparray | sparse.spmatrix) and X.dtype.kind == "c":
        raise ValueError("Complex data not supported: X holds complex numbers.")
    if isinstance(X, Mapping) and not sparse.issparse(X):  # as a DOK matrix is
        raise ValueError("X is a dict; pass a data frame, for example pandas.DataFrame(X).")
    if isinstance(X, list | tuple) and X and isinstance(X[0], Mapping):
        raise ValueError(
            "X is a list of dicts; pass a data frame, for example pandas.DataFrame(X)."
        )
    if isinstance(X, np.ndarray) and X.dtype.names is not None:
        raise ValueError(
            "X is an array of records; pass a data frame, for example pandas.DataFrame(X)."
        )
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        raise ValueError(
            "X is a masked array; put NaN for what is masked, X.filled(numpy.nan), and pass a data "
            "frame, whose values may be missing."
        )
    if hasattr(X, "columns") and len(getattr(X, "shape", ())) == 2 and not X.shape[1]:
        raise ValueError("The table has no columns; pass one that has some.")


def refuse_text(X: Any, error: ValueError) -> None:
    """Say what to do with an array of text, of which scikit-learn could make no numbers."""
    if "could not convert string to float" in str(error) and not hasattr(X, "columns"):
        raise ValueError(
            "X holds text, and an array must hold numbers; pass a data frame, whose columns may "
            "hold text too."
        ) from error


def warn_if_empty(nearest: NDArray[np.int32], n_clusters: int) -> None:
    """Warn if reference centers are nearest to no row, as when there are too few distinct rows."""
    occupied = int(np.count_nonzero(np.bincount(nearest)))
    if occupied < n_clusters:
        warnings.warn(
            f"Only {occupied} of the {n_clusters} reference centers are nearest to any row; "
            "the other clusters are empty.",
            ConvergenceWarning,
            stacklevel=depth_in_package(),
        )
