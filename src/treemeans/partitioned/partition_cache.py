"""What a process keeps of partitions between passes: codes, costs, the nodes of rows.

Everything here can be computed again from the rows, so losing it costs time, never exactness. A
cache belongs to one fit and holds at most its budget of bytes.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any

_SHARE = 2  # the budget is the available memory divided by this
_FITS = 4  # caches of as many fits are kept where nobody says that a fit is over
_CGROUP = Path("/sys/fs/cgroup")


class PartitionCache:
    """Values by partition and name, within a budget.

    A value has a key: one that was kept under another key is out of date.
    """

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self.n_bytes = 0
        self._lock = threading.Lock()
        self._kept: dict[tuple[int, str], tuple[Hashable, Any, int]] = {}

    def of(self, number: int) -> CacheEntry:
        """What is kept of one partition."""
        return CacheEntry(self, number)

    def find(self, number: int, name: str, key: Hashable) -> Any:
        """A value; None if it is not kept."""
        kept = self._kept.get((number, name))
        return kept[1] if kept is not None and kept[0] == key else None

    def keep(
        self, number: int, name: str, key: Hashable, value: Any, n_bytes: int, spare: bool
    ) -> bool:
        """Keep a value if there is room for it; one of the same name is dropped.

        ``spare``: it is large and quick to make again, so half of the budget is left to others.
        """
        budget = self.budget // 2 if spare else self.budget
        with self._lock:
            old = self._kept.pop((number, name), None)
            self.n_bytes -= 0 if old is None else old[2]
            if self.n_bytes + n_bytes > budget:
                return False
            self._kept[number, name] = key, value, n_bytes
            self.n_bytes += n_bytes
            return True

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._kept.clear()
            self.n_bytes = 0


class CacheEntry:
    """What is kept of one partition; without a cache, nothing is."""

    def __init__(self, cache: PartitionCache | None = None, number: int = 0) -> None:
        self._cache = cache
        self._number = number

    def find(self, name: str, key: Hashable) -> Any:
        """A value; None if it is not kept."""
        return None if self._cache is None else self._cache.find(self._number, name, key)

    def keep(
        self, name: str, key: Hashable, value: Any, n_bytes: int, *, spare: bool = False
    ) -> bool:
        """Keep a value if there is room for it; see `PartitionCache.keep`."""
        if self._cache is None:
            return False
        return self._cache.keep(self._number, name, key, value, n_bytes, spare)

    def get(self, name: str, key: Hashable, make: Callable[[], Any]) -> Any:
        """An array that is kept, or made and kept."""
        value = self.find(name, key)
        if value is None:
            value = make()
            self.keep(name, key, value, value.nbytes)
        return value


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
