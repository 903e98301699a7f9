"""The best tree by trying all of them: every cut of every node, every share of the leaves."""

from functools import cache

import numpy as np


class AllTrees:
    """Least cost of trees on a tiny table.

    Parameters
    ----------
    X : (n, d)
    leaf_cost : of an array of row numbers
    prices : of a cut on each feature
    weights : of the rows
    min_weight : of a leaf
    """

    def __init__(self, X, leaf_cost, prices=None, weights=None, min_weight=0.0):
        self.X, self._leaf_cost = X, leaf_cost
        self._prices = np.zeros(X.shape[1], dtype=int) if prices is None else prices
        self._weights = np.ones(len(X)) if weights is None else weights
        self._min_weight = min_weight
        self._best = cache(self._least)

    def least_cost(self, n_leaves, max_depth=99):
        """With at most so many leaves, at most so deep."""
        return self._best(tuple(range(len(self.X))), n_leaves, max_depth)

    def _least(self, rows, n_leaves, max_depth):
        rows = np.array(rows)
        best = self._leaf_cost(rows)
        if n_leaves == 1 or max_depth == 0:
            return best
        for feature in range(self.X.shape[1]):
            values = self.X[rows, feature]
            for value in np.unique(values)[:-1]:
                left, right = rows[values <= value], rows[values > value]
                if min(self._weights[left].sum(), self._weights[right].sum()) < self._min_weight:
                    continue
                for share in range(1, n_leaves):
                    cost = (
                        self._best(tuple(left.tolist()), share, max_depth - 1)
                        + self._best(tuple(right.tolist()), n_leaves - share, max_depth - 1)
                        + self._prices[feature]
                    )
                    best = min(best, cost)
        return best


def cheapest_center(regrets):
    """Cost of a leaf by the regrets of its rows."""
    return lambda rows: int(regrets[rows].sum(axis=0).min())


def squared_deviation(X, weights):
    """Cost of a leaf about the mean of its rows."""

    def cost(rows):
        w = weights[rows]
        mean = (w[:, None] * X[rows]).sum(axis=0) / w.sum()
        return float((w[:, None] * (X[rows] - mean) ** 2).sum())

    return cost
