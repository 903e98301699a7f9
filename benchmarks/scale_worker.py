"""One fit of scale.py, in a process of its own: ``python scale_worker.py '{"rows": ...}' FOLDER``.

It prints one line of JSON. The table must be in the folder already; see ``prepare``.
"""

from __future__ import annotations

import hashlib
import json
import resource
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from measure import CLEAR, STATUS
from scale_cells import FILES, GB, GIVEN, HELD, MADE, MEMORY, PARQUET, PROCESSES, STORED, Setting
from scale_cells import THREADS as ON_THREADS
from scale_data import Table, as_dask, store, write_parquet

MEMINFO = Path("/proc/meminfo")
IN_MEMORY = 3
"""What a build in memory takes, in tables of float32, about."""


def prepare(setting: Setting, folder: Path) -> Path | None:
    """Make the file that a setting reads, if it reads one."""
    if setting.source == PARQUET:
        return write_parquet(setting.table, folder)
    return None if setting.source == MADE else store(setting.table, folder).path


# ---- what a pass took ----------------------------------------------------------------------------


@dataclass
class Passes:
    """Passes of one kind: how many, what they took, and the bytes that travelled.

    ``cpu_seconds`` are those of this process, ``worker_seconds`` those of a cluster's workers.
    ``asked`` counts the questions, ``answered`` what left the parts (None where parts are read in
    this process), and ``returned`` the merged answers.
    """

    passes: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    worker_seconds: float = 0.0
    asked: int = 0
    answered: int | None = None
    returned: int = 0


def counted(parts: Any, client: Any = None) -> Any:
    """Parts that keep a record of every pass in ``kinds``; the client is that of their cluster."""
    from treemeans.parts.sources.errand import size_of

    kinds: dict[str, Passes] = {}
    ask, traffic = parts.ask, getattr(parts, "traffic", None)

    def worked() -> float:
        return 0.0 if client is None else sum(client.run(time.process_time).values())

    def timed(question: Any) -> Any:
        before = 0 if traffic is None else traffic.answered
        worker = worked()
        start, cpu = time.perf_counter(), time.process_time()
        answer = ask(question)
        took, cpu = time.perf_counter() - start, time.process_time() - cpu
        kind = kinds.setdefault(kind_of(question), Passes())
        kind.passes += 1
        kind.seconds += took
        kind.cpu_seconds += cpu
        kind.worker_seconds += worked() - worker
        kind.asked += size_of(question)
        kind.returned += size_of(answer)
        if traffic is not None:
            kind.answered = (kind.answered or 0) + traffic.answered - before
        return answer

    parts.ask, parts.kinds = timed, kinds
    return parts


def kind_of(question: Any) -> str:
    """What a pass is for."""
    name = type(question).__name__
    if name != "Survey":
        known = {"TakeSketch": "sketch", "AddUp": "pricing", "TakeHarvest": "last"}
        return known.get(name, "reference")
    looks = question.looks
    stage = "base" if type(question.lines).__name__ == "HomeLines" else "growth"
    begins = looks.edges[looks.first[:-1]]
    if not len(begins) or not np.isneginf(begins).all():
        return f"{stage}, closer"
    return "count" if (np.diff(looks.first) == 2).all() else f"{stage}, first"


# ---- memory --------------------------------------------------------------------------------------


def resident(key: str = "VmRSS") -> int:
    """Bytes that this process has in memory; with VmHWM, the most it ever had."""
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(key))
    return int(line.split()[1]) * 1024


def forget_peak() -> int:
    """Begin to look for the peak anew; the bytes there are now."""
    CLEAR.write_text("5")
    return resident()


def peak() -> int:
    """The most bytes since then."""
    return resident("VmHWM")


# ---- the fit -------------------------------------------------------------------------------------


def run(setting: Setting, folder: Path) -> dict[str, Any]:
    """Measure a setting."""
    from treemeans import ExKMC

    warnings.simplefilter("ignore")
    centers = setting.table.centers() if setting.reference == GIVEN else None
    model = ExKMC(
        setting.k,
        max_leaf_nodes=setting.leaves,
        reference=centers,
        n_jobs=setting.workers,
        random_state=0,
    )
    with ExitStack() as stack:
        fit, found = _ready(setting, folder, model, stack)
        _warm_up(setting)
        if "client" in found:
            found["client"].run(forget_peak)
        found["before_bytes"] = forget_peak()
        start, cpu = time.perf_counter(), time.process_time()
        fit()
        found["seconds"] = time.perf_counter() - start
        found["cpu_seconds"] = time.process_time() - cpu
        found["peak_bytes"] = peak()
        if "client" in found:
            found["worker_bytes"] = list(found.pop("client").run(peak).values())
    if "kinds" in found:
        found["kinds"] = {kind: asdict(passes) for kind, passes in found["kinds"].items()}
    return found | _about(model)


