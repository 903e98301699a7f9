"""The one runner: tasks in processes of their own, each result kept in a small file.

A task names a function by its module; the function takes and returns plain values. A run that was
stopped goes on where it was, and a task that failed, or took longer than allowed, is tried again by
the next run. Tasks of another package run with the interpreter of that package's environment.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / "benchmarks" / ".cache"
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
OVER_LIMIT = "over the limit"

Result = dict[str, Any]


@dataclass(frozen=True)
class Task:
    """A call to be made in a process of its own.

    Attributes
    ----------
    key : name of the file that keeps the result, below the folder of the run
    function : ``"package.module:function"``
    arguments : plain values that the function is called with
    threads : what the numeric libraries may use
    python : interpreter, if not this one
    limit : seconds after which the process is ended
    """

    key: str
    function: str
    arguments: dict[str, Any]
    threads: int = 1
    python: str | None = None
    limit: float = 3600.0


def run(
    tasks: Sequence[Task], folder: Path, *, fresh: bool = False, jobs: int = 1
) -> dict[str, Result]:
    """Run what is missing, ``jobs`` tasks at a time; return all results by key.

    A task that failed has the result ``{"error": reason}``.
    """
    missing = [task for task in tasks if fresh or not _is_done(folder, task)]
    print(f"{len(tasks)} tasks, {len(missing)} to run", file=sys.stderr)
    with ThreadPoolExecutor(jobs) as pool:
        for number, line in enumerate(pool.map(lambda task: _run(task, folder), missing), 1):
            print(f"{number} of {len(missing)}: {line}", file=sys.stderr, flush=True)
    return read(tasks, folder)


def read(tasks: Sequence[Task], folder: Path) -> dict[str, Result]:
    """What is kept of the tasks, by key."""
    kept = ((task.key, _kept(folder, task)) for task in tasks)
    return {key: result for key, result in kept if result is not None}


def fail_if_any(results: dict[str, Result]) -> None:
    """End with status 1 if a task failed; one that went over its limit is a result."""
    failed = {
        key: r["error"] for key, r in results.items() if r.get("error", OVER_LIMIT) != OVER_LIMIT
    }
    if failed:
        sys.exit("\n".join(["failed:", *(f"  {key}: {error}" for key, error in failed.items())]))


def _run(task: Task, folder: Path) -> str:
    """Run a task, keep its result, and say how it ended."""
    start = time.perf_counter()
    result = call(task)
    path = _path(folder, task)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(f".{os.getpid()}.draft")
    draft.write_text(json.dumps(result) + "\n")
    draft.replace(path)  # whole or not at all
    return f"{task.key}: {result.get('error', 'done')}, {time.perf_counter() - start:.1f} s"


def call(task: Task) -> Result:
    """Call the function in a new process."""
    command = [task.python or sys.executable, "-m", "benchmarks.runner", task.function]
    try:
        done = subprocess.run(
            command,
            input=json.dumps(task.arguments),
            capture_output=True,
            text=True,
            env=os.environ | dict.fromkeys(THREAD_VARIABLES, str(task.threads)),
            cwd=ROOT,
            timeout=task.limit,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"error": OVER_LIMIT, "limit": task.limit}
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"the process ended with {done.returncode}"]
        return {"error": lines[-1]}
    result: Result = json.loads(done.stdout.splitlines()[-1])
    return result


def _path(folder: Path, task: Task) -> Path:
    return folder / f"{task.key}.json"


def _kept(folder: Path, task: Task) -> Result | None:
    path = _path(folder, task)
    return json.loads(path.read_text()) if path.exists() else None


def _is_done(folder: Path, task: Task) -> bool:
    """Whether a task need not be run: it ended well, or would reach its limit again."""
    kept = _kept(folder, task)
    if kept is None or "error" not in kept:
        return kept is not None
    return kept["error"] == OVER_LIMIT and kept["limit"] >= task.limit


def _answer() -> None:
    """Make the call that the command line names: the process of a task."""
    warnings.simplefilter("ignore")  # a tree may have too few leaves; its row says so
    module, _, name = sys.argv[1].partition(":")
    print(json.dumps(getattr(import_module(module), name)(**json.load(sys.stdin))))


if __name__ == "__main__":
    _answer()
