"""Tables as numbers to cluster, and what these numbers stand for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from treemeans.columns import Columns
from treemeans.sheets.encode_with import encode_with, sources
from treemeans.sheets.errors import InputError, check_different, check_names, quoted, some
from treemeans.sheets.looks import Look, Wish, looked_at
from treemeans.sheets.read import decimal_mark
from treemeans.sheets.values import Floats

MISSING = ("refuse", "drop", "median")

__all__ = ["MISSING", "Encoded", "encode", "encode_with", "sources"]


@dataclass(frozen=True)
class Encoded:
    """A table as numbers.

    Attributes
    ----------
    X : (n_rows, n_columns)
    columns : what is known of the columns of X; enough for ``encode_with``
    rows : the rows of the table that X holds, counted from 0
    dropped : how many it does not hold
    notes : sentences for the user about what was left out or taken for something
    """

    X: Floats
    columns: Columns
    rows: NDArray[np.int64]
    dropped: int
    notes: list[str] = field(default_factory=list)

    @property
    def n_rows(self) -> int:
        """Rows that X holds."""
        return len(self.X)


def encode(
    table: pa.Table,
    *,
    columns: Sequence[str] | None = None,
    id: str | None = None,  # noqa: A002
    missing: str = "refuse",
) -> Encoded:
    """Numbers as they are, dates as days since 1970, a 0/1 column for each category.

    Parameters
    ----------
    table : pyarrow.Table
    columns : sequence of str, optional
        Those to use, in this order; by default all that can be used and are no identifiers.
    id : str, optional
        The column that identifies rows; it is not used.
    missing : {"refuse", "drop", "median"}
        What to do with rows that have no value in some column. "median" puts the median in its
        place, and the most frequent category; the columns keep it for later tables.

    Examples
    --------
    >>> table = pa.table({"age": [31, 42, 37], "color": ["red", "blue", "red"]})
    >>> encoded = encode(table)
    >>> [column.name for column in encoded.columns]
    ['age', 'color=red', 'color=blue']
    >>> encoded.X
    array([[31.,  1.,  0.],
           [42.,  0.,  1.],
           [37.,  1.,  0.]])
    """
    check_missing(missing)
    names = names_to_use(table.schema.names, table.num_rows, columns, id)
    wish = Wish(columns is not None, missing == "median", decimal_mark(table))
    looks = [looked_at(name, table.column(name), wish) for name in names]
    rows = np.arange(table.num_rows)
    absent = _absent(looks, table.num_rows)
    if absent.any() and missing == "refuse":
        raise refused(_lacking(looks), int(absent.sum()), len(absent))
    if absent.any() and missing == "drop":
        rows = np.flatnonzero(~absent)
        if not len(rows):
            raise refused(_lacking(looks), len(absent), len(absent))
        table = table.take(rows)
        looks = [  # some values may be gone, and what is left be the same in all rows
            looked_at(look.name, table.column(look.name), wish) if look.used else look
            for look in looks
        ]
    described = described_by(looks, table.schema.names)
    notes = [look.note for look in looks if look.note]
    X = encode_with(table.select([look.name for look in looks if look.used]), described)
    return Encoded(X, described, rows, len(absent) - len(rows), notes)


def check_missing(missing: str) -> None:
    """Refuse what nobody knows how to do."""
    if missing not in MISSING:
        raise InputError(f"--missing must be one of {', '.join(MISSING)}; got {quoted(missing)}.")


def names_to_use(
    names: Sequence[str], n_rows: int, columns: Sequence[str] | None, identifier: str | None
) -> list[str]:
    """The columns to look at."""
    check_different(names, "The table")
    check_names([identifier] if identifier is not None else [], names, "the table")
    check_names(columns or (), names, "the table")
    if not n_rows:
        raise InputError("The table has no rows; there must be some.")
    if columns is not None and not len(columns):
        raise InputError("No column is asked for; name at least one.")
    if columns is not None and identifier in columns:
        raise InputError(
            f"Column {quoted(str(identifier))} cannot both identify rows and be clustered by; "
            "name it once."
        )
    return [name for name in dict.fromkeys(columns or names) if name != identifier]


def _absent(looks: Sequence[Look], n_rows: int) -> NDArray[np.bool_]:
    """The rows that lack a value in a column that is used."""
    absent = np.zeros(n_rows, dtype=bool)
    for look in looks:
        if look.used and look.missing is not None:
            absent |= look.missing
    return absent


def _lacking(looks: Sequence[Look]) -> dict[str, int]:
    """How many values the columns lack that are used."""
    return {
        look.name: int(look.missing.sum())
        for look in looks
        if look.used and look.missing is not None
    }


def refused(lacking: Mapping[str, int], n_absent: int, n_rows: int) -> InputError:
    """For rows without values in some columns."""
    columns = some(f"{quoted(name)}: {count}" for name, count in lacking.items())
    if n_absent == n_rows:
        advice = "use --missing median, or --columns to use other columns."
    else:
        advice = "use --missing drop or --missing median, or fill them in."
    rows = f"{n_absent} of {n_rows} rows"
    return InputError(f"{rows} have missing values ({columns}); {advice}")


def described_by(looks: Sequence[Look], taken: Sequence[str]) -> Columns:
    """The columns of X, each with a name of its own; there must be some."""
    names = set(taken)
    described = []
    for look in looks:
        for column in look.columns:
            name = column.name
            if column.kind == "category":
                name = _free(name, names)
            described.append(replace(column, name=name))
            names.add(name)
    if not described:
        notes = some(look.note.rstrip(".") for look in looks if look.note)
        raise InputError(f"No column is left to cluster by: {notes}.")
    return tuple(described)


def _free(name: str, taken: set[str]) -> str:
    """A name for a one-hot column that no column of the table has."""
    candidate, count = name, 1
    while candidate in taken:
        count += 1
        candidate = f"{name} ({count})"
    return candidate
