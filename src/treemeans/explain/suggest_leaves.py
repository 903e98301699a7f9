"""How many leaves, or clusters, are worth their cost."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

LEAF_PRICE = 0.01
"""Share of the cost of k-means that a leaf must save."""
_SAME = 1e-9  # penalised costs that differ by less are equal


def suggested_leaves(path: NDArray[np.void]) -> int:
    """The number of leaves after which further leaves save less than 1 % of the k-means cost each.

    It is the size at which ``ratio + 0.01 * n_leaves`` is least; of equals, the smallest. So it
    does not depend on how many leaves were tried, unless it is the most of them (`is_at_the_end`).

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
    >>> suggested_leaves(model.path_), suggested_leaves(model.path_[:12])
    (14, 14)
    """
    costs, accuracy = path["ratio"], path["accuracy"]
    if not np.isfinite(costs).all() and accuracy.max() > accuracy.min():
        costs = 1.0 - accuracy
    return int(path["n_leaves"][knee(path["n_leaves"], costs, LEAF_PRICE)])


def is_at_the_end(path: NDArray[np.void]) -> bool:
    """Whether more leaves than were tried may be worth it: the last one saves enough."""
    return len(path) > 1 and suggested_leaves(path) == int(path["n_leaves"][-1])


def knee(sizes: ArrayLike, costs: ArrayLike, price: float) -> int:
    """Where, in a list of sizes, cost plus price for each unit of size is least.

    Parameters
    ----------
    costs : as shares of some whole, inf where unknown; a cost above an earlier one counts as that
    price : share of the whole that one more must save

    Examples
    --------
    >>> knee([2, 3, 4, 5, 6], [1.0, 0.4, 0.35, 0.31, 0.28], 0.1)
    1
    """
    cost = np.minimum.accumulate(np.asarray(costs, dtype=np.float64))
    total = cost + price * np.asarray(sizes, dtype=np.float64)
    if not np.isfinite(total).any():
        return 0
    return int(np.argmax(total <= np.nanmin(total) + _SAME))
