"""Compute what is missing, in a process of its own; keep a small file for each cell.

A run that was stopped goes on where it was. Where no cell of a job is finished within the limit,
the process is killed, and the cells are kept as over the limit, until a run allows more.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import warnings
from collections.abc import Iterable
from itertools import groupby
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Self

import reference

from treemeans.progress import Progress

from .cells import PEERS, Cell

FOLDER = reference.FOLDER / "paper"
OVER, FAILED, DONE = "over the limit", "failed", "done"


def path_of(cell: Cell, folder: Path = FOLDER) -> Path:
    """Return the file that keeps a cell."""
    return folder / f"{cell.key}.json"


def read(cell: Cell, folder: Path = FOLDER) -> dict[str, Any] | None:
    """Return what is kept of a cell, if anything."""
    path = path_of(cell, folder)
    return json.loads(path.read_text()) if path.exists() else None


def save(cell: Cell, result: dict[str, Any], folder: Path = FOLDER) -> None:
    """Write a cell, whole or not at all."""
    path = path_of(cell, folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(f".{os.getpid()}.draft")
    draft.write_text(json.dumps({"cell": vars(cell), **result}) + "\n")
    draft.replace(path)


def wanted(cell: Cell, limit: float, folder: Path = FOLDER) -> bool:
    """Say whether a cell is to be computed: never done, failed, or stopped at a lower limit."""
    kept = read(cell, folder)
    if kept is None or kept["status"] == FAILED:
        return True
    return kept["status"] == OVER and kept["limit"] < limit


def run(
    cells: Iterable[Cell], limit: float, *, fresh: bool = False, folder: Path = FOLDER
) -> dict[str, int]:
    """Compute the cells that are wanted; return how many ended how."""
    missing = [cell for cell in cells if fresh or wanted(cell, limit, folder)]
    ended = dict.fromkeys((DONE, OVER, FAILED), 0)
    with Progress("cells", len(missing), enabled=True) as progress, Worker() as worker:
        for job, group in groupby(missing, key=lambda cell: cell.job):
            start, before = time.perf_counter(), dict(ended)
            _run_job(worker, list(group), limit, folder, ended)
            progress.update(sum(ended.values()), " ".join(filter(None, job)))
            if not progress.enabled:
                _say(job, ended, before, time.perf_counter() - start)
    return ended


def _run_job(
    worker: Worker, cells: list[Cell], limit: float, folder: Path, ended: dict[str, int]
) -> None:
    """Compute the cells of a job, and keep each as soon as it is known."""
    worker.send(cells)
    left = cells
    while left:
        status, result = worker.receive(limit)
        lost = left[:1] if status == DONE else left
        for cell in lost:
            save(cell, {"status": status, **result}, folder)
        ended[status] += len(lost)
        left = left[len(lost) :]


class Worker:
    """A process that computes job after job; one that takes too long is killed and replaced."""

    def __enter__(self) -> Self:
        self._process: Any = None
        return self

    def __exit__(self, *error: object) -> None:
        self._kill()

    def send(self, cells: list[Cell]) -> None:
        """Begin a job."""
        if self._process is None:
            context = get_context("spawn")
            self._pipe, theirs = context.Pipe()
            # Not a daemon: joblib gives those one thread, whatever is asked for.
            self._process = context.Process(target=_serve, args=(theirs,))
            self._process.start()
            theirs.close()
        self._pipe.send(cells)

    def receive(self, limit: float) -> tuple[str, dict[str, Any]]:
        """Return how the next cell ended, and its result or why there is none."""
        if not self._pipe.poll(limit):
            self._kill()
            return OVER, {"limit": limit}
        try:
            result: dict[str, Any] = self._pipe.recv()
        except EOFError:
            self._kill()
            return FAILED, {"message": "the process ended without a word"}
        return (FAILED if "message" in result else DONE), result

    def _kill(self) -> None:
        """End the process, with what it started."""
        if self._process is None:
            return
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except (AttributeError, ProcessLookupError, PermissionError):
            self._process.kill()  # it has no group of its own, or not yet
        self._process.join()
        self._process.close()
        self._pipe.close()
        self._process = None


def _serve(pipe: Connection) -> None:
    """Compute jobs until no more come; the body of the process."""
    if hasattr(os, "setsid"):
        os.setsid()  # so that what it starts can be ended with it
    warnings.simplefilter("ignore")  # a baseline may have too few leaves, and the row says so
    while True:
        try:
            cells: list[Cell] = pipe.recv()
        except EOFError:
            return
        _compute(cells, pipe)


def _compute(cells: list[Cell], pipe: Connection) -> None:
    """Compute cells and send their results in their order; after an error, no more."""
    try:
        from fits import fingerprint

        results = _adapter(cells[0].method)(cells)
        for expected, (cell, result) in zip(cells, results, strict=True):
            assert cell == expected
            pipe.send({**result, "package": fingerprint()})
    except Exception as error:
        pipe.send({"message": f"{type(error).__name__}: {error}"})


def _adapter(method: str) -> Any:
    if method in PEERS:
        from .peers import peer

        return peer
    from .methods import ADAPTERS

    return ADAPTERS[method]


def _say(job: tuple[str, ...], ended: dict[str, int], before: dict[str, int], took: float) -> None:
    """Write a line for a job, where no bar shows."""
    counts = [f"{ended[s] - before[s]} {s}" for s in ended if ended[s] > before[s]]
    print(f"{' '.join(filter(None, job))}: {', '.join(counts)}, {took:.1f} s", file=sys.stderr)
