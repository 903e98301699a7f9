"""Fits of this build against those of another, taken in turns.

Both interpreters fit the same tables with the same centers, one after the other, many times over;
the best time of each counts, so that a busy machine disturbs both alike. Run by its path, this file
is the process that fits: it needs nothing of this repository, so the other interpreter may have any
commit of treemeans.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class Comparison:
    """A fit that both builds do: name of the table, name of the problem, number of fits."""

    title: str
    problem: str
    fits: int
    refine: str = "none"


COMPARISONS = (
    Comparison("iris", "iris", 200),
    Comparison("digits", "digits", 100),
    Comparison("avila", "avila", 60),
    Comparison("avila, local", "avila", 25, refine="local"),
    Comparison("covtype", "covtype", 9),
    Comparison("cifar10_10k", "cifar10_10k", 7),
    Comparison("20newsgroups", "20newsgroups", 15),
)


# The process that fits


def _serve(path: str, k: int, refine: str, threads: int) -> None:
    """Fit once for each line of input, and answer with the seconds."""
    from treemeans import ExKMC

    with np.load(path) as file:
        centers = file["centers"]
        X = file["X"] if "X" in file.files else None
        if X is None:
            parts = (file["data"], file["indices"], file["indptr"])
            X = sparse.csr_matrix(parts, shape=tuple(file["shape"]))
    model = ExKMC(k, reference=centers, max_leaf_nodes=2 * k, refine=refine, n_jobs=threads)
    for _ in sys.stdin:
        start = time.perf_counter()
        model.fit(X)
        print(time.perf_counter() - start, flush=True)


class Fitter:
    """A process of one interpreter that fits whenever it is asked.

    ``file`` is what it runs, with ``arguments``.
    """

    def __init__(self, python: str, file: str, arguments: list[Any], threads: int) -> None:
        self.command = [python, file, json.dumps(arguments)]
        self.environment = os.environ | dict.fromkeys(THREAD_VARIABLES, str(threads))

    def __enter__(self) -> Fitter:
        self.process = subprocess.Popen(
            self.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=self.environment,
        )
        return self

    def __exit__(self, *_: object) -> None:
        self.process.__exit__(None, None, None)  # closes its input, which ends it, and waits

    def seconds(self) -> float:
        """Fit once."""
        return float(self.ask(""))

    def ask(self, line: str) -> str:
        """Write a line to the process, and return its answer."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit(f"{self.command[0]} could not fit; its message is above")
        return answer

    def instructions(self) -> float | None:
        """Instructions of a fit in user space; None where they cannot be counted."""
        counts = [self._instructions(fits) for fits in (1, 3)]
        return None if None in counts else (counts[1] - counts[0]) / 2  # type: ignore[operator]

    def _instructions(self, fits: int) -> float | None:
        """Instructions of a process that fits so many times."""
        if shutil.which("perf") is None:
            return None
        done = subprocess.run(
            ["perf", "stat", "-x", ",", "-e", "instructions:u", *self.command],
            input="\n" * fits,
            capture_output=True,
            text=True,
            env=self.environment,
            check=False,
        )
        found = re.search(r"(?m)^(\d+),.*instructions", done.stderr)
        return float(found[1]) if found else None


# The process that compares


def _store(problem: Any, path: Path) -> None:
    """Write a problem's table and centers of a short k-means."""
    from sklearn.cluster import MiniBatchKMeans

    X = problem.load()
    clusterer = MiniBatchKMeans(problem.k, n_init=3, random_state=0, batch_size=4096)
    centers = clusterer.fit(X).cluster_centers_
    if sparse.issparse(X):
        entries = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": X.shape}
        np.savez(path, centers=centers, **entries)
    else:
        np.savez(path, centers=centers, X=X)


def _best(fitters: Sequence[Fitter], fits: int) -> tuple[list[float], float]:
    """Least seconds of each process, and the median over the rounds of their ratio."""
    rounds = []
    for number in range(fits + 1):
        order = (0, 1) if number % 2 else (1, 0)  # neither is always first
        taken = {which: fitters[which].seconds() for which in order}
        rounds.append([taken[0], taken[1]])
    times = np.array(rounds[1:])  # the first fit also touches memory and imports
    return times.min(axis=0).tolist(), float(np.median(times[:, 1] / times[:, 0]))


def lines(other: str, only: Sequence[str], effort: float) -> Iterator[list[str]]:
    """Rows of the table, each as soon as it is known."""
    from benchmarks.problems import PROBLEMS

    with tempfile.TemporaryDirectory() as folder:
        for each in COMPARISONS:
            if only and each.problem not in only:
                continue
            problem, path = PROBLEMS[each.problem], Path(folder, f"{each.problem}.npz")
            if not path.exists():
                _store(problem, path)
            for number in (1, 2):
                arguments = [str(path), problem.k, each.refine, number]
                with ExitStack() as stack:
                    fitters = [
                        stack.enter_context(Fitter(python, __file__, arguments, number))
                        for python in (other, sys.executable)
                    ]
                    times, median = _best(fitters, max(3, round(effort * each.fits)))
                    # Threads that wait for each other count instructions too.
                    counts = [fitter.instructions() if number == 1 else None for fitter in fitters]
                told = [f"{1000 * seconds:.3f}" for seconds in times]
                ratio = "-" if None in counts else f"{counts[1] / counts[0]:.4f}"
                told += [f"{times[1] / times[0]:.3f}", f"{median:.3f}", ratio]
                yield [each.title, str(number), *told]


HEAD = ("fit", "threads", "before, ms", "after, ms", "after / before", "median", "instructions")


def compare(other: str, only: Sequence[str], effort: float) -> None:
    """Print the table line by line."""
    print("before:", other, "\nafter: ", sys.executable)
    form = "{:14} {:>7} {:>11} {:>11} {:>15} {:>7} {:>13}"
    print(form.format(*HEAD))
    for line in lines(other, only, effort):
        print(form.format(*line), flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks speed")
    parser.add_argument("--against", metavar="PYTHON", required=True, help="the other interpreter")
    parser.add_argument("--only", default="", metavar="A,B", help="problems")
    parser.add_argument("--effort", type=float, default=1.0, help="times the usual number of fits")
    options = parser.parse_args(arguments)
    compare(options.against, [name for name in options.only.split(",") if name], options.effort)


if __name__ == "__main__":
    _serve(*json.loads(sys.argv[1]))
