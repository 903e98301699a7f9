"""Which objects hold partitioned rows, found without importing the package they come from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from treemeans.optional_imports import need
from treemeans.partitioned.map_reduce import PartitionedRows
from treemeans.partitioned.readers.dask_partitions import DaskPartitions


def _open_file(X: Any, sample_weight: Any) -> PartitionedRows | None:
    from treemeans.partitioned.readers.large_files import opened

    return opened(X, sample_weight)


def _open_spark(X: Any, sample_weight: Any) -> PartitionedRows | None:
    from treemeans.partitioned.readers.spark_partitions import SparkPartitions

    return SparkPartitions.of(X, sample_weight)


def _open_ray(X: Any, sample_weight: Any) -> PartitionedRows | None:
    from treemeans.partitioned.readers.ray_partitions import RayPartitions

    return RayPartitions.of(X, sample_weight)


# Package that a type comes from -> what makes partitioned rows of it, or None if all rows are in
# one memory.
OPENERS: dict[str, Callable[[Any, Any], PartitionedRows | None]] = {
    "dask": DaskPartitions.of,
    "dask_expr": DaskPartitions.of,
    "pyarrow": _open_file,
    "duckdb": _open_file,
    "_duckdb": _open_file,
    "pyspark": _open_spark,
    "ray": _open_ray,
}


def as_partitioned(X: Any, sample_weight: Any = None) -> PartitionedRows | None:
    """X as partitioned rows; None if its rows are in one memory.

    Examples
    --------
    >>> import dask.array as da
    >>> as_partitioned(da.ones((6, 2), chunks=(2, 2))).n_partitions
    3
    >>> as_partitioned([[1.0, 2.0]]) is None
    True
    """
    if isinstance(X, PartitionedRows):
        if sample_weight is not None:
            raise ValueError(
                "Leave sample_weight out: these rows have their weights with them, as in "
                "open_parts(..., weights=...)."
            )
        return X
    opener = OPENERS.get(package_of(X))
    return None if opener is None else opener(X, sample_weight)


def refuse_unread(X: Any) -> None:
    """Refuse rows that are not in memory, where a fitted model needs rows in memory."""
    unread = package_of(X) in OPENERS and type(X).__name__.endswith(("Dataset", "Relation"))
    if unread or package_of(X) == "pyspark" or isinstance(X, PartitionedRows):
        raise ValueError(
            f"A fitted model takes rows in memory, not a {type(X).__name__}; label files with "
            "`treemeans predict`, or have the database do it: model.to_sql gives the query."
        )


def package_of(X: Any) -> str:
    """The package that the type of X comes from."""
    return type(X).__module__.split(".")[0]


def open_parts(
    source: Any, columns: Sequence[str] | None = None, weights: str | None = None
) -> PartitionedRows:
    """A table larger than memory, for `ExKMC.fit`.

    A fit reads it once and keeps it as numbers: in memory if it takes a quarter of what is
    available at most, otherwise in a scratch file in the folder of temporary files (``TMPDIR``), as
    large as the numbers, which the system removes when the fit is over or its process is killed.
    Without room for that, every pass reads the table again. Columns keep their number type (float32
    stays float32); dates become days since 1970. Where some column holds text, or values are
    missing, one more pass finds the categories, and the tree is that of a data frame in memory.

    Parameters
    ----------
    source : path, list of paths, pyarrow Dataset or DuckDB query
        A path is that of a Parquet file, or of a folder with Parquet files in it and below it.
        A query (``duckdb.sql("select ...")``) runs once, after its rows are counted; where its rows
        cannot be kept, for every pass, and must then give the same rows each time, in any order.
    columns : sequence of str, optional
        Those to cluster by, in this order; all by default.
    weights : str, optional
        The column with the weights of the rows. It is not clustered by.

    Returns
    -------
    PartitionedRows
        To be passed to ``fit`` instead of X.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np, pyarrow as pa, pyarrow.parquet as pq
    >>> from treemeans import ExKMC, open_parts
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "points.parquet"
    >>> pq.write_table(pa.table({"id": range(6), "size": [1.0, 1.5, 2.0, 7.0, 8.0, 8.5]}), path)
    >>> model = ExKMC(2, random_state=0).fit(open_parts(path, columns=["size"]))
    >>> print(model.tree_.n_leaves, model.tree_.threshold[0])
    2 4.5
    """
    need("pyarrow", "parquet")
    from treemeans.partitioned.readers.large_files import open_table

    return open_table(source, columns, weights or "")
