"""Splits chosen again, slow and plain: what cpp/reoptimize and cpp/mutable_tree are compared with.

Nothing of treemeans is used here. A tree is nested nodes; every look at a split sends every row of
the node down both sides, and tries every feature and every gap between two values.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from tests.oracles.search_oracle import between


@dataclass
class Terms:
    """What cuts are made on, and what they must respect.

    weights, prices : integers, of every row and every feature; a negative price forbids
    """

    X: np.ndarray
    regrets: np.ndarray
    weights: np.ndarray
    min_weight: int
    prices: np.ndarray

    def weight(self, rows):
        return int(self.weights[rows].sum())

    def price(self, feature):
        return max(int(self.prices[feature]), 0)


@dataclass
class Node:
    """A leaf where ``feature`` is -1."""

    rows: np.ndarray
    label: int = 0
    feature: int = -1
    threshold: float = 0.0
    left: Node | None = None
    right: Node | None = None

    def become(self, other):
        self.__dict__.update(other.__dict__)

    @property
    def is_leaf(self):
        return self.feature < 0

    def as_tuple(self):
        """Nested (feature, threshold, left, right), or the label of a leaf."""
        if self.is_leaf:
            return self.label
        return self.feature, self.threshold, self.left.as_tuple(), self.right.as_tuple()


# ---- cuts ----------------------------------------------------------------------------------------


def least_cut(terms, rows, cost_of):
    """(cost, feature, low, high) of the least permitted cut; None where there is none.

    cost_of : from the rows in the order of a feature, what a cut after each place costs
    """
    best = None
    for feature in np.flatnonzero(terms.prices >= 0):
        order = rows[np.argsort(terms.X[rows, feature], kind="stable")]
        values = terms.X[order, feature]
        weight = np.cumsum(terms.weights[order])
        permitted = np.minimum(weight, terms.weight(rows) - weight)[:-1] >= terms.min_weight
        gaps = np.flatnonzero((values[:-1] < values[1:]) & permitted)
        if len(gaps) == 0:
            continue
        cost = cost_of(order)[gaps]
        first = np.argmin(cost)  # the first among equals: the lowest threshold
        total = int(cost[first]) + int(terms.prices[feature])
        if best is None or total < best[0]:  # the lowest feature keeps a tie
            gap = gaps[first]
            best = total, int(feature), float(values[gap]), float(values[gap + 1])
    return best


def surrogate_cut(terms, rows):
    """The cut after which both sides, each given to its cheapest center, cost least."""

    def cost_of(order):
        left = np.cumsum(terms.regrets[order], axis=0)
        return left.min(axis=1) + (left[-1] - left).min(axis=1)

    return least_cut(terms, rows, cost_of)


def fork_cut(terms, node):
    """The cut of least cost if both subtrees of a node stay as they are."""
    on_left, on_right = (
        price_in(terms, node.left, node.rows),
        price_in(terms, node.right, node.rows),
    )
    place = {row: i for i, row in enumerate(node.rows.tolist())}

    def cost_of(order):
        at = [place[row] for row in order.tolist()]
        return np.cumsum(on_left[at]) + (on_right.sum() - np.cumsum(on_right[at]))

    return least_cut(terms, node.rows, cost_of)


def price_in(terms, node, rows):
    """What each row costs in the subtree of a node."""
    if node.is_leaf:
        return terms.regrets[rows, node.label]
    goes_left = terms.X[rows, node.feature] <= node.threshold
    prices = np.empty(len(rows), dtype=np.int64)
    prices[goes_left] = price_in(terms, node.left, rows[goes_left])
    prices[~goes_left] = price_in(terms, node.right, rows[~goes_left])
    return prices


# ---- trees ---------------------------------------------------------------------------------------


def cost(terms, node):
    """Regrets of the leaves, and prices of the cuts."""
    if node.is_leaf:
        return int(terms.regrets[node.rows, node.label].sum())
    return terms.price(node.feature) + cost(terms, node.left) + cost(terms, node.right)


def fill(terms, node, rows):
    """Send rows down a subtree; a cut with an empty side goes. Whether every leaf weighs enough."""
    node.rows = rows
    if node.is_leaf:
        node.label = int(terms.regrets[rows].sum(axis=0).argmin())
        return terms.weight(rows) >= terms.min_weight
    goes_left = terms.X[rows, node.feature] <= node.threshold
    if goes_left.all() or not goes_left.any():
        node.become(node.left if goes_left.all() else node.right)
        return fill(terms, node, rows)
    enough = [
        fill(terms, node.left, rows[goes_left]),
        fill(terms, node.right, rows[~goes_left]),
    ]
    return all(enough)


def adopt(terms, node, cut):
    """Cut a node otherwise, its subtrees as they are. False, and no change, if a leaf is light."""
    _, feature, low, high = cut
    tried = grown(terms, node.rows, node.as_tuple())
    tried.feature, tried.threshold = feature, between(low, high)
    if not fill(terms, tried, node.rows):
        return False
    node.become(tried)
    return True


def choose_again(terms, node):
    """One look at the split of a node. Whether anything changed."""
    all_left = int(price_in(terms, node.left, node.rows).sum())
    all_right = int(price_in(terms, node.right, node.rows).sum())
    now = int(price_in(terms, node, node.rows).sum()) + terms.price(node.feature)
    cut = fork_cut(terms, node)
    uncut = min(all_left, all_right)
    if uncut <= now and (cut is None or uncut <= cut[0]):
        rows = node.rows
        node.become(node.left if all_left <= all_right else node.right)
        fill(terms, node, rows)
        return True
    return cut is not None and cut[0] < now and adopt(terms, node, cut)


def settle(terms, root):
    """Look at every split from the root down, again and again, until nothing changes."""
    changed = True
    while changed:
        changed = False
        queue = deque([root])
        while queue:
            node = queue.popleft()
            if node.is_leaf:
                continue
            if choose_again(terms, node):
                changed = True
            if not node.is_leaf:
                queue.extend([node.left, node.right])


def grown(terms, rows, shape):
    """The tree of these rows with the cuts of ``Node.as_tuple``, leaves labelled at their best."""
    if not isinstance(shape, tuple):
        return Node(rows, int(terms.regrets[rows].sum(axis=0).argmin()))
    feature, threshold, left, right = shape
    goes_left = terms.X[rows, feature] <= threshold
    node = Node(rows, 0, feature, threshold)
    node.left = grown(terms, rows[goes_left], left)
    node.right = grown(terms, rows[~goes_left], right)
    return node
