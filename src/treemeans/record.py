"""What a fit leaves behind: enough to be the model of every size it passed through."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from treemeans import _core
from treemeans.costs import CostTable
from treemeans.ground import Ground
from treemeans.grow import Sapling
from treemeans.path import LeafSums, cluster_means, path_of
from treemeans.prune import Inside, Pruning, prunings
from treemeans.reference import Reference
from treemeans.tree import ThresholdTree


@dataclass(frozen=True)
class FitRecord:
    """The full tree, where the training rows ended, and what they sum to there.

    ``sizes``: the tree of each row of the path.
    """

    tree: ThresholdTree
    sizes: dict[int, Pruning]
    path: NDArray[np.void]
    reference: Reference
    reference_labels: NDArray[np.int32]
    reference_cost: float
    leaf_of_row: NDArray[np.int32]
    sums: LeafSums
    profile_sums: LeafSums

    def at(self, n_leaves: int) -> "Snapshot":
        """The tree of ``n_leaves`` leaves, and its clusters."""
        full, size = self.tree, self.sizes[n_leaves]
        kept = replace(full, label=size.label).pruned(size.inner)
        label = size.label[full.ancestor_in(size.inner)]  # of the full tree's nodes
        of_leaf = label[full.leaves]
        means = cluster_means(of_leaf, full, self.sums, self.reference.centers)
        unknown = np.full((full.n_clusters, full.n_features), np.nan)
        profiles = cluster_means(of_leaf, full, self.profile_sums, unknown)
        return Snapshot(kept, label[self.leaf_of_row], means, profiles)


@dataclass(frozen=True)
class Snapshot:
    """One size of the tree: labels of the training rows, cluster means in both spaces."""

    tree: ThresholdTree
    labels: NDArray[np.int32]
    means: NDArray[np.float64]
    profiles: NDArray[np.float64]


@dataclass(frozen=True)
class _Stock:
    """What the rows of a grown tree come to."""

    tree: ThresholdTree
    leaf_of_row: NDArray[np.int32]
    sums: LeafSums
    profile_sums: LeafSums


def record_grown(
    sapling: Sapling,
    base_labels: NDArray[np.int32],
    ground: Ground,
    reference: Reference,
    costs: CostTable,
) -> FitRecord:
    """Of a tree as it grew: every size from the base tree's on.

    ``base_labels``: of the base tree's nodes, which are the first, as its own method gave them;
    in larger trees leaves are labelled by the surrogate cost.
    """
    stock = _take_stock(sapling, ground, reference, costs)
    tree, smallest = stock.tree, (len(base_labels) + 1) // 2
    sizes = {n: Pruning(tree.cut_by(n), tree.label) for n in range(smallest, tree.n_leaves + 1)}
    labels = np.append(base_labels, tree.label[len(base_labels) :])
    sizes[smallest] = Pruning(tree.cut_by(smallest), labels)
    path = path_of(tree, base_labels, stock.sums, reference.centers, costs.cheapest)
    return _record(stock, sizes, path, reference, costs)


def record_refined(
    sapling: Sapling,
    ground: Ground,
    centers: NDArray[np.float64],
    reference: Reference,
    costs: CostTable,
) -> FitRecord:
    """Of a tree that was refined: every size from one leaf a cluster on, by optimal pruning.

    ``centers``: those the sapling's costs are measured to.
    """
    stock = _take_stock(sapling, ground, reference, costs)
    inside = Inside(stock.tree, stock.sums, centers)
    found, path = prunings(inside, reference.n_clusters, costs.cheapest)
    sizes = dict(zip(path["n_leaves"].tolist(), found, strict=True))
    return _record(stock, sizes, path, reference, costs)


def _record(
    stock: _Stock,
    sizes: dict[int, Pruning],
    path: NDArray[np.void],
    reference: Reference,
    costs: CostTable,
) -> FitRecord:
    return FitRecord(
        tree=stock.tree,
        sizes=sizes,
        path=path,
        reference=reference,
        reference_labels=costs.nearest,
        reference_cost=costs.cheapest,
        leaf_of_row=stock.leaf_of_row,
        sums=stock.sums,
        profile_sums=stock.profile_sums,
    )


def _take_stock(sapling: Sapling, ground: Ground, reference: Reference, costs: CostTable) -> _Stock:
    table, weights, n_threads = ground.table, ground.weights, ground.n_threads
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

    here = sums(ground.space, ground.shift(reference.centers))
    own_space = reference.pipeline is None
    return _Stock(tree, leaf_of_row, here, here if own_space else sums(table.points, None))


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
