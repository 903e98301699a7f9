"""Rows that are read anew for every question, by threads of this process."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from functools import partial

import numpy as np
from numpy.typing import NDArray

from treemeans.partitioned.map_reduce import MapReduceStep, PartitionedRows, Result
from treemeans.partitioned.partition import Partition
from treemeans.partitioned.readers.arrow_columns import BatchConverter
from treemeans.threads import n_threads


class RereadPartitions(PartitionedRows):
    """Rows in files or behind a query, in memory that does not grow with them.

    Only a few parts are in memory at a time: one for each thread, and one more.

    Attributes
    ----------
    n_rows : rows of all parts, where that is known without a pass; otherwise None
    n_bytes : of the rows as numbers, where that is known; otherwise None
    n_jobs : threads, as joblib counts them
    watch : told how many rows of the pass are done
    """

    def __init__(self, converter: BatchConverter, n_partitions: int, n_rows: int | None) -> None:
        self.converter = converter
        self.n_partitions = n_partitions
        self.n_features = converter.n_features
        self.names = converter.names
        self.dates = list(converter.dates)
        self.booleans = list(converter.booleans)
        self.first_rows: NDArray[np.int64] | None = None
        self.n_rows = n_rows
        self.watch: Callable[[int], None] | None = None

    @property
    def n_bytes(self) -> int | None:
        """Bytes of all rows, as numbers."""
        if self.n_rows is None:
            return None
        return self.n_rows * self.n_features * self.converter.dtype.itemsize

    @abstractmethod
    def pieces(self) -> Generator[Iterable[Partition], None, None]:
        """Blocks in the order of the parts, in pieces. A piece is gone through by any thread."""

    def map_reduce(self, step: MapReduceStep[Result]) -> Result:
        """Read all rows, put the question to them, and merge the answers in order."""
        merged: list[Result] = []
        done = 0
        with closing(self.pieces()) as pieces:
            tasks = (partial(_asked, step, piece) for piece in pieces)
            with closing(in_turn(tasks, n_threads(self.n_jobs))) as results:
                for rows, answers in results:
                    for answer in answers:
                        merged = [step.reduce(merged[0], answer) if merged else answer]
                    done += rows
                    if self.watch is not None:
                        self.watch(done)
        if not merged:
            raise ValueError("There are no rows; there must be some.")
        return merged[0]


def _asked(step: MapReduceStep[Result], piece: Iterable[Partition]) -> tuple[int, list[Result]]:
    """How many rows a piece has, and its answer; no answer where it has no rows."""
    merged: list[Result] = []
    rows = 0
    for partition in piece:
        answer = step.map(partition)
        merged = [step.reduce(merged[0], answer) if merged else answer]
        rows += partition.n_rows
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
