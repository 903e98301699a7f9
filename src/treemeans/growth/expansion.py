"""Algorithm 1 of the paper: expand a tree leaf by leaf, largest gain first."""

import heapq
from collections.abc import Callable, Iterable
from typing import Protocol

import numpy as np

from treemeans.growth.growing_tree import Cut, GrowingTree
from treemeans.progress import Progress


class Growing(Protocol):
    """A tree whose leaves can be cut."""

    @property
    def n_leaves(self) -> int:
        """Leaves so far."""

    def regret(self, node: int, /) -> int:
        """What a leaf's rows cost beyond each one's cheapest center."""

    def split(self, node: int, feature: int, threshold: float, /) -> tuple[int, int] | None:
        """Cut a leaf; its children, or None where one would be empty."""


def expand(growing: GrowingTree, max_leaves: int, progress: Progress) -> None:
    """Cut the leaf with the largest gain until there are ``max_leaves``, or every leaf is pure.

    The gain of a cut is the surrogate cost it saves. A leaf that is not pure is cut even if that
    saves nothing: later cuts will. A cut on a feature with a price must save more than that. Ties
    go to the leaf that came first, then to the lowest feature, then to the lowest threshold.

    Leaves are labelled with their cheapest center, those of the base tree too.
    """
    growing.base_labels = np.array(growing.label, dtype=np.int32)
    for leaf in growing.leaves:
        growing.relabel(leaf)
    prices = growing.limits.feature_costs

    def search(leaf: int) -> Cut | None:
        cut = growing.least_cut(leaf) if growing.may_cut(leaf) else None
        if cut is None or prices is None:
            return cut
        gain = growing.regret(leaf) - cut.cost
        return cut if gain > 0 or (gain == 0 and not growing.price_of(cut.feature)) else None

    grow_by_gain(growing, growing.leaves, max_leaves, search, progress.update)


def grow_by_gain(
    tree: Growing,
    leaves: Iterable[int],
    max_leaves: int,
    search: Callable[[int], Cut | None],
    tell: Callable[[int], None],
) -> None:
    """Cut the leaf with the largest gain, of ``leaves`` and those that come of them.

    A leaf is searched only once it could be next: until then its regret, which no cut can exceed,
    stands for its gain.
    """
    # (-gain or its bound, searched?, leaf): of equals, a leaf that is not searched yet comes first.
    heap: list[tuple[int, bool, int]] = []
    cuts: dict[int, Cut] = {}

    def consider(leaf: int) -> None:
        if (regret := tree.regret(leaf)) > 0:
            heapq.heappush(heap, (-regret, False, leaf))

    for leaf in leaves:
        consider(leaf)
    while heap and tree.n_leaves < max_leaves:
        _, searched, leaf = heapq.heappop(heap)
        if not searched:
            found = search(leaf)
            if found is not None:
                cuts[leaf] = found
                heapq.heappush(heap, (found.cost - tree.regret(leaf), True, leaf))
            continue
        cut = cuts.pop(leaf)
        for child in tree.split(leaf, cut.feature, cut.threshold) or ():
            consider(child)
        tell(tree.n_leaves)
