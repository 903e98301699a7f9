"""The KD-tree of the paper's comparison: cut the feature that varies most at its median."""

import math
from collections import deque
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from treemeans import _core
from treemeans.growth.growing_tree import between
from treemeans.growth.in_memory_tree import InMemoryTree
from treemeans.growth.proposed_cut import RowCut, values_of
from treemeans.split import Split

_EQUAL = 1e-12  # variances closer than this, relatively, are the same


def kdtree(growing: InMemoryTree, n_leaves: int) -> list[int]:
    """Cut a tree level by level into up to ``n_leaves`` of about equal weight; return them.

    A node is cut while each half can have the size that ``n_leaves`` equal leaves would have. The
    cut lies above the lower median of the feature with the largest variance (the lowest feature
    among equals), or below it where that is the largest value. Where the limits forbid the cut,
    the feature that varies next most is tried.

    How a node is cut does not depend on ``n_leaves``: a tree that was cut into more or fewer
    leaves before is walked along its cuts, and only those that it lacks are made.
    """
    size = _leaf_size(growing, n_leaves)
    queue, leaves = deque([0]), list[int]()
    while queue:
        node = queue.popleft()
        children = None
        if len(leaves) + len(queue) + 1 < n_leaves and _is_large(growing, node, size):
            children = _children(growing, node)
        if children is None:
            leaves.append(node)
        else:
            queue.extend(children)
    return leaves


def _is_large(growing: InMemoryTree, node: int, size: float) -> bool:
    return _unit(growing) * growing.weight(node) >= 2 * size and growing.may_cut(node)


def _children(growing: InMemoryTree, node: int) -> tuple[int, int] | None:
    """The two halves of a node, which is cut now if it was not before."""
    if growing.feature[node] >= 0:
        return growing.left[node], growing.right[node]
    cut = _cut(growing, node)
    return None if cut is None else growing.split(node, *cut)


def _unit(growing: InMemoryTree) -> float:
    weights = growing.costs.weights
    return 1.0 if weights is None else weights.unit


def _leaf_size(growing: InMemoryTree, n_leaves: int) -> float:
    """Weight of a leaf among ``n_leaves`` equal ones: in whole rows, where weights are copies."""
    share = _unit(growing) * growing.costs.total_weight / n_leaves
    weights = growing.costs.weights
    if weights is not None:
        each = weights.to_float(weights.values)
        if not np.array_equal(each, np.floor(each)):
            return share
    return max(1.0, math.floor(share))


def _cut(growing: InMemoryTree, node: int) -> tuple[int, float] | None:
    rows, weights = growing.rows(node), growing.costs.weights
    units = None if weights is None else weights.values[rows]
    floats = None if weights is None or units is None else weights.to_float(units)
    variance = _core.variances(growing.table.points, rows, floats, growing.n_threads)
    variance[~growing.table.comparable] = 0.0
    for feature in _most_varied_first(variance):
        values = values_of(growing, node, feature)
        threshold = _median_cut(values, units)
        if threshold is None:
            continue
        if RowCut(growing, node, Split(feature, threshold), values).is_permitted():
            return feature, threshold
    return None


def _most_varied_first(variance: NDArray[np.float64]) -> Iterator[int]:
    """Features that vary, in the order they are tried.

    Variances that differ by rounding alone are equal: those of scaled columns must not decide.
    """
    left = variance.copy()
    while left.any():
        feature = int(np.flatnonzero(left >= left.max() * (1.0 - _EQUAL))[0])
        yield feature
        left[feature] = 0.0


def _median_cut(values: NDArray[np.float64], weights: NDArray[np.int64] | None) -> float | None:
    """Half way from the lower median to the next value, or from the one below to the largest."""
    median = _lower_median(values, weights)
    above, below = values[values > median], values[values < median]
    if len(above):
        return between(median, float(above.min()))
    return between(float(below.max()), median) if len(below) else None


def _lower_median(values: NDArray[np.float64], weights: NDArray[np.int64] | None) -> float:
    """The least value up to which at least half of the weight lies."""
    if weights is None:
        middle = (len(values) - 1) // 2
        return float(np.partition(values, middle)[middle])
    order = np.argsort(values, kind="stable")
    passed = np.cumsum(weights[order])
    return float(values[order[np.searchsorted(passed, (passed[-1] + 1) // 2)]])
