"""The rows of a table as the numbers that a model was fitted to.

This is the only place where rows become numbers: a fit encodes its own table with the columns that
it has just inferred, and ``predict`` any other table with the columns that the model has kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute as pc

from treemeans.columns import Column, Columns
from treemeans.files.arrow_to_float import (
    Floats,
    arrow_kind,
    plain_values,
    to_dates,
    to_mask,
    to_numbers,
    to_text,
)
from treemeans.files.file_errors import (
    InputError,
    check_different,
    quoted,
    quoted_list,
    refuse_infinite,
)
from treemeans.files.parse_text import UnparsableTextError
from treemeans.files.read_table import decimal_mark

_BLOCK = 1 << 13  # rows that are encoded at once, few enough to stay in the cache
_MISSING, _UNSEEN = -1, -2  # in place of the index of a category

UnseenValues = dict[str, dict[int, str]]
"""Source of categories -> number of the row -> the category that the model does not know."""


def encode_for_model(
    data: pa.Table | pa.RecordBatch,
    columns: Columns,
    *,
    first_row: int = 1,
    unseen: UnseenValues | None = None,
) -> Floats:
    """The columns of a model, from a table with columns of the same names.

    Parameters
    ----------
    data : pyarrow.Table or pyarrow.RecordBatch
        Columns may be in any order, and there may be more than the model needs.
    columns : tuple of Column
        One-hot columns come from columns of their names or, if these are not all there, from
        the column of categories, ``source``.
    first_row : int
        The number of the first row, for messages.
    unseen : dict, optional
        Filled, for each source, with the rows whose category the model does not know, by number,
        and that category. They have 0 in all columns of the source.

    Returns
    -------
    ndarray of shape (n_rows, len(columns))

    Examples
    --------
    >>> table = pa.table({"color": ["red", "blue"], "age": [31, 42]})
    >>> red = Column("color=red", "category", source="color", value="red")
    >>> encode_for_model(table, (Column("age"), red))
    array([[31.,  1.],
           [42.,  0.]])
    """
    check_different(data.schema.names, "The table")
    one_hot = _sources_to_encode(data.schema.names, columns)
    X = np.zeros((data.num_rows, len(columns)))
    for start in range(0, data.num_rows, _BLOCK):
        block, rows = data.slice(start, _BLOCK), slice(start, start + _BLOCK)
        for members in one_hot.values():
            known = [columns[i] for i in members]
            _encode_categories(X[rows], block, known, members, first_row + start, unseen)
        encoded = {i for members in one_hot.values() for i in members}
        for i, column in enumerate(columns):
            if i not in encoded:
                values = column_numbers(block, column, first_row + start)
                X[rows, i] = _filled(values, column, first_row + start)
    return X


def category_sources(columns: Columns) -> list[str]:
    """The columns of categories from which one-hot columns are made."""
    return list(dict.fromkeys(column.source for column in columns if column.kind == "category"))


def missing_rows(data: pa.Table | pa.RecordBatch, columns: Columns) -> NDArray[np.bool_]:
    """The rows of a table that lack a value from which one of the columns is made."""
    found = np.zeros(data.num_rows, dtype=bool)
    for source in category_sources(columns):
        found |= to_mask(pc.is_null(to_text(data.column(source))))
    for column in columns:
        if column.kind != "category":
            found |= np.isnan(column_numbers(data, column))
    return found


def _sources_to_encode(names: Sequence[str], columns: Columns) -> dict[str, list[int]]:
    """The sources of which one-hot columns must be made, and the positions of these columns."""
    there = set(names)
    absent: list[str] = []
    one_hot: dict[str, list[int]] = {}
    for source in category_sources(columns):
        members = [i for i, c in enumerate(columns) if c.kind == "category" and c.source == source]
        if all(columns[i].name in there for i in members):
            continue  # the table has one-hot columns already
        if source in there:
            one_hot[source] = members
        else:
            absent.append(source)
    absent += [c.name for c in columns if c.kind != "category" and c.name not in there]
    if absent:
        noun = "columns" if len(absent) > 1 else "column"
        raise InputError(
            f"The table has no {noun} {quoted_list(absent)}, which the model needs; add what is "
            "missing."
        )
    return one_hot


def _encode_categories(
    X: Floats,
    data: pa.Table | pa.RecordBatch,
    known: Sequence[Column],
    members: Sequence[int],
    first_row: int,
    unseen: UnseenValues | None,
) -> None:
    """Set the one-hot columns of one source; X is zero."""
    source = known[0].source
    values = data.column(source)
    codes = _category_codes(values, source, [column.value for column in known])
    rows = np.flatnonzero(codes >= 0)
    X[rows, np.array(members)[codes[rows]]] = 1
    missing = codes == _MISSING
    if missing.any():
        X[np.ix_(missing, members)] = _fill_values(known, first_row + int(np.argmax(missing)))
    strange = np.flatnonzero(codes == _UNSEEN)
    if unseen is not None and len(strange):
        text = to_text(values).take(pa.array(strange)).to_pylist()
        unseen.setdefault(source, {}).update(zip((first_row + strange).tolist(), text, strict=True))


def _category_codes(values: Any, source: str, categories: list[str]) -> NDArray[np.int64]:
    """The index of each row's category."""
    values = plain_values(values)
    kind = arrow_kind(values.type)
    if kind == "unsupported":
        raise InputError(
            f"Column {quoted(source)} must hold categories but is of the type {values.type}; "
            "convert it."
        )
    if kind in ("integer", "number"):  # 1 and 1.0 are both the category "1"
        values = pc.cast(values, pa.float64(), safe=False)
        missing = pc.is_null(values, nan_is_null=True)
        known = pa.array([_number(category) for category in categories], pa.float64())
    else:
        values = to_text(values)
        missing = pc.is_null(values)
        if kind == "flag":
            categories = [category.lower() for category in categories]
        known = pa.array(categories, values.type)
    found = pc.fill_null(pc.index_in(values, value_set=known), _UNSEEN)
    codes = np.array(found, dtype=np.int64)
    codes[to_mask(missing)] = _MISSING
    return codes


