"""A file, pipe or standard input that holds a table, and the format it is found to have."""

from __future__ import annotations

import difflib
import io
import re
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from treemeans.files.file_errors import InputError, quoted_path
from treemeans.files.file_formats import KINDS, READABLE_FORMATS, FileFormat, format_from_name

HEAD = 1 << 18  # bytes from which the format is found
_GZIP, _BZIP2, _ZSTD = b"\x1f\x8b", b"1AY&SY", b"\x28\xb5\x2f\xfd"
_UNSUPPORTED = {
    b"PK\x03\x04": "an Excel workbook or a zip archive",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook",
    b"FEA1": "a Feather file of version 1",
    b"SQLite format 3\0": "a SQLite database",
}
_UNSUPPORTED_SUFFIXES = {".orc": "ORC", ".avro": "Avro"}


@dataclass(frozen=True)
class TableSource:
    """Bytes that hold a table.

    Attributes
    ----------
    label : its name for messages
    kind : "text", "json" (lines), "parquet", "arrow" (a file) or "stream" (an Arrow stream)
    name_format : the format that its name says
    head : its first bytes, decompressed
    open : opens it at the start, decompressed
    can_reread : whether it can be opened more than once
    """

    label: str
    kind: str
    name_format: FileFormat
    head: bytes
    open: Callable[[], Any]
    can_reread: bool

    def rereadable(self) -> TableSource:
        """The same source, which can be opened twice: a pipe is copied to a temporary file."""
        if self.can_reread:
            return self
        copy = _SharedFile(tempfile.TemporaryFile())  # noqa: SIM115
        with self.open() as stream:
            while block := stream.read(1 << 20):
                copy.file.write(block)

        def from_start() -> Any:
            copy.file.seek(0)
            return _rejoin(b"", copy)

        return replace(self, open=from_start, can_reread=True)


def open_source(source: str | Path) -> TableSource:
    """Open a source and find its format; ``-`` is standard input."""
    if str(source) == "-":
        return _stream(_SharedFile(sys.stdin.buffer, close=False), "standard input", FileFormat())
    path = Path(source)
    name_format = format_from_name(path)
    label = quoted_path(path)
    try:
        if path.is_dir():
            raise InputError(f"{label} is a folder; name a file in it.")
        if path.exists() and not path.is_file():  # a pipe
            return _stream(_SharedFile(path.open("rb")), label, name_format)
        with path.open("rb") as file:
            head = file.read(HEAD)
    except FileNotFoundError:
        raise InputError(f"There is no file {label}{_suggestion(path)}") from None
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"{label} cannot be read ({reason}); check its permissions.") from error
    if path.suffix.lower() in _UNSUPPORTED_SUFFIXES and not head.startswith(b"PAR1"):
        raise _unsupported(label, _UNSUPPORTED_SUFFIXES[path.suffix.lower()])
    found = _identify(label, name_format, head, lambda: pa.OSFile(str(path)), can_reread=True)
    if found.kind == "arrow":  # one of its batches may be the whole file
        return replace(found, open=lambda: pa.memory_map(str(path)))
    return found


def _stream(shared: _SharedFile, label: str, name_format: FileFormat) -> TableSource:
    """A pipe. Parquet and Arrow files, which are not read in order, are taken into memory."""
    head = shared.file.read(HEAD)
    found = _identify(label, name_format, head, lambda: _rejoin(head, shared), can_reread=False)
    if found.kind in ("parquet", "arrow"):
        whole = pa.py_buffer(head + shared.file.read())
        return replace(found, open=lambda: pa.BufferReader(whole), can_reread=True)
    return found


def _identify(
    label: str, name_format: FileFormat, head: bytes, raw: Callable[[], Any], *, can_reread: bool
) -> TableSource:
    """The source, with the kind that its first bytes show."""
    for magic, what in _UNSUPPORTED.items():
        if head.startswith(magic):
            raise _unsupported(label, what)
    if not head:
        raise InputError(f"{label} is empty; there must be a line of names and rows of data.")
    if compression := _compression(head):
        return _decompressed(label, name_format, compression, head, raw, can_reread=can_reread)
    kind = _kind(head) or name_format.kind or "text"
    if kind == name_format.kind and kind in ("parquet", "arrow") and not _kind(head):
        name = "a Parquet" if kind == "parquet" else "an Arrow"
        raise InputError(f"{label} is not {name} file, in spite of its name; write it again.")
    if kind == "json" and head.lstrip().startswith(b"["):
        raise InputError(f"{label} is one JSON array; write a line for each row (JSON lines).")
    if kind == "text" and b"\0" in head and not head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"{label} is of an unknown format; give {READABLE_FORMATS}.")
    return TableSource(label, kind, name_format, head, raw, can_reread)