def _ready(
    setting: Setting, folder: Path, model: Any, stack: ExitStack
) -> tuple[Callable[[], Any], dict[str, Any]]:
    """What is to be timed, and what will be found out."""
    if setting.where == MEMORY:
        _check_room(setting)
        X = store(setting.table, folder).rows(0, setting.rows)
        return lambda: model.fit(X), {}
    if setting.where == FILES:
        return _ready_files(setting, folder, model)
    found: dict[str, Any] = {}
    client = stack.enter_context(_scheduler(setting))
    if client is not None:
        found["client"] = client
    from treemeans.parts.sources.dask import DaskParts

    parts = counted(DaskParts.of(_rows(setting, folder)), client)
    return lambda: model.fit(parts), found | {"kinds": parts.kinds}


def _check_room(setting: Setting) -> None:
    """Refuse a table that would leave the machine without memory."""
    line = next(x for x in MEMINFO.read_text().splitlines() if x.startswith("MemAvailable"))
    free, needed = int(line.split()[1]) * 1024, IN_MEMORY * setting.table.n_bytes
    if needed > free:
        raise MemoryError(f"a build in memory takes {needed / GB:.0f} GB; {free / GB:.0f} are free")


def _warm_up(setting: Setting) -> None:
    """Have everything imported, here and on the workers."""
    from treemeans import ExKMC

    few = Table(1_000, 2, 2)
    X = few.rows(0, 1_000) if setting.where == MEMORY else as_dask(few, 4 * setting.workers)
    ExKMC(2, reference=few.centers()).fit(X)


def _ready_files(
    setting: Setting, folder: Path, model: Any
) -> tuple[Callable[[], Any], dict[str, Any]]:
    """Files that threads of this process read; what is said of the time is kept."""
    from treemeans import open_parts
    from treemeans.parts.sources.pace import Pace

    said: list[str] = []
    parts = counted(open_parts(write_parquet(setting.table, folder)))
    found = {"kinds": parts.kinds, "said": said, "n_parts": parts.n_parts}
    pace = Pace(parts, said.append)
    return lambda: model.fit(pace), found


def _rows(setting: Setting, folder: Path) -> Any:
    """The dask array."""
    table = setting.table
    if setting.source == MADE:
        return as_dask(table, setting.parts)
    X = as_dask(table, setting.parts, store(table, folder).rows)
    assert setting.source in (STORED, HELD), setting.source
    return X.persist() if setting.source == HELD else X


@contextmanager
def _scheduler(setting: Setting) -> Iterator[Any]:
    """Where dask computes; the client, if there is a cluster."""
    import dask

    if setting.where == PROCESSES:
        from distributed import Client, LocalCluster

        with (
            LocalCluster(
                n_workers=setting.workers, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            Client(cluster) as client,
        ):
            yield client
        return
    with dask.config.set(
        scheduler="threads" if setting.where == ON_THREADS else "sync", num_workers=setting.workers
    ):
        yield None


def _about(model: Any) -> dict[str, Any]:
    """The tree, by its size and a digest that equal trees have in common."""
    tree = model.tree_
    digest = hashlib.sha256()
    for array in (tree.feature, tree.threshold, tree.left, tree.right, tree.label):
        digest.update(np.ascontiguousarray(array).tobytes())
    return {
        "leaves": int(tree.n_leaves),
        "depth": int(tree.depth.max()),
        "inertia": float(model.inertia_),
        "tree": digest.hexdigest()[:16],
    }


def limit_memory(n_bytes: int) -> None:
    """Have the system refuse more private memory than this.

    RLIMIT_DATA counts what the process may write to and shares with nobody: its heap, and every
    mapping that its allocators make, a gigabyte that pyarrow's reserves and hardly uses included.
    Files that are only read do not count, nor do libraries.
    """
    if n_bytes:
        resource.setrlimit(resource.RLIMIT_DATA, (n_bytes, n_bytes))


def main() -> None:
    """Measure the setting of the first argument, with the tables of the second."""
    setting = Setting(**json.loads(sys.argv[1]))
    limit_memory(setting.limit)
    if setting.limit:
        from treemeans.parts.sources.lean import stay_lean

        stay_lean()  # as the command line does
    print(json.dumps(run(setting, Path(sys.argv[2]))))


if __name__ == "__main__":
    main()
