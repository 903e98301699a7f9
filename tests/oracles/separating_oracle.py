"""Base trees that separate the reference centers, slow and plain, with the limits a user may set.

As in oracle.py, nothing of treemeans is used: every node looks at every row, feature and threshold
anew, and scores are integers or fractions, so that none is rounded.
"""

from collections import deque
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tests.oracles.search_oracle import OracleTree, between


@dataclass
class Bounds:
    """Limits. Weights are integers; ``prices`` are fractions, in the units of the scores."""

    min_weight: int = 1
    max_depth: int | None = None
    allowed: np.ndarray | None = None
    prices: np.ndarray | None = None

    def forbid(self, depth, weight):
        """Whether a node may not be cut, wherever."""
        too_deep = self.max_depth is not None and depth >= self.max_depth
        return too_deep or (self.min_weight > 1 and weight < 2 * self.min_weight)


@dataclass
class Problem:
    """X is dense; regrets (n, k) and weights (n) are integers; ``nearest`` is each row's center."""

    X: np.ndarray
    centers: np.ndarray
    regrets: np.ndarray
    nearest: np.ndarray
    weights: np.ndarray


def separating_tree(problem, rows, rule, bounds=None):
    """The tree of ``rule``: "imm", "emn" or "exgreedy"."""
    bounds = Bounds() if bounds is None else bounds
    alive = np.ones(len(problem.X), dtype=bool)
    tree = OracleTree.one_leaf(rows)
    tree.label[0] = _cheapest(problem, rows)
    queue = deque([(0, 0, list(range(len(problem.centers))))])
    while queue:
        node, depth, members = queue.popleft()
        rows = tree.rows[node]
        forbidden = bounds.forbid(depth, problem.weights[rows].sum())
        cut = None
        if len(members) > 1 and not forbidden:
            cut = best_cut(problem, rows, members, rule, bounds, alive)
        if cut is None:
            limited = forbidden or bounds.min_weight > 1 or bounds.allowed is not None
            if len(members) == 1 or not limited:
                _label_with_its_own(problem, tree, node, members[0])
            continue
        _, feature, threshold = cut
        center_left = problem.centers[:, feature] <= threshold
        children = tree.split(problem.X, node, feature, threshold)
        for child, here in zip(children, (center_left, ~center_left), strict=True):
            in_child = tree.rows[child]
            alive[in_child[~here[problem.nearest[in_child]]]] = False
            tree.label[child] = _cheapest(problem, in_child) if len(in_child) else tree.label[node]
            queue.append((child, depth + 1, [c for c in members if here[c]]))
    return tree


def best_cut(problem, rows, members, rule, bounds=None, alive=None):
    """(score, feature, threshold) of the first cut with the least score, or None."""
    bounds = Bounds() if bounds is None else bounds
    best = None
    for feature in range(problem.X.shape[1]):
        if bounds.allowed is not None and not bounds.allowed[feature]:
            continue
        price = 0 if bounds.prices is None else bounds.prices[feature]
        scores = scores_by_value(problem, rows, members, feature, rule, bounds.min_weight, alive)
        for value, (score, following) in scores.items():
            if best is None or score + price < best[0]:
                best = score + price, feature, between(value, following)
    return best


def scores_by_value(problem, rows, members, feature, rule, min_weight=1, alive=None):
    """{value: (score, next value)} of the cuts above each value of a row or a center, ascending."""
    x, at = problem.X[rows, feature], problem.centers[members, feature]
    values = np.unique(np.concatenate([x, at]))
    order = np.argsort(x, kind="stable")
    weight = np.concatenate([[0], np.cumsum(problem.weights[rows][order])])
    n_left = np.searchsorted(x[order], values, side="right")
    center_left = at <= values[:, None]
    allowed = center_left.any(axis=1) & ~center_left.all(axis=1)
    if rule != "imm":
        allowed &= (n_left > 0) & (n_left < len(rows))
    if min_weight > 1:
        allowed &= weight[n_left] >= min_weight
        allowed &= weight[-1] - weight[n_left] >= min_weight
    found = {}
    for left in np.unique(center_left[allowed], axis=0):
        here = np.flatnonzero(allowed & (center_left == left).all(axis=1))
        if rule == "exgreedy":
            passing, staying = _greedy_costs(problem, rows[order], np.array(members), left)
        else:
            passing, staying = _mistakes(problem, rows[order], np.array(members), left, alive)
        # Rows up to the threshold are on the left, the others on the right.
        sums = np.concatenate([[0], np.cumsum(passing)])
        rest = np.concatenate([[0], np.cumsum(staying)])
        divisor = min(left.sum(), len(left) - left.sum()) if rule == "emn" else 1
        for t in here:
            score = int(sums[n_left[t]] + rest[-1] - rest[n_left[t]])
            found[float(values[t])] = Fraction(score, int(divisor)), float(values[t + 1])
    return dict(sorted(found.items()))


def _greedy_costs(problem, rows, members, left):
    """What each row costs on the left, and on the right."""
    regrets = problem.regrets[rows]
    return regrets[:, members[left]].min(axis=1), regrets[:, members[~left]].min(axis=1)


def _mistakes(problem, rows, members, left, alive):
    """What each living row adds on the left, and on the right: its weight, if it is parted."""
    counts = problem.weights[rows] * (1 if alive is None else alive[rows])
    with_left = np.isin(problem.nearest[rows], members[left])
    with_right = np.isin(problem.nearest[rows], members[~left])
    return counts * with_right, counts * with_left


def _cheapest(problem, rows):
    return int(problem.regrets[rows].sum(axis=0).argmin())


def _label_with_its_own(problem, tree, node, center):
    """The center's leaf, unless all its rows are another one's."""
    totals = problem.regrets[tree.rows[node]].sum(axis=0)
    if totals[center] == 0 or totals.min() > 0:
        tree.label[node] = center
