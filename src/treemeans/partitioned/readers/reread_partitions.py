"""Rows that threads of this process read: once if they can be kept, else for every pass."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from treemeans.partitioned.map_reduce import MapReduceStep, Result
from treemeans.partitioned.partition import Partition
from treemeans.partitioned.partition_cache import PartitionCache, memory_budget
from treemeans.partitioned.readers.arrow_columns import (
    BatchConverter,
    ConvertedPartitions,
    rows_as_frame,
)
from treemeans.partitioned.readers.row_store import RowStore
from treemeans.threads import n_threads


class RereadPartitions(ConvertedPartitions):
    """Rows in files or behind a query.

    The first pass of a fit reads them and keeps them as numbers: in memory if they take at most
    half of what a fit may take, otherwise in a scratch file. Where there is no room for that
    either, every pass reads them again, and only a few partitions are in memory at a time: one for
    each thread, and one more.

    Attributes
    ----------
    n_rows : rows of all partitions, where that is known without a pass; otherwise None
    n_bytes : of the rows as numbers, where that is known; otherwise None
    n_jobs : threads, as joblib counts them
    rows_per_partition : rows of a partition, at most
    watch : called with the number of rows of the pass that are done
    """

    def __init__(
        self,
        converter: BatchConverter,
        n_partitions: int,
        n_rows: int | None,
        infer: Callable[[], BatchConverter] | None = None,
    ) -> None:
        self.convert_with(converter)
        self.n_partitions = n_partitions
        self._infer = infer
        self.can_infer = infer is not None and self.schema is None
        self.rows_per_partition = converter.rows_per_partition()
        self.first_rows: NDArray[np.int64] | None = None
        self.n_rows = n_rows
        self.watch: Callable[[int], None] | None = None
        self._cache: PartitionCache | None = None
        self._store: RowStore | None = None

    def infer_columns(self) -> None:
        """Find out in a pass what the columns are, as for a data frame in memory.

        Partitions stay as they are.
        """
        if self._infer is not None and self.schema is None:
            self.release()
            self.convert_with(self._infer())
            self.can_infer = False

    @property
    def n_bytes(self) -> int | None:
        """Bytes of all rows, as numbers."""
        if self.n_rows is None:
            return None
        return self.n_rows * self.n_features * self.converter.dtype.itemsize

    def release(self) -> None:
        """Drop what was kept of the rows between passes."""
        if self._cache is not None:
            self._cache.clear()
            self._cache = None
        if self._store is not None:
            self._store.close()
            self._store = None

    @property
    def kept_in(self) -> str:
        """Where the rows are between passes, for a sentence; empty if they are read again."""
        if self._store is None or not self._store.complete:
            return ""
        folder = self._store.scratch_folder
        return "memory" if folder is None else f"a scratch file in {folder}"

    def _stored_pieces(self) -> Generator[Iterable[Partition], None, None]:
        assert self._store is not None
        for number, rows in self._store.partitions():
            X = self._store.load(rows)
            first = -1 if self.first_rows is None else int(self.first_rows[number])
            yield [Partition(number, first, X, rows_as_frame(X, self.names), rows.weights)]
            del X

    @abstractmethod
    def pieces(self) -> Generator[Iterable[Partition], None, None]:
        """Blocks in the order of the partitions, in pieces. Any thread may read a piece."""

    def map_reduce(self, step: MapReduceStep[Result]) -> Result:
        """Read all rows, map them, and reduce the results in order."""
        merged: list[Result] = []
        done = 0
        if self._cache is None:
            budget = memory_budget()
            self._store = RowStore.for_rows(self.converter.dtype, self.n_bytes, budget // 2)
            in_memory = self._store is not None and self._store.scratch_folder is None
            self._cache = PartitionCache(budget - (self.n_bytes or 0 if in_memory else 0))
        store = self._store
        stored = store is not None and store.complete
        with closing(self._stored_pieces() if stored else self.pieces()) as pieces:
            tasks = (
                partial(_asked, step, piece, self._cache, None if stored else store)
                for piece in pieces
            )
            with closing(in_turn(tasks, n_threads(self.n_jobs))) as results:
                for rows, answers in results:
                    for answer in answers:
                        merged = [step.reduce(merged[0], answer) if merged else answer]
                    done += rows
                    if self.watch is not None:
                        self.watch(done)
        if store is not None and store.is_full:  # later passes read again
            store.close()
            self._store = None
        elif store is not None:
            store.complete = True
        if not merged:
            raise ValueError("There are no rows; pass a table that has some.")
        return merged[0]


def _asked(
    step: MapReduceStep[Result],
    piece: Iterable[Partition],
    cache: PartitionCache,
    store: RowStore | None,
) -> tuple[int, list[Result]]:
    """How many rows a piece has, and its result; None where it has no rows."""
    merged: list[Result] = []
    rows = 0
    for partition in piece:
        answer = step.map(replace(partition, cache=cache.of(partition.number)))
        merged = [step.reduce(merged[0], answer) if merged else answer]
        rows += partition.n_rows
        if store is not None:
            store.add(partition)
        del partition  # before the next one is read
    return rows, merged


def in_turn(tasks: Iterable[Callable[[], Result]], n_jobs: int) -> Generator[Result, None, None]:
    """What the tasks give, in their order; few are under way at a time.

    The tasks are taken in the calling thread. The first that fails, in their order, stops it.
    """
    if n_jobs == 1:
        for task in tasks:
            yield task()
        return
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(n_jobs) as pool:
        try:
            for task in tasks:
                waiting.append(pool.submit(task))
                del task  # it may hold a block
                if len(waiting) > n_jobs:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
