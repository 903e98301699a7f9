"""Batches of a table that is not all numbers, encoded as a data frame in memory would be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from treemeans.columns.encode_frame import encode_frame
from treemeans.columns.encoded_table import check_schema
from treemeans.columns.frame_values import open_frame
from treemeans.columns.table_schema import TableSchema, plan_columns, summarize
from treemeans.files.file_errors import quoted
from treemeans.partitioned.readers.arrow_columns import (
    BatchConverter,
    ConvertedRows,
    number_type,
    type_in,
)


class FrameConverter(BatchConverter):
    """Categories as codes, and NaN for missing values.

    Parameters
    ----------
    schema : what each column was found to be
    weights : the column that holds the weights of the rows; empty where all weigh the same
    """

    def __init__(self, schema: TableSchema, weights: str = "") -> None:
        columns = schema.columns
        names = [column.name for column in columns]
        super().__init__(names, len(columns), np.dtype(np.float64), names, weights=weights)
        self.schema, self.columns_of_rows = schema, columns

    def take(self, batch: pa.RecordBatch, first_row: int) -> ConvertedRows:
        """The rows as numbers."""
        assert self.columns_of_rows is not None
        X = encode_frame(open_frame(pa.Table.from_batches([batch])), self.columns_of_rows)
        return X, self.weights_of(batch)


def frame_converter(
    batches: Iterable[pa.RecordBatch], columns: Sequence[str], weights: str = ""
) -> FrameConverter:
    """Find out in a pass over some columns what they are, as for a data frame in memory.

    Columns that cannot be used are refused, and a warning tells which are left out.
    """
    frames = (open_frame(pa.Table.from_batches([batch])) for batch in batches)
    schema = plan_columns(summarize(frames, columns))
    check_schema(schema)
    return FrameConverter(schema, weights)


def has_other_columns(schemas: Sequence[tuple[str, pa.Schema]], columns: Sequence[str]) -> bool:
    """Whether some column holds what is no number, such as text.

    ``schemas``: of each file, with what to call it. A column must hold numbers in all of them, or
    in none.
    """
    found = False
    for name in columns:
        kinds = [(where, type_in(schema, name, where)) for where, schema in schemas]
        others = [(where, arrow) for where, arrow in kinds if number_type(arrow) is None]
        if others and len(others) < len(kinds):
            where, arrow = others[0]
            raise ValueError(
                f"Column {quoted(name)} of {where} holds {arrow}, but numbers in other files; "
                "write them alike."
            )
        found = found or bool(others)
    return found


def parquet_has_nulls(fragments: Iterable[Any], columns: Sequence[str]) -> bool:
    """Whether the statistics of Parquet files tell of missing values in some column."""
    wanted = set(columns)
    for fragment in fragments:
        metadata = fragment.metadata
        for group in range(metadata.num_row_groups):
            for place in range(metadata.num_columns):
                column = metadata.row_group(group).column(place)
                if column.path_in_schema not in wanted or not column.is_stats_set:
                    continue
                if column.statistics.null_count:
                    return True
    return False
