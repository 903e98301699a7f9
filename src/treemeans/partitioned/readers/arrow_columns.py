"""Columns of Arrow as the numbers of a block, of their own type where the kernels read it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute as pc
from pyarrow import types

from treemeans.columns import Columns
from treemeans.columns.table_schema import TableSchema
from treemeans.files.arrow_to_float import plain_values, to_dates, to_mask
from treemeans.files.file_errors import quoted
from treemeans.partitioned.map_reduce import PartitionedRows
from treemeans.partitioned.partition import Partition, check_weights
from treemeans.rows.dense_points import NUMBER_TYPES

BATCH_ROWS = 1 << 14  # rows that are decoded at once, few enough to stay in the cache
_PARTITION_ROWS, _PARTITION_BYTES = 1 << 18, 1 << 26  # of a partition, at most

ConvertedRows = tuple[NDArray[Any], NDArray[np.float64] | None]


class MissingValueError(Exception):
    """There is no value in a row of a batch."""

    def __init__(self, row: int, column: str) -> None:
        super().__init__(f"{column!r} in {row}")
        self.row = row
        self.column = column


class BatchConverter(ABC):
    """Converts a batch to rows of numbers.

    Attributes
    ----------
    reads : the columns of the batch that it needs
    n_features : number of columns of the rows
    dtype : of the numbers
    names : of these columns; None where they have none
    dates : those of the names that hold days since 1970, and whether the dates have a time zone
    booleans : those of the names that hold true and false
    weights : the column that holds the weights of the rows; empty where all weigh the same
    schema, columns_of_rows : of a table that is not all numbers, what each column was read as, and
        how the columns of the rows read; otherwise None
    """

    schema: TableSchema | None = None
    columns_of_rows: Columns | None = None

    def __init__(
        self,
        reads: Sequence[str],
        n_features: int,
        dtype: np.dtype[Any],
        names: Sequence[str] | None,
        dates: Mapping[str, bool] = MappingProxyType({}),
        weights: str = "",
    ) -> None:
        self.reads = [*reads, weights] if weights else list(reads)
        self.n_features = n_features
        self.dtype = dtype
        self.names = None if names is None else np.array(names, dtype=object)
        self.dates = dict(dates)
        self.booleans: list[str] = []
        self.weights = weights

    @abstractmethod
    def take(self, batch: pa.RecordBatch, first_row: int) -> ConvertedRows:
        """The rows and their weights; ``first_row`` is the number of the first among all rows."""

    def weights_of(self, batch: pa.RecordBatch) -> NDArray[np.float64] | None:
        """The weights of the rows of a batch."""
        if not self.weights:
            return None
        return numbers_of(batch.column(self.weights), self.weights).astype(np.float64)

    def rows_per_partition(self) -> int:
        """Rows of a partition: what a step needs grows with its rows and with its columns."""
        bytes_per_row = max(1, self.n_features * self.dtype.itemsize)
        return max(1, min(_PARTITION_ROWS, _PARTITION_BYTES // bytes_per_row))


class ConvertedPartitions(PartitionedRows):
    """Partitioned rows that a converter makes of batches, and that are told of by it."""

    converter: BatchConverter

    def convert_with(self, converter: BatchConverter) -> None:
        """Use a converter from now on."""
        self.converter = converter
        self.n_features, self.names = converter.n_features, converter.names
        self.dates, self.booleans = dict(converter.dates), list(converter.booleans)
        self.schema, self.columns = converter.schema, converter.columns_of_rows
        self.has_raw_rows = self.schema is None
        self.value_bytes = converter.dtype.itemsize


class NumberConverter(BatchConverter):
    """Columns as they are; dates as days since 1970.

    Parameters
    ----------
    columns : to take, in this order
    dtype : that holds them all
    dates : those of them that hold dates, and whether these have a time zone
    weights : the column that holds the weights of the rows; empty where all weigh the same
    named : whether the blocks have names
    """

    def __init__(
        self,
        columns: Sequence[str],
        dtype: np.dtype[Any],
        dates: Mapping[str, bool] = MappingProxyType({}),
        weights: str = "",
        named: bool = True,
    ) -> None:
        names = columns if named else None
        super().__init__(columns, len(columns), dtype, names, dates, weights)
        self.columns = list(columns)

    def take(self, batch: pa.RecordBatch, first_row: int) -> ConvertedRows:
        """The numbers of a batch; refuses what has no value."""
        X = np.empty((len(self.columns), batch.num_rows), self.dtype).T
        for j, name in enumerate(self.columns):
            X[:, j] = numbers_of(batch.column(name), name)
        return X, self.weights_of(batch)


def number_type(arrow: Any) -> np.dtype[Any] | None:
    """The number type that holds the values of an Arrow type; None where they are no numbers."""
    if types.is_dictionary(arrow):
        return number_type(arrow.value_type)
    if types.is_boolean(arrow):
        return np.dtype(np.uint8)
    if types.is_float16(arrow):
        return np.dtype(np.float32)
    if types.is_integer(arrow) or types.is_floating(arrow):
        found = np.dtype(arrow.to_pandas_dtype())
        return found if found.type in NUMBER_TYPES else np.dtype(np.float64)
    if types.is_decimal(arrow) or is_date(arrow):
        return np.dtype(np.float64)
    return None


def is_date(arrow: Any) -> bool:
    """Whether a type holds dates, with or without a time."""
    if types.is_dictionary(arrow):
        return is_date(arrow.value_type)
    return bool(types.is_date(arrow) or types.is_timestamp(arrow))


def has_zone(arrow: Any) -> bool:
    """Whether a type of dates has a time zone."""
    if types.is_dictionary(arrow):
        return has_zone(arrow.value_type)
    return bool(types.is_timestamp(arrow) and arrow.tz)


def common_type(found: Iterable[np.dtype[Any]]) -> np.dtype[Any]:
    """The number type that holds them all."""
    common = np.result_type(*found)
    return common if common.type in NUMBER_TYPES else np.dtype(np.float64)


def check_columns(asked: Sequence[str] | None, known: Sequence[str], weights: str) -> list[str]:
    """The columns to cluster by: those asked for, or all but the weights."""
    twice = [name for name in dict.fromkeys(known) if list(known).count(name) > 1]
    if twice:
        raise ValueError(
            f"There is more than one column named {quoted(twice[0])}; give each a name of its own."
        )
    if isinstance(asked, str):
        asked = [asked]
    for name in [*(asked or ()), *([weights] if weights else ())]:
        if name not in known:
            shown = ", ".join(map(quoted, known[:8])) + (", ..." if len(known) > 8 else "")
            raise ValueError(f"There is no column {quoted(str(name))}; the columns are {shown}.")
    found = [name for name in dict.fromkeys(known if asked is None else asked) if name != weights]
    if not found:
        raise ValueError("There is no column to cluster by; name at least one.")
    return found


def number_converter(
    schemas: Sequence[tuple[str, pa.Schema]], columns: Sequence[str], weights: str = ""
) -> NumberConverter:
    """The converter for files with these schemas, each given with the name of its file."""
    found: list[np.dtype[Any]] = []
    dates: dict[str, bool] = {}
    for name in columns:
        kinds = {is_date(type_in(schema, name, where)) for where, schema in schemas}
        if len(kinds) > 1:
            raise ValueError(
                f"Column {quoted(name)} holds dates in some files and numbers in others; "
                "write them alike."
            )
        if kinds == {True}:
            dates[name] = any(has_zone(type_in(schema, name, where)) for where, schema in schemas)
        found += [
            _number_type_in(type_in(schema, name, where), name, where) for where, schema in schemas
        ]
    if weights:
        for where, schema in schemas:
            _number_type_in(type_in(schema, weights, where), weights, where)
    numbers = NumberConverter(columns, common_type(set(found)), dates, weights)
    numbers.booleans = [
        name
        for name in columns
        if all(pa.types.is_boolean(schema.field(name).type) for _, schema in schemas)
    ]
    return numbers


def type_in(schema: pa.Schema, name: str, where: str) -> Any:
    """The type of a column, which a file must have exactly once."""
    places = schema.get_all_field_indices(name)
    if len(places) != 1:
        lacks = "no column" if not places else "more than one column named"
        raise ValueError(f"{where} has {lacks} {quoted(name)}; all files must have the same ones.")
    return schema.field(places[0]).type


def _number_type_in(arrow: Any, name: str, where: str) -> np.dtype[Any]:
    found = number_type(arrow)
    if found is None:
        raise ValueError(
            f"Column {quoted(name)} of {where} holds {arrow}, which is no number; leave it out by "
            "naming the others, or turn it into numbers first."
        )
    return found


def numbers_of(values: Any, name: str) -> NDArray[Any]:
    """The values of a column; refuses a missing one."""
    dated = is_date(values.type)
    values = plain_values(values)
    if values.null_count:
        raise MissingValueError(int(np.argmax(to_mask(pc.is_null(values)))), name)
    if dated:
        days = to_dates(values, "D")
        assert days is not None
        return days
    if types.is_decimal(values.type):
        values = pc.cast(values, pa.float64())
    found: NDArray[Any] = values.to_numpy(zero_copy_only=False)
    return found


def blocks_of(
    batches: Iterable[pa.RecordBatch],
    converter: BatchConverter,
    number: int,
    first_row: int,
    first_rows: NDArray[np.int64] | None,
    rows: int,
) -> Iterator[Partition]:
    """Blocks of ``rows`` rows, numbered from ``number``; the last may be shorter."""
    filling = _Filling(converter, rows)
    for batch in batches:
        try:
            X, weights = converter.take(batch, first_row)
        except MissingValueError as error:
            ahead, row = divmod(filling.n_rows + error.row, rows)
            raise ValueError(
                f"Partition {number + ahead} has no value in row {row} of column "
                f"{quoted(error.column)}; fill or drop such rows first."
            ) from None
        first_row += batch.num_rows
        while len(X):
            room = rows - filling.n_rows
            filling.add(X[:room], None if weights is None else weights[:room])
            X, weights = X[room:], None if weights is None else weights[room:]
            if filling.n_rows == rows:
                yield filling.partition(number, first_rows)
                number += 1
                filling = _Filling(converter, rows)
    if filling.n_rows:
        yield filling.partition(number, first_rows)


class _Filling:
    """A block while its rows come in."""

    def __init__(self, converter: BatchConverter, rows: int) -> None:
        self.n_rows = 0
        self._taker = converter
        # Pages come as they are filled. Columns lie side by side, as they come and are written.
        self._X = np.empty((converter.n_features, rows), converter.dtype).T
        self._weights = np.empty(rows) if converter.weights else None

    def add(self, X: NDArray[Any], weights: NDArray[np.float64] | None) -> None:
        end = self.n_rows + len(X)
        self._X[self.n_rows : end] = X
        if self._weights is not None:
            self._weights[self.n_rows : end] = weights
        self.n_rows = end

    def partition(self, number: int, first_rows: NDArray[np.int64] | None) -> Partition:
        X = self._X[: self.n_rows]
        weights = None if self._weights is None else self._weights[: self.n_rows]
        if weights is not None:
            check_weights(number, weights)
        first = -1 if first_rows is None else int(first_rows[number])
        return Partition(number, first, X, rows_as_frame(X, self._taker.names), weights)


def rows_as_frame(X: NDArray[Any], names: NDArray[np.object_] | None) -> Any:
    """X as a reference is given it: with names, in a frame that shares its memory."""
    if names is None:
        return X
    try:
        import pandas as pd
    except ModuleNotFoundError:
        return X
    return pd.DataFrame(X, columns=list(names), copy=False)
