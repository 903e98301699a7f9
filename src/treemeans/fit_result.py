"""What a fit leaves behind: enough to be the model of every size it passed through."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from treemeans import _core
from treemeans.columns import Columns, plain_columns, round_thresholds
from treemeans.cost_path import path_of
from treemeans.costs import CostTable, GroupStatistics, rounded_mean
from treemeans.explain.cluster_names import automatic_names
from treemeans.explain.model_facts import Facts
from treemeans.growth import InMemoryTree
from treemeans.pruning import Inside, Pruning, prunings
from treemeans.reference import Reference
from treemeans.training_data import TrainingData
from treemeans.tree import ThresholdTree


@dataclass(frozen=True)
class FitResult:
    """The full tree, where the training rows ended, and what they sum to there.

    Attributes
    ----------
    tree : the full tree
    sizes : the tree of each row of the path
    path : what every size costs
    reference : the clustering that is explained
    reference_cost : its cost
    centers : those the costs in the tree are measured to: the reference's, or refined ones
    leaves : of the rows in the leaves, in the reference's space
    profile : the same in the columns of X, without costs if that is another space
    hits : (n_leaves, n_clusters), weight of the rows in the leaves by their reference label
    spread : standard deviation of each column of X
    columns : how to read them
    short : whether thresholds are as short as their gaps allow, in the units of the columns
    rows : where each training row is; None in a model that was loaded
    given_names : of the clusters, as people gave them; empty for automatic ones
    """

    tree: ThresholdTree
    sizes: Mapping[int, Pruning]
    path: NDArray[np.void]
    reference: Reference
    reference_cost: float
    centers: NDArray[np.float64]
    leaves: GroupStatistics
    profile: GroupStatistics
    hits: NDArray[np.float64]
    spread: NDArray[np.float64]
    columns: Columns
    short: bool
    rows: TrainingRows | None
    given_names: tuple[str, ...] = ()

    @cached_property
    def cluster_names(self) -> tuple[str, ...]:
        """Names of the clusters: those given, or automatic ones.

        They are made from the full tree, so that the trees of all sizes have the same.
        """
        return self.given_names or automatic_names(self._facts(self.tree.n_leaves))

    def read_as(self, columns: Columns) -> FitResult:
        """The same, with other columns: what is short for a number may not be so for a date."""
        if len(columns) != self.tree.n_features:
            raise ValueError(
                f"The tree has {self.tree.n_features} columns, but {len(columns)} were given."
            )
        tree = round_thresholds(self.tree, columns) if self.short else self.tree
        return replace(self, tree=tree, columns=columns)

    def at(self, n_leaves: int) -> Snapshot:
        """The tree of ``n_leaves`` leaves, and its clusters."""
        full, size = self.tree, self.sizes[n_leaves]
        kept = full
        if n_leaves < full.n_leaves or not np.array_equal(size.label, full.label):
            kept = replace(full, label=size.label).pruned(size.inner)
        label = size.label[full.ancestor_in(size.inner)]  # of the full tree's nodes
        clusters = self.leaves.merged(label[full.leaves], full.n_clusters)
        unknown = np.full((full.n_clusters, full.n_features), np.nan)
        profile = self.profile.merged(label[full.leaves], full.n_clusters)
        return Snapshot(
            tree=kept,
            labels=None if self.rows is None else label[self.rows.leaf],
            means=clusters.means(self.reference.centers),
            profiles=profile.means(unknown),
            clusters=clusters,
        )

    def facts(self, n_leaves: int) -> Facts:
        """What explanations of the tree of ``n_leaves`` leaves are made from."""
        return replace(self._facts(n_leaves), names=self.cluster_names)

    def _facts(self, n_leaves: int) -> Facts:
        full, now = self.tree, self.at(n_leaves)
        tree = now.tree
        ancestor = full.ancestor_in(self.sizes[n_leaves].inner)
        kept = np.unique(ancestor)  # in the order of the smaller tree's nodes
        hits = np.zeros((tree.n_nodes, tree.n_clusters))
        np.add.at(hits, np.searchsorted(kept, ancestor[full.leaves]), self.hits)
        assert now.clusters.within is not None
        return Facts(
            tree=tree,
            columns=self.columns,
            hits=hits[tree.leaves],
            costs=now.clusters.within,
            reference_cost=self.reference_cost,
            profiles=now.profiles,
            spread=self.spread,
        )


@dataclass(frozen=True)
class TrainingRows:
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
    clusters: GroupStatistics


@dataclass(frozen=True)
class Stock:
    """What the rows of a grown tree come to.

    Attributes
    ----------
    leaves, profile, hits, spread, rows : as in `FitResult`
    reference_cost : of all rows, each with its cheapest center
    """

    tree: ThresholdTree
    leaves: GroupStatistics
    profile: GroupStatistics
    hits: NDArray[np.float64]
    spread: NDArray[np.float64]
    reference_cost: float
    rows: TrainingRows | None


def result_of_grown(
    stock: Stock, base_labels: NDArray[np.int32], reference: Reference
) -> FitResult:
    """Of a tree as it grew: every size from the base tree's on.

    ``base_labels``: of the base tree's nodes, which are the first, as its own method gave them;
    in larger trees leaves are labelled by the surrogate cost.
    """
    tree, smallest = stock.tree, (len(base_labels) + 1) // 2
    sizes = {n: Pruning(tree.cut_by(n), tree.label) for n in range(smallest, tree.n_leaves + 1)}
    labels = np.append(base_labels, tree.label[len(base_labels) :])
    sizes[smallest] = Pruning(tree.cut_by(smallest), labels)
    path = path_of(tree, base_labels, stock.leaves, stock.hits, stock.reference_cost)
    return _fit_result(stock, sizes, path, reference.centers, reference)


def result_of_refined(
    stock: Stock, centers: NDArray[np.float64], reference: Reference
) -> FitResult:
    """Of a tree that was refined: every size from one leaf a cluster on, by optimal pruning.

    ``centers``: those the tree's costs are measured to.
    """
    inside = Inside(stock.tree, stock.leaves, stock.hits)
    found, path = prunings(inside, reference.n_clusters, stock.reference_cost)
    sizes = dict(zip(path["n_leaves"].tolist(), found, strict=True))
    return _fit_result(stock, sizes, path, centers, reference)


def _fit_result(
    stock: Stock,
    sizes: dict[int, Pruning],
    path: NDArray[np.void],
    centers: NDArray[np.float64],
    reference: Reference,
) -> FitResult:
    return FitResult(
        tree=stock.tree,
        sizes=sizes,
        path=path,
        reference=reference,
        reference_cost=stock.reference_cost,
        centers=centers,
        leaves=stock.leaves,
        profile=stock.profile,
        hits=stock.hits,
        spread=stock.spread,
        columns=plain_columns(stock.tree.n_features),
        short=False,
        rows=stock.rows,
    )


def take_stock(
    growing: InMemoryTree,
    centers: NDArray[np.float64],
    ground: TrainingData,
    reference: Reference,
    costs: CostTable,
) -> Stock:
    """What the rows of a tree in one memory come to.

    Parameters
    ----------
    centers : those the tree's costs are measured to
    costs : of the rows, to the reference's centers
    """
    table, weights, n_threads = ground.table, ground.weights, ground.n_threads
    tree = growing.freeze()
    leaf_of_row = growing.leaf_of_row()
    if len(costs.rows) < table.n_rows:  # rows without weight took no part, but have a leaf
        everywhere = tree.outcome(table.points, np.arange(tree.n_nodes, dtype=np.int32), n_threads)
        assert everywhere is not None  # the table was checked
        leaf_of_row = everywhere
    place = np.zeros(tree.n_nodes, dtype=np.int32)
    place[tree.leaves] = np.arange(tree.n_leaves)
    groups = place[leaf_of_row]
    hits = hits_of(tree.n_leaves, tree.n_clusters, groups, costs.nearest, weights)
    weight, squares = hits.sum(axis=1), np.zeros(table.n_features)
    one_space = reference.pipeline is None
    shift = ground.shift(reference.centers)
    sums = ground.sums(groups, weight, shift, squares if one_space else None)
    # The tree's costs are to the centers it was priced by, which refinement moves.
    leaves = ground.with_costs(
        sums, groups, tree.costs[tree.leaves], centers, growing.costs.rounding
    )
    if one_space:
        profile, spread = leaves, spread_of(sums, squares)
    else:
        origin = rounded_mean(ground.X) if table.dense else np.zeros(table.n_features)
        in_columns = _core.group_sums(
            table.points, groups, tree.n_leaves, weights, origin, squares, n_threads
        )
        profile = GroupStatistics(weight, in_columns, origin)
        spread = spread_of(profile, squares)
    rows = TrainingRows(leaf_of_row, costs.nearest)
    return Stock(tree, leaves, profile, hits, spread, costs.cheapest, rows)


def spread_of(sums: GroupStatistics, squares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standard deviation of each column; ``squares`` of the values less the shift of the sums."""
    total = sums.weight.sum()
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
