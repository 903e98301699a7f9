"""A look at one column: what it holds, and whether to cluster by it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyarrow import compute as pc

from treemeans.columns import Column, Columns
from treemeans.sheets.encode_with import refuse_infinite
from treemeans.sheets.errors import InputError, quoted
from treemeans.sheets.texts import categories_of, dates_in, numbers_in, refuse_unclear
from treemeans.sheets.values import Floats, as_dates, as_numbers, as_text, kind_of, mask_of

_IDENTIFIER = re.compile(
    r"(?i:(^|[_\s.-])(id|uuid|guid|key)$|^(index|unnamed: 0)?$)|[a-z](Id|ID|Key)$"
)


@dataclass(frozen=True)
class Wish:
    """What the user says of all columns.

    Attributes
    ----------
    asked : whether columns were named, so that all must be used
    fill : whether something is to stand in for missing values
    decimal : the mark before decimals in text
    """

    asked: bool
    fill: bool
    decimal: str


@dataclass(frozen=True)
class Look:
    """What a column holds.

    Attributes
    ----------
    name : str
    columns : what it becomes; nothing where it is left out
    missing : where it has no value; None where it has one in every row
    note : a sentence about what was done with it
    """

    name: str
    columns: Columns = ()
    missing: NDArray[np.bool_] | None = None
    note: str = ""

    @property
    def used(self) -> bool:
        """Whether it is clustered by."""
        return len(self.columns) > 0


def looked_at(name: str, values: Any, wish: Wish) -> Look:
    """Find out what to do with a column."""
    kind = kind_of(values.type)
    if not kind:
        return _left_out(name, f"it holds {values.type}, which cannot be clustered by", wish)
    if kind == "nothing":
        return _left_out(name, "it has no values", wish)
    if kind == "text":
        return _text(name, values, wish)
    if kind in ("date", "time"):
        days = as_dates(values, "D")
        assert days is not None
        return _dates(name, days, wish)
    numbers = as_numbers(values)
    assert numbers is not None
    return _numbers(name, numbers, kind, wish)


def _numbers(name: str, values: Floats, kind: str, wish: Wish) -> Look:
    refuse_infinite(values, name)
    missing, present = _split(values)
    if not len(present):
        return _left_out(name, "it has no values", wish)
    low, high = present.min(), present.max()
    if low == high:
        return _constant(name, f"{low:g}")
    if kind == "integer" and not wish.asked and _identifies(name, present, len(values)):
        return _identifier(name)
    if kind == "integer" and low == 0 and high == 1:
        kind = "flag"
    middle = _median(present, whole=kind != "number") if wish.fill else None
    return Look(name, (Column(name, kind, missing=middle),), missing)


def _dates(name: str, days: Floats, wish: Wish) -> Look:
    missing, present = _split(days)
    if not len(present):
        return _left_out(name, "it has no values", wish)
    if present.min() == present.max():
        return _constant(name, "one date")
    whole = bool((present == np.floor(present)).all())
    middle = _median(present, whole=whole) if wish.fill else None
    kind = "date" if whole else "time"
    return Look(name, (Column(name, kind, "D", typed=True, missing=middle),), missing)


def _text(name: str, values: Any, wish: Wish) -> Look:
    """Categories; or dates and numbers, where there is no doubt that the text holds them."""
    text = as_text(values)
    counts = pc.value_counts(pc.drop_null(text))
    distinct, rows = counts.field(0), counts.field(1)
    if not len(distinct):
        return _left_out(name, "it has no values", wish)
    if len(distinct) == 1:
        return _constant(name, quoted(distinct[0].as_py()))
    if not wish.asked and len(distinct) == len(text) and _IDENTIFIER.search(name):
        return _identifier(name)
    if dates_in(distinct):
        days = as_dates(text, "D")
        assert days is not None
        return _noted(_dates(name, days, wish), "dates")
    if numbers_in(distinct, wish.decimal):
        numbers = as_numbers(text, wish.decimal)
        assert numbers is not None
        return _noted(_numbers(name, numbers, "number", wish), "numbers")
    refuse_unclear(name, distinct)
    found, note = categories_of(name, text, distinct, rows)
    missing = mask_of(pc.is_null(text)) if text.null_count else None
    return Look(name, _one_hot(name, found, wish), missing, note)


def _one_hot(name: str, found: list[str], wish: Wish) -> Columns:
    """A column for each category; the first stands in where there is none."""
    return tuple(
        Column(
            f"{name}={value}",
            "category",
            source=name,
            value=value,
            complete=True,
            missing=float(i == 0) if wish.fill else None,
        )
        for i, value in enumerate(found)
    )


def _left_out(name: str, why: str, wish: Wish) -> Look:
    if wish.asked:
        raise InputError(f"Column {quoted(name)} cannot be used, for {why}; leave it out.")
    return Look(name, note=f"Column {quoted(name)} is left out, for {why}.")


def _constant(name: str, value: str) -> Look:
    return Look(name, note=f"Column {quoted(name)} is left out, for all it holds is {value}.")


def _identifier(name: str) -> Look:
    return Look(
        name,
        note=f"Column {quoted(name)} is left out, for it looks like an identifier; name it in "
        "--columns to use it.",
    )


def _noted(look: Look, what: str) -> Look:
    if not look.used:
        return look
    return replace(look, note=f"Column {quoted(look.name)} is text that is read as {what}.")


def _split(values: Floats) -> tuple[NDArray[np.bool_] | None, Floats]:
    """Where there is no value, and the values there are."""
    missing = np.isnan(values)
    return (missing, values[~missing]) if missing.any() else (None, values)


def _median(values: Floats, *, whole: bool) -> float:
    """The median; of whole values, one of them."""
    if not whole:
        return float(np.median(values))
    middle = (len(values) - 1) // 2
    return float(np.partition(values, middle)[middle])


def _identifies(name: str, present: Floats, n_rows: int) -> bool:
    """Whether a column is named like an identifier and differs in all rows."""
    return (
        _IDENTIFIER.search(name) is not None
        and len(present) == n_rows
        and len(np.unique(present)) == n_rows
    )
