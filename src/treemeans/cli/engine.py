"""Whether a file fits in memory, or is to be read anew for every pass."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from treemeans.cli.console import Say
from treemeans.parts.sources.pace import bytes_in_words
from treemeans.sheets.errors import InputError, quoted_path
from treemeans.sheets.formats import format_of

_COPIES = 6  # of the table that a fit in memory makes at its peak, about
_PER_THREAD = 400_000_000  # bytes that a thread takes to read a part and to ask it, at most
_PACKED = 4  # bytes of text in a byte of a compressed one, about
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def chosen(engine: str, path: str | None, columns: Sequence[str] | None, say: Say) -> str:
    """The engine: "memory", "stream" or "dask"."""
    if engine == "dask":
        from treemeans.extras import need

        need("dask", "dask")
    if path is None:
        if engine not in ("auto", "memory"):
            raise InputError(f"--demo is small; leave out --engine {engine}.")
        return "memory"
    if engine != "auto":
        return engine
    if path != "-" and Path(path).is_dir():
        return "stream"
    size, memory = size_as_numbers(path, columns), memory_limit()
    if size is None or memory is None or _COPIES * size <= memory:
        return "memory"
    say.aside(
        f"{quoted_path(Path(path).name)} is about {bytes_in_words(size)} as numbers, much for "
        f"{bytes_in_words(memory)} of memory: it is read anew for every pass; --engine memory "
        "reads it once."
    )
    return "stream"


def threads() -> int:
    """Threads that read parts: as many as cores, while there is memory for their parts."""
    from treemeans.threads import n_threads

    memory = memory_limit()
    room = n_threads(-1) if memory is None else memory // _PER_THREAD
    return max(1, min(n_threads(-1), room))


def size_as_numbers(path: str, columns: Sequence[str] | None) -> int | None:
    """Bytes of the table in float64, about; None where nobody knows."""
    if path == "-" or not Path(path).is_file():
        return None
    with Path(path).open("rb") as file:
        start = file.read(4)
    if start == b"PAR1":
        return _parquet_size(path, columns)
    size = Path(path).stat().st_size
    return size * _PACKED if format_of(Path(path)).compression else size


def _parquet_size(path: str, columns: Sequence[str] | None) -> int | None:
    import pyarrow as pa
    from pyarrow import parquet as pq

    try:
        found = pq.read_metadata(path)
    except (pa.ArrowException, OSError):  # whoever reads it will say so
        return None
    width = found.num_columns if columns is None else len(columns)
    return 8 * int(found.num_rows) * width


def memory_limit() -> int | None:
    """Bytes of memory that this process may have; None where nobody says."""
    found = [_machine(), _address_space(), *map(_written, _LIMITS)]
    known = [limit for limit in found if limit is not None]
    return min(known) if known else None


def _machine() -> int | None:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # not on every system
        return None


def _address_space() -> int | None:
    try:
        import resource
    except ModuleNotFoundError:
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else limit


def _written(path: str) -> int | None:
    """The limit of a container."""
    try:
        return int(Path(path).read_text())
    except (OSError, ValueError):  # there is none, or "max"
        return None
