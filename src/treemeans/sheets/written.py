"""Values that are written as text, read as numbers, dates and truth values."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyarrow import compute as pc
from pyarrow import csv as pacsv

# Written for "there is no value" in a column of numbers or dates.
NOTHING = sorted({*pacsv.ConvertOptions().null_values, "NaT", "None"})
_MOMENTS = (
    pa.timestamp("us"),
    pa.timestamp("us", "UTC"),
    pa.timestamp("ns"),
    pa.timestamp("ns", "UTC"),
)


class UnreadableError(Exception):
    """The value at a place cannot be read."""

    def __init__(self, place: int, value: str) -> None:
        super().__init__(f"{value!r} at {place}")
        self.place = place
        self.value = value


def cells(values: Any) -> Any:
    """Values without blanks around them, null where nothing is written."""
    trimmed = pc.utf8_trim_whitespace(values)
    nothing = pc.is_in(trimmed, value_set=pa.array(NOTHING, trimmed.type))
    return without(trimmed, nothing)


def without(values: Any, mask: Any) -> Any:
    """Text with null where the mask is true."""
    # Not if_else: in pyarrow 15 to 17 it spoils text that is a slice, beside a scalar.
    return pc.case_when(pc.make_struct(pc.invert(mask)), values)


def cast(values: Any, wanted: Any) -> Any | None:
    """The values read as the type; None where one of them cannot be."""
    try:
        return pc.cast(values, wanted)
    except pa.ArrowInvalid:
        return None


def with_point(values: Any, decimal: str) -> Any:
    """Numbers written with a decimal point; what cannot be one stays unreadable."""
    if decimal == ".":
        return values
    return pc.replace_substring(pc.replace_substring(values, ".", " "), ",", ".")


def booleans_of(values: Any) -> Any | None:
    """True and false of cells; None where something else is written."""
    lower = pc.utf8_lower(values)
    true, false = pc.equal(lower, "true"), pc.equal(lower, "false")
    return true if pc.all(pc.or_(true, false)).as_py() else None


def read_numbers(values: Any, decimal: str, *, flags: bool = False) -> Any:
    """Written numbers as float64, with null for what is missing; flags may be true and false."""
    numbers = cast(values, pa.float64()) if decimal == "." else None
    if numbers is not None:  # nothing is missing, as in most columns
        return numbers
    present = cells(values)
    if flags and (truth := booleans_of(present)) is not None:
        return pc.cast(truth, pa.float64())
    pointed = with_point(present, decimal)
    numbers = cast(pointed, pa.float64())
    if numbers is None:
        raise _first_bad(present, pointed, (pa.float64(),))
    return numbers


def read_dates(values: Any) -> Any:
    """Written dates as timestamps, with null for what is missing."""
    present = values
    for moments in _MOMENTS:
        dates = cast(present, moments)
        if dates is None and present is values:
            present = cells(values)
            dates = cast(present, moments)
        if dates is not None:
            return dates
    raise _first_bad(present, present, _MOMENTS)


def _first_bad(shown: Any, values: Any, types: tuple[Any, ...]) -> UnreadableError:
    """Where the first value is that cannot be read with those before it; found by halving."""
    low, high = 0, len(values)  # values[:low] can be read, values[:high] cannot
    while high - low > 1:
        middle = (low + high) // 2
        if any(cast(values[:middle], one) is not None for one in types):
            low = middle
        else:
            high = middle
    return UnreadableError(low, shown[low].as_py())
