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
    costs: NDArray[np.float64],
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
    costs : (n_nodes, n_clusters), of the rows in the tree's nodes
    base_labels : labels of the base tree's nodes, which come first
    leaves : statistics of the rows in the tree's leaves
    hits : (n_leaves, n_clusters), weight of these rows by their reference label
    """
    smallest = (len(base_labels) + 1) // 2
    label, n_leaves = tree.label.tolist(), tree.n_leaves
    base, left, right = base_labels.tolist(), tree.left.tolist(), tree.right.tolist()
    leaf_nodes = tree.leaves.tolist()
    place = {leaf: i for i, leaf in enumerate(leaf_nodes)}  # where a node's rows are counted
    parts = [[i] for i in range(n_leaves)]  # the full tree's leaves that are merged at this size
    now = [label[leaf] for leaf in leaf_nodes]  # the cluster of each of these leaves at this size
    counts, node_costs = hits.tolist(), costs.tolist()
    total, hit = float(hits.sum()), float(hits[np.arange(n_leaves), now].sum())
    surrogate = float(costs[tree.leaves, now].sum())
    clusters = leaves.merged(np.array(now, dtype=np.int32), tree.n_clusters).within
    assert clusters is not None
    unions: list[tuple[int, list[int]]] = []  # clusters that change, and the leaves in them
    steps: list[int] = []  # how many of these come before each size
    sizes: list[tuple[float, float]] = []  # surrogate cost and hits of each size

    def move(nodes: Iterable[int], targets: Iterable[int]) -> None:
        """Give nodes that are leaves at this size to other clusters.

        Only the last state counts, so a cluster that both nodes leave or join is priced once.
        """
        changed: set[int] = set()
        for node, target in zip(nodes, targets, strict=True):
            i = place[node]
            if now[i] != target:
                changed |= {now[i], target}
                for leaf in parts[i]:
                    now[leaf] = target
        unions.extend(
            (cluster, [leaf for leaf, joined in enumerate(now) if joined == cluster])
            for cluster in changed
        )

    cut_nodes = np.flatnonzero(~tree.is_leaf)
    last_first = cut_nodes[np.argsort(-tree.growth[cut_nodes])].tolist()
    for size in range(n_leaves, smallest - 1, -1):
        if size == smallest:
            # The base tree's own method may have labelled its leaves otherwise.
            other = [node for node, new in enumerate(base) if new != label[node] and node in place]
            for node in other:
                new = base[node]
                hit += counts[place[node]][new] - counts[place[node]][label[node]]
                surrogate += node_costs[node][new] - node_costs[node][label[node]]
            move(other, [base[node] for node in other])
        sizes.append((surrogate, hit))
        steps.append(len(unions))
        if size > smallest:
            node = last_first[n_leaves - size]
            children = (left[node], right[node])
            for child in children:
                hit -= counts[place[child]][label[child]]
                surrogate -= node_costs[child][label[child]]
            move(children, (label[node], label[node]))
            kept, gone = place.pop(children[0]), place.pop(children[1])
            parts[kept] += parts[gone]
            counts[kept] = [one + two for one, two in zip(counts[kept], counts[gone], strict=True)]
            place[node] = kept
            hit += counts[kept][label[node]]
            surrogate += node_costs[node][label[node]]
    path, done = np.zeros(len(sizes), dtype=PATH_DTYPE), 0
    union_costs = leaves.union_costs(unions)
    for i, (surrogate, hit) in enumerate(sizes):
        for j in range(done, steps[i]):
            clusters[unions[j][0]] = union_costs[j]
        done = steps[i]
        both = reconciled(surrogate, float(clusters.sum()))
        path[-1 - i] = path_row(n_leaves - i, *both, reference_cost, hit / total)
    return path


def path_row(
    n_leaves: int, surrogate_cost: float, kmeans_cost: float, reference_cost: float, accuracy: float
) -> tuple[int, float, float, float, float]:
    """A row of the path."""
    return n_leaves, surrogate_cost, kmeans_cost, _ratio(kmeans_cost, reference_cost), accuracy


def reconciled(surrogate_cost: float, kmeans_cost: float) -> tuple[float, float]:
    """Both costs, the k-means cost at most the surrogate cost: means are the cheapest centers.

    Rounding can make the k-means cost the larger one.
    """
    if kmeans_cost <= surrogate_cost * (1.0 + 1e-9):
        return surrogate_cost, min(kmeans_cost, surrogate_cost)
    return kmeans_cost, kmeans_cost


def _ratio(cost: float, reference_cost: float) -> float:
    if reference_cost > 0.0:
        return cost / reference_cost
    return 1.0 if cost == 0.0 else np.inf
