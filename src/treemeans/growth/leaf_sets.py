"""Whether leaves can be divided among clusters within limits at all: an exact answer, quickly.

A branch and bound on labels takes longest where there are none. Where clusters may be of a few
leaves only, all sets of leaves that meet the requirements can be listed, and a search over what is
left to divide says whether some of them hold every leaf once (exact cover, Knuth 2000).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

MOST_SETS = 6_000
_MOST_STEPS = 200_000
"""Of listing sets, and of the search among them."""


class Sums(Protocol):
    """A requirement: what a sum over the leaves of a cluster must be."""

    @property
    def values(self) -> tuple[int, ...]:
        """What each leaf adds."""

    @property
    def low(self) -> int | None:
        """Least sum."""

    @property
    def high(self) -> int | None:
        """Largest sum."""


def leaf_sets(requirements: Sequence[Sums]) -> list[tuple[int, ...]] | None:
    """All sets of leaves that meet the requirements as a cluster; None if they are too many.

    The empty set is among them if it meets them.

    Examples
    --------
    >>> from treemeans.growth.labelling import Requirement
    >>> leaf_sets([Requirement((10, 20, 30), low=25, high=40)])
    [(0, 1), (0, 2), (2,)]
    """
    listing = _Listing(requirements)
    return listing.found if listing.add(0, (), [0] * len(requirements)) else None


class _Listing:
    """Lists sets leaf by leaf, and turns back where leaves to come cannot mend a sum."""

    def __init__(self, requirements: Sequence[Sums]) -> None:
        self._values = [each.values for each in requirements]
        self._low = [each.low for each in requirements]
        self._high = [each.high for each in requirements]
        # What the leaves from each place on can add at most, and take away at most.
        self._rise = [_from_the_end([max(0, value) for value in v]) for v in self._values]
        self._fall = [_from_the_end([min(0, value) for value in v]) for v in self._values]
        self._n = len(self._values[0])
        self._steps_left = _MOST_STEPS
        self.found: list[tuple[int, ...]] = []

    def add(self, place: int, chosen: tuple[int, ...], sums: list[int]) -> bool:
        """List the sets that begin with ``chosen``; False once there are too many."""
        self._steps_left -= 1
        if self._steps_left < 0 or len(self.found) > MOST_SETS:
            return False
        for i, total in enumerate(sums):
            low, high = self._low[i], self._high[i]
            if low is not None and total + self._rise[i][place] < low:
                return True
            if high is not None and total + self._fall[i][place] > high:
                return True
        if place == self._n:
            self.found.append(chosen)
            return True
        more = [total + values[place] for total, values in zip(sums, self._values, strict=True)]
        return self.add(place + 1, (*chosen, place), more) and self.add(place + 1, chosen, sums)


def _from_the_end(values: list[int]) -> list[int]:
    """Sums of the values from each place on; the last is 0."""
    sums = [0]
    for value in reversed(values):
        sums.append(sums[-1] + value)
    return sums[::-1]


def can_divide(requirements: Sequence[Sums], n_clusters: int) -> bool | None:
    """Whether some labels meet the requirements in every cluster; None if that takes too long.

    Examples
    --------
    >>> from treemeans.growth.labelling import Requirement
    >>> [can_divide([Requirement((10, 20, 30, 20), low=least)], 3) for least in (20, 25)]
    [True, False]
    """
    order = sorted(
        range(len(requirements[0].values)),
        key=lambda leaf: [-abs(each.values[leaf]) for each in requirements],
    )
    ordered = [_Ordered(tuple(r.values[i] for i in order), r.low, r.high) for r in requirements]
    sets = leaf_sets(ordered)
    if sets is None:
        return None
    search = _Cover(ordered, sets)
    return search.divides((1 << len(order)) - 1, n_clusters, [sum(r.values) for r in ordered])


class _Ordered(NamedTuple):
    """A requirement with its leaves in another order."""

    values: tuple[int, ...]
    low: int | None
    high: int | None


class _Cover:
    """Takes a set for the first leaf that is in none, and the next, until all leaves are in one."""

    def __init__(self, requirements: Sequence[Sums], sets: list[tuple[int, ...]]) -> None:
        self._bounds = [(each.low, each.high) for each in requirements]
        # Sets in which a leaf is the first, as masks and sums: leaves before it are in others.
        self._by_first: list[list[tuple[int, list[int]]]] = [[] for _ in requirements[0].values]
        for each in filter(None, sets):
            sums = [sum(r.values[place] for place in each) for r in requirements]
            self._by_first[each[0]].append((sum(1 << place for place in each), sums))
        self._may_be_empty = () in sets
        self._failed: set[tuple[int, int]] = set()
        self._steps_left = _MOST_STEPS

    def divides(self, left: int, n_sets: int, sums: list[int]) -> bool | None:
        """Whether so many sets hold the leaves of a mask once; None if it takes too long.

        ``sums``: of the leaves of the mask, which sets share out.
        """
        if not left:
            return n_sets == 0 or self._may_be_empty
        if n_sets == 0 or (left, n_sets) in self._failed:
            return False
        for (low, high), total in zip(self._bounds, sums, strict=True):
            if (low is not None and total < n_sets * low) or (
                high is not None and total > n_sets * high
            ):
                return False
        for each, own in self._by_first[(left & -left).bit_length() - 1]:
            if each & ~left:
                continue
            self._steps_left -= 1
            if self._steps_left < 0:
                return None
            rest = [total - part for total, part in zip(sums, own, strict=True)]
            found = self.divides(left & ~each, n_sets - 1, rest)
            if found is not False:
                return found
        self._failed.add((left, n_sets))
        return False
