"""Where a table comes from: a file, a pipe or standard input, and what it holds."""

from __future__ import annotations

import difflib
import io
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from treemeans.sheets.errors import InputError, quoted_path
from treemeans.sheets.formats import KINDS, READABLE, Format, format_of

HEAD = 1 << 18  # bytes that tell what a file holds
_GZIP, _BZIP2, _ZSTD = b"\x1f\x8b", b"1AY&SY", b"\x28\xb5\x2f\xfd"
_NOT_READ = {
    b"PK\x03\x04": "an Excel workbook or a zip archive",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook",
    b"FEA1": "a Feather file of version 1",
    b"SQLite format 3\0": "a SQLite database",
}
_NOT_READ_SUFFIXES = {
    ".json": "JSON",
    ".jsonl": "JSON",
    ".ndjson": "JSON",
    ".orc": "ORC",
    ".avro": "Avro",
}


@dataclass(frozen=True)
class Source:
    """Bytes that hold a table.

    Attributes
    ----------
    label : what to call it in a sentence
    kind : "text", "parquet", "arrow" (file) or "stream" (of Arrow)
    named : what its name says
    head : its first bytes, decompressed
    open : gives it from the start, decompressed
    again : whether it can be opened more than once
    """

    label: str
    kind: str
    named: Format
    head: bytes
    open: Callable[[], Any]
    again: bool

    def kept(self) -> Source:
        """The same, so that it can be read twice: a stream is kept in a temporary file."""
        if self.again:
            return self
        keep = _Held(tempfile.TemporaryFile())  # noqa: SIM115
        with self.open() as stream:
            while block := stream.read(1 << 20):
                keep.file.write(block)

        def from_start() -> Any:
            keep.file.seek(0)
            return _joined(b"", keep)

        return replace(self, open=from_start, again=True)


def open_source(source: str | Path) -> Source:
    """Find out what ``source`` holds: ``-`` is standard input."""
    if str(source) == "-":
        return _stream(_Held(sys.stdin.buffer, close=False), "standard input", Format())
    path = Path(source)
    named = format_of(path)
    label = quoted_path(path)
    try:
        if path.is_dir():
            raise InputError(f"{label} is a folder; name a file in it.")
        if path.exists() and not path.is_file():  # a pipe
            return _stream(_Held(path.open("rb")), label, named)
        with path.open("rb") as file:
            head = file.read(HEAD)
    except FileNotFoundError:
        raise InputError(f"There is no file {label}{_near(path)}") from None
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"{label} cannot be read ({reason}); check its permissions.") from error
    if path.suffix.lower() in _NOT_READ_SUFFIXES and not head.startswith(b"PAR1"):
        raise _not_read(label, _NOT_READ_SUFFIXES[path.suffix.lower()])
    found = _told_apart(label, named, head, lambda: pa.OSFile(str(path)), again=True)
    if found.kind == "arrow":  # of which a batch may be the whole file
        return replace(found, open=lambda: pa.memory_map(str(path)))
    return found


def _stream(held: _Held, label: str, named: Format) -> Source:
    """A source that flows past once. What must be jumped about in is taken into memory."""
    head = held.file.read(HEAD)
    found = _told_apart(label, named, head, lambda: _joined(head, held), again=False)
    if found.kind in ("parquet", "arrow"):
        whole = pa.py_buffer(head + held.file.read())
        return replace(found, open=lambda: pa.BufferReader(whole), again=True)
    return found


def _told_apart(
    label: str, named: Format, head: bytes, raw: Callable[[], Any], *, again: bool
) -> Source:
    """The source, with the kind its first bytes show."""
    for magic, what in _NOT_READ.items():
        if head.startswith(magic):
            raise _not_read(label, what)
    if not head:
        raise InputError(f"{label} is empty; there must be a line of names and rows of data.")
    if compression := _compression(head):
        return _decompressed(label, named, compression, head, raw, again=again)
    kind = _kind(head) or named.kind or "text"
    if kind == named.kind and kind in ("parquet", "arrow") and not _kind(head):
        name = "a Parquet" if kind == "parquet" else "an Arrow"
        raise InputError(f"{label} is not {name} file, in spite of its name; write it again.")
    if kind == "text" and b"\0" in head and not head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"{label} is of an unknown format; give {READABLE}.")
    return Source(label, kind, named, head, raw, again)


def _decompressed(
    label: str,
    named: Format,
    compression: str,
    head: bytes,
    raw: Callable[[], Any],
    *,
    again: bool,
) -> Source:
    def opened() -> Any:
        return pa.CompressedInputStream(raw(), compression)

    try:
        with pa.CompressedInputStream(pa.BufferReader(head), compression) as stream:
            inner = _as_much_as(stream)
    except OSError as error:
        raise broken(label, error) from error
    if not inner:
        raise InputError(f"{label} is empty; there must be a line of names and rows of data.")
    if _kind(inner) in ("parquet", "arrow") or b"\0" in inner:
        raise InputError(f"{label} is compressed; only text may be, so decompress it first.")
    return Source(label, _kind(inner) or "text", named, inner, opened, again)


def _as_much_as(stream: Any) -> bytes:
    """What can be decompressed of a beginning, up to HEAD bytes."""
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
    """What the first bytes show beyond doubt; a column of a CSV may well be called PAR1."""
    if head.startswith(b"PAR1") and head[4:5] < b" " and head[4:5] not in (b"\r", b"\n", b"\t"):
        return "parquet"
    if head.startswith(b"ARROW1\0\0"):
        return "arrow"
    return "stream" if head.startswith(b"\xff\xff\xff\xff") else ""


def no_rows(label: str) -> InputError:
    """For a file with nothing but names."""
    return InputError(f"{label} has names of columns but no rows; there must be some.")


def broken(label: str, error: Exception) -> InputError:
    """For a file that pyarrow gives up on."""
    reason = str(error).strip().split("\n")[0].rstrip(".")[:200] or type(error).__name__
    return InputError(f"{label} is broken or cut short, write it again ({reason}).")


def _not_read(label: str, what: str) -> InputError:
    return InputError(f"{label} is {what}, which is not read; save it as {READABLE} first.")


def _near(path: Path) -> str:
    """A file in the same folder that may have been meant."""
    if not path.parent.is_dir():
        return f", nor a folder {quoted_path(path.parent)}; check the name."
    others = [other.name for other in path.parent.iterdir() if other.suffix.lower() in KINDS]
    near = difflib.get_close_matches(path.name, others, n=1)
    return (
        f"; did you mean {quoted_path(path.with_name(near[0]))}?" if near else "; check the name."
    )


def _joined(head: bytes, held: _Held) -> Any:
    return pa.PythonFile(io.BufferedReader(_Joined(head, held)), mode="r")


class _Held:
    """An open file that is closed when nothing needs it any more."""

    def __init__(self, file: Any, *, close: bool = True) -> None:
        self.file = file
        self._close = close

    def __del__(self) -> None:
        if self._close:
            self.file.close()


class _Joined(io.RawIOBase):
    """What was read of a file, and the rest; to close it leaves the file open."""

    def __init__(self, head: bytes, held: _Held) -> None:
        self._head = memoryview(head)
        self._held = held

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        block = bytes(self._head[: len(buffer)]) or self._held.file.read(len(buffer))
        self._head = self._head[len(block) :]
        buffer[: len(block)] = block
        return len(block)
