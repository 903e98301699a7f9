"""Prices of clusters, with which leaves choose clusters that are within the limits by themselves.

The limits on clusters are requirements on sums over the rows of a cluster. If leaves could be
divided among clusters, the cheapest labels within the limits would be a linear program, in which
each requirement has a price (its dual value): a row pays for joining a cluster that is full, and is
paid for joining one that has too few. Costs plus prices say where a cut helps: where rows of one
leaf should be in different clusters, even if all of them have the same cheapest one.

Prices only guide the search. Labels are found exactly afterwards (see `labelling`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog

from treemeans.cluster_limits import ClusterLimits
from treemeans.training_data import TrainingData

Floats = NDArray[np.float64]

_VIOLATION = 10.0
"""What a requirement that is not met costs, for all rows: so many times what the worst labels do.
It bounds the prices where no labels meet the limits yet."""


@dataclass(frozen=True)
class RowSums:
    """The requirements as sums over rows: over a cluster, ``weight * value`` is at most ``most``.

    Attributes
    ----------
    values : (n_requirements, n_rows), of a row of weight 1
    most : (n_requirements,), as a share of the weight of all rows
    weights : (n_rows,), as shares of the weight of all rows
    """

    values: Floats
    most: Floats
    weights: Floats

    @classmethod
    def of(cls, limits: ClusterLimits, data: TrainingData, margin: float) -> RowSums:
        """The requirements of the limits, a share ``margin`` tighter where that is possible."""
        total, k = data.costs.total_weight, data.costs.n_clusters
        low, high = limits.size_bounds(data.costs)
        n = data.table.n_rows
        weights = np.full(n, 1.0 / n) if data.weights is None else data.weights / data.total_weight
        ones, values, most = np.ones(n), list[Floats](), list[float]()
        if low is not None and low > 0:
            share = low / total
            values.append(-ones)
            most.append(-min(share * (1.0 + margin), max(share, 1.0 / k)))
        if high is not None and high < total:
            share = high / total
            values.append(ones)
            most.append(max(share * (1.0 - margin), min(share, 1.0 / k)))
        for bound in limits.shares:
            overall = float(weights[bound.members].sum())
            inward = margin * (bound.high - bound.low)
            if bound.low > 0:
                least = min(bound.low + inward, max(bound.low, overall))
                values.append(least - bound.members.astype(np.float64))
                most.append(0.0)
            if bound.high < 1:
                largest = max(bound.high - inward, min(bound.high, overall))
                values.append(bound.members.astype(np.float64) - largest)
                most.append(0.0)
        return cls(np.array(values).reshape(-1, n), np.array(most), weights)

    def of_rows(self, rows: NDArray[np.int32]) -> Floats:
        """(n_requirements,), what some rows add to the sums of their cluster."""
        return np.asarray((self.values[:, rows] * self.weights[rows]).sum(axis=1))

    def prices(self, multipliers: Floats) -> Floats:
        """(n_rows, n_clusters), what a row of weight 1 pays at each cluster."""
        found = np.zeros((self.values.shape[1], multipliers.shape[1]))
        for value, each in zip(self.values, multipliers, strict=True):
            if each.any():
                found += value[:, None] * each  # no matrix product: its sums depend on threads
        return found


def multipliers(costs: Floats, sums: Floats, most: Floats) -> Floats:
    """Prices of the requirements if leaves could be divided among clusters.

    Parameters
    ----------
    costs : (n_leaves, n_clusters), of the rows of each leaf at each cluster
    sums : (n_requirements, n_leaves), what each leaf adds to the sums of its cluster
    most : (n_requirements,), the largest sum of a cluster

    Returns
    -------
    array of shape (n_requirements, n_clusters), none negative
    """
    (n_leaves, k), n = costs.shape, len(most)
    violation = _VIOLATION * float(costs.max(axis=1).sum())
    # Variables are leaf by leaf, then cluster; then one for each requirement that is not met.
    place = np.arange(n_leaves * k).reshape(n_leaves, k)
    slack = np.arange(n * k).reshape(n, k)
    shape = (n, n_leaves, k)
    entries = np.concatenate(
        [np.broadcast_to(sums[:, :, None], shape).ravel(), np.full(n * k, -1.0)]
    )
    rows = np.concatenate([np.broadcast_to(slack[:, None, :], shape).ravel(), slack.ravel()])
    columns = np.concatenate([np.broadcast_to(place, shape).ravel(), n_leaves * k + slack.ravel()])
    n_variables = (n_leaves + n) * k
    every_leaf = np.repeat(np.arange(n_leaves), k), place.ravel()
    found = linprog(
        np.concatenate([costs.ravel(), np.full(n * k, violation)]),
        A_ub=sparse.csr_matrix((entries, (rows, columns)), shape=(n * k, n_variables)),
        b_ub=np.repeat(most, k),
        A_eq=sparse.csr_matrix((np.ones(n_leaves * k), every_leaf), shape=(n_leaves, n_variables)),
        b_eq=np.ones(n_leaves),
        method="highs",
    )
    if found.ineqlin is None or found.ineqlin.marginals is None:
        return np.zeros((n, k))
    prices = -np.asarray(found.ineqlin.marginals, dtype=np.float64).reshape(n, k)
    return np.asarray(np.maximum(prices, 0.0))
