"""What is known of the columns of a table, and what becomes of each: the schema.

There is one inference for data frames and files, whole or in batches: a ``ColumnSummary`` takes in
the values, batch by batch and in bounded memory, and ``plan_column`` decides from it alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from treemeans.columns.column import Column, Columns
from treemeans.columns.dates import from_count
from treemeans.columns.frame_values import count_texts, to_floats, value_kind

MOST_CATEGORIES = 10_000  # different texts of a column; more are no categories
_FEW_CATEGORIES = 20  # so many may occur in few rows, as in small tables
_MANY_CATEGORIES = 100  # of more than these, each must have some rows on average
_ROWS_EACH = 5
_FEW_FLAGS = 5  # so many texts are kinds of addresses or telephones, and name nobody
_CONTACTS = {  # what names a person, and so must not be in rules, reports and models
    "e-mail addresses": re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+"),
    "telephone numbers": re.compile(
        r"(\+|00)\d[\d ()/.-]{6,}|\(?0\d{1,5}\)?[ /-][\d /-]{5,}|\(\d{3}\) ?\d{3}-\d{4}"
        r"|\d{3}[.-]\d{3}[.-]\d{4}"
    ),
    "bank accounts": re.compile(r"[A-Z]{2}\d\d ?([A-Z\d]{4} ?){2,7}[A-Z\d]{0,4}"),
    "addresses": re.compile(
        r"[^\d,]+(str\.|stra(ss|ß)e|weg|platz|allee|gasse|street|st\.?|road|rd\.?|avenue|ave\.?|lane)"
        r" \d+.*|\d+[a-z]?,? .*\b(street|st|road|rd|avenue|ave|lane|drive|rue|boulevard)\b.*",
        re.IGNORECASE,
    ),
}
_PERSON = re.compile(  # names of columns whose texts name people, whatever they look like
    r"(?i:(^|[_\s.-])((first|last|given|family|middle|full|maiden)[_\s.-]?name|surname|forename"
    r"|(vor|nach|familien)name|pr[eé]nom|nom|apellidos?|e-?mail|phone|telephone|telefon|mobile|iban"
    r"|ssn|passport|street|stra(ss|ß)e|address|adresse)([_\s.-]?(no|nr|number|1|2))?$)"
    r"|[a-z](First|Last|Full)Name$"
)
_MAYBE_PERSON = re.compile(  # the same, if the texts look like names
    r"(?i:(customer|client|patient|employee|user|contact|person|student|member|guest|player|driver"
    r"|owner|kunde|kunden)?[_\s.-]?(name)?)"
)
_FULL_NAME = re.compile(r"[^\W\d_][\w'’.-]*,?( [^\W\d_][\w'’.-]*){1,3}")  # noqa: RUF001
_IDENTIFIER = re.compile(
    r"(?i:(^|[_\s.-])(id|uuid|guid|key)$|\w([_\s.-](no|nr|number)|nr|nummer)\.?$"
    r"|^(index|unnamed: 0)?$)|[a-z](Id|ID|Key|No|Number)$"
)
_FAR_FUTURE = 84_006  # days from 1970 to 2200: dates such as 9999-12-31 stand for none
_READ_AS = {
    "number": "number",
    "integer": "whole number",
    "flag": "0 or 1",
    "boolean": "true or false",
    "date": "date",
    "time": "date and time",
    "duration": "duration",
    "null": "nothing",
}


@dataclass
class ColumnSummary:
    """What one pass over the values of a column has found.

    Attributes
    ----------
    name : str
    kind : as ``value_kind`` says
    n_rows, n_missing, n_infinite : int
    low, high : range of the finite numbers; of dates, in days since 1970
    whole : whether all finite numbers are whole
    texts : how often each text occurs; of more than ``MOST_CATEGORIES``, not of all
    unit : what stands after the numbers in a file, such as % or €
    written : how the file writes the values, where that is not plain; a clause for the user
    date_format : how the file writes dates, if not as YYYY-MM-DD
    zoned : whether dates have a time zone
    decimal : the mark before decimals, if it is not that of the file
    """

    name: str
    kind: str
    n_rows: int = 0
    n_missing: int = 0
    n_infinite: int = 0
    low: float = np.inf
    high: float = -np.inf
    whole: bool = True
    texts: dict[str, int] = field(default_factory=dict)
    unit: str = ""
    written: str = ""
    date_format: str = ""
    zoned: bool = False
    decimal: str = ""

    def add(self, series: Any, *, as_text: bool = False) -> None:
        """Take in more values; ``as_text``: they are categories, whatever their type."""
        kind = value_kind(series)
        if kind == "null":
            self.n_rows += len(series)
            self.n_missing += len(series)
            return
        self.kind = _wider(self.kind, "text" if as_text and not kind.startswith("holds") else kind)
        self.zoned = self.zoned or bool(getattr(series.dtype, "time_zone", None))
        self.n_rows += len(series)
        if self.kind == "text":
            self._add_texts(series)
        elif not self.kind.startswith("holds"):
            self._add_numbers(to_floats(series, kind))

    def _add_texts(self, series: Any) -> None:
        self.n_missing += int(series.is_null().sum())
        if len(self.texts) > MOST_CATEGORIES:
            return
        _add_counts(self.texts, count_texts(series))

    def _add_numbers(self, values: Any) -> None:
        finite = np.isfinite(values)
        if not finite.all():
            self.n_infinite += int(np.isinf(values).sum())
            self.n_missing += int(np.isnan(values).sum())
            values = values[finite]
        if len(values):
            self.low = min(self.low, float(values.min()))
            self.high = max(self.high, float(values.max()))
            self.whole = self.whole and bool((values == np.floor(values)).all())

    @property
    def n_present(self) -> int:
        """Rows that have a value."""
        return self.n_rows - self.n_missing


def merge_summaries(one: ColumnSummary, other: ColumnSummary) -> ColumnSummary:
    """What two passes over different rows of a column have found together.

    Examples
    --------
    >>> some = ColumnSummary("plan", "text", n_rows=2, texts={"pro": 2})
    >>> more = ColumnSummary("plan", "text", n_rows=3, n_missing=1, texts={"basic": 1, "pro": 1})
    >>> merge_summaries(some, more).texts
    {'pro': 3, 'basic': 1}
    """
    texts = dict(one.texts)
    _add_counts(texts, other.texts)
    return replace(
        one,
        kind=_wider(one.kind, other.kind),
        n_rows=one.n_rows + other.n_rows,
        n_missing=one.n_missing + other.n_missing,
        n_infinite=one.n_infinite + other.n_infinite,
        low=min(one.low, other.low),
        high=max(one.high, other.high),
        whole=one.whole and other.whole,
        zoned=one.zoned or other.zoned,
        texts=texts,
    )


def _add_counts(texts: dict[str, int], more: Mapping[str, int]) -> None:
    """Count more texts; of too many for categories, not all."""
    for text, count in more.items():
        if len(texts) > MOST_CATEGORIES:
            return
        texts[text] = texts.get(text, 0) + count


def _wider(one: str, other: str) -> str:
    """The kind that holds the values of two batches."""
    if one in (other, "null"):
        return other
    if other == "null":
        return one
    for kinds in (("integer", "number"), ("date", "time")):
        if {one, other} == set(kinds):
            return kinds[1]
    held = [kind for kind in (one, other) if kind.startswith("holds")]
    plain = sorted({"integer": "number"}.get(kind, kind) for kind in (one, other))
    return held[0] if held else f"holds both {' and '.join(plain)}"


@dataclass(frozen=True)
class ColumnPlan:
    """What becomes of a column of the user's table.

    Attributes
    ----------
    name : str
    read_as : what it is taken for, in words
    n_missing : rows in which it has no value
    column : how the tree knows it; None if it is left out
    becomes : how it is used and why, in words
    problem : why the table cannot be used with this column, and what to do; else empty
    """

    name: str
    read_as: str
    n_missing: int = 0
    column: Column | None = None
    becomes: str = ""
    problem: str = ""


@dataclass(frozen=True)
class TableSchema:
    """The columns of a table: what each is read as, what is missing, how it is used.

    ``print`` it for a table of all columns.

    Attributes
    ----------
    plans : tuple of ColumnPlan
    n_rows : int
    """

    plans: tuple[ColumnPlan, ...]
    n_rows: int

    @property
    def columns(self) -> Columns:
        """The columns that are used."""
        return tuple(plan.column for plan in self.plans if plan.column is not None)

    @property
    def has_missing(self) -> bool:
        """Whether a column that is used lacks values, which are not replaced."""
        return any(
            plan.n_missing and plan.column is not None and plan.column.missing is None
            for plan in self.plans
        )

    @property
    def left_out(self) -> tuple[ColumnPlan, ...]:
        """The columns that are not used, without those that the user excluded."""
        return tuple(
            plan for plan in self.plans if plan.column is None and plan.becomes != _EXCLUDED
        )

    @property
    def problems(self) -> list[str]:
        """What must be put right first, one sentence each."""
        return [plan.problem for plan in self.plans if plan.problem]

    def __str__(self) -> str:
        rows = [("column", "read as", "missing", "how it is used")]
        for plan in self.plans:
            missing = f"{plan.n_missing:,}" if plan.n_missing else ""
            rows.append((plan.name, plan.read_as, missing, plan.problem or plan.becomes))
        widths = [max(len(row[i]) for row in rows) for i in range(3)]
        lines = [
            f"{name:<{widths[0]}}  {read_as:<{widths[1]}}  {missing:>{widths[2]}}  {becomes}"
            for name, read_as, missing, becomes in rows
        ]
        return "\n".join(line.rstrip() for line in lines)


_EXCLUDED = "left out, as you asked"


def summarize(
    batches: Iterable[Any], names: Sequence[str], as_text: Iterable[str] = ()
) -> dict[str, ColumnSummary]:
    """Summaries of some columns of frames of narwhals."""
    found = {name: ColumnSummary(name, "null") for name in names}
    texts = set(as_text)
    for batch in batches:
        for name, summary in found.items():
            summary.add(batch[name], as_text=name in texts)
    return found


def plan_columns(
    summaries: Mapping[str, ColumnSummary],
    *,
    asked: Iterable[str] = (),
    excluded: Iterable[str] = (),
    in_file: bool = False,
) -> TableSchema:
    """Decide what becomes of each column.

    Parameters
    ----------
    summaries : by name
    asked : columns that the user named, which are used if they can be
    excluded : columns that the user does not want
    in_file : whether columns are left out by what their names and values look like: whole numbers
        named like identifiers, columns with one value
    """
    wanted, unwanted = set(asked), set(excluded)
    plans = []
    for name, summary in summaries.items():
        if name in unwanted:
            plans.append(ColumnPlan(name, _read_as(summary), summary.n_missing, None, _EXCLUDED))
        else:
            plans.append(plan_column(summary, asked=name in wanted, in_file=in_file))
    n_rows = max((summary.n_rows for summary in summaries.values()), default=0)
    return TableSchema(tuple(plans), n_rows)


def plan_column(
    summary: ColumnSummary, *, asked: bool = False, in_file: bool = False
) -> ColumnPlan:
    """Decide what becomes of a column.

    Examples
    --------
    >>> visits = ColumnSummary("visits", "integer", n_rows=3, low=2, high=5)
    >>> plan_column(visits).column.kind
    'integer'
    """
    name = summary.name
    told = ColumnPlan(name, _read_as(summary), summary.n_missing)
    if summary.kind.startswith("holds"):
        return replace(told, read_as="", problem=_not_supported(name, summary.kind))
    if summary.n_present == 0:
        return _left_out(told, "it has no values", asked)
    if summary.n_infinite:
        s = "" if summary.n_infinite == 1 else "s"
        return replace(
            told,
            problem=f"Column {name!r} has {summary.n_infinite} infinite value{s}; replace "
            "infinities by numbers or by missing values.",
        )
    if summary.kind == "text":
        return _plan_text(told, summary, asked=asked, in_file=in_file)
    if in_file and summary.low == summary.high and not summary.n_missing:
        return _left_out(told, "every value is the same", asked)
    if in_file and not asked and _is_identifier(summary):
        return _left_out(told, "it looks like an identifier", asked)
    return replace(told, column=_column_of(summary), becomes=_used(summary))


def looks_like_identifier(name: str) -> bool:
    """Whether a column is named as columns are that identify rows."""
    return _IDENTIFIER.search(name) is not None


def _is_identifier(summary: ColumnSummary) -> bool:
    """Whether whole numbers identify rows: by the name, and by a range with room for all rows."""
    has_room = summary.high - summary.low + 1 >= summary.n_rows
    return summary.kind == "integer" and has_room and looks_like_identifier(summary.name)


def _plan_text(
    told: ColumnPlan, summary: ColumnSummary, *, asked: bool, in_file: bool
) -> ColumnPlan:
    n = len(summary.texts)
    number = f"{n:,}" if n <= MOST_CATEGORIES else f"more than {MOST_CATEGORIES:,}"
    if n > MOST_CATEGORIES and asked:
        return replace(
            told,
            problem=f"Column {told.name!r} has {number} different texts, too many for "
            "categories; group the rare ones first, or leave the column out.",
        )
    written = f"; {summary.written}" if summary.written else ""
    differ = n > summary.n_present / 2
    if n > MOST_CATEGORIES or (not asked and differ and n > _FEW_CATEGORIES):
        why = f"it has {number} different texts in {summary.n_present:,} rows, so it identifies "
        return _left_out(told, f"{why}rows or is free text{written}", asked)
    if not asked and (contacts := _contacts(summary.texts)):
        return _left_out(told, f"it holds {contacts}, which name people", asked)
    if not asked and in_file and n > _FEW_FLAGS and _names_people(told.name, summary.texts):
        return _left_out(told, "its name says that it names people", asked)
    if not asked and n > _MANY_CATEGORIES and summary.n_present < _ROWS_EACH * n:
        why = f"it has {number} different texts in {summary.n_present:,} rows, fewer than "
        return _left_out(told, f"{why}{_ROWS_EACH} rows for each{written}", asked)
    if not asked and in_file and n == summary.n_rows and looks_like_identifier(told.name):
        return _left_out(told, "it looks like an identifier", asked)
    if in_file and n == 1 and not summary.n_missing:
        return _left_out(told, f"every value is {next(iter(summary.texts))!r}", asked)
    column = Column(told.name, "codes", categories=tuple(sorted(summary.texts)))
    return replace(told, column=column, becomes=_used(summary))


def _contacts(texts: Iterable[str]) -> str:
    """What most of the texts are, if that is a way to reach a person; else nothing."""
    found = [text.strip() for text in texts]
    for name, pattern in _CONTACTS.items():
        if 2 * sum(pattern.fullmatch(text) is not None for text in found) > len(found):
            return name
    return ""


def _names_people(name: str, texts: Iterable[str]) -> bool:
    """Whether a column is named as columns are that hold names of people, or ways to reach them."""
    if _PERSON.search(name):
        return True
    found = [_FULL_NAME.fullmatch(text.strip()) and text.istitle() for text in texts]
    return _MAYBE_PERSON.fullmatch(name) is not None and 2 * sum(map(bool, found)) > len(found)


def _column_of(summary: ColumnSummary) -> Column:
    name, kind = summary.name, summary.kind
    if kind == "boolean":
        return Column(name, "flag", typed=True)
    if kind in ("date", "time"):
        kind = "date" if summary.whole else "time"
        written, zoned = summary.date_format, summary.zoned
        return Column(name, kind, "D", typed=True, date_format=written, zoned=zoned)
    if kind == "duration":
        return Column(name, "duration", "D", typed=True)
    if summary.whole and not summary.unit:
        is_flag = summary.low >= 0 and summary.high <= 1
        return Column(name, "flag" if is_flag else "integer", decimal=summary.decimal)
    return Column(name, "number", summary.unit, decimal=summary.decimal)


def _read_as(summary: ColumnSummary) -> str:
    if summary.kind == "text":
        n = len(summary.texts)
        more = f"{n:,}" if n <= MOST_CATEGORIES else f">{MOST_CATEGORIES:,}"
        return f"category ({more} value{'' if n == 1 else 's'})"
    kind = summary.kind
    if kind in ("integer", "number") and summary.whole and not summary.unit:
        kind = "flag" if summary.low >= 0 and summary.high <= 1 else "integer"
    if kind == "time" and summary.whole:
        kind = "date"
    return f"{_READ_AS.get(kind, '')}{f' in {summary.unit}' if summary.unit else ''}"


def _used(summary: ColumnSummary) -> str:
    words = "cut by its values"
    if summary.kind == "text":
        words = "cut by sets of its values"
    if summary.n_missing:
        words += "; missing values take a side at each cut"
    if summary.kind in ("date", "time") and summary.high >= _FAR_FUTURE:
        words += f"; its last date, {_day(summary.high)}, may stand for a missing one"
    return f"{words}; {summary.written}" if summary.written else words


def _day(days: float) -> str:
    return f"{from_count(days, 'D'):%Y-%m-%d}"


def _left_out(told: ColumnPlan, why: str, asked: bool) -> ColumnPlan:
    if asked:
        return replace(told, problem=f"Column {told.name!r} cannot be used: {why}; leave it out.")
    return replace(told, becomes=f"left out: {why}")


def _not_supported(name: str, kind: str) -> str:
    if kind.startswith("holds both"):
        return (
            f"Column {name!r} {kind} values; convert them to one type, "
            f"for example with df[{name!r}].astype(str)."
        )
    if "type period[" in kind:
        return (
            f"Column {name!r} {kind}, which are not read; convert them to dates, for example with "
            f"df[{name!r}].dt.to_timestamp()."
        )
    return (
        f"Column {name!r} {kind}, which are not read; convert them to numbers or text, or leave "
        "the column out."
    )
