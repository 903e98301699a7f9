"""A cheaper tree with as many leaves, where rows are in parts.

What takes many looks is done on rows in one memory that stand for all, by the same recipe as if
there were no others. The tree that comes of it is settled on all rows, in a few passes: every
split again, those of a depth together, then the means of the clusters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from treemeans.columns.detect import Arrivals
from treemeans.grow.sprout import between
from treemeans.parts.growth.field import Field
from treemeans.parts.growth.sapling import FarSapling
from treemeans.parts.growth.stock import take_stock
from treemeans.parts.refine.shape import FarShape, Workshop
from treemeans.parts.refine.standin import draw_stand_in
from treemeans.parts.refine.twigs import Twig, cuts_of
from treemeans.progress import Progress
from treemeans.record import FitRecord, Stock, record_refined
from treemeans.refine import Budget, refine
from treemeans.tree import ThresholdTree

_TOLERANCE = 1e-3
"""A round that saves less than this share of the cost is the last."""
_ROUNDS = {"local": 2, "search": 3}
"""Of all splits, at most: a round takes two or three passes for each depth of the tree."""


@dataclass(frozen=True)
class Refining:
    """What the user asked for.

    Attributes
    ----------
    kind : ``"local"`` or ``"search"``
    max_iter, max_time : of a search
    n_threads : of a search
    """

    kind: str
    max_iter: int | None
    max_time: float | None
    n_threads: int = 1

    def passes(self, n_leaves: int) -> int:
        """About how many it takes; few, where all rows are drawn."""
        return 5 + _ROUNDS[self.kind] * round(3 * math.log2(n_leaves + 1))


def refine_far(
    field: Field, sapling: FarSapling, wish: Refining, seed: int, verbose: bool
) -> tuple[FitRecord, Arrivals, int]:
    """The record of a refined tree, what comes to its cuts, and the rounds of the search.

    ``seed``: of what is drawn.
    """
    n_leaves = sapling.max_leaves
    rows = draw_stand_in(field, seed)
    field.parts.expect(4 if rows.complete else wish.passes(n_leaves) - 1)
    task = rows.task(field, seed, wish.n_threads)
    grown = cuts_of(sapling)
    with Progress("treemeans: search", 1000, verbose) as progress:
        budget = Budget(wish.max_iter, wish.max_time, task.costs.cheapest, progress)
        refined = refine(wish.kind, task, grown, n_leaves, budget)
    shop = Workshop(field, rows, n_leaves)
    plain, found = shop.weigh(
        [
            (Twig.of(grown), field.reference.centers),
            (Twig.of(refined.sapling.freeze()), refined.centers),
        ]
    )
    best = _settled(shop, plain, found, wish.kind)
    record, seen = _record(field, shop, best)
    return record, seen, budget.rounds


def _settled(shop: Workshop, plain: FarShape, found: FarShape, kind: str) -> FarShape:
    """The tree that was found, settled on all rows; or the plain one, where that is cheaper."""
    if shop.rows.complete:
        return found if found.cost < plain.cost else plain
    if kind == "search" or found.cost < plain.cost:
        found = shop.settle(found, _TOLERANCE, _ROUNDS[kind])
        if found.cost < plain.cost:
            return found
    return shop.settle(plain, _TOLERANCE, _ROUNDS[kind])


def _record(field: Field, shop: Workshop, shape: FarShape) -> tuple[FitRecord, Arrivals]:
    sapling = shop.plant(shape)
    stock, seen = take_stock(field, sapling, sapling.field.pricing)
    stock = replace(stock, tree=_half_way(stock.tree, seen))
    stock, centers = _match_labels(stock, shape.centers)
    return record_refined(stock, centers, field.reference), seen


def _half_way(tree: ThresholdTree, seen: Arrivals) -> ThresholdTree:
    """Thresholds half way between the values of all rows around them: no row changes side."""
    threshold = tree.threshold.copy()
    for node in np.flatnonzero(~tree.is_leaf):
        low, high = seen.gap[node]
        if np.isfinite(low) and np.isfinite(high):
            threshold[node] = between(float(low), float(high))
    return replace(tree, threshold=threshold, gap=seen.gap)


def _match_labels(stock: Stock, centers: NDArray[np.float64]) -> tuple[Stock, NDArray[np.float64]]:
    """Number the clusters so that as many rows as can be have their reference label."""
    tree, k = stock.tree, len(centers)
    common = np.zeros((k, k))
    np.add.at(common, tree.label[tree.leaves], stock.sums.hits)
    common = np.rint(common * (2.0**40 / common.sum()))  # sums of floats have their order in them
    cluster, label = linear_sum_assignment(common, maximize=True)
    if np.array_equal(cluster, label):
        return stock, centers
    matched, costs = np.empty_like(centers), np.empty_like(tree.costs)
    matched[label], costs[:, label] = centers[cluster], tree.costs[:, cluster]
    return replace(stock, tree=replace(tree, label=label[tree.label], costs=costs)), matched
