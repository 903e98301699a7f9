"""What a fit leaves behind: enough to be the model of every size it passed through."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from treemeans import _core
from treemeans.columns import Columns, plain_columns, rounded
from treemeans.costs import CostTable
from treemeans.explain.facts import Facts
from treemeans.ground import Ground
from treemeans.grow import Sapling
from treemeans.path import LeafSums, cluster_means, path_of
from treemeans.prune import Inside, Pruning, prunings
from treemeans.reference import Reference
from treemeans.tree import ThresholdTree


@dataclass(frozen=True)
class FitRecord:
    """The full tree, where the training rows ended, and what they sum to there.

    Attributes
    ----------
    tree : the full tree
    sizes : the tree of each row of the path
    path : what every size costs
    reference : the clustering that is explained
    reference_cost : its cost
    centers : those the costs in the tree are measured to: the reference's, or refined ones
    sums : of the rows in the leaves, in the reference's space
    profile_sums : the same in the columns of X
    spread : standard deviation of each column of X
    columns : how to read them
    short : whether thresholds are as short as their gaps allow, in the units of the columns
    rows : where each training row is; None in a model that was loaded
    """

    tree: ThresholdTree
    sizes: Mapping[int, Pruning]
    path: NDArray[np.void]
    reference: Reference
    reference_cost: float
    centers: NDArray[np.float64]
    sums: LeafSums
    profile_sums: LeafSums
    spread: NDArray[np.float64]
    columns: Columns
    short: bool
    rows: RowRecord | None

    def read_as(self, columns: Columns) -> FitRecord:
        """The same, with other columns: what is short for a number may not be so for a date."""
        if len(columns) != self.tree.n_features:
            raise ValueError(
                f"The tree has {self.tree.n_features} columns, but {len(columns)} were given."
            )
        tree = rounded(self.tree, columns) if self.short else self.tree
        return replace(self, tree=tree, columns=columns)

    def at(self, n_leaves: int) -> Snapshot:
        """The tree of ``n_leaves`` leaves, and its clusters."""
        full, size = self.tree, self.sizes[n_leaves]
        kept = full
        if n_leaves < full.n_leaves or not np.array_equal(size.label, full.label):
            kept = replace(full, label=size.label).pruned(size.inner)
        label = size.label[full.ancestor_in(size.inner)]  # of the full tree's nodes
        of_leaf = label[full.leaves]
        means = cluster_means(of_leaf, full, self.sums, self.reference.centers)
        unknown = np.full((full.n_clusters, full.n_features), np.nan)
        profiles = cluster_means(of_leaf, full, self.profile_sums, unknown)
        labels = None if self.rows is None else label[self.rows.leaf]
        return Snapshot(kept, labels, means, profiles)

    def facts(self, n_leaves: int) -> Facts:
        """What explanations of the tree of ``n_leaves`` leaves are made from."""
        full, now = self.tree, self.at(n_leaves)
        tree = now.tree
        ancestor = full.ancestor_in(self.sizes[n_leaves].inner)
        kept = np.unique(ancestor)  # in the order of the smaller tree's nodes
        hits = np.zeros((tree.n_nodes, tree.n_clusters))
        np.add.at(hits, np.searchsorted(kept, ancestor[full.leaves]), self.sums.hits)
        leaves = tree.leaves
        label, weight = tree.label[leaves], tree.weight[leaves]
        surrogate = np.bincount(label, tree.costs[leaves, label], minlength=tree.n_clusters)
        away = ((now.means - self.centers) ** 2).sum(axis=1)
        saved = away * np.bincount(label, weight, minlength=tree.n_clusters)
        return Facts(
            tree=tree,
            columns=self.columns,
            hits=hits[leaves],
            costs=np.maximum(surrogate - saved, 0.0),
            reference_cost=self.reference_cost,
            profiles=now.profiles,
            spread=self.spread,
        )


@dataclass(frozen=True)
class RowRecord:
    """Of each training row, its leaf in the full tree and its reference label."""

    leaf: NDArray[np.int32]
    reference_label: NDArray[np.int32]


@dataclass(frozen=True)
class Snapshot:
    """One size of the tree: labels of the training rows, cluster means in both spaces."""

    tree: ThresholdTree
    labels: NDArray[np.int32] | None
    means: NDArray[np.float64]
    profiles: NDArray[np.float64]


@dataclass(frozen=True)
class Stock:
    """What the rows of a grown tree come to.

    Attributes
    ----------
    sums, profile_sums, spread, rows : as in `FitRecord`
    reference_cost : of all rows, each with its cheapest center
    """

    tree: ThresholdTree
    sums: LeafSums
    profile_sums: LeafSums
    spread: NDArray[np.float64]
    reference_cost: float
    rows: RowRecord | None


def record_grown(stock: Stock, base_labels: NDArray[np.int32], reference: Reference) -> FitRecord:
    """Of a tree as it grew: every size from the base tree's on.

    ``base_labels``: of the base tree's nodes, which are the first, as its own method gave them;
    in larger trees leaves are labelled by the surrogate cost.
    """
    tree, smallest = stock.tree, (len(base_labels) + 1) // 2
    sizes = {n: Pruning(tree.cut_by(n), tree.label) for n in range(smallest, tree.n_leaves + 1)}
    labels = np.append(base_labels, tree.label[len(base_labels) :])
    sizes[smallest] = Pruning(tree.cut_by(smallest), labels)
    path = path_of(tree, base_labels, stock.sums, reference.centers, stock.reference_cost)
    return _record(stock, sizes, path, reference.centers, reference)


def record_refined(stock: Stock, centers: NDArray[np.float64], reference: Reference) -> FitRecord:
    """Of a tree that was refined: every size from one leaf a cluster on, by optimal pruning.

    ``centers``: those the tree's costs are measured to.
    """
    inside = Inside(stock.tree, stock.sums, centers)
    found, path = prunings(inside, reference.n_clusters, stock.reference_cost)
    sizes = dict(zip(path["n_leaves"].tolist(), found, strict=True))
    return _record(stock, sizes, path, centers, reference)


def _record(
    stock: Stock,
    sizes: dict[int, Pruning],
    path: NDArray[np.void],
    centers: NDArray[np.float64],
    reference: Reference,
) -> FitRecord:
    return FitRecord(
        tree=stock.tree,
        sizes=sizes,
        path=path,
        reference=reference,
        reference_cost=stock.reference_cost,
        centers=centers,
        sums=stock.sums,
        profile_sums=stock.profile_sums,
        spread=stock.spread,
        columns=plain_columns(stock.tree.n_features),
        short=False,
        rows=stock.rows,
    )


def take_stock(sapling: Sapling, ground: Ground, reference: Reference, costs: CostTable) -> Stock:
    """What the rows of a tree in one memory come to; ``costs`` to the reference's centers."""
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
    hits = hits_of(tree.n_leaves, tree.n_clusters, groups, costs.nearest, weights)

    def sums(
        points: _core.Points,
        shift: NDArray[np.float64] | None,
        squares: NDArray[np.float64] | None = None,
    ) -> LeafSums:
        found = _core.group_sums(points, groups, tree.n_leaves, weights, shift, squares, n_threads)
        return LeafSums(found, hits, np.zeros(found.shape[1]) if shift is None else shift)

    squares = np.zeros(table.n_features)
    if reference.pipeline is None:
        here = profile = sums(ground.space, ground.shift(reference.centers), squares)
    else:
        here = sums(ground.space, ground.shift(reference.centers))
        some_row = np.asarray(ground.X[0], dtype=np.float64) if table.dense else None
        profile = sums(table.points, some_row, squares)
    rows = RowRecord(leaf_of_row, costs.nearest)
    return Stock(tree, here, profile, spread_of(profile, squares), costs.cheapest, rows)


def spread_of(sums: LeafSums, squares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standard deviation of each column; ``squares`` of the values less the shift of the sums."""
    total = sums.hits.sum()
    mean = sums.sums.sum(axis=0) / total
    return np.asarray(np.sqrt(np.maximum(squares / total - mean * mean, 0.0)))


def hits_of(
    n_leaves: int,
    n_clusters: int,
    leaf: NDArray[np.int32],
    label: NDArray[np.int32],
    weights: NDArray[np.float64] | None,
) -> NDArray[np.float64]:
    """Weight of the rows by leaf and reference label."""
    cell = leaf.astype(np.int64) * n_clusters + label
    found = np.bincount(cell, weights, minlength=n_leaves * n_clusters)
    return found.reshape(n_leaves, n_clusters).astype(float)
