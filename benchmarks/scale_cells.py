"""What scale.py measures: settings, one factor at a time around a base."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields, replace

from scale_data import Table

SYNC, THREADS, PROCESSES, MEMORY, FILES = "sync", "threads", "processes", "memory", "files"
"""Where a fit runs: dask in this thread, on threads, on a cluster of processes; in memory; or on
threads that read files without dask."""
STORED, MADE, HELD, PARQUET = "file", "made", "held", "parquet"
"""Where parts come from: a file of bare numbers, the generator, memory, Parquet files."""
GIVEN, KMEANS = "given", "kmeans"
GB = 10**9


@dataclass(frozen=True, order=True)
class Setting:
    """One fit.

    Attributes
    ----------
    rows, features, k, leaves : of the table and the tree
    parts, workers, where, source : how the rows are cut up, who reads them, and from where
    reference : whether centers are given or found by k-means over the parts
    limit : bytes of data that the process may have; 0: any
    """

    rows: int = 1_000_000
    features: int = 25
    k: int = 10
    leaves: int = 20
    parts: int = 16
    workers: int = 1
    where: str = SYNC
    source: str = STORED
    reference: str = GIVEN
    limit: int = 0

    @property
    def table(self) -> Table:
        """The rows."""
        return Table(self.rows, self.features, self.k)

    @property
    def key(self) -> str:
        """A name for its file."""
        numbers = f"{self.rows}x{self.features}-k{self.k}-{self.leaves}leaves-{self.parts}parts"
        limit = f"-{self.limit}bytes" if self.limit else ""
        return f"{numbers}-{self.workers}{self.where}-{self.source}-{self.reference}{limit}"

    @property
    def in_memory(self) -> Setting:
        """The same tree, built from a table in memory."""
        return replace(self, parts=1, workers=1, where=MEMORY, source=HELD, limit=0)

    def __str__(self) -> str:
        base = Setting()
        ours = {f.name: getattr(self, f.name) for f in fields(self)}
        told = [f"{name} {value:,}" if isinstance(value, int) else f"{name} {value}"
                for name, value in ours.items() if value != getattr(base, name)]  # fmt: skip
        return ", ".join(told) or "base"


@dataclass(frozen=True)
class Plan:
    """Settings by sweep; the factor that a sweep changes has its name.

    Attributes
    ----------
    base : around which one factor changes at a time
    clusters : numbers of workers
    clustered : rows of tables whose centers are found by k-means
    tasks, tasks_rows : numbers of parts of a small table on a cluster, and its rows
    big : the table in files
    """

    base: Setting
    rows: tuple[int, ...]
    features: tuple[int, ...]
    k: tuple[int, ...]
    leaves: tuple[int, ...]
    parts: tuple[int, ...]
    clusters: tuple[int, ...]
    clustered: tuple[int, ...]
    tasks: tuple[int, ...]
    tasks_rows: int
    big: Setting

    def sweeps(self) -> dict[str, list[Setting]]:
        """All settings, sweep by sweep."""
        base = self.base
        return {
            "rows": [replace(base, rows=rows) for rows in self.rows],
            "features": [replace(base, features=number) for number in self.features],
            "k": [replace(base, k=k, leaves=2 * k) for k in self.k],
            "leaves": [replace(base, leaves=leaves) for leaves in self.leaves],
            "parts": [replace(base, parts=parts) for parts in self.parts],
            "workers": [
                base,
                replace(base, where=THREADS, workers=2),
                *(replace(base, where=PROCESSES, workers=number) for number in self.clusters),
            ],
            "reference": [replace(base, rows=rows, reference=KMEANS) for rows in self.clustered],
            "source": [
                replace(base, source=HELD),
                base,
                replace(base, source=MADE),
                replace(base, where=FILES, source=PARQUET),
            ],
            "tasks": [
                replace(base, rows=self.tasks_rows, parts=parts, where=PROCESSES, workers=2)
                for parts in self.tasks
            ],
            "big": [self.big],
        }

    def settings(self, names: Iterable[str] = (), most: int | None = None) -> list[Setting]:
        """Those to measure, each once, small tables first; the in-memory build beside them.

        ``names``: of sweeps, or none for all; ``most``: rows of the largest table.
        """
        found: dict[Setting, None] = {}
        for name, sweep in self.sweeps().items():
            if names and name not in names:
                continue
            for setting in sweep:
                found[setting] = None
                if name in BESIDE:
                    found[setting.in_memory] = None
        kept = [one for one in found if most is None or one.rows <= most]
        return sorted(kept, key=lambda one: (one.rows * one.features * one.k, one))


BESIDE = ("rows", "features", "k", "leaves", "big")
"""Sweeps that the in-memory build stands beside."""

FULL = Plan(
    base=Setting(),
    rows=(100_000, 300_000, 1_000_000, 3_000_000, 10_000_000),
    features=(5, 10, 25, 50, 100, 200),
    k=(2, 5, 10, 20, 50),
    leaves=(10, 20, 50, 100),
    parts=(1, 4, 16, 64, 256),
    clusters=(1, 2),
    clustered=(100_000, 1_000_000, 3_000_000),
    tasks=(16, 128, 512),
    tasks_rows=100_000,
    big=Setting(50_000_000, parts=200, workers=2, where=FILES, source=PARQUET, limit=2 * GB),
)
_SMALL = Setting(20_000, 6, 4, 8, 4)
QUICK = Plan(
    base=_SMALL,
    rows=(5_000, 20_000),
    features=(6, 12),
    k=(4,),
    leaves=(8,),
    parts=(4, 32),
    clusters=(2,),
    clustered=(20_000,),
    tasks=(4, 32),
    tasks_rows=20_000,
    big=replace(_SMALL, rows=200_000, workers=2, where=FILES, source=PARQUET, limit=2 * GB),
)


def as_json(setting: Setting) -> dict[str, int | str]:
    """The setting as plain values."""
    return asdict(setting)
