"""The choice between fitting a file in memory and in passes over its rows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from treemeans.cli.console import Console
from treemeans.files.file_errors import quoted_path
from treemeans.files.file_formats import format_from_name
from treemeans.partitioned.readers.pass_timer import bytes_in_words

_COPIES = 6  # copies of the table that a fit in memory holds at its peak, about
_PER_THREAD = 400_000_000  # bytes that a thread needs to read and process a part, at most
_COMPRESSION = 4  # size of text, relative to its compressed size, about
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def choose_engine(engine: str, path: str, columns: Sequence[str] | None, console: Console) -> str:
    """The engine: "memory", "stream" or "dask"."""
    if engine == "dask":
        from treemeans.optional_imports import need

        need("dask", "dask")
    if engine != "auto":
        return engine
    if path != "-" and Path(path).is_dir():
        return "stream"
    size, memory = estimate_size(path, columns), memory_limit()
    if size is None or memory is None or _COPIES * size <= memory:
        return "memory"
    console.note(
        f"{quoted_path(Path(path).name)} needs about {bytes_in_words(_COPIES * size)} of memory; "
        f"{bytes_in_words(memory)} are available. Using --engine stream, which keeps "
        "the rows in a scratch file; --engine memory keeps them in memory."
    )
    return "stream"


def reading_threads() -> int:
    """Number of threads that read parts: one for each core, if memory allows."""
    from treemeans.threads import n_threads

    memory = memory_limit()
    affordable = n_threads(-1) if memory is None else memory // _PER_THREAD
    return max(1, min(n_threads(-1), affordable))


def estimate_size(path: str, columns: Sequence[str] | None) -> int | None:
    """Bytes of the table in float64, about; None if they cannot be known."""
    if path == "-" or not Path(path).is_file():
        return None
    with Path(path).open("rb") as file:
        start = file.read(4)
    if start == b"PAR1":
        return _parquet_size(path, columns)
    size = Path(path).stat().st_size
    return size * _COMPRESSION if format_from_name(Path(path)).compression else size


def _parquet_size(path: str, columns: Sequence[str] | None) -> int | None:
    import pyarrow as pa
    from pyarrow import parquet as pq

    try:
        found = pq.read_metadata(path)
    except (pa.ArrowException, OSError):  # the reader will raise an error about it
        return None
    width = found.num_columns if columns is None else len(columns)
    return 8 * int(found.num_rows) * width


def memory_limit() -> int | None:
    """Bytes of memory that this process may use; None if there is no known limit."""
    found = [_physical_memory(), _address_space_limit(), *map(_limit_in_file, _LIMITS)]
    known = [limit for limit in found if limit is not None]
    return min(known) if known else None


def _physical_memory() -> int | None:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # not on every system
        return None


def _address_space_limit() -> int | None:
    try:
        import resource
    except ModuleNotFoundError:
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else limit


def _limit_in_file(path: str) -> int | None:
    """The memory limit of a container, which Linux keeps in a file."""
    try:
        return int(Path(path).read_text())
    except (OSError, ValueError):  # no such file, or "max"
        return None
