"""Tables as the numbers a model knows, by what it says of its columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute as pc

from treemeans.columns import Column, Columns
from treemeans.sheets.errors import InputError, check_different, listed, quoted
from treemeans.sheets.read import decimal_mark
from treemeans.sheets.values import Floats, as_dates, as_numbers, as_text, kind_of, mask_of, plain
from treemeans.sheets.written import UnreadableError

_BLOCK = 1 << 13  # rows that are encoded at once, few enough to stay in the cache
_MISSING, _UNSEEN = -1, -2  # in place of the number of a category


def encode_with(
    data: pa.Table | pa.RecordBatch,
    columns: Columns,
    *,
    first_row: int = 1,
    unseen: Counter[str] | None = None,
) -> Floats:
    """The columns of a model from a table with columns of the same names.

    Parameters
    ----------
    data : pyarrow.Table or pyarrow.RecordBatch
        Columns may stand in any order; more than the model needs do no harm.
    columns : tuple of Column
        One-hot columns come from columns of their names or, where these are not all there, from
        the column of categories, ``source``.
    first_row : int
        The number of the first row, for messages.
    unseen : Counter, optional
        To which the rows are added, for each source, whose category the model does not know.
        They have 0 in all its columns.

    Returns
    -------
    ndarray of shape (n_rows, len(columns))

    Examples
    --------
    >>> table = pa.table({"color": ["red", "blue"], "age": [31, 42]})
    >>> red = Column("color=red", "category", source="color", value="red")
    >>> encode_with(table, (Column("age"), red))
    array([[31.,  1.],
           [42.,  0.]])
    """
    check_different(data.schema.names, "The table")
    derived = _derived(data.schema.names, columns)
    X = np.zeros((data.num_rows, len(columns)))
    for start in range(0, data.num_rows, _BLOCK):
        part = data.slice(start, _BLOCK)
        _encode_part(X[start : start + _BLOCK], part, columns, derived, first_row + start, unseen)
    return X


def _encode_part(
    X: Floats,
    data: pa.Table | pa.RecordBatch,
    columns: Columns,
    derived: Mapping[str, Sequence[int]],
    first_row: int,
    unseen: Counter[str] | None,
) -> None:
    """Fill X, which is zero."""
    for source, members in derived.items():
        known = [columns[i] for i in members]
        codes = _codes(data.column(source), source, [column.value for column in known])
        if unseen is not None and (strange := np.count_nonzero(codes == _UNSEEN)):
            unseen[source] += int(strange)
        rows = np.flatnonzero(codes >= 0)
        X[rows, np.array(members)[codes[rows]]] = 1
        missing = codes == _MISSING
        if missing.any():
            X[np.ix_(missing, members)] = _stand_ins(known, first_row + int(np.argmax(missing)))
    taken = {i for members in derived.values() for i in members}
    mark = decimal_mark(data)
    for i, column in enumerate(columns):
        if i not in taken:
            values = _column_values(data.column(column.name), column, mark, first_row)
            X[:, i] = _filled(values, column, first_row)


def sources(columns: Columns) -> list[str]:
    """The columns of categories that one-hot columns come from."""
    return list(dict.fromkeys(column.source for column in columns if column.kind == "category"))


def _column_values(values: Any, column: Column, decimal: str, first_row: int) -> Floats:
    """A column that is no category as numbers, NaN where there is no value."""
    what = "dates, written like 2024-12-31," if column.is_date else "numbers"
    try:
        found = _read(values, column, decimal)
    except UnreadableError as error:
        raise InputError(
            f"Column {quoted(column.name)} must hold {what} but has {quoted(error.value)} in data "
            f"row {first_row + error.place}; correct it."
        ) from None
    if found is None:
        raise InputError(
            f"Column {quoted(column.name)} must hold {what} but is of the type {values.type}; "
            "convert it."
        )
    infinite = np.flatnonzero(np.isinf(found))
    if len(infinite):
        refuse_infinite(len(infinite), column.name, first_row + int(infinite[0]))
    return found


def refuse_infinite(count: int, name: str, row: int) -> None:
    """Infinity has no distance to anything."""
    if count:
        raise InputError(
            f"Column {quoted(name)} has {count} infinite value{'' if count == 1 else 's'}, the "
            f"first in data row {row}; replace them by numbers or leave them empty."
        )


def absent(data: pa.Table | pa.RecordBatch, columns: Columns) -> NDArray[np.bool_]:
    """The rows of a table that lack a value in a column that these come from."""
    found = np.zeros(data.num_rows, dtype=bool)
    for source in sources(columns):
        found |= mask_of(pc.is_null(as_text(data.column(source))))
    for column in columns:
        if column.kind != "category":
            values = _column_values(data.column(column.name), column, decimal_mark(data), 1)
            found |= np.isnan(values)
    return found


def _derived(names: Sequence[str], columns: Columns) -> dict[str, list[int]]:
    """The sources to make one-hot columns from, with the places of these; all else is there."""
    there = set(names)
    absent: list[str] = []
    derived: dict[str, list[int]] = {}
    for source in sources(columns):
        members = [i for i, c in enumerate(columns) if c.kind == "category" and c.source == source]
        if all(columns[i].name in there for i in members):
            continue
        if source in there:
            derived[source] = members
        else:
            absent.append(source)
    absent += [c.name for c in columns if c.kind != "category" and c.name not in there]
    if absent:
        noun = "columns" if len(absent) > 1 else "column"
        raise InputError(
            f"The table has no {noun} {listed(absent)}, which the model needs; add what is missing."
        )
    return derived


def _read(values: Any, column: Column, decimal: str) -> Floats | None:
    """The numbers of a column; dates may stand where a model counts from 1970."""
    if not column.is_date:
        return as_numbers(values, decimal, flags=column.kind in ("flag", "category"))
    is_number = kind_of(values.type) in ("integer", "number")
    if is_number and not column.typed:
        return as_numbers(values)
    try:
        return as_dates(values, column.unit)
    except UnreadableError:
        if column.typed:
            raise
        return as_numbers(values, decimal)


def _filled(values: Floats, column: Column, first_row: int) -> Floats:
    missing = np.isnan(values)
    if not missing.any():
        return values
    if column.missing is None:
        raise _nothing_there(column.name, first_row + int(np.argmax(missing)))
    return np.where(missing, column.missing, values)


def _stand_ins(known: Sequence[Column], row: int) -> list[float]:
    """The category that stands in where there is none."""
    found = [column.missing for column in known if column.missing is not None]
    if len(found) < len(known):
        raise _nothing_there(known[0].source, row)
    return found


def _codes(values: Any, source: str, categories: list[str]) -> NDArray[np.int64]:
    """The number of each row's category."""
    values = plain(values)
    kind = kind_of(values.type)
    if kind in ("integer", "number"):  # 1 and 1.0 are both the category "1"
        values = pc.cast(values, pa.float64(), safe=False)
        missing = pc.is_null(values, nan_is_null=True)
        known = pa.array([_number(category) for category in categories], pa.float64())
    else:
        if not kind:
            raise InputError(
                f"Column {quoted(source)} must hold categories but is of the type {values.type}; "
                "convert it."
            )
        values = as_text(values)
        missing = pc.is_null(values)
        if kind == "flag":
            categories = [category.lower() for category in categories]
        known = pa.array(categories, values.type)
    found = pc.fill_null(pc.index_in(values, value_set=known), _UNSEEN)
    codes = np.array(found, dtype=np.int64)
    codes[mask_of(missing)] = _MISSING
    return codes


def _number(category: str) -> float | None:
    try:
        return float(category)
    except ValueError:
        return None


def _nothing_there(name: str, row: int) -> InputError:
    return InputError(
        f"Column {quoted(name)} has no value in data row {row}, and the model was fitted without "
        "missing values; fill it in, or fit again with --missing median."
    )
