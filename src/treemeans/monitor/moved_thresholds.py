"""The cuts of a tree on new rows: the same columns, with thresholds that moved as the rows did."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from treemeans.rows.column_values import column_of
from treemeans.split import Split
from treemeans.tree import ThresholdTree

Floats = NDArray[np.float64]


def move_thresholds(tree: ThresholdTree, X: Any, regrets: Floats) -> ThresholdTree:
    """The tree with each threshold where it costs least within its drift.

    The drift of a threshold is the range from where it is to where as large a share of its node's
    rows goes left as in training. Within that range the place of least surrogate cost is taken,
    from the root down; of equals, the nearest to the old one. Rows that have not changed leave
    every threshold as it is. Sets of categories and sides of missing values stay; a split that
    meets its first missing value sends it with most training rows.

    Parameters
    ----------
    regrets : (n_rows, n_clusters), cost of each row beyond its cheapest cluster, times its weight
    """
    X = X.tocsc() if sparse.issparse(X) else X
    threshold, sides = np.array(tree.threshold), np.array(tree.missing_left)
    todo = [(0, np.arange(X.shape[0]))]
    while todo:
        node, rows = todo.pop()
        if tree.feature[node] < 0:
            continue
        split = tree.split(node)
        values = column_of(X, split.feature)[rows]
        if split.missing_left is None and np.isnan(values).any():
            heavier = tree.weight[tree.left[node]] >= tree.weight[tree.right[node]]
            sides[node] = int(heavier)
            split = replace(split, missing_left=bool(heavier))
        if np.isfinite(split.threshold) and len(rows):
            share = tree.weight[tree.left[node]] / max(tree.weight[node], 1e-300)
            threshold[node] = _moved(split, values, regrets[rows], float(share))
            split = replace(split, threshold=float(threshold[node]))
        left = split.left.holds(values)
        todo += [(int(tree.left[node]), rows[left]), (int(tree.right[node]), rows[~left])]
    gap = np.stack([threshold, threshold], axis=1)
    gap[~np.isfinite(threshold)] = np.nan
    return replace(tree, threshold=threshold, gap=gap, missing_left=sides)


def _moved(split: Split, values: Floats, regrets: Floats, share: float) -> float:
    """Threshold of one split, given the rows of its node."""
    missing = np.isnan(values)
    there = np.flatnonzero(~missing)
    if not len(there):
        return split.threshold
    order = there[np.argsort(values[there], kind="stable")]
    ascending = values[order]
    # A gap is a number of rows on the left: ends[i] rows are up to the i-th distinct value.
    ends = np.append(np.flatnonzero(np.diff(ascending) > 0) + 1, len(ascending))
    ends = np.append(0, ends)
    own = int(np.searchsorted(ascending, split.threshold, side="right"))
    n_missing_left = int(missing.sum()) if split.missing_left else 0
    wanted = share * len(values) - n_missing_left
    target = int(ends[np.abs(ends - wanted).argmin()])
    low, high = min(own, target), max(own, target)
    candidates = ends[(ends >= low) & (ends <= high)]
    inside = candidates[(candidates > 0) & (candidates < len(ascending))]
    if not len(inside):
        return split.threshold
    aside = regrets[missing].sum(axis=0)
    left_aside = aside if split.missing_left else 0.0 * aside
    upto = np.vstack([np.zeros(regrets.shape[1]), np.cumsum(regrets[order], axis=0)])
    left = upto[inside] + left_aside
    right = upto[-1] + aside - left
    costs = left.min(axis=1) + right.min(axis=1)
    least = costs.min()
    best = inside[costs <= least + 1e-9 * max(float(upto[-1].max()), 0.0)]
    chosen = int(best[np.abs(best - own).argmin()])
    if chosen == own:
        return split.threshold
    below, above = float(ascending[chosen - 1]), float(ascending[chosen])
    middle = below / 2 + above / 2
    return middle if below <= middle < above else below
