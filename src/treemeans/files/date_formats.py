"""Dates as people write them, such as 24.07.2024: the formats they may have, and how to parse them.

A column is read as dates if one format holds every value. Where day and month could be exchanged in
every value, two formats do, and the user has to say which it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from pyarrow import compute as pc

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAY, _MONTH, _YEAR = r"(?P<day>\d\d?)", r"(?P<month>\d\d?)", r"(?P<year>\d{4})"
_NAME = (
    r"(?P<name>[Jj]an(?:uary)?|[Ff]eb(?:ruary)?|[Mm]ar(?:ch)?|[Aa]pr(?:il)?|[Mm]ay|[Jj]une?|[Jj]uly?"
    r"|[Aa]ug(?:ust)?|[Ss]ept?(?:ember)?|[Oo]ct(?:ober)?|[Nn]ov(?:ember)?|[Dd]ec(?:ember)?"
    r"|JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC)\.?"
)
_TIME = (
    r"(?:(?:,? |T)(?P<hour>\d\d?):(?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d)"
    r"(?:\.(?P<fraction>\d{1,6}))?)?(?: ?(?P<half>[AaPp])\.?[Mm]\.?)?)?$"
)
_PATTERNS = {
    "day.month.year": rf"^{_DAY}\.{_MONTH}\.{_YEAR}{_TIME}",
    "day/month/year": rf"^{_DAY}/{_MONTH}/{_YEAR}{_TIME}",
    "month/day/year": rf"^{_MONTH}/{_DAY}/{_YEAR}{_TIME}",
    "day-month-year": rf"^{_DAY}-{_MONTH}-{_YEAR}{_TIME}",
    "month-day-year": rf"^{_MONTH}-{_DAY}-{_YEAR}{_TIME}",
    "year-month-day": rf"^{_YEAR}-{_MONTH}-{_DAY}{_TIME}",
    "year/month/day": rf"^{_YEAR}/{_MONTH}/{_DAY}{_TIME}",
    "year.month.day": rf"^{_YEAR}\.{_MONTH}\.{_DAY}{_TIME}",
    "month day, year": rf"^{_NAME} {_DAY},? {_YEAR}{_TIME}",
    "day month year": rf"^{_DAY}\.?[ -]{_NAME}[ -]{_YEAR}{_TIME}",
}
DATE_ORDERS = {"day-first": "day", "month-first": "month"}  # what a user says -> how names begin
DATE_LIKE = (
    r"^(\d\d?[./-]\d\d?[./-]\d{2}(\d\d)?|\d{4}[./-]\d\d?[./-]\d\d?"
    rf"|{_NAME.replace('?P<name>', '')} \d\d?,? \d{{4}}"
    rf"|\d\d?\.?[ -]{_NAME.replace('?P<name>', '')}[ -]\d{{4}})(\s|T|,|$)"
)
"""What looks like a date, also with a year of two digits."""
_HEAD = 64  # values that are looked at first


def formats_that_hold(stripped: Any, formats: Sequence[str]) -> tuple[str, ...]:
    """The formats in which all values are dates; no value is missing."""
    head = stripped.slice(0, _HEAD)
    found = [each for each in formats if parse_dates(head, each) is not None]
    if len(stripped) > _HEAD:
        found = [each for each in found if parse_dates(stripped, each) is not None]
    return tuple(found)


def parse_dates(stripped: Any, date_format: str) -> Any | None:
    """Stripped text as dates with microseconds; None if a value is no date in this format.

    Examples
    --------
    >>> parse_dates(pa.array(["24.07.2024", None, "1.8.2024 13:45"]), "day.month.year").to_pylist()
    [datetime.datetime(2024, 7, 24, 0, 0), None, datetime.datetime(2024, 8, 1, 13, 45)]
    >>> parse_dates(pa.array(["Jul 24, 2024"]), "month day, year").to_pylist()
    [datetime.datetime(2024, 7, 24, 0, 0)]
    >>> print(parse_dates(pa.array(["24.07.2024"]), "month/day/year"))
    None
    """
    fields = pc.extract_regex(stripped, _PATTERNS[date_format])
    if isinstance(fields, pa.ChunkedArray):
        fields = fields.combine_chunks()
    if fields.null_count != stripped.null_count:
        return None
    # Large strings, as pandas and polars write them, do not join with the separators below.
    parts = {f.name: pc.cast(pc.struct_field(fields, f.name), pa.string()) for f in fields.type}
    hour = _hours(parts["hour"], parts["half"])
    if hour is None:
        return None
    month = _month_numbers(parts["name"]) if "name" in parts else parts["month"]
    date = pc.binary_join_element_wise(parts["year"], _padded(month), _padded(parts["day"]), "-")
    clock = pc.binary_join_element_wise(
        _padded(hour), _padded(parts["minute"]), _padded(parts["second"]), ":"
    )
    fraction = pc.utf8_rpad(parts["fraction"], 6, "0")
    text = pc.binary_join_element_wise(pc.binary_join_element_wise(date, clock, " "), fraction, ".")
    try:
        return pc.cast(text, pa.timestamp("us"))
    except pa.ArrowInvalid:  # such as 31.02.2024
        return None


def first_undated(stripped: Any, formats: Sequence[str]) -> int:
    """Position of the first value from which on no format holds all up to it; -1 if one does."""
    return max((_first_failure(stripped, each) for each in formats), default=-1)


def _first_failure(stripped: Any, date_format: str) -> int:
    """Position of the first value that is no date in a format; past the end if all are."""
    low, high = 0, len(stripped) + 1  # values[:low] are dates, values[:high] are not
    while high - low > 1:
        middle = (low + high) // 2
        if parse_dates(stripped.slice(0, middle), date_format) is None:
            high = middle
        else:
            low = middle
    return low


def _padded(digits: Any) -> Any:
    """Two digits, also of one or none."""
    return pc.utf8_lpad(digits, 2, "0")


def _month_numbers(names: Any) -> Any:
    short = pc.utf8_lower(pc.utf8_slice_codeunits(names, 0, 3))
    at = pc.index_in(short, value_set=pa.array(_MONTHS, short.type))
    return pc.cast(pc.add(at, 1), pa.string())


def _hours(hour: Any, half: Any) -> Any | None:
    """Hours of 24, as text; None if one of a clock of 12 hours is not from 1 to 12."""
    if not pc.any(pc.not_equal(half, ""), min_count=0).as_py():
        return hour
    number = pc.cast(pc.replace_substring_regex(hour, "^$", "0"), pa.int64())
    halved = pc.not_equal(half, "")
    fits = pc.and_(pc.greater_equal(number, 1), pc.less_equal(number, 12))
    if not pc.all(pc.or_(fits, pc.invert(halved)), min_count=0).as_py():
        return None
    number = pc.if_else(pc.and_(halved, pc.equal(number, 12)), 0, number)
    after_noon = pc.equal(pc.utf8_lower(half), "p")
    return pc.cast(pc.if_else(after_noon, pc.add(number, 12), number), pa.string())
