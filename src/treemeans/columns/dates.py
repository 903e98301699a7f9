"""Dates as numbers, and numbers as dates."""

from __future__ import annotations

import math
from bisect import bisect_right
from datetime import datetime, timedelta
from typing import Any

EPOCH = datetime(1970, 1, 1)
PER_DAY = {
    "D": 1,
    "h": 24,
    "m": 24 * 60,
    "s": 24 * 3600,
    "ms": 24 * 3600 * 10**3,
    "us": 24 * 3600 * 10**6,
    "ns": 24 * 3600 * 10**9,
}
UNIT_NAMES = {
    "D": "days",
    "h": "hours",
    "m": "minutes",
    "s": "seconds",
    "ms": "milliseconds",
    "us": "microseconds",
    "ns": "nanoseconds",
}
DATE_FORMATS = {
    "day.month.year": ("%d.%m.%Y",),
    "day/month/year": ("%d/%m/%Y",),
    "month/day/year": ("%m/%d/%Y",),
    "day-month-year": ("%d-%m-%Y",),
    "month-day-year": ("%m-%d-%Y",),
    "year-month-day": ("%Y-%m-%d",),
    "year/month/day": ("%Y/%m/%d",),
    "year.month.day": ("%Y.%m.%d",),
    "month day, year": ("%b %d, %Y", "%B %d, %Y", "%b %d %Y", "%B %d %Y"),
    "day month year": ("%d %b %Y", "%d %B %Y", "%d-%b-%Y", "%d. %B %Y"),
}
"""How dates are written, and the same for ``strptime``."""
_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
_MICROSECONDS = 24 * 3600 * 10**6
_MICROSECOND = timedelta(microseconds=1)
_FIRST = (datetime.min - EPOCH) // _MICROSECOND
_LAST = (datetime.max - EPOCH) // _MICROSECOND


def from_count(count: float, unit: str) -> datetime:
    """The date and time that is ``count`` units after 1970, to the microsecond before.

    Dates are compared as floats, and two that become the same float are on the same side of a
    threshold. The result is therefore found by a search over dates and not by arithmetic.

    Examples
    --------
    >>> from_count(19723.5, "D")
    datetime.datetime(2024, 1, 1, 12, 0)
    """
    position = bisect_right(
        range(_FIRST, _LAST + 1), count, key=lambda microseconds: _count(microseconds, unit)
    )
    if position == 0 or position > _LAST - _FIRST:
        raise ValueError(f"No calendar has the moment {count!r} {unit} after 1970.")
    return EPOCH + (_FIRST + position - 1) * _MICROSECOND


def read_date(text: str, date_format: str) -> datetime | None:
    """A date as people write it; None if it is none in this format.

    Examples
    --------
    >>> read_date("24.07.2024", "day.month.year"), read_date("07/24/2024", "day/month/year")
    (datetime.datetime(2024, 7, 24, 0, 0), None)
    """
    for pattern in DATE_FORMATS[date_format]:
        for clock in _CLOCKS:
            try:
                return datetime.strptime(text.strip(), pattern + clock)
            except ValueError:
                continue
    return None


def to_count(when: datetime, unit: str) -> float:
    """The number of units from 1970 to a date and time (UTC)."""
    return _count((when - EPOCH) // _MICROSECOND, unit)


def _count(microseconds: int, unit: str) -> float:
    return float(microseconds) * PER_DAY[unit] / _MICROSECONDS


def duration_from_count(count: float, unit: str) -> int:
    """The longest duration that counts no more than ``count`` units, in microseconds.

    Examples
    --------
    >>> duration_from_count(1.5, "D"), duration_from_count(0.25, "s")
    (129600000000, 250000)
    """
    found = math.floor(count / PER_DAY[unit] * _MICROSECONDS)
    while _count(found + 1, unit) <= count:
        found += 1
    while _count(found, unit) > count:
        found -= 1
    return found


def duration_text(count: float, unit: str, precision: str = "auto") -> str:
    """A duration as pandas writes it.

    Examples
    --------
    >>> duration_text(1.5, "D"), duration_text(90.25, "s"), duration_text(-1.0, "D")
    ('1 days 12:00:00', '0 days 00:01:30.250000', '-1 days 00:00:00')
    """
    try:
        length = timedelta(days=count / PER_DAY[unit])
    except OverflowError:
        return f"{count:g} {unit}"
    if precision == "minutes":
        length = timedelta(minutes=round(length / timedelta(minutes=1)))
    return f"{length.days} days {(datetime.min + (length - timedelta(days=length.days))).time()}"


def date_columns(X: Any) -> dict[str, bool]:
    """The columns of dates of a data frame (pandas or polars): whether each has a time zone."""
    kind = frame_package(X)
    if kind == "pandas":
        dated = {name: t for name, t in X.dtypes.items() if getattr(t, "kind", "") == "M"}
        return {name: getattr(dtype, "tz", None) is not None for name, dtype in dated.items()}
    if kind == "polars":
        dated = {name: t for name, t in X.schema.items() if str(t).startswith("Date")}
        return {name: bool(getattr(dtype, "time_zone", None)) for name, dtype in dated.items()}
    return {}


def dates_as_days(X: Any) -> Any:
    """A data frame with days since 1970 (UTC) in place of dates; other objects unchanged."""
    names = list(date_columns(X))
    if not names:
        return X
    if frame_package(X) == "pandas":
        return X.assign(**{name: _pandas_days(X[name]) for name in names})
    import polars as pl

    microseconds = pl.col(names).cast(pl.Datetime("us")).dt.epoch("us")
    return X.with_columns(microseconds / _MICROSECONDS)


def _pandas_days(dates: Any) -> Any:
    if getattr(dates.dt, "tz", None) is not None:
        dates = dates.dt.tz_convert("UTC").dt.tz_localize(None)
    microseconds = dates.astype("datetime64[us]").astype("int64").astype("float64")
    return microseconds.mask(dates.isna()) / _MICROSECONDS


def frame_package(X: Any) -> str:
    """Name of the package a data frame comes from; empty for what is no data frame."""
    if not hasattr(X, "columns"):
        return ""
    return str(type(X).__module__).split(".")[0]
