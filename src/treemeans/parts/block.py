"""Block: the rows of one part, while a question is put to them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from treemeans import _core
from treemeans.columns.dates import dates_as_days
from treemeans.tables import as_points
from treemeans.tables.dense import NUMBER_TYPES


@dataclass(frozen=True)
class Block:
    """Rows that are in memory together.

    Attributes
    ----------
    number : of the part, from 0
    first : number of its first row among all rows; -1 while the parts have not been counted
    X : (n, d), of a number type that the kernels read
    raw : the same as the user gave it, which a reference pipeline is shown
    weights : of the rows; None where all are 1
    """

    number: int
    first: int
    X: NDArray[Any]
    raw: Any
    weights: NDArray[np.float64] | None = None

    @property
    def n_rows(self) -> int:
        """Rows of the block."""
        return int(self.X.shape[0])

    @cached_property
    def points(self) -> _core.Points:
        """The kernels' view of X."""
        return as_points(self.X)


@dataclass(frozen=True)
class Layout:
    """What the blocks of all parts have in common.

    Attributes
    ----------
    n_features : columns of each
    names : of the columns, where they have names that are all strings
    """

    n_features: int
    names: tuple[str, ...] | None = None

    def block(self, number: int, first: int, raw: Any, weights: Any = None) -> Block:
        """The rows of a part, checked but for values that are not finite: a sketch finds those."""
        table = np.asarray(self._numbers(number, raw))
        if table.ndim != 2 or table.shape[1] != self.n_features:
            raise ValueError(
                f"Partition {number} has the shape {table.shape}; the others have "
                f"{self.n_features} columns."
            )
        if weights is not None:
            weights = self._weights(number, weights, len(table))
        return Block(number, first, table, raw, weights)

    def _numbers(self, number: int, raw: Any) -> NDArray[Any]:
        if sparse.issparse(raw):
            raise ValueError(
                f"Partition {number} is sparse; rows in parts must be dense arrays or data frames."
            )
        names = _names_of(raw)
        if self.names is not None and names is not None and names != self.names:
            raise ValueError(
                f"Partition {number} has the columns {_some(names)}; the first one has "
                f"{_some(self.names)}."
            )
        table = np.asarray(dates_as_days(raw))
        if table.dtype.newbyteorder("=").type in NUMBER_TYPES:
            return table
        try:
            return table.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"Partition {number} holds something that is no number ({table.dtype}): {error}."
            ) from error

    def _weights(self, number: int, weights: Any, n_rows: int) -> NDArray[np.float64]:
        checked: NDArray[np.float64] = np.ascontiguousarray(weights, dtype=np.float64)
        if checked.shape != (n_rows,):
            raise ValueError(
                f"Partition {number} has {n_rows} rows, but weights of the shape {checked.shape}."
            )
        if not np.isfinite(checked).all() or (checked < 0).any():
            raise ValueError(f"The weights of partition {number} must be finite and not negative.")
        return checked


def _names_of(raw: Any) -> tuple[str, ...] | None:
    columns = getattr(raw, "columns", None)
    if columns is None or not all(isinstance(name, str) for name in columns):
        return None
    return tuple(columns)


def _some(names: tuple[str, ...]) -> str:
    return ", ".join(map(repr, names[:4])) + (", ..." if len(names) > 4 else "")
