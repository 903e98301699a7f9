"""The last pass of a fit: sums by leaf of a finished tree, for its `FitResult`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemeans import _core
from treemeans.category_counts import columns_to_count, count_by_leaf, frequent_categories
from treemeans.columns.detect_columns import SplitValues
from treemeans.costs import (
    GroupCosts,
    GroupStatistics,
    Scales,
    TableStatistics,
    node_costs,
    rounded_mean,
    shift_near,
)
from treemeans.fit_result import FitResult, hits_of, measured_costs
from treemeans.partitioned.clustering.fixed_point_columns import sum_by_group
from treemeans.partitioned.map_reduce import MapReduceStep
from treemeans.partitioned.partition import Partition
from treemeans.partitioned.partition_costs import CostTableBuilder, prices_of, space_of
from treemeans.partitioned.tree_growth.histogram_pass import RowRouter
from treemeans.partitioned.tree_growth.partitioned_data import PartitionedData
from treemeans.partitioned.tree_growth.partitioned_tree import PartitionedTree
from treemeans.reference import Reference
from treemeans.rows import as_points
from treemeans.split import split_arrays
from treemeans.tree import ThresholdTree

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class LeafStatistics:
    """Sums over the rows of each leaf, and the values around each threshold.

    Attributes
    ----------
    hits : (n_leaves, k), weight of the rows by reference label
    sums, profile : sums of the rows in the space of the centers, and in the columns of X
    squares : (d,), sums of squares over all rows
    present : (n_leaves, d), weight of the rows that have a value in each column; None where all do
    categories : weights by leaf and category, and rows by category, of columns of categories
    regrets, base, weight : (n_leaves, k), (n_leaves,), (n_leaves,), in fixed point
    margins, whole : by node, as ``_core.margins`` gives them: the values next to the threshold, the
        extremes, and whether all values are integers
    """

    hits: Floats
    sums: Floats
    profile: Floats
    squares: Floats
    present: Floats | None
    regrets: NDArray[np.int64]
    base: NDArray[np.int64]
    weight: NDArray[np.int64]
    margins: Floats
    whole: NDArray[np.bool_]
    categories: tuple[tuple[Floats, Floats], ...] = ()

    @property
    def weight_of_rows(self) -> Floats:
        """Weight of the rows of each leaf, in the user's units."""
        found: Floats = self.hits.sum(axis=1)
        return found


