"""Reader of delimited text: CSV, TSV and files with other delimiters."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
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
_BEFORE, _AFTER = r"[€$£¥₹A-Z\s]{0,5}[+-]?", r"[€$£¥₹%A-Za-z\s]{0,5}"
_POINT = re.compile(rf"{_BEFORE}\d[\d,'\s]*\.\d+{_AFTER}")
_COMMA = re.compile(rf"{_BEFORE}\d[\d.'\s]*,\d+{_AFTER}")
_THOUSANDS = re.compile(rf"{_BEFORE}\d{{1,3}}([.,]\d{{3}})+{_AFTER}")
_SEPARATOR_LINE = re.compile(r"sep=(.)\s*", re.IGNORECASE)  # which Excel writes before the names


@dataclass(frozen=True)
class TextFormat:
    """How delimited text is written.

    Attributes
    ----------
    names : names of the columns
    delimiter : character between values
    decimal : the mark before decimals, a point or a comma
    n_skipped : lines above the names
    """

    names: list[str]
    delimiter: str
    decimal: str
    n_skipped: int = 0


def detect_format(source: TableSource) -> TextFormat:
    """The format, found from the first bytes."""
    text = _decode_head(source)
    separator = _SEPARATOR_LINE.match(text)
    if separator:
        text = text[separator.end() :]
    delimiter = separator[1] if separator else _find_delimiter(text, source.name_format.delimiter)
    skipped = int(bool(separator))
    names = _read_names(source, delimiter, skipped)
    if _is_data(names, _first_records(text, delimiter)[1:]):
        raise InputError(
            f"{source.label} seems to have no line of names: it starts with "
            f"{quoted_list(names)}; put a line with the names of the columns first."
        )
    check_different(names, source.label)
    return TextFormat(names, delimiter, _find_decimal(text, delimiter), skipped)


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
                stream, _read_options(text_format), _parse_options(text_format), options
            ):
                if batch.num_rows:
                    last = batch
                    yield batch
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise _parse_error(source, text_format, error) from error
    if last is not None:
        _check_closed(source, text_format, last)


def _read_options(text_format: TextFormat, **more: Any) -> Any:
    return pacsv.ReadOptions(block_size=BLOCK, skip_rows=text_format.n_skipped, **more)


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
    """The mark that more values show; if none does, a comma in files with semicolons."""
    records = _first_records(text, delimiter)[1:]
    values = [value for record in records for value in record]
    if delimiter == ",":  # commas in text are not marks: a whole column must be numbers
        columns = zip_longest(*records, fillvalue="")
        commas = sum(_n_evident(_COMMA, each) for each in columns if _are_numbers(each))
    else:
        commas = _n_evident(_COMMA, values)
    points = _n_evident(_POINT, values)
    if points or commas:
        return "," if commas > points else "."
    has_points = any(_POINT.fullmatch(value) for value in values)
    return "," if delimiter == ";" and not has_points else "."


def _n_evident(pattern: re.Pattern[str], values: Sequence[str]) -> int:
    """How many values have the mark before decimals, and not between thousands."""
    return sum(bool(pattern.fullmatch(v)) and not _THOUSANDS.fullmatch(v) for v in values)


def _are_numbers(values: Sequence[str]) -> bool:
    """Whether all values are numbers with decimal commas, or nothing."""
    return all(_COMMA.fullmatch(v) or v.strip(" -+0123456789") == "" for v in values)


def _read_names(source: TableSource, delimiter: str, skipped: int) -> list[str]:
    """The names of the columns, as pyarrow reads them."""
    # pyarrow shows a row of the wrong length to the handler as text, and prints that it cannot.
    line, end, rest = source.head.partition(b"\n")
    head = line + end + rest.decode("utf-8", "replace").encode("utf-8")
    text_format = TextFormat([], delimiter, ".", skipped)
    parse_options = _parse_options(text_format, invalid_row_handler=lambda row: "skip")
    read_options = pacsv.ReadOptions(block_size=len(head) + 1, skip_rows=skipped)
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
        if ragged[1] == "1":
            first = quoted((text_format.names or [""])[0])
            return InputError(
                f"{source.label} starts with the line {first}, and a later line has {ragged[2]} "
                "values; delete the lines above the names of the columns."
            )
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
                _read_options(text_format, use_threads=False),
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
