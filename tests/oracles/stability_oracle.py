"""Stability, slowly: sets of rows, every matching, every pair of cuts."""

from itertools import permutations

import numpy as np


def jaccard(one, other):
    return len(one & other) / len(one | other) if one | other else 1.0


def matched_jaccard(labels, others, k):
    """Jaccard index of each cluster and the one it is matched with; NaN for a cluster without rows.

    The matching is the one-to-one matching with the largest sum, of all that there are.
    """
    mine = [set(np.flatnonzero(labels == c).tolist()) for c in range(k)]
    theirs = [set(np.flatnonzero(others == c).tolist()) for c in range(k)]
    index = [[jaccard(a, b) if a | b else 0.0 for b in theirs] for a in mine]
    best = max(permutations(range(k)), key=lambda p: sum(index[i][p[i]] for i in range(k)))
    return [index[i][best[i]] if mine[i] else np.nan for i in range(k)]


def rows_of(tree, X):
    """The rows that come to each node, and those of them that go left."""
    rows, lefts = {0: set(range(len(X)))}, {}
    for node in range(tree.n_nodes):
        if tree.feature[node] < 0:
            continue
        here = sorted(rows[node])
        side = tree.split(node).goes_left(X[here, tree.feature[node]])
        lefts[node] = {r for r, is_left in zip(here, side, strict=True) if is_left}
        rows[int(tree.left[node])] = lefts[node]
        rows[int(tree.right[node])] = rows[node] - lefts[node]
    return rows, lefts


def returned_cuts(tree, other, X):
    """Whether each cut of a tree comes back in another."""
    rows, lefts = rows_of(tree, X)
    other_rows, _ = rows_of(other, X)
    found = []
    for node in lefts:
        here = rows[node]
        meets = set()
        for twin in np.flatnonzero(other.feature == tree.feature[node]).tolist():
            ordered = sorted(here)
            side = other.split(twin).goes_left(X[ordered, tree.feature[node]])
            left = {r for r, is_left in zip(ordered, side, strict=True) if is_left}
            right, mine = here - left, here - lefts[node]
            if min(jaccard(left, lefts[node]), jaccard(right, mine)) >= 0.5:
                meets |= other_rows[twin] & here
        found.append(len(here) > 0 and 2 * len(meets) >= len(here))
    return found
