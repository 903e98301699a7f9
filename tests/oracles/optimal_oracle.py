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
        self._leaf = cache(self._least_of_leaf)
        self._best = cache(self._least)
        # Sets of rows are bits of a number, so that many tables can be tried in little time.
        self._cuts = sorted(
            {
                (sum(1 << i for i in np.flatnonzero(column <= value)), int(price))
                for column, price in zip(X.T, self._prices, strict=True)
                for value in np.unique(column)[:-1]
            }
        )

    def least_cost(self, n_leaves, max_depth=99):
        """With at most so many leaves, at most so deep."""
        return self._best((1 << len(self.X)) - 1, n_leaves, max_depth)

    def _least_of_leaf(self, rows):
        """Cost of a leaf, and whether it is heavy enough."""
        members = np.array([i for i in range(len(self.X)) if rows >> i & 1])
        return self._leaf_cost(members), self._weights[members].sum() >= self._min_weight

    def _least(self, rows, n_leaves, max_depth):
        best = self._leaf(rows)[0]
        if n_leaves == 1 or max_depth == 0:
            return best
        for goes_left, price in self._cuts:
            left, right = rows & goes_left, rows & ~goes_left
            if not left or not right or not (self._leaf(left)[1] and self._leaf(right)[1]):
                continue
            for share in range(1, n_leaves):
                cost = self._best(left, share, max_depth - 1) + price
                if cost < best:
                    best = min(best, cost + self._best(right, n_leaves - share, max_depth - 1))
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
