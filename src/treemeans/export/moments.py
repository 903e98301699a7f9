"""Thresholds of dates as the dates on either side of them."""

from __future__ import annotations

from bisect import bisect_right
from datetime import datetime, timedelta

from treemeans.columns.dates import EPOCH

_MICROSECOND = timedelta(microseconds=1)
_DAY = 24 * 3600 * 10**6  # in microseconds
_FIRST = (datetime.min - EPOCH) // _MICROSECOND
_LAST = (datetime.max - EPOCH) // _MICROSECOND


def last_moment(days: float) -> datetime:
    """The last microsecond that ``predict`` finds not after ``days`` since 1970.

    To predict, dates become float days; two dates that are so near that they become the same
    float are on the same side. Hence the search for the date, and no arithmetic with ``days``.

    Examples
    --------
    >>> last_moment(19723.5)
    datetime.datetime(2024, 1, 1, 12, 0)
    """
    position = bisect_right(range(_FIRST, _LAST + 1), days, key=_days)
    if position == 0 or position > _LAST - _FIRST:
        raise ValueError(f"The tree cuts a date {days!r} days from 1970, which no calendar has.")
    return EPOCH + (_FIRST + position - 1) * _MICROSECOND


def _days(microseconds: int) -> float:
    return float(microseconds) / _DAY
