"""Strips: a feature of one node's rows, as far as a search has looked into it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Strips:
    """Stretches of values that hold rows, in order.

    Attributes
    ----------
    low, high : (m,), the least and the greatest value in each; equal where there is just one
    sums : (m, k + 1 or more), of the lines of its rows: k numbers, their weight, and their count,
        unless that is the weight
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    sums: NDArray[np.int64]

    @classmethod
    def of(
        cls, low: NDArray[np.float64], high: NDArray[np.float64], sums: NDArray[np.int64]
    ) -> Self:
        """Those that hold rows."""
        some = low <= high
        return cls(low[some], high[some], sums[some])

    def __len__(self) -> int:
        return len(self.low)

    @property
    def rows(self) -> NDArray[np.int64]:
        """How many rows each holds."""
        return self.sums[:, -1]

    def replaced(self, finer: dict[int, Strips]) -> Strips:
        """With strips in place of some, given by their position."""
        pieces: list[Strips] = []
        at = 0
        for position in sorted(finer):
            pieces += [self._slice(at, position), finer[position]]
            at = position + 1
        pieces.append(self._slice(at, len(self)))
        return Strips(
            np.concatenate([piece.low for piece in pieces]),
            np.concatenate([piece.high for piece in pieces]),
            np.concatenate([piece.sums for piece in pieces]),
        )

    def _slice(self, begin: int, end: int) -> Strips:
        return Strips(self.low[begin:end], self.high[begin:end], self.sums[begin:end])


class Place(NamedTuple):
    """A cut, in the order of preference: cheapest, then lowest feature, then lowest value.

    ``at`` is the last value on the left, ``next`` the first one beyond it.
    """

    cost: int
    feature: int
    at: float
    next: float
    left: tuple[int, ...]


@dataclass(frozen=True)
class Scan:
    """One feature of a node: its cuts between strips, and what cuts inside strips cost at least.

    Attributes
    ----------
    cost, at, next : of the cuts that may be made
    left : (n_cuts, k + 1 or more), the sums of the lines left of each
    bound : (m,), of each strip; NEVER where no cut lies inside
    """

    cost: NDArray[np.int64]
    at: NDArray[np.float64]
    next: NDArray[np.float64]
    left: NDArray[np.int64]
    bound: NDArray[np.int64]

    def best(self, feature: int) -> Place | None:
        """The cheapest cut; of equals, the lowest."""
        if not len(self.cost):
            return None
        i = int(self.cost.argmin())
        left = tuple(int(number) for number in self.left[i])
        return Place(int(self.cost[i]), feature, float(self.at[i]), float(self.next[i]), left)


class Score(ABC):
    """What a search wants least of, at one node."""

    @abstractmethod
    def scan(self, feature: int, strips: Strips) -> Scan | None:
        """The cuts of a feature; None where there can be none."""

    def edges(self, feature: int) -> NDArray[np.float64]:
        """Values that must be the upper end of a stretch."""
        return np.empty(0)


@dataclass(frozen=True)
class SurrogateScore(Score):
    """The surrogate cost: both sides' cheapest centers.

    Attributes
    ----------
    totals : (k,), the node's regrets
    weight : of its rows
    min_weight : of either side
    prices : of cuts on the features; None where all are free
    """

    totals: NDArray[np.int64]
    weight: int
    min_weight: int
    prices: NDArray[np.int64] | None

    def scan(self, feature: int, strips: Strips) -> Scan | None:
        """Sums only grow from strip to strip, which bounds the cuts inside one."""
        if not len(strips):
            return None
        price = 0 if self.prices is None else int(self.prices[feature])
        sums = np.cumsum(strips.sums, axis=0)
        k = len(self.totals)
        after, weight = sums[:, :k], sums[:, k]
        rest = self.totals - after
        cost = after.min(axis=1) + rest.min(axis=1) + price
        room = (weight >= self.min_weight) & (self.weight - weight >= self.min_weight)
        cuts = np.flatnonzero(room[:-1])
        bound = np.full(len(strips), NEVER)
        wide = strips.low < strips.high
        before = after[wide] - strips.sums[wide, :k]
        bound[wide] = _least_of_both(before, rest[wide], int(self.totals.min())) + price
        return Scan(cost[cuts], strips.high[cuts], strips.low[cuts + 1], sums[cuts], bound)


