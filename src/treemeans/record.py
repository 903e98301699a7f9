"""What a fit leaves behind: enough to be the model of every size it passed through."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from treemeans import _core
from treemeans.grow import Sapling
from treemeans.path import LeafSums, cluster_means, path_of
from treemeans.reference import Reference
from treemeans.tree import ThresholdTree


@dataclass(frozen=True)
class FitRecord:
    """The full tree, where the training rows ended, and what they sum to there.

    ``base_labels``: of the base tree's nodes, which are the first, as its own method gave them;
    in larger trees leaves are labelled by the surrogate cost.
    """

    tree: ThresholdTree
    base_labels: NDArray[np.int32]
    path: NDArray[np.void]
    reference: Reference
    reference_labels: NDArray[np.int32]
    reference_cost: float
    leaf_of_row: NDArray[np.int32]
    sums: LeafSums
    profile_sums: LeafSums

    def at(self, n_leaves: int) -> "Snapshot":
        """The tree when it had ``n_leaves`` leaves, and its clusters."""
        full, tree = self.tree, self.tree.with_leaves(n_leaves)
        label = full.label
        if 2 * n_leaves - 1 == len(self.base_labels):
            label = np.append(self.base_labels, full.label[len(self.base_labels) :])
            tree = replace(tree, label=self.base_labels)
        label = label[full.ancestor_at(n_leaves)]  # of the full tree's nodes, in the smaller tree
        of_leaf = label[full.leaves]
        means = cluster_means(of_leaf, full, self.sums, self.reference.centers)
        unknown = np.full((full.n_clusters, full.n_features), np.nan)
        profiles = cluster_means(of_leaf, full, self.profile_sums, unknown)
        return Snapshot(tree, label[self.leaf_of_row], means, profiles)


@dataclass(frozen=True)
class Snapshot:
    """One size of the tree: labels of the training rows, cluster means in both spaces."""

    tree: ThresholdTree
    labels: NDArray[np.int32]
    means: NDArray[np.float64]
    profiles: NDArray[np.float64]


def record_fit(
    sapling: Sapling,
    base_labels: NDArray[np.int32],
    reference: Reference,
    space: _core.Points,
    weights: NDArray[np.float64] | None,
) -> FitRecord:
    """Take stock of a grown tree. ``space``: the points, where the reference's centers live."""
    table, costs, n_threads = sapling.table, sapling.costs, sapling.n_threads
    tree = sapling.freeze()
    leaf_of_row = sapling.leaf_of_row()
    if len(costs.rows) < table.n_rows:  # rows without weight took no part, but have a leaf
        everywhere = tree.outcome(table.points, np.arange(tree.n_nodes, dtype=np.int32), n_threads)
        assert everywhere is not None  # the table was checked
        leaf_of_row = everywhere
    place = np.zeros(tree.n_nodes, dtype=np.int32)
    place[tree.leaves] = np.arange(tree.n_leaves)
    groups = place[leaf_of_row]
    hits = _hits(tree, groups, costs.nearest, weights)

    def sums(points: _core.Points, shift: NDArray[np.float64] | None) -> LeafSums:
        found = _core.group_sums(points, groups, tree.n_leaves, weights, shift, n_threads)
        return LeafSums(found, hits, np.zeros(found.shape[1]) if shift is None else shift)

    own_space = reference.pipeline is None
    here = sums(space, reference.centers.mean(axis=0) if own_space and table.dense else None)
    return FitRecord(
        tree=tree,
        base_labels=base_labels,
        path=path_of(tree, base_labels, here, reference.centers, costs.cheapest),
        reference=reference,
        reference_labels=costs.nearest,
        reference_cost=costs.cheapest,
        leaf_of_row=leaf_of_row,
        sums=here,
        profile_sums=here if own_space else sums(table.points, None),
    )


def _hits(
    tree: ThresholdTree,
    leaf: NDArray[np.int32],
    label: NDArray[np.int32],
    weights: NDArray[np.float64] | None,
) -> NDArray[np.float64]:
    """Weight of the rows by leaf and reference label."""
    shape = (tree.n_leaves, tree.n_clusters)
    cell = leaf.astype(np.int64) * tree.n_clusters + label
    return np.bincount(cell, weights, minlength=shape[0] * shape[1]).reshape(shape).astype(float)
