"""The cut of a node of a CLTree: the best gain on each feature, looked at twice more.

The points of the data are class Y. Class N are virtual points, uniform in a box: they are counted,
never made. A cut that gains most often runs through a cluster's edge a little inside it; so two
further cuts on the same feature are tried in the emptier part, and the one that leaves the emptiest
region is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemeans.baselines.sorted_columns import SortedColumns

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

EQUAL = 1e-12
"""Gains and densities that differ by no more are the same, and the first counts."""
_WHOLE = 1e-9  # what a count of virtual points may lack to a whole number, by rounding


def virtual_share(n: Floats, value: Floats, low: Floats, high: Floats) -> Floats:
    """How many of ``n`` virtual points between ``low`` and ``high`` lie up to ``value``."""
    return np.minimum(np.floor(n * (value - low) / (high - low) + _WHOLE), n)


def entropy(y: Floats, n: Floats) -> Floats:
    """Two-class entropy in bits, times the number of points."""
    return _x_log_x(y + n) - _x_log_x(y) - _x_log_x(n)


def p15(y: Floats, n: Floats) -> Floats:
    """Minus the sum of the classes' shares to the power 1.5, times the number of points."""
    return -(y * np.sqrt(y) + n * np.sqrt(n)) / np.sqrt(np.where(y + n > 0, y + n, 1.0))


def _x_log_x(x: Floats) -> Floats:
    return np.asarray(x * np.log2(np.where(x > 0, x, 1.0)))


CRITERIA: dict[str, Callable[[Floats, Floats], Floats]] = {"entropy": entropy, "p15": p15}


@dataclass(frozen=True)
class Values:
    """The distinct values of every feature of a node, one feature after the other.

    Attributes
    ----------
    value : ascending for each feature
    upto : number of points (weight of the rows) up to the value
    begin : (n_features + 1,), where the values of each feature begin
    """

    value: Floats
    upto: Floats
    begin: Ints

    @classmethod
    def of(cls, columns: SortedColumns) -> Values:
        """The values of some rows."""
        last = columns.last_of_value()
        begin = np.concatenate([[0], np.cumsum(last.sum(axis=1))])
        return cls(columns.values[last], columns.upto()[last], begin)

    def whole(self, low: Floats, high: Floats, n: float) -> Regions:
        """The node itself: its box, with ``n`` virtual points."""
        begin, end = self.begin[:-1], self.begin[1:]
        none = np.zeros(len(low))
        return Regions(low, high, self.upto[end - 1], none + n, begin, end, none)


@dataclass(frozen=True)
class Regions:
    """An interval on each of some features: its ends, its points, its virtual points.

    Attributes
    ----------
    low, high : the ends
    y, n : points and virtual points in it
    begin, end : its range in the node's distinct values
    before : points up to where that range begins
    """

    low: Floats
    high: Floats
    y: Floats
    n: Floats
    begin: Ints
    end: Ints
    before: Floats

    def only(self, which: NDArray[np.bool_]) -> Regions:
        """The regions at the places where ``which`` is true."""
        return Regions(*(part[which] for part in self._parts()))

    def where(self, which: NDArray[np.bool_], other: Regions) -> Regions:
        """These regions where ``which`` is true, and those of ``other`` elsewhere."""
        pairs = zip(self._parts(), other._parts(), strict=True)
        return Regions(*(np.where(which, here, there) for here, there in pairs))

    def density(self) -> Floats:
        """Points to virtual points; infinite where there are none of these, 0 without points."""
        density = np.divide(self.y, self.n, out=np.full(self.y.shape, np.inf), where=self.n > 0)
        return np.where(self.y > 0, density, 0.0)

    def part(self, values: Values, cut: Ints) -> tuple[Regions, Regions]:
        """The two sides of a cut at a place among the values."""
        value, upto = values.value[cut], values.upto[cut]
        y_left, y_right = upto - self.before, values.upto[self.end - 1] - upto
        n_left = virtual_share(self.n, value, self.low, self.high)
        return (
            Regions(self.low, value, y_left, n_left, self.begin, cut + 1, self.before),
            Regions(value, self.high, y_right, self.n - n_left, cut + 1, self.end, upto),
        )

    def _parts(self) -> tuple[NDArray[Any], ...]:
        return self.low, self.high, self.y, self.n, self.begin, self.end, self.before


