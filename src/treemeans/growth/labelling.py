"""The labels of leaves within limits on clusters: a small assignment problem, solved exactly.

Every leaf gets one cluster, so that the surrogate cost is least and every cluster meets its
requirements. What a requirement adds up are whole numbers, as are the costs, and each solution of
HiGHS is checked in whole numbers before it is accepted: the tolerances of its floats decide
nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from treemeans.growth.leaf_sets import labels_by_sets

Ints = NDArray[np.int64]

_COST_BITS = 36
"""Costs are rounded so that those of all leaves together have so many bits: HiGHS takes solutions
whose costs differ by 1e-6 for equally good, which is then less than a unit."""
_LARGEST_SUM = 1e9
"""Largest sum of a requirement that HiGHS is given, so that its tolerance is far below a row."""
_SLACK = 0.01
"""What sums that had to be scaled may miss their bounds by: HiGHS rounds them, and must not refuse
labels that meet a bound exactly. Whole numbers then refuse those that do not."""
MOST_NODES = 20_000
"""Nodes of a branch and bound; beyond them the best labelling found so far is taken. A number of
nodes and not of seconds, so that the tree does not depend on the machine."""
_MOST_STEPS = 20_000
"""Steps of the search for a proof that there are no labels."""
_MOST_RETRIES = 50
"""Solutions that floats accept and whole numbers do not, each of which is then forbidden."""


@dataclass(frozen=True)
class Requirement:
    """What a sum over the rows of every cluster must be.

    Attributes
    ----------
    values : what each leaf adds to the sum of its cluster, whole numbers of any size
    low, high : least and largest sum of a cluster; None where there is none
    """

    values: tuple[int, ...]
    low: int | None = None
    high: int | None = None

    def is_met(self, labels: Sequence[int], n_clusters: int) -> bool:
        """Whether every cluster has a sum within the bounds."""
        sums = [0] * n_clusters
        for value, label in zip(self.values, labels, strict=True):
            sums[label] += value
        return all(
            (self.low is None or each >= self.low) and (self.high is None or each <= self.high)
            for each in sums
        )

    def constraint(self, n_clusters: int) -> LinearConstraint:
        """One row for each cluster, in floats; the variables are leaf by leaf, then cluster."""
        values = np.array([float(value) for value in self.values])
        scale = max(1.0, float(np.abs(values).sum()) / _LARGEST_SUM)
        rows = sparse.kron(sparse.csr_matrix(values / scale), sparse.identity(n_clusters))
        slack = _SLACK if scale > 1.0 else 0.0
        low = -np.inf if self.low is None else self.low / scale - slack
        high = np.inf if self.high is None else self.high / scale + slack
        return LinearConstraint(rows.tocsr(), low, high)


def best_labels(
    costs: Ints, requirements: Sequence[Requirement], most_nodes: int = MOST_NODES
) -> NDArray[np.int32] | None:
    """The cheapest labels of leaves with which every cluster meets the requirements; None if none.

    Parameters
    ----------
    costs : (n_leaves, n_clusters), of the rows of each leaf at each cluster, none negative
    requirements : on the sums of every cluster
    most_nodes : of the branch and bound

    Returns
    -------
    array of shape (n_leaves,), the cluster of each leaf

    Examples
    --------
    Three leaves of 10 rows each are cheapest in cluster 0, which may have 20 rows:

    >>> costs = np.array([[0, 5], [0, 4], [0, 9]])
    >>> best_labels(costs, [Requirement((10, 10, 10), high=20)]).tolist()
    [0, 1, 0]
    """
    n_leaves, k = costs.shape
    cheapest = costs.argmin(axis=1)
    if _is_met(cheapest, requirements, k):
        return np.asarray(cheapest, dtype=np.int32)
    by_sets = labels_by_sets(_rounded(costs), requirements)
    if by_sets is not None:
        return by_sets.labels
    if is_impossible(requirements, k):
        return None
    each_leaf = sparse.kron(sparse.identity(n_leaves), np.ones((1, k)))
    constraints = [LinearConstraint(each_leaf.tocsr(), 1.0, 1.0)]
    constraints += [each.constraint(k) for each in requirements]
    objective = _rounded(costs).ravel()
    for _ in range(_MOST_RETRIES):
        found = milp(
            objective,
            integrality=np.ones(n_leaves * k),
            bounds=Bounds(0.0, 1.0),
            constraints=constraints,
            options={"mip_rel_gap": 0.0, "node_limit": most_nodes},
        )
        if found.x is None:
            return None
        labels = found.x.reshape(n_leaves, k).argmax(axis=1)
        if _is_met(labels, requirements, k):
            return np.asarray(labels, dtype=np.int32)
        # Met but for the tolerance: these labels are forbidden, all others stay.
        forbidden = np.zeros((n_leaves, k))
        forbidden[np.arange(n_leaves), labels] = 1.0
        constraints.append(LinearConstraint(forbidden.reshape(1, -1), -np.inf, n_leaves - 1.0))
    return None


def is_impossible(
    requirements: Sequence[Requirement], n_clusters: int, most_steps: int = _MOST_STEPS
) -> bool:
    """Whether a short search proves that no labels meet the requirements.

    They are the same for every cluster, so clusters without leaves are interchangeable: the search
    opens them one by one, which a branch and bound on labels does not know. It is quick where there
    are hardly more leaves than clusters, where HiGHS takes longest.
    """
    # Everything as "at least": an upper bound is a lower bound of the negative.
    sums = [(each.values, each.low) for each in requirements if each.low is not None]
    sums += [
        (tuple(-value for value in each.values), -each.high)
        for each in requirements
        if each.high is not None
    ]
    if not sums:
        return False
    order = sorted(
        range(len(sums[0][0])), key=lambda leaf: -max(abs(values[leaf]) for values, _ in sums)
    )
    search = _Search([([values[leaf] for leaf in order], low) for values, low in sums], n_clusters)
    search.steps_left = most_steps
    return not search.may_succeed(0, 0)


class _Search:
    """Gives leaves to clusters one by one, as long as the rest can still make up what is lacking.

    Attributes
    ----------
    steps_left : once there are none, everything may succeed
    """

    def __init__(self, sums: list[tuple[list[int], int]], n_clusters: int) -> None:
        self._n_clusters = n_clusters
        self._sums = [(values, low, [0] * n_clusters) for values, low in sums]
        self._n_leaves = len(sums[0][0])
        # What leaves from a place on can add to a sum at most.
        self._gains = [_from_the_end([max(0, value) for value in values]) for values, _ in sums]
        self.steps_left = 0

    def may_succeed(self, place: int, n_open: int) -> bool:
        """Whether there may be clusters for the leaves from ``place`` on, ``n_open`` being open."""
        self.steps_left -= 1
        if self.steps_left < 0:
            return True
        for (_, low, of_cluster), gains in zip(self._sums, self._gains, strict=True):
            if sum(low - each for each in of_cluster if each < low) > gains[place]:
                return False
        if place == self._n_leaves:
            return True
        for cluster in range(min(n_open + 1, self._n_clusters)):
            self._add(place, cluster, 1)
            succeeds = self.may_succeed(place + 1, max(n_open, cluster + 1))
            self._add(place, cluster, -1)
            if succeeds:
                return True
        return False

    def _add(self, place: int, cluster: int, sign: int) -> None:
        for values, _, of_cluster in self._sums:
            of_cluster[cluster] += sign * values[place]


def _from_the_end(values: list[int]) -> list[int]:
    """Sums of the values from each place on; the last is 0."""
    sums = [0]
    for value in reversed(values):
        sums.append(sums[-1] + value)
    return sums[::-1]


def nearest_labels(
    requirements: Sequence[Requirement], n_clusters: int, most_nodes: int = 200
) -> NDArray[np.int32] | None:
    """Labels that miss the requirements by as little as possible, whatever they cost.

    What a requirement is missed by is measured at the cluster that misses it most, as a share of
    what all leaves add to its sum. Clusters are interchangeable here: of the leaves, large ones
    first, each is in a cluster of one before it or in the next.
    """
    n_leaves, k, n = len(requirements[0].values), n_clusters, len(requirements)
    each_leaf = sparse.kron(sparse.identity(n_leaves), np.ones((1, k)))
    none = sparse.csr_matrix((n_leaves, n))
    constraints = [LinearConstraint(sparse.hstack([each_leaf, none]).tocsr(), 1.0, 1.0)]
    for place, each in enumerate(requirements):
        plain = each.constraint(k)
        scale = max(1.0, float(np.abs(plain.A).sum()) / k)
        missed = sparse.csr_matrix((np.ones(k), (np.arange(k), np.full(k, place))), shape=(k, n))
        for sign, bound in ((1.0, plain.lb), (-1.0, -plain.ub)):
            if np.isfinite(bound).all():
                rows = sparse.hstack([sign * plain.A / scale, missed]).tocsr()
                constraints.append(LinearConstraint(rows, bound / scale, np.inf))
    sizes = [max(abs(each.values[leaf]) for each in requirements) for leaf in range(n_leaves)]
    may = np.ones((n_leaves, k))
    may[sorted(range(n_leaves), key=lambda leaf: -sizes[leaf])] = np.tri(n_leaves, k)
    found = milp(
        np.concatenate([np.zeros(n_leaves * k), np.ones(n)]),
        integrality=np.concatenate([np.ones(n_leaves * k), np.zeros(n)]),
        bounds=Bounds(0.0, np.concatenate([may.ravel(), np.full(n, np.inf)])),
        constraints=constraints,
        options={"node_limit": most_nodes},
    )
    if found.x is None:
        return None
    labels = found.x[: n_leaves * k].reshape(n_leaves, k).argmax(axis=1)
    return np.asarray(labels, dtype=np.int32)


def _is_met(labels: NDArray[np.intp], requirements: Sequence[Requirement], k: int) -> bool:
    given = labels.tolist()
    return all(each.is_met(given, k) for each in requirements)


def _rounded(costs: Ints) -> NDArray[np.float64]:
    """What each label costs beyond the leaf's cheapest, as whole numbers that floats hold."""
    regrets = costs - costs.min(axis=1, keepdims=True)
    total = int(sum(int(each) for each in regrets.max(axis=1)))
    unit = 2.0 ** max(0, total.bit_length() - _COST_BITS)
    return np.asarray(np.rint(regrets / unit))
