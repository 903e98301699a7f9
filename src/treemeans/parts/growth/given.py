"""A base tree the user brings, on rows in parts."""

from __future__ import annotations

import numpy as np

from treemeans.parts.growth.sapling import FarSapling
from treemeans.tree import ThresholdTree


def follow_far(sapling: FarSapling, tree: ThresholdTree) -> None:
    """Cut a sapling of one leaf as ``tree`` is cut. Leaves are labelled by the surrogate cost.

    A cut that the limits forbid is not made, and what is below it is dropped: one on a feature
    that may not be cut, too deep, with too light a side, or that saves less than its price.
    """
    forbidden = _forbidden(sapling, tree)
    _follow(sapling, tree, forbidden)
    sapling.settle()


def _follow(sapling: FarSapling, tree: ThresholdTree, forbidden: set[int]) -> dict[int, int]:
    """Make the cuts that are not forbidden; the sapling's node for each of the tree's."""
    place = {0: 0}
    inner = np.flatnonzero(~tree.is_leaf)
    for node in inner[np.argsort(tree.growth[inner])].tolist():
        if node not in place or node in forbidden:
            continue
        children = sapling.split(place[node], int(tree.feature[node]), float(tree.threshold[node]))
        place[int(tree.left[node])], place[int(tree.right[node])] = children
    return place


def _forbidden(sapling: FarSapling, tree: ThresholdTree) -> set[int]:
    """Cuts that may not be made. Only a least weight and prices need a look at the rows."""
    limits, allowed, depth = sapling.limits, sapling.allowed, tree.depth
    inner = np.flatnonzero(~tree.is_leaf).tolist()
    found = {node for node in inner if not allowed[tree.feature[node]]}
    if limits.max_depth is not None:
        found |= {node for node in inner if depth[node] >= limits.max_depth}
    if limits.min_weight <= 1 and limits.prices is None:
        return found
    trial = FarSapling(sapling.field, tree.n_leaves)
    place = _follow(trial, tree, set())
    for node in inner:
        here, left, right = (place[n] for n in (node, int(tree.left[node]), int(tree.right[node])))
        lighter = min(trial.weight(left), trial.weight(right))
        if limits.min_weight > 1 and lighter < limits.min_weight:
            found.add(node)
        feature = int(tree.feature[node])
        saved = trial.regret(here) - trial.regret(left) - trial.regret(right)
        if _is_priced(sapling, feature) and saved <= sapling.price_of(feature):
            found.add(node)
    return found


def _is_priced(sapling: FarSapling, feature: int) -> bool:
    """Whether a cut must save something, be it a share of nothing."""
    prices = sapling.limits.prices
    return prices is not None and prices[feature] != 0.0
