"""A fit far larger than any that was measured, worked out on paper."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scale_cells import PARQUET, PROCESSES, Setting
from scale_law import (
    KINDS,
    PARTITION,
    TERMS,
    Law,
    Measured,
    Overhead,
    in_files,
    law_of,
    overhead_of,
    passes_by_kind,
    reading_rate,
    room_of,
)

from treemeans.parts.sources.dask import FAN_IN

PART_ROWS = 500_000
EXAMPLE = Setting(
    rows=10**10,
    features=25,
    k=10,
    leaves=20,
    parts=10**10 // PART_ROWS,
    workers=100,
    where=PROCESSES,
    source=PARQUET,
)
NETWORK = 125e6
"""Bytes a second of each worker, supposed: a gigabit."""
STORAGE = 200e6
"""Bytes a second that each worker reads from storage, supposed."""


@dataclass(frozen=True)
class Pass:
    """One pass of a kind, in seconds, unless its parts could not be worked out (NaN).

    Attributes
    ----------
    n : how many there are
    answer : bytes of a part's answer, at most
    compute, reading, merging : of every worker
    scheduler : of the scheduler, at the same time
    storage, network : the least that bytes take to come from storage, and answers to travel
    """

    kind: str
    n: int
    answer: float
    compute: float
    reading: float
    merging: float
    scheduler: float
    storage: float
    network: float

    @property
    def workers(self) -> float:
        """What every worker does in a pass."""
        return self.compute + self.reading + self.merging

    @property
    def seconds(self) -> float:
        """As long as the slowest of them: they go on at the same time."""
        return max(self.workers, self.scheduler, self.storage, self.network)


@dataclass(frozen=True)
class Estimate:
    """The passes of a fit, and the memory of a worker."""

    setting: Setting
    passes: list[Pass]
    worker_bytes: float
    overhead: Overhead
    reading_rate: float

    @property
    def n_passes(self) -> int:
        """All of them."""
        return sum(one.n for one in self.passes)

    def total(self, what: str) -> float:
        """Seconds of all passes, or of one thing in all passes."""
        return sum(one.n * getattr(one, what) for one in self.passes)


def n_tasks(parts: int) -> int:
    """Tasks of a pass: a part each, and the tree of merges."""
    total = parts
    while parts > 1:
        parts = math.ceil(parts / FAN_IN)
        total += parts
    return total


def work_out(cells: list[Measured], setting: Setting = EXAMPLE) -> Estimate:
    """What follows from the measurements."""
    law, model = law_of(cells), in_files(cells) or cells[-1]
    overhead, rate = overhead_of(cells), reading_rate(cells)
    counts = passes_by_kind(model, setting.rows)
    passes = [
        _pass(kind, counts[kind], model, law, setting, overhead, rate)
        for kind in KINDS
        if kind in law.constants and counts[kind]
    ]
    answer = max((one.answer for one in passes), default=0.0)
    part_rows = setting.rows / setting.parts
    room = room_of(cells).bytes(part_rows, setting.features, setting.k, answer)
    return Estimate(setting, passes, room, overhead, rate)


def _pass(
    kind: str,
    n: int,
    model: Measured,
    law: Law,
    setting: Setting,
    overhead: Overhead,
    rate: float,
) -> Pass:
    answer = model.mean("returned", KINDS[kind])  # the merged one: no part's is larger
    answer *= setting.features / model.setting.features
    found = law.constants[kind]
    terms = {name: term for name, term in TERMS.items() if name != PARTITION}
    compute = sum(found[name] * term(setting) for name, term in terms.items())
    compute += overhead.working * setting.parts
    n_bytes, moved = setting.table.n_bytes, setting.parts * answer
    return Pass(
        kind,
        n,
        answer,
        compute / setting.workers,
        n_bytes / rate / setting.workers,
        moved * overhead.byte / setting.workers,
        setting.parts * overhead.asking,
        n_bytes / STORAGE / setting.workers,
        moved / NETWORK / setting.workers,
    )
