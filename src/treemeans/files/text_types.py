"""The type of a column of text, found from all its values, and the text parsed as that type.

There is one inference for every file and engine: a column of text starts with all types as
candidates, every batch of values strikes out those that do not hold it, and the first that is left
in the end is the type. What is left does not depend on how the values come in batches.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyarrow import compute as pc
from pyarrow import csv as pacsv

from treemeans.columns.dates import DATE_FORMATS
from treemeans.files.amounts import (
    are_evident,
    are_separated,
    count_units,
    parse_amounts,
    units_of,
)
from treemeans.files.date_formats import (
    DATE_LIKE,
    DATE_ORDERS,
    first_undated,
    formats_that_hold,
    parse_dates,
)

# What files write for a missing value in a column of numbers or dates.
MISSING_WORDS = sorted({*pacsv.ConvertOptions().null_values, "NaT", "None"})
_OTHER_MARK = {".": ",", ",": "."}
TYPES = (
    "boolean",
    "integer",
    "number",
    "date",  # YYYY-MM-DD
    "time",  # the same with a time of day
    "written date",  # in another of the ``DATE_FORMATS``
    "duration",
    "amount",  # with money, percent or a unit of measure
    "separated",  # numbers with separators of thousands
)
_LEADING_ZERO = r"^[+-]?0\d"
_CODE_WITH_UNIT = r"^[^\d]*0\d"
_MOST_UNITS = 3  # of more, they are codes such as 3A, 7B
_ISO_DATE = r"^\d{4}-\d\d-\d\d"
# Such as 02:15:00, 1 days 02:00:00, 3 days or, as pandas writes minus one hour, -1 days +23:00:00.
_DURATION = (
    r"^(?P<sign>[+-]?)(?:(?P<days>\d{1,6}) days?,? ?)?"
    r"(?P<clock_sign>[+-]?)(?:(?P<hours>\d{1,7}):(?P<minutes>[0-5]\d):(?P<seconds>[0-5]\d)"
    r"(?:\.(?P<fraction>\d{1,9}))?)?$"
)
_NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
_TIMESTAMPS = (
    pa.timestamp("us"),
    pa.timestamp("us", "UTC"),
    pa.timestamp("ns"),
    pa.timestamp("ns", "UTC"),
)


class UnparsableTextError(Exception):
    """A value that is not of the type of its column, and its position in the batch."""

    def __init__(self, position: int, value: str) -> None:
        super().__init__(f"{value!r} at {position}")
        self.position = position
        self.value = value


@dataclass
class TextType:
    """What a column of text may hold, as far as its values were seen.

    Attributes
    ----------
    decimal : the mark before decimals in the file, a point or a comma
    candidates : the types that hold every value so far
    unit : what all amounts have, such as € or kg
    units : of all values so far, if they are amounts or numbers; None if a value is neither
    exception : the first value that is no number
    n_numbers : values that are numbers
    amounts, no_amount : how many values have each unit; the first value that is no amount
    separated, is_evident : whether all values are numbers, some with separators of thousands; and
        whether one of them shows that these cannot be marks before decimals
    example : the first value
    date_formats : those in which all values are dates
    n_dates, no_date : values that look like dates, and the first after which no format is left
    codes : whether a value is a number with a leading zero, such as 00501
    other_candidates : the types of numbers that hold every value so far with the other mark
    """

    decimal: str = "."
    candidates: list[str] = field(default_factory=lambda: list(TYPES))
    unit: str = ""
    units: set[str] | None = field(default_factory=set)
    exception: str = ""
    n_numbers: int = 0
    amounts: Counter[str] = field(default_factory=Counter)
    no_amount: str = ""
    n_values: int = 0
    separated: bool = True
    is_evident: bool = False
    example: str = ""
    codes: bool = False
    date_formats: tuple[str, ...] = tuple(DATE_FORMATS)
    n_dates: int = 0
    no_date: str = ""
    other_candidates: list[str] = field(default_factory=lambda: ["number", "amount", "separated"])

    def add(self, text: Any) -> None:
        """Take in more values."""
        present = pc.drop_null(strip_values(text))
        if not len(present):
            return
        self.example = self.example or present[0].as_py()
        self._add_dates(present)
        other = _OTHER_MARK[self.decimal]
        self.other_candidates = [
            name for name in self.other_candidates if self._holds_numbers(name, present, other)
        ]
        self.candidates = [name for name in self.candidates if self._holds(name, present)]
        self.n_values += len(present)
        self.codes = self.codes or bool(
            pc.any(pc.match_substring_regex(present, _LEADING_ZERO)).as_py()
        )
        if "number" in self.candidates:
            self.n_numbers += len(present)
        else:
            self._count_numbers(present)
            self._count_dates(present)
            if self.units is not None:
                self.units = (self.units | found) if (found := units_of(present)) else None
        if self.candidates in ([], ["separated"]):
            self.separated = self.separated and are_separated(present)
            self.is_evident = self.is_evident or are_evident(present)

    def _add_dates(self, present: Any) -> None:
        """Strike out formats of dates; note the value after which none is left."""
        held = formats_that_hold(present, self.date_formats)
        if self.date_formats and not held and looks_like_date(self.example):
            self.no_date = str(present[first_undated(present, self.date_formats)].as_py())
        self.date_formats = held

    def _count_dates(self, present: Any) -> None:
        if self.date_formats or "time" in self.candidates:
            self.n_dates += len(present)
        else:
            self.n_dates += int(pc.sum(pc.match_substring_regex(present, DATE_LIKE)).as_py() or 0)

    def _count_numbers(self, present: Any) -> None:
        """Count the numbers among values that are not all numbers, and note the first other."""
        text = with_decimal_point(present, self.decimal)
        are_numbers = pc.match_substring_regex(text, _NUMBER)
        self.n_numbers += int(pc.sum(are_numbers).as_py() or 0)
        if not self.exception:
            others = pc.filter(present, pc.invert(are_numbers))
            self.exception = str(others[0].as_py()) if len(others) else ""
        if len(self.amounts) <= _MOST_UNITS:
            found, other = count_units(pc.filter(present, pc.invert(are_numbers)))
            self.amounts.update(found)
            self.no_amount = self.no_amount or other

    @property
    def no_number(self) -> str:
        """The first value that is no number where most of the others are, with one unit or none."""
        n_alike = self.n_numbers + max(self.amounts.values(), default=0)
        if 2 * self.n_numbers > self.n_values:
            return self.exception
        few_units = len(self.amounts) <= _MOST_UNITS
        return self.no_amount if few_units and 2 * n_alike > self.n_values else ""

    def _holds(self, name: str, present: Any) -> bool:
        """Whether all the values can be parsed as a type."""
        if name == "boolean":
            return parse_booleans(present) is not None
        if name in ("integer", "number", "amount", "separated"):
            return self._holds_numbers(name, present, self.decimal)
        if name == "date":
            return all_match(present, _ISO_DATE) and try_cast(present, pa.date32()) is not None
        if name == "time":
            return all_match(present, _ISO_DATE) and _timestamps(present) is not None
        if name == "written date":
            return bool(self.date_formats)
        return parse_durations(present) is not None

    def _holds_numbers(self, name: str, present: Any, decimal: str) -> bool:
        """Whether all the values are numbers of a type, with this mark before decimals."""
        if name in ("integer", "number"):
            return holds_numbers(present, decimal, whole=name == "integer")
        if name == "amount":
            return self._holds_amounts(present, decimal)
        is_code = pc.any(pc.match_substring_regex(present, _LEADING_ZERO)).as_py()
        is_separated = not is_code and are_separated(present)
        return is_separated and parse_amounts(present, decimal) is not None

    def _holds_amounts(self, present: Any, decimal: str) -> bool:
        """Whether all values are numbers with one and the same unit."""
        found = units_of(present)
        if len(found) != 1 or found == {""} or (self.unit and found != {self.unit}):
            return False
        self.unit = found.pop()
        is_code = pc.any(pc.match_substring_regex(present, _CODE_WITH_UNIT)).as_py()
        return not is_code and parse_amounts(present, decimal, self.unit) is not None

    @property
    def several_units(self) -> list[str]:
        """How amounts are written, if not all of them alike."""
        units = sorted({*(self.units or ())} - {""})
        if units and self.n_numbers:
            units.append("nothing")
        return units if 1 < len(units) <= _MOST_UNITS else []

    @property
    def has_other_mark(self) -> bool:
        """Whether the values are numbers with the other mark before decimals only.

        Files mix both where columns come from different programs. A column that can be read with
        the mark of the file is read with it.
        """
        return not self.candidates and bool(self.other_candidates) and not self.codes

    @property
    def mark(self) -> str:
        """The mark before decimals in this column."""
        return _OTHER_MARK[self.decimal] if self.has_other_mark else self.decimal

    @property
    def name(self) -> str:
        """The type: one of ``TYPES``, or text."""
        if self.has_other_mark and self.n_values:
            return self.other_candidates[0]
        if self.candidates == ["separated"] and not self.is_evident:
            return "text"
        return self.candidates[0] if self.candidates and self.n_values else "text"

    @property
    def written(self) -> str:
        """How the values are written, where that is worth mentioning."""
        if self.name == "text" and self.several_units:
            return f"written with {' or '.join(self.several_units)}, so not read as numbers"
        if self.name == "text" and 2 * self.n_dates > self.n_values and self.no_date:
            return f"most values are dates, but {self.no_date!r} is not, or not written alike"
        if self.name == "text" and self.no_number:
            return f"most values are numbers, but {self.no_number!r} is not"
        if self.name == "written date":
            return f"written as {self.date_format}, like {self.example}"
        if self.name == "separated":
            return f"written with separators of thousands, like {self.example}"
        words = f"written with {self.unit}, read as numbers" if self.name == "amount" else ""
        if not self.has_other_mark:
            return words
        marks = f"a decimal {'comma' if self.mark == ',' else 'point'}, like {self.example}"
        return f"{words}, with {marks}" if words else f"written with {marks}"

    @property
    def date_format(self) -> str:
        """How dates are written that are not YYYY-MM-DD; else empty."""
        return self.date_formats[0] if self.name == "written date" else ""

    def choose_order(self, order: str) -> None:
        """Of formats that differ in the order of day and month, keep the one that the user says."""
        first = DATE_ORDERS[order]
        if len(self.date_formats) > 1:
            self.date_formats = tuple(f for f in self.date_formats if f.startswith(first))

    def choose_text(self) -> None:
        """Read the values as they are written: the user says so."""
        self.candidates, self.other_candidates = [], []
        self.unit, self.units, self.exception, self.no_date = "", None, "", ""
        self.no_amount = ""

    def choose_number(self) -> None:
        """Read numbers with separators, and codes such as 00501, as numbers: the user says so."""
        if self.candidates == ["separated"]:
            self.is_evident = True
        elif self.codes and self.n_numbers == self.n_values:
            self.candidates = ["number"]

    def problem(self, column: str) -> str:
        """What is wrong with text that can be read in more than one way; else nothing."""
        if self.name == "written date" and len(self.date_formats) > 1:
            return (
                f"Column {column!r} holds dates written like {self.example!r}, which may be "
                f"{' or '.join(self.date_formats)}; say --date-order day-first or month-first."
            )
        if self.name != "text" or not self.n_values:
            return ""
        if self.n_dates == self.n_values and self.no_date == self.example:
            return (
                f"Column {column!r} holds dates written like {self.example!r}; write them as "
                "YYYY-MM-DD, so that there is no doubt which is the year, or --exclude it."
            )
        if self.n_dates == self.n_values:
            return (
                f"Column {column!r} holds dates written like {self.example!r}, but "
                f"{self.no_date!r} is not written like those before it, or is no date; write all "
                "of them as YYYY-MM-DD."
            )
        if self.separated and not self.codes:
            return (
                f"Column {column!r} holds numbers written like {self.example!r}; write them "
                "without separators of thousands and with a decimal point"
                f"{f', or say --number {column}' if self.candidates else ''}."
            )
        return ""

    def parse(self, text: Any) -> Any:
        """Text as values of the type, null where one is missing.

        Raises
        ------
        UnparsableTextError
            If a value is not of the type, as in another table.
        """
        return parse_as(text, self.name, self.mark, self.unit or self.date_format)


def looks_like_date(text: str) -> bool:
    """Whether a text may be meant as a date."""
    return bool(pc.match_substring_regex(pa.array([text]), DATE_LIKE)[0].as_py())


def parse_as(text: Any, name: str, decimal: str = ".", unit: str = "") -> Any:
    """Text parsed as a type, null where a value is missing; "text" leaves it as it is.

    ``unit``: of amounts, or the format of written dates.
    """
    if name == "text":
        return null_where(text, pc.equal(text, ""))
    stripped = strip_values(text)
    found = _parse(stripped, name, decimal, unit)
    if found is None:
        raise _first_unparsable(stripped, name, decimal, unit)
    return found


def _parse(stripped: Any, name: str, decimal: str, unit: str) -> Any | None:
    if name == "boolean":
        found = parse_booleans(stripped)
        return try_cast(stripped, pa.float64()) if found is None else found
    if name == "count":  # numbers that count since 1970, or the dates themselves
        found = try_cast(stripped, pa.float64())
        return _timestamps(stripped) if found is None else found
    if name == "integer":
        return try_cast(stripped, pa.int64())
    if name == "date":
        return try_cast(stripped, pa.date32())
    if name == "time":
        return _timestamps(stripped)
    if name == "written date":  # YYYY-MM-DD is never in doubt
        found = parse_dates(stripped, unit)
        return _timestamps(stripped) if found is None else found
    if name == "duration":
        return parse_durations(stripped)
    found = try_cast(with_decimal_point(stripped, decimal), pa.float64())
    return parse_amounts(stripped, decimal, unit) if found is None else found


def strip_values(text: Any) -> Any:
    """Text without blanks around it, null where it is a word for a missing value."""
    stripped = pc.utf8_trim_whitespace(text)
    missing = pc.is_in(stripped, value_set=pa.array(MISSING_WORDS, stripped.type))
    return null_where(stripped, missing)


def null_where(text: Any, mask: Any) -> Any:
    """Text with null where the mask is true."""
    # Not if_else: in pyarrow 15 to 17 it corrupts text that is a slice, beside a scalar.
    return pc.case_when(pc.make_struct(pc.invert(mask)), text)


def try_cast(values: Any, wanted: Any) -> Any | None:
    """Values converted to an Arrow type; None if one of them cannot be."""
    try:
        return pc.cast(values, wanted)
    except pa.ArrowInvalid:
        return None


def with_decimal_point(text: Any, decimal: str) -> Any:
    """Numbers written with a decimal point; a point that was there becomes unparsable."""
    if decimal == ".":
        return text
    return pc.replace_substring(pc.replace_substring(text, ".", " "), ",", ".")


def holds_numbers(stripped: Any, decimal: str, *, whole: bool = False) -> bool:
    """Whether stripped text without nulls is all numbers. 00501 is a code and not a number."""
    if pc.any(pc.match_substring_regex(stripped, _LEADING_ZERO)).as_py():
        return False
    if whole:
        return try_cast(stripped, pa.int64()) is not None
    return try_cast(with_decimal_point(stripped, decimal), pa.float64()) is not None


def parse_durations(stripped: Any) -> Any | None:
    """Stripped text as durations in microseconds; None if something is none.

    Examples
    --------
    >>> found = parse_durations(pa.array(["02:15:00", "1 days 00:00:01.5", "-1 days +23:00:00"]))
    >>> pc.cast(found, pa.int64()).to_pylist()
    [8100000000, 86401500000, -3600000000]
    """
    fields = pc.extract_regex(stripped, _DURATION)
    if isinstance(fields, pa.ChunkedArray):
        fields = fields.combine_chunks()
    if fields.null_count != stripped.null_count:
        return None
    sign, clock_sign = (pc.struct_field(fields, name) for name in ("sign", "clock_sign"))
    has_days = pc.not_equal(pc.struct_field(fields, "days"), "")
    has_clock = pc.not_equal(pc.struct_field(fields, "hours"), "")
    if not pc.all(pc.or_(has_days, has_clock), min_count=0).as_py():
        return None
    clock = pa.scalar(0, pa.int64())
    for name, factor in (("hours", 60), ("minutes", 60), ("seconds", 1_000_000)):
        clock = pc.multiply(pc.add(clock, _whole_field(fields, name)), factor)
    fraction = pc.utf8_slice_codeunits(
        pc.utf8_rpad(pc.struct_field(fields, "fraction"), 6, "0"), 0, 6
    )
    clock = pc.add(clock, pc.cast(fraction, pa.int64()))
    days = pc.multiply(_whole_field(fields, "days"), 86_400_000_000)
    # The clock has its own sign, or else that of the days.
    minus = pc.equal(pc.if_else(pc.equal(clock_sign, ""), sign, clock_sign), "-")
    clock = pc.if_else(minus, pc.negate(clock), clock)
    days = pc.if_else(pc.equal(sign, "-"), pc.negate(days), days)
    return pc.cast(pc.add(days, clock), pa.duration("us"))


def _whole_field(fields: Any, name: str) -> Any:
    """A field of digits as whole numbers; 0 where it is not written."""
    return pc.cast(pc.replace_substring_regex(pc.struct_field(fields, name), "^$", "0"), pa.int64())


def parse_booleans(stripped: Any) -> Any | None:
    """Stripped text as booleans; None if something is neither true nor false."""
    lower = pc.utf8_lower(stripped)
    true, false = pc.equal(lower, "true"), pc.equal(lower, "false")
    return true if pc.all(pc.or_(true, false), min_count=0).as_py() else None


def all_match(text: Any, pattern: str) -> bool:
    """Whether the pattern is found in every value; False if there are none."""
    return bool(pc.all(pc.match_substring_regex(text, pattern)).as_py())


def _timestamps(text: Any) -> Any | None:
    for timestamp in _TIMESTAMPS:
        if (found := try_cast(text, timestamp)) is not None:
            return found
    return None


def _first_unparsable(stripped: Any, name: str, decimal: str, unit: str) -> UnparsableTextError:
    """The error for the first value that cannot be parsed with those before it."""
    # Bisection: values[:low] can be parsed, values[:high] cannot.
    low, high = 0, len(stripped)
    while high - low > 1:
        middle = (low + high) // 2
        if _parse(stripped[:middle], name, decimal, unit) is None:
            high = middle
        else:
            low = middle
    return UnparsableTextError(low, str(stripped[low].as_py()))
