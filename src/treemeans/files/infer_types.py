"""Arrow types of the columns of a text file that is read in batches.

A file that is read whole gets its types from pyarrow; a pass over the batches finds here the types
that hold every value of the file.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import pyarrow as pa
from pyarrow import compute as pc

from treemeans.files.parse_text import (
    holds_numbers,
    null_where,
    parse_booleans,
    strip_values,
    try_cast,
    with_decimal_point,
)

# Types that a column may have, from narrow to wide within each family. A column whose values are
# of two families is text.
_FAMILIES = (
    (pa.int64(), pa.float64()),
    (pa.bool_(),),
    (pa.date32(), pa.timestamp("us")),
    (pa.timestamp("us", "UTC"),),
)


def infer_schema(
    batches: Iterator[pa.RecordBatch], kept_as_text: Collection[str], decimal: str
) -> pa.Schema:
    """The narrowest types that hold every value of all batches of text."""
    types: dict[str, Any] = {}
    for batch in batches:
        for name, values in zip(batch.schema.names, batch.columns, strict=True):
            known = pa.string() if name in kept_as_text else types.get(name, pa.null())
            types[name] = _widen(known, values, decimal)
    return pa.schema(
        [(name, pa.string() if pa.types.is_null(t) else t) for name, t in types.items()]
    )


def parse_batch(batch: pa.RecordBatch, schema: pa.Schema, decimal: str) -> pa.RecordBatch:
    """A batch of text, parsed as the types of ``schema``."""
    columns = [
        _parse(values, field.type, decimal)
        for values, field in zip(batch.columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _widen(known: Any, values: Any, decimal: str) -> Any:
    """The narrowest type, not narrower than ``known``, that holds the values too."""
    if pa.types.is_string(known):
        return known
    present = pc.drop_null(strip_values(values))
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
    """Whether all the values can be parsed as a type."""
    if pa.types.is_boolean(candidate):
        return parse_booleans(present) is not None
    if pa.types.is_integer(candidate) or pa.types.is_floating(candidate):
        return holds_numbers(present, decimal, candidate)
    return try_cast(present, candidate) is not None


def _parse(text: Any, wanted: Any, decimal: str) -> Any:
    if pa.types.is_string(wanted):
        return null_where(text, pc.equal(text, ""))
    stripped = strip_values(text)
    if pa.types.is_boolean(wanted):
        return parse_booleans(stripped)
    if pa.types.is_floating(wanted):
        stripped = with_decimal_point(stripped, decimal)
    return pc.cast(stripped, wanted)
