"""Tables written to files, whole or not at all."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
from pyarrow import ipc, types
from pyarrow import parquet as pq

from treemeans.atomic_write import AtomicFile
from treemeans.files.arrow_to_float import plain_values
from treemeans.files.csv_lines import csv_header, csv_lines, refuse_nested
from treemeans.files.file_errors import CONTROL_BYTES, InputError, quoted, quoted_path
from treemeans.files.file_formats import FileFormat, format_from_name

# A row group of a Parquet file is written when it has so many rows or bytes.
_GROUP_ROWS, _GROUP_BYTES = 1 << 18, 1 << 26


class TableWriter:
    """Writes batches to a file that appears when all are written, or never.

    Parameters
    ----------
    target : str, path or None
        The name says the format: .csv, .tsv, .csv.gz, .parquet, .arrow, .feather. ``-`` and None
        are standard output, as CSV. A pipe or device is written to directly.
    force : bool
        Replace a file that exists.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "labelled.csv"
    >>> batch = pa.RecordBatch.from_pydict({"name": ["Ann", "O, Bob"]})
    >>> with TableWriter(path) as writer:
    ...     writer.write(with_column(batch, "cluster", [0, 1]))
    >>> print(path.read_text(), end="")
    name,cluster
    Ann,0
    "O, Bob",1
    """

    def __init__(self, target: str | Path | None, *, force: bool = False) -> None:
        self._path = None if target is None or str(target) == "-" else Path(target)
        self._format = FileFormat("text", ",")
        self._force = force
        self._new: AtomicFile | None = None
        self._file: Any = None
        self._writer: _BatchWriter | None = None
        if self._path is not None:
            self._path = Path(os.path.realpath(self._path))
            self._format = _check_target(self._path, Path(str(target)), force=force)

    def __enter__(self) -> Self:
        return self

    def write(self, batch: pa.RecordBatch) -> None:
        """Write some rows; all batches have the columns of the first."""
        if self._writer is None:
            if self._format.kind == "text":
                refuse_nested(batch.schema)
            self._open()
        try:
            if self._writer is None:
                self._writer = _writer_for(self._format, self._file, batch.schema)
            self._writer.write(batch)
        except OSError as failed:
            self._raise_sentence(failed)
            raise

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None and self._writer is not None:
                self._finish()
        except OSError as failed:
            self._raise_sentence(failed)
            raise
        finally:
            self._discard()

    def _open(self) -> None:
        if self._path is None:
            shown = sys.stdout.isatty()
            self._file = pa.PythonFile(_Terminal() if shown else sys.stdout.buffer, mode="w")
            return
        try:
            if self._path.exists() and not self._path.is_file():
                self._file = pa.OSFile(str(self._path), mode="w")
            else:
                self._new = AtomicFile(str(self._path))
                self._file = pa.OSFile(self._new.path, mode="w")
        except OSError as error:
            raise _unwritable(self._path, error) from error
        if self._format.compression:
            self._file = pa.CompressedOutputStream(self._file, self._format.compression)

    def _finish(self) -> None:
        """Write the rest and put the file in its place."""
        assert self._writer is not None
        self._writer.close()
        self._writer = None
        if self._path is None:
            sys.stdout.buffer.flush()
            return
        self._file.close()
        if self._new is None:
            return
        if self._path.exists() and not self._force:  # made by someone else in the meantime
            raise _exists(self._path)
        self._new.commit()
        self._new = None

    def _raise_sentence(self, error: OSError) -> None:
        """Say that a disk is full; a pipe that its reader has closed is no error."""
        if self._path is not None and not isinstance(error, BrokenPipeError):
            raise _unwritable(self._path, error) from error

    def _discard(self) -> None:
        """Close and delete what is unfinished."""
        if self._writer is not None:
            with suppress(OSError, pa.ArrowException):
                self._writer.abandon()
            self._writer = None
        if self._path is not None and self._file is not None and not self._file.closed:
            with suppress(OSError, pa.ArrowException):
                self._file.close()
        if self._new is not None:
            self._new.discard()
            self._new = None


def with_column(batch: pa.RecordBatch, name: str, values: Any) -> pa.RecordBatch:
    """The batch with one more column, the last.

    Examples
    --------
    >>> with_column(pa.RecordBatch.from_pydict({"age": [31]}), "cluster", [2]).to_pydict()
    {'age': [31], 'cluster': [2]}
    """
    if name in batch.schema.names:
        raise InputError(
            f"The table has a column {quoted(name)} already; rename it, or choose another name."
        )
    array = pa.array(values)
    schema = batch.schema.append(pa.field(name, array.type))
    return pa.RecordBatch.from_arrays([*batch.columns, array], schema=schema)


# Writers of one format to an open file: ``close`` writes the rest, ``abandon`` releases the file,
# whose content will not be used.


class _TextWriter:
    def __init__(self, file: Any, schema: pa.Schema, delimiter: str) -> None:
        self._file = file
        self._delimiter = delimiter
        file.write(csv_header(schema.names, delimiter))

    def write(self, batch: pa.RecordBatch) -> None:
        self._file.write(csv_lines(batch, self._delimiter))

    def close(self) -> None:
        self._file.flush()

    def abandon(self) -> None:
        pass


class _ParquetWriter:
    """Collects rows into groups, since small groups make a file slow to read."""

    def __init__(self, file: Any, schema: pa.Schema) -> None:
        self._writer = pq.ParquetWriter(file, schema)
        self._waiting: list[pa.RecordBatch] = []

    def write(self, batch: pa.RecordBatch) -> None:
        self._waiting.append(batch)
        rows = sum(each.num_rows for each in self._waiting)
        if rows >= _GROUP_ROWS or sum(each.nbytes for each in self._waiting) >= _GROUP_BYTES:
            self._flush()

    def _flush(self) -> None:
        if self._waiting:
            self._writer.write_table(pa.Table.from_batches(self._waiting))
            self._waiting = []

    def close(self) -> None:
        self._flush()
        self._writer.close()

    def abandon(self) -> None:
        self._writer.close()


class _ArrowWriter:
    """Writes values instead of dictionaries, of which an Arrow file has only one a column."""

    def __init__(self, file: Any, schema: pa.Schema) -> None:
        self._schema = pa.schema(
            [
                field.with_type(field.type.value_type) if types.is_dictionary(field.type) else field
                for field in schema
            ],
            schema.metadata,
        )
        self._writer = ipc.new_file(file, self._schema)

    def write(self, batch: pa.RecordBatch) -> None:
        columns = [plain_values(values) for values in batch.columns]
        self._writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=self._schema))

    def close(self) -> None:
        self._writer.close()

    def abandon(self) -> None:
        self._writer.close()


_BatchWriter = _TextWriter | _ParquetWriter | _ArrowWriter


def _writer_for(file_format: FileFormat, file: Any, schema: pa.Schema) -> _BatchWriter:
    if file_format.kind == "parquet":
        return _ParquetWriter(file, schema)
    if file_format.kind == "arrow":
        return _ArrowWriter(file, schema)
    return _TextWriter(file, schema, file_format.delimiter or ",")


def _check_target(path: Path, named: Path, *, force: bool) -> FileFormat:
    """The format to write; refuses a file that must not be written."""
    found = format_from_name(named)
    if path.is_dir():
        raise InputError(f"{quoted_path(path)} is a folder; name a file to write.")
    if not path.parent.is_dir():
        raise InputError(f"There is no folder {quoted_path(path.parent)}; make it first.")
    if path.exists() and not path.is_file():
        return found if found.kind else FileFormat("text", ",")
    if found.kind not in ("text", "parquet", "arrow"):
        raise InputError(
            f"{quoted_path(named)} does not say what to write; name it .csv, .tsv, .parquet or "
            ".arrow."
        )
    if path.exists() and not force:
        raise _exists(path)
    return found


def _exists(path: Path) -> InputError:
    return InputError(f"{quoted_path(path)} exists; use --force to replace it.")


def _unwritable(path: Path, error: OSError) -> InputError:
    reason = str(error.strerror or error).rpartition("] ")[2]
    return InputError(f"{quoted_path(path)} cannot be written ({reason}); choose another place.")


class _Terminal(io.RawIOBase):
    """Standard output where it is a terminal, which would obey control characters of a table."""

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        """Write bytes, with control characters written out."""
        found = bytes(data)
        sys.stdout.buffer.write(CONTROL_BYTES.sub(lambda c: b"\\x" + c[0].hex().encode(), found))
        return len(found)
