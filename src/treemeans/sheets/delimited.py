"""Delimited text: CSV, TSV and their relatives."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyarrow import csv as pacsv

from treemeans.sheets.errors import InputError, check_different, check_names, quoted
from treemeans.sheets.source import Source, broken, no_rows
from treemeans.sheets.written import NOTHING

DELIMITERS = (",", ";", "\t", "|")
BLOCK = 1 << 22  # bytes that are parsed at once; a row cannot be longer
_GLANCE = 50  # records that tell the delimiter
_POINT = re.compile(r"\s*[+-]?\d+\.\d+\s*")
_COMMA = re.compile(r"\s*[+-]?\d+,\d+\s*")
_THOUSANDS = re.compile(r"\s*[+-]?\d{1,3}(,\d{3})+\s*")


@dataclass(frozen=True)
class Dialect:
    """How a text is written.

    Attributes
    ----------
    names : of the columns
    delimiter : between values
    decimal : the mark before decimals, a point or a comma
    """

    names: list[str]
    delimiter: str
    decimal: str


def dialect_of(source: Source) -> Dialect:
    """What the first bytes of a text tell."""
    text = _decoded(source)
    delimiter = _delimiter(text, source.named.delimiter)
    names = _names(source, delimiter)
    if _is_data(names):
        raise InputError(
            f"{source.label} starts with numbers; put a line with the names of the columns first."
        )
    check_different(names, source.label)
    return Dialect(names, delimiter, _decimal(text, delimiter))


def read_text(source: Source, columns: Sequence[str] | None) -> pa.Table:
    """The whole text, with types that pyarrow finds by looking at all of it."""
    source = source.kept()
    dialect = dialect_of(source)
    check_names(columns or (), dialect.names, source.label)
    options = pacsv.ConvertOptions(
        include_columns=list(columns or dialect.names),
        decimal_point=dialect.decimal,
        null_values=NOTHING,
    )
    try:
        with source.open() as stream:
            table = pacsv.read_csv(stream, _reading(), _parsing(dialect), options)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise _explained(source, dialect, error) from error
    for field in table.schema:
        if pa.types.is_binary(field.type):
            raise _not_utf8(source.label, f"column {quoted(field.name)}")
    if table.num_rows:
        _check_closed(source, dialect, table)
    return table


def text_batches(
    source: Source, dialect: Dialect, columns: Sequence[str] | None
) -> Iterator[pa.RecordBatch]:
    """The values as they are written, some rows at a time."""
    kept = list(columns or dialect.names)
    options = pacsv.ConvertOptions(
        include_columns=kept,
        column_types={name: pa.string() for name in kept},
        strings_can_be_null=False,
    )
    last = None
    try:
        with source.open() as stream:
            for batch in pacsv.open_csv(stream, _reading(), _parsing(dialect), options):
                if batch.num_rows:
                    last = batch
                    yield batch
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise _explained(source, dialect, error) from error
    if last is not None:
        _check_closed(source, dialect, last)


def _reading() -> Any:
    return pacsv.ReadOptions(block_size=BLOCK)


def _parsing(dialect: Dialect, **more: Any) -> Any:
    return pacsv.ParseOptions(delimiter=dialect.delimiter, newlines_in_values=True, **more)


def _decoded(source: Source) -> str:
    """The first bytes as text."""
    head = source.head
    for mark, name in ((codecs.BOM_UTF16_LE, "UTF-16"), (codecs.BOM_UTF16_BE, "UTF-16")):
        if head.startswith(mark):
            raise _not_utf8(source.label, "it is UTF-16", name)
    try:
        text = codecs.getincrementaldecoder("utf-8-sig")().decode(head)
    except UnicodeDecodeError as error:
        line = head.count(b"\n", 0, error.start) + 1
        raise _not_utf8(source.label, f"line {line}") from error
    if not text.strip():
        raise InputError(
            f"{source.label} is empty; there must be a line of names and rows of data."
        )
    return text


def _not_utf8(label: str, where: str, encoding: str = "WINDOWS-1252") -> InputError:
    return InputError(
        f"{label} is not in UTF-8 ({where}); convert it to UTF-8 first, "
        f"for example with `iconv -f {encoding} -t UTF-8`."
    )


def _records(text: str, delimiter: str) -> list[list[str]]:
    """The first records; without the very last, which may be cut, unless it is the only one."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    found: list[list[str]] = []
    try:
        for record in reader:
            if record:
                found.append(record)
            if len(found) > _GLANCE:
                break
    except csv.Error:  # an endless field
        pass
    return found[:-1] if len(found) > 2 else found


