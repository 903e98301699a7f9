"""Seconds, and peak memory beyond what was resident before."""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, TypeVar

Result = TypeVar("Result")

STATUS = Path("/proc/self/status")
CLEAR = Path("/proc/self/clear_refs")

# Repeats stop after this many seconds: one fit of a slow package is enough.
ENOUGH = 30.0


@dataclass(frozen=True)
class Measured(Generic[Result]):
    """Wall and processor seconds, extra memory (None where the system does not say), result."""

    seconds: float
    cpu_seconds: float
    peak_bytes: int | None
    calls: int
    result: Result


def measure(call: Callable[[], Result], repeat: int) -> Measured[Result]:
    """Call up to ``repeat`` times; return the best run, with the largest peak of all."""
    start = time.perf_counter()
    best = last = once(call)
    peaks, calls = [last.peak_bytes], 1
    while calls < repeat and time.perf_counter() - start < ENOUGH:
        last = once(call)
        best = min(best, last, key=lambda run: run.seconds)
        peaks, calls = [*peaks, last.peak_bytes], calls + 1
    return replace(best, peak_bytes=_largest(peaks), calls=calls)


def once(call: Callable[[], Result]) -> Measured[Result]:
    """Measure one call."""
    before = reset_peak()
    start, cpu_start = time.perf_counter(), time.process_time()
    result = call()
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
    peak = None if before is None else max(0, resident("VmHWM") - before)
    return Measured(seconds, cpu_seconds, peak, 1, result)


def _largest(peaks: list[int | None]) -> int | None:
    """Return the largest of the peaks that are known."""
    return max((peak for peak in peaks if peak is not None), default=None)


def reset_peak() -> int | None:
    """Set the peak to what is resident now, and return that; None where the system cannot.

    Freed memory that the C library keeps goes back to the system first, or what is measured would
    seem to need less than it does.
    """
    if sys.platform == "linux" and hasattr(ctypes.CDLL(None), "malloc_trim"):
        ctypes.CDLL(None).malloc_trim(0)
    try:
        CLEAR.write_text("5")
    except OSError:
        return None
    return resident()


def resident(key: str = "VmRSS") -> int:
    """Bytes that this process has in memory; with VmHWM, the most since the peak was reset."""
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(key))
    return int(line.split()[1]) * 1024
