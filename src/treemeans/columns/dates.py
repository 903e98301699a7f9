"""Dates as numbers, and numbers as dates."""

from __future__ import annotations

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
_MICROSECONDS = 24 * 3600 * 10**6
_MICROSECOND = timedelta(microseconds=1)
_FIRST = (datetime.min - EPOCH) // _MICROSECOND
_LAST = (datetime.max - EPOCH) // _MICROSECOND


def moment(count: float, unit: str) -> datetime:
    """The last microsecond that is not after ``count`` units since 1970.

    Dates become floats to be compared; two that are so near that they become the same float are
    on the same side. Hence the search for the date, and no arithmetic with ``count``.

    Examples
    --------
    >>> moment(19723.5, "D")
    datetime.datetime(2024, 1, 1, 12, 0)
    """
    position = bisect_right(
        range(_FIRST, _LAST + 1), count, key=lambda microseconds: _count(microseconds, unit)
    )
    if position == 0 or position > _LAST - _FIRST:
        raise ValueError(f"No calendar has the moment {count!r} {unit} after 1970.")
    return EPOCH + (_FIRST + position - 1) * _MICROSECOND


def count_of(when: datetime, unit: str) -> float:
    """How many units since 1970."""
    return _count((when - EPOCH) // _MICROSECOND, unit)


def _count(microseconds: int, unit: str) -> float:
    return float(microseconds) * PER_DAY[unit] / _MICROSECONDS


def date_columns(X: Any) -> list[str]:
    """Names of the columns of a data frame (pandas or polars) that hold dates."""
    kind = _frame_of(X)
    if kind == "pandas":
        return [name for name, dtype in X.dtypes.items() if getattr(dtype, "kind", "") == "M"]
    if kind == "polars":
        return [name for name, dtype in X.schema.items() if str(dtype).startswith("Date")]
    return []


def dates_as_days(X: Any) -> Any:
    """A data frame with days since 1970 (UTC) in place of dates; anything else as it is."""
    names = date_columns(X)
    if not names:
        return X
    if _frame_of(X) == "pandas":
        return X.assign(**{name: _pandas_days(X[name]) for name in names})
    import polars as pl

    microseconds = pl.col(names).cast(pl.Datetime("us")).dt.epoch("us")
    return X.with_columns(microseconds / _MICROSECONDS)


def _pandas_days(dates: Any) -> Any:
    if getattr(dates.dt, "tz", None) is not None:
        dates = dates.dt.tz_convert("UTC").dt.tz_localize(None)
    microseconds = dates.astype("datetime64[us]").astype("int64").astype("float64")
    return microseconds.mask(dates.isna()) / _MICROSECONDS


def _frame_of(X: Any) -> str:
    """The package a data frame comes from."""
    if not hasattr(X, "columns"):
        return ""
    return str(type(X).__module__).split(".")[0]
