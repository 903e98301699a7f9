"""How the cost of a fit on partitioned rows grows, one factor at a time around a base.

The factors are rows, features, clusters, leaves, partitions, workers and where rows come from. The
tables are made once, 12 GB of them, and every setting is measured in a process of its own.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import runner
from benchmarks.command_line import names, parser
from benchmarks.measure import reset_peak, resident
from benchmarks.pages import Summary, machine, publish
from benchmarks.runner import CACHE, Task
from benchmarks.tables import Table, n_bytes

GB = 10**9
TABLES = CACHE / "tables"


# Tables of any size: a row depends on its number alone, however they are partitioned

Rows = NDArray[np.float32]
BLOCK = 100_000  # rows that are drawn from one seed
ROW_GROUP, FILE = 500_000, 5_000_000  # rows of a row group, and of a Parquet file
VALUE_BYTES = 4


@dataclass(frozen=True)
class Mixture:
    """Rows of k overlapping clusters, as float32.

    Of five columns, three are Gaussian about the center of a row's cluster, one has heavy tails
    (the cube of a Gaussian), and one holds whole numbers.
    """

    n_rows: int
    n_features: int
    k: int

    @property
    def n_bytes(self) -> int:
        """Bytes of all values."""
        return self.n_rows * self.n_features * VALUE_BYTES

    def centers(self) -> NDArray[np.float64]:
        """(k, n_features), the means of the clusters; rows deviate from them by 1."""
        rng = np.random.default_rng([0, self.n_features, self.k])
        return 1.5 * rng.standard_normal((self.k, self.n_features))

    def block(self, number: int) -> Rows:
        """The rows from ``number * BLOCK`` on, as if there were no last one."""
        rng = np.random.default_rng([0, self.n_features, self.k, number])
        labels = rng.integers(0, self.k, BLOCK)
        X = rng.standard_normal((BLOCK, self.n_features), dtype=np.float32)
        X[:, 3::5] **= 3
        X[:, 3::5] /= np.float32(np.sqrt(15.0))  # so that their variance is 1 as well
        X += self.centers().astype(np.float32)[labels]
        np.rint(X[:, 4::5], out=X[:, 4::5])
        return X

    def rows(self, first: int, last: int) -> Rows:
        """The rows from ``first`` to before ``last``."""
        found = np.empty((last - first, self.n_features), dtype=np.float32)
        for number in range(first // BLOCK, -(-last // BLOCK)):
            begin, end = max(first, number * BLOCK), min(last, (number + 1) * BLOCK)
            block = self.block(number)
            found[begin - first : end - first] = block[begin - number * BLOCK :][: end - begin]
        return found

    def stored(self, folder: Path) -> Callable[[int, int], Rows]:
        """A reader of a file of bare numbers, which is made, or made longer, if need be."""
        folder.mkdir(parents=True, exist_ok=True)
        path, width = folder / f"{self.n_features}x{self.k}.f32", self.n_features
        block_bytes = BLOCK * width * VALUE_BYTES
        with path.open("ab") as file:
            done = file.tell() // block_bytes  # a block that a stopped run began is written again
            if done * BLOCK < self.n_rows:
                file.truncate(done * block_bytes)
            for number in range(done, -(-self.n_rows // BLOCK)):
                self.block(number).tofile(file)

        def read(first: int, last: int) -> Rows:
            at = first * width * VALUE_BYTES
            return np.fromfile(path, np.float32, (last - first) * width, offset=at).reshape(
                -1, width
            )

        return read

    def parquet(self, folder: Path, file: int = FILE, row_group: int = ROW_GROUP) -> Path:
        """A folder of Parquet files, written row group by row group."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = folder / f"{self.n_rows}x{self.n_features}x{self.k}.parquet"
        if path.is_dir():
            return path
        draft = path.with_suffix(f".{os.getpid()}.draft")
        draft.mkdir(parents=True)
        schema = pa.schema([(f"x{column}", pa.float32()) for column in range(self.n_features)])
        for number, first in enumerate(range(0, self.n_rows, file)):
            last, target = min(first + file, self.n_rows), draft / f"{number:04}.parquet"
            with pq.ParquetWriter(target, schema, compression="none", use_dictionary=False) as out:
                for at in range(first, last, row_group):
                    X = self.rows(at, min(at + row_group, last))
                    arrays = [pa.array(np.ascontiguousarray(column)) for column in X.T]
                    out.write_table(pa.Table.from_arrays(arrays, schema=schema))
        draft.rename(path)
        return path

    def dask(self, n_partitions: int, read: Callable[[int, int], Rows] | None = None) -> Any:
        """A dask array whose chunks are read, or drawn, whenever they are asked for."""
        import dask.array as da

        borders = [self.n_rows * number // n_partitions for number in range(n_partitions + 1)]
        return da.map_blocks(
            partial(_chunk, borders, read or self.rows),
            chunks=(tuple(np.diff(borders).tolist()), (self.n_features,)),
            dtype=np.float32,
            meta=np.empty((0, 0), dtype=np.float32),
        )


def _chunk(
    borders: list[int],
    read: Callable[[int, int], Rows],
    block_id: tuple[int, int] | None = None,
) -> Rows:
    assert block_id is not None
    return read(borders[block_id[0]], borders[block_id[0] + 1])


# Settings


@dataclass(frozen=True)
class Setting:
    """One fit.

    Attributes
    ----------
    rows, features, k, leaves : of the table and the tree
    partitions, workers : how the rows are divided, and how many read them
    where : "one thread", "threads" or "processes" of dask; "memory"; "files" without dask
    source : "memory", "file" of bare numbers, "drawn" anew, or "parquet"
    given_centers : whether centers are given or found by k-means over the partitions
    limit : bytes of data that the process may have; 0: any
    gathers : whether rows that fit into memory are gathered there; otherwise the fit is in passes
    """

    rows: int = 1_000_000
    features: int = 25
    k: int = 10
    leaves: int = 20
    partitions: int = 16
    workers: int = 1
    where: str = "one thread"
    source: str = "file"
    given_centers: bool = True
    limit: int = 0
    gathers: bool = False

    @property
    def mixture(self) -> Mixture:
        """The rows."""
        return Mixture(self.rows, self.features, self.k)

    @property
    def key(self) -> str:
        """A name for its file."""
        return "-".join(str(value).replace(" ", "_") for value in asdict(self).values())

    @property
    def in_memory(self) -> Setting:
        """The same tree, built from a table in memory."""
        return replace(
            self, partitions=1, workers=1, where="memory", source="memory", limit=0, gathers=False
        )


def sweeps(quick: bool) -> dict[str, list[Setting]]:
    """All settings by the factor that changes."""
    base = Setting(20_000, 6, 4, 8, 4) if quick else Setting()
    big = replace(base, workers=2, where="files", source="parquet", limit=2 * GB)
    cluster = replace(base, where="processes", workers=2)

    def vary(factor: str, full: Sequence[int], few: Sequence[int], start: Setting = base) -> Any:
        return [replace(start, **{factor: value}) for value in (few if quick else full)]

    return {
        "rows": [
            *vary("rows", (100_000, 300_000, 1_000_000, 3_000_000, 10_000_000), (5_000, 20_000)),
            *vary("rows", (50_000_000,), (200_000,), replace(big, partitions=200)),
        ],
        "features": vary("features", (5, 10, 25, 50, 100, 200), (6, 12)),
        "k": [replace(base, k=k, leaves=2 * k) for k in ((4,) if quick else (2, 5, 10, 20, 50))],
        "leaves": vary("leaves", (10, 20, 50, 100), (8,)),
        "partitions": vary("partitions", (1, 4, 16, 64, 256), (4, 32)),
        "workers": [
            *(base, replace(base, where="threads", workers=2)),
            *vary("workers", (1, 2), (2,), cluster),
        ],
        "source": [
            *(replace(base, source="memory"), base, replace(base, source="drawn")),
            replace(base, where="files", source="parquet"),
        ],
        "tasks": vary(
            "partitions", (16, 128, 512), (4,), replace(cluster, rows=min(base.rows, 100_000))
        ),
        "k-means": vary(
            *("rows", (100_000, 1_000_000, 3_000_000), (20_000,)),
            replace(base, given_centers=False),
        ),
    }


BESIDE_MEMORY = ("rows", "features", "k", "leaves")  # sweeps with the build in memory beside them


def tasks(quick: bool, only: Sequence[str]) -> list[Task]:
    """What is to be measured, each setting once, small tables first."""
    found: dict[Setting, None] = {}
    for name, settings in sweeps(quick).items():
        if not only or name in only:
            for setting in settings:
                found[setting] = None
                if name in BESIDE_MEMORY or name == "partitions":
                    found[setting.in_memory] = None
    ordered = sorted(found, key=lambda one: one.rows * one.features * one.k)
    # Threads that read files are counted with those of OpenMP; a task of dask's has one of them.
    return [
        Task(
            one.key,
            "benchmarks.scale:measure",
            asdict(one),
            threads=one.workers if one.where == "files" else 1,
        )
        for one in ordered
    ]


# Measuring: the process of a setting


def measure(**arguments: Any) -> dict[str, Any]:
    """Fit, with the table in its file already; seconds, passes, bytes, memory and the tree."""
    from treemeans import ExKMC

    setting = Setting(**arguments)
    _make_table(setting)
    if setting.limit:
        _limit_memory(setting.limit)
    centers = setting.mixture.centers() if setting.given_centers else None
    model = ExKMC(
        setting.k,
        max_leaf_nodes=setting.leaves,
        reference=centers,
        n_jobs=setting.workers,
        random_state=0,
    )
    with ExitStack() as stack:
        client = stack.enter_context(_dask_scheduler(setting))
        X, found = _open(setting)
        _warm_up(setting)
        if client is not None:
            client.run(reset_peak)
        reset_peak()
        start, cpu = time.perf_counter(), time.process_time()
        model.fit(X)
        found["seconds"] = time.perf_counter() - start
        found["cpu_seconds"] = time.process_time() - cpu
        found["peak_bytes"] = resident("VmHWM")
        if client is not None:
            found["worker_bytes"] = max(client.run(resident, "VmHWM").values())
    return found | {"tree": _digest(model.tree_)}


def _make_table(setting: Setting) -> None:
    if setting.source == "parquet":
        setting.mixture.parquet(TABLES)
    elif setting.source != "drawn":
        setting.mixture.stored(TABLES)


def _open(setting: Setting) -> tuple[Any, dict[str, Any]]:
    """The rows as ``fit`` takes them, and a record that passes over them fill in."""
    mixture = setting.mixture
    if setting.where == "memory":
        free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        if free < 3 * mixture.n_bytes:  # what a build in memory takes, about
            raise MemoryError(f"a build in memory takes {n_bytes(3 * mixture.n_bytes)}")
        return mixture.stored(TABLES)(0, setting.rows), {}
    if setting.where == "files":
        from treemeans import open_parts
        from treemeans.partitioned.readers.pass_timer import PassTimer

        partitions, found = _counted(open_parts(mixture.parquet(TABLES)))
        if setting.gathers:
            return partitions, found
        found["said"] = []
        return PassTimer(partitions, found["said"].append), found
    from treemeans.partitioned.readers.dask_partitions import DaskPartitions

    read = None if setting.source == "drawn" else mixture.stored(TABLES)
    X = mixture.dask(setting.partitions, read)
    partitions = DaskPartitions.of(X.persist() if setting.source == "memory" else X)
    if not setting.gathers:
        partitions.gather_bytes = 0
    return _counted(partitions)


def _counted(partitions: Any) -> tuple[Any, dict[str, Any]]:
    """Partitioned rows, and a record of their passes: how many, and bytes that travelled.

    ``asked`` counts the steps, ``answered`` what left the partitions (absent where they are read in
    this process), and ``returned`` the merged answers.
    """
    from treemeans.partitioned.readers.pass_task import size_of

    found: dict[str, Any] = dict.fromkeys(("passes", "asked", "returned", "kmeans_passes"), 0)
    found["kmeans_seconds"] = 0.0
    run, traffic = partitions.map_reduce, getattr(partitions, "traffic", None)

    def counted(step: Any) -> Any:
        start = time.perf_counter()
        answer = run(step)
        kind = type(step)
        if ".clustering." in kind.__module__ or kind.__name__ == "CombinedSteps":
            found["kmeans_passes"] += 1
            found["kmeans_seconds"] += time.perf_counter() - start
        found["passes"] += 1
        found["asked"] += size_of(step)
        found["returned"] += size_of(answer)
        if traffic is not None:
            found["answered"] = traffic.answered
        return answer

    partitions.map_reduce = counted
    return partitions, found


def _warm_up(setting: Setting) -> None:
    """Import everything, here and on the workers, before the clock starts."""
    from treemeans import ExKMC

    few = Mixture(1_000, 2, 2)
    X = few.rows(0, 1_000) if setting.where == "memory" else few.dask(4 * setting.workers)
    ExKMC(2, reference=few.centers()).fit(X)


@contextmanager
def _dask_scheduler(setting: Setting) -> Iterator[Any]:
    """Where dask computes; the client, if there is a cluster."""
    import dask

    if setting.where == "processes":
        from distributed import Client, LocalCluster

        options = {"n_workers": setting.workers, "threads_per_worker": 1}
        with (
            LocalCluster(**options, dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            yield client
        return
    scheduler = "threads" if setting.where == "threads" else "sync"
    with dask.config.set(scheduler=scheduler, num_workers=setting.workers):
        yield None


def _limit_memory(limit: int) -> None:
    """Have the system refuse more private memory than this, as on a small machine.

    RLIMIT_DATA counts what the process may write to and shares with nobody: its heap, and every
    mapping that its allocators make. Files that are only read do not count, nor do libraries.
    """
    from treemeans.partitioned.readers.malloc_trim import return_freed_memory

    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    return_freed_memory()  # as the command line does


def _digest(tree: Any) -> str:
    """A digest that equal trees have in common."""
    digest = hashlib.sha256()
    for array in (tree.feature, tree.threshold, tree.left, tree.right, tree.label):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]


# Tables


HEAD = ("passes", "seconds", "processor", "per pass", "asked", "answered", "returned", "peak")
Results = dict[str, dict[str, Any]]  # by key of the setting


def summary(results: Results, quick: bool, about: str) -> Summary:
    """The tables of the page."""
    settings = sweeps(quick)
    tables = {name: _sweep(results, name, settings[name]) for name in BESIDE_MEMORY}
    tables["partitions"] = _sweep(results, "partitions", settings["partitions"], beside=False)
    tables["workers"] = _workers(results, settings["workers"])
    tables["source"] = Table(
        ("rows from", *HEAD), [[_source(one), *_line(results, one)] for one in settings["source"]]
    )
    tables["tasks"] = Table(
        ("partitions", *HEAD),
        [[f"{one.partitions:,}", *_line(results, one)] for one in settings["tasks"]],
    )
    tables["k-means"] = _kmeans(results, settings["k-means"])
    return Summary(tables, {"machine": about, "large table": _large(results, settings["rows"][-1])})


def _sweep(
    results: Results, factor: str, settings: Sequence[Setting], *, beside: bool = True
) -> Table:
    rows = []
    for one in settings:
        memory = results.get(one.in_memory.key, {})
        line = [f"{getattr(one, factor):,}", *_line(results, one)]
        if beside:
            line += [_seconds(memory.get("seconds")), n_bytes(memory.get("peak_bytes"))]
        rows.append([*line, _same_tree(results, one)])
    head = ("in memory", "its peak") if beside else ()
    return Table((factor, *HEAD, *head, "same tree"), rows)


def _line(results: Results, setting: Setting) -> list[str]:
    """Passes, seconds, bytes and memory of a fit."""
    found = results.get(setting.key, {})
    if "passes" not in found:
        return ["-"] * len(HEAD)
    passes = found["passes"]
    travelled = [found.get(what) for what in ("asked", "answered", "returned")]
    return [
        str(passes),
        _seconds(found["seconds"]),
        _seconds(found["cpu_seconds"]),
        _seconds(found["seconds"] / passes),
        *(n_bytes(None if total is None else total / passes) for total in travelled),
        n_bytes(found["peak_bytes"]),
    ]


def _same_tree(results: Results, setting: Setting) -> str:
    trees = [results.get(one.key, {}).get("tree") for one in (setting, setting.in_memory)]
    return "-" if None in trees else "yes" if trees[0] == trees[1] else "NO"


def _workers(results: Results, settings: Sequence[Setting]) -> Table:
    rows = []
    for one in settings:
        cluster = one.where == "processes"
        title = f"a cluster, workers: {one.workers}" if cluster else f"{one.workers} thread(s)"
        worker = n_bytes(results.get(one.key, {}).get("worker_bytes"))
        rows.append([title, *_line(results, one), worker, _same_tree(results, one)])
    return Table(("scheduler", *HEAD, "worker's peak", "same tree"), rows)


def _source(setting: Setting) -> str:
    return {
        "memory": "memory (persisted)",
        "file": "a file of bare numbers",
        "drawn": "drawn anew in every pass",
        "parquet": "Parquet files, without dask",
    }[setting.source]


def _kmeans(results: Results, settings: Sequence[Setting]) -> Table:
    rows = []
    for one in settings:
        found = results.get(one.key, {})
        given = results.get(replace(one, given_centers=True).key, {})
        kmeans = [str(found.get("kmeans_passes", "-")), _seconds(found.get("kmeans_seconds"))]
        line = [f"{one.rows:,}", *_line(results, one), *kmeans, _seconds(given.get("seconds"))]
        rows.append(line)
    return Table(("rows", *HEAD, "k-means passes", "their seconds", "centers given"), rows)


def _large(results: Results, big: Setting) -> str:
    """The fit on files within a limit of memory, in words."""
    found, size = results.get(big.key, {}), n_bytes(big.mixture.n_bytes)
    table = f"{big.rows:,} rows x {big.features} columns of float32 ({size}) in Parquet files"
    if "passes" not in found:
        return f"{table}: not measured in this run."
    said = " ".join(found["said"]) or "nothing"
    return (
        f"{table}, in a process that the system allows {n_bytes(big.limit)} of private memory\n"
        f"(`RLIMIT_DATA`), {big.workers} threads: {found['passes']} passes, "
        f"{_seconds(found['seconds'])} s, a peak of {n_bytes(found['peak_bytes'])} resident. After "
        f"its first pass it said:\n\n> {said}"
    )


def _seconds(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is missing, and write the page."""
    options = _options(arguments)
    wanted = tasks(options.quick, options.only)
    # Two at a time when nobody goes by the times; tables must then be there before.
    for task in wanted if options.quick else ():
        _make_table(Setting(**task.arguments))
    jobs = 2 if options.quick else 1
    measured = runner.run(wanted, options.results, fresh=options.fresh, jobs=jobs)
    results = runner.read(tasks(options.quick, ()), options.results)
    found = summary(results, options.quick, machine())
    print("\n\n".join(table.text() for table in found.tables.values()))
    print(*publish("scale", found, options.out), sep="\n")
    runner.fail_if_any(measured)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    about = "How seconds, bytes and memory of a fit on partitioned rows grow: 35 minutes, 12 GB."
    reader = parser("scale", about, quick="small tables: a minute or two")
    factors = tuple(sweeps(False))
    reader.add_argument(
        "--only", type=names(factors), default=(), metavar="A,B", help=", ".join(factors)
    )
    return reader.parse_args(arguments)
