"""Columns of text: categories, or numbers and dates in disguise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute as pc

from treemeans.sheets.errors import InputError, quoted
from treemeans.sheets.written import UnreadableError, cast, cells, read_dates, with_point

MOST_CATEGORIES = 50
_LEADING_ZERO = r"^[+-]?0\d"
_ISO_DATE = r"^\d{4}-\d\d-\d\d"
_OTHER_DATE = r"^(\d\d?[./-]\d\d?[./-]\d{4}|\d\d?/\d\d?/\d\d|\d{4}[./]\d\d?[./]\d\d?)\b"
_SEPARATED = r"^[+-]?(\d{1,3}([.,' ]\d{3})+|\d+)([.,]\d+)?$"
_ADORNED = r"^[+-]?[$€£¥]?\s*[+-]?\d[\d.,' ]*\s*[%$€£¥]?$"


def dates_in(distinct: Any) -> bool:
    """Whether all values are dates like 2024-12-31, with or without a time."""
    if not _all_match(distinct, _ISO_DATE):
        return False
    try:
        read_dates(distinct)
    except UnreadableError:
        return False
    return True


def numbers_in(distinct: Any, decimal: str) -> bool:
    """Whether all values are plain numbers; 00501 is a code."""
    present = pc.drop_null(cells(distinct))
    if not len(present) or pc.any(pc.match_substring_regex(present, _LEADING_ZERO)).as_py():
        return False
    return cast(with_point(present, decimal), pa.float64()) is not None


def refuse_unclear(name: str, distinct: Any) -> None:
    """Refuse numbers and dates that can be read in more than one way."""
    example = quoted(distinct[0].as_py())
    if _all_match(distinct, _OTHER_DATE):
        raise InputError(
            f"Column {quoted(name)} holds dates written like {example}; write them as YYYY-MM-DD, "
            "so that there is no doubt which is the month."
        )
    separated = pc.match_substring_regex(distinct, r"[.,' ]")
    if _all_match(distinct, _SEPARATED) and pc.any(separated).as_py():
        example = quoted(pc.filter(distinct, separated)[0].as_py())
        raise InputError(
            f"Column {quoted(name)} holds numbers written like {example}; write them without "
            "separators of thousands and with a decimal point."
        )


def categories_of(name: str, text: Any, distinct: Any, rows: Any) -> tuple[list[str], str]:
    """The categories, the most frequent first, and a note where numbers are among them."""
    if len(distinct) > MOST_CATEGORIES:
        raise _too_many(name, text, distinct, rows)
    counts = np.asarray(rows)
    values = distinct.to_pylist()
    order = sorted(range(len(values)), key=lambda i: (-counts[i], values[i]))
    odd = _odd_among_numbers(text, distinct, counts)
    note = (
        f"Column {quoted(name)} is taken for categories, for most of it are numbers but {odd}."
        if odd
        else ""
    )
    return [values[i] for i in order], note


def _too_many(name: str, text: Any, distinct: Any, rows: Any) -> InputError:
    """Why a text cannot be clustered by, and what to do about it."""
    column = f"Column {quoted(name)}"
    odd = _odd_among_numbers(text, distinct, np.asarray(rows))
    if odd:
        return InputError(f"{column} holds numbers but {odd}; correct that or leave it empty.")
    if _all_match(distinct, _ADORNED):
        example = quoted(distinct[0].as_py())
        return InputError(
            f"{column} holds numbers written like {example}; write them as plain numbers."
        )
    present = len(text) - text.null_count
    if len(distinct) >= 0.9 * present:
        return InputError(
            f"{column} has a text of its own in nearly every row; if it identifies rows name it "
            "with --id, else leave it out by listing the others with --columns."
        )
    return InputError(
        f"{column} has {len(distinct)} categories, more than {MOST_CATEGORIES}; group the rare "
        "ones, or leave it out by listing the others with --columns (--id for an identifier)."
    )


def _odd_among_numbers(text: Any, distinct: Any, counts: Any) -> str:
    """The first value that is no number, in a column where most are; else nothing."""
    number = pc.match_substring_regex(distinct, r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$")
    is_number = np.asarray(number)
    if is_number.all() or counts[is_number].sum() <= counts.sum() / 2:
        return ""
    odd = distinct[int(np.argmin(is_number))]
    row = pc.index(text, odd).as_py() + 1
    return f"data row {row} has {quoted(odd.as_py())}"


def _all_match(values: Any, pattern: str) -> bool:
    found: bool = pc.all(pc.match_substring_regex(values, pattern)).as_py()
    return found