def _delimiter(text: str, named: str) -> str:
    """The one that cuts most records into as many values as there are names."""
    best, most = named or ",", (0.5, 0)
    for delimiter in DELIMITERS:
        records = _records(text, delimiter)
        width = len(records[0]) if records else 0
        if width < 2:
            continue
        if delimiter == named == "\t":
            return delimiter
        rows = records[1:] or records
        share = sum(len(record) == width for record in rows) / len(rows)
        if (share, width) > most:
            best, most = delimiter, (share, width)
    return best


def _decimal(text: str, delimiter: str) -> str:
    """A comma where values show it, and in files cut by semicolons unless values show a point."""
    if delimiter == ",":
        return "."
    values = [value for record in _records(text, delimiter)[1:] for value in record]
    if any(_POINT.fullmatch(value) for value in values):
        return "."
    if delimiter == ";":
        return ","
    commas = any(_COMMA.fullmatch(v) and not _THOUSANDS.fullmatch(v) for v in values)
    return "," if commas else "."


def _names(source: Source, delimiter: str) -> list[str]:
    """The names of the columns, as pyarrow reads them."""
    head = io.BytesIO(source.head)
    parsing = _parsing(Dialect([], delimiter, "."), invalid_row_handler=lambda row: "skip")
    reading = pacsv.ReadOptions(block_size=len(source.head) + 1)
    try:
        names: list[str] = pacsv.open_csv(head, reading, parsing).schema.names
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise _explained(source, Dialect([], delimiter, "."), error) from error
    return names


def _is_data(names: Sequence[str]) -> bool:
    """Whether a line is a row rather than names: mostly numbers, and not 0, 1, 2, ... or years."""
    numbers = [name for name in names if re.fullmatch(r"\s*[+-]?(\d+\.?\d*|\.\d+)\s*", name)]
    if 2 * len(numbers) <= len(names):
        return False
    values = [float(name) for name in numbers]
    start = values[0] if len(values) > 1 else 0
    return values != [start + i for i in range(len(values))]


def _explained(source: Source, dialect: Dialect, error: Exception) -> InputError:
    """What a failure to parse is about, in one sentence."""
    message = str(error)
    if isinstance(error, UnicodeDecodeError) or "invalid UTF8" in message:
        column = re.search(r"In CSV column #(\d+)", message)
        where = f"column {int(column[1]) + 1}" if column else "in some line"
        return _not_utf8(source.label, where)
    if "Empty CSV" in message:
        return no_rows(source.label)
    if "straddling" in message or "out of sync" in message:
        return InputError(
            f"{source.label} has a row of several MB; look for a quotation mark that is never "
            "closed."
        )
    if ragged := re.search(r"Expected (\d+) columns, got (\d+)", message):
        line = re.search(r"Row #(\d+)", message) or _ragged_line(source, dialect)
        where = f"line {line[1]}" if line else "a line"
        return InputError(
            f"{source.label}: {where} has {ragged[2]} instead of {ragged[1]} values, as the "
            f"first has; correct it, or put values that hold {quoted(dialect.delimiter)} in "
            "quotation marks."
        )
    return broken(source.label, error)


def _ragged_line(source: Source, dialect: Dialect) -> re.Match[str] | None:
    """Parse again, in one thread, which counts lines."""
    if not source.again:
        return None
    try:
        with source.open() as stream:
            for _ in pacsv.open_csv(
                stream,
                pacsv.ReadOptions(block_size=BLOCK, use_threads=False),
                _parsing(dialect),
                pacsv.ConvertOptions(column_types={n: pa.binary() for n in dialect.names}),
            ):
                pass
    except pa.ArrowException as error:
        return re.search(r"Row #(\d+)", str(error))
    return None


def _check_closed(source: Source, dialect: Dialect, data: Any) -> None:
    """Refuse a text that ends within quotation marks: rows would be lost in a value."""
    if dialect.names[-1] not in data.schema.names:
        return
    value = data.column(dialect.names[-1])[-1].as_py()
    if isinstance(value, str) and value.endswith(("\n", "\r")) and not _ends_quoted(source):
        raise InputError(
            f"{source.label} ends within a quotation mark that is never closed, in a value that "
            f"starts with {quoted(value[:30])}; correct it."
        )


def _ends_quoted(source: Source) -> bool:
    if not source.again:
        return False
    end = b""
    with source.open() as stream:
        while block := stream.read(1 << 20):
            end = (end + block)[-64:]
    return end.rstrip(b"\r\n").endswith(b'"')
