"""CART on the reference's labels: scikit-learn's decision tree, as a base tree."""

import math
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.tree import DecisionTreeClassifier

from treemeans.costs import CostTable
from treemeans.growth.given_tree import from_sklearn
from treemeans.growth.growing_tree import between
from treemeans.limits import Limits
from treemeans.tree import ThresholdTree

_MOST_RANKS = 2**24
"""Float32 holds the integers up to this one."""


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
    X : array or sparse matrix
    costs : of the rows; their nearest centers are what is predicted
    weights : of the rows, None where all are 1
    n_leaves : at most so many leaves; the most impure is cut first
    limits : depth and weight of a leaf are applied here, prices by `follow`
    allowed : features that may be cut
    """
    parameters = limits.for_decision_tree(costs.total_weight, weighted=weights is not None)
    if n_leaves < 2 or parameters is None or not allowed.any():
        return _one_leaf(X.shape[1])
    features = np.flatnonzero(allowed)
    classifier = DecisionTreeClassifier(max_leaf_nodes=n_leaves, random_state=0, **parameters)
    ranked, values = _ranked(X if allowed.all() else X[:, features])
    classifier.fit(ranked, costs.nearest, weights)
    tree = from_sklearn(classifier)
    threshold = tree.threshold.copy()
    for node in np.flatnonzero(~tree.is_leaf):
        of_rank = values.get(int(tree.feature[node]))
        if of_rank is not None:
            threshold[node] = of_rank.threshold(float(classifier.tree_.threshold[node]))
    return replace(
        tree,
        feature=np.where(tree.is_leaf, -1, features[tree.feature]),
        threshold=threshold,
        gap=np.stack([threshold] * 2, axis=1),
        n_features=X.shape[1],
        growth=_growth(tree),
    )


@dataclass(frozen=True)
class _Ranks:
    """The distinct values of a column, ascending, and the rank of the first.

    ``step``: how many values share a rank, where there are more of them than float32 has integers.
    """

    values: NDArray[np.float64]
    first: int
    step: int

    @classmethod
    def of(cls, column: NDArray[Any], *, zero: bool) -> tuple[Self, NDArray[np.float32]]:
        """Ranks of a column, and its values as ranks; ``zero``: zero has the rank zero."""
        values = np.unique(np.append(column, 0) if zero else column).astype(np.float64)
        step = -(-len(values) // _MOST_RANKS)
        first = -(int(np.searchsorted(values, 0.0)) // step) if zero else 0
        ranks = cls(values, first, step)
        return ranks, (np.searchsorted(values, column) // step + first).astype(np.float32)

    def threshold(self, rank: float) -> float:
        """Half way between the values with ranks up to this one and the others."""
        last = min((math.floor(rank) - self.first + 1) * self.step, len(self.values) - 1) - 1
        return between(float(self.values[last]), float(self.values[last + 1]))


def _ranked(X: Any) -> tuple[Any, dict[int, _Ranks]]:
    """X with ranks in place of values, and what the ranks stand for.

    scikit-learn reads X as float32, to which values may be equal that are not, or too large. The
    cuts of a decision tree depend on nothing but the order of the values, and float32 holds ranks
    exactly. Columns of whole numbers that it holds as they are have no ranks.
    """
    found: dict[int, _Ranks] = {}
    if not sparse.issparse(X):
        ranked = np.empty(X.shape, dtype=np.float32, order="F")
        for feature in range(X.shape[1]):
            ranked[:, feature] = _ranked_column(X[:, feature], feature, False, found)
        return ranked, found
    columns = sparse.csc_matrix(X, copy=True)
    columns.sum_duplicates()
    data = np.empty(len(columns.data), dtype=np.float32)
    for feature in range(X.shape[1]):
        stored = slice(columns.indptr[feature], columns.indptr[feature + 1])
        data[stored] = _ranked_column(columns.data[stored], feature, True, found)
    shape = columns.shape
    return sparse.csc_matrix((data, columns.indices, columns.indptr), shape), found


def _ranked_column(
    column: NDArray[Any], feature: int, zero: bool, found: dict[int, _Ranks]
) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):
        single = column.astype(np.float32)
    # Whole numbers only: scikit-learn takes values less than 1e-7 apart for equal.
    if np.array_equal(single, column) and np.array_equal(single, np.floor(single)):
        return single
    found[feature], ranks = _Ranks.of(column, zero=zero)
    return ranks


def _growth(tree: ThresholdTree) -> NDArray[np.int32]:
    """The order of the cuts: scikit-learn numbers the children of a node when it cuts it."""
    growth = np.zeros(tree.n_nodes, dtype=np.int32)
    inner = np.flatnonzero(~tree.is_leaf)
    growth[inner[np.argsort(tree.left[inner])]] = np.arange(2, len(inner) + 2)
    return growth


def _one_leaf(n_features: int) -> ThresholdTree:
    none = np.array([-1])
    return ThresholdTree(none, np.array([np.nan]), none, none, np.array([0]), n_features)
