"""What rows cost at centers, for a cost that is given by its name."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemeans import _core
from treemeans.costs.cosine_cost import CosineCost, cosine_prices
from treemeans.costs.cost import Cost
from treemeans.costs.kmeans_cost import KMeansCost
from treemeans.costs.kmedians_cost import KMediansCost
from treemeans.rows import as_points

Floats = NDArray[np.float64]


def centered_prices(
    cost: str,
    rows: Any,
    centers: Floats,
    n_threads: int,
    points: _core.Points | None = None,
) -> tuple[Floats, NDArray[np.int32], Floats]:
    """Cost of each row at its cheapest center, which it is, and what the others cost beyond.

    Parameters
    ----------
    cost : ``"kmeans"`` (as for all that are not named here), ``"kmedians"`` or ``"cosine"``
    rows : in the space of the centers
    points : the same, as the kernels read them, if they are known

    Examples
    --------
    >>> rows, centers = np.array([[0.0, 0.0], [3.0, 4.0]]), np.array([[0.0, 0.0], [3.0, 3.0]])
    >>> centered_prices("kmedians", rows, centers, 1)[0].tolist()
    [0.0, 1.0]
    """
    if cost == "cosine":
        unit = CosineCost.of(rows, None, n_threads)
        return cosine_prices(unit.points, unit.zero, centers, n_threads)
    points = as_points(rows) if points is None else points
    return _core.price(points, centers, n_threads, cost == "kmedians")


def cheapest_centers(
    cost: str, rows: Any, centers: Floats, n_threads: int
) -> tuple[Floats, NDArray[np.int32]]:
    """The first two of `centered_prices`, which are quicker to find without the others."""
    if cost == "cosine":
        return centered_prices(cost, rows, centers, n_threads)[:2]
    return _core.nearest_centers(as_points(rows), centers, n_threads, cost == "kmedians")


def centered_cost(
    cost: str,
    rows: Any,
    weights: Floats | None,
    n_threads: int,
    points: _core.Points | None = None,
) -> Cost:
    """The cost of rows by their distance to centers; parameters as in `centered_prices`."""
    if cost == "cosine":
        return CosineCost.of(rows, weights, n_threads)
    if cost == "kmedians":
        return KMediansCost.of(rows, weights, n_threads)
    return KMeansCost(rows, as_points(rows) if points is None else points, weights, n_threads)
