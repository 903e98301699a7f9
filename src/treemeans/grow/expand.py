"""Algorithm 1 of the paper: expand a tree leaf by leaf, largest gain first."""

import heapq

from treemeans import _core
from treemeans.grow.sapling import Cut, Sapling, between
from treemeans.progress import Progress


def expand(sapling: Sapling, max_leaves: int, progress: Progress) -> None:
    """Cut the leaf with the largest gain until there are ``max_leaves``, or every leaf is pure.

    The gain of a cut is the surrogate cost it saves. A leaf that is not pure is cut even if that
    saves nothing: later cuts will. Ties go to the leaf that came first, then to the lowest
    feature, then to the lowest threshold.

    Leaves are labelled with their cheapest center, those of the base tree too.

    A leaf is searched only once it could be next: until then its regret, which no cut can exceed,
    stands for its gain.
    """
    # (-gain or its bound, searched?, leaf): of equals, a leaf that is not searched yet comes first.
    heap: list[tuple[int, bool, int]] = []
    cuts: dict[int, Cut] = {}

    def consider(leaf: int) -> None:
        if (regret := sapling.regret(leaf)) > 0:
            heapq.heappush(heap, (-regret, False, leaf))

    for leaf in sapling.leaves:
        sapling.relabel(leaf)
        consider(leaf)
    while heap and sapling.n_leaves < max_leaves:
        _, searched, leaf = heapq.heappop(heap)
        if not searched:
            cut = _search(sapling, leaf)
            if cut is not None:
                cuts[leaf] = cut
                heapq.heappush(heap, (cut[0] - sapling.regret(leaf), True, leaf))
            continue
        _, feature, low, high = cuts.pop(leaf)
        for child in sapling.split(leaf, feature, between(low, high)):
            consider(child)
        progress.update(sapling.n_leaves)


def _search(sapling: Sapling, leaf: int) -> Cut | None:
    if not sapling.may_cut(leaf):
        return None
    weights = sapling.costs.weights
    return _core.surrogate_cut(
        sapling.table.bins,
        sapling.table.points,
        sapling.rows(leaf),
        sapling.costs.regrets.values,
        sapling.totals[leaf],
        sapling.cheapest[leaf],
        None if weights is None else weights.values,
        sapling.limits.min_weight,
        None,
        sapling.n_threads,
    )
