"""Categories of a column of text, and the text that is refused because its meaning is unclear."""

from __future__ import annotations

from typing import Any

import numpy as np
from pyarrow import compute as pc

from treemeans.files.file_errors import InputError, quoted
from treemeans.files.parse_text import all_match
from treemeans.files.value_summary import DistinctText

MAX_CATEGORIES = 50
_OTHER_DATE = r"^(\d\d?[./-]\d\d?[./-]\d{4}|\d\d?/\d\d?/\d\d|\d{4}[./]\d\d?[./]\d\d?)\b"
_SEPARATED_NUMBER = r"^[+-]?(\d{1,3}([.,' ]\d{3})+|\d+)([.,]\d+)?$"
_NUMBER_WITH_SIGN = r"^[+-]?[$€£¥]?\s*[+-]?\d[\d.,' ]*\s*[%$€£¥]?$"
_NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"


def refuse_ambiguous(name: str, distinct: Any) -> None:
    """Refuse numbers and dates that can be read in more than one way."""
    example = quoted(distinct[0].as_py())
    if all_match(distinct, _OTHER_DATE):
        raise InputError(
            f"Column {quoted(name)} holds dates written like {example}; write them as YYYY-MM-DD, "
            "so that there is no doubt which is the month."
        )
    separated = pc.match_substring_regex(distinct, r"[.,' ]")
    if all_match(distinct, _SEPARATED_NUMBER) and pc.any(separated).as_py():
        example = quoted(pc.filter(distinct, separated)[0].as_py())
        raise InputError(
            f"Column {quoted(name)} holds numbers written like {example}; write them without "
            "separators of thousands and with a decimal point."
        )


def find_categories(name: str, distinct: DistinctText) -> tuple[list[str], str]:
    """The categories, the most frequent first, and a note if most of them are numbers."""
    counts, values = distinct.counts, distinct.values.to_pylist()
    if not distinct.is_complete or len(values) > MAX_CATEGORIES:
        raise _too_many(name, distinct)
    order = sorted(range(len(values)), key=lambda i: (-counts[i], values[i]))
    exception = _exception_among_numbers(distinct)
    note = (
        f"Column {quoted(name)} is treated as categorical: most values are numbers, but "
        f"{exception} is not."
        if exception
        else ""
    )
    return [values[i] for i in order], note


def _too_many(name: str, distinct: DistinctText) -> InputError:
    """Why text cannot be clustered by, and what to do about it."""
    column, n = f"Column {quoted(name)}", len(distinct.values)
    if exception := _exception_among_numbers(distinct):
        return InputError(
            f"{column} holds numbers, but {exception} is not one; correct it or leave it empty."
        )
    if all_match(distinct.values, _NUMBER_WITH_SIGN):
        example = quoted(distinct.values[0].as_py())
        return InputError(
            f"{column} holds numbers written like {example}; write them as plain numbers."
        )
    if n >= 0.9 * distinct.counts.sum():
        return InputError(
            f"{column} has a different text in nearly every row; if it identifies rows name it "
            "with --id, else leave it out by listing the others with --columns."
        )
    number = str(n) if distinct.is_complete else f"more than {n}"
    return InputError(
        f"{column} has {number} categories, more than {MAX_CATEGORIES}; group the rare "
        "ones, or leave it out by listing the others with --columns (--id for an identifier)."
    )


def _exception_among_numbers(distinct: DistinctText) -> str:
    """The first value that is no number, in a column where most are; else nothing."""
    is_number = np.asarray(pc.match_substring_regex(distinct.values, _NUMBER))
    counts = distinct.counts
    if is_number.all() or counts[is_number].sum() <= counts.sum() / 2:
        return ""
    first = int(np.argmin(is_number))
    return f"{quoted(distinct.values[first].as_py())} in data row {distinct.first_rows[first] + 1}"
