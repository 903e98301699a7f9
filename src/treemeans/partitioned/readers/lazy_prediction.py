"""Predictions for dask collections, as dask arrays that are not computed yet."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from treemeans.columns import Column
from treemeans.columns.encode_frame import refuse_absent
from treemeans.optional_imports import need
from treemeans.partitioned.map_reduce import MapReduceStep
from treemeans.partitioned.partition import Partition
from treemeans.partitioned.readers.dask_partitions import (
    DaskPartitions,
    check_table,
    is_frame,
    with_whole_rows,
)


def lazily(model: Any, method: str, X: Any, like: NDArray[Any]) -> Any:
    """What ``model.method`` gives for the rows of each partition, as a dask array.

    It has the row chunks of X. The partitions of a data frame have no known sizes.

    Parameters
    ----------
    model : fitted
    method : takes rows and returns an array
    X : dask array or data frame
    like : (0,) or (0, m), of the type that the method returns
    """
    check_columns(model, X)
    sent = _sent(model)
    if is_frame(X):
        return X.map_partitions(
            _of_partition,
            *(sent, method, like),
            meta=like,
            enforce_metadata=False,
            align_dataframes=False,
        )
    X = with_whole_rows(X)
    shape = {"drop_axis": 1} if like.ndim == 1 else {"chunks": (X.chunks[0], like.shape[1:])}
    return X.map_blocks(
        _of_chunk,
        *(sent, method, like),
        token=method,
        dtype=like.dtype,
        meta=like,
        **shape,
    )


def lazy_cost(model: Any, X: Any, sample_weight: Any) -> float:
    """K-means cost of rows in partitions; this one is computed, in one pass."""
    check_columns(model, X)
    parts = DaskPartitions(X, sample_weight)
    cost, weight = parts.map_reduce(SumModelCost(travelling(model)))
    if weight == 0:
        raise ValueError("sample_weight is zero for every row, so there is nothing to score.")
    return float(cost)


@dataclass(frozen=True)
class SumModelCost(MapReduceStep["NDArray[np.float64]"]):
    """The k-means cost of the rows, and their weight."""

    model: Any

    def map(self, partition: Partition) -> NDArray[np.float64]:
        """Sum over one partition."""
        weights = partition.weights
        if weights is not None and not weights.any():
            return np.zeros(2)
        with named(partition.number):
            cost = -self.model.score(partition.raw, sample_weight=weights)
        return np.array([cost, partition.n_rows if weights is None else weights.sum()])


def check_columns(model: Any, X: Any) -> None:
    """Refuse other columns than those of the fit, in scikit-learn's words, before any work."""
    check_table(X)
    known = model._fit_result.columns
    if is_frame(X) and any(column.categories for column in known):
        # Columns are found by name, and additional ones are ignored.
        refuse_absent([c for c in known if not _has(X, c)])
        return
    columns = X._meta if is_frame(X) else np.empty((0, int(X.shape[1])))
    validate_data(model, columns, reset=False, skip_check_array=True)


def _has(X: Any, column: Column) -> bool:
    return column.name in X.columns or (column.source or column.name) in X.columns


def travelling(model: Any) -> Any:
    """The model to send to workers: without training rows, and with one thread."""
    light = copy.copy(model)
    light.n_jobs = 1
    light._fit_result = replace(model._fit_result, leaf_of_row=None, reference_labels=None)
    for of_rows in ("labels_", "reference_labels_"):
        light.__dict__.pop(of_rows, None)
    return light


@contextmanager
def named(number: int) -> Iterator[None]:
    """Name the partition that an error is about."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"Partition {number}: {error}") from error


def _sent(model: Any) -> Any:
    """The model as a single key of a graph, the same for the same model."""
    dask, light = need("dask", "dask"), travelling(model)
    name = f"treemeans-model-{dask.base.tokenize(light)}"
    return dask.delayed(light, name=name, traverse=False)


def _of_chunk(rows: Any, model: Any, method: str, like: Any, block_id: Any = None) -> Any:
    return _of_rows(block_id[0], rows, model, method, like)


def _of_partition(rows: Any, model: Any, method: str, like: Any, partition_info: Any = None) -> Any:
    return _of_rows(partition_info["number"], rows, model, method, like)


def _of_rows(number: int, rows: Any, model: Any, method: str, like: NDArray[Any]) -> Any:
    if rows.shape[0] == 0:  # sparse rows have no length
        return like
    with named(number):
        return getattr(model, method)(rows)
