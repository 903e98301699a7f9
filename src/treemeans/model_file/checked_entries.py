"""Entries of a document, each checked as it is taken out."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

_INT32 = int(np.iinfo(np.int32).max)


class UnreadableError(ValueError):
    """What is wrong with a document, as the end of a sentence."""


class Entries:
    """A JSON object. Every entry is taken by what it must be; none may be left.

    JSON's true and false are no numbers, and a number too large for a float is none either.

    Examples
    --------
    >>> entries = Entries({"cut": [1, 2], "cost": 0.5}, "tree")
    >>> entries.integers("cut", None, 0, 9).tolist()
    [1, 2]
    >>> entries.end()
    Traceback (most recent call last):
    treemeans.model_file.checked_entries.UnreadableError: tree has an entry 'cost', which is unknown
    """

    def __init__(self, value: Any, name: str = "") -> None:
        if type(value) is not dict:
            raise UnreadableError(f"{name or 'the document'} must be an object")
        self._left = dict(value)
        self._name = name

    def path(self, key: str) -> str:
        """The name of an entry in messages, with the objects around it."""
        return f"{self._name}.{key}" if self._name else key

    def end(self) -> None:
        """Refuse entries that nobody asked for."""
        for key in self._left:
            raise UnreadableError(f"{self._name or 'it'} has an entry {key!r}, which is unknown")

    def has(self, key: str) -> bool:
        """Whether there is such an entry, not taken yet."""
        return key in self._left

    def take(self, key: str) -> Any:
        """An entry of any type."""
        if key not in self._left:
            raise UnreadableError(f"{self.path(key)} is missing")
        return self._left.pop(key)

    def is_null(self, key: str) -> bool:
        """Whether an entry is null; it is then taken."""
        if key in self._left and self._left[key] is None:
            return self.take(key) is None
        return False

    def within(self, key: str) -> Entries:
        """An object inside this one."""
        return Entries(self.take(key), self.path(key))

    def each(self, key: str, *, at_least: int = 0) -> list[Entries]:
        """A list of objects."""
        items = self._list(key, None, "objects")
        if len(items) < at_least:
            raise UnreadableError(f"{self.path(key)} must be a list of at least {at_least}")
        return [Entries(item, f"{self.path(key)}[{i}]") for i, item in enumerate(items)]

    def text(self, key: str) -> str:
        """A string."""
        return str(self._one(key, str, "a text"))

    def flag(self, key: str) -> bool:
        """True or false."""
        return bool(self._one(key, bool, "true or false"))

    def integer(self, key: str, low: int, high: int) -> int:
        """A whole number from ``low`` to ``high``."""
        value = self._one(key, int, "a whole number")
        if not low <= value <= high:
            raise UnreadableError(f"{self.path(key)} must be from {low} to {high}")
        return int(value)

    def number(self, key: str, *, least: float = -np.inf) -> float:
        """A finite number of at least ``least``."""
        return float(self._numbers(key, [self.take(key)], False, least)[0])

    def texts(self, key: str, length: int | None = None) -> list[str]:
        """A list of strings."""
        items = self._list(key, length, "texts")
        if not set(map(type, items)) <= {str}:
            raise UnreadableError(f"{self.path(key)} must hold texts")
        return items

    def integers(self, key: str, length: int | None, low: int, high: int) -> NDArray[np.int32]:
        """A list of whole numbers from ``low`` to ``high``, which fit in 32 bits."""
        items = self._list(key, length, "whole numbers")
        if not set(map(type, items)) <= {int}:
            raise UnreadableError(f"{self.path(key)} must hold whole numbers")
        low, high = max(low, -_INT32), min(high, _INT32)
        if items and not low <= min(items) <= max(items) <= high:
            raise UnreadableError(f"{self.path(key)} must hold numbers from {low} to {high}")
        return np.array(items, dtype=np.int32)

    def integer_lists(self, key: str, length: int, low: int, high: int) -> list[NDArray[np.int32]]:
        """A list of lists, some of which may be empty, of whole numbers in a range."""
        found = self._list(key, length, "lists")
        return [
            Entries({"codes": each}, self.path(f"{key}[{i}]")).integers("codes", None, low, high)
            if each != []
            else np.empty(0, dtype=np.int32)
            for i, each in enumerate(found)
        ]

    def floats(
        self, key: str, length: int, *, gaps: bool = False, least: float = -np.inf
    ) -> NDArray[np.float64]:
        """A list of finite numbers of at least ``least``; ``gaps``: null is read as NaN."""
        return self._numbers(key, self._list(key, length, "numbers"), gaps, least)

    def float_list(self, key: str, *, least: float = -np.inf) -> NDArray[np.float64]:
        """A list of at least one finite number, however long."""
        items = self._list(key, None, "numbers")
        if not items:
            raise UnreadableError(f"{self.path(key)} must hold at least one number")
        return self._numbers(key, items, False, least)

    def matrix(
        self, key: str, n_rows: int | None, n_columns: int | None, *, least: float = -np.inf
    ) -> NDArray[np.float64]:
        """Rows of finite numbers; None: as many as there are, at least one."""
        rows = self._list(key, n_rows, "rows")
        widths = {len(row) if type(row) is list else 0 for row in rows}
        wanted = f"of {n_columns} numbers each" if n_columns else "of equally many numbers"
        if len(widths) != 1 or 0 in widths or (n_columns and widths != {n_columns}):
            raise UnreadableError(f"{self.path(key)} must have rows {wanted}")
        values = self._numbers(key, list(chain.from_iterable(rows)), False, least)
        return values.reshape(len(rows), -1)

    def _one(self, key: str, kind: type, words: str) -> Any:
        value = self.take(key)
        if type(value) is not kind:  # not isinstance: True is an int
            raise UnreadableError(f"{self.path(key)} must be {words}")
        return value

    def _list(self, key: str, length: int | None, words: str) -> list[Any]:
        value = self.take(key)
        if type(value) is not list or (length is not None and len(value) != length):
            count = "" if length is None else f"{length} "
            raise UnreadableError(f"{self.path(key)} must be a list of {count}{words}")
        return value

    def _numbers(self, key: str, items: list[Any], gaps: bool, least: float) -> NDArray[np.float64]:
        kinds = {int, float, type(None)} if gaps else {int, float}
        if not set(map(type, items)) <= kinds:
            raise UnreadableError(f"{self.path(key)} must hold numbers")
        try:
            values = np.array(items, dtype=np.float64)
        except OverflowError:
            values = np.array([np.inf])
        if np.isinf(values).any():
            raise UnreadableError(f"{self.path(key)} holds a number that is too large")
        if (values < least).any():
            raise UnreadableError(f"{self.path(key)} holds a number below {least:g}")
        return values
