"""Search: tear out a part of the tree, let it grow again otherwise, keep it if that is cheaper.

Simulated annealing over trees of a fixed number of leaves. A round changes a copy of the tree by
one of three moves, settles it, and compares the k-means costs.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treemeans.grow.sapling import Cut
from treemeans.refine.budget import Budget
from treemeans.refine.shape import Shape

_HOT, _COLD = 0.02, 0.002
"""Temperature at the start and the end, as a share of the excess the search begins with."""
_HOPELESS = 20.0
"""A change that raises the cost by more temperatures than this is not worth settling."""
_HIDDEN = 0.75
"""Share of the features that a regrowing leaf does not see."""
_NEAR = 1e-4
"""Settling stops once a round saves less than this share of the cost."""


@dataclass
class _Walk:
    """Where the search is, and the best it has been at."""

    shape: Shape
    cost: float
    best: Shape
    best_cost: float


def search(
    start: Shape,
    n_leaves: int,
    excess: float,
    budget: Budget,
    rng: np.random.Generator,
) -> Shape:
    """The best of the trees a search from ``start`` comes by, which is settled.

    ``excess``: what the start costs above the reference, the yardstick of a change. The progress
    and the end of the search are the budget's. Ctrl-C ends it early.
    """
    walk = _Walk(start, start.cost, start, start.cost)
    try:
        while not budget.spent:
            temperature = excess * _HOT ** (1.0 - budget.share) * _COLD**budget.share
            _round(walk, n_leaves, temperature, budget, rng)
    except KeyboardInterrupt:
        budget.interrupt()
    return walk.best


def _round(
    walk: _Walk, n_leaves: int, temperature: float, budget: Budget, rng: np.random.Generator
) -> None:
    shape = walk.shape.copy()
    begin = shape.tree.steps
    changed = _change(shape, n_leaves, rng)
    if changed and shape.cost <= walk.cost + _HOPELESS * temperature:
        shape.choose_splits()
        _use_free_leaves(shape, n_leaves)
        clusters = shape.clusters()
        rise = clusters.cost - walk.cost
        if rise < 0.0 or (rise > 0.0 and rng.random() < math.exp(-rise / temperature)):
            shape.recenter(clusters)
            _accept(walk, shape, n_leaves)
    budget.spend(shape.tree.steps - begin, walk.best_cost)


def _accept(walk: _Walk, shape: Shape, n_leaves: int) -> None:
    cost = shape.settle(n_leaves, _NEAR, 1 if shape.cost >= walk.best_cost else 2)
    for leaf in shape.leaves:  # now, so that every copy knows their best cuts
        shape.tree.search(leaf, None, shape.ground.n_threads)
    walk.shape, walk.cost = shape, cost
    if cost < walk.best_cost:
        walk.best, walk.best_cost = shape, cost


def _change(shape: Shape, n_leaves: int, rng: np.random.Generator) -> bool:
    """One of the moves, at a random place; False where it is not possible there."""
    inner = shape.inner
    if not inner:
        return False
    node = inner[rng.integers(len(inner))]
    chance = rng.random()
    move = _bend if chance < 0.3 else _transplant if chance < 0.6 else _regrow
    return move(shape, node, n_leaves, rng)


def _bend(shape: Shape, node: int, n_leaves: int, rng: np.random.Generator) -> bool:
    """Cut a node by another feature, and keep what is below it as far as it still fits."""
    prices = _some_prices(shape, rng)
    prices[np.array(shape.ground.table.bins.feature) == shape.tree.feature(node)] = -1
    if not shape.tree.resplit(node, prices, shape.ground.n_threads):
        return False
    if shape.tree.feature(node) >= 0:  # it can have lost a side, and taken the other's place
        for child in shape.tree.children(node):
            shape.choose_splits(child)
    _use_free_leaves(shape, n_leaves)
    return True


def _transplant(shape: Shape, node: int, n_leaves: int, rng: np.random.Generator) -> bool:
    """Tear out a subtree, cut its place once, and grow the rest wherever it saves most."""
    shape.tree.collapse(node)
    cut = _search_some(shape, node, rng)
    if cut is not None:
        shape.grow(shape.tree.n_leaves + 1, [node], lambda _: cut)
    shape.grow(n_leaves)
    shape.choose_splits(node)
    _use_free_leaves(shape, n_leaves)
    return True


def _regrow(shape: Shape, node: int, n_leaves: int, rng: np.random.Generator) -> bool:
    """Tear out a subtree, and let it grow again there, each leaf seeing a few features only."""
    shape.tree.collapse(node)
    shape.grow(n_leaves, [node], lambda leaf: _search_some(shape, leaf, rng))
    shape.choose_splits(node)
    _use_free_leaves(shape, n_leaves)
    return True


def _use_free_leaves(shape: Shape, n_leaves: int) -> None:
    if shape.tree.n_leaves < n_leaves:
        shape.grow(n_leaves)


def _search_some(shape: Shape, leaf: int, rng: np.random.Generator) -> Cut | None:
    return shape.tree.search(leaf, _some_prices(shape, rng), shape.ground.n_threads)


def _some_prices(shape: Shape, rng: np.random.Generator) -> NDArray[np.int64]:
    """Prices of the features; of a random lot of them, none: there is no cut on those."""
    features = shape.ground.table.bins.feature
    prices = shape.limits.slot_prices(features, shape.costs)
    prices = np.zeros(len(features), dtype=np.int64) if prices is None else prices
    hidden = rng.random(len(features)) < _HIDDEN
    hidden[rng.integers(len(features))] = False
    prices[hidden] = -1
    return prices
