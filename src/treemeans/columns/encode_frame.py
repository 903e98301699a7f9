"""The rows of a data frame as the numbers that a tree is grown on: a float64 matrix.

This is the only place where rows become numbers: a fit encodes its table with the columns it has
just planned, and every later call encodes its rows with the columns that the model has kept.
Missing values are NaN; a category is its code, ``UNSEEN`` if training rows had no such category.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemeans.columns.column import Column, Columns
from treemeans.columns.frame_values import (
    UNSEEN,
    Floats,
    missing_mask,
    to_codes,
    to_floats,
    to_texts,
    value_kind,
)

_MOST_NAMES = 8  # columns that a sentence names
_ACCEPTED = {  # kind of a column -> kinds of values that it takes
    "number": ("number", "integer", "boolean"),
    "integer": ("number", "integer", "boolean"),
    "flag": ("boolean", "number", "integer"),
    "category": ("boolean", "number", "integer"),
    "date": ("date", "time"),
    "time": ("date", "time"),
    "duration": ("duration",),
}
_HOLDS = {"date": "dates", "time": "dates", "duration": "durations", "flag": "true or false"}


@dataclass
class UnseenValues:
    """Categories in some rows that no training row had.

    Attributes
    ----------
    values : column -> number of the row -> the category
    """

    values: dict[str, dict[int, str]] = field(default_factory=dict)

    def add(self, series: Any, codes: Floats, first_row: int = 0) -> None:
        """Note the rows of a column whose code is ``UNSEEN``."""
        rows = np.flatnonzero(codes == UNSEEN)
        if len(rows):
            texts = to_texts(series[rows.tolist()]).to_list()
            found = self.values.setdefault(series.name, {})
            found.update(zip((rows + first_row).tolist(), texts, strict=True))


def encode_frame(
    frame: Any, columns: Columns, unseen: UnseenValues | None = None, first_row: int = 0
) -> Floats:
    """The columns of a model, from a frame of narwhals with columns of the same names.

    Parameters
    ----------
    frame : columns may be in any order, and there may be more than the model needs
    columns : tuple of Column
    unseen : filled with the rows whose category no training row had
    first_row : number of the first row

    Examples
    --------
    >>> import pandas as pd
    >>> from treemeans.columns.frame_values import open_frame
    >>> frame = open_frame(pd.DataFrame({"color": ["red", "blue", None], "age": [31, 42, 37]}))
    >>> encode_frame(frame, (Column("age"), Column("color", "codes", categories=("blue", "red"))))
    array([[31.,  1.],
           [42.,  0.],
           [37., nan]])
    """
    sources = [_source(frame, column) for column in columns]
    refuse_absent([column for column, at in zip(columns, sources, strict=True) if at is None])
    # By column in memory: columns are written one by one, and the kernels read them so.
    X = np.empty((len(frame), len(columns)), order="F")
    for i, (column, source) in enumerate(zip(columns, sources, strict=True)):
        X[:, i] = encode_column(frame[source], column, unseen, first_row)
    return X


def refuse_absent(absent: Sequence[Column]) -> None:
    """Refuse a table without columns that a model needs."""
    if absent:
        names = [repr(name) for name in dict.fromkeys(c.source or c.name for c in absent)]
        more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        raise ValueError(
            f"The table has no column{'s' if len(names) > 1 else ''} "
            f"{', '.join(names[:_MOST_NAMES])}{more}, which the model needs; add what is missing."
        )


def _source(frame: Any, column: Column) -> str | None:
    """The column of the frame that a column is made of."""
    names = frame.columns
    if column.name in names:
        return column.name
    return column.source if column.kind == "category" and column.source in names else None


def encode_column(
    series: Any, column: Column, unseen: UnseenValues | None = None, first_row: int = 0
) -> Floats:
    """A column as numbers."""
    kind = value_kind(series)
    if kind == "null":
        values = np.full(len(series), np.nan)
    elif column.kind == "codes" and column.categories and not kind.startswith("holds"):
        values = to_codes(series, {name: i for i, name in enumerate(column.categories)})
        if unseen is not None:
            unseen.add(series, values, first_row)
    elif column.kind == "category" and series.name == column.source != column.name:
        values = (to_codes(series, {column.value: 1}) == 1).astype(np.float64)
        values[missing_mask(series)] = np.nan
    else:
        values = _numbers(series, column, kind)
    if column.missing is not None:
        values[np.isnan(values)] = column.missing
    return values


def _numbers(series: Any, column: Column, kind: str) -> Floats:
    counts = column.is_date and not column.typed  # numbers that count since 1970
    accepted = _ACCEPTED["number"] if column.kind == "codes" else _ACCEPTED[column.kind]
    if kind not in accepted and not (counts and kind in _ACCEPTED["number"]):
        if bool(series.is_null().all()):  # of another type, but it holds nothing
            return np.full(len(series), np.nan)
        what = _HOLDS.get(column.kind, "numbers")
        found = "text" if kind == "text" else f"{kind}s"
        found = kind.removeprefix("holds ") if kind.startswith("holds") else found
        raise ValueError(
            f"Column {column.name!r} must hold {what}, as in training, but holds {found}; "
            "convert it."
        )
    is_counted = kind in ("date", "time", "duration")
    return to_floats(series, kind, column.unit if is_counted else "D")


def categorical_mask(columns: Iterable[Column]) -> NDArray[np.bool_]:
    """The columns that hold codes of categories."""
    return np.array([column.kind == "codes" for column in columns], dtype=bool)


def is_encoded(columns: Iterable[Column]) -> bool:
    """Whether rows must be encoded, because a column holds more than numbers and booleans."""
    return any(column.categories or (column.typed and not column.is_boolean) for column in columns)
