"""Tables from CSV, TSV, JSON lines, Parquet and Arrow files, whole or in batches."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import ipc
from pyarrow import parquet as pq

from treemeans.files.delimited_text import detect_format, read_text_batches
from treemeans.files.file_errors import check_different, check_names
from treemeans.files.json_lines import json_schema, read_json_batches
from treemeans.files.table_source import TableSource, no_rows, open_source, unreadable
from treemeans.files.text_types import TextType, parse_as

BATCH_ROWS = 1 << 16
_ALL_ROWS = 1 << 40
_DECIMAL = b"treemeans.decimal"  # key in the metadata of values that are given as text


def read_table(
    source: str | Path,
    columns: Sequence[str] | None = None,
    *,
    text: bool | Collection[str] = False,
) -> pa.Table:
    r"""Read a whole file into memory.

    Parameters
    ----------
    source : str or path
        A file; ``-`` is standard input. The content shows the format, or else the name.
    columns : sequence of str, optional
        Those to read, in this order; all by default.
    text : bool or collection of str
        The columns of a CSV or TSV to give as text, as they are written.

    Returns
    -------
    pyarrow.Table
        With at least one row, and columns of different names.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "customers.csv"
    >>> _ = path.write_text("age;income\n31;1,5\n42;2,25\n")
    >>> read_table(path).to_pydict()
    {'age': [31, 42], 'income': [1.5, 2.25]}
    """
    batches = read_batches(source, columns, batch_rows=_ALL_ROWS, text=text)
    return pa.Table.from_batches(list(batches))


def read_batches(
    source: str | Path,
    columns: Sequence[str] | None = None,
    *,
    batch_rows: int = BATCH_ROWS,
    text: bool | Collection[str] = False,
) -> Iterator[pa.RecordBatch]:
    r"""Read a file in batches, in memory that does not grow with the file.

    The types of the columns of text are inferred in a first pass over the file; standard input is
    copied to a temporary file for that.

    Parameters
    ----------
    source, columns
        As for ``read_table``.
    batch_rows : int
        Rows in a batch, at most.
    text : bool or collection of str
        The columns of a CSV or TSV to give as text, as they are written; True for all of them,
        which takes no first pass.

    Yields
    ------
    pyarrow.RecordBatch
        All batches have the same schema.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "customers.csv"
    >>> _ = path.write_text("age,zip\n31,00501\n42.5,10001\n")
    >>> for batch in read_batches(path, batch_rows=1):
    ...     print(batch.to_pylist())
    [{'age': 31.0, 'zip': '00501'}]
    [{'age': 42.5, 'zip': '10001'}]
    """
    opened = open_source(source)
    columns = _unique(columns)
    if opened.kind == "text":
        batches = _text_batches(opened, columns, text)
    elif opened.kind == "json":
        batches = _json_batches(opened, columns)
    else:
        batches = _binary_batches(opened, columns, batch_rows)
    return _require_rows(opened, _split(batches, batch_rows))


def decimal_mark(data: Any) -> str:
    """The mark before decimals in the values of ``data``, or of a schema, that are text."""
    mark: bytes = (getattr(data, "schema", data).metadata or {}).get(_DECIMAL, b".")
    return mark.decode()


def _text_batches(
    source: TableSource, columns: Sequence[str] | None, text: bool | Collection[str]
) -> Iterator[pa.RecordBatch]:
    if text is not True:
        source = source.rereadable()
    text_format = detect_format(source)
    check_names(columns or (), text_format.names, source.label)
    decimal = text_format.decimal
    batches = read_text_batches(source, text_format, columns)
    metadata = {_DECIMAL: decimal.encode()}
    if text is True:
        return (batch.replace_schema_metadata(metadata) for batch in batches)
    types: dict[str, TextType] = {}
    for batch in batches:
        for name, values in zip(batch.schema.names, batch.columns, strict=True):
            types.setdefault(name, TextType(decimal)).add(values)
    for name in {*(text or ())} & {*types}:
        types[name] = TextType(decimal, [], other_candidates=[])
    second_pass = read_text_batches(source, text_format, columns)
    parsed = (_parse_batch(batch, types) for batch in second_pass)
    # Amounts stay text, so that whoever parses them must know the mark.
    return (batch.replace_schema_metadata(metadata) for batch in parsed)


def _parse_batch(batch: pa.RecordBatch, types: dict[str, TextType]) -> pa.RecordBatch:
    """A batch of text, parsed; what can be told only with all that is known stays as written."""
    as_written = ("amount", "separated", "written date")
    parsed = [
        parse_as(values, "text") if types[name].name in as_written else types[name].parse(values)
        for name, values in zip(batch.schema.names, batch.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(parsed, names=batch.schema.names)


def _json_batches(source: TableSource, columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
    """JSON lines: types may differ from block to block, so they are inferred in a first pass."""
    source = source.rereadable()
    schema = json_schema(source)
    check_different(schema.names, source.label)
    check_names(columns or (), schema.names, source.label)
    kept = [schema.field(name) for name in columns or schema.names]
    return read_json_batches(source, pa.schema(kept))


def _binary_batches(
    source: TableSource, columns: Sequence[str] | None, batch_rows: int
) -> Iterator[pa.RecordBatch]:
    """Batches of a Parquet or Arrow file."""
    try:
        found = _open_binary(source)
    except (pa.ArrowException, OSError) as error:
        raise unreadable(source.label, error) from error
    names = (found.schema_arrow if source.kind == "parquet" else found.schema).names
    check_different(names, source.label)
    check_names(columns or (), names, source.label)
    kept = list(columns or names)
    if source.kind == "parquet":
        batches = found.iter_batches(batch_rows, columns=kept)
    elif source.kind == "stream":
        batches = iter(found)
    else:
        batches = (found.get_batch(i) for i in range(found.num_record_batches))
    return _validated(source, batches, kept)


def _open_binary(source: TableSource) -> Any:
    if source.kind == "parquet":
        return pq.ParquetFile(source.open(), pre_buffer=False)
    return (ipc.open_stream if source.kind == "stream" else ipc.open_file)(source.open())


def _validated(
    source: TableSource, batches: Iterator[pa.RecordBatch], columns: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """The batches with the columns asked for, every value checked."""
    try:
        for batch in batches:
            kept = batch.select(columns)
            # A corrupt file may hold offsets that point outside of it, which would crash pyarrow.
            kept.validate(full=True)
            yield kept
    except (pa.ArrowException, OSError) as error:
        raise unreadable(source.label, error) from error


def _split(batches: Iterator[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for start in range(0, batch.num_rows, rows):
            yield batch.slice(start, rows)


def _require_rows(
    source: TableSource, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The batches, of which there must be one."""
    first = next(batches, None)
    if first is None:
        raise no_rows(source.label)
    return chain([first], batches)


def _unique(columns: Sequence[str] | None) -> list[str] | None:
    return None if columns is None else list(dict.fromkeys(columns))
