"""Reader of delimited text: CSV, TSV and files with other delimiters."""

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

from treemeans.files.file_errors import InputError, check_different, quoted, quoted_list
from treemeans.files.table_source import TableSource, no_rows, unreadable

DELIMITERS = (",", ";", "\t", "|")
BLOCK = 1 << 22  # bytes that are parsed at once; a row cannot be longer
_MAX_RECORDS = 50  # records from which the delimiter is found
_VALUES = {
    "number": re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)\s*"),
    "date": re.compile(r"\s*\d{4}-\d\d-\d\d.*"),
    "boolean": re.compile(r"\s*(true|false)\s*", re.IGNORECASE),
    "duration": re.compile(r"\s*[+-]?(\d+ days?,? ?)?[+-]?\d+:[0-5]\d:[0-5]\d(\.\d+)?\s*"),
}
_POINT = re.compile(r"\s*[+-]?\d+\.\d+\s*")
_COMMA = re.compile(r"\s*[+-]?\d+,\d+\s*")
_THOUSANDS = re.compile(r"\s*[+-]?\d{1,3}(,\d{3})+\s*")


@dataclass(frozen=True)
class TextFormat:
    """How delimited text is written.

    Attributes
    ----------
    names : names of the columns
    delimiter : character between values
    decimal : the mark before decimals, a point or a comma
    """

    names: list[str]
    delimiter: str
    decimal: str


def detect_format(source: TableSource) -> TextFormat:
    """The format, found from the first bytes."""
    text = _decode_head(source)
    delimiter = _find_delimiter(text, source.name_format.delimiter)
    names = _read_names(source, delimiter)
    if _is_data(names, _first_records(text, delimiter)[1:]):
        raise InputError(
            f"{source.label} seems to have no line of names: it starts with "
            f"{quoted_list(names)}; put a line with the names of the columns first."
        )
    check_different(names, source.label)
    return TextFormat(names, delimiter, _find_decimal(text, delimiter))


def read_text_batches(
    source: TableSource, text_format: TextFormat, columns: Sequence[str] | None
) -> Iterator[pa.RecordBatch]:
    """The values as text, as they are written, in batches."""
    kept = list(columns or text_format.names)
    options = pacsv.ConvertOptions(
        include_columns=kept,
        column_types={name: pa.string() for name in kept},
        strings_can_be_null=False,
    )
    last = None
    try:
        with source.open() as stream:
            for batch in pacsv.open_csv(
                stream, _read_options(), _parse_options(text_format), options
            ):
                if batch.num_rows:
                    last = batch
                    yield batch
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise _parse_error(source, text_format, error) from error
    if last is not None:
        _check_closed(source, text_format, last)


def _read_options() -> Any:
    return pacsv.ReadOptions(block_size=BLOCK)


def _parse_options(text_format: TextFormat, **more: Any) -> Any:
    return pacsv.ParseOptions(delimiter=text_format.delimiter, newlines_in_values=True, **more)


def _decode_head(source: TableSource) -> str:
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


