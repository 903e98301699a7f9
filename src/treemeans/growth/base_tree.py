"""Base trees by name, and their expansion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treemeans.costs import CostTable, GroupStatistics
from treemeans.growth.cart import cart
from treemeans.growth.emn import emn
from treemeans.growth.exgreedy import exgreedy
from treemeans.growth.expansion import expand
from treemeans.growth.given_tree import follow
from treemeans.growth.imm import imm
from treemeans.growth.in_memory_tree import InMemoryTree
from treemeans.growth.kauri import kauri, weighable
from treemeans.growth.kdtree import kdtree
from treemeans.growth.random_cuts import random_cuts
from treemeans.progress import Progress
from treemeans.training_data import TrainingData
from treemeans.tree import ThresholdTree

BEST_OF = ("imm", "exgreedy", "emn", "kauri", "none")
"""What ``"best"`` tries."""

_EQUAL = 1e-12
"""Costs closer than this, relatively, are the same."""


@dataclass(frozen=True)
class Task:
    """What a tree is to explain.

    Attributes
    ----------
    centers : of the reference, in its space
    columns : the same in the columns of X
    costs : of the rows, to the centers
    n_init : trees that ``"random"`` tries
    seed : of their cuts
    """

    ground: TrainingData
    centers: NDArray[np.float64]
    columns: NDArray[np.float64]
    costs: CostTable
    n_init: int = 1
    seed: int = 0

    def new_tree(self) -> InMemoryTree:
        """One leaf with all rows."""
        ground = self.ground
        limits = ground.limits.for_rows(self.costs)
        return InMemoryTree(ground.table, self.costs, ground.n_threads, limits)


def cluster_means(tree: ThresholdTree, label: NDArray[np.int32], task: Task) -> NDArray[np.float64]:
    """Means of the clusters that the labels of a tree's nodes make; of an empty one, its center."""
    return _sums(labels_of(tree, label, task), task).means(task.centers)


def labels_of(tree: ThresholdTree, label: NDArray[np.int32], task: Task) -> NDArray[np.int32]:
    """The label of each row, given those of a tree's nodes."""
    labels = tree.outcome(task.ground.table.points, label, task.ground.n_threads)
    assert labels is not None  # the table was checked
    return labels


def _sums(labels: NDArray[np.int32], task: Task) -> GroupStatistics:
    weight = np.bincount(labels, task.ground.weights, minlength=len(task.centers))
    shift = task.ground.shift(task.centers)
    return task.ground.sums(labels, weight.astype(np.float64), shift)


def _statistics(tree: ThresholdTree, task: Task) -> GroupStatistics:
    """Of the tree's clusters."""
    labels, leaves = labels_of(tree, tree.label, task), tree.leaves
    costs = np.zeros((len(task.centers), len(task.centers)))
    np.add.at(costs, tree.label[leaves], tree.costs[leaves])
    return task.ground.with_costs(
        _sums(labels, task), labels, costs, task.centers, task.costs.rounding
    )


def grow(
    task: Task, base_tree: str | ThresholdTree, max_leaves: int, progress: Progress
) -> InMemoryTree:
    """Grow the base tree, then expand it; ``"best"``: the cheapest of several, expanded."""
    if base_tree == "best":
        names = [name for name in BEST_OF if name != "kauri" or weighable(task.ground.weights)]
        all_grown = [grow(task, name, max_leaves, progress) for name in names]
        costs = [_cost(grown.as_expanded(), task) for grown in all_grown]
        # Trees that make the same clusters cost the same but for rounding: the first is taken.
        return next(g for g, cost in zip(all_grown, costs, strict=True) if _is_least(cost, costs))
    if isinstance(base_tree, ThresholdTree):
        growing = task.new_tree()
        follow(growing, base_tree)
    else:
        growing = _BASES[base_tree](task, progress)
    expand(growing, max_leaves, progress)
    return growing


def kauri_clusters(
    task: Task, n_leaves: int, progress: Progress
) -> tuple[ThresholdTree, NDArray[np.float64]]:
    """Kauri's tree of so many leaves, and the means of its own clusters."""
    growing, ground = task.new_tree(), task.ground
    cluster = kauri(growing, ground.space, ground.weights, len(task.centers), n_leaves, progress)
    tree = growing.freeze()
    return tree, cluster_means(tree, cluster, task)


def _cost(tree: ThresholdTree, task: Task) -> float:
    """Cost of the tree's clusters to their means, and the prices of its cuts."""
    cost, prices = _statistics(tree, task).cost, task.ground.limits.feature_costs
    if prices is None:
        return cost
    return cost + float(prices[tree.feature[~tree.is_leaf]].sum()) * task.costs.cheapest


def _is_least(cost: float, costs: list[float]) -> bool:
    return cost <= min(costs) * (1.0 + _EQUAL)


def _none(task: Task, progress: Progress) -> InMemoryTree:
    return task.new_tree()


def _separating(
    method: Callable[[InMemoryTree, NDArray[np.float64], Progress], None],
) -> Callable[[Task, Progress], InMemoryTree]:
    def build(task: Task, progress: Progress) -> InMemoryTree:
        growing = task.new_tree()
        method(growing, task.columns, progress)
        return growing

    return build


def _random(task: Task, progress: Progress) -> InMemoryTree:
    """The one of least surrogate cost; of equals, the first."""
    rng = np.random.default_rng(task.seed)
    best: InMemoryTree | None = None
    for _ in range(task.n_init):
        growing = task.new_tree()
        random_cuts(growing, task.columns, rng)
        if best is None or _regret(growing) < _regret(best):
            best = growing
    assert best is not None  # n_init is at least 1
    return best


def _regret(growing: InMemoryTree) -> int:
    return sum(int(growing.totals[leaf][growing.label[leaf]]) for leaf in growing.leaves)


def _cart(task: Task, progress: Progress) -> InMemoryTree:
    growing, ground = task.new_tree(), task.ground
    n_leaves, allowed = len(task.centers), ground.table.allowed
    tree = cart(ground.X, task.costs, ground.weights, n_leaves, growing.limits, allowed)
    follow(growing, tree, recenter=True)
    return growing


def _kdtree(task: Task, progress: Progress) -> InMemoryTree:
    growing = task.new_tree()
    kdtree(growing, len(task.centers))
    return growing


def _kauri(task: Task, progress: Progress) -> InMemoryTree:
    growing, k = task.new_tree(), len(task.centers)
    kauri(growing, task.ground.space, task.ground.weights, k, k, progress)
    return growing


_BASES: dict[str, Callable[[Task, Progress], InMemoryTree]] = {
    "none": _none,
    "imm": _separating(imm),
    "exgreedy": _separating(exgreedy),
    "emn": _separating(emn),
    "random": _random,
    "kauri": _kauri,
    "cart": _cart,
    "kdtree": _kdtree,
}
BASE_TREES = (*_BASES, "best")
