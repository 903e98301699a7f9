"""Rows that fit into the memory of the driver: one pass gathers them, and the fit is in memory.

A pass costs some milliseconds for each partition whatever it computes, and a fit makes some twenty
to a hundred of them. For a table that fits into one memory it is faster to bring the rows there
once. The fit is then the fit of the same rows in memory, and everything that works there works.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from treemeans.columns import plain_columns
from treemeans.columns.encoded_table import EncodedFrame
from treemeans.columns.table_schema import TableSchema
from treemeans.partitioned.map_reduce import MapReduceStep, PartitionedRows
from treemeans.partitioned.partition import Partition
from treemeans.partitioned.partition_cache import available_memory
from treemeans.partitioned.row_summary import count_missing
from treemeans.reference import last_step
from treemeans.validation import DEFAULT_CLUSTERS

_SHARE = 4  # a gathered fit takes at most this part of the available memory
_ROW_BYTES = 32  # of a row in memory beside values, codes and costs: numbers of rows, labels
_CODE_BYTES, _COST_BYTES = 2, 8  # of a value's code, of a row's cost at a center


@dataclass(frozen=True)
class GatheredTable:
    """All rows, as a fit in memory takes them.

    Attributes
    ----------
    X : (n, d), the rows as numbers
    raw : the same as the user gave them, if a pipeline needs that; otherwise X
    weights : weights of the rows; None where all are 1
    dates : the columns of X that hold dates, and whether each has a time zone
    booleans : names of the columns of X that hold true and false
    encoded : the same rows with what their columns are; None if all are numbers
    """

    X: NDArray[Any]
    raw: Any
    weights: NDArray[np.float64] | None
    dates: Mapping[str, bool]
    booleans: list[str]
    encoded: EncodedFrame | None


@dataclass(frozen=True)
class PartitionRows:
    """The rows of some partitions that follow each other, in order.

    Attributes
    ----------
    n_bytes : that a fit of these rows takes in memory
    missing : whether some value is missing
    X, raw, weights : of each partition; None if they take more than they may
    """

    n_bytes: int
    missing: bool = False
    X: tuple[NDArray[Any], ...] | None = None
    raw: tuple[Any, ...] = ()
    weights: tuple[NDArray[np.float64], ...] = ()


@dataclass(frozen=True)
class GatherRows(MapReduceStep[PartitionRows]):
    """Bring all rows to the driver, unless they take more memory than they may.

    Attributes
    ----------
    most : bytes that a fit of all rows may take in memory
    share : bytes that each partition may take; one that takes more keeps its rows, and none arrive
    n_clusters : number of centers, whose costs a fit keeps
    with_raw : whether a pipeline needs the rows as the user gave them
    accepts_missing : whether NaN may be a missing value; infinity is always refused
    """

    most: int
    share: int
    n_clusters: int
    with_raw: bool = False
    accepts_missing: bool = False

    def map(self, partition: Partition) -> PartitionRows:
        """Check the rows of one partition, and return them."""
        X = partition.X
        n_rows, n_features = X.shape
        n_bytes = bytes_in_memory(n_rows, n_features, X.dtype.itemsize, self.n_clusters)
        if n_bytes > self.share:
            return PartitionRows(n_bytes)
        missing = False
        if not partition.points.all_finite(1):
            missing = bool(count_missing(partition, accepted=self.accepts_missing).any())
        raw = (partition.raw,) if self.with_raw else ()
        weights = () if partition.weights is None else (partition.weights,)
        return PartitionRows(n_bytes, missing, (X,), raw, weights)

    def reduce(self, one: PartitionRows, other: PartitionRows) -> PartitionRows:
        """Append the rows that come later."""
        n_bytes = one.n_bytes + other.n_bytes
        if one.X is None or other.X is None or n_bytes > self.most:
            return PartitionRows(n_bytes)
        return PartitionRows(
            n_bytes,
            one.missing or other.missing,
            one.X + other.X,
            one.raw + other.raw,
            one.weights + other.weights,
        )

    @classmethod
    def of(cls, rows: PartitionedRows, reference: Any, n_clusters: int | None) -> Self | None:
        """The step for some rows; None if it is known that they take more than they may."""
        most = min(rows.gather_bytes, available_memory() // _SHARE)
        k = n_clusters or _clusters_of(reference)
        if rows.n_rows is not None:
            known = bytes_in_memory(rows.n_rows, rows.n_features, rows.value_bytes, k)
            if known > most:
                return None
            share = most
        else:  # partitions of about one size: if the rows of one are too many, so are all
            share = most // rows.n_partitions
        is_pipeline = isinstance(_thawed(reference), Pipeline)
        accepted = rows.columns is not None or rows.can_infer or is_pipeline
        return cls(most, share, k, is_pipeline, accepted)


def bytes_in_memory(n_rows: int, n_features: int, value_bytes: int, n_clusters: int) -> int:
    """About the bytes that a fit of so many rows takes in memory.

    Examples
    --------
    >>> bytes_in_memory(1_000_000, 25, 4, 10)
    262000000
    """
    values = n_features * (value_bytes + _CODE_BYTES)
    return n_rows * (values + n_clusters * _COST_BYTES + _ROW_BYTES)


def gather(rows: PartitionedRows, reference: Any, n_clusters: int | None) -> GatheredTable | None:
    """All rows in one memory; None if they take more than ``rows.gather_bytes`` there.

    Takes one pass, or two where partitions are of very different sizes; two more where some values
    are missing or dates. Rows of which it is known that they are too many take none.
    """
    if rows.gather_bytes <= 0:
        return None
    found = _gathered(rows, reference, n_clusters)
    if found is not None and rows.columns is None and (found.missing or rows.dates):
        if rows.can_infer:  # as in memory, where a frame with dates is not all numbers
            rows.infer_columns()
        elif found.missing:  # of an array: it was accepted because a pipeline takes it
            rows.columns = plain_columns(rows.n_features)
        found = _gathered(rows, reference, n_clusters)
    if found is None:
        return None
    assert found.X is not None
    arrays, raw, weights = list(found.X), found.raw, found.weights
    del found  # so that each array is freed as soon as it is copied
    return _as_table(rows, _stacked(arrays), raw, weights)


def _gathered(
    rows: PartitionedRows, reference: Any, n_clusters: int | None
) -> PartitionRows | None:
    step = GatherRows.of(rows, reference, n_clusters)
    if step is None:
        return None
    found = rows.map_reduce(step)
    if found.X is None and found.n_bytes <= step.most:
        found = rows.map_reduce(replace(step, share=step.most))
    return None if found.X is None else found


def _stacked(arrays: list[NDArray[Any]]) -> NDArray[Any]:
    """All rows in one array; the list is emptied on the way, so that memory holds them once."""
    if len(arrays) == 1:
        return arrays[0]
    n_rows = sum(len(array) for array in arrays)
    X = np.empty((n_rows, arrays[0].shape[1]), dtype=np.result_type(*arrays))
    first = 0
    arrays.reverse()
    while arrays:
        array = arrays.pop()
        X[first : first + len(array)] = array
        first += len(array)
    return X


def _as_table(
    rows: PartitionedRows,
    X: NDArray[Any],
    raws: tuple[Any, ...],
    weight_arrays: tuple[NDArray[np.float64], ...],
) -> GatheredTable | None:
    raw = _joined(raws, X)
    if raw is None:
        return None
    weights = np.concatenate(weight_arrays) if weight_arrays else None
    encoded = None
    if rows.columns is not None:
        schema = TableSchema((), len(X)) if rows.schema is None else rows.schema
        X = np.asarray(X, dtype=np.float64)
        encoded = EncodedFrame(X, schema, rows.columns, raw)
    return GatheredTable(X, raw, weights, rows.dates, rows.booleans, encoded)


def _joined(raw: tuple[Any, ...], X: NDArray[Any]) -> Any:
    """The rows as the user gave them; None if there is no telling how to join them."""
    if not raw or all(isinstance(each, np.ndarray) for each in raw):
        return X
    if all(sparse.issparse(each) for each in raw):
        return sparse.vstack(raw, format="csr")
    if any(type(each).__module__.split(".")[0] != "pandas" for each in raw):
        return None
    import pandas as pd

    return pd.concat(raw, ignore_index=True)


def _thawed(reference: Any) -> Any:
    return reference.estimator if isinstance(reference, FrozenEstimator) else reference


def _clusters_of(reference: Any) -> int:
    """Number of clusters of a reference, as far as it says."""
    if hasattr(reference, "fit"):
        return int(getattr(last_step(_thawed(reference)), "n_clusters", DEFAULT_CLUSTERS))
    if reference is None or isinstance(reference, str):
        return DEFAULT_CLUSTERS
    return len(reference)
