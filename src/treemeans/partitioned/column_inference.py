"""The pass that finds out what the columns of data frames in partitions are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treemeans.columns import plain_columns
from treemeans.columns.encoded_table import check_schema
from treemeans.columns.frame_values import open_frame
from treemeans.columns.table_schema import (
    ColumnSummary,
    merge_summaries,
    plan_columns,
    summarize,
)
from treemeans.partitioned.map_reduce import MapReduceStep, PartitionedRows
from treemeans.partitioned.partition import Partition


@dataclass(frozen=True)
class SummarizeColumns(MapReduceStep[dict[str, ColumnSummary]]):
    """Summarize columns of data frames: what they hold, what is missing, their categories."""

    names: tuple[str, ...]

    def map(self, partition: Partition) -> dict[str, ColumnSummary]:
        """Summarize one partition."""
        frame = open_frame(partition.raw)
        if frame is None:
            raise ValueError(f"Partition {partition.number} is no data frame, but others are.")
        return summarize([frame], self.names)

    def reduce(
        self, one: dict[str, ColumnSummary], other: dict[str, ColumnSummary]
    ) -> dict[str, ColumnSummary]:
        """Merge two summaries: the categories of both."""
        return {name: merge_summaries(one[name], other[name]) for name in self.names}


def infer_from_frames(rows: PartitionedRows) -> None:
    """Find out in a pass what the columns of data frames are, as for one in memory.

    Columns that cannot be used are refused, and a warning tells which are left out.
    """
    if rows.names is None:
        raise ValueError(
            "The names of columns must be text; rename them, for example with "
            "df.rename(columns=str)."
        )
    rows.columns = ()  # nothing is encoded in this pass
    summaries = rows.map_reduce(SummarizeColumns(tuple(rows.names)))
    rows.schema = plan_columns(summaries)
    check_schema(rows.schema)
    rows.columns = rows.schema.columns
    rows.n_features = len(rows.columns)
    rows.names = np.array([column.name for column in rows.columns], dtype=object)


def accept_missing(rows: PartitionedRows) -> None:
    """Read numbers of which some are missing as a table that is not all numbers.

    What is missing from an array may be a mistake; it is accepted only where a pipeline takes it.
    """
    if not rows.can_infer:
        rows.columns = plain_columns(rows.n_features, rows.names)
        return
    n_features = rows.n_features
    rows.infer_columns()
    if rows.n_features != n_features:
        assert rows.schema is not None
        names = ", ".join(repr(plan.name) for plan in rows.schema.left_out[:8])
        raise ValueError(f"{names} cannot be used, such as a column without values; drop it.")
