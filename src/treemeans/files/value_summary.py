"""What is known of a column after one pass over its values, whole or in batches.

A summary takes bounded memory when its ``max_distinct`` is given, however long the column is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute as pc

from treemeans.files.arrow_to_float import (
    DATED,
    NUMERIC,
    Floats,
    arrow_kind,
    to_dates,
    to_numbers,
    to_text,
)
from treemeans.files.parse_text import (
    UnparsableTextError,
    holds_dates,
    holds_numbers,
    strip_values,
)

MAX_DISTINCT = 10_000  # different texts that are counted in a column that comes in batches
MAX_KEPT_NUMBERS = 1 << 22  # numbers that are kept to see whether two are the same


class NumberSummary:
    """Counts and range of numbers, or of dates as numbers.

    Attributes
    ----------
    n_rows, n_missing, n_infinite : int
    first_infinite : row of the first infinite number
    low, high : range of the finite numbers
    whole : whether all finite numbers are whole
    """

    def __init__(self) -> None:
        self.n_rows = self.n_missing = self.n_infinite = self.first_infinite = 0
        self.low, self.high = np.inf, -np.inf
        self.whole = True

    def add(self, values: Floats) -> None:
        """Take in more values."""
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


@dataclass(frozen=True)
class DistinctText:
    """The different values of a column of text, in the order of their first rows.

    Attributes
    ----------
    values : Arrow array
    counts : how often each occurs
    first_rows : the first row of each, from 0
    is_complete : whether these are all the values there are
    """

    values: Any
    counts: NDArray[np.int64]
    first_rows: NDArray[np.int64]
    is_complete: bool


class TextSummary:
    """Different values of text, and its numbers or dates if it holds nothing else.

    Attributes
    ----------
    n_rows, n_present : rows, and rows that have a text
    numbers, dates : the text as numbers, and as days since 1970; None if it is something else
    """

    def __init__(self, decimal: str, max_distinct: int | None) -> None:
        self.n_rows = self.n_present = 0
        self.dates: NumberSummary | None = NumberSummary()
        self._numbers: NumberSummary | None = NumberSummary()
        self._any_number = False  # whether there is more than words for a missing value
        self._decimal = decimal
        self._max_distinct = max_distinct
        self._distinct: pa.Table | None = None
        self._is_full = False

    @property
    def numbers(self) -> NumberSummary | None:
        """The text as numbers."""
        return self._numbers if self._any_number else None

    def add(self, text: Any) -> None:
        """Take in more text, null where there is none."""
        found = _count_distinct(text, self.n_rows)
        were_numbers = self._numbers is not None
        self._add_dates(text, found["value"])
        self._add_numbers(text, found["value"])
        # Of many values, at least the first that is no number is counted: messages name it.
        if not self._is_full or (were_numbers and self._numbers is None):
            known = [found] if self._distinct is None else [self._distinct, found]
            self._distinct = _merge_distinct(pa.concat_tables(known))
            limit = self._max_distinct
            self._is_full = limit is not None and self._distinct.num_rows > limit
        self.n_rows += len(text)
        self.n_present += len(text) - text.null_count

    def _add_dates(self, text: Any, distinct: Any) -> None:
        if len(distinct) and not holds_dates(distinct):
            self.dates = None
        self.dates = _extend(self.dates, text, lambda text: to_dates(text, "D"))

    def _add_numbers(self, text: Any, distinct: Any) -> None:
        present = pc.drop_null(strip_values(distinct))
        if len(present) and not holds_numbers(present, self._decimal):
            self._numbers = None
        self._any_number = self._any_number or len(present) > 0
        self._numbers = _extend(self._numbers, text, lambda text: to_numbers(text, self._decimal))

    def distinct(self) -> DistinctText:
        """The different values."""
        assert self._distinct is not None, "a column has at least one batch"
        table = self._distinct.sort_by("row").combine_chunks()
        values = table["value"]
        return DistinctText(
            values.chunk(0) if values.num_chunks else pa.array([], values.type),
            np.asarray(table["count"]),
            np.asarray(table["row"]),
            not self._is_full,
        )


class ValueSummary:
    """What is known of a column: the summary of its numbers, dates or text.

    Parameters
    ----------
    name : str
    arrow : Arrow type
    decimal : mark before decimals in text
    max_distinct : number of different texts to count; None for all of them
    find_repeats : whether to remember whole numbers, so that ``all_different`` can be asked

    Attributes
    ----------
    kind : what its Arrow type holds, as ``arrow_kind`` says
    numbers : NumberSummary, of a column of numbers or dates (days since 1970)
    text : TextSummary, of a column of text
    """

    def __init__(
        self,
        name: str,
        arrow: Any,
        decimal: str = ".",
        max_distinct: int | None = None,
        *,
        find_repeats: bool = True,
    ) -> None:
        self.name = name
        self.arrow = arrow
        self.kind = arrow_kind(arrow)
        self.numbers = NumberSummary()
        self.text = TextSummary(decimal, max_distinct)
        self._repeats = _RepeatSearch()
        self._find_repeats = find_repeats and self.kind == "integer"

    def add(self, values: Any) -> None:
        """Take in more values."""
        if self.kind == "text":
            self.text.add(to_text(values))
        elif self.kind in DATED:
            days = to_dates(values, "D")
            assert days is not None
            self.numbers.add(days)
        elif self.kind in NUMERIC:
            numbers = to_numbers(values)
            assert numbers is not None
            self.numbers.add(numbers)
            if self._find_repeats:
                self._repeats.add(numbers)

    def all_different(self) -> bool:
        """Whether no two whole numbers are the same; of a great many, as far as is known."""
        return not self._repeats.any()


class _RepeatSearch:
    """Whether a number occurs twice.

    Identifiers mostly rise from row to row, which needs no memory to see. Of others, the first
    ``MAX_KEPT_NUMBERS`` are compared, and the range must have room for all.
    """

    def __init__(self) -> None:
        self._rising = self._falling = True
        self._last: float | None = None
        self._kept: list[Floats] = []
        self._n_kept = self._n_rows = 0
        self._low, self._high = np.inf, -np.inf

    def add(self, numbers: Floats) -> None:
        if not len(numbers) or np.isnan(numbers).any():
            return  # a column with missing values is no identifier anyway
        joined = numbers if self._last is None else np.append(self._last, numbers)
        self._rising = self._rising and bool((joined[1:] > joined[:-1]).all())
        self._falling = self._falling and bool((joined[1:] < joined[:-1]).all())
        self._last = float(numbers[-1])
        self._low, self._high = min(self._low, numbers.min()), max(self._high, numbers.max())
        self._n_rows += len(numbers)
        if self._n_kept < MAX_KEPT_NUMBERS:
            self._kept.append(numbers)
            self._n_kept += len(numbers)

    def any(self) -> bool:
        """Whether two are the same."""
        if self._rising or self._falling:
            return False
        if self._high - self._low + 1 < self._n_rows:
            return True
        kept = np.concatenate(self._kept)
        return len(np.unique(kept)) < len(kept)


def _extend(
    summary: NumberSummary | None, text: Any, parse: Callable[[Any], Floats | None]
) -> NumberSummary | None:
    """The summary with more values; None once a text cannot be parsed."""
    if summary is None:
        return None
    try:
        values = parse(text)
    except UnparsableTextError:
        return None
    if values is None:
        return None
    summary.add(values)
    return summary


def _count_distinct(text: Any, first_row: int) -> pa.Table:
    """Each different text, how often it occurs and its first row."""
    rows = np.arange(first_row, first_row + len(text))
    table = pa.table({"value": text, "row": rows, "count": np.ones(len(text), dtype=np.int64)})
    return _merge_distinct(table.filter(pc.is_valid(table["value"])))


def _merge_distinct(table: pa.Table) -> pa.Table:
    groups = table.group_by("value", use_threads=False)
    merged = groups.aggregate([("count", "sum"), ("row", "min")])
    renamed = {"value": merged["value"], "count": merged["count_sum"], "row": merged["row_min"]}
    return pa.table(renamed)
