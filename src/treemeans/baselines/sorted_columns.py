"""Every column of some rows in sorted order, which is kept while the rows are divided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class SortedColumns:
    """The rows of a node, sorted once for each feature.

    Attributes
    ----------
    order : (n_features, m), row numbers; in each line all m rows of the node, by their value
    values : (n_features, m), the values in that order
    weights : of all rows of the table
    """

    order: NDArray[np.int32]
    values: NDArray[np.float64]
    weights: NDArray[np.float64]

    @classmethod
    def of(cls, X: NDArray[np.float64], weights: NDArray[np.float64]) -> Self:
        """All rows that have weight. Rows of equal value stand as they do in X."""
        rows = np.flatnonzero(weights).astype(np.int32)
        columns = np.ascontiguousarray(X[rows].T)
        order = np.argsort(columns, axis=1, kind="stable")
        return cls(rows[order], np.take_along_axis(columns, order, axis=1), weights)

    @property
    def rows(self) -> NDArray[np.int32]:
        """The rows, by their value of the first feature."""
        first: NDArray[np.int32] = self.order[0]
        return first

    @property
    def weight(self) -> float:
        """Weight of all rows together."""
        return float(self.weights[self.rows].sum())

    def upto(self) -> NDArray[np.float64]:
        """(n_features, m), the weight of the rows up to each place."""
        return np.cumsum(self.weights[self.order], axis=1)

    def last_of_value(self) -> NDArray[np.bool_]:
        """(n_features, m), whether a place is the last one of its value."""
        last = np.ones(self.values.shape, dtype=bool)
        np.not_equal(self.values[:, :-1], self.values[:, 1:], out=last[:, :-1])
        return last

    def part(self, feature: int, threshold: float) -> tuple[SortedColumns, SortedColumns]:
        """The rows with a value up to the threshold, and the others, still in order."""
        n_left = int(np.searchsorted(self.values[feature], threshold, side="right"))
        left = np.zeros(len(self.weights), dtype=bool)
        left[self.order[feature, :n_left]] = True
        there = left[self.order]
        return self._only(there), self._only(~there)

    def _only(self, there: NDArray[np.bool_]) -> SortedColumns:
        shape = (len(self.order), -1) if there.any() else (len(self.order), 0)
        return SortedColumns(
            self.order[there].reshape(shape), self.values[there].reshape(shape), self.weights
        )
