"""How many leaves are worth it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_FLAT = 1e-3  # of the cost of k-means; a path that saves less than this is flat
_STRAIGHT = 0.05  # of what the whole path saves; a curve that bends less has no knee


def suggested_leaves(path: NDArray[np.void]) -> int:
    """The number of leaves at the knee of a path, after which further leaves save little.

    Leaves and cost are both brought to 0 ... 1 between the smallest and the largest tree of the
    path; the knee is where the curve is furthest below the straight line between its ends. A path
    on which more leaves save next to nothing (less than 0.1 % of the cost of k-means) suggests
    the smallest tree; one without a bend, where every leaf saves about as much as the last,
    suggests the cheapest.

    Parameters
    ----------
    path : structured array
        ``path_`` of a fitted model: ``n_leaves`` and ``ratio`` are used.

    Returns
    -------
    int

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from treemeans import ExKMC
    >>> model = ExKMC(10, max_leaf_nodes=40, random_state=0).fit(load_digits().data)
    >>> suggested_leaves(model.path_)
    22
    """
    leaves = path["n_leaves"].astype(np.float64)
    cost = np.minimum.accumulate(path["ratio"])  # a step back does not undo what was reached
    known = np.isfinite(cost)
    if not known.any():
        return int(leaves[0])
    leaves, cost = leaves[known], cost[known]
    saved = cost[0] - cost[-1]
    if saved < _FLAT:
        return int(leaves[0])
    below = (cost[0] - cost) / saved - (leaves - leaves[0]) / (leaves[-1] - leaves[0])
    knee = int(np.argmax(below))
    return int(leaves[knee if below[knee] > _STRAIGHT else np.argmin(cost)])
