"""A look at one column: what it holds, and whether to cluster by it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyarrow import compute as pc

from treemeans.columns import Column, Columns
from treemeans.sheets.encode_with import refuse_infinite
from treemeans.sheets.errors import InputError, quoted
from treemeans.sheets.texts import (
    Distinct,
    categories_of,
    dates_in,
    distinct_in,
    numbers_in,
    refuse_unclear,
)
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


class Extent:
    """What is known of numbers that may come some at a time.

    Attributes
    ----------
    n_rows, n_missing, n_infinite : how many there are
    first_infinite : row of the first infinite one
    low, high : of those that are finite
    whole : whether all of them are
    """

    def __init__(self) -> None:
        self.n_rows = self.n_missing = self.n_infinite = self.first_infinite = 0
        self.low, self.high = np.inf, -np.inf
        self.whole = True

    def add(self, values: Floats) -> None:
        """Look at some more."""
        finite = np.isfinite(values)
        if not finite.all():
            infinite = np.flatnonzero(np.isinf(values))
            if len(infinite) and not self.n_infinite:
                self.first_infinite = self.n_rows + int(infinite[0])
            self.n_infinite += len(infinite)
            self.n_missing += int(np.isnan(values).sum())
        self.n_rows += len(values)
        values = values[finite] if not finite.all() else values
        if len(values):
            self.low = min(self.low, float(values.min()))
            self.high = max(self.high, float(values.max()))
            self.whole = self.whole and bool((values == np.floor(values)).all())


def look_at_numbers(
    name: str, extent: Extent, kind: str, wish: Wish, all_differ: Callable[[], bool]
) -> Look:
    """What to do with numbers; ``all_differ`` tells whether no two rows have the same."""
    refuse_infinite(extent.n_infinite, name, extent.first_infinite + 1)
    if extent.n_missing == extent.n_rows:
        return _left_out(name, "it has no values", wish)
    if extent.low == extent.high:
        return _constant(name, f"{extent.low:g}")
    named = kind == "integer" and not wish.asked and looks_like_identifier(name)
    if named and not extent.n_missing and all_differ():
        return _identifier(name)
    if kind == "integer" and extent.low == 0 and extent.high == 1:
        kind = "flag"
    return Look(name, (Column(name, kind),))


def look_at_dates(name: str, extent: Extent, wish: Wish) -> Look:
    """What to do with days since 1970."""
    if extent.n_missing == extent.n_rows:
        return _left_out(name, "it has no values", wish)
    if extent.low == extent.high:
        return _constant(name, "one date")
    return Look(name, (Column(name, "date" if extent.whole else "time", "D", typed=True),))


def look_at_text(
    name: str,
    distinct: Distinct,
    n_rows: int,
    wish: Wish,
    dates: Callable[[], Look | None],
    numbers: Callable[[], Look | None],
) -> Look:
    """Categories; or dates and numbers, where there is no doubt that the text holds them."""
    values = distinct.values
    if not len(values):
        return _left_out(name, "it has no values", wish)
    if len(values) == 1:
        return _constant(name, quoted(values[0].as_py()))
    differ = distinct.counts.max() == 1 and distinct.n_present == n_rows
    if not wish.asked and differ and looks_like_identifier(name):
        return _identifier(name)
    if (look := dates()) is not None:
        return _noted(look, "dates")
    if (look := numbers()) is not None:
        return _noted(look, "numbers")
    refuse_unclear(name, values)
    found, note = categories_of(name, distinct)
    return Look(name, _one_hot(name, found, wish), note=note)


def looks_like_identifier(name: str) -> bool:
    """Whether a column is named like one that identifies rows."""
    return _IDENTIFIER.search(name) is not None


def _numbers(name: str, values: Floats, kind: str, wish: Wish) -> Look:
    """Of a whole column."""
    extent = Extent()
    extent.add(values)
    look = look_at_numbers(name, extent, kind, wish, lambda: len(np.unique(values)) == len(values))
    whole = look.used and look.columns[0].kind != "number"
    return _with_missing(look, values, wish, whole=whole)


def _dates(name: str, days: Floats, wish: Wish) -> Look:
    extent = Extent()
    extent.add(days)
    return _with_missing(look_at_dates(name, extent, wish), days, wish, whole=extent.whole)


def _text(name: str, values: Any, wish: Wish) -> Look:
    text = as_text(values)
    distinct = distinct_in(text)

    def dates() -> Look | None:
        days = as_dates(text, "D") if dates_in(distinct.values) else None
        return None if days is None else _dates(name, days, wish)

    def numbers() -> Look | None:
        found = (
            as_numbers(text, wish.decimal) if numbers_in(distinct.values, wish.decimal) else None
        )
        return None if found is None else _numbers(name, found, "number", wish)

    look = look_at_text(name, distinct, len(text), wish, dates, numbers)
    if look.missing is None and text.null_count:
        return replace(look, missing=mask_of(pc.is_null(text)))
    return look


def _with_missing(look: Look, values: Floats, wish: Wish, *, whole: bool) -> Look:
    """Where there is no value, and what stands in for it."""
    missing = np.isnan(values)
    if not look.used:
        return look
    if wish.fill:
        middle = _median(values[~missing], whole=whole)
        look = replace(look, columns=tuple(replace(c, missing=middle) for c in look.columns))
    return replace(look, missing=missing) if missing.any() else look


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


def _median(values: Floats, *, whole: bool) -> float:
    """The median; of whole values, one of them."""
    if not whole:
        return float(np.median(values))
    middle = (len(values) - 1) // 2
    return float(np.partition(values, middle)[middle])
