"""Base trees by name. A base tree is where the expansion starts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from treemeans.growth.cart import cart
from treemeans.growth.emn import emn
from treemeans.growth.exgreedy import exgreedy
from treemeans.growth.given_tree import follow
from treemeans.growth.imm import imm
from treemeans.growth.in_memory_tree import InMemoryTree
from treemeans.growth.kauri import kauri
from treemeans.growth.kdtree import kdtree
from treemeans.growth.random_cuts import random_cuts
from treemeans.progress import Progress
from treemeans.training_data import TrainingData
from treemeans.tree import ThresholdTree

BEST_OF = ("imm", "exgreedy", "emn", "kauri", "none")
"""What ``"best"`` tries."""


def base_tree(data: TrainingData, base: str | ThresholdTree, progress: Progress) -> InMemoryTree:
    """The base tree of a name, or one with the cuts of a given tree.

    In a table with categories or missing values IMM cuts all columns. The others compare values
    with coordinates of centers or with each other, so that they cut only columns of numbers, dates
    and flags without missing values; the expansion cuts all. Their searches of categories would not
    be exact: what ExGreedy and Kauri add up is not a sum over categories once the sides of the
    centers are open, and EMN's quotient has no minimum cut.
    """
    if isinstance(base, ThresholdTree):
        growing = InMemoryTree(data)
        follow(growing, base)
        return growing
    if data.table.bins.mixed and base != "imm" and not data.table.comparable.any():
        base = "none"
    return _BASES[base](data, progress)


def _none(data: TrainingData, progress: Progress) -> InMemoryTree:
    return InMemoryTree(data)


def _separating(
    method: Callable[[InMemoryTree, NDArray[np.float64], Progress], None],
) -> Callable[[TrainingData, Progress], InMemoryTree]:
    def build(data: TrainingData, progress: Progress) -> InMemoryTree:
        growing = InMemoryTree(data, put_off=True)
        method(growing, data.center_columns, progress)
        return growing

    return build


def _random(data: TrainingData, progress: Progress) -> InMemoryTree:
    """The random tree of least surrogate cost; of equals, the first."""
    rng = np.random.default_rng(data.seed)
    best: InMemoryTree | None = None
    for _ in range(data.n_init):
        growing = InMemoryTree(data)
        random_cuts(growing, data.center_columns, rng)
        if best is None or _regret(growing) < _regret(best):
            best = growing
    assert best is not None  # n_init is at least 1
    return best


def _regret(growing: InMemoryTree) -> int:
    return sum(int(growing.totals[leaf][growing.label[leaf]]) for leaf in growing.leaves)


def _cart(data: TrainingData, progress: Progress) -> InMemoryTree:
    growing = InMemoryTree(data)
    n_leaves, allowed = len(data.centers), data.table.comparable
    tree = cart(data.X, data.costs, data.weights, n_leaves, growing.limits, allowed)
    follow(growing, tree, recenter=True)
    return growing


def _kdtree(data: TrainingData, progress: Progress) -> InMemoryTree:
    growing = InMemoryTree(data)
    kdtree(growing, len(data.centers))
    return growing


def _kauri(data: TrainingData, progress: Progress) -> InMemoryTree:
    if data.cost.points is None:
        raise ValueError(
            'base_tree="kauri" compares means of clusters, which given costs and cost="labels" do '
            'not have; use "imm", "exgreedy" or "none".'
        )
    growing, k = InMemoryTree(data), len(data.centers)
    kauri(growing, data.cost.points, data.weights, k, k, progress)
    return growing


_BASES: dict[str, Callable[[TrainingData, Progress], InMemoryTree]] = {
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
