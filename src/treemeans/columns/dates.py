"""Dates as numbers, and numbers as dates."""

from __future__ import annotations

from datetime import datetime, timedelta
from fractions import Fraction
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


def moment(count: float, unit: str) -> datetime:
    """The last microsecond whose count, as a float, is not above ``count`` units since 1970."""
    nearest = round(Fraction(count) * _MICROSECONDS / PER_DAY[unit])
    when = EPOCH + timedelta(microseconds=nearest)  # which fails outside the calendar
    while count_of(when, unit) > count:
        when -= _MICROSECOND
    while count_of(when + _MICROSECOND, unit) <= count:
        when += _MICROSECOND
    return when


def count_of(when: datetime, unit: str) -> float:
    """How many units since 1970."""
    return (when - EPOCH) // _MICROSECOND * PER_DAY[unit] / _MICROSECONDS  # rounded once


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