@dataclass(frozen=True)
class MeasureLeaves(MapReduceStep[LeafStatistics]):
    """Send all rows down a tree, and sum what arrives in its leaves.

    Attributes
    ----------
    router : the tree; the groups are its leaves, in the order of their nodes
    cost_builder : the centers that the tree's costs are measured to
    reference : the clustering whose labels are counted
    shift, profile_shift : subtracted from the rows before they are summed, to keep digits
    counted : columns whose categories are counted, with their numbers of categories
    """

    router: RowRouter
    n_leaves: int
    cost_builder: CostTableBuilder
    reference: Reference
    shift: Floats
    profile_shift: Floats
    may_miss: bool = False
    counted: tuple[tuple[int, int], ...] = ()

    def map(self, partition: Partition) -> LeafStatistics:
        """Sum one partition."""
        groups = self.router.of_points(partition.points)
        costs = self.cost_builder.cached(partition)
        nearest = costs.nearest
        if self.reference is not self.cost_builder.reference:
            nearest = prices_of(partition, self.reference)[1]
        k = self.reference.n_clusters
        present, points = None, partition.points
        if self.may_miss:
            missing = np.isnan(partition.X)
            points = as_points(np.where(missing, self.profile_shift, partition.X))  # adds nothing
            weights = np.ones(partition.n_rows) if partition.weights is None else partition.weights
            present = np.zeros((self.n_leaves, missing.shape[1]))
            np.add.at(present, groups, weights[:, None] * ~missing)
        squares = np.zeros(partition.X.shape[1])
        n, weighted = self.n_leaves, partition.weights
        profile = _core.group_sums(points, groups, n, weighted, self.profile_shift, squares, 1)
        here = profile
        if self.reference.pipeline is not None:
            space = space_of(partition, self.reference)
            here = _core.group_sums(space, groups, n, weighted, self.shift, None, 1)
        units = np.ones(partition.n_rows, dtype=np.int64)
        if costs.weights is not None:
            units = costs.weights.values
        router = self.router
        margins, whole = _core.margins(
            partition.points,
            router.feature,
            router.threshold,
            router.left,
            router.right,
            1,
            **router.other_splits,
        )
        return LeafStatistics(
            hits_of(self.n_leaves, k, groups, nearest, partition.weights),
            here,
            profile,
            squares,
            present,
            sum_by_group(costs.regrets.values, groups, self.n_leaves),
            sum_by_group(costs.base.values[:, None], groups, self.n_leaves)[:, 0],
            sum_by_group(units[:, None], groups, self.n_leaves)[:, 0],
            margins,
            whole,
            tuple(
                count_by_leaf(partition.X[:, i], groups, (self.n_leaves, n), partition.weights)
                for i, n in self.counted
            ),
        )

    def reduce(self, one: LeafStatistics, other: LeafStatistics) -> LeafStatistics:
        """Add the sums; keep the values nearest to each threshold, and the extremes."""
        a, b = one.margins, other.margins
        lower, higher = np.minimum(a, b), np.maximum(a, b)
        pairs = zip(one.categories, other.categories, strict=True)
        summed = ("hits", "sums", "profile", "squares", "regrets", "base", "weight")
        sums: dict[str, Any] = {name: getattr(one, name) + getattr(other, name) for name in summed}
        return LeafStatistics(
            **sums,
            present=None
            if one.present is None or other.present is None
            else one.present + other.present,
            margins=np.stack([higher[:, 0], lower[:, 1], lower[:, 2], higher[:, 3]], axis=1),
            whole=one.whole & other.whole,
            categories=tuple((a[0] + b[0], a[1] + b[1]) for a, b in pairs),
        )


@dataclass(frozen=True)
class MeasureMoments(MapReduceStep[tuple[Floats, Floats]]):
    """Sum the rows of each leaf, and their squares, about a point of its own.

    Attributes
    ----------
    router : the tree; the groups are its leaves
    reference : the clustering in whose space the rows are summed
    origins : (n_leaves, dimension), the points
    """

    router: RowRouter
    reference: Reference
    origins: Floats

    def map(self, partition: Partition) -> tuple[Floats, Floats]:
        """Sum one partition."""
        groups = self.router.of_points(partition.points)
        space = space_of(partition, self.reference)
        return _core.group_moments(space, groups, partition.weights, self.origins, 1)

    def reduce(
        self, one: tuple[Floats, Floats], other: tuple[Floats, Floats]
    ) -> tuple[Floats, Floats]:
        """Add two results."""
        return one[0] + other[0], one[1] + other[1]


