"""What Arrow types hold, and dates as float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute as pc
from pyarrow import types

from treemeans.columns.dates import PER_DAY

Floats = NDArray[np.float64]
DATED = ("date", "time")


def plain_values(values: Any) -> Any:
    """Values without dictionaries, half floats and string views, which few functions support."""
    if types.is_dictionary(values.type):
        values = pc.cast(values, values.type.value_type)
    if types.is_float16(values.type):
        halves = values.to_numpy(**_copying(values))
        return pa.array(halves.astype(np.float32), from_pandas=True)
    return pc.cast(values, pa.string()) if str(values.type) == "string_view" else values


def arrow_kind(arrow: Any) -> str:
    """What an Arrow type holds: flag, integer, number, date, time, text, null or unsupported."""
    if types.is_dictionary(arrow):
        return arrow_kind(arrow.value_type)
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
    if _is_text(arrow):
        return "text"
    return "null" if types.is_null(arrow) else "unsupported"


def _is_text(arrow: Any) -> bool:
    return types.is_string(arrow) or types.is_large_string(arrow) or str(arrow) == "string_view"


def to_dates(values: Any, unit: str) -> Floats | None:
    """Dates, counted since 1970 (UTC); None for another kind.

    As in data frames, fractions of a microsecond are cut off.
    """
    values = plain_values(values)
    kind = arrow_kind(values.type)
    if kind == "null":
        return np.full(len(values), np.nan)
    if kind not in DATED:
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


def to_mask(booleans: Any) -> NDArray[np.bool_]:
    """Arrow's booleans, none of them null, as an array."""
    mask: NDArray[np.bool_] = booleans.to_numpy(**_copying(booleans))
    return mask


def _microseconds(nanoseconds: Any) -> Floats:
    whole = pc.fill_null(nanoseconds, 0).to_numpy(**_copying(nanoseconds)) // 1000
    floats: Floats = whole.astype(np.float64)
    floats[to_mask(pc.is_null(nanoseconds))] = np.nan
    return floats


def _floats(values: Any) -> Floats:
    floats = pc.cast(values, pa.float64(), safe=False)
    found: Floats = floats.to_numpy(**_copying(floats))
    return found


def _copying(values: Any) -> dict[str, bool]:
    """The argument of ``to_numpy`` that allows a copy, which a chunked array always makes."""
    return {} if isinstance(values, pa.ChunkedArray) else {"zero_copy_only": False}
