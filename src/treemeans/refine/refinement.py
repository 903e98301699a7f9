"""Refinement: from a grown tree to a cheaper one with as many leaves.

Local refinement is a descent: choose every split again, use leaves that became free, move the
centers to the means of the clusters. A search does the same from several base trees, anneals the
best of them, and optimizes the result on all rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from treemeans import _core
from treemeans.growth.cart import cart
from treemeans.growth.expansion import grow, labels_of
from treemeans.growth.exshallow import exshallow
from treemeans.growth.given_tree import follow
from treemeans.growth.in_memory_tree import InMemoryTree
from treemeans.growth.kauri import kauri, weighable
from treemeans.progress import Progress
from treemeans.refine.annealing import search
from treemeans.refine.centered_tree import CenteredTree
from treemeans.refine.chains import can_search, search_chains
from treemeans.refine.coreset import search_data
from treemeans.refine.search_budget import Budget
from treemeans.training_data import TrainingData
from treemeans.tree import ThresholdTree

_LOCAL_ROUNDS = 2
"""Most tables need no more, and local refinement should take about as long as the growth."""
_MAX_ROUNDS = 30
_TOLERANCE = 1e-3
"""A round that saves less than this share of the cost is the last."""
_FINAL_TOLERANCE = 1e-4
"""The same for the tree that comes out of a search."""
_LEAST_EXCESS = 0.01
"""Least scale of the temperatures, as a share of the reference's cost: a search that starts near
the reference would accept nothing otherwise."""
_MOST_KAURI_WORK = 2e8
"""Values that Kauri may add up, for one look at all rows, in a search that starts from it too."""
_MOST_SHALLOW_WORK = 2e7
"""The same for ExShallow: costs that it compares for the first cut."""
_MOST_CART_VALUES = 2**22
"""Values of a table that is also searched from CART on the labels."""
_START_ROUNDS = 5
_START_BASES = ("imm", "exgreedy", "emn")
_SHORT_SEARCHES = 3
"""Starts that are searched from for a short time, before the best result is searched on."""
_SHORT_SHARE = 0.15
"""Share of the budget that each short search gets."""
_ROUNDING = 1e-12
"""Costs with a smaller relative difference are the same cost."""
MOST_ROUNDING = 1e-9
"""Costs in fixed point that may be off by more than this share are measured from the rows."""


def refine(
    kind: str, data: TrainingData, grown: ThresholdTree, n_leaves: int, budget: Budget
) -> tuple[InMemoryTree, NDArray[np.float64]]:
    """Lower the cost of a grown tree: that of its clusters plus the prices of its cuts.

    Where nothing better is found (see `improves`), the grown tree itself is returned, with its own
    labels.

    Parameters
    ----------
    kind : ``"local"`` or ``"search"``
    n_leaves : leaves that the tree may have

    Returns
    -------
    the refined tree on all rows, and the centers that its costs are measured to
    """
    rng = np.random.default_rng(data.seed)
    searched = search_data(data, rng) if kind == "search" else data
    sampled = searched.table.n_rows < data.table.n_rows
    labels = labels_of(grown, grown.label, data)
    centers = data.cost.clusters(labels, 0.0, data.centers).centers
    replays = CenteredTree.replays(data if sampled else searched, grown, centers)
    start = replays[0]
    prices = data.limits.price_of_cuts(grown.feature) * data.reference_cost
    start_cost = start.cost_with_labels(labels) + prices
    found: CenteredTree | None = None
    if kind == "search":
        starts = [tree.copy() for tree in replays]
        if sampled:
            found = _search_coreset(starts, searched, data, n_leaves, budget, rng)
        else:
            found = _search(starts, searched, n_leaves, budget, rng)
            found.recenter()
            found.optimize(n_leaves, _FINAL_TOLERANCE, _MAX_ROUNDS)
    if found is not None and found.cost < start.cost:
        _match_labels(found, data)
    else:
        found = _best_optimized(replays, n_leaves, _LOCAL_ROUNDS)
    # Every step above lowers the cost in fixed point. The promise is that the cost a user sees is
    # not higher, for any input: so it is compared, in full, with that of the grown tree.
    cost = found.clusters().cost
    if start.costs.rounding + found.costs.rounding > MOST_ROUNDING * start_cost:
        start_cost = data.cost.measured(labels, data.centers) + prices
        cost = data.cost.measured(found.tree.labels(), data.centers)
        cost += data.limits.price_of_cuts(found.freeze().feature) * data.reference_cost
    if improves(cost, found.tree.n_leaves, start_cost, grown.n_leaves):
        # Splits above a cut may have moved since its threshold was chosen half way between two
        # values: thresholds move half way between the values of the rows that reach them now.
        tree = InMemoryTree(replace(data, costs=found.costs))
        follow(tree, found.freeze(), recenter=True, priced=False)
        return tree, found.centers
    tree = InMemoryTree(data)
    for node, here in follow(tree, grown, priced=False).items():
        tree.label[here] = int(grown.label[node])
    return tree, data.centers


def improves(cost: float, n_leaves: int, start_cost: float, start_leaves: int) -> bool:
    """Whether a tree costs less than its start, or as much (but for rounding) on fewer leaves."""
    if n_leaves < start_leaves:
        return cost <= start_cost * (1.0 + _ROUNDING)
    return cost < start_cost * (1.0 - _ROUNDING)


def _best_optimized(trees: list[CenteredTree], n_leaves: int, max_rounds: int) -> CenteredTree:
    """Optimize trees, and return the cheapest."""
    for tree in trees:
        tree.optimize(n_leaves, _TOLERANCE, max_rounds)
    return min(trees, key=lambda tree: tree.cost)


def _search_coreset(
    plain: list[CenteredTree],
    coreset: TrainingData,
    data: TrainingData,
    n_leaves: int,
    budget: Budget,
    rng: np.random.Generator,
) -> CenteredTree:
    """Search on a coreset, and optimize the tree on all rows."""
    starts = [CenteredTree.replay(coreset, tree.freeze(), tree.centers) for tree in plain]
    best = _search(starts, coreset, n_leaves, budget, rng)
    found = CenteredTree.replay(data, best.freeze(), best.centers)
    found.recenter()
    found.optimize(n_leaves, _TOLERANCE, _MAX_ROUNDS)
    return _or_grown_on_all_rows(found, data, n_leaves)


def _or_grown_on_all_rows(found: CenteredTree, data: TrainingData, n_leaves: int) -> CenteredTree:
    """Return a tree grown on all rows instead, if that is cheaper: a coreset can miss rows."""
    quiet = Progress("", 1, False)
    trees = [grow(data, base, n_leaves, quiet).as_expanded() for base in _START_BASES]
    if data.cost.points is None:
        trees.append(_decision_tree(data, n_leaves))
    for grown in trees:
        other = CenteredTree.replay(data, grown, _cluster_centers(grown, grown.label, data))
        if other.cost < found.cost:
            other.optimize(n_leaves, _TOLERANCE, _MAX_ROUNDS)
            found = other
    return found


def _cluster_centers(
    tree: ThresholdTree, label: NDArray[np.int32], data: TrainingData
) -> NDArray[np.float64]:
    """Representatives of the clusters that the labels of a tree's nodes make."""
    return data.cost.clusters(labels_of(tree, label, data), 0.0, data.centers).centers


