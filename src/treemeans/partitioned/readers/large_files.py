"""Tables larger than memory: Parquet files, pyarrow datasets, DuckDB queries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import dataset as pads

from treemeans.files.file_errors import quoted_path
from treemeans.partitioned.readers.arrow_columns import (
    BATCH_ROWS,
    BatchConverter,
    check_columns,
    number_converter,
)
from treemeans.partitioned.readers.frame_converter import (
    frame_converter,
    has_other_columns,
    parquet_has_nulls,
)
from treemeans.partitioned.readers.parquet_partitions import (
    ParquetPartitions,
    folder_columns,
    split_into_read_tasks,
    unreadable,
)
from treemeans.partitioned.readers.reread_partitions import RereadPartitions
from treemeans.partitioned.readers.stream_partitions import Batches, StreamPartitions

SUFFIXES = (".parquet", ".pq")


def open_table(
    source: Any, columns: Sequence[str] | None = None, weights: str = ""
) -> RereadPartitions:
    """Partitioned rows of paths, a dataset or a query."""
    if isinstance(source, pads.Dataset):
        return open_arrow_dataset(source, columns, weights)
    if is_relation(source):
        return open_query(source, columns, weights)
    return open_arrow_dataset(open_dataset(source), columns, weights)


def opened(X: Any, sample_weight: Any = None) -> RereadPartitions | None:
    """Rows of a dataset or a query; None for what is in memory."""
    if not isinstance(X, pads.Dataset) and not is_relation(X):
        return None
    if sample_weight is not None and not isinstance(sample_weight, str):
        raise ValueError(
            "The weights of rows in files must be a column there; pass its name as sample_weight."
        )
    return open_table(X, None, sample_weight or "")


def is_relation(source: Any) -> bool:
    """Whether it is a DuckDB query."""
    return type(source).__name__ == "DuckDBPyRelation"


def open_arrow_dataset(
    dataset: Any, columns: Sequence[str] | None = None, weights: str = ""
) -> RereadPartitions:
    """Rows of a pyarrow dataset; of Parquet files, every thread reads its own row groups."""
    kept = check_columns(columns, dataset.schema.names, weights)
    fragments = parquet_fragments(dataset)

    def inferred() -> BatchConverter:
        return frame_converter(_scanned(dataset, kept), kept, weights)

    if fragments is None:
        n_rows, has_nulls = _count(_scanned(dataset, kept))
        schemas = [("the dataset", dataset.schema)]
    else:
        schemas = [_schema_of(one, dataset.schema) for one in fragments]
        has_nulls = parquet_has_nulls(fragments, kept)
    if has_other_columns(schemas, kept) or has_nulls:
        converter = inferred()
    else:
        converter = number_converter(schemas, kept, weights)
    if fragments is not None:
        cut = split_into_read_tasks(fragments, converter.rows_per_partition())
        return ParquetPartitions(cut, converter, inferred)
    return StreamPartitions(
        lambda reads: _scanned(dataset, reads), converter, n_rows, "The dataset", inferred
    )


def open_query(
    relation: Any, columns: Sequence[str] | None = None, weights: str = ""
) -> RereadPartitions:
    """Rows of a DuckDB query, which streams its rows."""
    import duckdb

    kept = check_columns(columns, relation.columns, weights)
    with _explained():
        with _reader(relation.limit(0)) as reader:
            schema = reader.schema
        present = [
            duckdb.FunctionExpression("count", duckdb.ColumnExpression(name)) for name in kept
        ]
        every = duckdb.FunctionExpression("count", duckdb.ConstantExpression(1))
        n_rows, *n_present = relation.aggregate([every, *present]).fetchall()[0]

    def inferred() -> BatchConverter:
        return frame_converter(_queried(relation, kept), kept, weights)

    if has_other_columns([("the query", schema)], kept) or min(n_present) < n_rows:
        converter = inferred()
    else:
        converter = number_converter([("the query", schema)], kept, weights)
    return StreamPartitions(
        lambda reads: _queried(relation, reads), converter, n_rows, "The query", inferred
    )


def _count(batches: Batches) -> tuple[int, bool]:
    """Number of rows, and whether some value is missing."""
    n_rows, has_nulls = 0, False
    for batch in batches:
        n_rows += batch.num_rows
        has_nulls = has_nulls or any(column.null_count for column in batch.columns)
    return n_rows, has_nulls


def open_dataset(paths: str | PathLike[str] | Iterable[str | PathLike[str]]) -> Any:
    """A dataset of a Parquet file, of a list of them, or of those in a folder and below it."""
    one = isinstance(paths, str | PathLike)
    found = _files_in(Path(paths)) if one else [Path(path) for path in paths]  # type: ignore[arg-type, union-attr]
    if not found:
        raise ValueError("There is no file to read; name at least one.")
    for path in found:
        _check_parquet(path)
    base = str(paths) if one and Path(str(paths)).is_dir() else None
    try:
        return pads.dataset(
            [str(path) for path in found],
            format="parquet",
            partitioning=pads.HivePartitioning.discover() if base else None,
            partition_base_dir=base,
        )
    except (pa.ArrowException, OSError) as error:
        raise unreadable(str(found[0]), error) from error


def parquet_fragments(dataset: Any) -> list[Any] | None:
    """The files of a dataset; None where they are not Parquet, or some rows are filtered out."""
    try:
        found = list(dataset.get_fragments())
    except ValueError:  # there is a filter
        return None
    return found if all(isinstance(one, pads.ParquetFileFragment) for one in found) else None


def _files_in(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(
        file
        for file in path.rglob("*")
        if file.suffix.lower() in SUFFIXES and not file.name.startswith(("_", "."))
    )
    if not found:
        raise ValueError(
            f"There is no Parquet file (.parquet or .pq) in the folder {quoted_path(path)}."
        )
    return found


def _check_parquet(path: Path) -> None:
    if not path.exists():
        raise FileNotFoundError(f"There is no file {quoted_path(path)}; check the name.")
    with path.open("rb") as file:
        if file.read(4) != b"PAR1":
            raise ValueError(
                f"{quoted_path(path)} is not a Parquet file; convert it, or read it with DuckDB."
            )


def _schema_of(fragment: Any, whole: pa.Schema) -> tuple[str, pa.Schema]:
    """The columns of a file, and those that the names of its folders tell; and its name."""
    try:
        schema = fragment.physical_schema
    except (pa.ArrowException, OSError) as error:
        raise unreadable(fragment.path, error) from error
    for name in folder_columns(fragment):
        if name in whole.names and name not in schema.names:
            schema = schema.append(whole.field(name))
    return quoted_path(fragment.path), schema


def _scanned(dataset: Any, columns: Sequence[str]) -> Batches:
    options = {}
    if isinstance(getattr(dataset, "format", None), pads.ParquetFileFormat):
        options["fragment_scan_options"] = pads.ParquetFragmentScanOptions(
            use_buffered_stream=True, buffer_size=1 << 16, pre_buffer=False
        )
    batches = dataset.to_batches(
        columns=list(columns),
        batch_size=BATCH_ROWS,
        batch_readahead=0,
        fragment_readahead=1,
        use_threads=False,
        **options,
    )
    try:
        yield from batches
    except (pa.ArrowException, OSError) as error:
        reason = str(error).strip().split("\n")[0].rstrip(".")[:200]
        raise ValueError(f"The dataset cannot be read: {reason}.") from error


def _queried(relation: Any, columns: Sequence[str]) -> Batches:
    import duckdb

    with _explained():
        # A relation of its own for every pass: before DuckDB 2, one keeps what is left of a result.
        reader = _reader(relation.select(*map(duckdb.ColumnExpression, columns)))
        with reader:  # while it is open, its connection answers nothing else
            yield from reader


def _reader(relation: Any) -> Any:
    """The rows of a query as a stream of batches."""
    if hasattr(type(relation), "to_arrow_reader"):
        return relation.to_arrow_reader(BATCH_ROWS)
    return relation.fetch_arrow_reader(BATCH_ROWS)  # DuckDB before 1.4


@contextmanager
def _explained() -> Iterator[None]:
    """What DuckDB says of a query that fails, in one sentence."""
    import duckdb

    try:
        yield
    except (duckdb.Error, pa.ArrowException) as error:
        reason = str(error).strip().split("\n")[0].rstrip(".")[:200]
        raise ValueError(f"DuckDB could not run the query: {reason}.") from error
