"""Rows that have none of the categories that the training rows had."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from treemeans.columns import Columns
from treemeans.columns.column import one_hot_columns
from treemeans.rows.column_values import column_of
from treemeans.tree import ThresholdTree

_MOST_CATEGORIES = 8  # that are written out


class UnseenCategories:
    """Which rows have a category that was not seen in training, and what it is called.

    In the training rows exactly one column of a ``complete`` source is 1. A row in which all of
    them are 0 therefore has another category, and conditions such as ``plan = pro``, which rest on
    there being no other, are not true of it. In a column of codes, a code without a name is such a
    category.

    Parameters
    ----------
    tree : ThresholdTree
    columns : tuple of Column
    X : array or sparse matrix

    Examples
    --------
    >>> from treemeans.columns import Column
    >>> tree = ThresholdTree([0, -1, -1], [0.5, 0, 0], [1, -1, -1], [2, -1, -1], [0, 0, 1], 2)
    >>> columns = tuple(
    ...     Column(f"plan={value}", "category", source="plan", value=value, complete=True)
    ...     for value in ("basic", "pro")
    ... )
    >>> unseen = UnseenCategories(tree, columns, np.array([[0.0, 1.0], [0.0, 0.0]]))
    >>> unseen.sources_of(0), unseen.sources_of(1)
    ((), ('plan',))
    >>> unseen.named({"plan": {1: "enterprise"}}).words("plan", 1)
    'plan is "enterprise", which was not seen in training; treated as none of basic, pro'
    """

    def __init__(self, tree: ThresholdTree, columns: Columns, X: Any) -> None:
        self._categories: dict[str, list[str]] = {}
        self._rows: dict[str, NDArray[np.bool_]] = {}
        self._names: Mapping[str, Mapping[int, str]] = {}
        used = np.unique(tree.feature[~tree.is_leaf]).tolist()
        self._beyond: dict[int, NDArray[np.bool_]] = {}
        for i in used:
            column = columns[i]
            if column.categories:
                unseen = _outside(X, i, 0, len(column.categories) - 1)
                if unseen.any():
                    self._rows[column.name] = unseen
                    self._categories[column.name] = list(column.categories)
            elif column.low is not None or column.high is not None:
                beyond = _outside(X, i, column.low, column.high)
                if beyond.any():
                    self._beyond[i] = beyond
        one_hot = one_hot_columns(columns)
        for source in sorted({columns[f].source for f in used} - {""}):
            members = one_hot.get(source, [])
            rows = _all_zero(X, members)
            if all(columns[i].complete for i in members) and rows.any():
                self._rows[source] = rows
                self._categories[source] = [columns[i].value for i in members]

    def named(self, names: Mapping[str, Mapping[int, str]]) -> UnseenCategories:
        """These unseen categories with their names, by source and number of the row."""
        found = UnseenCategories.__new__(UnseenCategories)
        found._categories, found._rows, found._names = self._categories, self._rows, names
        found._beyond = self._beyond
        return found

    def first(self, n_rows: int) -> UnseenCategories:
        """The unseen categories of the first rows only."""
        found = self.named(self._names)
        found._rows = {source: rows[:n_rows] for source, rows in self._rows.items()}
        return found

    def rows(self) -> NDArray[np.intp]:
        """The rows that have an unseen category, or a whole number beyond all others."""
        masks = [*self._rows.values(), *self._beyond.values()]
        return np.flatnonzero(np.any(masks, axis=0)) if masks else np.empty(0, dtype=np.intp)

    def sources_of(self, row: int) -> tuple[str, ...]:
        """The sources of which a row has an unseen category."""
        return tuple(source for source, rows in self._rows.items() if rows[row])

    def beyond(self, row: int) -> tuple[int, ...]:
        """The columns in which a row has a whole number below or above those of training rows."""
        return tuple(feature for feature, rows in self._beyond.items() if rows[row])

    def words(self, source: str, row: int) -> str:
        """What is true of a row with an unseen category."""
        known = self._categories[source]
        more = len(known) - _MOST_CATEGORIES
        none = ", ".join(known[:_MOST_CATEGORIES]) + (f" and {more} more" if more > 0 else "")
        name = self._names.get(source, {}).get(row)
        if name is None:
            return f"{source} is none of {none}, which was not seen in training"
        return f'{source} is "{name}", which was not seen in training; treated as none of {none}'


def _all_zero(X: Any, members: list[int]) -> NDArray[np.bool_]:
    part = X.tocsc()[:, members].toarray() if sparse.issparse(X) else X[:, members]
    return np.asarray((part == 0).all(axis=1))


def _outside(X: Any, feature: int, low: float | None, high: float | None) -> NDArray[np.bool_]:
    values = column_of(X, feature)
    outside = np.zeros(len(values), dtype=bool)
    if low is not None:
        outside |= values < low
    if high is not None:
        outside |= values > high
    return outside
