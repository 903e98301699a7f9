"""Files larger than memory for ``treemeans fit``: read anew for every pass over their rows."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from treemeans.cli.engine import threads
from treemeans.columns import Columns
from treemeans.parts import Parts
from treemeans.parts.sources.arrow import Numbers, Taken, Taker, common_type, number_type
from treemeans.parts.sources.files import open_dataset, parquet_fragments
from treemeans.parts.sources.lean import stay_lean
from treemeans.parts.sources.parquet import ParquetParts, Piece, pieces_of, told_by_folders
from treemeans.progress import Progress
from treemeans.sheets.errors import InputError, quoted, quoted_path
from treemeans.sheets.plan import Plan, plan
from treemeans.sheets.read import read_batches
from treemeans.sheets.source import open_source
from treemeans.sheets.write import Writer

_LOOKED_AT = 1 << 16  # rows of a piece while columns are looked at


@dataclass(frozen=True)
class Large:
    """A table in parts, and what became of its columns.

    Attributes
    ----------
    parts : its rows as numbers
    plan : how they were made
    """

    parts: Parts
    plan: Plan

    @property
    def columns(self) -> Columns:
        """What is known of the columns."""
        return self.plan.columns

    @property
    def n_rows(self) -> int:
        """Rows that are used."""
        return self.plan.n_rows

    @property
    def dropped(self) -> int:
        """Rows that are not."""
        return self.plan.dropped

    @property
    def notes(self) -> list[str]:
        """Sentences for the user."""
        return self.plan.notes


class Planned(Taker):
    """Rows as a plan encodes them."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan.reads, len(plan.columns), np.dtype(np.float64), None)
        self.plan = plan

    def take(self, batch: pa.RecordBatch, first_row: int) -> Taken:
        """The numbers of a batch."""
        return self.plan.encode(batch, first_row + 1), None


@contextmanager
def opened(
    path: str,
    columns: Sequence[str] | None,
    id_column: str | None,
    missing: str,
    *,
    dask: bool = False,
    shown: bool = False,
) -> Iterator[Large]:
    """The table of a file; what is not Parquet becomes so first, in a temporary folder.

    ``dask``: whether dask is to read it. ``shown``: whether a bar may move on the terminal.
    """
    stay_lean()
    with ExitStack() as stack:
        if not is_parquet(path):
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="treemeans-"))
            path = _as_parquet(path, columns, id_column, Path(folder), shown)
        dataset = open_dataset(path)
        fragments = parquet_fragments(dataset)
        assert fragments is not None
        schema = _schema(fragments, dataset.schema)
        cut = pieces_of(fragments, _LOOKED_AT)
        found = plan(
            lambda names: _batches(cut, names, shown),
            schema,
            sum(piece.n_rows for piece in cut),
            columns=columns,
            id=id_column,
            missing=missing,
        )
        taker = _taker(found, schema)
        parts = ParquetParts(pieces_of(fragments, taker.part_rows()), taker)
        yield Large(stack.enter_context(_on_dask(parts)) if dask else parts, found)


@contextmanager
def _on_dask(parts: ParquetParts) -> Iterator[Parts]:
    """The same parts for dask; its threads are no more than there is memory for."""
    import dask

    from treemeans.parts.sources.dask_files import DaskFiles

    workers = dask.config.get("num_workers", None) or threads()
    with dask.config.set(num_workers=workers):
        yield DaskFiles(parts)


def is_parquet(path: str) -> bool:
    """Whether a path is that of a Parquet file, or of a folder."""
    return path != "-" and (Path(path).is_dir() or open_source(path).kind == "parquet")


def _as_parquet(
    path: str, columns: Sequence[str] | None, id_column: str | None, folder: Path, shown: bool
) -> str:
    """Write the table once as Parquet: a pass over a text takes many times as long."""
    wanted = None if columns is None else [*columns, *([id_column] if id_column else [])]
    written = folder / "table.parquet"
    done = 0
    with Writer(written) as writer, Progress("treemeans: rows read", None, shown) as progress:
        for batch in read_batches(path, wanted):
            writer.write(batch)
            done += batch.num_rows
            progress.update(done)
    return str(written)


def _batches(cut: Sequence[Piece], names: Sequence[str], shown: bool) -> Iterator[pa.RecordBatch]:
    """Some columns of all rows."""
    done, n_rows = 0, sum(piece.n_rows for piece in cut)
    with Progress("treemeans: a look at the columns", n_rows, shown) as progress:
        for piece in cut:
            for groups in piece.groups:
                for batch in groups.batches(names):
                    yield batch
                    done += batch.num_rows
                    progress.update(done, f"{done:,} rows")


def _schema(fragments: Sequence[Any], whole: pa.Schema) -> pa.Schema:
    """The columns of all files, which must be the same."""
    schema = fragments[0].physical_schema
    for fragment in fragments[1:]:
        other = fragment.physical_schema
        where = quoted_path(fragment.path)
        for name in dict.fromkeys([*schema.names, *other.names]):
            if name not in other.names or name not in schema.names:
                raise InputError(
                    f"Column {quoted(name)} is in {where} but not in other files, or the other "
                    "way round; all files must have the same columns."
                )
            one, two = schema.field(name).type, other.field(name).type
            if one != two:
                raise InputError(
                    f"Column {quoted(name)} is of the type {two} in {where} but {one} in other "
                    "files; write them alike."
                )
    for name in told_by_folders(fragments[0]):
        if name not in schema.names:
            schema = schema.append(whole.field(name))
    return schema


def _taker(found: Plan, schema: pa.Schema) -> Taker:
    """Columns as they are, in their own number types, where that is all there is to do."""
    if not found.plain:
        return Planned(found)
    types = [number_type(schema.field(column.name).type) for column in found.columns]
    dtype = common_type(each for each in types if each is not None)
    return Numbers([column.name for column in found.columns], dtype, named=False)
