"""The schema of a file: what its columns are read as, and its rows as numbers.

The kinds of columns are decided by ``treemeans.columns.table_schema``, for files as for data
frames. What is added here is what text stands for, the options of the command line, and rows with
missing values that are dropped or filled in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from treemeans.columns import Column, Columns
from treemeans.columns.encode_frame import UnseenValues, encode_frame
from treemeans.columns.encoded_table import EncodedFrame
from treemeans.columns.frame_values import open_frame
from treemeans.columns.table_schema import ColumnPlan, TableSchema, plan_columns, summarize
from treemeans.files.arrow_to_float import arrow_kind, plain_values
from treemeans.files.date_formats import DATE_ORDERS
from treemeans.files.file_errors import (
    InputError,
    check_different,
    check_names,
    comma_list,
    quoted,
)
from treemeans.files.read_table import decimal_mark
from treemeans.files.text_types import TextType, UnparsableTextError

MISSING = ("keep", "median", "drop")
_NUMBERS = ("number", "integer", "flag")
_WANTED = {"number": _NUMBERS, "date": ("date", "time")}  # option -> what a column may hold
_HELD = {
    "flag": "true and false",
    "integer": "numbers",
    "number": "numbers",
    "date": "dates",
    "time": "dates",
}
_BLOCK = 1 << 16  # rows that are encoded at once
Batches = Callable[[list[str]], Iterator[Any]]


@dataclass(frozen=True)
class ReadOptions:
    """What the user says about the columns of a file.

    Attributes
    ----------
    columns : to use, in this order; None for all that can be used
    exclude : not to use
    id : identifies rows; not used
    text : read as text, whatever it looks like: codes such as postal codes
    number, date : read as numbers, or as dates
    category : used as categories, even if they are numbers, or many
    missing : "keep" gives missing values a side at each cut, "median" replaces them by the median
        or the most frequent category, "drop" drops the rows
    date_order : "day-first" or "month-first", how to read dates like 03/04/2024 where no value of
        the column shows it; without it they are refused
    """

    columns: Sequence[str] | None = None
    exclude: Sequence[str] = ()
    id: str | None = None
    text: Sequence[str] = ()
    number: Sequence[str] = ()
    date: Sequence[str] = ()
    category: Sequence[str] = ()
    missing: str = "keep"
    date_order: str | None = None

    def check(self, names: Sequence[str]) -> None:
        """Refuse columns that do not exist, and contradictions."""
        if self.missing not in MISSING:
            known = ", ".join(MISSING)
            raise InputError(f"--missing must be one of {known}; got {quoted(self.missing)}.")
        if self.date_order is not None and self.date_order not in DATE_ORDERS:
            known = " or ".join(DATE_ORDERS)
            raise InputError(f"--date-order must be {known}; got {quoted(self.date_order)}.")
        check_different(names, "The table")
        identifier = [] if self.id is None else [self.id]
        said = [*self.text, *self.number, *self.date, *self.category]
        for asked in (identifier, self.columns or (), self.exclude, said):
            check_names(asked, names, "the table")
        if self.columns is not None and not len(self.columns):
            raise InputError("No column is asked for; name at least one.")
        unused = {*identifier, *self.exclude}
        both = [name for name in (*(self.columns or ()), *said) if name in unused]
        if both:
            raise InputError(
                f"Column {quoted(both[0])} cannot both be left out and be used; name it once."
            )
        twice = [name for name in said if said.count(name) > 1]
        if twice:
            raise InputError(
                f"Column {quoted(twice[0])} is named twice; name it in one of --text, --number, "
                "--date and --category."
            )


@dataclass(frozen=True)
class FileSchema:
    """How the rows of a file become numbers.

    Attributes
    ----------
    table : what becomes of each column, to be printed
    types : what the columns of text are parsed as
    columns : the columns of X
    required : rows that lack a value of one of these are dropped
    n_rows, n_dropped : rows of X, and rows that are dropped
    """

    table: TableSchema
    types: dict[str, TextType]
    columns: Columns
    required: tuple[str, ...]
    n_rows: int
    n_dropped: int = 0
    notes: list[str] = field(default_factory=list)

    @property
    def inputs(self) -> list[str]:
        """The columns of the file that are needed."""
        used = [column.source or column.name for column in self.columns]
        return list(dict.fromkeys([*used, *self.required]))

    @property
    def is_all_numbers(self) -> bool:
        """Whether X holds numbers, flags, booleans and dates, none of them missing."""
        kinds = {column.kind for column in self.columns}
        return kinds <= {*_NUMBERS, "date", "time"} and not self.table.has_missing

    @property
    def is_plain(self) -> bool:
        """Whether X holds columns of the file as they are: no text is parsed, no row dropped."""
        kinds = {column.kind for column in self.columns}
        changed = {*self.types} & {*self.inputs} or self.n_dropped or self._fills
        return self.is_all_numbers and kinds <= {*_NUMBERS} and not changed

    @property
    def _fills(self) -> bool:
        return any(column.missing is not None for column in self.columns)

    def frame(self, batch: Any, first_row: int = 1) -> Any:
        """The rows of a batch, parsed, as a frame of narwhals; without those that are dropped."""
        parsed = _parsed(batch, self.types, first_row)
        frame = open_frame(parsed)
        for name in self.required:
            frame = frame.filter(~_is_missing(frame[name]))
        return frame

    def encode(self, batch: Any, first_row: int = 1) -> NDArray[np.float64]:
        """The rows of a batch as numbers, without those that are dropped."""
        return encode_frame(self.frame(batch.select(self.inputs), first_row), self.columns)

    def encoded(self, table: pa.Table) -> EncodedFrame:
        """A whole table as numbers."""
        frame = self.frame(table)
        X = encode_frame(frame, self.columns)
        return EncodedFrame(X, self.table, self.columns, frame.to_native())

    def as_one_hot(self) -> FileSchema:
        """The schema with a column of 0 and 1 for each category."""
        return replace(self, columns=tuple(c for column in self.columns for c in _one_hot(column)))


def infer_schema(
    batches: Batches, schema: pa.Schema, options: ReadOptions, decimal: str = "."
) -> FileSchema:
    """Find what the columns of a file are; takes two passes over text and one over the rest.

    Parameters
    ----------
    batches : gives the columns it is asked for, from the first row to the last
    schema : types of the columns
    options : what the user says
    decimal : the mark before decimals in text

    Examples
    --------
    >>> table = pa.table({"age": [31, 42, None], "rate": ["5.0%", "7.5%", "1%"]})
    >>> found = infer_schema(lambda names: iter([table.select(names)]), table.schema, ReadOptions())
    >>> print(found.table)
    column  read as       missing  how it is used
    age     whole number        1  cut by its values; missing values take a side at each cut
    rate    number in %            cut by its values; written with %, read as numbers
    >>> found.encode(table)
    array([[31. ,  5. ],
           [42. ,  7.5],
           [ nan,  1. ]])
    """
    options.check(schema.names)
    unused = {options.id, *options.exclude}
    names = [n for n in dict.fromkeys(options.columns or schema.names) if n not in unused]
    types, problems = _text_types(batches, schema, names, options, decimal)
    as_text = {*options.text, *options.category}
    summaries = summarize(
        (open_frame(_parsed(batch, types)) for batch in batches(names)), names, as_text
    )
    for name, found in types.items():
        summaries[name].unit, summaries[name].written = found.unit, found.written
        summaries[name].date_format = found.date_format
        summaries[name].decimal = found.mark if found.has_other_mark else ""
    asked = {*(options.columns or ()), *options.category, *options.number, *options.date}
    table = plan_columns(summaries, asked=asked, in_file=True)
    table = _with_problems(table, problems)
    if not table.n_rows:
        raise InputError("The table has no rows; pass one that has some.")
    found_schema = FileSchema(table, types, table.columns, (), table.n_rows)
    if options.missing == "drop":
        found_schema = _dropping(found_schema, batches)
    elif options.missing == "median":
        found_schema = _filling(found_schema, batches)
    left_out = [name for name in schema.names if name in unused]
    return _with_unused(found_schema, schema.names, left_out)


def refuse_problems(schema: FileSchema) -> None:
    """Raise what must be put right first, all of it at once."""
    if schema.table.problems:
        raise InputError(" ".join(schema.table.problems))
    if not schema.columns:
        why = [f"{quoted(p.name)} is {p.becomes}" for p in schema.table.plans if p.becomes]
        more = ""
        if len(schema.table.plans) == 1 and " " in schema.table.plans[0].name:
            more = "; if blanks stand between its values, put commas there"
        raise InputError(f"No column is left to cluster by: {comma_list(why)}{more}.")


def encode_for_model(
    batch: pa.Table | pa.RecordBatch,
    columns: Columns,
    *,
    first_row: int = 1,
    unseen: UnseenValues | None = None,
) -> NDArray[np.float64]:
    """The columns of a model from a table with columns of the same names, read as in the fit.

    Parameters
    ----------
    batch : columns may be in any order, and there may be more than the model needs
    columns : of the model, which say what text stands for
    first_row : number of the first row, for messages
    unseen : filled with categories that no training row had, by number of the row

    Examples
    --------
    >>> table = pa.table({"color": ["red", "blue"], "age": ["31", "NA"]})
    >>> color = Column("color", "codes", categories=("blue", "red"))
    >>> encode_for_model(table, (Column("age"), color))
    array([[31.,  1.],
           [nan,  0.]])
    """
    check_different(batch.schema.names, "The table")
    decimal = decimal_mark(batch)
    types = {
        column.name: _text_type(column, decimal)
        for column in columns
        if column.name in batch.schema.names and _is_text(batch.schema.field(column.name).type)
    }
    needed = {name for column in columns for name in (column.name, column.source)}
    kept = [name for name in batch.schema.names if name in needed]
    try:
        frame = open_frame(_parsed(batch.select(kept), types, first_row))
        X = encode_frame(frame, columns, unseen, first_row)
    except ValueError as error:
        raise InputError(str(error)) from error
    for i in np.flatnonzero(np.isinf(X).any(axis=0)):
        row = first_row + int(np.argmax(np.isinf(X[:, i])))
        raise InputError(
            f"Column {quoted(columns[i].name)} has an infinite value in data row {row}; replace it "
            "by a number or leave it empty."
        )
    return X


def _text_type(column: Column, decimal: str) -> TextType:
    """How text is parsed for a column of a model."""
    name = "written date" if column.date_format else _type_of(column)
    mark, unit = column.decimal or decimal, column.unit if name == "number" else ""
    return TextType(mark, [name], unit, n_values=1, date_formats=(column.date_format,))


def _type_of(column: Column) -> str:
    """The type that text is parsed as for a column of a model."""
    if column.kind == "codes" and column.categories:
        return "text"
    if column.is_boolean and column.kind == "flag":
        return "boolean"
    if column.is_date:
        return "time" if column.typed else "count"
    if column.kind == "duration":
        return "duration"
    return "number"


def _text_types(
    batches: Batches,
    schema: pa.Schema,
    names: Sequence[str],
    options: ReadOptions,
    decimal: str,
) -> tuple[dict[str, TextType], dict[str, str]]:
    """What the columns of text are parsed as, and what is wrong with them."""
    texts = [name for name in names if _is_text(schema.field(name).type)]
    types = {name: TextType(decimal) for name in texts}
    if texts:
        for batch in batches(texts):
            for name, found in types.items():
                found.add(plain_values(batch.column(name)))
    problems = {}
    for name in names:
        wanted, kind = _wanted(name, options), arrow_kind(schema.field(name).type)
        if wanted in _WANTED and kind not in ("text", "null", *_WANTED[wanted]):
            what = "dates" if wanted == "date" else "numbers"
            problems[name] = (
                f"Column {name!r} cannot be read as {what}: it holds {_HELD.get(kind, kind)}; "
                f"leave out --{wanted} {name}."
            )
    for name, found in types.items():
        wanted = _wanted(name, options)
        if options.date_order:
            found.choose_order(options.date_order)
        if wanted == "number":
            found.choose_number()
        if wanted and wanted not in ("text", found.name):
            problems[name] = _not_as_wanted(name, wanted, found)
        if wanted == "text":
            found.choose_text()
        elif wanted != "number" and not problems.get(name) and (problem := found.problem(name)):
            problems[name] = problem
    return types, problems


def _wanted(name: str, options: ReadOptions) -> str:
    if name in options.text or name in options.category:
        return "text"
    return "number" if name in options.number else "date" if name in options.date else ""


def _not_as_wanted(name: str, wanted: str, found: TextType) -> str:
    if wanted == "number" and found.name in ("integer", "amount", "separated"):
        return ""
    if wanted == "date" and found.name in ("time", "written date"):
        return ""
    what = "numbers" if wanted == "number" else "dates like 2024-12-31"
    other = (found.no_number or found.exception) if wanted == "number" else found.no_date
    example = other or found.example
    return (
        f"Column {name!r} cannot be read as {what}: it holds {example!r}; correct it, or leave out "
        f"--{wanted} {name}."
    )


def _with_problems(table: TableSchema, problems: dict[str, str]) -> TableSchema:
    plans = tuple(
        replace(plan, problem=problems[plan.name], column=None) if problems.get(plan.name) else plan
        for plan in table.plans
    )
    return replace(table, plans=plans)


def _with_unused(found: FileSchema, names: Sequence[str], left_out: Sequence[str]) -> FileSchema:
    """The schema with the columns that the user does not want, in the order of the file."""
    plans = {plan.name: plan for plan in found.table.plans}
    for name in left_out:
        plans[name] = ColumnPlan(name, "", becomes="left out, as you asked")
    order = [plans[name] for name in names if name in plans]
    if len(order) < len(plans):
        order = list(plans.values())
    table = replace(found.table, plans=tuple(order))
    return replace(found, table=table)


def _dropping(found: FileSchema, batches: Batches) -> FileSchema:
    """The schema without rows that lack a value of a column that is used."""
    lacking = [p.name for p in found.table.plans if p.column is not None and p.n_missing]
    if not lacking:
        return found
    dropping = replace(found, required=tuple(lacking))
    kept = sum(len(dropping.frame(batch)) for batch in batches(lacking))
    if not kept:
        raise InputError(
            "Every row lacks a value, so --missing drop would drop all; use --missing keep, or "
            "--exclude columns with many missing values."
        )
    n_dropped = found.n_rows - kept
    plans = tuple(
        replace(plan, becomes=f"{plan.becomes.split(';')[0]}; rows without a value are dropped")
        if plan.name in lacking
        else plan
        for plan in found.table.plans
    )
    plans = tuple(replace(plan, n_missing=0) if plan.name in lacking else plan for plan in plans)
    table = replace(found.table, plans=plans)
    return replace(dropping, table=table, n_rows=kept, n_dropped=n_dropped)


def _filling(found: FileSchema, batches: Batches) -> FileSchema:
    """The schema with what replaces missing values: medians, most frequent categories."""
    lacking = [p for p in found.table.plans if p.column is not None and p.n_missing]
    if not lacking:
        return found
    names = [plan.name for plan in lacking]
    columns = tuple(plan.column for plan in lacking if plan.column is not None)
    parts = [encode_frame(found.frame(batch), columns) for batch in batches(names)]
    X = np.concatenate(parts)
    filled = {}
    for i, plan in enumerate(lacking):
        values = X[~np.isnan(X[:, i]), i]
        column = replace(columns[i], missing=_middle(columns[i], values))
        words = f"{plan.becomes.split(';')[0]}; {_filled_words(column)}"
        filled[plan.name] = replace(plan, column=column, becomes=words)
    plans = tuple(filled.get(plan.name, plan) for plan in found.table.plans)
    table = replace(found.table, plans=plans)
    return replace(found, table=table, columns=table.columns)


def _middle(column: Column, values: NDArray[np.float64]) -> float:
    """The most frequent category, or the median; of whole numbers one that occurs."""
    if column.kind == "codes":
        return float(np.argmax(np.bincount(values.astype(np.intp))))
    if column.kind in ("number", "time", "duration"):
        return float(np.median(values))
    middle = (len(values) - 1) // 2
    return float(np.partition(values, middle)[middle])


def _filled_words(column: Column) -> str:
    assert column.missing is not None
    if column.kind == "codes":
        return f"missing values become {column.category(column.missing)!r}, the most frequent"
    return "missing values become the median"


def _one_hot(column: Column) -> list[Column]:
    if column.kind != "codes":
        return [column]
    return [
        Column(
            f"{column.name}={value}",
            "category",
            source=column.name,
            value=value,
            complete=True,
            missing=None if column.missing is None else float(column.missing == code),
        )
        for code, value in enumerate(column.categories)
    ]


def _parsed(batch: Any, types: dict[str, TextType], first_row: int = 1) -> pa.Table:
    """The batch with its text parsed."""
    arrays = []
    for name, values in zip(batch.schema.names, batch.columns, strict=True):
        found = types.get(name)
        if found is None:
            arrays.append(plain_values(values))
            continue
        try:
            arrays.append(found.parse(plain_values(values)))
        except UnparsableTextError as error:
            what = {
                "time": "dates, written like 2024-12-31,",
                "written date": f"dates, written as {found.date_format} or like 2024-12-31,",
                "boolean": "true or false",
                "duration": "durations, written like 02:15:00 or 1 days 02:15:00,",
            }
            raise InputError(
                f"Column {quoted(name)} must hold {what.get(found.name, 'numbers')} but has "
                f"{quoted(error.value)} in data row {first_row + error.position}; correct it."
            ) from None
    return pa.table(arrays, names=batch.schema.names)


def _is_text(arrow: Any) -> bool:
    return arrow_kind(arrow) == "text"


def _is_missing(series: Any) -> Any:
    return series.is_null() | series.is_nan() if series.dtype.is_float() else series.is_null()
