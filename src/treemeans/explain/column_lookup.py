"""Finding columns by the names that users give them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from treemeans.columns import Columns
from treemeans.columns.column import one_hot_columns


class ColumnLookup:
    """Finds columns by name or number, or by the source of categories they belong to.

    Parameters
    ----------
    columns : tuple of Column
    also : other names of the columns, such as those they had in a data frame
    accepts_missing : whether rows may lack the values of some columns

    Examples
    --------
    >>> from treemeans.columns import plain_columns
    >>> lookup = ColumnLookup(plain_columns(3), ["a", "b", "c"])
    >>> lookup["x1"], lookup["c"], lookup[0]
    ([1], [2], [0])
    """

    def __init__(
        self, columns: Columns, also: Iterable[str] = (), *, accepts_missing: bool = False
    ) -> None:
        self.columns = columns
        self.accepts_missing = accepts_missing
        self._by_name: dict[str, int] = {}
        self._members = one_hot_columns(columns)
        for i, column in enumerate(columns):
            self._by_name.setdefault(column.name, i)
        for i, name in enumerate(also):
            self._by_name.setdefault(str(name), i)

    def __contains__(self, key: Any) -> bool:
        return bool(self._found(key))

    def __getitem__(self, key: Any) -> list[int]:
        found = self._found(key)
        if not found:
            raise ValueError(f"There is no column {key!r}.")
        return found

    def is_source(self, key: Any) -> bool:
        """Whether a key stands for a source of categories and not for a single column."""
        return isinstance(key, str) and key not in self._by_name and key in self._members

    def _found(self, key: Any) -> list[int]:
        if isinstance(key, str):
            return [self._by_name[key]] if key in self._by_name else self._members.get(key, [])
        if isinstance(key, int | np.integer) and not isinstance(key, bool):
            return [int(key)] if 0 <= key < len(self.columns) else []
        return []
