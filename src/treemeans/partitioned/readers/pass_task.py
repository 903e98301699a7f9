"""PassTask: what a pass sends to the partitions; PassReply: what comes back."""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemeans.partitioned.map_reduce import MapReduceStep, reduce_in_order
from treemeans.partitioned.partition import Partition, PartitionSchema
from treemeans.partitioned.partition_cache import cache_of_fit

FAN_IN = 8
"""Replies that are merged at a time."""


@dataclass(frozen=True)
class PassReply:
    """What comes back from one partition, or from some that follow each other.

    Attributes
    ----------
    answer : merged result; None if no partition had rows
    asked : partitions that had rows
    empty : numbers of the partitions without rows
    refused : the error message of the first partition that cannot be used
    sent : bytes of the results that left the partitions
    """

    answer: Any = None
    asked: int = 0
    empty: tuple[int, ...] = ()
    refused: str | None = None
    sent: int = 0

    def result(self, without_rows: str) -> Any:
        """The answer; an error if a partition was refused, or ``without_rows`` if all are empty."""
        if self.refused is not None:
            raise ValueError(self.refused)
        if self.asked == 0:
            raise ValueError(without_rows)
        return self.answer


class PassCancellation:
    """Ends a pass whose result is no longer needed: the partition that is being mapped fails.

    Threads share it. A copy in another process only knows the deadline.
    """

    def __init__(self, deadline: float | None) -> None:
        self._deadline = deadline
        self._now = threading.Event()

    def __reduce__(self) -> tuple[type[PassCancellation], tuple[float | None]]:
        return PassCancellation, (self._deadline,)

    def now(self) -> None:
        """Map no further partition."""
        self._now.set()

    def check(self) -> None:
        """Fail if the pass is over."""
        if self._now.is_set() or (self._deadline is not None and time.time() > self._deadline):
            raise TimeoutError("Nobody waits for this pass over the partitions any more.")


@dataclass(frozen=True)
class PassTask:
    """All that mapping a partition needs; it is sent once, not once for each partition.

    Attributes
    ----------
    step : what the pass computes
    schema : what the partitions have in common
    first_rows : number of each partition's first row; None while they have not been counted
    stop : ends the pass
    fit : names the cache of the fit in every process; empty where nothing is kept
    share : processes that share the memory of a machine
    """

    step: MapReduceStep[Any]
    schema: PartitionSchema
    first_rows: NDArray[np.int64] | None = None
    stop: PassCancellation = field(default_factory=lambda: PassCancellation(None))
    fit: str = ""
    share: int = 1

    def run(self, number: int, rows: Any, weights: Any = None) -> PassReply:
        """The reply of one partition. An error in its rows is a reply too.

        So its message arrives as it was written, whatever the scheduler, and of several bad
        partitions the first is named.
        """
        self.stop.check()
        first = -1 if self.first_rows is None else int(self.first_rows[number])
        try:
            partition = self.schema.partition(number, first, rows, weights)
            if partition.n_rows == 0:
                return PassReply(empty=(number,))
            answer = self.step.map(self.with_cache(partition))
        except ValueError as error:
            return PassReply(refused=str(error))
        self.stop.check()
        return PassReply(answer, asked=1, sent=size_of(answer))

    def with_cache(self, partition: Partition) -> Partition:
        """The partition, with what this process keeps of it."""
        if not self.fit:
            return partition
        return replace(partition, cache=cache_of_fit(self.fit, self.share).of(partition.number))

    def merge(self, replies: Sequence[PassReply]) -> PassReply:
        """One reply for partitions that follow each other."""
        refused = next((reply.refused for reply in replies if reply.refused is not None), None)
        if refused is not None:
            return PassReply(refused=refused)
        answers = [reply.answer for reply in replies if reply.asked]
        return PassReply(
            reduce_in_order(self.step, answers) if answers else None,
            asked=sum(reply.asked for reply in replies),
            empty=tuple(number for reply in replies for number in reply.empty),
            sent=sum(reply.sent for reply in replies),
        )


def size_of(thing: Any) -> int:
    """Bytes of something pickled; arrays are counted where they are, not copied."""
    buffers: list[pickle.PickleBuffer] = []
    header = pickle.dumps(thing, protocol=5, buffer_callback=buffers.append)
    return len(header) + sum(buffer.raw().nbytes for buffer in buffers)
