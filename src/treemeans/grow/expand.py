"""Algorithm 1 of the paper: expand a tree leaf by leaf, largest gain first."""

import heapq
from collections.abc import Callable, Iterable
from typing import Protocol

from treemeans.grow.sprout import Cut, Sprout, between
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


def expand(sapling: Sprout, max_leaves: int, progress: Progress) -> None:
    """Cut the leaf with the largest gain until there are ``max_leaves``, or every leaf is pure.

    The gain of a cut is the surrogate cost it saves. A leaf that is not pure is cut even if that
    saves nothing: later cuts will. A cut on a feature with a price must save more than that. Ties
    go to the leaf that came first, then to the lowest feature, then to the lowest threshold.

    Leaves are labelled with their cheapest center, those of the base tree too.
    """
    for leaf in sapling.leaves:
        sapling.relabel(leaf)
    prices = sapling.limits.prices

    def search(leaf: int) -> Cut | None:
        cut = sapling.least_cut(leaf) if sapling.may_cut(leaf) else None
        if cut is None or prices is None:
            return cut
        gain = sapling.regret(leaf) - cut[0]
        return cut if gain > 0 or (gain == 0 and not sapling.price_of(cut[1])) else None

    grow_by_gain(sapling, sapling.leaves, max_leaves, search, progress.update)


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
            cut = search(leaf)
            if cut is not None:
                cuts[leaf] = cut
                heapq.heappush(heap, (cut[0] - tree.regret(leaf), True, leaf))
            continue
        _, feature, low, high = cuts.pop(leaf)
        for child in tree.split(leaf, feature, between(low, high)) or ():
            consider(child)
        tell(tree.n_leaves)
