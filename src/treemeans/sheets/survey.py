"""The types of written values, for texts that are read some rows at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import pyarrow as pa
from pyarrow import compute as pc

from treemeans.sheets.written import booleans_of, cast, cells, with_point, without

# What the values of a column may be, from narrow to wide within each family.
_FAMILIES = (
    (pa.int64(), pa.float64()),
    (pa.bool_(),),
    (pa.date32(), pa.timestamp("us")),
    (pa.timestamp("us", "UTC"),),
)
_LEADING_ZERO = r"^\s*[+-]?0\d"  # a code, not a number: 00501


def surveyed(
    batches: Iterator[pa.RecordBatch], as_written: Collection[str], decimal: str
) -> pa.Schema:
    """The narrowest types that hold every value of all batches."""
    types: dict[str, Any] = {}
    for batch in batches:
        for name, values in zip(batch.schema.names, batch.columns, strict=True):
            known = types.get(name, pa.null())
            if name in as_written:
                known = pa.string()
            types[name] = _widened(values, known, decimal)
    return pa.schema([(name, _settled(found)) for name, found in types.items()])


def as_types(batch: pa.RecordBatch, schema: pa.Schema, decimal: str) -> pa.RecordBatch:
    """The batch, its written values read as the types of ``schema``."""
    columns = [
        _read(values, field.type, decimal)
        for values, field in zip(batch.columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _settled(found: Any) -> Any:
    return pa.string() if pa.types.is_null(found) else found


def _widened(values: Any, known: Any, decimal: str) -> Any:
    """The narrowest type, from ``known`` on, that holds the values too."""
    if pa.types.is_string(known):
        return known
    present = pc.drop_null(cells(values))
    if not len(present):
        return known
    for family in _FAMILIES:
        if pa.types.is_null(known) or known in family:
            start = family.index(known) if known in family else 0
            for candidate in family[start:]:
                if _holds(candidate, present, decimal):
                    return candidate
    return pa.string()


def _holds(candidate: Any, present: Any, decimal: str) -> bool:
    """Whether all the values can be read so."""
    if pa.types.is_boolean(candidate):
        return booleans_of(present) is not None
    if pa.types.is_floating(candidate):
        present = with_point(present, decimal)
    if pa.types.is_integer(candidate) or pa.types.is_floating(candidate):
        zeros = pc.match_substring_regex(present, _LEADING_ZERO)
        if pc.any(zeros).as_py():
            return False
    return cast(present, candidate) is not None


def _read(values: Any, wanted: Any, decimal: str) -> Any:
    is_text = pa.types.is_string(wanted)
    values = without(values, pc.equal(values, "")) if is_text else cells(values)
    if pa.types.is_boolean(wanted):
        return booleans_of(values)
    if pa.types.is_floating(wanted):
        values = with_point(values, decimal)
    return pc.cast(values, wanted)