@dataclass(frozen=True)
class LookAhead:
    """The search for a node's cut.

    Attributes
    ----------
    min_split : least number of points, virtual ones included, on each side of a cut
    impurity : of so many points and virtual points, times their number
    """

    min_split: float
    impurity: Callable[[Floats, Floats], Floats]

    def cut(self, values: Values, low: Floats, high: Floats, n: float) -> tuple[int, float] | None:
        """Feature and value that the node is cut at; None if no cut gains anything.

        Parameters
        ----------
        values : of the node's rows
        low, high : its box
        n : its virtual points
        """
        whole = values.whole(low, high, n)
        first = self.gains_most(values, whole)
        features = np.flatnonzero(first >= 0)
        if len(features) == 0:
            return None
        chosen, density = self._look_twice_more(values, whole.only(first >= 0), first[features])
        best = int(np.flatnonzero(density <= density.min() + EQUAL)[0])
        return int(features[best]), float(values.value[chosen[best]])

    def _look_twice_more(
        self, values: Values, regions: Regions, first: Ints
    ) -> tuple[Ints, Floats]:
        """On each feature the cut to make, and how dense the emptier region is that it leaves."""
        left, right = regions.part(values, first)
        is_left = left.density() <= right.density()
        lower = left.where(is_left, right)
        chosen, density = first.copy(), lower.density()

        second = self.gains_most(values, lower)
        at = np.flatnonzero(second >= 0)
        left, right = lower.only(second >= 0).part(values, second[at])
        near, far = right.where(is_left[at], left), left.where(is_left[at], right)
        chosen[at] = second[at]
        density[at] = np.where(near.density() > far.density(), far.density(), near.density())

        further = near.density() <= far.density()
        at, near = at[further], near.only(further)
        third = self.gains_most(values, near)
        at, near = at[third >= 0], near.only(third >= 0)
        left, right = near.part(values, third[third >= 0])
        chosen[at] = third[third >= 0]
        density[at] = np.minimum(left.density(), right.density())
        return chosen, density

    def gains_most(self, values: Values, regions: Regions) -> Ints:
        """For each region the place among the values where a cut gains most; -1 if none gains."""
        found = np.full(len(regions.low), -1, dtype=np.intp)
        some = (regions.end > regions.begin) & (regions.high > regions.low)
        if not some.any():
            return found
        regions = regions.only(some)
        length = regions.end - regions.begin
        start = np.cumsum(length) - length
        place = np.arange(length.sum()) + np.repeat(regions.begin - start, length)
        gain = self.gains(values, regions, place, length)
        most = np.maximum.reduceat(gain, start)
        # Of gains that are the same the first: others count as if they were after all places.
        equal = gain >= np.repeat(most, length) - EQUAL
        best = np.minimum.reduceat(np.where(equal, place, len(values.value)), start)
        found[some] = np.where(most > EQUAL, best, -1)
        return found

    def gains(self, values: Values, regions: Regions, place: Ints, length: Ints) -> Floats:
        """What cuts at ``place`` gain; ``length`` of them in each region, one after the other."""
        value = values.value[place]
        low, high, n = (np.repeat(x, length) for x in (regions.low, regions.high, regions.n))
        y_left = values.upto[place] - np.repeat(regions.before, length)
        y_right = np.repeat(regions.y, length) - y_left
        n_left = virtual_share(n, value, low, high)
        n_right = n - n_left
        whole = self.impurity(regions.y, regions.n)
        gain = np.repeat(whole, length) - self.impurity(y_left, n_left)
        gain -= self.impurity(y_right, n_right)
        gain /= np.repeat(regions.y + regions.n, length)
        light = np.minimum(
            y_left + np.maximum(n_left, y_left), y_right + np.maximum(n_right, y_right)
        )
        # A cut at the end of the box is among them: nothing is on its right.
        gain[light < self.min_split] = -np.inf
        return gain
