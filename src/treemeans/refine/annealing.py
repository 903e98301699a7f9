"""Simulated annealing over trees of a fixed number of leaves.

A round changes a copy of the tree at one place, by one of three moves, and optimizes the copy. It
is kept if its k-means cost is lower, and with a chance that falls with the rise of the cost if not.
"""

import math
import sys
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treemeans.growth.growing_tree import Cut
from treemeans.refine.centered_tree import CenteredTree
from treemeans.refine.search_budget import Budget

_FIRST_TEMPERATURE, _LAST_TEMPERATURE = 0.02, 0.002
"""As a share of the excess cost at the start. Tables differ by orders of magnitude in their cost,
but what a search can gain is always some part of the excess over the reference."""
_MOST_TEMPERATURES = 20.0
"""A change that raises the cost by more temperatures than this is not optimized: it would be
accepted with a chance of exp(-20), and optimizing is what takes the time of a round."""
_HIDDEN_FEATURES = 0.75
"""Share of the features that a leaf does not see when it grows again. If it saw all of them it
would get the cuts that it had before."""
_TOLERANCE = 1e-4
"""Optimizing stops once a round saves less than this share of the cost."""
_UNIFORM = 0.2
"""Part of a node's chance to be changed that is the same for all nodes, as a share of the largest:
costly subtrees are changed more often, but every node is changed sometimes."""
_PAIRS = 8
"""Pairs of cuts that are tried where no single cut gains."""


@dataclass
class _State:
    """The tree the search is at, and the best one so far."""

    tree: CenteredTree
    cost: float
    best: CenteredTree
    best_cost: float


def search(
    start: CenteredTree,
    n_leaves: int,
    excess: float,
    budget: Budget,
    until: float,
    rng: np.random.Generator,
) -> CenteredTree:
    """Return the best tree of a search from ``start``, which is optimized.

    Parameters
    ----------
    excess : what the start costs above the reference, the scale of the temperature
    until : share of the budget at which the search ends; it also ends where every row is with its
        nearest center, and on Ctrl-C
    """
    state = _State(start, start.cost, start, start.cost)
    begin = budget.share
    try:
        while state.best.tree.cost > 0 and not budget.spent and budget.share < until:
            done = (budget.share - begin) / (until - begin)
            # Geometric cooling; never 0, which is divided by.
            share = _FIRST_TEMPERATURE ** (1.0 - done) * _LAST_TEMPERATURE**done
            temperature = max(excess * share, sys.float_info.min)
            _round(state, n_leaves, temperature, budget, rng)
    except KeyboardInterrupt:
        budget.interrupt()
    return state.best


def _round(
    state: _State, n_leaves: int, temperature: float, budget: Budget, rng: np.random.Generator
) -> None:
    tree = state.tree.copy()
    begin = tree.tree.steps
    changed = _change(tree, n_leaves, rng)
    if changed and tree.cost <= state.cost + _MOST_TEMPERATURES * temperature:
        tree.reoptimize()
        _grow_to_size(tree, n_leaves, rng)
        clusters = tree.clusters()
        rise = clusters.cost - state.cost
        # A tree of the same cost is most often the same tree: it is not worth a recentering.
        if rise < 0.0 or (rise > 0.0 and rng.random() < math.exp(-rise / temperature)):
            tree.recenter(clusters)
            _accept(state, tree, n_leaves)
    budget.spend(tree.tree.steps - begin, state.best_cost)


def _accept(state: _State, tree: CenteredTree, n_leaves: int) -> None:
    cost = tree.optimize(n_leaves, _TOLERANCE, 1 if tree.cost >= state.best_cost else 2)
    # The best cuts of the leaves are searched now, so that every copy of this tree knows them.
    for leaf in tree.leaves:
        tree.tree.search(leaf, None, tree.data.n_threads)
    state.tree, state.cost = tree, cost
    if cost < state.best_cost:
        state.best, state.best_cost = tree, cost


def _change(tree: CenteredTree, n_leaves: int, rng: np.random.Generator) -> bool:
    """Make one of the moves at a random node; return False where it is not possible."""
    node = _pick_node(tree, rng)
    if node is None:
        return False
    chance = rng.random()
    move = _change_feature if chance < 0.3 else _regrow_anywhere if chance < 0.6 else _regrow_here
    return move(tree, node, n_leaves, rng)


