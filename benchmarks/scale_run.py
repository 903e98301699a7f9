"""Measure what is missing, each setting in a process of its own; keep a small file for each."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from scale_cells import FILES, KMEANS, MEMORY, PARQUET, PROCESSES, Setting, as_json
from scale_worker import prepare

WORKER = Path(__file__).resolve().with_name("scale_worker.py")
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
LIMIT = 3600.0
Result = dict[str, Any]


def path_of(setting: Setting, folder: Path) -> Path:
    """The file that keeps a result."""
    return folder / f"{setting.key}.json"


def read(setting: Setting, folder: Path) -> Result | None:
    """What is kept of a setting, if anything."""
    path = path_of(setting, folder)
    return json.loads(path.read_text())["result"] if path.exists() else None


def save(setting: Setting, result: Result, folder: Path) -> None:
    """Write a result, whole or not at all."""
    path = path_of(setting, folder)
    folder.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(f".{os.getpid()}.draft")
    draft.write_text(json.dumps({"setting": as_json(setting), "result": result}) + "\n")
    draft.replace(path)


def run(
    settings: Sequence[Setting], cells: Path, tables: Path, *, fresh: bool = False, jobs: int = 1
) -> int:
    """Measure those that are missing, ``jobs`` at a time; how many failed."""
    missing = [one for one in settings if fresh or _wanted(one, cells)]
    minutes = sum(map(guess, missing)) / 60 / jobs
    print(
        f"{len(settings)} settings, {len(missing)} to measure, about {minutes:.0f} minutes on a "
        "quiet machine",
        file=sys.stderr,
    )
    if jobs > 1:  # so that no two make the same table
        for setting in missing:
            prepare(setting, tables)
    with ThreadPoolExecutor(jobs) as pool:
        done = pool.map(lambda setting: _measure_and_keep(setting, cells, tables), missing)
        failed = 0
        for number, (setting, (result, took)) in enumerate(zip(missing, done, strict=True), 1):
            failed += "error" in result
            said = result.get("error") or f"fit in {result['seconds']:.2f} s"
            print(f"{number} of {len(missing)}: {setting}: {said}, {took:.0f} s", file=sys.stderr)
    return failed


def _measure_and_keep(setting: Setting, cells: Path, tables: Path) -> tuple[Result, float]:
    start = time.perf_counter()
    prepare(setting, tables)
    result = measure(setting, tables)
    save(setting, result, cells)
    return result, time.perf_counter() - start


def measure(setting: Setting, tables: Path) -> Result:
    """Run a worker and return what it measured, or the last line of its error."""
    # Threads that read files are counted with those of OpenMP; a task of dask's has one of them.
    threads = setting.workers if setting.where == FILES else 1
    env = {**os.environ, **dict.fromkeys(THREAD_VARIABLES, str(threads))}
    command = [sys.executable, str(WORKER), json.dumps(as_json(setting)), str(tables)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, env=env, check=False, timeout=LIMIT
        )
    except subprocess.TimeoutExpired:
        return {"error": f"not finished within {LIMIT:.0f} s"}
    if done.returncode:
        return {"error": (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]}
    measured: Result = json.loads(done.stdout.splitlines()[-1])
    return measured


def gather(settings: Iterable[Setting], cells: Path) -> list[Result]:
    """What is kept of the settings, for one file."""
    kept = ((setting, read(setting, cells)) for setting in settings)
    return [{"setting": as_json(one), "result": result} for one, result in kept if result]


def guess(setting: Setting) -> float:
    """Seconds that a setting takes, about; known from earlier runs."""
    starting, work = 3.0, setting.rows * setting.features * setting.k
    if setting.where == MEMORY:
        return starting + 8e-9 * work
    passes = 8 + 2 * setting.k * (1.5 if setting.rows > 2e6 else 1.0)
    passes += 8 if setting.reference == KMEANS else 0
    reading = 12e-9 * setting.rows * setting.features if setting.source == PARQUET else 0.0
    made = (20e-9 if setting.where == FILES else 8e-9) * setting.rows * setting.features
    work_seconds = passes * (1.2e-9 * work + 150e-9 * setting.rows + reading)
    each = 6e-3 if setting.where == PROCESSES else 1e-3
    return starting + made + work_seconds / setting.workers + passes * each * setting.parts


def _wanted(setting: Setting, cells: Path) -> bool:
    kept = read(setting, cells)
    return kept is None or "error" in kept
