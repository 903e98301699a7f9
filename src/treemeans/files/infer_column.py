"""The kind of a column of a file, or the reason why it is skipped.

This is the only place that decides it, for tables in memory and for tables that come in batches:
both hand over a ``ValueSummary``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from treemeans.columns import Column, Columns
from treemeans.files.arrow_to_float import DATED
from treemeans.files.file_errors import InputError, quoted, refuse_infinite
from treemeans.files.text_categories import find_categories, refuse_ambiguous
from treemeans.files.value_summary import NumberSummary, TextSummary, ValueSummary

_IDENTIFIER = re.compile(
    r"(?i:(^|[_\s.-])(id|uuid|guid|key)$|^(index|unnamed: 0)?$)|[a-z](Id|ID|Key)$"
)


@dataclass(frozen=True)
class ColumnDecision:
    """What becomes of a column of a file.

    Attributes
    ----------
    name : str
    columns : the columns of X that it becomes; none if it is skipped
    n_missing : rows in which it has no value
    note : a sentence for the user about what was done; empty if there is nothing to say
    """

    name: str
    columns: Columns = ()
    n_missing: int = 0
    note: str = ""

    @property
    def is_used(self) -> bool:
        """Whether rows are clustered by it."""
        return len(self.columns) > 0


def infer_column(summary: ValueSummary, *, explicit: bool) -> ColumnDecision:
    """Decide what becomes of a column; ``explicit``: the user named it, so it must be used.

    Examples
    --------
    >>> import pyarrow as pa
    >>> visits = ValueSummary("visits", pa.int64())
    >>> visits.add(pa.array([2, 5, None]))
    >>> infer_column(visits, explicit=False).columns[0].kind
    'integer'
    """
    name = summary.name
    if summary.kind == "unsupported":
        return _skip(name, f"it holds {summary.arrow}, which cannot be clustered", explicit)
    if summary.kind == "null":
        return _skip(name, "it has no values", explicit)
    if summary.kind == "text":
        return _infer_text(name, summary.text, explicit)
    if summary.kind in DATED:
        return _infer_dates(name, summary.numbers, explicit)
    return _infer_numbers(summary, explicit)


def looks_like_identifier(name: str) -> bool:
    """Whether a column is named as columns are that identify rows."""
    return _IDENTIFIER.search(name) is not None


def _infer_numbers(summary: ValueSummary, explicit: bool) -> ColumnDecision:
    numbers, kind = summary.numbers, summary.kind
    if decision := _refuse_or_skip(summary.name, numbers, explicit):
        return decision
    may_identify = kind == "integer" and not explicit and not numbers.n_missing
    if may_identify and looks_like_identifier(summary.name) and summary.all_different():
        return _skip_identifier(summary.name)
    is_boolean = kind == "flag"
    if kind == "integer" and numbers.low == 0 and numbers.high == 1:
        kind = "flag"
    column = Column(summary.name, kind, typed=is_boolean)
    return ColumnDecision(summary.name, (column,), numbers.n_missing)


def _infer_dates(name: str, days: NumberSummary, explicit: bool) -> ColumnDecision:
    if days.n_missing == days.n_rows:
        return _skip(name, "it has no values", explicit)
    if days.low == days.high:
        return _skip_constant(name, "the same date")
    column = Column(name, "date" if days.whole else "time", "D", typed=True)
    return ColumnDecision(name, (column,), days.n_missing)


def _infer_text(name: str, text: TextSummary, explicit: bool) -> ColumnDecision:
    """Dates or numbers, if the text holds nothing else; otherwise categories."""
    distinct = text.distinct()
    if not len(distinct.values):
        return _skip(name, "it has no values", explicit)
    if len(distinct.values) == 1:
        return _skip_constant(name, quoted(distinct.values[0].as_py()))
    all_differ = distinct.counts.max() == 1 and text.n_present == text.n_rows
    if not explicit and all_differ and looks_like_identifier(name):
        return _skip_identifier(name)
    if text.dates is not None:
        return _say_parsed(_infer_dates(name, text.dates, explicit), "dates")
    if text.numbers is not None:
        return _say_parsed(_infer_text_numbers(name, text.numbers, explicit), "numbers")
    refuse_ambiguous(name, distinct.values)
    categories, note = find_categories(name, distinct)
    columns = tuple(
        Column(f"{name}={value}", "category", source=name, value=value, complete=True)
        for value in categories
    )
    return ColumnDecision(name, columns, text.n_rows - text.n_present, note)


def _infer_text_numbers(name: str, numbers: NumberSummary, explicit: bool) -> ColumnDecision:
    if decision := _refuse_or_skip(name, numbers, explicit):
        return decision
    return ColumnDecision(name, (Column(name, "number"),), numbers.n_missing)


def _refuse_or_skip(name: str, numbers: NumberSummary, explicit: bool) -> ColumnDecision | None:
    refuse_infinite(numbers.n_infinite, name, numbers.first_infinite + 1)
    if numbers.n_missing == numbers.n_rows:
        return _skip(name, "it has no values", explicit)
    if numbers.low == numbers.high:
        return _skip_constant(name, f"{numbers.low:g}")
    return None


def _skip(name: str, why: str, explicit: bool) -> ColumnDecision:
    if explicit:
        raise InputError(f"Column {quoted(name)} cannot be used: {why}; leave it out.")
    return ColumnDecision(name, note=f"Column {quoted(name)} is skipped: {why}.")


def _skip_constant(name: str, value: str) -> ColumnDecision:
    return ColumnDecision(name, note=f"Column {quoted(name)} is skipped: every value is {value}.")


def _skip_identifier(name: str) -> ColumnDecision:
    return ColumnDecision(
        name,
        note=f"Column {quoted(name)} is skipped: it looks like an identifier; name it in --columns "
        "to use it.",
    )


def _say_parsed(decision: ColumnDecision, what: str) -> ColumnDecision:
    if not decision.is_used:
        return decision
    note = f"Column {quoted(decision.name)} is text and is read as {what}."
    return replace(decision, note=note)
