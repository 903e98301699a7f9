"""Tables as numbers to cluster: which columns are used, and what becomes of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from treemeans.columns import Column, Columns
from treemeans.files.arrow_to_float import NUMERIC, Floats, arrow_kind
from treemeans.files.encode_for_model import (
    category_sources,
    column_numbers,
    encode_for_model,
    missing_rows,
)
from treemeans.files.file_errors import (
    InputError,
    check_different,
    check_names,
    comma_list,
    quoted,
)
from treemeans.files.infer_column import ColumnDecision, infer_column, looks_like_identifier
from treemeans.files.read_table import decimal_mark
from treemeans.files.value_summary import MAX_DISTINCT, ValueSummary

MISSING = ("refuse", "drop", "median")


@dataclass(frozen=True)
class EncodedTable:
    """A table in memory, as numbers.

    Attributes
    ----------
    X : (n_rows, n_columns)
    columns : description of the columns of X, with which ``encode_for_model`` encodes other tables
    rows : the rows of the table that X holds, counted from 0
    n_dropped : the number of rows that it does not hold
    notes : sentences for the user about columns that were skipped or converted
    """

    X: Floats
    columns: Columns
    rows: NDArray[np.int64]
    n_dropped: int
    notes: list[str] = field(default_factory=list)

    @property
    def n_rows(self) -> int:
        """Number of rows of X."""
        return len(self.X)


@dataclass(frozen=True)
class TableEncoding:
    """How the rows of a table become numbers.

    Attributes
    ----------
    columns : description of the columns of X
    required : rows that lack a value of one of these columns are dropped
    n_rows : the number of rows of X
    n_dropped : the number of rows that are dropped
    is_plain : whether X holds columns of the table as they are, all of them numbers
    notes : sentences for the user about columns that were skipped or converted
    """

    columns: Columns
    required: Columns
    n_rows: int
    n_dropped: int
    is_plain: bool
    notes: list[str] = field(default_factory=list)

    @property
    def inputs(self) -> list[str]:
        """The columns of the table that are needed."""
        both = (*self.columns, *self.required)
        plain = [column.name for column in both if column.kind != "category"]
        return list(dict.fromkeys([*plain, *category_sources(both)]))

    def encode(self, batch: pa.RecordBatch, first_row: int = 1) -> Floats:
        """Some rows as numbers, without those that are dropped."""
        (present,) = _drop_missing([batch], self.required)
        return encode_for_model(present, self.columns, first_row=first_row)


def encode_table(
    table: pa.Table,
    *,
    columns: Sequence[str] | None = None,
    id: str | None = None,  # noqa: A002
    missing: str = "refuse",
) -> EncodedTable:
    """Numbers as they are, dates as days since 1970, a 0/1 column for each category.

    Parameters
    ----------
    table : pyarrow.Table
    columns : sequence of str, optional
        Those to use, in this order; by default all that can be used and are no identifiers.
    id : str, optional
        The column that identifies rows; it is not used.
    missing : {"refuse", "drop", "median"}
        What to do with rows that lack a value. "median" fills in the median, or the most frequent
        category; the columns keep it for other tables.

    Examples
    --------
    >>> table = pa.table({"age": [31, 42, 37], "color": ["red", "blue", "red"]})
    >>> encoded = encode_table(table)
    >>> [column.name for column in encoded.columns]
    ['age', 'color=red', 'color=blue']
    >>> encoded.X
    array([[31.,  1.,  0.],
           [42.,  0.,  1.],
           [37.,  1.,  0.]])
    """
    encoding = _infer(
        lambda names: iter([table.select(names)]),
        table.schema,
        table.num_rows,
        columns,
        id,
        missing,
        decimal=decimal_mark(table),
        max_distinct=None,
    )
    rows = np.flatnonzero(~missing_rows(table, encoding.required))
    if encoding.n_dropped:
        table = table.take(rows)
    table = table.select(encoding.inputs)
    described = encoding.columns
    if missing == "median":
        described = _with_fill_values(table, described)
    X = encode_for_model(table, described)
    return EncodedTable(X, described, rows, encoding.n_dropped, encoding.notes)


def infer_encoding(
    batches: Callable[[list[str]], Iterator[Any]],
    schema: pa.Schema,
    n_rows: int,
    *,
    columns: Sequence[str] | None = None,
    id: str | None = None,  # noqa: A002
    missing: str = "refuse",
) -> TableEncoding:
    """How ``encode_table`` would encode a table that comes in batches.

    It takes one pass over the table, and two more if values are missing.

    Parameters
    ----------
    batches : gives the columns it is asked for, from the first row to the last
    schema, n_rows : types of the columns, number of rows
    columns, id, missing
        As for ``encode_table``; but a median takes the whole column.

    Examples
    --------
    >>> table = pa.table({"age": [31, 42, None], "color": ["red", "blue", "red"]})
    >>> batches = lambda names: iter(table.select(names).to_batches(max_chunksize=1))
    >>> encoding = infer_encoding(batches, table.schema, table.num_rows, missing="drop")
    >>> [column.name for column in encoding.columns], encoding.n_rows, encoding.n_dropped
    (['age', 'color=blue', 'color=red'], 2, 1)
    >>> encoding.encode(table.to_batches()[0])
    array([[31.,  0.,  1.],
           [42.,  1.,  0.]])
    """
    if missing == "median":
        raise InputError(
            "--missing median needs the whole table in memory; use --missing drop, "
            "or --engine memory."
        )
    return _infer(batches, schema, n_rows, columns, id, missing, ".", MAX_DISTINCT)


def _infer(
    batches: Callable[[list[str]], Iterator[Any]],
    schema: pa.Schema,
    n_rows: int,
    columns: Sequence[str] | None,
    identifier: str | None,
    missing: str,
    decimal: str,
    max_distinct: int | None,
) -> TableEncoding:
    if missing not in MISSING:
        raise InputError(f"--missing must be one of {', '.join(MISSING)}; got {quoted(missing)}.")
    names = _candidate_columns(schema.names, n_rows, columns, identifier)
    explicit = columns is not None

    def decide(rows: Iterable[Any], names: Sequence[str]) -> dict[str, ColumnDecision]:
        summaries = _summarize(rows, schema, names, decimal, max_distinct)
        return {name: infer_column(each, explicit=explicit) for name, each in summaries.items()}

    decisions = decide(batches(names), names)
    required: Columns = ()
    n_dropped = 0
    lacking = {d.name: d.n_missing for d in decisions.values() if d.is_used and d.n_missing}
    if lacking and missing != "median":
        required = tuple(c for name in lacking for c in decisions[name].columns)
        n_dropped = sum(int(missing_rows(each, required).sum()) for each in batches([*lacking]))
        if missing == "refuse" or n_dropped == n_rows:
            raise _missing_values(lacking, n_dropped, n_rows)
        # Decide again: a column may have a single value in the rows that are left.
        used = [name for name, decision in decisions.items() if decision.is_used]
        decisions |= decide(_drop_missing(batches(used), required), used)
    used = [name for name, decision in decisions.items() if decision.is_used]
    return TableEncoding(
        columns=_unique_columns(list(decisions.values()), schema.names),
        required=required,
        n_rows=n_rows - n_dropped,
        n_dropped=n_dropped,
        is_plain=not required and {arrow_kind(schema.field(n).type) for n in used} <= {*NUMERIC},
        notes=[decision.note for decision in decisions.values() if decision.note],
    )


def _candidate_columns(
    names: Sequence[str], n_rows: int, columns: Sequence[str] | None, identifier: str | None
) -> list[str]:
    """The columns that the user asks for, or all but the identifier."""
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


def _summarize(
    batches: Iterable[Any],
    schema: pa.Schema,
    names: Sequence[str],
    decimal: str,
    max_distinct: int | None,
) -> dict[str, ValueSummary]:
    summaries = {
        name: ValueSummary(
            name,
            schema.field(name).type,
            decimal,
            max_distinct,
            find_repeats=looks_like_identifier(name),
        )
        for name in names
    }
    for batch in batches:
        for name, summary in summaries.items():
            summary.add(batch.column(name))
    return summaries


def _drop_missing(batches: Iterable[Any], required: Columns) -> Iterator[Any]:
    """The rows that have a value in all required columns."""
    for batch in batches:
        yield batch.filter(pa.array(~missing_rows(batch, required))) if required else batch


def _missing_values(lacking: Mapping[str, int], n_incomplete: int, n_rows: int) -> InputError:
    """The error for rows that lack values; ``lacking``: how many, by column."""
    columns = comma_list(f"{quoted(name)}: {count}" for name, count in lacking.items())
    if n_incomplete == n_rows:
        advice = "use --missing median, or --columns to use other columns."
    else:
        advice = "use --missing drop or --missing median, or fill them in."
    rows = f"{n_incomplete} of {n_rows} rows"
    return InputError(f"{rows} have missing values ({columns}); {advice}")


def _unique_columns(decisions: Sequence[ColumnDecision], taken: Sequence[str]) -> Columns:
    """The columns of X, each with a different name; there must be at least one."""
    names = set(taken)
    described = []
    for decision in decisions:
        for column in decision.columns:
            name, count = column.name, 1
            while column.kind == "category" and name in names:
                count += 1
                name = f"{column.name} ({count})"
            described.append(replace(column, name=name))
            names.add(name)
    if not described:
        notes = comma_list(decision.note.rstrip(".") for decision in decisions if decision.note)
        raise InputError(f"No column is left to cluster by: {notes}.")
    return tuple(described)


def _with_fill_values(table: pa.Table, columns: Columns) -> Columns:
    """The columns with the values that replace missing ones: medians, most frequent categories."""
    filled, seen = [], set[str]()
    for column in columns:
        if column.kind == "category":  # the most frequent category of a source comes first
            value = float(column.source not in seen)
            seen.add(column.source)
        else:
            numbers = column_numbers(table, column)
            value = _median(column, numbers[~np.isnan(numbers)])
        filled.append(replace(column, missing=value))
    return tuple(filled)


def _median(column: Column, values: Floats) -> float:
    """The median; of whole numbers, flags and days, the lower of the two in the middle."""
    if column.kind in ("number", "time"):
        return float(np.median(values))
    middle = (len(values) - 1) // 2
    return float(np.partition(values, middle)[middle])
