"""Short thresholds within the gap between two values of the rows, so that no row changes side.

``round_thresholds`` changes a tree: it takes the shortest number or date of each gap. Words about a
tree that is not rounded only show its thresholds with fewer digits (``shorten_number``,
``shorten_date``).
"""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal

import numpy as np

from treemeans.columns.column import Column, Columns
from treemeans.columns.dates import PER_DAY, from_count, to_count
from treemeans.tree import ThresholdTree

_DIGITS = 6  # significant digits of a number that need not be short
_EXACT = 17  # significant digits that distinguish any two floats


def round_thresholds(tree: ThresholdTree, columns: Columns) -> ThresholdTree:
    """The tree with the shortest number or date in each gap as threshold.

    A gap holds no value of the rows that come to the split, so none of them changes side.
    """
    threshold = np.array(tree.threshold)
    for node in np.flatnonzero(np.isfinite(tree.threshold)):
        below, above = tree.gap[node].tolist()
        threshold[node] = _shortest(columns[tree.feature[node]], threshold[node], below, above)
    return replace(tree, threshold=threshold)


def _shortest(column: Column, threshold: float, below: float, above: float) -> float:
    if not below < above:
        return threshold
    if column.is_date:
        return shortest_date(threshold, below, above, column.unit)
    if column.kind == "duration":
        return shortest_duration(threshold, below, above, column.unit)
    return shortest_number(threshold, below, above)


def shorten_number(threshold: float, below: float, above: float) -> float:
    """A threshold with six digits, or as many as it takes to stay in [below, above)."""
    for digits in range(_DIGITS, _EXACT + 1):
        short = float(f"{threshold:.{digits - 1}e}")
        if short == threshold or below <= short < above:
            return short
    return threshold


def shorten_date(threshold: float, below: float, above: float, unit: str) -> float:
    """A threshold of dates to the minute or the second, if that stays in [below, above)."""
    try:
        when = from_count(threshold, unit)
    except ValueError:  # outside the calendar
        return threshold
    for period in ("minute", "second"):
        short = to_count(_start(when, period), unit)
        if below <= short < above:
            return short
    return threshold


def shorten_duration(threshold: float, below: float, above: float, unit: str) -> float:
    """A threshold of durations to the minute or the second, if that stays in [below, above)."""
    for step in (60.0, 1.0, 1e-3):
        short = _whole_steps(threshold, step, unit)
        if below <= short < above:
            return short
    return threshold


def shortest_duration(threshold: float, below: float, above: float, unit: str) -> float:
    """A whole number of days, hours, minutes or seconds strictly between two durations.

    The longest of these periods that has one there; the one nearest below the middle, or above it.

    Examples
    --------
    >>> shortest_duration(643.2, 620.0, 666.0, "s")
    660.0
    """
    below, above = _finite_range(threshold, below, above)
    middle = (below + above) / 2
    for step in (86400.0, 3600.0, 60.0, 1.0):
        start = _whole_steps(middle, step, unit)
        for candidate in (start, _whole_steps(middle + _length(step, unit), step, unit)):
            if below < candidate < above:
                return candidate
    return threshold


def _length(seconds: float, unit: str) -> float:
    return seconds * PER_DAY[unit] / PER_DAY["s"]


def _whole_steps(duration: float, seconds: float, unit: str) -> float:
    """The duration, rounded down to a multiple of some seconds."""
    return _length(math.floor(duration / _length(seconds, unit) + 1e-9) * seconds, unit)


def shortest_number(threshold: float, below: float, above: float) -> float:
    """The decimal of fewest digits strictly between two values; the one nearest to their middle.

    If one of them is infinite (no row lies there), the range is symmetric about the threshold.

    Examples
    --------
    >>> shortest_number(502.13, 480.2, 524.06)
    500.0
    >>> shortest_number(0.1234, 0.1229, 0.1239)
    0.123
    """
    below, above = _finite_range(threshold, below, above)
    if not below < above:
        return threshold
    # Zero is the shortest number of all; it is taken only if it lies near the middle.
    if below < 0 < above and 10 * abs(below + above) < above - below:
        return 0.0
    middle = (Decimal(below) + Decimal(above)) / 2
    for digits in range(1, _EXACT + 1):
        for mode in (ROUND_HALF_EVEN, ROUND_FLOOR, ROUND_CEILING):
            short = float(Context(digits, mode).plus(middle))
            if below < short < above:
                return short
    return threshold


def shortest_date(threshold: float, below: float, above: float, unit: str) -> float:
    """The first of a year, month, day, hour, ... strictly between two dates, the longest period."""
    below, above = _finite_range(threshold, below, above)
    try:
        middle, last = from_count((below + above) / 2, unit), from_count(above, unit)
    except ValueError:  # outside the calendar
        return threshold
    for period, (step, _) in _PERIODS.items():
        start = _start(middle, period)
        # The calendar ends with the year 9999: its last year, day, ... has no successor.
        following = [_start(start + step, period)] if datetime.max - start >= step else []
        for candidate in (start, *following):
            if candidate <= last and below < to_count(candidate, unit) < above:
                return to_count(candidate, unit)
    return threshold


def _finite_range(threshold: float, below: float, above: float) -> tuple[float, float]:
    if math.isinf(below) and math.isinf(above):
        return threshold, threshold
    if math.isinf(below):
        below = 2 * threshold - above
    elif math.isinf(above):
        above = 2 * threshold - below
    return below, above


# Of each period, a step from its start that leads into the next one; and the fields of a moment
# that are at their least where it starts: its own, and those of all periods below it in the list.
_PERIODS = {
    "year": (timedelta(days=366), {"month": 1}),
    "month": (timedelta(days=31), {"day": 1}),
    "day": (timedelta(days=1), {"hour": 0}),
    "hour": (timedelta(hours=1), {"minute": 0}),
    "minute": (timedelta(minutes=1), {"second": 0}),
    "second": (timedelta(seconds=1), {"microsecond": 0}),
}


def _start(when: datetime, period: str) -> datetime:
    """The start of the year, month, ... that holds a moment."""
    for each in list(_PERIODS)[list(_PERIODS).index(period) :]:
        when = when.replace(**_PERIODS[each][1])  # type: ignore[arg-type]
    return when
