"""RowStore: rows that were read once, kept in memory or in a scratch file for later passes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from treemeans.partitioned.partition import Partition
from treemeans.partitioned.scratch_file import ScratchFile, free_scratch, scratch_folder

_SPARE = 1.25  # as many times the rows must fit the disk, or they are not written there


@dataclass(frozen=True)
class StoredRows:
    """Where the rows of a partition are: in ``X``, or at ``offset`` of the scratch file."""

    shape: tuple[int, int]
    X: NDArray[Any] | None
    offset: int
    weights: NDArray[np.float64] | None


class RowStore:
    """Keeps the rows of partitions, as numbers: in memory, or in a scratch file of that size.

    Parameters
    ----------
    dtype : of the numbers
    in_memory : whether rows stay in memory; otherwise they go to a scratch file
    """

    def __init__(self, dtype: np.dtype[Any], in_memory: bool) -> None:
        self.dtype = dtype
        self.complete = self.is_full = False
        self._rows: dict[int, StoredRows] = {}
        self._lock = threading.Lock()
        self._file = None if in_memory else ScratchFile()

    @classmethod
    def for_rows(cls, dtype: np.dtype[Any], n_bytes: int | None, budget: int) -> Self | None:
        """A store for so many bytes; None if there is room neither in memory nor on the disk.

        ``budget``: bytes of memory that may be taken.
        """
        if n_bytes is None:
            return None
        if n_bytes <= budget:
            return cls(dtype, True)
        try:
            return cls(dtype, False) if n_bytes * _SPARE <= free_scratch() else None
        except OSError:
            return None

    @property
    def scratch_folder(self) -> str | None:
        """The folder of the scratch file; None if rows are in memory."""
        return None if self._file is None else scratch_folder()

    def add(self, partition: Partition) -> None:
        """Keep the rows of a partition. Any thread may do so."""
        if self.is_full:
            return
        X, offset = partition.X, 0
        kept: NDArray[Any] | None = X
        if self._file is not None:
            try:
                offset = self._file.write(X.T)  # then a pass reads only the columns it needs
            except OSError:  # others have filled the disk since it was looked at
                self.is_full = True
                return
            kept = None
        rows = StoredRows((X.shape[0], X.shape[1]), kept, offset, partition.weights)
        with self._lock:
            self._rows[partition.number] = rows

    def partitions(self) -> Iterator[tuple[int, StoredRows]]:
        """What is kept, in the order of the partitions."""
        return iter(sorted(self._rows.items(), key=lambda item: item[0]))

    def load(self, rows: StoredRows) -> NDArray[Any]:
        """The numbers. Those in a scratch file are mapped: only what is looked at is read."""
        if rows.X is not None:
            return rows.X
        assert self._file is not None
        n, d = rows.shape
        return self._file.view(rows.offset, (d, n), self.dtype).T

    def close(self) -> None:
        """Give everything back."""
        self.complete = False
        self._rows.clear()
        if self._file is not None:
            self._file.close()

    def __del__(self) -> None:
        self.close()