def measure_leaves(
    data: PartitionedData, tree: PartitionedTree, cost_builder: CostTableBuilder
) -> tuple[FitResult, SplitValues]:
    """Sum the rows of a finished tree by leaf, its costs measured to ``cost_builder``'s centers.

    Also returns the values around its thresholds.
    """
    reference = data.reference
    is_leaf = np.array(tree.feature) < 0
    leaf_number = np.where(is_leaf, np.cumsum(is_leaf) - 1, -1).astype(np.int32)
    router = RowRouter(
        np.array(tree.feature, dtype=np.int32),
        np.array(tree.threshold),
        np.array(tree.left, dtype=np.int32),
        np.array(tree.right, dtype=np.int32),
        leaf_number,
        other_splits=tree.other_splits(tree.missing_left, tree.categories),
    )
    may_miss = bool(data.kinds.may_miss.any())
    rows = data.summary.sample
    if may_miss:
        rows = np.where(np.isnan(rows), data.summary.low, rows)
    shift = profile_shift = reference.centers.mean(axis=0)
    if reference.pipeline is None:
        sample = np.asarray(data.summary.sample, dtype=np.float64)
        shift = profile_shift = shift_near(sample, reference.centers)
    else:
        profile_shift = rounded_mean(rows)
    counted = columns_to_count(enumerate(data.kinds.n_codes))
    step = MeasureLeaves(
        router, tree.n_leaves, cost_builder, reference, shift, profile_shift, may_miss, counted
    )
    found = _with_means_for_missing(data.map_reduce(step))
    scales = cost_builder.scales
    frozen = _frozen(tree, leaf_number, found, data, scales)
    weight = found.hits.sum(axis=1)
    profile = in_columns = GroupStatistics(weight, found.profile, profile_shift)
    sums = profile if reference.pipeline is None else GroupStatistics(weight, found.sums, shift)

    def moments(origins: Floats) -> tuple[Floats, Floats]:
        return data.map_reduce(MeasureMoments(router, reference, origins))

    costs = frozen.costs[frozen.leaves]
    leaves: GroupCosts
    centers, stated = cost_builder.reference.centers, None
    if reference.cost == "kmeans":
        # Costs are rounded row by row, and once for all copies of a row that has a weight.
        n = data.summary.weight if scales.copies else data.cost_totals.n_rows
        rounding = max(n, data.cost_totals.n_rows) * (1 / scales.base + 1 / scales.regrets) / 2
        means = GroupStatistics.of(sums, costs, centers, rounding, moments)
        leaves, profile = means, means if reference.pipeline is None else profile
        stated = measured_costs(frozen, means, centers, rounding)
    else:  # medians of clusters would take passes of their own: clusters keep their centers
        leaves = TableStatistics(weight, costs)
    result = FitResult(
        tree=frozen,
        reference=reference,
        reference_cost=data.cheapest,
        centers=centers,
        leaves=leaves,
        profile=profile,
        hits=found.hits,
        spread=in_columns.spread(found.squares),
        cost=reference.cost,
        called=reference.called,
        given_names=reference.names,
        measured_costs=stated,
        categories=frequent_categories(
            (feature, *counts)
            for (feature, _), counts in zip(counted, found.categories, strict=True)
        ),
    )
    margins = found.margins
    return result, SplitValues(margins[:, :2], margins[:, 2], margins[:, 3], found.whole)


def _with_means_for_missing(found: LeafStatistics) -> LeafStatistics:
    """The sums as if each missing value were the mean of its leaf; of all rows, if that has none.

    The means of leaves are then those of the values that are there.
    """
    if found.present is None:
        return found
    weight = found.weight_of_rows[:, None]
    total = found.present.sum(axis=0)
    overall = np.divide(found.profile.sum(axis=0), total, out=np.zeros_like(total), where=total > 0)
    means = np.divide(
        found.profile,
        found.present,
        out=np.broadcast_to(overall, found.profile.shape).copy(),
        where=found.present > 0,
    )
    absent = weight - found.present
    squares = found.squares + (absent * means**2).sum(axis=0)
    return replace(found, profile=found.profile + absent * means, squares=squares)


def _frozen(
    tree: PartitionedTree,
    leaf_number: NDArray[np.int32],
    found: LeafStatistics,
    data: PartitionedData,
    scales: Scales,
) -> ThresholdTree:
    """The finished tree with the weight and costs of all nodes."""
    by_leaf = np.column_stack([found.regrets, found.base, found.weight])
    by_node = np.zeros((tree.n_nodes, by_leaf.shape[1]), dtype=np.int64)
    for node in range(tree.n_nodes - 1, -1, -1):  # children come after their parents
        if leaf_number[node] >= 0:
            by_node[node] = by_leaf[leaf_number[node]]
        else:
            by_node[node] = by_node[tree.left[node]] + by_node[tree.right[node]]
    regrets, base, weight = by_node[:, :-2], by_node[:, -2], by_node[:, -1]
    return ThresholdTree(
        **split_arrays(tree.missing_left, tree.categories),
        feature=np.array(tree.feature),
        threshold=np.array(tree.threshold),
        left=np.array(tree.left),
        right=np.array(tree.right),
        label=np.array(tree.label),
        n_features=data.n_features,
        weight=np.asarray(weight * data.weight_unit, dtype=np.float64),
        costs=node_costs(base / scales.base, regrets / scales.regrets),
        growth=np.array(tree.growth),
    )