def _first_records(text: str, delimiter: str) -> list[list[str]]:
    """The first records. The last is left out, since it may be cut, unless there are only two."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    found: list[list[str]] = []
    try:
        for record in reader:
            if record:
                found.append(record)
            if len(found) > _MAX_RECORDS:
                break
    except csv.Error:  # a field without end
        pass
    return found[:-1] if len(found) > 2 else found


def _find_delimiter(text: str, named: str) -> str:
    """The delimiter that splits most records into as many values as there are names."""
    best, most = named or ",", (0.5, 0)
    for delimiter in DELIMITERS:
        records = _first_records(text, delimiter)
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


def _find_decimal(text: str, delimiter: str) -> str:
    """A comma if values show one, and in files with semicolons unless values show a point."""
    if delimiter == ",":
        return "."
    values = [value for record in _first_records(text, delimiter)[1:] for value in record]
    if any(_POINT.fullmatch(value) for value in values):
        return "."
    if delimiter == ";":
        return ","
    commas = any(_COMMA.fullmatch(v) and not _THOUSANDS.fullmatch(v) for v in values)
    return "," if commas else "."


def _read_names(source: TableSource, delimiter: str) -> list[str]:
    """The names of the columns, as pyarrow reads them."""
    # pyarrow shows a row of the wrong length to the handler as text, and prints that it cannot.
    line, end, rest = source.head.partition(b"\n")
    head = line + end + rest.decode("utf-8", "replace").encode("utf-8")
    text_format = TextFormat([], delimiter, ".")
    parse_options = _parse_options(text_format, invalid_row_handler=lambda row: "skip")
    read_options = pacsv.ReadOptions(block_size=len(head) + 1)
    try:
        names: list[str] = pacsv.open_csv(
            io.BytesIO(head), read_options, parse_options
        ).schema.names
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise _parse_error(source, text_format, error) from error
    return names


def _is_data(names: Sequence[str], records: Sequence[Sequence[str]]) -> bool:
    """Whether the first line is data: its texts are like the values below them.

    A date or a decimal as the name of dates or decimals shows it, and so does a text that is also
    a value of its column. A whole number may be a name: two such names show it, unless they count
    up, as 0, 1, 2 or 2021, 2022, 2023 do.
    """
    signs = [
        _sign_of_data(name, [r[i] for r in records if len(r) > i]) for i, name in enumerate(names)
    ]
    if not records:
        signs = [2 if _kind_of_value(name) == "number" else 0 for name in names]
        signs = signs if 2 * signs.count(2) > len(names) else []
    numbers = [float(name) for name in names if _kind_of_value(name) == "number"]
    start = numbers[0] if len(numbers) > 1 else 0
    if numbers and numbers == [start + i for i in range(len(numbers))]:
        signs = [sign for name, sign in zip(names, signs, strict=False) if not _kind_of_value(name)]
    return sum(signs) >= 2


def _sign_of_data(name: str, values: Sequence[str]) -> int:
    """How much speaks for a name being data: 2 is enough."""
    kind = _kind_of_value(name)
    if not kind:
        return 2 if name.strip() and name in values else 0
    if not values or any(_kind_of_value(value) != kind for value in values):
        return 0
    return 1 if name.strip().isdigit() else 2


def _kind_of_value(text: str) -> str:
    """Number, date or boolean; empty for what may be a name."""
    for kind, pattern in _VALUES.items():
        if pattern.fullmatch(text):
            return kind
    return ""


def _parse_error(source: TableSource, text_format: TextFormat, error: Exception) -> InputError:
    """One sentence about a failure to parse."""
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
        line = re.search(r"Row #(\d+)", message) or _ragged_line(source, text_format)
        where = f"line {line[1]}" if line else "a line"
        return InputError(
            f"{source.label}: {where} has {ragged[2]} instead of {ragged[1]} values, as the "
            f"first has; correct it, or put values that hold {quoted(text_format.delimiter)} in "
            "quotation marks."
        )
    return unreadable(source.label, error)


def _ragged_line(source: TableSource, text_format: TextFormat) -> re.Match[str] | None:
    """The line with too many values: pyarrow counts lines only when it parses in one thread."""
    if not source.can_reread:
        return None
    try:
        with source.open() as stream:
            for _ in pacsv.open_csv(
                stream,
                pacsv.ReadOptions(block_size=BLOCK, use_threads=False),
                _parse_options(text_format),
                pacsv.ConvertOptions(column_types={n: pa.binary() for n in text_format.names}),
            ):
                pass
    except pa.ArrowException as error:
        return re.search(r"Row #(\d+)", str(error))
    return None


def _check_closed(source: TableSource, text_format: TextFormat, data: Any) -> None:
    """Refuse text that ends within quotation marks: its last rows would be read as one value."""
    if text_format.names[-1] not in data.schema.names:
        return
    value = data.column(text_format.names[-1])[-1].as_py()
    if isinstance(value, str) and value.endswith(("\n", "\r")) and not _ends_quoted(source):
        raise InputError(
            f"{source.label} ends within a quotation mark that is never closed, in a value that "
            f"starts with {quoted(value[:30])}; correct it."
        )


def _ends_quoted(source: TableSource) -> bool:
    if not source.can_reread:
        return False
    end = b""
    with source.open() as stream:
        while block := stream.read(1 << 20):
            end = (end + block)[-64:]
    return end.rstrip(b"\r\n").endswith(b'"')
