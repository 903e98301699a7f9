"""From a grown tree to a cheaper one with as many leaves."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from treemeans import _core
from treemeans.grow.base import Task, clusters_of, grow, kauri_clusters
from treemeans.grow.given import follow
from treemeans.grow.sapling import Sapling
from treemeans.progress import Progress
from treemeans.refine.budget import Budget
from treemeans.refine.sample import search_ground
from treemeans.refine.search import search
from treemeans.refine.shape import Shape
from treemeans.tree import ThresholdTree

_LOCAL_ROUNDS = 2
"""Most tables need no more; the local refinement is to take no longer than the growth, thrice."""
_ROUNDS = 30
_TOLERANCE = 1e-3
"""A round that saves less than this share of the cost is the last."""
_END_TOLERANCE = 1e-4
"""The same for the tree that comes out of a search."""
_LEAST_EXCESS = 0.01
"""Of the reference's cost: the yardstick of a search that begins with less above it."""
_MOST_KAURI_WORK = 2e8
"""Values added up by Kauri, for one look at all rows, in a search that starts from it too."""
_START_ROUNDS = 5
_STARTS = ("imm", "exgreedy", "emn")
_HEATS = 3
"""Starts that are searched from, before the best of them goes on."""
_HEAT_SHARE = 0.15
"""Share of the budget that each of them gets."""


@dataclass(frozen=True)
class Refined:
    """A refined tree, its rows and costs, and the centers these are measured to."""

    sapling: Sapling
    centers: NDArray[np.float64]


def refine(kind: str, task: Task, grown: ThresholdTree, n_leaves: int, budget: Budget) -> Refined:
    """Lower the cost of a grown tree; ``kind`` is ``"local"`` or ``"search"``."""
    shape = Shape.of(task.ground, grown, clusters_of(grown, grown.label, task).means)
    found = _searched(shape, task, n_leaves, budget) if kind == "search" else None
    if found is not None and found.cost < shape.cost:
        _match_labels(found, task)
        return _planted(found)
    shape.settle(n_leaves, _TOLERANCE, _LOCAL_ROUNDS)
    return _planted(shape)


def _planted(shape: Shape) -> Refined:
    """The tree as a sapling on all rows, its nodes in the order of growth.

    Splits above a cut may have moved since it was chosen: thresholds are put half way again.
    """
    ground = shape.ground
    sapling = Sapling(ground.table, shape.costs, ground.n_threads, shape.limits)
    follow(sapling, shape.freeze(), recenter=True, priced=False)
    return Refined(sapling, shape.centers)


def _searched(plain: Shape, task: Task, n_leaves: int, budget: Budget) -> Shape:
    """The best tree of a search; on a sample of the rows, if there are many, then on all."""
    rng = np.random.default_rng(task.seed)
    ground = search_ground(task.ground, rng)
    sampled = ground.table.n_rows < task.ground.table.n_rows
    if sampled:
        share = float(ground.table.n_rows if ground.weights is None else ground.weights.sum())
        ground = replace(ground, rules=ground.rules.for_sample(share / _weight(task)))
    costs = ground.price(task.centers)
    here = replace(task, ground=replace(ground, reference_cost=costs.cheapest), costs=costs)
    starts = _starts(plain, here, n_leaves, budget)
    best = _best_of_heats(starts, here, n_leaves, budget, rng)
    found = Shape.of(task.ground, best.freeze(), best.centers)
    found.recenter()
    found.settle(n_leaves, _TOLERANCE if sampled else _END_TOLERANCE, _ROUNDS)
    return _or_another(found, task, n_leaves) if sampled else found


def _or_another(found: Shape, task: Task, n_leaves: int) -> Shape:
    """A tree grown on all rows, where that is cheaper: a sample can miss what matters."""
    quiet = Progress("", 1, False)
    for base in _STARTS:
        tree = grow(task, base, n_leaves, quiet).tree
        other = Shape.of(task.ground, tree, clusters_of(tree, tree.label, task).means)
        if other.cost < found.cost:
            other.settle(n_leaves, _TOLERANCE, _ROUNDS)
            found = other
    return found


def _weight(task: Task) -> float:
    weights = task.ground.weights
    return float(task.ground.table.n_rows if weights is None else weights.sum())


def _starts(plain: Shape, task: Task, n_leaves: int, budget: Budget) -> list[Shape]:
    """Settled trees to search from, cheapest first. Ctrl-C: those that are ready."""
    ready = [Shape.of(task.ground, plain.freeze(), plain.centers)]
    try:
        ready[0].settle(n_leaves, _TOLERANCE, _START_ROUNDS)
        for shape in _other_starts(task, n_leaves, budget):
            shape.grow(n_leaves)
            shape.recenter()
            shape.settle(n_leaves, _TOLERANCE, _START_ROUNDS)
            ready.append(shape)
    except KeyboardInterrupt:
        budget.interrupt()
    return sorted(ready, key=lambda shape: shape.cost)


def _other_starts(task: Task, n_leaves: int, budget: Budget) -> Iterator[Shape]:
    """Trees from other bases, as long as there is time for them."""
    quiet = Progress("", 1, False)
    for base in _STARTS:
        if budget.spent:
            return
        budget.tell(f"from {base}")
        tree = grow(task, base, n_leaves, quiet).sapling.freeze()
        yield Shape.of(task.ground, tree, task.centers, task.costs)
    if not budget.spent and _kauri_work(task) <= _MOST_KAURI_WORK:
        budget.tell("from kauri")
        tree, centers = kauri_clusters(task, n_leaves, quiet)
        yield Shape.of(task.ground, tree, centers)


def _kauri_work(task: Task) -> float:
    """Kauri adds up whole rows along every feature."""
    ground = task.ground
    values, space_values = _core.n_values(ground.table.points), _core.n_values(ground.space)
    return float(values) * space_values / ground.table.n_rows


def _best_of_heats(
    starts: list[Shape], task: Task, n_leaves: int, budget: Budget, rng: np.random.Generator
) -> Shape:
    """A short search from each of the cheapest starts, and a long one from what is best then."""
    reference = task.costs.cheapest
    excess = max(starts[0].cost - reference, _LEAST_EXCESS * reference)
    found = [
        search(start, n_leaves, excess, budget, _HEAT_SHARE * (heat + 1), rng)
        for heat, start in enumerate(starts[:_HEATS])
    ]
    best = min(found, key=lambda shape: shape.cost)
    return search(best, n_leaves, excess, budget, 1.0, rng)


def _match_labels(shape: Shape, task: Task) -> None:
    """Number the clusters so that as many rows as can be have their reference label."""
    k = len(shape.centers)
    cell = shape.tree.labels().astype(np.int64) * k + task.costs.nearest
    common = np.bincount(cell, task.ground.weights, minlength=k * k).reshape(k, k)
    cluster, label = linear_sum_assignment(common, maximize=True)
    if np.array_equal(cluster, label):
        return
    centers = np.empty_like(shape.centers)
    centers[label] = shape.centers[cluster]
    shape.move_centers(centers)
