"""Cuts of columns with categories and missing values by brute force: every way to send groups."""

from itertools import product

import numpy as np

from treemeans.split import Split


def splits_of(values, categorical):
    """Every way a split can part these values of a column: all subsets, both sides for missing."""
    has_missing = bool(np.isnan(values).any())
    seen = np.unique(values[~np.isnan(values)])
    sides = [True, False] if has_missing else [None]
    found = [Split(0, np.inf, missing_left=False)] if has_missing else []
    if categorical:
        for chosen in product([False, True], repeat=len(seen)):
            codes = tuple(seen[list(chosen)].astype(int).tolist())
            if codes:
                found += [Split(0, missing_left=side, categories=codes) for side in sides]
    else:
        found += [Split(0, float(value), missing_left=side) for value in seen for side in sides]
    return found


def n_listed(split, values, *, symmetric):
    """Categories that a rule has to list; where sides can be exchanged, the shorter list."""
    n_seen = len(np.unique(values[~np.isnan(values)]))
    n = len(split.categories)
    return min(n, n_seen - n) if symmetric else n


def least_cost(X, categorical, cost, weights, *, least=1, prices=None, most=None, symmetric=True):
    """The least cost of any cut within the limits, and the first feature that has it."""
    best = None
    for feature in range(X.shape[1]):
        price = 0 if prices is None else int(prices[feature])
        values = X[:, feature]
        for split in splits_of(values, categorical[feature]):
            left = split.goes_left(values)
            if left.all() or not left.any():
                continue
            if min(weights[left].sum(), weights[~left].sum()) < least:
                continue
            if most is not None and n_listed(split, values, symmetric=symmetric) > most:
                continue
            found = (cost(left) + price, feature)
            best = found if best is None else min(best, found)
    return best


def surrogate(regrets):
    """What a cut costs: either side with its cheapest center."""
    return lambda left: int(regrets[left].sum(axis=0).min() + regrets[~left].sum(axis=0).min())


def least_mistakes(values, categorical, center, counted, place, least=0):
    """The fewest rows that a cut parts from their center, if it has a center on either side.

    ``place``: of each center, a category or a number; NaN where values are missing. ``least``:
    weight of the rows that either side must have.
    """
    best = None
    has_missing = np.isnan(values).any() or np.isnan(place).any()
    known = np.unique(np.concatenate([values, place]))
    known = known[~np.isnan(known)]
    for split in splits_of(np.append(known, np.nan) if has_missing else known, categorical):
        left, centers = split.goes_left(values), split.goes_left(place)
        if centers.all() or not centers.any():
            continue
        if min(counted[left].sum(), counted[~left].sum()) < least:
            continue
        mistakes = int(counted[left != centers[center]].sum())
        best = mistakes if best is None else min(best, mistakes)
    return best