def _search(
    plain: list[CenteredTree],
    data: TrainingData,
    n_leaves: int,
    budget: Budget,
    rng: np.random.Generator,
) -> CenteredTree:
    """Anneal shortly from each of the cheapest starts, then on from the best tree found.

    Which start leads to the best tree shows early; a long search from each would waste the budget.
    """
    starts = _starts(plain, data, n_leaves, budget)
    if data.cost.points is None and starts[0].tree.cost == 0:
        return starts[0]  # every row is in its cheapest cluster, and clusters do not move
    reference = data.costs.cheapest
    excess = max(starts[0].cost - reference, _LEAST_EXCESS * reference)
    if can_search(data, n_leaves):
        return search_chains(starts, data, n_leaves, excess, budget, rng)
    found = [
        search(start, n_leaves, excess, budget, _SHORT_SHARE * (number + 1), rng)
        for number, start in enumerate(starts[:_SHORT_SEARCHES])
    ]
    best = min(found, key=lambda tree: tree.cost)
    return search(best, n_leaves, excess, budget, 1.0, rng)


def _starts(
    plain: list[CenteredTree], data: TrainingData, n_leaves: int, budget: Budget
) -> list[CenteredTree]:
    """Optimized trees to search from, cheapest first. On Ctrl-C, those that are ready."""
    ready = plain[:1]
    try:
        ready = [_best_optimized(plain, n_leaves, _START_ROUNDS)]
        for replays in _other_starts(data, n_leaves, budget):
            for tree in replays:
                tree.grow(n_leaves)
                tree.recenter()
            ready.append(_best_optimized(replays, n_leaves, _START_ROUNDS))
    except KeyboardInterrupt:
        budget.interrupt()
    return sorted(ready, key=lambda tree: tree.cost)


