"""The fits of the quality table: measured once, kept in benchmarks/.cache/quality, read again."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import reference
from cost import kmeans_cost
from measure import Measured, measure, once
from problems import PROBLEMS, Table
from reference import Reference
from threadpoolctl import threadpool_limits
from trees import METHODS, check_stated_cost

import treemeans
from treemeans import _core

FOLDER = reference.FOLDER / "quality"
# Numbers of leaves, in k.
SIZES = (1, 2, 4)
# A fit below so many seconds is timed as the best of several.
BRIEF = 1.0
REPEATS = 5


@dataclass(frozen=True)
class Job:
    """One fit: its method, and the numbers of leaves (in k) that are read from it."""

    problem: str
    seed: int
    method: str
    sizes: tuple[int, ...]

    @property
    def leaves(self) -> int:
        """Return the number of leaves of the fit."""
        return PROBLEMS[self.problem].k * max(self.sizes)

    @property
    def path(self) -> Path:
        """Return the file that keeps the fit."""
        return FOLDER / f"{self.problem}-seed{self.seed}-{self.method}-{self.leaves}leaves.json"

    def __str__(self) -> str:
        return f"{self.problem}, seed {self.seed}, {self.method}, {self.leaves} leaves"


@dataclass(frozen=True)
class Fit:
    """What a fit took, the excess of its trees by their size (in k), and the code it ran."""

    seconds: float
    cpu_seconds: float
    excess: dict[str, float]
    package: str


def jobs_of(problem: str, seed: int, method: str, sizes: tuple[int, ...]) -> list[Job]:
    """Return the fits that give the sizes asked for."""
    if METHODS[method].nested:
        return [Job(problem, seed, method, SIZES)]
    return [Job(problem, seed, method, (size,)) for size in sizes]


def read(job: Job) -> Fit | None:
    """Return a fit from disk, if it is there."""
    return Fit(**json.loads(job.path.read_text())) if job.path.exists() else None


def save(job: Job, fit: Fit) -> None:
    """Write a fit, whole or not at all."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    draft = job.path.with_suffix(f".{os.getpid()}.draft")
    draft.write_text(json.dumps(asdict(fit), indent=1) + "\n")
    draft.replace(job.path)


def run(job: Job, X: Table, known: Reference) -> Fit:
    """Time the fit on one thread, and price the predictions of its trees."""
    method, k = METHODS[job.method], PROBLEMS[job.problem].k
    with threadpool_limits(limits=1):
        took = _timed(lambda: method.fit(X, known, job.leaves, job.seed))
    excess = {}
    for size in sorted(job.sizes):
        labels = method.labels(took.result, X, size * k)
        if labels is not None:
            cost = kmeans_cost(X, labels)
            excess[str(size)] = cost / known.inertia - 1.0
            if size == max(job.sizes):
                check_stated_cost(took.result, cost)
    return Fit(took.seconds, took.cpu_seconds, excess, fingerprint())


@cache
def fingerprint() -> str:
    """Return a short name of the package's code, to tell the fits of two versions apart."""
    folder = Path(treemeans.__file__).parent
    digest = hashlib.sha256()
    for path in [*sorted(folder.rglob("*.py")), Path(_core.__file__)]:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _timed(call: Any) -> Measured[Any]:
    """Time a call: once, or as the best of several if it is brief."""
    first = once(call)
    if first.seconds > BRIEF:
        return first
    return min(first, measure(call, REPEATS - 1), key=lambda taken: taken.seconds)
