"""Partition: the rows of one partition in memory, while a map/reduce step reads them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from treemeans import _core
from treemeans.columns import Columns
from treemeans.columns.dates import dates_as_days
from treemeans.columns.encode_frame import encode_frame
from treemeans.columns.frame_values import open_frame
from treemeans.partitioned.partition_cache import CacheEntry, available_memory
from treemeans.reference.given_labels import label_codes, plain_values
from treemeans.rows import as_points
from treemeans.rows.dense_points import NUMBER_TYPES

_DENSE_SHARE = 4  # a sparse partition is made dense if it takes at most this part of the memory


@dataclass(frozen=True)
class Partition:
    """Rows that are in memory together.

    Attributes
    ----------
    number : number of the partition, from 0
    first_row : index of its first row among all rows; -1 until the rows have been counted
    X : (n, d), of a number type that the kernels read
    raw : the same rows as the user gave them, for the transformers of a reference pipeline
    weights : weights of the rows; None where all are 1
    cache : what is kept of the partition between passes
    labels : reference cluster of each row, -1 for noise; None where the reference has centers
    """

    number: int
    first_row: int
    X: NDArray[Any]
    raw: Any
    weights: NDArray[np.float64] | None = None
    cache: CacheEntry = field(default_factory=CacheEntry, repr=False, compare=False)
    labels: NDArray[np.int32] | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @cached_property
    def points(self) -> _core.Points:
        """The kernels' view of X."""
        return as_points(self.X)


@dataclass(frozen=True)
class LabelColumn:
    """The column of data frames that holds the labels of the reference.

    Attributes
    ----------
    name : of the column, which is not one of X
    values : the labels, in the order of their numbers
    noise : what becomes of rows without a label, as in `ExKMC`
    has_noise : whether there are rows that are left out as noise, which then weigh nothing
    """

    name: str
    values: tuple[Any, ...] = ()
    noise: str = "ignore"
    has_noise: bool = False

    def codes(self, raw: Any) -> NDArray[np.int32] | None:
        """Clusters of the rows of a partition; None until the labels are known."""
        if not self.values:
            return None
        return label_codes(plain_values(raw[self.name]), self.values, self.noise)


@dataclass(frozen=True)
class PartitionSchema:
    """What all partitions must have in common.

    Attributes
    ----------
    n_features : number of columns
    names : names of the columns; None where they have none, or some are not strings
    labels : how a further column of data frames holds labels; None where there is none
    columns : by which data frames are encoded, if they are not all numbers; then they may have
        more columns, in any order
    """

    n_features: int
    names: tuple[str, ...] | None = None
    labels: LabelColumn | None = None
    columns: Columns | None = None

    @classmethod
    def of(cls, rows: Any, labels: LabelColumn | None = None) -> Self:
        """The schema of `PartitionedRows`."""
        names = None if rows.names is None else tuple(rows.names)
        n_features = rows.n_features if rows.columns is None else len(rows.columns)
        return cls(n_features, names, labels, rows.columns)

    def partition(self, number: int, first_row: int, raw: Any, weights: Any = None) -> Partition:
        """Check rows of any kind and make a `Partition` of them.

        NaN and infinity pass here: the first pass of a fit (`SummarizeRows`) looks for them.
        """
        labels = None
        if self.labels is not None:
            labels, raw = self.labels.codes(raw), raw.drop(columns=[self.labels.name])
        table = np.asarray(self._numbers(number, raw))
        if table.ndim != 2 or table.shape[1] != self.n_features:
            raise ValueError(
                f"Partition {number} has the shape {table.shape}; the others have "
                f"{self.n_features} columns."
            )
        if weights is not None:
            weights = np.ascontiguousarray(weights, dtype=np.float64)
            if weights.shape != (len(table),):
                raise ValueError(
                    f"Partition {number} has {len(table)} rows, but weights of the shape "
                    f"{weights.shape}."
                )
            check_weights(number, weights)
        if labels is not None and self.labels is not None and self.labels.has_noise:
            kept = (labels >= 0).astype(np.float64)
            weights = kept if weights is None else weights * kept
        return Partition(number, first_row, table, raw, weights, labels=labels)

    def _numbers(self, number: int, raw: Any) -> NDArray[Any]:
        if self.columns is not None:
            return self._encoded(number, raw, self.columns)
        if sparse.issparse(raw):
            raw = _dense(number, raw)
        names = _names_of(raw)
        if self.names is not None and names is not None and names != self.names:
            raise ValueError(
                f"Partition {number} has the columns {_some(names)}; the first one has "
                f"{_some(self.names)}."
            )
        table = np.asarray(dates_as_days(raw))
        if table.dtype.newbyteorder("=").type in NUMBER_TYPES:
            return table
        try:
            return table.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"Partition {number} holds something that is no number ({table.dtype}): {error}."
            ) from error

    def _encoded(self, number: int, raw: Any, columns: Columns) -> NDArray[np.float64]:
        frame = open_frame(raw)
        if frame is None:
            raise ValueError(f"Partition {number} is no data frame, but others are.")
        try:
            return encode_frame(frame, columns)
        except ValueError as error:
            raise ValueError(f"Partition {number}: {error}") from error


def _dense(number: int, rows: Any) -> NDArray[Any]:
    """A sparse partition as a dense table: the passes read values by column and by row."""
    n_bytes = math.prod(rows.shape) * rows.dtype.itemsize
    if n_bytes > available_memory() // _DENSE_SHARE:
        raise ValueError(
            f"Partition {number} is sparse and needs {n_bytes / 1e9:.1f} GB as a dense table, more "
            "than a quarter of the available memory; divide the rows into smaller partitions."
        )
    return np.asarray(rows.toarray())


def check_weights(number: int, weights: NDArray[np.float64]) -> None:
    """Refuse weights of a partition that are negative or not finite."""
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError(f"The weights of partition {number} must be finite and not negative.")


def _names_of(raw: Any) -> tuple[str, ...] | None:
    columns = getattr(raw, "columns", None)
    if columns is None or not all(isinstance(name, str) for name in columns):
        return None
    return tuple(columns)


def _some(names: tuple[str, ...]) -> str:
    return ", ".join(map(repr, names[:4])) + (", ..." if len(names) > 4 else "")
