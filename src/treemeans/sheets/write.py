"""Tables to files, whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
import sys
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

import pyarrow as pa
from pyarrow import ipc, types
from pyarrow import parquet as pq

from treemeans.sheets.errors import InputError, quoted, quoted_path
from treemeans.sheets.formats import Format, format_of
from treemeans.sheets.lines import header, lines, refuse_nested
from treemeans.sheets.values import plain

_GROUP_ROWS, _GROUP_BYTES = 1 << 18, 1 << 26  # of a row group in Parquet, at least


class Sink(Protocol):
    """Where batches go, in one format."""

    def write(self, batch: pa.RecordBatch) -> None:
        """Write some rows."""

    def close(self) -> None:
        """Write what is left."""

    def abandon(self) -> None:
        """Let go of the file; what is in it does not matter."""


class Writer:
    """Writes batches to a file that appears when all are written, or never.

    Parameters
    ----------
    target : str, path or None
        The name tells the format: .csv, .tsv, .csv.gz, .parquet, .arrow, .feather. ``-`` and None
        are standard output, as CSV. What is no file (a pipe, a device) is written to directly.
    force : bool
        Replace a file that exists.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "labelled.csv"
    >>> batch = pa.RecordBatch.from_pydict({"name": ["Ann", "O, Bob"]})
    >>> with Writer(path) as writer:
    ...     writer.write(with_column(batch, "cluster", [0, 1]))
    >>> print(path.read_text(), end="")
    name,cluster
    Ann,0
    "O, Bob",1
    """

    def __init__(self, target: str | Path | None, *, force: bool = False) -> None:
        self._path = None if target is None or str(target) == "-" else Path(target)
        self._format = Format("text", ",")
        self._force = force
        self._part: Path | None = None
        self._file: Any = None
        self._sink: Sink | None = None
        if self._path is not None:
            self._path = Path(os.path.realpath(self._path))
            self._format = _checked(self._path, Path(str(target)), force=force)

    def __enter__(self) -> Self:
        return self

    def write(self, batch: pa.RecordBatch) -> None:
        """Write some rows; all batches have the columns of the first."""
        if self._sink is None:
            if self._format.kind == "text":
                refuse_nested(batch.schema)
            self._open()
        try:
            if self._sink is None:
                self._sink = _sink(self._format, self._file, batch.schema)
            self._sink.write(batch)
        except OSError as failed:
            self._explain(failed)
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None and self._sink is not None:
                self._finish()
        except OSError as failed:
            self._explain(failed)
            raise
        finally:
            self._discard()

    def _open(self) -> None:
        if self._path is None:
            self._file = pa.PythonFile(sys.stdout.buffer, mode="w")
            return
        try:
            if self._path.exists() and not self._path.is_file():
                self._file = pa.OSFile(str(self._path), mode="w")
            else:
                part = self._path.with_name(f".{self._path.name[:80]}.{secrets.token_hex(4)}.part")
                os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
                self._part = part
                self._file = pa.OSFile(str(part), mode="w")
        except OSError as error:
            raise _unwritable(self._path, error) from error
        if self._format.compression:
            self._file = pa.CompressedOutputStream(self._file, self._format.compression)

    def _finish(self) -> None:
        """Put the whole file in its place."""
        assert self._sink is not None
        self._sink.close()
        self._sink = None
        if self._path is None:
            sys.stdout.buffer.flush()
            return
        self._file.close()
        if self._part is None:
            return
        if self._path.exists():
            if not self._force:
                raise _exists(self._path)
            shutil.copymode(self._path, self._part)
        with self._part.open("rb+") as written:
            os.fsync(written.fileno())
        os.replace(self._part, self._path)
        self._part = None

    def _explain(self, error: OSError) -> None:
        """Say in a sentence that a disk is full; a reader of a pipe that is gone is no mistake."""
        if self._path is not None and not isinstance(error, BrokenPipeError):
            raise _unwritable(self._path, error) from error

    def _discard(self) -> None:
        """Leave nothing half done behind."""
        if self._sink is not None:
            with suppress(OSError, pa.ArrowException):
                self._sink.abandon()
            self._sink = None
        if self._path is not None and self._file is not None and not self._file.closed:
            with suppress(OSError, pa.ArrowException):
                self._file.close()
        if self._part is not None:
            self._part.unlink(missing_ok=True)
            self._part = None


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


class _Text:
    def __init__(self, file: Any, schema: pa.Schema, delimiter: str) -> None:
        self._file = file
        self._delimiter = delimiter
        file.write(header(schema.names, delimiter))

    def write(self, batch: pa.RecordBatch) -> None:
        self._file.write(lines(batch, self._delimiter))

    def close(self) -> None:
        self._file.flush()

    def abandon(self) -> None:
        pass


class _Parquet:
    """Gathers rows: small groups make a slow file."""

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


class _Arrow:
    """Values kept in dictionaries are written out: an Arrow file has one dictionary a column."""

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
        columns = [plain(values) for values in batch.columns]
        self._writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=self._schema))

    def close(self) -> None:
        self._writer.close()

    def abandon(self) -> None:
        self._writer.close()


def _sink(format: Format, file: Any, schema: pa.Schema) -> Sink:  # noqa: A002
    if format.kind == "parquet":
        return _Parquet(file, schema)
    if format.kind == "arrow":
        return _Arrow(file, schema)
    return _Text(file, schema, format.delimiter or ",")


def _checked(path: Path, named: Path, *, force: bool) -> Format:
    """The format to write, when the file may be written at all."""
    found = format_of(named)
    if path.is_dir():
        raise InputError(f"{quoted_path(path)} is a folder; name a file to write.")
    if not path.parent.is_dir():
        raise InputError(f"There is no folder {quoted_path(path.parent)}; make it first.")
    if path.exists() and not path.is_file():
        return found if found.kind else Format("text", ",")
    if not found.kind:
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
