"""Wording that explanations share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date, datetime, timedelta

from treemeans.columns import Column, Reader
from treemeans.columns.dates import PER_DAY, from_count
from treemeans.columns.number_text import format_rounded
from treemeans.columns.threshold_rounding import shorten_number

Plain = float | int | str | date | datetime | timedelta | None
"""A value as Python has it."""

_MOST_NAMES = 8  # that are written out
_MOST_TEXTS = 20
_LONG = 12  # letters of a number
_SPANS = ((1, "days"), (24, "hours"), (24 * 60, "minutes"), (24 * 3600, "seconds"))


def listed(names: Sequence[str], last: str = "and") -> str:
    """Names as a list in a sentence: a, b and c.

    Examples
    --------
    >>> listed(["a", "b", "c"]), listed(["a", "b"], "or")
    ('a, b and c', 'a or b')
    """
    if len(names) > _MOST_NAMES:
        names = [*names[: _MOST_NAMES - 1], f"{len(names) - _MOST_NAMES + 1} others"]
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} {last} {names[-1]}"


def all_of(conditions: Sequence[str]) -> str:
    """Conditions that are all true, in one phrase.

    Examples
    --------
    >>> all_of(["age <= 40 or missing", "visits = 3"])
    '(age <= 40 or missing) and visits = 3'
    """
    if len(conditions) < 2:
        return "".join(conditions)
    # Without parentheses, "or missing" would read as if it ended the whole phrase.
    return " and ".join(in_parentheses(conditions))


def in_parentheses(conditions: Sequence[str]) -> list[str]:
    """Conditions that are joined by "and": those with an "or", if they are several, set apart."""
    if len(conditions) < 2:
        return list(conditions)
    return [f"({c})" if c.endswith((" or missing", " or unseen")) else c for c in conditions]


def first_few(results: Sequence[object], separator: str) -> str:
    """The texts of the first results, and how many more there are."""
    texts = [str(result) for result in results[:_MOST_TEXTS]]
    left = len(results) - len(texts)
    return separator.join([*texts, f"... and {left} more"] if left else texts)


def value_words(
    reader: Reader,
    feature: int,
    x: float,
    below: float = -math.inf,
    above: float = math.inf,
) -> str:
    """A value of a column as people write it.

    A number that nobody wrote by hand has six digits, or as many as it takes not to leave
    [below, above).
    """
    column = reader.columns[feature]
    if column.kind == "number" and not x.is_integer() and len(repr(x)) > _LONG:
        x = shorten_number(x, below, above)
    return reader.value(feature, x)


def plain_value(column: Column, x: float) -> Plain:
    """A value of a column (but not of a one-hot one) as Python has it: 3, 3.5, a date, a text."""
    if column.kind == "codes":
        return column.category(x)
    if column.is_date:
        try:
            when = from_count(x, column.unit)
        except ValueError:  # outside the calendar
            return x
        return when.date() if column.kind == "date" else when
    if column.kind == "duration":
        try:
            return timedelta(days=x / PER_DAY[column.unit])
        except OverflowError:  # longer than Python's durations
            return x
    if column.is_boolean:
        return bool(x > 0.5)
    whole = column.kind in ("integer", "flag") and float(x).is_integer()
    return int(x) if whole else float(x)


def span_words(column: Column, difference: float) -> str:
    """A difference of two values of a column; empty where it means nothing, as of categories."""
    if column.kind in ("category", "flag", "codes"):
        return ""
    if not column.is_date and column.kind != "duration":
        return f"{format_rounded(difference)} {column.unit}".rstrip()
    days = difference / PER_DAY[column.unit]
    per_day, name = next((s for s in _SPANS if days * s[0] >= 1), _SPANS[-1])
    return f"{format_rounded(days * per_day)} {name}"


def deviation_words(distance: float) -> str:
    """A distance in standard deviations, to two digits."""
    text = format_rounded(float(f"{distance:.2g}"))
    return f"{text} standard deviation{'' if text == '1' else 's'}"
