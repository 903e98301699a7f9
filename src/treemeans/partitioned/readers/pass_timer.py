"""How long the passes take: estimated by those of the same kind, and shown while they run."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from treemeans.partitioned.map_reduce import MapReduceStep, PartitionedRows, Result
from treemeans.partitioned.pass_plan import OTHER, WORK, Passes
from treemeans.progress import Progress

_RECENT = 3  # passes from whose times that of the next is estimated


class TimedPass(NamedTuple):
    """A pass that is done: its kind, its seconds, and its work as `pass_plan.WORK` has it."""

    kind: str
    seconds: float
    work: float


class PassTimer(PartitionedRows):
    """Partitioned rows that measure how long passes take, and show it.

    Parameters
    ----------
    parts : the partitioned rows
    say : called with one sentence, as soon as a pass is timed and the number of passes is known
    shown : whether a bar may move on the terminal
    clock : gives seconds
    """

    gather_bytes = 0  # who times passes wants passes

    def __init__(
        self,
        parts: PartitionedRows,
        say: Callable[[str], None] | None = None,
        shown: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.parts = parts
        self.describe_as(parts)
        self.n_rows: int | None = getattr(parts, "n_rows", None)
        self._to_come: dict[str, float] | None = None
        self._say = say
        self._clock = clock
        self._took: list[TimedPass] = []
        self._running = ""  # kind of the pass under way
        self._started = 0.0
        self._bar = Progress("treemeans: pass", None, shown)

    def infer_columns(self) -> None:
        """Find out what the columns are."""
        self.parts.infer_columns()
        self.describe_as(self.parts)

    @property
    def first_rows(self) -> NDArray[np.int64] | None:
        """Number of each partition's first row."""
        return self.parts.first_rows

    @first_rows.setter
    def first_rows(self, first_rows: NDArray[np.int64] | None) -> None:
        self.parts.first_rows = first_rows

    @property
    def n_jobs(self) -> int | None:
        """Threads that read partitions."""
        return self.parts.n_jobs

    @n_jobs.setter
    def n_jobs(self, n_jobs: int | None) -> None:
        self.parts.n_jobs = n_jobs

    def release(self) -> None:
        """Drop what was kept of the rows."""
        self.parts.release()

    def expect_passes(self, passes: Passes) -> None:
        """Note that about so many passes of some kinds are still to come; of others, as before."""
        self._to_come = {**(self._to_come or {}), **passes}

    def map_reduce(self, step: MapReduceStep[Result]) -> Result:
        """Make the pass, and time it."""
        self._running = step.kind if step.kind in WORK else OTHER
        self._started = self._clock()
        if self._likely:
            self._tell()
        if hasattr(self.parts, "watch"):
            self.parts.watch = self._moved
        self._moved(0)
        answer = self.parts.map_reduce(step)
        seconds = self._clock() - self._started
        self._took.append(TimedPass(self._running, seconds, self._work(self._running, 1.0)))
        if self._to_come is not None:
            left = self._to_come.get(self._running, 0.0) - 1
            self._to_come[self._running] = max(0.0, left)
        self._running = ""
        if self.n_rows is None:
            self.n_rows = getattr(answer, "n_rows", None)
        return answer

    @property
    def n_passes(self) -> int:
        """Number of passes so far."""
        return len(self._took)

    def __enter__(self) -> Self:
        self._bar.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        self._bar.__exit__(*exception)

    def left(self) -> float | None:
        """Seconds until all passes are done, as far as can be told."""
        if self._to_come is None or not self._took:
            return None
        to_come = dict(self._to_come)
        if self._running:
            to_come[self._running] = max(1.0, to_come.get(self._running, 0.0))
        whole = sum(self._rate(kind) * self._work(kind, n) for kind, n in to_come.items())
        return max(0.0, whole - self._within())

    def _within(self) -> float:
        """Seconds since the pass under way began, but no more than it is expected to take."""
        if not self._running:
            return 0.0
        expected = self._rate(self._running) * self._work(self._running, 1.0)
        return min(expected, self._clock() - self._started)

    @property
    def _are_kept(self) -> bool:
        """Whether only the first pass reads files."""
        return bool(getattr(self.parts, "kept_in", ""))

    @property
    def _likely(self) -> list[TimedPass]:
        """The passes that were like those to come."""
        return self._took[1:] if self._are_kept else self._took

    def _work(self, kind: str, n: float) -> float:
        """What ``n`` more passes of a kind take, in proportion to others."""
        if not self._are_kept:
            return n  # what takes time is to read the rows
        first, later = WORK[kind]
        if any(each.kind == kind for each in self._took):
            return later * n
        return first * min(n, 1.0) + later * max(n - 1.0, 0.0)

    def _rate(self, kind: str) -> float:
        """Seconds for a unit of work: of the last passes of a kind, or of all others."""
        same = [each for each in self._took if each.kind == kind][-_RECENT:]
        some = same or self._likely or self._took
        return sum(each.seconds for each in some) / sum(each.work for each in some)

    def _tell(self) -> None:
        """Print the estimate, once."""
        say, self._say = self._say, None
        if say is None:
            return
        rows = "All rows" if self.n_rows is None else f"{self.n_rows:,} rows"
        n_bytes = getattr(self.parts, "n_bytes", None)
        size = "" if n_bytes is None else f" ({bytes_in_words(n_bytes)} as numbers)"
        first = seconds_in_words(self._took[0].seconds)
        kept_in = getattr(self.parts, "kept_in", "")
        words = f"read in {first}, and kept in {kept_in}" if kept_in else f"a pass takes {first}"
        words = f"{rows}{size}: {words}"
        left = self.left()
        if left:
            n_passes = round(sum((self._to_come or {}).values()))
            words += f"; about {n_passes} passes are to come, {seconds_in_words(left)} in all"
        say(f"{words}.")

    def _moved(self, rows: int) -> None:
        """Move the bar: so many rows of the pass are done."""
        number, whole = self.n_passes + 1, self.n_rows
        share = rows / whole if whole else 0.0
        left = self.left()
        if left is None:
            self._bar.total = None
            self._bar.update(number, f"({share:.0%})" if rows else "")
            return
        done = sum(each.seconds for each in self._took) + self._clock() - self._started
        total = self.n_passes + max(1, round(sum((self._to_come or {}).values())))
        self._bar.total = 1000
        self._bar.update(
            int(1000 * done / max(done + left, 1e-9)),
            f"{number} of about {total}, {seconds_in_words(left)} left",
        )


def seconds_in_words(seconds: float) -> str:
    """A time as people say it.

    Examples
    --------
    >>> [seconds_in_words(s) for s in (0.004, 0.52, 12.3, 200, 8000)]
    ['0.01 s', '0.52 s', '12 s', '3 min', '2 h 13 min']
    """
    if seconds < 9.5:
        return f"{max(0.01, seconds):.2g} s"
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


def bytes_in_words(n_bytes: int) -> str:
    """A size as people say it.

    Examples
    --------
    >>> bytes_in_words(800), bytes_in_words(5_400_000_000)
    ('0.001 MB', '5.4 GB')
    """
    size: float = n_bytes / 1e6
    for unit in ("MB", "GB"):
        if size < 999.5:
            return f"{max(size, 0.001):.2g} {unit}" if size < 9.95 else f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:.2g} TB"
