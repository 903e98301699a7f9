"""Iterative Mistake Minimization (Dasgupta, Frost, Moshkovitz, Rashtchian 2020): the base tree."""

from collections import deque

import numpy as np
from numpy.typing import NDArray

from treemeans import _core
from treemeans.grow.sapling import Sapling, between
from treemeans.progress import Progress


def imm(sapling: Sapling, centers: NDArray[np.float64], progress: Progress) -> None:
    """Cut a sapling of one leaf until every leaf holds one center, and label it with that center.

    Each cut parts the fewest rows from their center; rows once parted count no more. Every value
    of a row or a center is a candidate.

    Parameters
    ----------
    centers : (k, n_features), in the columns of the table. A center with a NaN (a cluster without
        rows has no place in a pipeline's input) gets no leaf; of centers that coincide, only the
        first gets one.
    """
    costs = sapling.costs
    alive = np.ones(sapling.table.n_rows, dtype=np.uint8)
    weights = None if costs.weights is None else costs.weights.values
    counts = _core.MistakeCounts(
        sapling.table.bins, costs.n_clusters, costs.nearest, weights, alive, sapling.n_threads
    )
    placed = np.flatnonzero(np.isfinite(centers).all(axis=1))
    by_feature = np.ascontiguousarray(centers.T)
    queue = deque([(0, placed)])
    while queue:
        node, members = queue.popleft()
        cut = _cut(sapling, counts, by_feature, node, members)
        if cut is None:
            _label(sapling, node, int(members[0]))
            continue
        feature, threshold = cut
        goes_left = by_feature[feature] <= threshold
        left, right = sapling.split(node, feature, threshold)
        counts.bury(
            sapling.rows(node), len(sapling.rows(left)), goes_left.view(np.uint8), sapling.n_threads
        )
        queue.append((left, members[goes_left[members]]))
        queue.append((right, members[~goes_left[members]]))
        progress.update(sapling.n_leaves)


def _label(sapling: Sapling, node: int, center: int) -> None:
    """The leaf's own center; but a leaf that holds nothing but another one's rows is that one's.

    No cut will ever set such a leaf right, and the reference must come back in the end.
    """
    if sapling.totals[node][center] == 0 or sapling.regret(node) > 0:
        sapling.label[node] = center


def _cut(
    sapling: Sapling,
    counts: _core.MistakeCounts,
    by_feature: NDArray[np.float64],
    node: int,
    members: NDArray[np.intp],
) -> tuple[int, float] | None:
    """The best cut of a node, or None where its centers cannot be told apart."""
    if len(members) == 1:
        return None
    cut = counts.cut(
        sapling.table.points, sapling.rows(node), by_feature, members.tolist(), sapling.n_threads
    )
    if cut is None:
        return None
    _, feature, low, high = cut
    return feature, between(low, high)
