"""CUBT by hand: every cut, every pair, every distance."""

from itertools import pairwise

import numpy as np

TINY = 1e-12


def deviance(X, rows, n):
    return ((X[rows] - X[rows].mean(axis=0)) ** 2).sum() / n


def cuts(X, rows, minsize):
    """(gain, feature, threshold) of every cut that leaves enough rows."""
    for feature in range(X.shape[1]):
        values = np.unique(X[rows, feature])
        for low, high in pairwise(values):
            middle = low / 2 + high / 2
            threshold = middle if low <= middle < high else low
            left = X[rows, feature] <= threshold
            if min(left.sum(), (~left).sum()) >= minsize:
                sides = [deviance(X, rows[side], len(X)) for side in (left, ~left)]
                yield deviance(X, rows, len(X)) - sum(sides), feature, threshold


class Node:
    def __init__(self, rows, depth, number):
        self.rows, self.depth, self.number = rows, depth, number
        self.cut, self.children = None, []


def grow(X, minsize, mindev, minsplit, max_depth, rule):
    root_deviance = deviance(X, np.arange(len(X)), len(X))
    nodes, first = [Node(np.arange(len(X)), 0, 0)], None
    for node in nodes:
        if len(node.rows) < minsplit or (max_depth is not None and node.depth >= max_depth):
            continue
        best = None
        for cut in cuts(X, node.rows, minsize):
            if cut[0] > 1e-12 * root_deviance and (best is None or cut[0] > best[0] * (1 + 1e-11)):
                best = cut
        if best is None:
            continue
        first = best[0] if first is None else first
        least = {
            "root": best[0] >= mindev * root_deviance,
            "node": deviance(X, node.rows, len(X)) >= mindev * root_deviance,
            "first": best[0] > mindev * first,
        }
        if not least[rule]:
            continue
        node.cut = best[1:]
        left = X[node.rows, best[1]] <= best[2]
        for rows in (node.rows[left], node.rows[~left]):
            node.children.append(Node(rows, node.depth + 1, len(nodes)))
            nodes.append(node.children[-1])
    return nodes


def dissimilarity(X, a, b, alpha):
    apart = np.sqrt(((X[a][:, None, :] - X[b][None, :, :]) ** 2).sum(axis=2))

    def mean(distances):
        many = max(1, int(alpha * len(distances) + 1e-9))
        return np.sort(distances)[:many].mean()

    return max(mean(apart.min(axis=1)), mean(apart.min(axis=0)))


def least(candidates):
    """The first of (value, what) that none is below."""
    best = None
    for value, what in candidates:
        if best is None or value < best[0] * (1 - TINY):
            best = value, what
    return best


def prune(X, nodes, mindist, alpha, nleaves):
    def siblings():
        for node in nodes:
            if node.children and not any(child.children for child in node.children):
                yield dissimilarity(X, *(child.rows for child in node.children), alpha), node

    def collapse(node):
        for child in node.children:
            nodes.remove(child)
        node.children, node.cut = [], None

    while (best := least(siblings())) is not None and best[0] <= mindist:
        collapse(best[1])
    while nleaves is not None and sum(not node.children for node in nodes) > nleaves:
        collapse(least(siblings())[1])


def rise(X, a, b, how, alpha):
    if how == "dissimilarity":
        return dissimilarity(X, a, b, alpha)
    both = deviance(X, np.concatenate([a, b]), len(X))
    more = both - deviance(X, a, len(X)) - deviance(X, b, len(X))
    if how == "deviance":
        return more
    return more / both if both > 0 else 0.0


def join(X, groups, nclass, how, alpha):
    """Rows of the groups that are left."""
    groups = list(groups)
    while len(groups) > nclass:
        pairs = (
            (rise(X, groups[a], groups[b], how, alpha), (a, b))
            for a in range(len(groups))
            for b in range(a + 1, len(groups))
        )
        _, (a, b) = least(pairs)
        groups[a] = np.concatenate([groups[a], groups[b]])
        del groups[b]
    return groups


def told(node):
    """Rows of a leaf, or (feature, threshold, left, right)."""
    if not node.children:
        return tuple(sorted(node.rows.tolist()))
    return (*node.cut, *(told(child) for child in node.children))
