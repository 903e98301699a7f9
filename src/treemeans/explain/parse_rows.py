"""Reading rows as users give them: an array, a dict, a row of a data frame, or a whole table."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from treemeans.columns import Column, Columns
from treemeans.columns.dates import PER_DAY, read_date, to_count
from treemeans.columns.encode_frame import UnseenValues
from treemeans.explain.column_lookup import ColumnLookup
from treemeans.explain.phrases import listed


def single_row(rows: Any, lookup: ColumnLookup) -> NDArray[np.float64] | None:
    """A single row as a table of one row; None for what is a table already.

    A row is a 1-d array, a list of values, a mapping of columns to values, or a Series. A mapping
    may give ``color: red`` in place of its one-hot columns.
    """
    if isinstance(rows, Mapping):
        return _of_mapping(rows, lookup)[None, :]
    if hasattr(rows, "columns"):
        return None
    if sparse.issparse(rows):
        return None if rows.ndim == 2 else _of_values(rows.toarray(), lookup)[None, :]
    if hasattr(rows, "iloc"):  # a pandas Series, which can name its values
        if any(isinstance(label, str) for label in rows.index):
            return _of_mapping(dict(rows.items()), lookup)[None, :]
        rows = rows.tolist()
    return None if _is_nested(rows) else _of_values(rows, lookup)[None, :]


def note_unseen(rows: Any, lookup: ColumnLookup, unseen: UnseenValues) -> None:
    """Note the categories of mappings that no training row had."""
    if hasattr(rows, "iloc") and not hasattr(rows, "columns"):
        rows = dict(rows.items())
    mappings = [rows] if isinstance(rows, Mapping) else rows if isinstance(rows, list) else []
    for number, row in enumerate(mappings):
        for key, value in row.items() if isinstance(row, Mapping) else ():
            if isinstance(value, str) and key in lookup:
                column = lookup.columns[lookup[key][0]]
                if column.categories and value not in column.categories:
                    unseen.values.setdefault(column.name, {})[number] = value


def is_one_row(table: Any) -> bool:
    """Whether a table is how one row is taken out of a data frame or a sparse matrix."""
    return bool((hasattr(table, "columns") or sparse.issparse(table)) and table.shape[0] == 1)


def stacked(rows: Any, lookup: ColumnLookup) -> NDArray[np.float64] | None:
    """A list of mappings as a table; None for what is a table already."""
    if isinstance(rows, list | tuple) and rows and all(isinstance(row, Mapping) for row in rows):
        return np.array([_of_mapping(row, lookup) for row in rows])
    return None


def refuse_missing(X: Any, columns: Columns, *, accept_missing: bool = False) -> None:
    """Refuse the first value that is infinite, or NaN where that is not accepted."""
    refused = np.isinf if accept_missing else _is_not_finite
    if not refused(X.data if sparse.issparse(X) else X).any():
        return
    if sparse.issparse(X):
        entries = X.tocoo()
        first = np.flatnonzero(refused(entries.data))[0]
        row, column, value = entries.row[first], entries.col[first], entries.data[first]
    else:
        row, column = np.argwhere(refused(X))[0]
        value = X[row, column]
    which = f"Row {row}" if X.shape[0] > 1 else "The row"
    name = columns[column].name
    if columns[column].kind == "codes" and np.isnan(value):
        raise ValueError(
            f"{which} has no value for {name}, and a split on it met no missing value in training, "
            "so it has no side for one; fill it in, or call model.with_missing_sides() first."
        )
    raise ValueError(f"{which} has no number for {name}: {value}.")


def _is_not_finite(values: NDArray[Any]) -> NDArray[np.bool_]:
    return np.asarray(~np.isfinite(values))


def number_of(value: Any, column: Column, *, accept_missing: bool = False) -> float:
    """What a value of a column is in X; a date may also be text, as in the file or ISO.

    A category may be given by its name; one that is not known gets a code that no category has.
    Where all categories are numbers, a number is a name too; elsewhere it is a code.
    """
    if _is_missing(value):
        if accept_missing:
            return math.nan
        raise ValueError(f"There is no value for {column.name}: {value!r}.")
    if column.categories and _is_category(value, column):
        return next(
            (float(column.categories.index(x)) for x in _names_of(value) if x in column.categories),
            -1.0,
        )
    when = _moment_of(value) if column.is_date else None
    if when is None and column.date_format and isinstance(value, str):
        when = read_date(value, column.date_format)
    if when is not None:
        return to_count(when, column.unit)
    if column.kind == "duration" and isinstance(value, timedelta | np.timedelta64):
        return _microseconds(value) * PER_DAY[column.unit] / PER_DAY["us"]
    try:
        if isinstance(value, str | bytes | np.datetime64):
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError):
        kind = {"date": "date", "time": "date", "duration": "duration"}.get(column.kind, "number")
        raise ValueError(f"{column.name} must be a {kind}; got {value!r}.") from None


def _is_category(value: Any, column: Column) -> bool:
    """Whether a value is the name of a category, and not a code."""
    is_plain_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    return not is_plain_number or column.has_number_names


def _names_of(value: Any) -> list[str]:
    """How a table with this value may have named its category: 1.0 is 1 in a column of numbers."""
    is_whole = isinstance(value, float | np.floating) and float(value).is_integer()
    return [str(value), *([str(int(value))] if is_whole else [])]


def _microseconds(value: Any) -> float:
    if isinstance(value, np.timedelta64):
        return float(value / np.timedelta64(1, "us"))
    return float(value // timedelta(microseconds=1))


def _of_values(values: Any, lookup: ColumnLookup) -> NDArray[np.float64]:
    columns, accept_missing = lookup.columns, lookup.accepts_missing
    given = list(values) if np.ndim(values) == 1 else [values]
    if len(given) != len(columns):
        raise ValueError(f"A row needs a value for each of {len(columns)} columns; got {values!r}.")
    return np.array(
        [
            number_of(value, column, accept_missing=accept_missing)
            for value, column in zip(given, columns, strict=True)
        ]
    )


def _of_mapping(row: Mapping[Any, Any], lookup: ColumnLookup) -> NDArray[np.float64]:
    columns = lookup.columns
    numbers = np.zeros(len(columns))
    given = np.zeros(len(columns), dtype=bool)
    for key, value in row.items():
        if key not in lookup:
            continue
        places = lookup[key]
        if lookup.is_source(key):
            numbers[places] = _one_hot(value, [columns[i] for i in places])
        else:
            numbers[places] = number_of(
                value, columns[places[0]], accept_missing=lookup.accepts_missing
            )
        given[places] = True
    missing = [columns[i].name for i in np.flatnonzero(~given)]
    unknown = [repr(key) for key in row if key not in lookup]
    if missing or unknown:
        raise ValueError(_mismatch(missing, unknown))
    return numbers


def _one_hot(value: Any, members: list[Column]) -> list[float]:
    """The values of a source's one-hot columns for a category given by its name."""
    found = [float(column.value == str(value)) for column in members]
    if members[0].complete and not any(found):
        known = listed([column.value for column in members], "or")
        raise ValueError(f"{members[0].source} must be {known}; got {value!r}.")
    return found


def _mismatch(missing: list[str], unknown: list[str]) -> str:
    parts = [f"has no value for {listed(missing)}"] if missing else []
    if unknown:
        parts.append(f"names {listed(unknown)}, which is not a column")
    return f"The row {' and '.join(parts)}."


def _is_nested(rows: Any) -> bool:
    if isinstance(rows, list | tuple):
        return any(isinstance(row, Mapping) or np.ndim(row) > 0 for row in rows)
    return np.ndim(rows) > 1


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    kinds = float | np.floating | np.datetime64 | np.timedelta64
    return isinstance(value, kinds) and bool(value != value)


def _moment_of(value: Any) -> datetime | None:
    """A date in UTC, of any of the types that dates come in."""
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    if isinstance(value, datetime):
        plain = value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
        # By way of text, because differences of pandas' dates include nanoseconds.
        return datetime.fromisoformat(plain.isoformat(timespec="microseconds"))
    return datetime(value.year, value.month, value.day) if isinstance(value, date) else None
