"""The path: what every size of the tree costs, from one fit."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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


@dataclass(frozen=True)
class LeafSums:
    """What the k-means cost of any labelling of the leaves can be told from.

    Attributes
    ----------
    sums : (n_leaves, dimension), weighted sums of the leaf's rows less ``shift``
    hits : (n_leaves, n_clusters), weight of the leaf's rows by their reference label
    shift : (dimension,)
    """

    sums: NDArray[np.float64]
    hits: NDArray[np.float64]
    shift: NDArray[np.float64]


def path_of(
    tree: ThresholdTree,
    base_labels: NDArray[np.int32],
    leaf_sums: LeafSums,
    reference_centers: NDArray[np.float64],
    reference_cost: float,
) -> NDArray[np.void]:
    """One row for every number of leaves from the base tree's to the tree's.

    ``base_labels``: labels of the base tree's nodes, which come first.

    The k-means cost of a cluster is its cost to the reference center less weight times squared
    distance from that center to its mean. Walking back from the full tree, every step merges two
    leaves, and moves at most two leaves' sums to another cluster.
    """
    smallest = (len(base_labels) + 1) // 2
    merging = _Merging(tree, leaf_sums, reference_centers)
    cut_at = {int(tree.growth[node]): int(node) for node in np.flatnonzero(~tree.is_leaf)}
    path = np.zeros(tree.n_leaves - smallest + 1, dtype=PATH_DTYPE)
    for n_leaves in range(tree.n_leaves, smallest - 1, -1):
        if n_leaves == smallest:
            merging.relabel(base_labels)
        cost = merging.kmeans_cost
        path[n_leaves - smallest] = path_row(
            n_leaves, merging.surrogate_cost, cost, reference_cost, merging.accuracy
        )
        if n_leaves > smallest:
            merging.undo(cut_at[n_leaves])
    return path


def path_row(
    n_leaves: int, surrogate_cost: float, kmeans_cost: float, reference_cost: float, accuracy: float
) -> tuple[int, float, float, float, float]:
    """A row of the path."""
    return n_leaves, surrogate_cost, kmeans_cost, _ratio(kmeans_cost, reference_cost), accuracy


def cluster_means(
    label: NDArray[np.int32],
    tree: ThresholdTree,
    leaf_sums: LeafSums,
    fallback: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Mean of each cluster, the leaves labelled with ``label``; ``fallback`` for an empty one."""
    weight = np.bincount(label, tree.weight[tree.leaves], minlength=tree.n_clusters)
    sums = np.zeros_like(fallback)
    np.add.at(sums, label, leaf_sums.sums)
    means = fallback.copy()
    occupied = weight > 0
    means[occupied] = leaf_sums.shift + sums[occupied] / weight[occupied, None]
    return means


def _ratio(cost: float, reference_cost: float) -> float:
    if reference_cost > 0.0:
        return cost / reference_cost
    return 1.0 if cost == 0.0 else np.inf


class _Merging:
    """The full tree, of which one cut after the other is undone."""

    def __init__(
        self, tree: ThresholdTree, leaf_sums: LeafSums, centers: NDArray[np.float64]
    ) -> None:
        leaves = tree.leaves
        self._tree = tree
        self._place = np.full(tree.n_nodes, -1)  # of a leaf's sums
        self._place[leaves] = np.arange(len(leaves))
        self._sums, self._hits = leaf_sums.sums.copy(), leaf_sums.hits.copy()
        self._clusters = _Clusters(tree, leaf_sums, centers)
        self._total = float(leaf_sums.hits.sum())
        self._right = float(self._hits[np.arange(len(leaves)), tree.label[leaves]].sum())
        self.surrogate_cost = tree.surrogate_cost

    @property
    def kmeans_cost(self) -> float:
        return max(self.surrogate_cost - self._clusters.saved, 0.0)

    @property
    def accuracy(self) -> float:
        return self._right / self._total

    def relabel(self, labels: NDArray[np.int32]) -> None:
        """Give the leaves, which are among the first nodes, other labels."""
        for node in np.flatnonzero(self._tree.label[: len(labels)] != labels):
            place, old, new = self._place[node], self._tree.label[node], labels[node]
            self._clusters.move(self._sums[place], self._tree.weight[node], old, new)
            self._right += self._hits[place, new] - self._hits[place, old]
            self.surrogate_cost += self._tree.costs[node, new] - self._tree.costs[node, old]

    def undo(self, node: int) -> None:
        tree, label = self._tree, self._tree.label
        children = (int(tree.left[node]), int(tree.right[node]))
        for child in children:
            sums = self._sums[self._place[child]]
            self._clusters.move(sums, tree.weight[child], label[child], label[node])
            self._right -= self._hits[self._place[child], label[child]]
            self.surrogate_cost -= tree.costs[child, label[child]]
        kept, gone = self._place[children[0]], self._place[children[1]]
        self._sums[kept] += self._sums[gone]
        self._hits[kept] += self._hits[gone]
        self._place[node] = kept
        self._right += self._hits[kept, label[node]]
        self.surrogate_cost += tree.costs[node, label[node]]


class _Clusters:
    """Weight and sum of every cluster; and what their means save over the reference centers."""

    def __init__(
        self, tree: ThresholdTree, leaf_sums: LeafSums, centers: NDArray[np.float64]
    ) -> None:
        leaves = tree.leaves
        self.centers = centers - leaf_sums.shift
        self.weight = np.bincount(
            tree.label[leaves], tree.weight[leaves], minlength=tree.n_clusters
        )
        self.sums = np.zeros_like(self.centers)
        np.add.at(self.sums, tree.label[leaves], leaf_sums.sums)
        self.saving = np.zeros(tree.n_clusters)
        for cluster in range(tree.n_clusters):
            self._update(cluster)

    @property
    def saved(self) -> float:
        return float(self.saving.sum())

    def move(self, sums: NDArray[np.float64], weight: float, source: int, target: int) -> None:
        if source == target:
            return
        for cluster, sign in ((source, -1.0), (target, 1.0)):
            self.weight[cluster] += sign * weight
            self.sums[cluster] += sign * sums
            self._update(cluster)

    def _update(self, cluster: int) -> None:
        weight = self.weight[cluster]
        if weight > 0:
            away = self.sums[cluster] - weight * self.centers[cluster]
            self.saving[cluster] = away @ away / weight
        else:
            self.saving[cluster] = 0.0