def _least_of_both(
    before: NDArray[np.int64], beyond: NDArray[np.int64], unsplit: int
) -> NDArray[np.int64]:
    """No cut costs less whose left side holds what is before it, and its right what is beyond.

    With one center on both sides a cut saves nothing, so two different ones must be the cheapest.
    """
    if not len(before):
        return np.empty(0, dtype=np.int64)
    if before.shape[1] == 1:
        return np.full(len(before), unsplit)
    first, second = np.partition(before, 1, axis=1)[:, :2].T
    third, fourth = np.partition(beyond, 1, axis=1)[:, :2].T
    same = before.argmin(axis=1) == beyond.argmin(axis=1)
    otherwise = np.minimum(np.minimum(first + fourth, second + third), unsplit)
    return np.asarray(np.where(same, otherwise, first + third))


@dataclass(frozen=True)
class MistakeScore(Score):
    """The weight of the rows that part from their center (IMM).

    Attributes
    ----------
    centers : (n_features, m), where the node's centers are
    members : (m,), their numbers
    totals : (m,), the weight of their rows in the node
    k : centers in all
    weight : of all the node's rows
    least : weight that must lie on either side
    prices : of cuts on the features, in units of which a mistake is 2**shift
    """

    centers: NDArray[np.float64]
    members: NDArray[np.intp]
    totals: NDArray[np.int64]
    k: int
    weight: int
    least: int
    prices: NDArray[np.int64] | None
    shift: int

    def edges(self, feature: int) -> NDArray[np.float64]:
        """The centers: so none of them lies inside a strip."""
        coordinates: NDArray[np.float64] = self.centers[feature]
        return coordinates

    def scan(self, feature: int, strips: Strips) -> Scan | None:
        """A cut after every strip and every center, if one of these is on either side."""
        at = self.centers[feature]
        if at.min() == at.max():
            return None
        price = 0 if self.prices is None else int(self.prices[feature])
        before = np.zeros((1, strips.sums.shape[1]), dtype=np.int64)
        sums = np.concatenate([before, np.cumsum(strips.sums, axis=0)])
        cut = np.unique(np.concatenate([strips.high, at]))
        cut = cut[(at.min() <= cut) & (cut < at.max())]
        passed = np.searchsorted(strips.high, cut, side="right")
        weight = sums[passed, self.k]
        room = (weight >= self.least) & (self.weight - weight >= self.least)
        cut, passed = cut[room], passed[room]
        home = sums[passed][:, self.members]
        mistakes = np.where(at <= cut[:, None], self.totals - home, home).sum(axis=1)
        return Scan(
            (mistakes << self.shift) + price,
            cut,
            self._next(at, strips, cut, passed),
            sums[passed],
            self._bounds(at, strips, sums[:, self.members], price),
        )

    def _next(
        self,
        at: NDArray[np.float64],
        strips: Strips,
        cut: NDArray[np.float64],
        passed: NDArray[np.intp],
    ) -> NDArray[np.float64]:
        """The next value or center of any kind."""
        row = np.append(strips.low, np.inf)[passed]
        ordered = np.append(np.sort(at), np.inf)
        return np.asarray(np.minimum(row, ordered[np.searchsorted(ordered, cut, side="right")]))

    def _bounds(
        self, at: NDArray[np.float64], strips: Strips, home: NDArray[np.int64], price: int
    ) -> NDArray[np.int64]:
        """A center before the strip has lost the rows beyond it; one after it those before."""
        inside = (strips.low < strips.high) & (at.min() < strips.high) & (strips.low < at.max())
        lost = np.where(at <= strips.low[:, None], self.totals - home[1:], home[:-1]).sum(axis=1)
        return np.where(inside, (lost << self.shift) + price, NEVER)
