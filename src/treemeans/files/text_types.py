"""The type of a column of text, found from all its values, and the text parsed as that type.

There is one inference for every file and engine: a column of text starts with all types as
candidates, every batch of values strikes out those that do not hold it, and the first that is left
in the end is the type. What is left does not depend on how the values come in batches.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyarrow import compute as pc
from pyarrow import csv as pacsv

# What files write for a missing value in a column of numbers or dates.
MISSING_WORDS = sorted({*pacsv.ConvertOptions().null_values, "NaT", "None"})
UNITS = "%$€£¥"
TYPES = ("boolean", "integer", "number", "date", "time", "duration", "amount")
_LEADING_ZERO = r"^[+-]?0\d"
_ISO_DATE = r"^\d{4}-\d\d-\d\d"
_OTHER_DATE = r"^(\d\d?[./-]\d\d?[./-]\d{4}|\d\d?/\d\d?/\d\d|\d{4}[./]\d\d?[./]\d\d?)\b"
# Such as 02:15:00, 1 days 02:00:00, 3 days or, as pandas writes minus one hour, -1 days +23:00:00.
_DURATION = (
    r"^(?P<sign>[+-]?)(?:(?P<days>\d{1,6}) days?,? ?)?"
    r"(?P<clock_sign>[+-]?)(?:(?P<hours>\d{1,7}):(?P<minutes>[0-5]\d):(?P<seconds>[0-5]\d)"
    r"(?:\.(?P<fraction>\d{1,9}))?)?$"
)
_SEPARATED_NUMBER = r"^[+-]?(\d{1,3}([.,' ]\d{3})+|\d+)([.,]\d+)?$"
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
    decimal : the mark before decimals, a point or a comma
    candidates : the types that hold every value so far
    unit : the sign that all amounts have
    exception : the first value that is no number
    n_numbers : values that are numbers
    other_dates, separated : whether all values are dates, or numbers with separators of thousands,
        that can be read in more than one way; and an example
    codes : whether a value is a number with a leading zero, such as 00501
    """

    decimal: str = "."
    candidates: list[str] = field(default_factory=lambda: list(TYPES))
    unit: str = ""
    exception: str = ""
    n_numbers: int = 0
    n_values: int = 0
    other_dates: bool = True
    separated: bool = True
    example: str = ""
    codes: bool = False

    def add(self, text: Any) -> None:
        """Take in more values."""
        present = pc.drop_null(strip_values(text))
        if not len(present):
            return
        self.example = self.example or present[0].as_py()
        self.candidates = [name for name in self.candidates if self._holds(name, present)]
        self.n_values += len(present)
        self.codes = self.codes or bool(
            pc.any(pc.match_substring_regex(present, _LEADING_ZERO)).as_py()
        )
        if "number" in self.candidates:
            self.n_numbers += len(present)
        else:
            self._count_numbers(present)
        if not self.candidates:
            self.other_dates = self.other_dates and all_match(present, _OTHER_DATE)
            self.separated = self.separated and all_match(present, _SEPARATED_NUMBER)

    def _count_numbers(self, present: Any) -> None:
        """Count the numbers among values that are not all numbers, and note the first other."""
        text = with_decimal_point(present, self.decimal)
        are_numbers = pc.match_substring_regex(text, _NUMBER)
        self.n_numbers += int(pc.sum(are_numbers).as_py() or 0)
        if not self.exception:
            others = pc.filter(present, pc.invert(are_numbers))
            self.exception = str(others[0].as_py()) if len(others) else ""

    def _holds(self, name: str, present: Any) -> bool:
        """Whether all the values can be parsed as a type."""
        if name == "boolean":
            return parse_booleans(present) is not None
        if name in ("integer", "number"):
            return holds_numbers(present, self.decimal, whole=name == "integer")
        if name == "date":
            return all_match(present, _ISO_DATE) and try_cast(present, pa.date32()) is not None
        if name == "time":
            return all_match(present, _ISO_DATE) and _timestamps(present) is not None
        if name == "duration":
            return parse_durations(present) is not None
        return self._holds_amounts(present)

    def _holds_amounts(self, present: Any) -> bool:
        """Whether all values are numbers with one and the same sign of money or percent."""
        signs = set(UNITS) & set("".join(pc.unique(present).slice(0, 50).to_pylist()))
        if len(signs) != 1 or (self.unit and signs != {self.unit}):
            return False
        self.unit = signs.pop()
        with_sign = pc.all(pc.match_substring(present, self.unit)).as_py()
        return bool(with_sign) and parse_amounts(present, self.decimal, self.unit) is not None

    @property
    def name(self) -> str:
        """The type: one of ``TYPES``, or text."""
        return self.candidates[0] if self.candidates and self.n_values else "text"

    @property
    def written(self) -> str:
        """How the values are written, where that is worth mentioning."""
        if self.name == "text" and 2 * self.n_numbers > self.n_values and self.exception:
            return f"most values are numbers, but {self.exception!r} is not"
        if self.name != "amount":
            return ""
        return f"written with {self.unit}, read as numbers"

    def problem(self, column: str) -> str:
        """What is wrong with text that can be read in more than one way; else nothing."""
        if self.name != "text" or not self.n_values:
            return ""
        if self.other_dates:
            return (
                f"Column {column!r} holds dates written like {self.example!r}; write them as "
                "YYYY-MM-DD, so that there is no doubt which is the month."
            )
        if self.separated and not self.codes:
            return (
                f"Column {column!r} holds numbers written like {self.example!r}; write them "
                "without separators of thousands and with a decimal point."
            )
        return ""

    def parse(self, text: Any) -> Any:
        """Text as values of the type, null where one is missing.

        Raises
        ------
        UnparsableTextError
            If a value is not of the type, as in another table.
        """
        return parse_as(text, self.name, self.decimal, self.unit)


def parse_as(text: Any, name: str, decimal: str = ".", unit: str = "") -> Any:
    """Text parsed as a type, null where a value is missing; "text" leaves it as it is."""
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


def parse_amounts(stripped: Any, decimal: str, unit: str = "") -> Any | None:
    """Numbers with a sign of money or percent before or after, and separators of thousands.

    Examples
    --------
    >>> parse_amounts(pa.array(["€1,271.64", "-3 €", None]), ".").to_pylist()
    [1271.64, -3.0, None]
    """
    bare = stripped
    for sign in unit or UNITS:
        bare = pc.replace_substring(bare, sign, "")
    bare = pc.replace_substring_regex(bare, r"\s", "")
    thousands = "," if decimal == "." else r"\."
    point = r"\." if decimal == "." else ","
    groups = rf"^[+-]?(\d{{1,3}}({thousands}\d{{3}})+|\d+)({point}\d+)?$"
    if not pc.all(pc.match_substring_regex(bare, groups), min_count=0).as_py():
        return None
    bare = pc.replace_substring_regex(bare, thousands, "")
    return try_cast(with_decimal_point(bare, decimal), pa.float64())


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
