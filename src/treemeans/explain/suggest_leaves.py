"""How many leaves are worth it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

_FLAT = 1e-3  # of the reference's cost; a path that saves less than this is flat
_STRAIGHT = 0.05  # of what the whole path saves; a curve that bends less has no knee


def suggested_leaves(path: NDArray[np.void]) -> int:
    """The number of leaves at the knee of a path, after which further leaves save little.

    Leaves and cost are both brought to 0 ... 1 between the smallest and the largest tree of the
    path; the knee is where the curve is furthest below the straight line between its ends. A path
    on which more leaves save next to nothing (less than 0.1 % of the reference's cost) suggests
    the smallest tree; one without a bend, where every leaf saves about as much as the last,
    suggests the cheapest.

    Parameters
    ----------
    path : structured array
        ``path_`` of a fitted model: ``n_leaves`` and ``ratio`` are used, or ``accuracy`` where
        the reference costs nothing, so that there is no ratio.

    Returns
    -------
    int

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from treemeans import ExKMC
    >>> model = ExKMC(10, max_leaf_nodes=40, random_state=0).fit(load_digits().data)
    >>> suggested_leaves(model.path_)
    21
    """
    costs, accuracy = path["ratio"], path["accuracy"]
    if not np.isfinite(costs).all() and accuracy.max() > accuracy.min():
        costs = 1.0 - accuracy
    return int(path["n_leaves"][knee(path["n_leaves"], costs)])


def knee(sizes: ArrayLike, costs: ArrayLike) -> int:
    """Where, in a list of sizes, a curve of falling costs bends; costs are shares of some whole.

    Examples
    --------
    >>> knee([2, 3, 4, 5, 6], [1.0, 0.4, 0.35, 0.31, 0.28])
    1
    """
    cost = np.minimum.accumulate(np.asarray(costs, dtype=np.float64))  # what was reached is kept
    size = np.asarray(sizes, dtype=np.float64)
    known = np.flatnonzero(np.isfinite(cost))
    if not len(known) or cost[known[0]] - cost[known[-1]] < _FLAT:
        return int(known[0]) if len(known) else 0
    size, cost = size[known], cost[known]
    below = (cost[0] - cost) / (cost[0] - cost[-1]) - (size - size[0]) / (size[-1] - size[0])
    bend = int(np.argmax(below))
    return int(known[bend if below[bend] > _STRAIGHT else np.argmin(cost)])
