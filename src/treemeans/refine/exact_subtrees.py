"""Subtrees of a few leaves, replaced by the cheapest ones there are.

Annealing chooses one cut at a time. Of up to four leaves, or up to a depth of three if the depth is
limited, the exact solver knows the best cuts together, on all thresholds; that may be the whole
tree.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from treemeans.optimal.exact_solver import RankedColumns, regret_solver, tree_of_ranks
from treemeans.refine.centered_tree import CenteredTree
from treemeans.tree import ThresholdTree

_MOST_LEAVES = 4
_MOST_DEPTH = 3
"""Depth up to which subtrees of any number of leaves are solved, where the depth is limited: there
the search is often above the optimum, and proofs are fast."""
_MOST_WORK, _MOST_LIMITED_WORK = 5e8, 2e9
"""Values read and added in the solver for all subtrees together, without and with a limit of the
depth: about a third of a second, and a second."""
_ROUNDS = 3


def solve_subtrees(tree: CenteredTree, n_leaves: int, tolerance: float, max_rounds: int) -> None:
    """Solve the subtrees of up to four leaves, and optimize the tree; again while that helps.

    Never raises the cost.
    """
    max_depth = tree.data.limits.max_depth
    work = _MOST_WORK if max_depth is None else _MOST_LIMITED_WORK
    for _ in range(_ROUNDS):
        improved = False
        frozen, numbers = tree.freeze(), [node.number for node in tree.tree.nodes()]
        for place in _small_subtrees(frozen, max_depth):
            spare = n_leaves - tree.tree.n_leaves
            spent, found = _solve(tree, frozen, place, spare, work)
            work -= spent
            if found is not None:
                tree.tree.collapse(numbers[place])
                _make_cuts(tree, numbers[place], found, 0)
                improved = True
        if not improved:
            return
        tree.recenter()
        tree.optimize(n_leaves, tolerance, max_rounds)


def _small_subtrees(tree: ThresholdTree, max_depth: int | None) -> list[int]:
    """The largest subtrees that are small enough."""
    n_leaves = _leaves_below(tree)
    found, queue = [], [(0, 0)]
    while queue:
        node, depth = queue.pop()
        if tree.is_leaf[node]:
            continue
        is_shallow = max_depth is not None and max_depth - depth <= _MOST_DEPTH
        if is_shallow or n_leaves[node] <= _MOST_LEAVES:
            found.append(node)
        else:
            queue += [(int(tree.right[node]), depth + 1), (int(tree.left[node]), depth + 1)]
    return found


def _leaves_below(tree: ThresholdTree) -> NDArray[np.intp]:
    """Number of leaves of each subtree; children have larger numbers than their parents."""
    n_leaves = np.ones(tree.n_nodes, dtype=np.intp)
    for node in range(tree.n_nodes - 1, -1, -1):
        if not tree.is_leaf[node]:
            n_leaves[node] = n_leaves[tree.left[node]] + n_leaves[tree.right[node]]
    return n_leaves


def _solve(
    tree: CenteredTree, frozen: ThresholdTree, place: int, spare: int, most: float
) -> tuple[float, ThresholdTree | None]:
    """The work done, and the cheapest subtree if it costs less than the one that is there.

    It may have ``spare`` leaves more if the depth is limited.
    """
    data, costs = tree.data, tree.costs
    nodes = _nodes_below(frozen, place)
    leaf = frozen.outcome(
        data.table.points, np.arange(frozen.n_nodes, dtype=np.int32), data.n_threads
    )
    assert leaf is not None  # the table was checked
    here = costs.rows[np.isin(leaf[costs.rows], nodes)]
    if most <= 0.0 or len(here) < 2:
        return 0.0, None
    slots = data.table.bins.feature
    regrets = np.ascontiguousarray(costs.regrets.values[here])
    prices = data.slot_prices(costs)
    price = dict(zip(slots, prices.tolist(), strict=True)) if prices is not None else {}
    now = 0
    for node in nodes:
        if frozen.is_leaf[node]:
            own = costs.regrets.values[here[leaf[here] == node]]
            now += int(own.sum(axis=0).min()) if len(own) else 0
        else:
            now += price.get(int(frozen.feature[node]), 0)
    if now == 0:
        return 0.0, None
    if prices is not None:  # no cut saves as much as that, and sums of it do not overflow
        prices = np.minimum(prices, int(regrets.sum(axis=0).min()) + 1)
    least = data.limits.for_rows(costs).min_weight
    weights = None if costs.weights is None else costs.weights.values[here].astype(np.float64)
    columns = RankedColumns.of(data.X, tuple(slots), here)
    solver = regret_solver(
        columns, regrets, weights if least > 1 else None, float(least if least > 1 else 0), prices
    )
    solver.stop_at(most)
    depth = data.limits.max_depth
    n_leaves = sum(bool(frozen.is_leaf[node]) for node in nodes)
    if depth is None:
        depth = _MOST_LEAVES
    else:
        depth -= _depth(frozen, place)
        n_leaves = min(n_leaves + spare, 2**_MOST_DEPTH)
    answer = solver.solve(n_leaves, depth, now, lambda work: work < most)
    if answer is None or not answer[1] or answer[0] >= now:
        return float(solver.work), None
    return float(solver.work), tree_of_ranks(columns, data.table.n_features, *answer[2])


def _nodes_below(tree: ThresholdTree, place: int) -> list[int]:
    nodes = [place]
    for node in nodes:
        if not tree.is_leaf[node]:
            nodes += [int(tree.left[node]), int(tree.right[node])]
    return nodes


def _depth(tree: ThresholdTree, place: int) -> int:
    """Cuts above a node."""
    parent = {int(c): p for p in range(tree.n_nodes) for c in (tree.left[p], tree.right[p])}
    depth = 0
    while place != 0:
        place, depth = parent[place], depth + 1
    return depth


def _make_cuts(tree: CenteredTree, here: int, cuts: ThresholdTree, node: int) -> None:
    """Cut a leaf as a tree is cut."""
    if cuts.is_leaf[node]:
        return
    children = tree.tree.split(here, int(cuts.feature[node]), float(cuts.threshold[node]))
    if children is not None:
        _make_cuts(tree, children[0], cuts, int(cuts.left[node]))
        _make_cuts(tree, children[1], cuts, int(cuts.right[node]))