def _other_starts(
    data: TrainingData, n_leaves: int, budget: Budget
) -> Iterator[list[CenteredTree]]:
    """Replay trees from other bases, as long as the budget is not spent."""
    quiet = Progress("", 1, False)
    for base in _START_BASES:
        if budget.spent:
            return
        budget.tell(f"from {base}")
        # All starts have the means of their own clusters, so that no search ends above them.
        tree = grow(data, base, n_leaves, quiet).as_expanded()
        yield CenteredTree.replays(data, tree, _cluster_centers(tree, tree.label, data))
    space = data.cost.points
    if space is None:
        if not budget.spent:
            # Of labels, a decision tree is a strong start: no refined tree is worse than CART's.
            budget.tell("from cart")
            tree = _decision_tree(data, n_leaves)
            yield CenteredTree.replays(data, tree, data.centers, data.costs)
        return
    if not budget.spent and _shallow_work(data) <= _MOST_SHALLOW_WORK:
        budget.tell("from exshallow")
        growing = InMemoryTree(data)
        exshallow(growing, np.asarray(data.X), data.center_columns, quiet)
        tree = growing.freeze()
        yield CenteredTree.replays(data, tree, _cluster_centers(tree, tree.label, data))
    if not budget.spent and data.X.shape[0] * data.X.shape[1] <= _MOST_CART_VALUES:
        budget.tell("from cart")
        tree = _decision_tree(data, n_leaves)
        yield CenteredTree.replays(data, tree, _cluster_centers(tree, _majority(tree, data), data))
    if not weighable(data.weights):
        return
    if not budget.spent and _kauri_work(data, space) <= _MOST_KAURI_WORK:
        budget.tell("from kauri")
        growing, k = InMemoryTree(data), len(data.centers)
        cluster = kauri(growing, space, data.weights, k, n_leaves, quiet)
        tree = growing.freeze()
        yield CenteredTree.replays(data, tree, _cluster_centers(tree, cluster, data))


def _decision_tree(data: TrainingData, n_leaves: int) -> ThresholdTree:
    """CART on the reference's labels; one leaf if no column can be compared."""
    limits, allowed = data.limits.for_rows(data.costs), data.table.comparable
    tree = cart(data.X, data.costs, data.weights, n_leaves, limits, allowed)
    growing = InMemoryTree(data)
    follow(growing, tree, recenter=True, priced=False)
    return growing.freeze()


def _majority(tree: ThresholdTree, data: TrainingData) -> NDArray[np.int32]:
    """The reference label of most rows in each leaf of a tree, as CART predicts it."""
    node, k = labels_of(tree, np.arange(tree.n_nodes, dtype=np.int32), data), len(data.centers)
    cell = node.astype(np.int64) * k + data.costs.nearest
    counts = np.bincount(cell, data.weights, minlength=tree.n_nodes * k)
    return np.asarray(counts.reshape(tree.n_nodes, k).argmax(axis=1), dtype=np.int32)


def _shallow_work(data: TrainingData) -> float:
    """Costs that ExShallow compares at the root; infinite where it cannot read the table."""
    if sparse.issparse(data.X) or data.table.bins.mixed or data.limits.restrict_leaves:
        return math.inf
    return float(data.X.size) * len(data.centers)


def _kauri_work(data: TrainingData, space: _core.Points) -> float:
    """Number of values that Kauri adds up: whole rows, along every feature."""
    values, space_values = _core.n_values(data.table.points), _core.n_values(space)
    return float(values) * space_values / data.table.n_rows


def _match_labels(found: CenteredTree, data: TrainingData) -> None:
    """Number the clusters so that as many rows as possible have their reference label."""
    k = len(found.centers)
    if data.cost.points is None:  # a cluster is a column of given costs: its number is its own
        return
    cell = found.tree.labels().astype(np.int64) * k + data.costs.nearest
    common = np.bincount(cell, data.weights, minlength=k * k).reshape(k, k)
    cluster, label = linear_sum_assignment(common, maximize=True)
    if np.array_equal(cluster, label):
        return
    centers = np.empty_like(found.centers)
    centers[label] = found.centers[cluster]
    found.move_centers(centers)
