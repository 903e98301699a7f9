"""Arrow batches as lines of CSV, with quotation marks only where they are needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from pyarrow import compute as pc
from pyarrow import types

from treemeans.files.arrow_to_float import arrow_kind, plain_values
from treemeans.files.file_errors import InputError, quoted

_TEXT = pa.large_string()


def csv_header(names: Sequence[str], delimiter: str) -> bytes:
    """The line of names."""
    return csv_lines(pa.record_batch([pa.array([name]) for name in names], names=names), delimiter)


def csv_lines(batch: pa.RecordBatch, delimiter: str) -> bytes:
    """The rows of a batch.

    Examples
    --------
    >>> batch = pa.RecordBatch.from_pydict({"x": [1.5, None], "said": ["yes, no", "no"]})
    >>> print(csv_lines(batch, ",").decode(), end="")
    1.5,"yes, no"
    ,no
    """
    if not batch.num_rows:
        return b""
    cells = [_cells(values, delimiter) for values in batch.columns]
    if len(cells) == 1:  # a reader would skip an empty line
        empty = pc.make_struct(pc.equal(cells[0], ""))
        cells = [pc.case_when(empty, pa.scalar('""', _TEXT), cells[0])]
    joined = pc.binary_join_element_wise(*cells, pa.scalar(delimiter, _TEXT))
    ended = pc.binary_join_element_wise(joined, pa.scalar("\n", _TEXT), pa.scalar("", _TEXT))
    return _all_bytes(ended)


def refuse_nested(schema: pa.Schema) -> None:
    """Refuse columns of lists and structs, which a line of text cannot hold."""
    for field in schema:
        if types.is_nested(field.type) or types.is_union(field.type):
            raise InputError(
                f"Column {quoted(field.name)} holds {field.type}, which a CSV file cannot; write "
                "a Parquet or Arrow file instead."
            )


def _cells(values: Any, delimiter: str) -> Any:
    """Values as they are written between delimiters."""
    values = plain_values(values)
    if types.is_timestamp(values.type) and values.type.tz is not None:
        values = pc.cast(values, pa.timestamp(values.type.unit, "UTC"))
    try:
        text = pc.fill_null(pc.cast(values, _TEXT), "")
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InputError(
            f"A column of the type {values.type} cannot be written as CSV; write a Parquet or "
            "Arrow file instead."
        ) from error
    if arrow_kind(values.type) not in ("text", "unsupported"):
        return text
    # Most columns hold no mark at all, which one search in their bytes shows.
    whole = _all_bytes(text)
    marks = [mark for mark in ('"', "\n", "\r", delimiter) if mark.encode() in whole]
    return _quote(text, marks) if marks else text


def _quote(text: Any, marks: Sequence[str]) -> Any:
    """Quotation marks around the values that hold one of the marks."""
    special = pc.match_substring_regex(text, f"[{''.join(marks)}]")
    inner = pc.replace_substring(text, '"', '""')
    mark = pa.scalar('"', _TEXT)
    enclosed = pc.binary_join_element_wise(mark, inner, mark, pa.scalar("", _TEXT))
    return pc.if_else(special, enclosed, text)


def _all_bytes(text: Any) -> bytes:
    """The bytes of all values of an array of large text, one after the other."""
    _, offsets, data = text.buffers()
    if data is None:
        return b""
    ends = memoryview(offsets).cast("q")
    start, stop = ends[text.offset], ends[text.offset + len(text)]
    whole: bytes = data.slice(start, stop - start).to_pybytes()
    return whole
