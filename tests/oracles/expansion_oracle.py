"""The expansion by brute force, for any table of costs: every cut of every leaf at every step."""

from itertools import pairwise

import numpy as np


def best_cut(X, costs, rows):
    """Least cost of two leaves, with the lowest feature and threshold that reach it; or None."""
    best = None
    for feature in range(X.shape[1]):
        values = np.unique(X[rows, feature])
        for low, high in pairwise(values):
            threshold = low + (high - low) / 2
            left = X[rows, feature] <= threshold
            cost = costs[rows[left]].sum(axis=0).min() + costs[rows[~left]].sum(axis=0).min()
            if best is None or cost < best[0]:
                best = (cost, feature, threshold)
    return best


def expansion(X, costs, max_leaves):
    """Surrogate cost of the tree of every size, from one leaf on, and the cuts that were made.

    The leaf with the largest gain is cut, the first of equals, as long as one is not pure: where
    some row would be cheaper elsewhere.
    """
    beyond = costs - costs.min(axis=1, keepdims=True)
    leaves = {0: np.arange(len(X))}
    sizes, cuts, n_nodes = [costs.sum(axis=0).min()], [], 1
    while len(leaves) < max_leaves:
        found = {}
        for leaf, rows in leaves.items():
            regret = beyond[rows].sum(axis=0).min()
            cut = best_cut(X, beyond, rows) if regret > 0 else None
            if cut is not None:
                found[leaf] = (cut[0] - regret, leaf, *cut[1:])
        if not found:
            break
        _, leaf, feature, threshold = min(found.values(), key=lambda each: each[:2])
        rows = leaves.pop(leaf)
        left = X[rows, feature] <= threshold
        leaves[n_nodes], leaves[n_nodes + 1] = rows[left], rows[~left]
        n_nodes += 2
        cuts.append((leaf, feature, threshold))
        sizes.append(sum(costs[rows].sum(axis=0).min() for rows in leaves.values()))
    return sizes, cuts
