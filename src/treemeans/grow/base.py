"""Base trees by name, and their expansion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from treemeans.costs import CostTable
from treemeans.ground import Clusters, Ground
from treemeans.grow.cart import cart
from treemeans.grow.emn import emn
from treemeans.grow.exgreedy import exgreedy
from treemeans.grow.expand import expand
from treemeans.grow.given import follow
from treemeans.grow.imm import imm
from treemeans.grow.kauri import kauri
from treemeans.grow.kdtree import kdtree
from treemeans.grow.random_cuts import random_cuts
from treemeans.grow.sapling import Sapling
from treemeans.progress import Progress
from treemeans.tree import ThresholdTree

BEST_OF = ("imm", "exgreedy", "emn", "kauri", "none")
"""What ``"best"`` tries."""


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

    ground: Ground
    centers: NDArray[np.float64]
    columns: NDArray[np.float64]
    costs: CostTable
    n_init: int = 1
    seed: int = 0

    def sapling(self) -> Sapling:
        """One leaf with all rows."""
        ground = self.ground
        limits = ground.rules.limits(self.costs)
        return Sapling(ground.table, self.costs, ground.n_threads, limits)


@dataclass(frozen=True)
class Grown:
    """An expanded tree, and the labels its base tree had."""

    sapling: Sapling
    base_labels: NDArray[np.int32]

    @property
    def tree(self) -> ThresholdTree:
        """The tree; one that was not expanded has the labels of its base."""
        tree = self.sapling.freeze()
        expanded = tree.n_nodes > len(self.base_labels)
        return tree if expanded else replace(tree, label=self.base_labels)

    def cost(self, task: Task) -> float:
        """Cost of the tree's clusters to their means, and the prices of its cuts."""
        tree, prices = self.tree, task.ground.rules.feature_costs
        cost = clusters_of(tree, tree.label, task, tree.surrogate_cost).cost
        if prices is None:
            return cost
        return cost + float(prices[tree.feature[~tree.is_leaf]].sum()) * task.costs.cheapest


def clusters_of(
    tree: ThresholdTree, label: NDArray[np.int32], task: Task, surrogate_cost: float = 0.0
) -> Clusters:
    """The clusters that the labels of a tree's nodes make of the rows."""
    ground = task.ground
    labels = tree.outcome(ground.table.points, label, ground.n_threads)
    assert labels is not None  # the table was checked
    return ground.clusters(labels, surrogate_cost, task.centers)


def grow(task: Task, base_tree: str | ThresholdTree, max_leaves: int, progress: Progress) -> Grown:
    """Grow the base tree, then expand it; ``"best"``: the cheapest of several, expanded."""
    if base_tree == "best":
        all_grown = [grow(task, name, max_leaves, progress) for name in BEST_OF]
        return min(all_grown, key=lambda grown: grown.cost(task))
    if isinstance(base_tree, ThresholdTree):
        sapling = task.sapling()
        follow(sapling, base_tree)
    else:
        sapling = _BASES[base_tree](task, progress)
    base_labels = np.array(sapling.label, dtype=np.int32)
    expand(sapling, max_leaves, progress)
    return Grown(sapling, base_labels)


def kauri_clusters(
    task: Task, n_leaves: int, progress: Progress
) -> tuple[ThresholdTree, NDArray[np.float64]]:
    """Kauri's tree of so many leaves, and the means of its own clusters."""
    sapling, ground = task.sapling(), task.ground
    cluster = kauri(sapling, ground.space, ground.weights, len(task.centers), n_leaves, progress)
    tree = sapling.freeze()
    return tree, clusters_of(tree, cluster, task).means


def _none(task: Task, progress: Progress) -> Sapling:
    return task.sapling()


def _separating(
    method: Callable[[Sapling, NDArray[np.float64], Progress], None],
) -> Callable[[Task, Progress], Sapling]:
    def plant(task: Task, progress: Progress) -> Sapling:
        sapling = task.sapling()
        method(sapling, task.columns, progress)
        return sapling

    return plant


def _random(task: Task, progress: Progress) -> Sapling:
    """The one of least surrogate cost; of equals, the first."""
    rng = np.random.default_rng(task.seed)
    best: Sapling | None = None
    for _ in range(task.n_init):
        sapling = task.sapling()
        random_cuts(sapling, task.columns, rng)
        if best is None or _regret(sapling) < _regret(best):
            best = sapling
    assert best is not None  # n_init is at least 1
    return best


def _regret(sapling: Sapling) -> int:
    return sum(int(sapling.totals[leaf][sapling.label[leaf]]) for leaf in sapling.leaves)


def _cart(task: Task, progress: Progress) -> Sapling:
    sapling, ground = task.sapling(), task.ground
    n_leaves, allowed = len(task.centers), ground.table.allowed
    tree = cart(ground.X, task.costs, ground.weights, n_leaves, sapling.limits, allowed)
    follow(sapling, tree, recenter=True)
    return sapling


def _kdtree(task: Task, progress: Progress) -> Sapling:
    sapling = task.sapling()
    kdtree(sapling, len(task.centers))
    return sapling


def _kauri(task: Task, progress: Progress) -> Sapling:
    sapling, k = task.sapling(), len(task.centers)
    kauri(sapling, task.ground.space, task.ground.weights, k, k, progress)
    return sapling


_BASES: dict[str, Callable[[Task, Progress], Sapling]] = {
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
