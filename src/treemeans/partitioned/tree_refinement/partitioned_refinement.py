"""Refinement on rows in partitions: a cheaper tree with as many leaves.

A search looks at its rows thousands of times, so it runs on a coreset in memory, with the same code
as a fit in memory. The tree it finds is then optimized on all rows, in a few passes: the splits of
each depth together, then the centers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import linear_sum_assignment

from treemeans.columns.detect_columns import SplitValues
from treemeans.fit_result import FitResult
from treemeans.growth.growing_tree import between
from treemeans.partitioned.pass_plan import OTHER
from treemeans.partitioned.tree_growth.leaf_statistics import measure_leaves
from treemeans.partitioned.tree_growth.partitioned_data import PartitionedData
from treemeans.partitioned.tree_growth.partitioned_tree import PartitionedTree
from treemeans.partitioned.tree_refinement.partitioned_coreset import draw_coreset
from treemeans.partitioned.tree_refinement.routed_tree import RoutedNode, threshold_tree
from treemeans.partitioned.tree_refinement.tree_optimizer import EvaluatedTree, TreeOptimizer
from treemeans.progress import Progress
from treemeans.refine import Budget, refine
from treemeans.refine.refinement import MOST_ROUNDING, improves
from treemeans.tree import ThresholdTree

_TOLERANCE = 1e-3
"""A round that saves less than this share of the cost is the last."""
_ROUNDS = {"local": 2, "search": 3}
"""Most rounds on all rows: each takes two or three passes for every depth of the tree."""


@dataclass(frozen=True)
class RefineSettings:
    """The user's parameters of refinement.

    Attributes
    ----------
    kind : ``"local"`` or ``"search"``
    max_iter, max_time : budget of a search
    n_threads : threads of a search
    """

    kind: str
    max_iter: int | None
    max_time: float | None
    n_threads: int = 1

    def passes(self, n_leaves: int) -> int:
        """About how many passes refinement takes if the coreset does not hold all rows."""
        return 5 + _ROUNDS[self.kind] * round(3 * math.log2(n_leaves + 1))


def refine_partitioned(
    field: PartitionedData,
    tree: PartitionedTree,
    settings: RefineSettings,
    seed: int,
    verbose: bool,
) -> tuple[FitResult, SplitValues, int]:
    """Refine a tree that has grown on partitions.

    Where nothing better is found, the tree comes back as it is, with its own labels.

    Parameters
    ----------
    seed : of the coreset and the search

    Returns
    -------
    the `FitResult`, the values around its cuts, and the number of rounds of the search
    """
    n_leaves = tree.max_leaves
    coreset = draw_coreset(field, seed)
    field.rows.expect_passes({OTHER: 4 if coreset.complete else settings.passes(n_leaves) - 1})
    data = coreset.training_data(field, seed, settings.n_threads)
    grown = threshold_tree(tree)
    with Progress("treemeans: search", 1000, verbose) as progress:
        budget = Budget(settings.max_iter, settings.max_time, data.costs.cheapest, progress)
        refined, centers = refine(settings.kind, data, grown, n_leaves, budget)
    optimizer = TreeOptimizer(field, coreset, n_leaves)
    plain, found = optimizer.evaluate(
        [
            (RoutedNode.of(grown), field.reference.centers),
            (RoutedNode.of(refined.freeze()), centers),
        ]
    )
    best = _optimized(optimizer, plain, found, settings.kind)
    better = improves(best.cost, len(best.root.leaves), plain.cost_as_given, grown.n_leaves)
    rounding = field.cost_totals.n_rows * sum(
        1 / scale for scale in (field.cost_builder.scales.base, field.cost_builder.scales.regrets)
    )
    record: FitResult | None = None
    if better:
        record, seen = _fit_result(field, optimizer, best)
    if record is None or rounding > MOST_ROUNDING * plain.cost_as_given:
        measured, seen_as_grown = measure_leaves(field, tree, field.cost_builder)
        as_grown = measured.of_refined()
        # Costs in fixed point may hide which of the two costs less; those of the results were
        # measured.
        if record is None or _full_cost(as_grown, field) < _full_cost(record, field):
            record, seen = as_grown, seen_as_grown
    return record, seen, budget.rounds


def _full_cost(record: FitResult, field: PartitionedData) -> float:
    """K-means cost of the whole tree, and the prices of its cuts."""
    prices = field.limits.price_of_cuts(record.tree.feature) * field.cheapest
    return float(record.path["kmeans_cost"][-1]) + prices


def _optimized(
    optimizer: TreeOptimizer, plain: EvaluatedTree, found: EvaluatedTree, kind: str
) -> EvaluatedTree:
    """Optimize the tree found on the coreset on all rows; or the plain one, if that is cheaper."""
    if optimizer.coreset.complete:  # then it is optimized already
        return found if found.cost < plain.cost else plain
    if kind == "search" or found.cost < plain.cost:
        found = optimizer.optimize(found, _TOLERANCE, _ROUNDS[kind])
        if found.cost < plain.cost:
            return found
    return optimizer.optimize(plain, _TOLERANCE, _ROUNDS[kind])


def _fit_result(
    field: PartitionedData, optimizer: TreeOptimizer, best: EvaluatedTree
) -> tuple[FitResult, SplitValues]:
    tree = optimizer.on_all_rows(best)
    measured, seen = measure_leaves(field, tree, tree.data.cost_builder)
    measured = replace(measured, tree=_half_way(measured.tree, seen), centers=best.centers)
    return _match_labels(measured).of_refined(), seen


def _half_way(tree: ThresholdTree, seen: SplitValues) -> ThresholdTree:
    """Move thresholds half way between the values of all rows around them: no row changes side."""
    threshold = tree.threshold.copy()
    for node in np.flatnonzero(~tree.is_leaf):
        low, high = seen.gap[node]
        if np.isfinite(low) and np.isfinite(high):
            threshold[node] = between(float(low), float(high))
    return replace(tree, threshold=threshold, gap=seen.gap)


def _match_labels(result: FitResult) -> FitResult:
    """Number the clusters so that as many rows as possible have their reference label."""
    tree, centers = result.tree, result.centers
    common = np.zeros((len(centers), len(centers)))
    np.add.at(common, tree.label[tree.leaves], result.hits)
    common = np.rint(common * (2.0**40 / common.sum()))  # rounded: float sums depend on their order
    cluster, label = linear_sum_assignment(common, maximize=True)
    if np.array_equal(cluster, label):
        return result
    matched, costs = np.empty_like(centers), np.empty_like(tree.costs)
    matched[label], costs[:, label] = centers[cluster], tree.costs[:, cluster]
    tree = replace(tree, label=label[tree.label], costs=costs)
    return replace(result, tree=tree, centers=matched)