def _pick_node(tree: CenteredTree, rng: np.random.Generator) -> int | None:
    """Draw an inner node: the more likely, the more its leaves cost beyond the reference."""
    regrets: dict[int, tuple[int, int]] = {}  # of the leaves below a node, and their number
    for node in reversed(tree.tree.nodes()):
        if node.is_leaf:
            regrets[node.number] = (tree.tree.regret(node.number), 1)
        else:
            (a, m), (b, n) = regrets[node.left], regrets[node.right]
            regrets[node.number] = (a + b, m + n)
    inner = [number for number, (_, n) in regrets.items() if n > 1]
    if not inner:
        return None
    mean = np.array([regrets[number][0] / regrets[number][1] for number in inner])
    chance = np.cumsum(mean + max(_UNIFORM * mean.max(), 1.0))
    return inner[int(np.searchsorted(chance, rng.random() * chance[-1], side="right"))]


def _change_feature(tree: CenteredTree, node: int, n_leaves: int, rng: np.random.Generator) -> bool:
    """Cut a node by another feature, and keep the subtrees as far as they still fit."""
    prices = _some_prices(tree, rng)
    prices[np.array(tree.data.table.bins.feature) == tree.tree.feature(node)] = -1
    if not tree.tree.replace_split(node, prices, tree.data.n_threads):
        return False
    if tree.tree.feature(node) >= 0:  # a leaf, if all rows went to one side, and that was a leaf
        for child in tree.tree.children(node):
            tree.reoptimize(child)
    _grow_to_size(tree, n_leaves, rng)
    return True


def _regrow_anywhere(
    tree: CenteredTree, node: int, n_leaves: int, rng: np.random.Generator
) -> bool:
    """Remove a subtree, cut its place once, and use the other leaves wherever they save most."""
    tree.tree.collapse(node)
    cut = _search_some(tree, node, rng)
    if cut is not None:
        tree.grow(tree.tree.n_leaves + 1, [node], lambda _: cut)
    tree.grow(n_leaves)
    tree.reoptimize(node)
    _grow_to_size(tree, n_leaves, rng)
    return True


def _regrow_here(tree: CenteredTree, node: int, n_leaves: int, rng: np.random.Generator) -> bool:
    """Remove a subtree, and grow another in its place; each leaf sees a few features only."""
    tree.tree.collapse(node)
    tree.grow(n_leaves, [node], lambda leaf: _search_some(tree, leaf, rng))
    tree.reoptimize(node)
    _grow_to_size(tree, n_leaves, rng)
    return True


def _grow_to_size(tree: CenteredTree, n_leaves: int, rng: np.random.Generator) -> None:
    """Grow to full size again; where no single cut gains, by two cuts that do together."""
    if tree.tree.n_leaves < n_leaves:
        tree.grow(n_leaves)
    if tree.tree.n_leaves <= n_leaves - 2:
        _try_pairs(tree, rng)
        tree.grow(n_leaves)


def _try_pairs(tree: CenteredTree, rng: np.random.Generator) -> None:
    """Cut the costliest leaf at random and one of its sides at best; undo it unless that gains.

    Greedy growth stops where two cuts gain together (as in an XOR) but neither does by itself.
    """
    worst = max(tree.leaves, key=tree.tree.regret)
    before = tree.tree.cost
    for _ in range(_PAIRS):
        cut = _search_some(tree, worst, rng)
        if cut is None:
            continue
        children = tree.tree.split(worst, cut.feature, cut.threshold)
        if children is None:
            continue
        tree.grow(tree.tree.n_leaves + 1, children)
        if tree.tree.cost < before:
            return
        tree.tree.collapse(worst)


def _search_some(tree: CenteredTree, leaf: int, rng: np.random.Generator) -> Cut | None:
    """The best cut of a leaf on a random choice of the features."""
    return tree.tree.search(leaf, _some_prices(tree, rng), tree.data.n_threads)


def _some_prices(tree: CenteredTree, rng: np.random.Generator) -> NDArray[np.int64]:
    """Prices of the features; -1, which forbids a cut, for a random choice of them."""
    n_slots = len(tree.data.table.bins.feature)
    prices = tree.data.slot_prices(tree.costs)
    prices = np.zeros(n_slots, dtype=np.int64) if prices is None else prices
    hidden = rng.random(n_slots) < _HIDDEN_FEATURES
    hidden[rng.integers(n_slots)] = False
    prices[hidden] = -1
    return prices
