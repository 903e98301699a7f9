"""Parquet files as partitions: small row groups together, large ones some rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import dataset as pads
from pyarrow import parquet as pq

from treemeans.files.file_errors import quoted_path
from treemeans.partitioned.partition import Partition
from treemeans.partitioned.readers.arrow_columns import BATCH_ROWS, BatchConverter, blocks_of
from treemeans.partitioned.readers.reread_partitions import RereadPartitions

_BUFFER = 1 << 16  # bytes of a column that are read at once


@dataclass(frozen=True)
class RowGroups:
    """Row groups of a file.

    Attributes
    ----------
    filesystem, path : where the file is, as pyarrow knows it
    told : columns that the names of its folders tell, with their values
    numbers : of the row groups
    n_rows : of these
    """

    filesystem: Any
    path: str
    told: dict[str, Any]
    numbers: tuple[int, ...]
    n_rows: int

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Their rows, a few at a time."""
        told = {name: value for name, value in self.told.items() if name in columns}
        read = [name for name in columns if name not in told]
        done = 0
        try:
            with self.filesystem.open_input_file(self.path) as opened:
                file = pq.ParquetFile(opened, pre_buffer=False, buffer_size=_BUFFER)
                for batch in file.iter_batches(
                    BATCH_ROWS, row_groups=list(self.numbers), columns=read, use_threads=False
                ):
                    batch.validate(full=True)  # a broken file must not break the reader
                    done += batch.num_rows
                    yield _with_columns(batch, told)
        except (pa.ArrowException, OSError, IndexError) as error:
            raise unreadable(self.path, error) from error
        if done != self.n_rows:
            raise ValueError(
                f"{quoted_path(self.path)} has changed while it was read; start again."
            )


def unreadable(path: str, error: Exception) -> ValueError:
    """The error for a file that pyarrow cannot read."""
    reason = str(error).strip().split("\n")[0].rstrip(".")[:200] or type(error).__name__
    return ValueError(f"{quoted_path(path)} cannot be read: {reason}.")


def folder_columns(fragment: Any) -> dict[str, Any]:
    """Columns of a file that are not in it: of year=2024/a.parquet, the year."""
    keys: dict[str, Any] = pads.get_partition_keys(fragment.partition_expression)
    return keys


@dataclass(frozen=True)
class ReadTask:
    """Row groups that are read one after the other.

    Attributes
    ----------
    groups : of one file or of several
    number : of its first partition
    first_row : number of its first row in all files
    """

    groups: tuple[RowGroups, ...]
    number: int
    first_row: int

    @property
    def n_rows(self) -> int:
        """Rows of all groups."""
        return sum(groups.n_rows for groups in self.groups)

    def blocks(
        self,
        converter: BatchConverter,
        first_rows: NDArray[np.int64] | None,
        rows_per_partition: int | None = None,
    ) -> Iterator[Partition]:
        """The rows of these row groups, partition by partition."""
        batches = (batch for groups in self.groups for batch in groups.batches(converter.reads))
        rows = rows_per_partition or converter.rows_per_partition()
        return blocks_of(batches, converter, self.number, self.first_row, first_rows, rows)


class ParquetPartitions(RereadPartitions):
    """Rows of Parquet files.

    ``split_into_read_tasks`` cuts the files up; ``infer`` finds a converter for rows that are not
    all numbers.
    """

    def __init__(
        self,
        cut: Sequence[ReadTask],
        converter: BatchConverter,
        infer: Callable[[], BatchConverter] | None = None,
    ) -> None:
        self.cut = cut
        rows = converter.rows_per_partition()
        n_partitions = sum(-(-piece.n_rows // rows) for piece in cut)
        super().__init__(converter, n_partitions, sum(piece.n_rows for piece in cut), infer)

    def pieces(self) -> Generator[Iterable[Partition], None, None]:
        """The blocks of each piece."""
        for piece in self.cut:
            yield piece.blocks(self.converter, self.first_rows, self.rows_per_partition)


def split_into_read_tasks(fragments: Iterable[Any], rows_per_partition: int) -> list[ReadTask]:
    """Row groups, in order, put together until they make at least one partition."""
    found: list[ReadTask] = []
    gathered: list[RowGroups] = []
    number = first_row = rows = 0

    def close() -> None:
        nonlocal number, first_row, rows, gathered
        if rows:
            found.append(ReadTask(tuple(gathered), number, first_row))
            number += -(-rows // rows_per_partition)
            first_row += rows
        rows, gathered = 0, []

    for fragment in fragments:
        for group in fragment.row_groups:
            if rows and rows + group.num_rows > rows_per_partition:
                close()
            gathered = _added(gathered, fragment, group)
            rows += group.num_rows
    close()
    return found


def _added(gathered: list[RowGroups], fragment: Any, group: Any) -> list[RowGroups]:
    """One more row group; those of a file are read together."""
    last = gathered[-1] if gathered else None
    if last is not None and last.path == fragment.path:
        more = replace(last, numbers=(*last.numbers, group.id), n_rows=last.n_rows + group.num_rows)
        return [*gathered[:-1], more]
    told = folder_columns(fragment)
    new = RowGroups(fragment.filesystem, fragment.path, told, (group.id,), group.num_rows)
    return [*gathered, new]


def _with_columns(batch: pa.RecordBatch, told: dict[str, Any]) -> pa.RecordBatch:
    if not told:
        return batch
    arrays = [pa.repeat(pa.scalar(value), batch.num_rows) for value in told.values()]
    return pa.RecordBatch.from_arrays([*batch.columns, *arrays], names=[*batch.schema.names, *told])
