"""Tables from files: CSV, TSV, Parquet and Arrow."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import ipc
from pyarrow import parquet as pq

from treemeans.sheets.delimited import dialect_of, read_text, text_batches
from treemeans.sheets.errors import check_different, check_names
from treemeans.sheets.source import Source, broken, no_rows, open_source
from treemeans.sheets.survey import as_types, surveyed

BATCH_ROWS = 1 << 16
DECIMAL = b"treemeans.decimal"  # in the metadata of values that are kept as they are written


def read_table(source: str | Path, columns: Sequence[str] | None = None) -> pa.Table:
    r"""A whole file, in memory.

    Parameters
    ----------
    source : str or path
        A file; ``-`` is standard input. The format is told by the content, else by the name.
    columns : sequence of str, optional
        Those to read, in this order; all by default.

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
    opened = open_source(source)
    columns = _unique(columns)
    if opened.kind == "text":
        table = read_text(opened, columns)
    else:
        batches = list(_binary_batches(opened, columns, BATCH_ROWS))
        table = pa.Table.from_batches(batches) if batches else None
    if table is None or not table.num_rows:
        raise no_rows(opened.label)
    return table


def read_batches(
    source: str | Path,
    columns: Sequence[str] | None = None,
    *,
    batch_rows: int = BATCH_ROWS,
    text: bool | Collection[str] = False,
) -> Iterator[pa.RecordBatch]:
    r"""A file, some rows at a time, in memory that does not grow with it.

    The types of a text are found in a pass over all of it; standard input is kept in a temporary
    file for that.

    Parameters
    ----------
    source, columns
        As for ``read_table``.
    batch_rows : int
        Rows in a batch, at most.
    text : bool or collection of str
        Of a CSV or TSV, all columns or those whose values to give as they are written. With True
        there is no first pass.

    Yields
    ------
    pyarrow.RecordBatch
        All of one schema.

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
    else:
        batches = _binary_batches(opened, columns, batch_rows)
    return _some(opened, _at_most(batches, batch_rows))


def decimal_mark(data: Any) -> str:
    """The mark before decimals in the values of ``data`` that are kept as they are written."""
    mark: bytes = (data.schema.metadata or {}).get(DECIMAL, b".")
    return mark.decode()


def _text_batches(
    source: Source, columns: Sequence[str] | None, text: bool | Collection[str]
) -> Iterator[pa.RecordBatch]:
    if text is not True:
        source = source.kept()
    dialect = dialect_of(source)
    check_names(columns or (), dialect.names, source.label)
    if text is True:
        metadata = {DECIMAL: dialect.decimal.encode()}
        written = text_batches(source, dialect, columns)
        return (batch.replace_schema_metadata(metadata) for batch in written)
    as_written = set(text or ())
    schema = surveyed(text_batches(source, dialect, columns), as_written, dialect.decimal)
    again = text_batches(source, dialect, columns)
    return (as_types(batch, schema, dialect.decimal) for batch in again)


def _binary_batches(
    source: Source, columns: Sequence[str] | None, batch_rows: int
) -> Iterator[pa.RecordBatch]:
    """From Parquet or Arrow."""
    try:
        found = _opened(source)
    except (pa.ArrowException, OSError) as error:
        raise broken(source.label, error) from error
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
    return _checked(source, batches, kept)


def _opened(source: Source) -> Any:
    if source.kind == "parquet":
        return pq.ParquetFile(source.open(), pre_buffer=False)
    return (ipc.open_stream if source.kind == "stream" else ipc.open_file)(source.open())


def _checked(
    source: Source, batches: Iterator[pa.RecordBatch], columns: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """Some of the columns. Every value is looked at: a broken file must not break the reader."""
    try:
        for batch in batches:
            kept = batch.select(columns)
            kept.validate(full=True)
            yield kept
    except (pa.ArrowException, OSError) as error:
        raise broken(source.label, error) from error


def _at_most(batches: Iterator[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for start in range(0, batch.num_rows, rows):
            yield batch.slice(start, rows)


def _some(source: Source, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The batches; there must be one."""
    first = next(batches, None)
    if first is None:
        raise no_rows(source.label)
    return chain([first], batches)


def _unique(columns: Sequence[str] | None) -> list[str] | None:
    return None if columns is None else list(dict.fromkeys(columns))
