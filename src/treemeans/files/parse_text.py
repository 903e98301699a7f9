"""Text of a column parsed as numbers, dates and booleans."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyarrow import compute as pc
from pyarrow import csv as pacsv

# What files write for a missing value in a column of numbers or dates.
MISSING_WORDS = sorted({*pacsv.ConvertOptions().null_values, "NaT", "None"})
_LEADING_ZERO = r"^[+-]?0\d"
_ISO_DATE = r"^\d{4}-\d\d-\d\d"
_TIMESTAMPS = (
    pa.timestamp("us"),
    pa.timestamp("us", "UTC"),
    pa.timestamp("ns"),
    pa.timestamp("ns", "UTC"),
)


class UnparsableTextError(Exception):
    """A value that is no number or date, and its position in the column."""

    def __init__(self, position: int, value: str) -> None:
        super().__init__(f"{value!r} at {position}")
        self.position = position
        self.value = value


def strip_values(text: Any) -> Any:
    """Text without blanks around it, null where it is a word for a missing value."""
    stripped = pc.utf8_trim_whitespace(text)
    missing = pc.is_in(stripped, value_set=pa.array(MISSING_WORDS, stripped.type))
    return null_where(stripped, missing)


def null_where(text: Any, mask: Any) -> Any:
    """Text with null where the mask is true."""
    # Not if_else: in pyarrow 15 to 17 it corrupts text that is a slice, beside a scalar.
    return pc.case_when(pc.make_struct(pc.invert(mask)), text)


def try_cast(values: Any, wanted: Any) -> Any | None:
    """Values converted to an Arrow type; None if one of them cannot be."""
    try:
        return pc.cast(values, wanted)
    except pa.ArrowInvalid:
        return None


def with_decimal_point(text: Any, decimal: str) -> Any:
    """Numbers written with a decimal point; a point that was there becomes unparsable."""
    if decimal == ".":
        return text
    return pc.replace_substring(pc.replace_substring(text, ".", " "), ",", ".")


def holds_numbers(stripped: Any, decimal: str, wanted: Any = None) -> bool:
    """Whether stripped text without nulls is all numbers. 00501 is a code and not a number."""
    if pc.any(pc.match_substring_regex(stripped, _LEADING_ZERO)).as_py():
        return False
    if wanted is not None and pa.types.is_integer(wanted):
        return try_cast(stripped, wanted) is not None
    return try_cast(with_decimal_point(stripped, decimal), pa.float64()) is not None


def holds_dates(text: Any) -> bool:
    """Whether all text is dates like 2024-12-31, with or without a time."""
    if not all_match(text, _ISO_DATE):
        return False
    try:
        parse_dates(text)
    except UnparsableTextError:
        return False
    return True


def all_match(text: Any, pattern: str) -> bool:
    """Whether the pattern is found in every value; False if there are none."""
    return bool(pc.all(pc.match_substring_regex(text, pattern)).as_py())


def parse_booleans(stripped: Any) -> Any | None:
    """Stripped text as booleans; None if something is neither true nor false."""
    lower = pc.utf8_lower(stripped)
    true, false = pc.equal(lower, "true"), pc.equal(lower, "false")
    return true if pc.all(pc.or_(true, false)).as_py() else None


def parse_numbers(text: Any, decimal: str, *, flags: bool = False) -> Any:
    """Text as float64, null where a value is missing; with ``flags``, also true and false."""
    # Most columns have no missing value and no comma: one cast is all they need.
    numbers = try_cast(text, pa.float64()) if decimal == "." else None
    if numbers is not None:
        return numbers
    stripped = strip_values(text)
    if flags and (booleans := parse_booleans(stripped)) is not None:
        return pc.cast(booleans, pa.float64())
    pointed = with_decimal_point(stripped, decimal)
    numbers = try_cast(pointed, pa.float64())
    if numbers is None:
        raise _first_unparsable(stripped, pointed, (pa.float64(),))
    return numbers


def parse_dates(text: Any) -> Any:
    """Text as timestamps, null where a value is missing."""
    stripped = None
    for timestamp in _TIMESTAMPS:
        dates = try_cast(text if stripped is None else stripped, timestamp)
        if dates is None and stripped is None:
            stripped = strip_values(text)
            dates = try_cast(stripped, timestamp)
        if dates is not None:
            return dates
    raise _first_unparsable(stripped, stripped, _TIMESTAMPS)


def _first_unparsable(shown: Any, values: Any, types: tuple[Any, ...]) -> UnparsableTextError:
    """The error for the first value that cannot be parsed with those before it."""
    # Bisection: values[:low] can be parsed, values[:high] cannot.
    low, high = 0, len(values)
    while high - low > 1:
        middle = (low + high) // 2
        if any(try_cast(values[:middle], each) is not None for each in types):
            low = middle
        else:
            high = middle
    return UnparsableTextError(low, shown[low].as_py())
