"""A cut that was not found by a search of the costs: may it be made, and where exactly?"""

import numpy as np
from numpy.typing import NDArray

from treemeans import _core
from treemeans.grow.sapling import Sapling
from treemeans.grow.sprout import between


def values_of(sapling: Sapling, node: int, feature: int) -> NDArray[np.float64]:
    """Values of a feature in the rows of a node."""
    return _core.column(sapling.table.points, feature, sapling.rows(node), sapling.n_threads)


def mid_gap(values: NDArray[np.float64], threshold: float) -> float | None:
    """The threshold half way between the values around it; None if all are on one side."""
    left = values <= threshold
    if left.all() or not left.any():
        return None
    return between(float(values[left].max()), float(values[~left].min()))


def permits(
    sapling: Sapling,
    node: int,
    feature: int,
    threshold: float,
    values: NDArray[np.float64],
    *,
    priced: bool = True,
) -> bool:
    """Whether the limits permit a cut.

    Parameters
    ----------
    values : of the feature, in the node's rows
    priced : whether a cut on a feature that has a price must save that much surrogate cost
    """
    if not sapling.table.allowed[feature] or not sapling.may_cut(node):
        return False
    limits = sapling.limits
    left = values <= threshold
    if limits.min_weight > 1 and _lesser_weight(sapling, node, left) < limits.min_weight:
        return False
    if not priced or limits.prices is None or limits.prices[feature] == 0.0:
        return True
    return _saved(sapling, node, left) > sapling.price_of(feature)


def _lesser_weight(sapling: Sapling, node: int, left: NDArray[np.bool_]) -> int:
    """Weight of the lighter side."""
    weights = sapling.costs.weights
    if weights is None:
        n_left = int(left.sum())
        return min(n_left, len(left) - n_left)
    on_left = int(weights.values[sapling.rows(node)[left]].sum())
    return min(on_left, sapling.weight(node) - on_left)


def _saved(sapling: Sapling, node: int, left: NDArray[np.bool_]) -> int:
    """Surrogate cost the cut saves, in fixed point."""
    on_left = _core.sum_regrets(
        sapling.costs.regrets.values, sapling.rows(node)[left], sapling.n_threads
    )
    return sapling.regret(node) - int(on_left.min()) - int((sapling.totals[node] - on_left).min())
