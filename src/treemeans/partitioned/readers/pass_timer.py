"""How long the passes take: estimated after the first, and shown while they run."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Self

import numpy as np
from numpy.typing import NDArray

from treemeans.partitioned.map_reduce import MapReduceStep, PartitionedRows, Result
from treemeans.progress import Progress

_RECENT = 5  # passes from whose times that of the next is estimated


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
        self.n_passes = 0
        self._to_come: int | None = None
        self._say = say
        self._clock = clock
        self._took: deque[float] = deque(maxlen=_RECENT)
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

    def expect_passes(self, n_passes: int) -> None:
        """Note that about so many passes are still to come."""
        self._to_come = n_passes
        if self.n_passes:
            self._tell()

    def map_reduce(self, step: MapReduceStep[Result]) -> Result:
        """Make the pass, and time it."""
        if self.n_passes:
            self._tell()
        self._started = self._clock()
        if hasattr(self.parts, "watch"):
            self.parts.watch = self._moved
        self._moved(0)
        answer = self.parts.map_reduce(step)
        self._took.append(self._clock() - self._started)
        self.n_passes += 1
        if self._to_come is not None:
            self._to_come = max(0, self._to_come - 1)
        if self.n_rows is None:
            self.n_rows = getattr(answer, "n_rows", None)
        if self.n_passes == 1 and self._to_come is not None:
            self._tell()
        return answer

    def __enter__(self) -> Self:
        self._bar.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        self._bar.__exit__(*exception)

    @property
    def seconds(self) -> float:
        """What a pass takes, by the last few."""
        return sum(self._took) / len(self._took) if self._took else 0.0

    def left(self) -> float | None:
        """Seconds until all passes are done, as far as can be told."""
        if self._to_come is None or not self._took:
            return None
        return max(0.0, self.seconds * self._to_come - self._within())

    def _within(self) -> float:
        """Seconds since the pass under way began, but no more than it is expected to take."""
        return min(self.seconds, self._clock() - self._started)

    def _tell(self) -> None:
        """Print the estimate, once."""
        say, self._say = self._say, None
        if say is None:
            return
        rows = "All rows" if self.n_rows is None else f"{self.n_rows:,} rows"
        n_bytes = getattr(self.parts, "n_bytes", None)
        size = "" if n_bytes is None else f" ({bytes_in_words(n_bytes)} as numbers)"
        words = f"{rows}{size}: a pass takes {seconds_in_words(self.seconds)}"
        if self._to_come:
            left = seconds_in_words(self.seconds * self._to_come)
            words += f", and about {self._to_come} more are to come, {left} in all"
        kept_in = getattr(self.parts, "kept_in", "")
        say(f"{words}. They are kept in {kept_in}." if kept_in else f"{words}.")

    def _moved(self, rows: int) -> None:
        """Move the bar: so many rows of the pass are done."""
        number, whole = self.n_passes + 1, self.n_rows
        share = rows / whole if whole else 0.0
        if self._to_come is None:
            self._bar.total = None
            self._bar.update(number, f"({share:.0%})" if rows else "")
            return
        total = self.n_passes + max(1, self._to_come)
        left = self.left()
        note = f"{number} of about {total}"
        if left is not None:
            note += f", {seconds_in_words(left)} left"
        self._bar.total = 1000 * total
        self._bar.update(min(1000 * total, int(1000 * (self.n_passes + share))), note)


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
