"""The path: what every size of the tree costs, from one fit."""

import numpy as np
from numpy.typing import NDArray

from treemeans.costs import GroupStatistics
from treemeans.tree import ThresholdTree

PATH_DTYPE = np.dtype(
    [
        ("n_leaves", np.int64),
        ("surrogate_cost", np.float64),
        ("kmeans_cost", np.float64),
        ("ratio", np.float64),
        ("accuracy", np.float64),
    ]
)


def path_of(
    tree: ThresholdTree,
    base_labels: NDArray[np.int32],
    leaves: GroupStatistics,
    hits: NDArray[np.float64],
    reference_cost: float,
) -> NDArray[np.void]:
    """One row for every number of leaves from the base tree's to the tree's.

    Walking back from the full tree, every step merges two leaves, and moves at most two of them to
    another cluster.

    Parameters
    ----------
    base_labels : labels of the base tree's nodes, which come first
    leaves : of the rows in the tree's leaves
    hits : (n_leaves, n_clusters), weight of these rows by their reference label
    """
    smallest = (len(base_labels) + 1) // 2
    merging = _Merging(tree, leaves, hits)
    cut_at = {int(tree.growth[node]): int(node) for node in np.flatnonzero(~tree.is_leaf)}
    path = np.zeros(tree.n_leaves - smallest + 1, dtype=PATH_DTYPE)
    for n_leaves in range(tree.n_leaves, smallest - 1, -1):
        if n_leaves == smallest:
            merging.relabel(base_labels)
        costs = reconciled(merging.surrogate_cost, merging.kmeans_cost)
        path[n_leaves - smallest] = path_row(n_leaves, *costs, reference_cost, merging.accuracy)
        if n_leaves > smallest:
            merging.undo(cut_at[n_leaves])
    return path


def path_row(
    n_leaves: int, surrogate_cost: float, kmeans_cost: float, reference_cost: float, accuracy: float
) -> tuple[int, float, float, float, float]:
    """A row of the path."""
    return n_leaves, surrogate_cost, kmeans_cost, _ratio(kmeans_cost, reference_cost), accuracy


def reconciled(surrogate_cost: float, kmeans_cost: float) -> tuple[float, float]:
    """Both costs, the k-means cost not above the other: means are the cheapest centers there are.

    They differ the wrong way round by rounding. That of the surrogate cost is large where a center
    is so far from all rows that the fixed point leaves few digits for the others.
    """
    if kmeans_cost <= surrogate_cost * (1.0 + 1e-9):
        return surrogate_cost, min(kmeans_cost, surrogate_cost)
    return kmeans_cost, kmeans_cost


def _ratio(cost: float, reference_cost: float) -> float:
    if reference_cost > 0.0:
        return cost / reference_cost
    return 1.0 if cost == 0.0 else np.inf


class _Merging:
    """The full tree, of which one cut after the other is undone."""

    def __init__(
        self, tree: ThresholdTree, leaves: GroupStatistics, hits: NDArray[np.float64]
    ) -> None:
        self._tree = tree
        self._leaves = leaves
        self._place = np.full(tree.n_nodes, -1)  # where a leaf's rows are counted
        self._place[tree.leaves] = np.arange(tree.n_leaves)
        self._label = tree.label[tree.leaves].copy()  # of the full tree's leaves, as things are
        self._joined = np.arange(tree.n_leaves)  # the first of the leaves that are one by now
        self._hits = hits.copy()
        self._total = float(hits.sum())
        self._right = float(hits[np.arange(tree.n_leaves), self._label].sum())
        self._costs = leaves.merged(self._label, tree.n_clusters).within
        self.surrogate_cost = tree.surrogate_cost

    @property
    def kmeans_cost(self) -> float:
        assert self._costs is not None
        return float(self._costs.sum())

    @property
    def accuracy(self) -> float:
        return self._right / self._total

    def relabel(self, labels: NDArray[np.int32]) -> None:
        """Give the leaves, which are among the first nodes, other labels."""
        for node in np.flatnonzero(self._tree.label[: len(labels)] != labels):
            place, old, new = self._place[node], self._tree.label[node], labels[node]
            if place < 0:  # an inner node
                continue
            self._right += self._hits[place, new] - self._hits[place, old]
            self.surrogate_cost += self._tree.costs[node, new] - self._tree.costs[node, old]
            self._move(place, int(new))

    def undo(self, node: int) -> None:
        tree, label = self._tree, self._tree.label
        children = (int(tree.left[node]), int(tree.right[node]))
        kept, gone = (int(self._place[child]) for child in children)
        for child, place in zip(children, (kept, gone), strict=True):
            self._right -= self._hits[place, label[child]]
            self.surrogate_cost -= tree.costs[child, label[child]]
            self._move(place, int(label[node]))
        self._joined[self._joined == gone] = kept
        self._hits[kept] += self._hits[gone]
        self._place[node] = kept
        self._right += self._hits[kept, label[node]]
        self.surrogate_cost += tree.costs[node, label[node]]

    def _move(self, place: int, target: int) -> None:
        """Another label for the leaves that are one by now."""
        source = int(self._label[place])
        if source == target:
            return
        assert self._costs is not None
        self._label[self._joined == place] = target
        for cluster in (source, target):
            self._costs[cluster] = self._leaves.union_cost(np.flatnonzero(self._label == cluster))
