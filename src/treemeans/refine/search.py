"""Search: tear out a part of the tree, let it grow again otherwise, keep it if that is cheaper.

Simulated annealing over trees of a fixed number of leaves. A round changes a copy of the tree by
one of three moves, settles it, and compares the k-means costs.
"""

import math
import sys
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treemeans.grow.sprout import Cut, between
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
_EVEN = 0.2
"""What every node's chance to be changed has in common, as a share of the largest."""
_LOOKS_AHEAD = 8
"""Pairs of cuts that are tried where no single one gains."""


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
    until: float,
    rng: np.random.Generator,
) -> Shape:
    """The best of the trees a search from ``start`` comes by, which is settled.

    ``excess``: what the start costs above the reference, the yardstick of a change. The search
    goes on until a share of the budget is spent, every row is with its nearest center, or Ctrl-C.
    """
    walk = _Walk(start, start.cost, start, start.cost)
    begin = budget.share
    try:
        while walk.best.tree.cost > 0 and not budget.spent and budget.share < until:
            done = (budget.share - begin) / (until - begin)
            temperature = max(excess * _HOT ** (1.0 - done) * _COLD**done, sys.float_info.min)
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
        _use_free_leaves(shape, n_leaves, rng)
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
    node = _pick(shape, rng)
    if node is None:
        return False
    chance = rng.random()
    move = _bend if chance < 0.3 else _transplant if chance < 0.6 else _regrow
    return move(shape, node, n_leaves, rng)


def _pick(shape: Shape, rng: np.random.Generator) -> int | None:
    """A node that is cut; the more likely, the more a leaf below it costs beyond the reference."""
    regrets: dict[int, tuple[int, int]] = {}  # of the leaves below a node, and their number
    for node, feature, _, left, right, _ in reversed(shape.tree.nodes()):
        if feature < 0:
            regrets[node] = (shape.tree.regret(node), 1)
        else:
            (a, m), (b, n) = regrets[left], regrets[right]
            regrets[node] = (a + b, m + n)
    inner = [node for node, (_, n) in regrets.items() if n > 1]
    if not inner:
        return None
    mean = np.array([regrets[node][0] / regrets[node][1] for node in inner])
    chance = np.cumsum(mean + max(_EVEN * mean.max(), 1.0))
    return inner[int(np.searchsorted(chance, rng.random() * chance[-1], side="right"))]


def _bend(shape: Shape, node: int, n_leaves: int, rng: np.random.Generator) -> bool:
    """Cut a node by another feature, and keep what is below it as far as it still fits."""
    prices = _some_prices(shape, rng)
    prices[np.array(shape.ground.table.bins.feature) == shape.tree.feature(node)] = -1
    if not shape.tree.resplit(node, prices, shape.ground.n_threads):
        return False
    if shape.tree.feature(node) >= 0:  # it can have lost a side, and taken the other's place
        for child in shape.tree.children(node):
            shape.choose_splits(child)
    _use_free_leaves(shape, n_leaves, rng)
    return True


def _transplant(shape: Shape, node: int, n_leaves: int, rng: np.random.Generator) -> bool:
    """Tear out a subtree, cut its place once, and grow the rest wherever it saves most."""
    shape.tree.collapse(node)
    cut = _search_some(shape, node, rng)
    if cut is not None:
        shape.grow(shape.tree.n_leaves + 1, [node], lambda _: cut)
    shape.grow(n_leaves)
    shape.choose_splits(node)
    _use_free_leaves(shape, n_leaves, rng)
    return True


def _regrow(shape: Shape, node: int, n_leaves: int, rng: np.random.Generator) -> bool:
    """Tear out a subtree, and let it grow again there, each leaf seeing a few features only."""
    shape.tree.collapse(node)
    shape.grow(n_leaves, [node], lambda leaf: _search_some(shape, leaf, rng))
    shape.choose_splits(node)
    _use_free_leaves(shape, n_leaves, rng)
    return True


def _use_free_leaves(shape: Shape, n_leaves: int, rng: np.random.Generator) -> None:
    """Grow to full size again; where no single cut gains, by two that do together."""
    if shape.tree.n_leaves < n_leaves:
        shape.grow(n_leaves)
    if shape.tree.n_leaves <= n_leaves - 2:
        _look_ahead(shape, rng)
        shape.grow(n_leaves)


def _look_ahead(shape: Shape, rng: np.random.Generator) -> None:
    """Cut the worst leaf at random and its sides at best, if that gains at all; a few times."""
    worst = max(shape.leaves, key=shape.tree.regret)
    before = shape.tree.cost
    for _ in range(_LOOKS_AHEAD):
        cut = _search_some(shape, worst, rng)
        if cut is None:
            continue
        _, feature, low, high = cut
        children = shape.tree.split(worst, feature, between(low, high))
        if children is None:
            continue
        shape.grow(shape.tree.n_leaves + 1, children)
        if shape.tree.cost < before:
            return
        shape.tree.collapse(worst)


def _search_some(shape: Shape, leaf: int, rng: np.random.Generator) -> Cut | None:
    return shape.tree.search(leaf, _some_prices(shape, rng), shape.ground.n_threads)


def _some_prices(shape: Shape, rng: np.random.Generator) -> NDArray[np.int64]:
    """Prices of the features; of a random lot of them, none: there is no cut on those."""
    n_slots = len(shape.ground.table.bins.feature)
    prices = shape.ground.slot_prices(shape.costs)
    prices = np.zeros(n_slots, dtype=np.int64) if prices is None else prices
    hidden = rng.random(n_slots) < _HIDDEN
    hidden[rng.integers(n_slots)] = False
    prices[hidden] = -1
    return prices
