"""Columns of text: categories, or numbers and dates in disguise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
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


@dataclass(frozen=True)
class Distinct:
    """The different values of a text.

    Attributes
    ----------
    values : as Arrow has them
    counts : how often each occurs
    n_present : rows that have a value
    row_of : number of the first row, from 0, that has a value
    more : whether there are more values than these
    """

    values: Any
    counts: NDArray[np.int64]
    n_present: int
    row_of: Callable[[Any], int]
    more: bool = False


def distinct_in(text: Any) -> Distinct:
    """The different values of a whole column."""
    found = pc.value_counts(pc.drop_null(text))
    present = len(text) - text.null_count
    return Distinct(
        found.field(0),
        np.asarray(found.field(1)),
        present,
        lambda value: int(pc.index(text, value).as_py()),
    )


def categories_of(name: str, distinct: Distinct) -> tuple[list[str], str]:
    """The categories, the most frequent first, and a note where numbers are among them."""
    counts, values = distinct.counts, distinct.values.to_pylist()
    if distinct.more or len(values) > MOST_CATEGORIES:
        raise _too_many(name, distinct)
    order = sorted(range(len(values)), key=lambda i: (-counts[i], values[i]))
    odd = _odd_among_numbers(distinct)
    note = (
        f"Column {quoted(name)} is taken for categories, for most of it are numbers but {odd}."
        if odd
        else ""
    )
    return [values[i] for i in order], note


def _too_many(name: str, distinct: Distinct) -> InputError:
    """Why a text cannot be clustered by, and what to do about it."""
    column = f"Column {quoted(name)}"
    odd = _odd_among_numbers(distinct)
    if odd:
        return InputError(f"{column} holds numbers but {odd}; correct that or leave it empty.")
    if _all_match(distinct.values, _ADORNED):
        example = quoted(distinct.values[0].as_py())
        return InputError(
            f"{column} holds numbers written like {example}; write them as plain numbers."
        )
    if len(distinct.values) >= 0.9 * distinct.counts.sum():
        return InputError(
            f"{column} has a text of its own in nearly every row; if it identifies rows name it "
            "with --id, else leave it out by listing the others with --columns."
        )
    number = f"more than {len(distinct.values)}" if distinct.more else f"{len(distinct.values)}"
    return InputError(
        f"{column} has {number} categories, more than {MOST_CATEGORIES}; group the rare "
        "ones, or leave it out by listing the others with --columns (--id for an identifier)."
    )


def _odd_among_numbers(distinct: Distinct) -> str:
    """The first value that is no number, in a column where most are; else nothing."""
    number = pc.match_substring_regex(
        distinct.values, r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
    )
    is_number, counts = np.asarray(number), distinct.counts
    if is_number.all() or counts[is_number].sum() <= counts.sum() / 2:
        return ""
    odd = distinct.values[int(np.argmin(is_number))]
    return f"data row {distinct.row_of(odd) + 1} has {quoted(odd.as_py())}"


def _all_match(values: Any, pattern: str) -> bool:
    found: bool = pc.all(pc.match_substring_regex(values, pattern)).as_py()
    return found
