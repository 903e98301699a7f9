"""Algorithm 1 of the paper: a base tree, expanded leaf by leaf, largest gain first."""

import heapq
from collections.abc import Callable, Iterable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from treemeans import _core
from treemeans.growth.base_tree import BEST_OF, base_tree
from treemeans.growth.growing_tree import Cut
from treemeans.growth.in_memory_tree import InMemoryTree
from treemeans.growth.kauri import weighable
from treemeans.progress import Progress
from treemeans.training_data import TrainingData
from treemeans.tree import ThresholdTree

_EQUAL = 1e-12
"""Costs closer than this, relatively, are the same."""


class Growing(Protocol):
    """A tree whose leaves can be cut."""

    @property
    def n_leaves(self) -> int:
        """Leaves so far."""

    def regret(self, node: int, /) -> int:
        """What a leaf's rows cost beyond each one's cheapest center."""

    def split(
        self,
        node: int,
        feature: int,
        threshold: float,
        missing_left: bool | None,
        categories: tuple[int, ...],
        /,
    ) -> tuple[int, int] | None:
        """Cut a leaf; its children, or None where one would be empty."""


def grow(
    data: TrainingData, base: str | ThresholdTree, max_leaves: int, progress: Progress
) -> InMemoryTree:
    """Grow a base tree, then expand it; ``"best"``: the cheapest of several, expanded.

    Leaves are labelled with their cheapest center, those of the base tree too.
    """
    if base == "best":
        grown = [grow(data, name, max_leaves, progress) for name in bases_to_try(data)]
        return _cheapest(grown, data)
    growing = base_tree(data, base, progress)
    growing.begin_expansion()
    table, costs = growing.table, growing.costs
    cuts = _core.expand(
        table.bins,
        table.points,
        growing.all_rows,
        costs.regrets.for_search,
        *growing.open_leaves(),
        growing.n_nodes,
        max_leaves,
        growing.kernel_limits,
        growing.n_threads,
        progress.update,
    )
    for cut in cuts:
        growing.take_over(cut)
    return growing


def bases_to_try(data: TrainingData) -> list[str]:
    """What ``"best"`` tries on these rows."""
    with_kauri = data.cost.points is not None and weighable(data.weights)
    return [name for name in BEST_OF if name != "kauri" or with_kauri]


def expand(
    tree: Growing,
    leaves: Iterable[int],
    max_leaves: int,
    best_cut: Callable[[int], Cut | None],
    tell: Callable[[int], None] | None = None,
) -> None:
    """Cut the leaf with the largest gain until there are ``max_leaves``, or every leaf is pure.

    The gain of a cut is the surrogate cost it saves. A leaf that is not pure is cut even if that
    saves nothing: later cuts will. Ties go to the leaf that came first, then to the lowest feature,
    then to the lowest threshold. (Where rows are in memory and any leaf may be cut by the surrogate
    cost, `_core.expand` does the same, without Python between the cuts.)

    A leaf is searched only once it could be next: until then its regret, which no cut can exceed,
    stands for its gain.

    Parameters
    ----------
    leaves : those that may be cut, and their descendants
    best_cut : the best cut of a leaf, None if it is not to be cut
    tell : called with the number of leaves after each cut
    """
    # (-gain or its bound, searched?, leaf): of equals, a leaf that is not searched yet comes first,
    # because its true gain may be as large, and it may have come first.
    heap = [(-tree.regret(leaf), False, leaf) for leaf in leaves if tree.regret(leaf) > 0]
    heapq.heapify(heap)
    cuts: dict[int, Cut] = {}
    while heap and tree.n_leaves < max_leaves:
        _, searched, leaf = heapq.heappop(heap)
        if not searched:
            found = best_cut(leaf)
            if found is not None:
                cuts[leaf] = found
                heapq.heappush(heap, (found.cost - tree.regret(leaf), True, leaf))
            continue
        cut = cuts.pop(leaf)
        sides = tree.split(leaf, cut.feature, cut.threshold, cut.missing_left, cut.categories)
        for child in sides or ():
            if (regret := tree.regret(child)) > 0:
                heapq.heappush(heap, (-regret, False, child))
        if tell is not None:
            tell(tree.n_leaves)


def _cheapest(trees: list[InMemoryTree], data: TrainingData) -> InMemoryTree:
    """The tree whose clusters cost least. Those that differ by rounding alone are equal."""
    costs = [_cost(tree.as_expanded(), data) for tree in trees]
    least = min(costs) * (1.0 + _EQUAL)
    return next(tree for tree, cost in zip(trees, costs, strict=True) if cost <= least)


def _cost(tree: ThresholdTree, data: TrainingData) -> float:
    """Cost of the tree's clusters with their best representatives, and the prices of its cuts."""
    labels, leaves, k = labels_of(tree, tree.label, data), tree.leaves, len(data.centers)
    costs = np.zeros((k, k))
    np.add.at(costs, tree.label[leaves], tree.costs[leaves])
    weight = np.bincount(labels, data.weights, minlength=k).astype(np.float64)
    clusters = data.cost.statistics(labels, weight, costs, data.centers, data.costs.rounding)
    return clusters.cost + data.limits.price_of_cuts(tree.feature) * data.reference_cost


def labels_of(
    tree: ThresholdTree, label: NDArray[np.int32], data: TrainingData
) -> NDArray[np.int32]:
    """The label of each row, given those of a tree's nodes."""
    labels = tree.outcome(data.table.points, label, data.n_threads)
    assert labels is not None  # the table was checked
    return labels
