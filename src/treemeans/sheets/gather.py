"""A look at one column that comes some rows at a time, in memory that does not grow with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute as pc

from treemeans.sheets.looks import (
    Extent,
    Look,
    Wish,
    look_at_dates,
    look_at_numbers,
    look_at_text,
    looked_at,
    looks_like_identifier,
)
from treemeans.sheets.texts import Distinct, dates_in, numbers_in
from treemeans.sheets.values import Floats, as_dates, as_numbers, as_text, kind_of
from treemeans.sheets.written import UnreadableError, cells

MOST_VALUES = 10_000  # different texts that are counted
MOST_NUMBERS = 1 << 22  # numbers that are kept, to see whether two are the same


class Gathered:
    """What a column holds, as far as it has come; ends in the look that all of it would give.

    Attributes
    ----------
    name : str
    n_missing : rows without a value, once ``look`` has told how the values are read
    """

    def __init__(self, name: str, arrow: Any) -> None:
        self.name = name
        self.n_missing = 0
        self._type = arrow
        self._kind = kind_of(arrow)
        self._extent = Extent()
        self._differ = _Differ(self._kind == "integer" and looks_like_identifier(name))
        self._texts = _Texts()

    def add(self, values: Any) -> None:
        """Look at some more rows."""
        if self._kind == "text":
            self._texts.add(as_text(values))
        elif self._kind in ("date", "time"):
            days = as_dates(values, "D")
            assert days is not None
            self._extent.add(days)
        elif self._kind in ("flag", "integer", "number"):
            numbers = as_numbers(values)
            assert numbers is not None
            self._extent.add(numbers)
            self._differ.add(numbers)

    def look(self, wish: Wish) -> Look:
        """What to do with the column."""
        if self._kind == "text":
            return self._look_at_text(wish)
        self.n_missing = self._extent.n_missing
        if self._kind in ("date", "time"):
            return look_at_dates(self.name, self._extent, wish)
        if self._kind in ("flag", "integer", "number"):
            return look_at_numbers(self.name, self._extent, self._kind, wish, self._differ.all)
        return looked_at(self.name, pa.array([], self._type), wish)  # the type says enough

    def _look_at_text(self, wish: Wish) -> Look:
        texts = self._texts
        self.n_missing = texts.n_rows - texts.n_present

        def dates() -> Look | None:
            if texts.days is None:
                return None
            self.n_missing = texts.days.n_missing
            return look_at_dates(self.name, texts.days, wish)

        def numbers() -> Look | None:
            if texts.numbers is None or not texts.written:
                return None
            self.n_missing = texts.numbers.n_missing
            return look_at_numbers(self.name, texts.numbers, "number", wish, lambda: False)

        return look_at_text(self.name, texts.distinct(), texts.n_rows, wish, dates, numbers)


class _Texts:
    """Different texts, and whether they are dates or numbers so far."""

    def __init__(self) -> None:
        self.n_rows = self.n_present = 0
        self.days: Extent | None = Extent()
        self.numbers: Extent | None = Extent()
        self.written = False  # whether there is anything but words for "nothing"
        self._seen: dict[str, list[int]] = {}  # how often, and the first row
        self._full = False

    def add(self, text: Any) -> None:
        coded = pc.dictionary_encode(text)
        if isinstance(coded, pa.ChunkedArray):
            coded = coded.combine_chunks()
        distinct, numbers = coded.dictionary, self.numbers
        self.days = _extended(self.days, text, _as_days) if dates_in(distinct) else None
        present = pc.drop_null(cells(distinct))
        self.written = self.written or len(present) > 0
        if not len(present) or numbers_in(distinct, "."):
            self.numbers = _extended(self.numbers, text, as_numbers)
        else:
            self.numbers = None
        if not self._full or (numbers is not None and self.numbers is None):
            self._count(coded)  # with the first value, at least, that is no number
        self.n_rows += len(text)
        self.n_present += len(text) - text.null_count

    def _count(self, coded: Any) -> None:
        codes = np.asarray(pc.fill_null(pc.cast(coded.indices, pa.int64()), -1))
        found, first, counts = np.unique(codes, return_index=True, return_counts=True)
        values = coded.dictionary.to_pylist()
        for code, row, count in zip(found.tolist(), first.tolist(), counts.tolist(), strict=True):
            if code >= 0:
                self._seen.setdefault(values[code], [0, self.n_rows + row])[0] += count
        self._full = len(self._seen) > MOST_VALUES

    def distinct(self) -> Distinct:
        """In the order in which they came."""
        order = sorted(self._seen, key=lambda value: self._seen[value][1])
        return Distinct(
            pa.array(order, pa.string()),
            np.array([self._seen[value][0] for value in order], dtype=np.int64),
            self.n_present,
            lambda value: self._seen[value.as_py()][1],
            self._full,
        )


def _as_days(text: Any) -> Floats | None:
    return as_dates(text, "D")


def _extended(
    extent: Extent | None, text: Any, read: Callable[[Any], Floats | None]
) -> Extent | None:
    """The extent with some more; None as soon as a text cannot be read."""
    if extent is None:
        return None
    try:
        values = read(text)
    except UnreadableError:
        return None
    if values is None:
        return None
    extent.add(values)
    return extent


class _Differ:
    """Whether all numbers differ; beyond a great many, whether they can.

    Identifiers mostly rise from row to row, which is easily seen. Of others, the first are kept.
    """

    def __init__(self, wanted: bool) -> None:
        self._wanted = wanted
        self._rising = self._falling = True
        self._last: float | None = None
        self._kept: list[Floats] = []
        self._n_kept = self._n_rows = 0
        self._low, self._high = np.inf, -np.inf

    def add(self, numbers: Floats) -> None:
        if not self._wanted or not len(numbers) or np.isnan(numbers).any():
            return  # one without a value is no identifier
        joined = numbers if self._last is None else np.append(self._last, numbers)
        self._rising = self._rising and bool((joined[1:] > joined[:-1]).all())
        self._falling = self._falling and bool((joined[1:] < joined[:-1]).all())
        self._last = float(numbers[-1])
        self._low, self._high = min(self._low, numbers.min()), max(self._high, numbers.max())
        self._n_rows += len(numbers)
        if self._n_kept < MOST_NUMBERS:
            self._kept.append(numbers)
            self._n_kept += len(numbers)

    def all(self) -> bool:
        """Whether no two are the same."""
        if self._rising or self._falling:
            return True
        if self._high - self._low + 1 < self._n_rows:
            return False
        kept = np.concatenate(self._kept)
        return len(np.unique(kept)) == len(kept)
