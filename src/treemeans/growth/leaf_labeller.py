"""LeafLabeller: labels of the leaves of a tree within limits on clusters, at every size."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from treemeans.cluster_limits import ClusterLimits
from treemeans.growth.in_memory_tree import InMemoryTree
from treemeans.growth.labelling import MOST_NODES, Requirement, best_labels, nearest_labels

Labels = NDArray[np.int32]

_NODES_OF_SMALLER = 200
"""Nodes of the branch and bound for trees smaller than the largest: near the size at which there
are no labels any more, a proof of that can take long."""
_DIGITS = 10_000
"""Bounds on shares are given to the user in multiples of the inverse."""


def leaves_at(growing: InMemoryTree, n_leaves: int) -> list[int]:
    """The nodes that are leaves of a tree when it has ``n_leaves``."""
    found, open_nodes = [], [0]
    while open_nodes:
        node = open_nodes.pop()
        if growing.feature[node] >= 0 and growing.growth[node] <= n_leaves:
            open_nodes += [growing.right[node], growing.left[node]]
        else:
            found.append(node)
    return found


class LeafLabeller:
    """Labels the leaves of a tree within limits on clusters.

    Parameters
    ----------
    growing : the tree, of any size
    limits : on clusters
    """

    def __init__(self, growing: InMemoryTree, limits: ClusterLimits) -> None:
        self._growing = growing
        self._limits = limits
        self._weight = growing.weights_by_node().tolist()
        self._bounds = limits.size_bounds(growing.costs)
        self._shares = [
            (*bound.fractions, growing.weights_by_node(bound.members).tolist())
            for bound in limits.shares
        ]

    def labels(self, n_leaves: int, most_nodes: int = MOST_NODES) -> Labels | None:
        """The cheapest labels within the limits, of all nodes; None where there are none.

        Only those of the nodes that are leaves at that size count. A leaf without rows is in no
        sum: any label will do, and it keeps its own.
        """
        growing = self._growing
        nodes = [node for node in leaves_at(growing, n_leaves) if not growing.is_empty(node)]
        costs = np.array([growing.totals[node] for node in nodes])
        found = best_labels(costs, list(self.requirements(nodes)), most_nodes)
        if found is None:
            return None
        label = np.array(growing.label, dtype=np.int32)
        label[nodes] = found
        return label

    def is_met_by_cheapest(self) -> bool:
        """Whether the limits are met if every leaf of the whole tree has its cheapest center."""
        growing, k = self._growing, self._growing.costs.n_clusters
        nodes = [leaf for leaf in growing.leaves if not growing.is_empty(leaf)]
        labels = [growing.cheapest(node) for node in nodes]
        return all(each.is_met(labels, k) for each in self.requirements(nodes))

    def all_sizes(self, fewest: int) -> dict[int, Labels]:
        """Labels for every size that has some, from ``fewest`` leaves on."""
        found: dict[int, Labels] = {}
        for n_leaves in range(self._growing.n_leaves, fewest - 1, -1):
            most_nodes = _NODES_OF_SMALLER if found else MOST_NODES
            labels = self.labels(n_leaves, most_nodes)
            if labels is None:  # and no smaller tree has any
                break
            found[n_leaves] = labels
        return dict(sorted(found.items()))

    def nearest(self) -> ClusterLimits:
        """The limits nearest to these that the whole tree can meet, as far as they were found.

        Each of them is what the clusters of some labels have.
        """
        growing, limits, k = self._growing, self._limits, self._growing.costs.n_clusters
        nodes = [leaf for leaf in growing.leaves if not growing.is_empty(leaf)]
        found = nearest_labels(list(self.requirements(nodes)), k)
        if found is None:
            return limits
        weight = _by_cluster([self._weight[node] for node in nodes], found, k)
        total, unit = sum(weight), growing.costs.weight_unit
        low, high = self._bounds
        if low is not None and min(weight) < low:
            limits = replace(limits, min_size=_size(min(weight), total, unit, limits.min_size, -1))
        if high is not None and max(weight) > high:
            limits = replace(limits, max_size=_size(max(weight), total, unit, limits.max_size, 1))
        shares = []
        for bound, (_, _, members) in zip(limits.shares, self._shares, strict=True):
            counts = _by_cluster([members[node] for node in nodes], found, k)
            each = [count / size for count, size in zip(counts, weight, strict=True) if size]
            least = min(bound.low, math.floor(min(each) * _DIGITS) / _DIGITS)
            most = max(bound.high, math.ceil(max(each) * _DIGITS) / _DIGITS)
            shares.append(replace(bound, low=least, high=most))
        return replace(limits, shares=tuple(shares))

    def requirements(self, nodes: list[int]) -> Iterator[Requirement]:
        """What the sums over the clusters must be, if these nodes are the leaves."""
        weight, (low, high) = self._weight, self._bounds
        if low is not None or high is not None:
            yield Requirement(tuple(weight[node] for node in nodes), low, high)
        for least, most, members in self._shares:
            # members / weight >= p / q  is  q * members - p * weight >= 0, in whole numbers.
            for share, sign in ((least, 1), (most, -1)):
                p, q = share.numerator, share.denominator
                yield Requirement(
                    tuple(sign * (q * members[node] - p * weight[node]) for node in nodes), 0
                )


def _by_cluster(values: list[int], labels: Labels, k: int) -> list[int]:
    sums = [0] * k
    for value, label in zip(values, labels.tolist(), strict=True):
        sums[label] += value
    return sums


def _size(units: int, total: int, unit: float, given: float | None, side: int) -> float:
    """A size in the form that the limit was given in, a share or a weight; rounded to ``side``."""
    assert given is not None
    if given >= 1:
        return units * unit
    share = units / total * _DIGITS
    return (math.floor(share) if side < 0 else math.ceil(share)) / _DIGITS
