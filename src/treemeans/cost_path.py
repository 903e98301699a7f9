"""The path: what every size of the tree costs, from one fit."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from treemeans.costs import GroupCosts
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
    leaves: GroupCosts,
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
    label, n_leaves = tree.label.tolist(), tree.n_leaves
    place = {int(leaf): i for i, leaf in enumerate(tree.leaves)}  # where a node's rows are counted
    merged = np.arange(n_leaves)  # of each leaf of the full tree, the first it is one with by now
    now = tree.label[tree.leaves].copy()  # of these leaves, the cluster they are in by now
    hits = hits.copy()
    total, right = float(hits.sum()), float(hits[np.arange(n_leaves), now].sum())
    clusters = leaves.merged(now, tree.n_clusters).within
    assert clusters is not None
    surrogate = tree.surrogate_cost

    def move(nodes: Iterable[int], targets: Iterable[int]) -> None:
        """Give nodes that are leaves by now to other clusters, and price the clusters that change.

        Only the last state counts, so a cluster that both nodes leave or join is priced once.
        """
        changed: set[int] = set()
        for node, target in zip(nodes, targets, strict=True):
            i = place[node]
            if now[i] != target:
                changed |= {int(now[i]), target}
                now[merged == i] = target
        for cluster in changed:
            clusters[cluster] = leaves.union_cost(np.flatnonzero(now == cluster), cluster)

    path = np.zeros(n_leaves - smallest + 1, dtype=PATH_DTYPE)
    cut_nodes = np.flatnonzero(~tree.is_leaf)
    last_first = cut_nodes[np.argsort(-tree.growth[cut_nodes])].tolist()
    for size in range(n_leaves, smallest - 1, -1):
        if size == smallest:
            # The base tree's own method may have labelled its leaves otherwise.
            other = np.flatnonzero(tree.label[: len(base_labels)] != base_labels).tolist()
            other = [node for node in other if node in place]
            for node in other:
                new = int(base_labels[node])
                right += hits[place[node], new] - hits[place[node], label[node]]
                surrogate += tree.costs[node, new] - tree.costs[node, label[node]]
            move(other, base_labels[other].tolist())
        costs = reconciled(surrogate, float(clusters.sum()))
        path[size - smallest] = path_row(size, *costs, reference_cost, right / total)
        if size > smallest:
            node = last_first[n_leaves - size]
            children = (int(tree.left[node]), int(tree.right[node]))
            for child in children:
                right -= hits[place[child], label[child]]
                surrogate -= tree.costs[child, label[child]]
            move(children, (label[node], label[node]))
            kept, gone = place.pop(children[0]), place.pop(children[1])
            merged[merged == gone] = kept
            hits[kept] += hits[gone]
            place[node] = kept
            right += hits[kept, label[node]]
            surrogate += tree.costs[node, label[node]]
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
