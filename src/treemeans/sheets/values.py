"""Columns of Arrow as float64, with NaN where there is no value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute as pc
from pyarrow import types

from treemeans.columns.dates import PER_DAY
from treemeans.sheets.written import read_dates, read_numbers, without

Floats = NDArray[np.float64]


def plain(values: Any) -> Any:
    """The values themselves, where they are kept in a way that pyarrow computes little with."""
    if types.is_dictionary(values.type):
        values = pc.cast(values, values.type.value_type)
    if types.is_float16(values.type):
        halves = values.to_numpy(**_copying(values))
        return pa.array(halves.astype(np.float32), from_pandas=True)
    return pc.cast(values, pa.string()) if str(values.type) == "string_view" else values


def kind_of(arrow: Any) -> str:
    """What a type holds: flag, integer, number, date, time, text, nothing, or else ""."""
    if types.is_dictionary(arrow):
        return kind_of(arrow.value_type)
    if types.is_boolean(arrow):
        return "flag"
    if types.is_integer(arrow) or (types.is_decimal(arrow) and arrow.scale <= 0):
        return "integer"
    if types.is_floating(arrow) or types.is_decimal(arrow):
        return "number"
    if types.is_date(arrow):
        return "date"
    if types.is_timestamp(arrow):
        return "time"
    if is_text(arrow):
        return "text"
    return "nothing" if types.is_null(arrow) else ""


def is_text(arrow: Any) -> bool:
    """Whether a type holds text."""
    return types.is_string(arrow) or types.is_large_string(arrow) or str(arrow) == "string_view"


def as_numbers(values: Any, decimal: str = ".", *, flags: bool = False) -> Floats | None:
    """Numbers, truth values, or text that holds them; None where it is something else.

    Raises
    ------
    UnreadableError
        Of text that is no number.
    """
    values = plain(values)
    kind = kind_of(values.type)
    if kind == "nothing":
        return np.full(len(values), np.nan)
    if kind == "text":
        values = read_numbers(values, decimal, flags=flags)
    elif kind not in ("flag", "integer", "number"):
        return None
    return _floats(values)


def as_dates(values: Any, unit: str) -> Floats | None:
    """Dates, counted since 1970 (UTC), or text that holds them; None where it is something else.

    As for data frames, what is less than a microsecond does not count.

    Raises
    ------
    UnreadableError
        Of text that is no date.
    """
    values = plain(values)
    kind = kind_of(values.type)
    if kind == "nothing":
        return np.full(len(values), np.nan)
    if kind == "text":
        values = read_dates(values)
    elif kind not in ("date", "time"):
        return None
    counted = "D"
    if types.is_timestamp(values.type):
        counted = values.type.unit
        values = pc.cast(values, pa.int64())
    else:
        values = pc.cast(pc.cast(values, pa.date32()), pa.int32())
    if counted == "ns":
        counted, numbers = "us", _microseconds(values)
    else:
        numbers = _floats(values)
    return numbers if counted == unit else numbers * PER_DAY[unit] / PER_DAY[counted]


def as_text(values: Any) -> Any:
    """Any values written out, null where there is none or the text is empty."""
    values = plain(values)
    if kind_of(values.type) == "nothing":
        return pc.cast(values, pa.string())
    if not is_text(values.type):
        values = pc.cast(values, pa.string())
    return without(values, pc.equal(values, ""))


def _microseconds(nanoseconds: Any) -> Floats:
    whole = pc.fill_null(nanoseconds, 0).to_numpy(**_copying(nanoseconds)) // 1000
    floats: Floats = whole.astype(np.float64)
    floats[mask_of(pc.is_null(nanoseconds))] = np.nan
    return floats


def mask_of(truth: Any) -> NDArray[np.bool_]:
    """An array of Arrow's truth values."""
    mask: NDArray[np.bool_] = truth.to_numpy(**_copying(truth))
    return mask


def _floats(values: Any) -> Floats:
    floats = pc.cast(values, pa.float64(), safe=False)
    found: Floats = floats.to_numpy(**_copying(floats))
    return found


def _copying(values: Any) -> dict[str, bool]:
    """Leave to copy; a chunked array always has it."""
    return {} if isinstance(values, pa.ChunkedArray) else {"zero_copy_only": False}