def _decompressed(
    label: str,
    name_format: FileFormat,
    compression: str,
    head: bytes,
    raw: Callable[[], Any],
    *,
    can_reread: bool,
) -> TableSource:
    def opened() -> Any:
        return pa.CompressedInputStream(raw(), compression)

    try:
        with pa.CompressedInputStream(pa.BufferReader(head), compression) as stream:
            inner = _decompress_head(stream)
    except OSError as error:
        raise unreadable(label, error) from error
    if not inner:
        raise InputError(f"{label} is empty; there must be a line of names and rows of data.")
    if _kind(inner) in ("parquet", "arrow") or b"\0" in inner:
        raise InputError(f"{label} is compressed; only text may be, so decompress it first.")
    kind = _kind(inner) or name_format.kind or "text"
    return TableSource(label, kind, name_format, inner, opened, can_reread)


def _decompress_head(stream: Any) -> bytes:
    """As much as can be decompressed of the first bytes, up to HEAD bytes."""
    found = bytearray()
    try:
        while len(found) < HEAD and (block := stream.read(1 << 14)):
            found += block
    except OSError:
        if not found:
            raise
    return bytes(found[:HEAD])


def _compression(head: bytes) -> str:
    if head.startswith(_GZIP):
        return "gzip"
    if head.startswith(b"BZh") and head[4:10] == _BZIP2:
        return "bz2"
    return "zstd" if head.startswith(_ZSTD) else ""


def _kind(head: bytes) -> str:
    """The format that the first bytes show for certain; a column of a CSV may be called PAR1."""
    if head.startswith(b"PAR1") and head[4:5] < b" " and head[4:5] not in (b"\r", b"\n", b"\t"):
        return "parquet"
    if head.startswith(b"ARROW1\0\0"):
        return "arrow"
    if head.startswith(b"\xff\xff\xff\xff"):
        return "stream"
    return "json" if re.match(rb'\s*\{\s*"', head) else ""


def no_rows(label: str) -> InputError:
    """The error for a file that has names of columns and nothing else."""
    return InputError(f"{label} has names of columns but no rows.")


def unreadable(label: str, error: Exception) -> InputError:
    """The error for a file that pyarrow cannot read."""
    reason = str(error).strip().split("\n")[0].rstrip(".")[:200] or type(error).__name__
    return InputError(f"{label} is broken or cut short, write it again ({reason}).")


def _unsupported(label: str, what: str) -> InputError:
    return InputError(f"{label} is {what}, which is not read; save it as {READABLE_FORMATS} first.")


def _suggestion(path: Path) -> str:
    """The end of a sentence that names a similar file in the same folder."""
    if not path.parent.is_dir():
        return f", nor a folder {quoted_path(path.parent)}; check the name."
    others = [other.name for other in path.parent.iterdir() if other.suffix.lower() in KINDS]
    similar = difflib.get_close_matches(path.name, others, n=1)
    return (
        f"; did you mean {quoted_path(path.with_name(similar[0]))}?"
        if similar
        else "; check the name."
    )


def _rejoin(head: bytes, shared: _SharedFile) -> Any:
    return pa.PythonFile(io.BufferedReader(_Rejoined(head, shared)), mode="r")


class _SharedFile:
    """An open file that is closed when nothing refers to it any more."""

    def __init__(self, file: Any, *, close: bool = True) -> None:
        self.file = file
        self._close = close

    def __del__(self) -> None:
        if self._close:
            self.file.close()


class _Rejoined(io.RawIOBase):
    """The bytes that were read of a file, then its rest; closing it leaves the file open."""

    def __init__(self, head: bytes, shared: _SharedFile) -> None:
        self._head = memoryview(head)
        self._shared = shared

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        block = bytes(self._head[: len(buffer)]) or self._shared.file.read(len(buffer))
        self._head = self._head[len(block) :]
        buffer[: len(block)] = block
        return len(block)
