"""A whole fit on a folder of Parquet files, in reads of a plain scan (SCALE.md).

The folder is made in the folder of temporary files, and deleted at the end. The fit runs in a
process of its own with a limit on its memory.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.measure import reset_peak, resident
from benchmarks.scale import GB, Mixture, _counted, _limit_memory


def scan(path: Path) -> dict[str, Any]:
    """Read all batches with pyarrow, in one thread, and look at nothing."""
    import pyarrow.dataset as ds

    start, cpu = time.perf_counter(), time.process_time()
    n_rows = 0
    for batch in ds.dataset(path).to_batches(use_threads=False):
        n_rows += batch.num_rows
    return _took(start, cpu) | {"rows": n_rows}


def fit(path: Path, k: int) -> dict[str, Any]:
    """Fit with k-means over the partitions, in one thread; what is k-means and what is the tree."""
    from treemeans import ExKMC, open_parts
    from treemeans.partitioned.readers.pass_timer import PassTimer

    _limit_memory(2 * GB)
    reset_peak()
    partitions, found = _counted(open_parts(path))
    run, passes = partitions.map_reduce, list[TimedPass]()
    told: list[tuple[float, float | None]] = []

    def timed_pass(step: Any) -> Any:
        begin, cpu = time.perf_counter(), time.process_time()
        told.append((cpu, timed.left()))
        answer = run(step)
        passes.append(TimedPass(step.kind, **_took(begin, cpu)))
        return answer

    partitions.map_reduce = timed_pass
    said: list[tuple[float, str]] = []
    start, cpu = time.perf_counter(), time.process_time()
    # Seconds of the processor: others who use the machine do not change what is left.
    timed = PassTimer(
        partitions,
        lambda words: said.append((time.process_time(), words)),
        clock=time.process_time,
    )
    ExKMC(k, max_leaf_nodes=2 * k, n_jobs=1, random_state=0).fit(timed)
    end = time.process_time()
    found |= _took(start, cpu)
    at, words = said[0]
    kinds = list(dict.fromkeys(one.kind for one in passes))
    return found | {
        "passes_by_kind": {kind: _total(passes, kind) for kind in kinds},
        "said": words,
        "left_when_said": end - at,
        # at the start of each pass: its kind, what was told, what was left
        "left": [
            (one.kind, None if left is None else round(left, 1), round(end - when, 1))
            for one, (when, left) in zip(passes, told, strict=True)
        ],
        "peak_bytes": resident("VmHWM"),
        "scratch_bytes": 512 * resource.getrusage(resource.RUSAGE_SELF).ru_oublock,
    }


class TimedPass(NamedTuple):
    """A pass, and what it took."""

    kind: str
    seconds: float
    cpu_seconds: float


def _total(passes: list[TimedPass], kind: str) -> dict[str, float]:
    some = [one for one in passes if one.kind == kind]
    return {
        "passes": len(some),
        "seconds": round(sum(one.seconds for one in some), 2),
        "cpu_seconds": round(sum(one.cpu_seconds for one in some), 2),
    }


def _took(start: float, cpu: float) -> dict[str, float]:
    return {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - cpu}


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the folder, and print what each step took as JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks folder", description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--clusters", type=int, default=10)
    parser.add_argument("--step", choices=("scan", "fit"), help=argparse.SUPPRESS)
    parser.add_argument("--path", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.step is not None:
        found = (
            scan(options.path) if options.step == "scan" else fit(options.path, options.clusters)
        )
        print(json.dumps(found))
        return
    with tempfile.TemporaryDirectory(prefix="treemeans-folder-") as folder:
        path = Mixture(options.rows, options.columns, options.clusters).parquet(Path(folder))
        size = sum(file.stat().st_size for file in path.iterdir())
        print(json.dumps({"step": "made", "bytes": size}), flush=True)
        for step in ("scan", "scan", "fit"):  # the first scan fills the page cache
            ran = ["--step", step, "--path", str(path), "--clusters", str(options.clusters)]
            command = [sys.executable, "-m", "benchmarks", "folder", *ran]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            print(json.dumps({"step": step} | json.loads(done.stdout)), flush=True)
