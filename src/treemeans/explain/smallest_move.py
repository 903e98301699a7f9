"""The smallest change of one feature of a row that brings it to the values a leaf asks for.

Distances are in scales of the columns (their standard deviations), and squared, so that they add
up over features. A missing value has no distance to any other: it is neither filled in nor made.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from treemeans.columns import Column
from treemeans.columns.dates import PER_DAY
from treemeans.value_set import ValueSet

Goal = tuple[ValueSet, ...]
"""The values that a leaf asks for in the columns of one feature: a set for each."""

Rows = NDArray[np.float64]
"""Values of the columns of one feature, (n_columns, n_rows)."""

_FAR = 1e150  # no distance is larger; an infinite one means that there is no way
_NEAR = 1e-3  # how much farther than it must, in scales, a number may move to be a short one
_EXACT = 17  # significant digits that tell any two floats apart
_DIGITS = Context(_EXACT + 2)
_MOST_DECIMALS = 12  # of a number that was written by hand
_PERIODS = (
    1,
    24,
    24 * 60,
    24 * 3600,
    24 * 3600 * 10**3,
    24 * 3600 * 10**6,
)  # in a day, to microseconds


@dataclass(frozen=True)
class NumberMove:
    """A column of numbers, which moves up or down to the interval of a goal.

    With a step, a row moves by the least multiple of it that is enough. Without one, to the
    shortest number that lies at most a thousandth of a scale beyond the border.
    """

    feature: int
    column: Column
    scale: float
    free: bool
    low: float
    high: float
    step: float

    @property
    def features(self) -> tuple[int, ...]:
        """The column in X."""
        return (self.feature,)

    def squared_distances(
        self, x: Rows, goals: Sequence[Goal]
    ) -> Iterator[tuple[NDArray[np.bool_], Rows]]:
        """For each goal: which rows must move, and their least squared distance.

        Where a goal is open at its border, the least distance is that of the border. It is
        infinite where the goal cannot be reached, and zero where a row need not move.
        """
        (values,) = x
        tens = _tens(values, self.step) if self.step else None
        for (wanted,) in goals:
            must = ~wanted.holds(values)
            up = values <= wanted.above
            squares = _squared(self._border(values, up, wanted, tens) - values, self.scale)
            yield must, np.where(must, squares, 0.0)

    def _border(
        self,
        x: NDArray[np.float64],
        up: NDArray[np.bool_],
        wanted: ValueSet,
        tens: NDArray[np.float64] | None,
    ) -> NDArray[np.float64]:
        """The nearest value of the wanted ones, or their border; NaN where there is none."""
        first, last = self._ends(wanted)
        if not self.free or first > last or wanted.has_no_value:
            return np.full(len(x), np.nan)
        if tens is not None:
            return _stepped(x, self.step, tens, up, first, last)
        return np.where(up, max(wanted.above, self.low), min(wanted.upto, self.high))

    def moved(self, x: Rows, goal: Goal) -> Rows:
        """New values in the goal of rows that must move and can."""
        (values,), (wanted,) = x, goal
        first, last = self._ends(wanted)
        up = values <= wanted.above
        if self.step:
            return _stepped(values, self.step, _tens(values, self.step), up, first, last)[None, :]
        landed = np.empty(len(values))
        reachable = _NEAR * self.scale
        if up.any():
            landed[up] = self._short(first, min(last, first + reachable), up=True)
        if not up.all():
            landed[~up] = self._short(max(first, last - reachable), last, up=False)
        return landed[None, :]

    def _ends(self, wanted: ValueSet) -> tuple[float, float]:
        """The least and the largest value that is wanted and within the bounds."""
        first = max(math.nextafter(wanted.above, math.inf), self.low)
        return first, min(wanted.upto, self.high)

    def _short(self, first: float, last: float, *, up: bool) -> float:
        if self.column.is_date or self.column.kind == "duration":
            return _short_time(first, last, self.column.unit, up=up)
        return short_number(first, last, up=up)


@dataclass(frozen=True)
class CodeMove:
    """A column of category codes, which changes to another category.

    Every change of category is as far as any other, a squared distance of 1: codes are names, not
    numbers. ``codes`` are the categories that a row may change to; no others are made up.
    """

    feature: int
    codes: tuple[int, ...]
    free: bool

    @property
    def features(self) -> tuple[int, ...]:
        """The column in X."""
        return (self.feature,)

    def squared_distances(
        self, x: Rows, goals: Sequence[Goal]
    ) -> Iterator[tuple[NDArray[np.bool_], Rows]]:
        """For each goal: which rows must change, and their squared distance."""
        (values,) = x
        for (wanted,) in goals:
            must = ~wanted.holds(values)
            able = self.free and len(self._codes_in(wanted)) > 0
            far = np.where(np.isnan(values) | (not able), np.inf, 1.0)
            yield must, np.where(must, far, 0.0)

    def moved(self, x: Rows, goal: Goal) -> Rows:
        """The first code of the goal, for rows that must change and can."""
        return np.full(x.shape, float(self._codes_in(goal[0])[0]))

    def _codes_in(self, wanted: ValueSet) -> NDArray[np.intp]:
        codes = np.array(self.codes, dtype=np.intp)
        return codes[wanted.holds(codes.astype(np.float64))]


@dataclass(frozen=True)
class ChoiceMove:
    """A flag, or the one-hot columns of a source of categories: at most one of them is 1.

    ``complete``: exactly one is. A change of category counts as one feature; its distance is that
    of the columns, as of any others: of two of them, from 1 to 0 and from 0 to 1.
    """

    features: tuple[int, ...]
    scale: NDArray[np.float64]
    free: NDArray[np.bool_]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    complete: bool

    @property
    def states(self) -> NDArray[np.float64]:
        """The values a row may change to: one column at 1; or, last, none of them."""
        one = np.eye(len(self.features))
        return one if self.complete else np.vstack([one, np.zeros(len(self.features))])

    def squared_distances(
        self, x: Rows, goals: Sequence[Goal]
    ) -> Iterator[tuple[NDArray[np.bool_], Rows]]:
        """For each goal: which rows must move, and their least squared distance."""
        squares = self._squares(x)
        for goal in goals:
            must = ~inside(x, goal)
            able = squares[inside(self.states.T, goal)]
            yield must, np.where(must, able.min(axis=0, initial=np.inf), 0.0)

    def moved(self, x: Rows, goal: Goal) -> Rows:
        """New values in the goal of rows that must move and can."""
        able = np.flatnonzero(inside(self.states.T, goal))
        nearest = able[self._squares(x)[able].argmin(axis=0)]
        return np.ascontiguousarray(self.states[nearest].T)

    def _squares(self, x: Rows) -> Rows:
        """Squared distance of each row to each state, (n_states, n_rows)."""
        missing = np.isnan(x).any(axis=0)
        if missing.any():
            squares = self._squares(np.where(missing, 0.0, x))
            return np.where(missing, np.inf, squares)
        scale = self.scale[:, None]
        to_zero, to_one = _squared(x, scale), _squared(1 - x, scale)
        all_zero = to_zero.sum(axis=0)
        held_up = self._is_held(0.0)[:, None] & (x != 0)
        held_down = self._is_held(1.0)[:, None] & (x != 1)
        others_held = held_up.sum(axis=0) - held_up
        one = np.where(held_down | (others_held > 0), np.inf, all_zero - to_zero + to_one)
        if self.complete:
            return one
        return np.vstack([one, np.where(held_up.any(axis=0), np.inf, all_zero)])

    def _is_held(self, value: float) -> NDArray[np.bool_]:
        """The columns that may not change to a value."""
        return ~(self.free & (self.low <= value) & (value <= self.high))


Move = NumberMove | CodeMove | ChoiceMove
"""How one feature of a row may change: a column, or the one-hot columns of a source."""


def short_number(first: float, last: float, *, up: bool) -> float:
    """The decimal of fewest digits from ``first`` to ``last``; the nearest to where a row comes in.

    Examples
    --------
    >>> short_number(2.4500000000000006, 2.4518, up=True)
    2.451
    >>> short_number(480.2, 502.13, up=False)
    500.0
    >>> short_number(5e-324, 0.0125, up=True)
    0.0001
    """
    if first <= 0 <= last:
        return 0.0
    border = Decimal(first if up else last)
    inwards = ROUND_CEILING if up else ROUND_FLOOR
    # A border next to zero may have hundreds of places, where the other end needs a few.
    largest = max(Decimal(first).adjusted(), Decimal(last).adjusted())
    start = max(border.adjusted(), largest - 2)
    for places in range(start, start - _EXACT, -1):
        unit = Decimal((0, (1,), places))
        for mode in (ROUND_HALF_EVEN, inwards):  # the nearest may be the border itself
            short = float(border.quantize(unit, mode, _DIGITS))
            if first <= short <= last:
                return short
    return float(border)


def _short_time(first: float, last: float, unit: str, *, up: bool) -> float:
    """A whole day, hour, minute, ... or microsecond between two times, the longest that fits."""
    border, rounding = (first, math.ceil) if up else (last, math.floor)
    for periods in _PERIODS:
        whole = rounding(Fraction(border) * periods / PER_DAY[unit])
        short = float(Fraction(whole * PER_DAY[unit], periods))
        if first <= short <= last:
            return short
    return border


def _stepped(
    x: NDArray[np.float64],
    step: float,
    tens: NDArray[np.float64],
    up: NDArray[np.bool_],
    first: float,
    last: float,
) -> NDArray[np.float64]:
    """Up to ``first`` or down to ``last``, by the least multiple of a step; NaN if beyond both."""
    sign = np.where(up, 1.0, -1.0)
    border = np.where(up, first, last)

    def after(steps: NDArray[np.float64]) -> NDArray[np.float64]:
        moved = x + sign * steps * step
        tidy = np.rint(moved * tens) / tens
        return np.where(np.isfinite(tidy), tidy, moved)

    with np.errstate(all="ignore"):
        steps = np.ceil(sign * (border - x) / step)
        best = np.full(len(x), np.nan)
        for more in (2.0 + steps * 2.0**-51, 1.0, 0.0, -1.0):  # rounding; the fewest that do win
            moved = after(steps + more)
            best = np.where(sign * (moved - border) >= 0, moved, best)
        return np.where((first <= best) & (best <= last), best, np.nan)


def _tens(x: NDArray[np.float64], step: float) -> NDArray[np.float64]:
    """The power of ten that makes each value and the step whole; NaN if only a large one does.

    Sums are tidied by it: 0.1 and two steps of 0.1 are 0.3, and not 0.30000000000000004.
    """
    tens = np.full(len(x), np.nan)
    for decimals in range(_MOST_DECIMALS, -1, -1):
        power = 10.0**decimals
        with np.errstate(over="ignore"):
            if np.rint(step * power) / power == step:
                tens[np.rint(x * power) / power == x] = power
    return tens


def inside(x: Rows, goal: Goal) -> NDArray[np.bool_]:
    """The rows whose values are all in the sets of a goal."""
    found = np.ones(x.shape[1], dtype=bool)
    for values, wanted in zip(x, goal, strict=True):
        if not wanted.is_all:
            found &= wanted.holds(values)
    return found


def _squared(moved: NDArray[np.float64], scale: float | NDArray[np.float64]) -> NDArray[np.float64]:
    """Squared distances in scales; infinite for NaN."""
    with np.errstate(over="ignore"):
        distance = np.minimum(np.abs(moved) / scale, _FAR)
        return np.where(np.isnan(distance), np.inf, distance * distance)
