"""A tree whose leaves have equal weight: within any limits on the sizes of clusters, if ties allow.

Among the cuts that part the weight as wanted, each is the one that saves the most surrogate cost.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from treemeans.growth.growing_tree import between
from treemeans.growth.in_memory_tree import InMemoryTree
from treemeans.growth.proposed_cut import RowCut, values_of
from treemeans.split import Split

_NEARLY = 0.002
"""Share of a node's weight by which a cut may part it otherwise than wanted, if another does."""


def equal_leaves(growing: InMemoryTree, n_leaves: int) -> None:
    """Cut a tree of one leaf into up to ``n_leaves`` of about the same weight."""
    open_nodes = [(0, n_leaves)]
    while open_nodes:
        node, n = open_nodes.pop(0)
        if n < 2 or not growing.may_cut(node):
            continue
        in_left = n // 2
        cut = _best_cut(growing, node, in_left / n)
        if cut is not None:
            left, right = growing.split(node, *cut)
            open_nodes += [(left, in_left), (right, n - in_left)]


def _best_cut(growing: InMemoryTree, node: int, share: float) -> tuple[int, float] | None:
    """The feature and threshold with about ``share`` of the weight on the left."""
    rows = growing.rows(node)
    weights = None
    if growing.weights is not None:
        weights = growing.weights[rows].astype(np.float64)
    found: list[tuple[float, int, float]] = []
    for feature in np.flatnonzero(growing.table.comparable & growing.allowed).tolist():
        cut = _cut_at(values_of(growing, node, feature), weights, share)
        if cut is not None:
            found.append((cut[0], feature, cut[1]))
    if not found:
        return None
    limit = max(min(found)[0], _NEARLY)
    best: tuple[int, float] | None = None
    most = -1
    for off, feature, threshold in found:
        if off <= limit:
            proposed = RowCut.of(growing, node, Split(feature, threshold))
            if proposed.is_permitted() and proposed.saved > most:
                best, most = (feature, threshold), proposed.saved
    return best


def _cut_at(
    values: NDArray[np.float64], weights: NDArray[np.float64] | None, share: float
) -> tuple[float, float] | None:
    """How far from ``share`` the left side of the nearest cut is, and its threshold."""
    if weights is None:  # sorting values is far quicker than sorting rows by them
        ordered, passed = np.sort(values), np.arange(1.0, len(values) + 1.0)
    else:
        order = np.argsort(values, kind="stable")
        ordered, passed = values[order], np.cumsum(weights[order])
    places = np.flatnonzero(ordered[:-1] < ordered[1:])
    if not len(places) or passed[-1] == 0:
        return None
    off = np.abs(passed[places] / passed[-1] - share)
    place = int(places[off.argmin()])
    return float(off.min()), between(float(ordered[place]), float(ordered[place + 1]))
