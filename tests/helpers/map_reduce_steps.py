"""Questions that go wrong in a certain place, where processes of a cluster can import them."""

import os
import time
import uuid
import weakref
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from treemeans.partitioned.map_reduce import MapReduceStep


@dataclass(frozen=True)
class Order(MapReduceStep):
    """The blocks as they come, with what they hold."""

    def map(self, partition):
        weight = partition.n_rows if partition.weights is None else partition.weights.sum()
        return [
            (
                partition.number,
                partition.first_row,
                partition.n_rows,
                weight,
                partition.X.sum(axis=0).tolist(),
            )
        ]


@dataclass(frozen=True)
class Total(MapReduceStep):
    """Sums of whole numbers, which no order changes."""

    factor: int = 1

    def map(self, partition):
        return self.factor * np.rint(partition.X * 2**20).astype(np.int64).sum(axis=0)


@dataclass(frozen=True)
class HeldUp(Total):
    """The first worker that gets to a block says who it is, and waits to be killed."""

    number: int = 0
    folder: str = ""

    def map(self, partition):
        if partition.number == self.number:
            wait_to_be_killed(self.folder)
        return super().map(partition)


@dataclass(frozen=True)
class Deadly(Total):
    """A block that no process survives."""

    number: int = 0

    def map(self, partition):
        if partition.number == self.number:
            os._exit(1)
        return super().map(partition)


@dataclass(frozen=True)
class Slow(Total):
    """Every block waits until a file is there."""

    until: str = ""

    def map(self, partition):
        while not Path(self.until).exists():
            time.sleep(0.01)
        return super().map(partition)


@dataclass(frozen=True)
class Crowd(MapReduceStep):
    """How many blocks of rows made by ``tracked`` were in a process at the same time, at most."""

    def map(self, partition):
        return len(alive)

    def reduce(self, one, other):
        return max(one, other)


alive = set()


def tracked(number):
    """Rows that are counted as long as they are there."""
    rows = np.full((50, 3), float(number))
    alive.add(id(rows))
    weakref.finalize(rows, alive.discard, id(rows))
    return rows


def held_up(rows, folder, reads):
    """The rows; whoever reads for the given time says who it is, and waits to be killed."""
    (Path(folder) / f"read-{uuid.uuid4().hex}").touch()
    if len(list(Path(folder).glob("read-*"))) >= reads:
        wait_to_be_killed(folder)
    return rows


def wait_to_be_killed(folder):
    """Once for each folder."""
    try:
        (Path(folder) / "taken").touch(exist_ok=False)
    except FileExistsError:
        return
    draft = Path(folder) / "draft"
    draft.write_text(str(os.getpid()))
    draft.rename(Path(folder) / "pid")  # whole or not at all
    time.sleep(600)
