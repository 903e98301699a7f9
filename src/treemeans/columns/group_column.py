"""GroupColumn: a column whose shares in clusters are limited, or that they should not reveal."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from treemeans.columns.column import Columns
from treemeans.columns.frame_values import open_frame
from treemeans.columns.number_text import format_number

MISSING = "missing"
"""The text of a value that is not there."""


@dataclass(frozen=True)
class GroupColumn:
    """The values of a column, row by row: numbers of texts, and the numbers they are, if any.

    Attributes
    ----------
    name : of the column
    texts : its values as text, each once
    codes : (n_rows,), which of the texts a row has
    numbers : (n_rows,), the values themselves, NaN where one is missing; None for categories
    is_flag : whether its values are true and false, or 1 and 0
    """

    name: str
    texts: tuple[str, ...]
    codes: NDArray[np.int32]
    numbers: NDArray[np.float64] | None = None
    is_flag: bool = False

    @classmethod
    def of(cls, name: str, values: Any) -> GroupColumn:
        """Read values of any type; what is None or NaN is missing.

        Examples
        --------
        >>> column = GroupColumn.of("gender", ["f", "m", None, "f"])
        >>> column.texts, column.codes.tolist()
        (('f', 'm', 'missing'), [0, 1, 2, 0])
        """
        found = np.asarray(values)
        if found.ndim != 1:
            raise ValueError(f"Column {name!r} must have one value for each row.")
        if found.dtype.kind == "b":
            flags = found.astype(np.int32)
            return cls(name, ("False", "True"), flags, found.astype(np.float64), True)
        if found.dtype.kind in "mM":
            gaps = np.isnat(found)
            found = np.where(gaps, np.nan, found.astype("int64").astype(np.float64))
        if found.dtype.kind in "iuf":
            return cls._of_numbers(name, found.astype(np.float64))
        as_text = [MISSING if is_missing(value) else str(value) for value in found.tolist()]
        texts, codes = np.unique(np.array(as_text, dtype=object), return_inverse=True)
        flag = set(texts.tolist()) <= {"False", "True"}
        return cls(name, tuple(texts.tolist()), codes.astype(np.int32), None, flag)

    @classmethod
    def _of_numbers(cls, name: str, values: NDArray[np.float64]) -> GroupColumn:
        distinct, codes = np.unique(values, return_inverse=True)
        texts = tuple(MISSING if np.isnan(each) else format_number(each) for each in distinct)
        flag = bool(np.isin(distinct, (0.0, 1.0)).all())
        return cls(name, texts, codes.astype(np.int32), values, flag)

    def members(self, value: Any) -> NDArray[np.bool_] | None:
        """The rows that have a value; None where no row has it."""
        text = value_text(value)
        if isinstance(value, bool | np.bool_) and text not in self.texts:
            text = str(int(value))
        if text not in self.texts:
            return None
        return np.asarray(self.codes == self.texts.index(text))

    def revealed(self, labels: NDArray[np.int32], weights: NDArray[np.float64] | None) -> float:
        """How much better the column is guessed from a row's cluster than from no knowledge.

        Of numbers it is R^2: the share of the variance that lies between the clusters. Of
        categories it is Goodman and Kruskal's tau: if the value of a row is guessed by drawing one
        from all rows, some guesses are wrong; tau is the share of these errors that are avoided by
        drawing from the rows of the same cluster. For a column of two values both are the same.
        0 is nothing, 1 is everything; 0 also for a column that has one value.

        Examples
        --------
        >>> column = GroupColumn.of("gender", ["f", "f", "m", "m"])
        >>> column.revealed(np.array([0, 0, 1, 1]), None)
        1.0
        >>> column.revealed(np.array([0, 1, 0, 1]), None)
        0.0
        """
        weight = np.ones(len(labels)) if weights is None else weights
        # Times a power of two, so that squares of weights do not overflow.
        weight = np.ldexp(weight, -int(np.frexp(weight.max(initial=1.0))[1]))
        if self.numbers is not None:
            return _variance_between(self.numbers, labels, weight)
        shape = (int(labels.max(initial=0)) + 1, len(self.texts))
        cell = labels.astype(np.int64) * shape[1] + self.codes
        table = np.bincount(cell, weight, minlength=shape[0] * shape[1]).reshape(shape)
        size, total = table.sum(axis=1), table.sum()
        chance = float((table.sum(axis=0) ** 2).sum() / total**2) if total else 1.0
        if chance >= 1.0:
            return 0.0
        within = float((table**2).sum(axis=1)[size > 0] @ (1.0 / size[size > 0])) / total
        return _share((within - chance) / (1.0 - chance))


def _variance_between(
    values: NDArray[np.float64], labels: NDArray[np.int32], weight: NDArray[np.float64]
) -> float:
    there = np.isfinite(values) & (weight > 0)
    values, labels, weight = values[there], labels[there], weight[there]
    if not len(values):
        return 0.0
    away = values - np.average(values, weights=weight)
    largest = np.abs(away).max()
    if largest == 0:
        return 0.0
    away = away / largest  # squares of large values must not overflow
    size, sums = np.bincount(labels, weight), np.bincount(labels, weight * away)
    total = float(weight @ away**2)
    return _share(float((sums[size > 0] ** 2 / size[size > 0]).sum()) / total)


def _share(value: float) -> float:
    """A share from which rounding is taken off."""
    return float(min(1.0, max(0.0, round(value, 12))))


def value_text(value: Any) -> str:
    """A value as the texts of a column have it."""
    if is_missing(value):
        return MISSING
    if isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_):
        return format_number(float(value))
    return str(value)


def is_missing(value: Any) -> bool:
    """Whether a value is None or no number, as data frames write a value that is not there."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def find_group_column(
    key: Any,
    where: str,
    groups: Any,
    table: Any,
    X: Any,
    names: NDArray[Any] | None,
    columns: Columns | None = None,
) -> GroupColumn:
    """A column by its name, or by its number in X.

    Parameters
    ----------
    where : the parameter that asks for it, for the message
    groups : columns that the user gives apart from X: a data frame or a dict; None for none
    table : X as the user gave it
    X : the same as an array or sparse matrix
    names : of the columns of X
    columns : what these are, where X is encoded
    """
    n_rows = X.shape[0]
    for source in (groups, table):
        values = _column_of(source, key)
        if values is not None:
            column = GroupColumn.of(str(key), values)
            if len(column.codes) != n_rows:
                raise ValueError(
                    f"Column {key!r} has {len(column.codes)} values, but X has {n_rows} rows."
                )
            return column
    position = _position(key, X.shape[1], names)
    if position is None:
        raise ValueError(
            f"{where} names {key!r}, which is no column of X; a column that is not clustered by "
            f"is given to fit: groups={{{key!r}: values}}."
        )
    values = X[:, [position]]
    values = values.toarray() if sparse.issparse(values) else values
    name = str(key) if names is None else str(names[position])
    found = np.asarray(values)[:, 0]
    if columns is not None and columns[position].kind == "codes":
        codes = columns[position]
        found = np.array([None if np.isnan(v) else codes.category(v) for v in found], dtype=object)
    return GroupColumn.of(name, found)


def _column_of(source: Any, key: Any) -> Any:
    """The values of a column of a data frame or dict; None where it has no such column."""
    if isinstance(source, Mapping):
        return source.get(key)
    frame = open_frame(source)
    if frame is None or not isinstance(key, str) or key not in frame.columns:
        return None
    return frame[key].to_numpy()


def _position(key: Any, n_columns: int, names: NDArray[Any] | None) -> int | None:
    if isinstance(key, str):
        found = [] if names is None else np.flatnonzero(names == key).tolist()
        return int(found[0]) if found else None
    whole = isinstance(key, numbers.Integral) and not isinstance(key, bool)
    return int(key) % n_columns if whole and -n_columns <= key < n_columns else None
