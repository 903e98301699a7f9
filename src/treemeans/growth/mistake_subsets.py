"""The set of categories that parts the fewest rows from their center.

Given the sides of the centers, each category goes to the side where it makes fewer mistakes. So the
best cut is a minimum cut of the graph that joins centers and categories by the rows they share,
with each center tied to the category that it is in. Up to ``_MOST_PLACES`` such categories every
way to part them is tried. Of more, the maximum flow between one of them and each other is found:
one of these cuts is the least. Both are exact, with two exceptions: flows count weights in coarser
units beyond 2**30, and know neither ``max_categories`` nor ``min_samples_leaf``, so that what goes
beyond these limits is dropped.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

from treemeans.growth.growing_tree import Cut
from treemeans.growth.mistake_thresholds import NO_CUT
from treemeans.limits import Limits

Counts = NDArray[np.int64]
Mask = NDArray[np.bool_]
_MOST_PLACES = 10
_MOST_FLOW = 2**30


class SubsetChoice(NamedTuple):
    """The codes that go left, and the centers that do.

    No codes: all values go left, and missing ones right.
    """

    mistakes: int
    codes: tuple[int, ...]
    missing_left: bool | None
    goes_left: Mask

    def as_cut(self, feature: int, cost: int) -> Cut:
        """The cut; where missing values are alone on a side, the values go left."""
        if not self.codes:
            return Cut(cost, feature, np.inf, np.inf, False)
        return Cut(cost, feature, np.nan, np.nan, self.missing_left, list(self.codes))


class SubsetSearch:
    """The set of categories that makes the fewest mistakes, with a center on either side.

    The side with fewer categories is listed, as the left one, so that a category that never
    occurred goes with the larger number.

    Parameters
    ----------
    counts : (categories + 1, centers), weight of the rows that count; missing values last
    place : of each center, the category that it is in
    weight : of all rows of each category
    may_miss : whether rows may lack a value

    Examples
    --------
    >>> counts = np.array([[9, 0, 1], [0, 8, 2], [0, 1, 7], [0, 0, 0]])
    >>> search = SubsetSearch(counts, np.array([0, 1, 2]), counts.sum(axis=1), Limits())
    >>> search.run(None)
    SubsetChoice(mistakes=1, codes=(0,), missing_left=False, goes_left=array([ True, False, False]))
    """

    bound = NO_CUT

    def __init__(
        self,
        counts: Counts,
        place: NDArray[np.intp],
        weight: Counts,
        limits: Limits,
        *,
        may_miss: bool = True,
    ) -> None:
        self.place, self.weight, self.limits, self._may_miss = place, weight, limits, may_miss
        self.places = np.unique(place)
        self.number = np.searchsorted(self.places, place)  # of each center, that of its place
        self.by_place = np.stack(
            [counts[:, self.number == i].sum(axis=1) for i in range(len(self.places))], axis=1
        )
        self.total = self.by_place.sum(axis=1)

    def run(self, limit: int | None) -> SubsetChoice | None:
        """The best set; None if it makes more than ``limit`` mistakes."""
        if len(self.places) < 2:
            return None
        best: SubsetChoice | None = None
        most = limit
        for sides in self.partings(limit):
            found = self.choose(sides, most)
            if found is not None:
                best, most = found, found.mistakes - 1
        return best

    def partings(self, limit: int | None) -> Iterator[Mask]:
        """Ways to part the places of the centers, one of which is the best: those that go left."""
        if len(self.places) > _MOST_PLACES:
            yield from self._flows(limit)
            return
        n = len(self.places)
        # The sides can be exchanged: the first place stays on the right.
        codes = np.arange(1, 1 << (n - 1))
        sides = np.concatenate(
            [np.zeros((len(codes), 1), bool), (codes[:, None] >> np.arange(n - 1)) & 1 == 1], axis=1
        )
        bound = np.array([self._mistakes(each)[0] for each in sides])
        for i in np.argsort(bound, kind="stable"):
            yield sides[i]

    def _mistakes(self, sides: Mask) -> tuple[int, Mask]:
        """The fewest mistakes with these places on the left, and which categories go left."""
        on_left = self.by_place @ sides
        left = on_left > self.total - on_left
        left[self.places] = sides
        return int(np.where(left, self.total - on_left, on_left).sum()), left

    def choose(self, sides: Mask, most: int | None) -> SubsetChoice | None:
        """The best set with these places on the left, if it makes up to ``most`` mistakes."""
        mistakes, left = self._mistakes(sides)
        if most is not None and mistakes > most:
            return None
        best: SubsetChoice | None = None
        for listed in (left, *self._shorter(sides, left)):
            found = self._offer(sides, listed)
            if found is None or (most is not None and found.mistakes > most):
                continue
            if best is None or found.mistakes < best.mistakes:
                best = found
        return best

    def _shorter(self, sides: Mask, left: Mask) -> Iterator[Mask]:
        """Sets of which a side lists no more than ``max_categories``."""
        most = self.limits.max_categories
        if most is None:
            return
        on_left = self.by_place @ sides
        gain = on_left - (self.total - on_left)  # of a category that goes left, over the right
        tied = np.zeros(len(left), dtype=bool)
        tied[self.places] = True
        for side in (True, False):
            here = (left == side) & (self.total > 0) & ~tied
            here[-1] = False
            room = most - int((tied[:-1] & (left[:-1] == side)).sum())
            loss = gain if side else -gain
            order = np.flatnonzero(here)[np.argsort(-loss[here], kind="stable")]
            shorter = left.copy()
            shorter[order[max(room, 0) :]] = not side
            if room >= 0:
                yield shorter

    def _offer(self, sides: Mask, left: Mask) -> SubsetChoice | None:
        """A set of categories as a cut; None if the limits forbid it."""
        on_left = self.by_place @ sides
        mistakes = int(np.where(left, self.total - on_left, on_left).sum())
        known = self.total[:-1] > 0
        known[self.places[self.places < len(known)]] = True
        lists = [np.flatnonzero(known & (left[:-1] == side)) for side in (False, True)]
        weight = [int(self.weight[left == side].sum()) for side in (False, True)]
        if self.limits.restrict_leaves and min(weight) < self.limits.min_weight:
            return None
        # The shorter list, then the lighter side, then the one without the first category.
        flip = (len(lists[0]), weight[0], False) < (len(lists[1]), weight[1], True)
        codes = lists[0 if flip else 1]
        if self.limits.max_categories is not None and len(codes) > self.limits.max_categories:
            return None
        goes_left = sides[self.number] != flip
        missing_left = bool(left[-1]) != flip
        if self.total[-1] == 0 and len(left) - 1 not in self.places:
            missing_left = weight[0 if flip else 1] > weight[1 if flip else 0]
        if not len(codes):  # as in a cut, the values go left
            goes_left = ~goes_left
        side = missing_left if self._may_miss else None
        return SubsetChoice(mistakes, tuple(codes.tolist()), side, goes_left)

    def _flows(self, limit: int | None) -> Iterator[Mask]:
        """Minimum cuts between the first place and each other."""
        n = len(self.places)
        scale = max(1, int(np.ceil(self.total.sum() / _MOST_FLOW)))
        # Nodes: the places, then the other categories that occur.
        free = np.flatnonzero(self.total > 0)
        free = free[~np.isin(free, self.places)]
        among = self.by_place[self.places] + self.by_place[self.places].T
        np.fill_diagonal(among, 0)
        others = sparse.csr_matrix((self.by_place[free] // scale).astype(np.int32))
        places = sparse.csr_matrix((among // scale).astype(np.int32))
        graph = sparse.bmat([[places, others.T], [others, None]], format="csr", dtype=np.int32)
        shared = np.minimum(self.by_place[:, :1], self.by_place)
        shared[self.places] = 0  # a place is on its own side
        for other in np.argsort(shared.sum(axis=0), kind="stable"):
            if other == 0 or (limit is not None and shared[:, other].sum() > limit):
                continue
            flow = maximum_flow(graph, 0, int(other)).flow
            rest = graph - flow
            rest.data[rest.data < 0] = 0
            rest.eliminate_zeros()
            reached = breadth_first_order(rest, 0, return_predecessors=False)
            sides = np.ones(n, dtype=bool)
            sides[reached[reached < n]] = False
            yield sides
