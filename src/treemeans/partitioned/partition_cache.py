"""What a process keeps of partitions between passes: codes, costs, the nodes of rows.

Everything here can be computed again from the rows, so losing it costs time, never exactness. A
cache belongs to one fit and holds at most its budget of bytes in memory. Codes and labels that do
not fit go to a scratch file on the disk of this computer.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemeans.partitioned.scratch_file import ScratchFile, free_scratch

_SHARE = 2  # the budget is the available memory divided by this
_DISK_SHARE = 2  # a scratch file takes at most the free space divided by this
_FITS = 4  # caches of as many fits are kept where nobody says that a fit is over
_CGROUP = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class SpilledArray:
    """Where an array is in the scratch file."""

    offset: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]


class PartitionCache:
    """Values by partition and name, within a budget.

    A value has a key: one that was kept under another key is out of date.
    """

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self.n_bytes = 0
        self._lock = threading.Lock()
        self._kept: dict[tuple[int, str], tuple[Hashable, Any, int]] = {}
        self._scratch: ScratchFile | None = None
        self._scratch_left = -1  # bytes that may still be written; -1 until that is known

    def of(self, number: int) -> CacheEntry:
        """What is kept of one partition."""
        return CacheEntry(self, number)

    def find(self, number: int, name: str, key: Hashable) -> Any:
        """A value; None if it is not kept."""
        kept = self._kept.get((number, name))
        if kept is None or kept[0] != key:
            return None
        value, scratch = kept[1], self._scratch
        if not isinstance(value, SpilledArray):
            return value
        return None if scratch is None else scratch.view(value.offset, value.shape, value.dtype)

    def keep(
        self,
        number: int,
        name: str,
        key: Hashable,
        value: Any,
        n_bytes: int,
        spare: bool,
        spills: bool = False,
    ) -> bool:
        """Keep a value if there is room for it; one of the same name is dropped.

        ``spare``: it is large, so half of the budget is left to others. ``spills``: an array that
        goes to a scratch file if there is no room in memory.
        """
        budget = self.budget // 2 if spare else self.budget
        with self._lock:
            old = self._kept.pop((number, name), None)
            self.n_bytes -= 0 if old is None else old[2]
            if self.n_bytes + n_bytes <= budget:
                self._kept[number, name] = key, value, n_bytes
                self.n_bytes += n_bytes
                return True
        spilled = self._spilled(value) if spills else None
        if spilled is None:
            return False
        self._kept[number, name] = key, spilled, 0
        return True

    def _spilled(self, values: NDArray[Any]) -> SpilledArray | None:
        """Write an array to the scratch file; None if the disk has no room for it."""
        try:
            with self._lock:
                if self._scratch_left < 0:
                    self._scratch_left = free_scratch() // _DISK_SHARE
                self._scratch_left = max(0, self._scratch_left - values.nbytes)
                if not self._scratch_left:
                    return None
                if self._scratch is None:
                    self._scratch = ScratchFile()
                scratch = self._scratch
            return SpilledArray(scratch.write(values), values.shape, values.dtype)
        except OSError:  # others have filled the disk, or there is none
            self._scratch_left = 0
            return None

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._kept.clear()
            self.n_bytes = 0
            if self._scratch is not None:
                self._scratch.close()
            self._scratch, self._scratch_left = None, 0


class CacheEntry:
    """What is kept of one partition; without a cache, nothing is."""

    def __init__(self, cache: PartitionCache | None = None, number: int = 0) -> None:
        self._cache = cache
        self._number = number

    def find(self, name: str, key: Hashable) -> Any:
        """A value; None if it is not kept."""
        return None if self._cache is None else self._cache.find(self._number, name, key)

    def keep(
        self,
        name: str,
        key: Hashable,
        value: Any,
        n_bytes: int,
        *,
        spare: bool = False,
        spills: bool = False,
    ) -> bool:
        """Keep a value if there is room for it; see `PartitionCache.keep`."""
        if self._cache is None:
            return False
        return self._cache.keep(self._number, name, key, value, n_bytes, spare, spills)


_fits: OrderedDict[str, PartitionCache] = OrderedDict()
_lock = threading.Lock()


def cache_of_fit(token: str, share: int = 1) -> PartitionCache:
    """The cache of a fit in this process; ``share``: processes that share the memory."""
    with _lock:
        if token not in _fits:
            _fits[token] = PartitionCache(memory_budget() // share)
            while len(_fits) > _FITS:
                _fits.popitem(last=False)[1].clear()
        _fits.move_to_end(token)
        return _fits[token]


def forget_fit(token: str) -> None:
    """Drop the cache of a fit in this process."""
    with _lock:
        cache = _fits.pop(token, None)
    if cache is not None:
        cache.clear()


def memory_budget() -> int:
    """Bytes that a cache may hold: half of what is available to this process."""
    return available_memory() // _SHARE


def available_memory() -> int:
    """Bytes of memory that this process may still take, as far as the system says."""
    known = [_free_memory(), *_limit_of_cgroup(), *_limit_of_process()]
    return max(0, min(size for size in known if size is not None))


def _free_memory() -> int:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, ValueError, OSError):  # not a POSIX system
        return 2**31


def _limit_of_cgroup() -> list[int]:
    try:
        limit = int((_CGROUP / "memory.max").read_text())
        return [limit - int((_CGROUP / "memory.current").read_text())]
    except (OSError, ValueError):  # no group, or "max"
        return []


def _limit_of_process() -> list[int]:
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_DATA)[0]
        used = int(Path("/proc/self/statm").read_text().split()[5]) * os.sysconf("SC_PAGE_SIZE")
    except (ImportError, AttributeError, OSError, ValueError, IndexError):
        return []
    return [] if limit == resource.RLIM_INFINITY else [limit - used]
