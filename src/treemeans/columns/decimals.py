"""Numbers written short, without leaving the gap they stand for."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal

from treemeans.columns.dates import count_of, moment

_DIGITS = 6  # of a number that need not be short
_NOTHING = 1e-9  # a share that stems from adding up floats
_EXACT = 17  # significant digits that tell any two floats apart


def written(number: float) -> str:
    """A number as people write it: all its digits, but no exponent unless it is far off."""
    if number == 0:
        return "0"
    text = repr(float(number))
    if "e" in text and 1e-6 <= abs(number) < 1e16:
        text = format(Decimal(text), "f")
    return text.removesuffix(".0")


def rows(weight: float) -> str:
    """How many rows, in words."""
    return f"{written(round(weight, 2))} row{'' if weight == 1 else 's'}"


def percent(share: float) -> str:
    """A share in whole percents, but neither 0 % of something nor 100 % of not quite all.

    Examples
    --------
    >>> percent(0.44), percent(0.002), percent(0.9999)
    ('44 %', '<1 %', '>99 %')
    """
    whole = round(100 * share)
    if whole == 0 and share > _NOTHING:
        return "<1 %"
    if whole == 100 and share < 1 - _NOTHING:
        return ">99 %"
    return f"{whole} %"


def about(number: float) -> str:
    """A number to four significant digits, for means and margins."""
    if number != 0 and not 1e-4 <= abs(number) < 1e12:
        return f"{number:.4g}"
    digits = max(0, 3 - math.floor(math.log10(abs(number)))) if number else 0
    text = f"{number:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def telling_place(x: float, y: float) -> int:
    """To how many decimal places two numbers are compared: three digits, two of the difference.

    Examples
    --------
    >>> telling_place(0.04147, 0.0000013), telling_place(1013.25, 1013.34), telling_place(502.6, 0)
    (4, 3, 0)
    """
    wanted = [(max(abs(x), abs(y)), 3), (abs(x - y), 2)]
    known = [(size, digits) for size, digits in wanted if 0 < size < math.inf]
    return max([0, *(digits - 1 - math.floor(math.log10(size)) for size, digits in known)])


def shown(threshold: float, below: float, above: float) -> float:
    """``threshold`` to six digits, or as many as it takes not to leave [below, above)."""
    for digits in range(_DIGITS, _EXACT + 1):
        short = float(f"{threshold:.{digits - 1}e}")
        if short == threshold or below <= short < above:
            return short
    return threshold


def shortest(threshold: float, below: float, above: float) -> float:
    """The decimal of fewest digits strictly between the two; the nearest to their middle.

    Where a side is open (no row lies there), as far from the threshold as the other side.

    Examples
    --------
    >>> shortest(502.13, 480.2, 524.06)
    500.0
    >>> shortest(0.1234, 0.1229, 0.1239)
    0.123
    """
    below, above = _closed(threshold, below, above)
    if not below < above:
        return threshold
    if below < 0 < above and 10 * abs(below + above) < above - below:
        return 0.0  # about the middle, and nothing is shorter
    middle = (Decimal(below) + Decimal(above)) / 2
    for digits in range(1, _EXACT + 1):
        for mode in (ROUND_HALF_EVEN, ROUND_FLOOR, ROUND_CEILING):
            short = float(Context(digits, mode).plus(middle))
            if below < short < above:
                return short
    return threshold


def _closed(threshold: float, below: float, above: float) -> tuple[float, float]:
    if math.isinf(below) and math.isinf(above):
        return threshold, threshold
    if math.isinf(below):
        below = 2 * threshold - above
    elif math.isinf(above):
        above = 2 * threshold - below
    return below, above


def shortest_date(threshold: float, below: float, above: float, unit: str) -> float:
    """The same for dates: the first of a year, of a month, a day, an hour, ..., if one fits."""
    below, above = _closed(threshold, below, above)
    try:
        middle, last = moment((below + above) / 2, unit), moment(above, unit)
    except ValueError:  # outside the calendar
        return threshold
    for floor, step in _PERIODS:
        start = floor(middle)
        for candidate in (start, floor(start + step)):
            if candidate <= last and below < count_of(candidate, unit) < above:
                return count_of(candidate, unit)
    return threshold


def shown_date(threshold: float, below: float, above: float, unit: str) -> float:
    """``threshold`` to the minute or the second, unless that leaves [below, above)."""
    try:
        when = moment(threshold, unit)
    except ValueError:
        return threshold
    for floor in (_minute, _second):
        if below <= count_of(floor(when), unit) < above:
            return count_of(floor(when), unit)
    return threshold


def _second(when: datetime) -> datetime:
    return when.replace(microsecond=0)


def _minute(when: datetime) -> datetime:
    return _second(when).replace(second=0)


def _hour(when: datetime) -> datetime:
    return _minute(when).replace(minute=0)


def _day(when: datetime) -> datetime:
    return _hour(when).replace(hour=0)


def _month(when: datetime) -> datetime:
    return _day(when).replace(day=1)


def _year(when: datetime) -> datetime:
    return _month(when).replace(month=1)


# The start of the period that holds a moment, and a step from there into the next.
_PERIODS: tuple[tuple[Callable[[datetime], datetime], timedelta], ...] = (
    (_year, timedelta(days=366)),
    (_month, timedelta(days=31)),
    (_day, timedelta(days=1)),
    (_hour, timedelta(hours=1)),
    (_minute, timedelta(minutes=1)),
    (_second, timedelta(seconds=1)),
)
