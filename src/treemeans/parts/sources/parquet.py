"""Parquet files as parts: whole row groups together, large ones some rows at a time."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import dataset as pads
from pyarrow import parquet as pq

from treemeans.parts.block import Block
from treemeans.parts.sources.arrow import BATCH_ROWS, Taker, blocks_of
from treemeans.parts.sources.reading import ReadParts
from treemeans.sheets.errors import quoted_path

_BUFFER = 1 << 16  # bytes of a column that are read at once


@dataclass(frozen=True)
class Groups:
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
    """For a file that pyarrow gives up on."""
    reason = str(error).strip().split("\n")[0].rstrip(".")[:200] or type(error).__name__
    return ValueError(f"{quoted_path(path)} cannot be read: {reason}.")


def told_by_folders(fragment: Any) -> dict[str, Any]:
    """Columns of a file that are not in it: of year=2024/a.parquet, the year."""
    keys: dict[str, Any] = pads.get_partition_keys(fragment.partition_expression)
    return keys


@dataclass(frozen=True)
class Piece:
    """Row groups that are read one after the other.

    Attributes
    ----------
    groups : of one file or of several
    number : of its first part
    first_row : number of its first row in all files
    """

    groups: tuple[Groups, ...]
    number: int
    first_row: int

    @property
    def n_rows(self) -> int:
        """Rows of all groups."""
        return sum(groups.n_rows for groups in self.groups)

    def blocks(self, taker: Taker, firsts: NDArray[np.int64] | None) -> Iterator[Block]:
        """Its rows, part by part."""
        batches = (batch for groups in self.groups for batch in groups.batches(taker.reads))
        return blocks_of(batches, taker, self.number, self.first_row, firsts)


class ParquetParts(ReadParts):
    """Rows of Parquet files. ``pieces_of`` cuts the files up."""

    def __init__(self, cut: Sequence[Piece], taker: Taker) -> None:
        self.cut = cut
        rows = taker.part_rows()
        n_parts = sum(-(-piece.n_rows // rows) for piece in cut)
        super().__init__(taker, n_parts, sum(piece.n_rows for piece in cut))

    def pieces(self) -> Generator[Iterable[Block], None, None]:
        """The blocks of each piece."""
        for piece in self.cut:
            yield piece.blocks(self.taker, self.firsts)


def pieces_of(fragments: Iterable[Any], part_rows: int) -> list[Piece]:
    """Row groups, in order, put together until they make a part at least."""
    found: list[Piece] = []
    gathered: list[Groups] = []
    number = first_row = rows = 0

    def close() -> None:
        nonlocal number, first_row, rows, gathered
        if rows:
            found.append(Piece(tuple(gathered), number, first_row))
            number += -(-rows // part_rows)
            first_row += rows
        rows, gathered = 0, []

    for fragment in fragments:
        for group in fragment.row_groups:
            if rows and rows + group.num_rows > part_rows:
                close()
            gathered = _added(gathered, fragment, group)
            rows += group.num_rows
    close()
    return found


def _added(gathered: list[Groups], fragment: Any, group: Any) -> list[Groups]:
    """One more row group; those of a file are read together."""
    last = gathered[-1] if gathered else None
    if last is not None and last.path == fragment.path:
        more = replace(last, numbers=(*last.numbers, group.id), n_rows=last.n_rows + group.num_rows)
        return [*gathered[:-1], more]
    told = told_by_folders(fragment)
    new = Groups(fragment.filesystem, fragment.path, told, (group.id,), group.num_rows)
    return [*gathered, new]


def _with_columns(batch: pa.RecordBatch, told: dict[str, Any]) -> pa.RecordBatch:
    if not told:
        return batch
    arrays = [pa.repeat(pa.scalar(value), batch.num_rows) for value in told.values()]
    return pa.RecordBatch.from_arrays([*batch.columns, *arrays], names=[*batch.schema.names, *told])