def _number(category: str) -> float | None:
    try:
        return float(category)
    except ValueError:
        return None


def column_numbers(data: pa.Table | pa.RecordBatch, column: Column, first_row: int = 1) -> Floats:
    """A column that is no category as numbers, NaN where a value is missing."""
    values = data.column(column.name)
    what = "dates, written like 2024-12-31," if column.is_date else "numbers"
    try:
        found = _parse_column(values, column, decimal_mark(data))
    except UnparsableTextError as error:
        raise InputError(
            f"Column {quoted(column.name)} must hold {what} but has {quoted(error.value)} in data "
            f"row {first_row + error.position}; correct it."
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


def _parse_column(values: Any, column: Column, decimal: str) -> Floats | None:
    if not column.is_date:
        return to_numbers(values, decimal, flags=column.kind in ("flag", "category"))
    is_number = arrow_kind(values.type) in ("integer", "number")
    # A model of numbers that count since 1970 also takes the dates themselves.
    if is_number and not column.typed:
        return to_numbers(values)
    try:
        return to_dates(values, column.unit)
    except UnparsableTextError:
        if column.typed:
            raise
        return to_numbers(values, decimal)


def _filled(values: Floats, column: Column, first_row: int) -> Floats:
    missing = np.isnan(values)
    if not missing.any():
        return values
    if column.missing is None:
        raise _missing_value(column.name, first_row + int(np.argmax(missing)))
    return np.where(missing, column.missing, values)


def _fill_values(known: Sequence[Column], row: int) -> list[float]:
    """The one-hot columns of the category that replaces a missing one."""
    found = [column.missing for column in known if column.missing is not None]
    if len(found) < len(known):
        raise _missing_value(known[0].source, row)
    return found


def _missing_value(name: str, row: int) -> InputError:
    return InputError(
        f"Column {quoted(name)} has no value in data row {row}, and the model was fitted without "
        "missing values; fill it in, or fit again with --missing median."
    )
