"""JSON lines in blocks: a first pass finds the types of the columns, a second reads the rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyarrow import json as pajson

from treemeans.files.table_source import TableSource, unreadable

BLOCK = 1 << 24  # bytes that are parsed at once
_ERRORS = (pa.ArrowException, OSError, UnicodeDecodeError)


def json_schema(source: TableSource) -> pa.Schema:
    """The columns of all blocks, each of a type that holds its values everywhere."""
    found: pa.Schema | None = None
    try:
        for block in _blocks(source):
            schema = _parsed(block).schema
            found = schema if found is None else _merged(found, schema)
    except _ERRORS as error:
        raise unreadable(source.label, error) from error
    return pa.schema([]) if found is None else found


def read_json_batches(source: TableSource, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows, block by block, with the columns of a schema."""
    options = pajson.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    try:
        for block in _blocks(source):
            yield from _parsed(block, options).combine_chunks().to_batches()
    except _ERRORS as error:
        raise unreadable(source.label, error) from error


def _parsed(block: bytes, options: Any = None) -> pa.Table:
    read = pajson.ReadOptions(block_size=len(block) + 1)
    return pajson.read_json(pa.BufferReader(block), read, options)


def _blocks(source: TableSource) -> Iterator[bytes]:
    """Whole lines, about BLOCK bytes of them at a time."""
    rest = b""
    with source.open() as stream:
        while read := stream.read(BLOCK):
            lines, end, last = (rest + read).rpartition(b"\n")
            rest = last
            if lines.strip():
                yield lines + end
    if rest.strip():
        yield rest


def _merged(one: pa.Schema, other: pa.Schema) -> pa.Schema:
    """The columns of both, in the order in which they come.

    Whole numbers widen to floats, and dates to text, as where all lines are parsed at once.
    """
    for name in set(one.names) & set(other.names):
        types = {one.field(name).type, other.field(name).type}
        if pa.string() in types and any(map(pa.types.is_timestamp, types)):
            one, other = (_with_text(schema, name) for schema in (one, other))
    return pa.unify_schemas([one, other], promote_options="permissive")


def _with_text(schema: pa.Schema, name: str) -> pa.Schema:
    return schema.set(schema.get_field_index(name), pa.field(name, pa.string()))
