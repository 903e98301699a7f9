"""Files larger than memory for ``treemeans fit``, which is done in passes over their rows."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from treemeans.cli.choose_engine import reading_threads
from treemeans.files.file_errors import InputError, quoted, quoted_path
from treemeans.files.file_schema import FileSchema, ReadOptions, infer_schema, refuse_problems
from treemeans.files.read_table import decimal_mark, read_batches
from treemeans.files.table_source import open_source
from treemeans.files.write_table import TableWriter
from treemeans.partitioned import PartitionedRows
from treemeans.partitioned.readers.arrow_columns import (
    BatchConverter,
    ConvertedRows,
    NumberConverter,
    common_type,
    number_type,
)
from treemeans.partitioned.readers.large_files import open_dataset, parquet_fragments
from treemeans.partitioned.readers.malloc_trim import return_freed_memory
from treemeans.partitioned.readers.parquet_partitions import (
    ParquetPartitions,
    ReadTask,
    folder_columns,
    split_into_read_tasks,
)
from treemeans.progress import Progress

_ROWS_PER_TASK = 1 << 16  # rows that are read at once to infer the columns


class EncodingConverter(BatchConverter):
    """Converts batches with a table encoding."""

    def __init__(self, encoding: FileSchema) -> None:
        columns = encoding.columns
        mixed = not encoding.is_all_numbers
        names = [column.name for column in columns] if mixed else None
        super().__init__(encoding.inputs, len(columns), np.dtype(np.float64), names)
        self.encoding = encoding
        if mixed:
            self.schema, self.columns_of_rows = encoding.table, columns

    def take(self, batch: pa.RecordBatch, first_row: int) -> ConvertedRows:
        """The numbers of a batch."""
        return self.encoding.encode(batch, first_row + 1), None


@contextmanager
def open_large_file(
    path: str, options: ReadOptions, *, dask: bool = False, shown: bool = False
) -> Iterator[tuple[PartitionedRows, FileSchema]]:
    """Open a file as rows in parts, with what was found of it; others are converted to Parquet.

    ``dask``: whether Dask reads it. ``shown``: whether a progress bar may be shown.
    """
    return_freed_memory()
    with ExitStack() as stack:
        if not is_parquet(path):
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="treemeans-"))
            path = _convert_to_parquet(path, options, Path(folder), shown)
        dataset = open_dataset(path)
        fragments = parquet_fragments(dataset)
        assert fragments is not None
        schema = _common_schema(fragments, dataset.schema)
        tasks = split_into_read_tasks(fragments, _ROWS_PER_TASK)
        encoding = _infer(lambda names: _batches(tasks, names, shown), schema, options)
        converter = _converter(encoding, schema)
        parts = ParquetPartitions(
            split_into_read_tasks(fragments, converter.rows_per_partition()), converter
        )
        yield stack.enter_context(_on_dask(parts)) if dask else parts, encoding


def _infer(
    batches: Callable[[list[str]], Iterator[pa.RecordBatch]],
    schema: pa.Schema,
    options: ReadOptions,
) -> FileSchema:
    """The schema."""
    found = infer_schema(batches, schema, options, decimal_mark(schema))
    refuse_problems(found)
    return found


@contextmanager
def _on_dask(parts: ParquetPartitions) -> Iterator[PartitionedRows]:
    """Parquet partitions read by Dask, with no more threads than there is memory for."""
    import dask

    from treemeans.partitioned.readers.dask_parquet import DaskParquetPartitions

    workers = dask.config.get("num_workers", None) or reading_threads()
    with dask.config.set(num_workers=workers):
        yield DaskParquetPartitions(parts)


def is_parquet(path: str) -> bool:
    """Whether a path is a Parquet file, or a folder of them."""
    return path != "-" and (Path(path).is_dir() or open_source(path).kind == "parquet")


def _convert_to_parquet(path: str, options: ReadOptions, folder: Path, shown: bool) -> str:
    """Convert the table to Parquet once, because parsing text on every pass is slow."""
    wanted = None
    if options.columns is not None:
        more = [*([options.id] if options.id else []), *options.exclude]
        wanted = list(dict.fromkeys([*options.columns, *more]))
    written = folder / "table.parquet"
    done = 0
    with TableWriter(written) as writer, Progress("treemeans: rows read", None, shown) as progress:
        for batch in read_batches(path, wanted, text=[*options.text, *options.category]):
            writer.write(batch)
            done += batch.num_rows
            progress.update(done)
    return str(written)


def _batches(
    tasks: Sequence[ReadTask], names: Sequence[str], shown: bool
) -> Iterator[pa.RecordBatch]:
    """Some columns of all rows, in batches."""
    done, n_rows = 0, sum(task.n_rows for task in tasks)
    with Progress("treemeans: inferring columns", n_rows, shown) as progress:
        for task in tasks:
            for groups in task.groups:
                for batch in groups.batches(names):
                    yield batch
                    done += batch.num_rows
                    progress.update(done, f"{done:,} rows")


def _common_schema(fragments: Sequence[Any], whole: pa.Schema) -> pa.Schema:
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
    for name in folder_columns(fragments[0]):
        if name not in schema.names:
            schema = schema.append(whole.field(name))
    return schema


def _converter(encoding: FileSchema, schema: pa.Schema) -> BatchConverter:
    """The converter of batches; columns that are all numbers keep their own number types."""
    if not encoding.is_plain:
        return EncodingConverter(encoding)
    types = [number_type(schema.field(column.name).type) for column in encoding.columns]
    dtype = common_type(each for each in types if each is not None)
    return NumberConverter([column.name for column in encoding.columns], dtype, named=False)
