"""Rounds of a search per processor second, of this build and of another, taken in turns.

A round is, in any build, one change of a copy of the tree at a random place, followed up as far as
it may pay, and accepted or not: what `n_iter_` counts beyond the fit itself. Each build searches at
its default effort with the same centers; the time of a search of one round, which has all that
comes before and after the rounds, is taken off. Run by its path, this file is the process that
fits: it needs nothing of this repository, so the other interpreter may have any commit of
treemeans.
"""

from __future__ import annotations

import inspect
import json
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

TABLES = ("digits", "avila", "anuran")
REPEATS = 3


def _serve(path: str, leaves: int) -> None:
    """Search for each line of input, which is a number of rounds or nothing; answer with the
    processor seconds, and the rounds that were made."""
    from treemeans import ExKMC

    with np.load(path) as file:
        X, centers = file["X"], file["centers"]
    known = inspect.signature(ExKMC).parameters
    rounds_name = "search_rounds" if "search_rounds" in known else "max_iter"
    how: dict[str, Any] = {"refine": "search", "random_state": 0, "n_jobs": 1}
    warnings.simplefilter("ignore")  # a cluster may be small
    for line in sys.stdin:
        given = {rounds_name: int(line)} if line.strip() else {}
        model = ExKMC(None, reference=centers, max_leaf_nodes=leaves, **how, **given)
        begin = time.process_time()
        model.fit(X)
        print(time.process_time() - begin, model.n_iter_ - 1, flush=True)


def _pace(fitter: Any) -> tuple[float, float]:
    """Rounds, and rounds a second beyond what a search of one round takes."""
    (alone, one), (seconds, rounds) = (
        [float(word) for word in fitter.ask(line).split()] for line in ("1", "")
    )
    return rounds, (rounds - one) / (seconds - alone)


def lines(other: str, only: Sequence[str]) -> Iterator[list[str]]:
    """Rows of the table, each as soon as it is known."""
    from benchmarks.problems import kmeans
    from benchmarks.rivals import TABLES as LOADED
    from benchmarks.speed_against import Fitter

    with tempfile.TemporaryDirectory() as folder:
        for name in TABLES:
            if only and name not in only:
                continue
            k, load = LOADED[name]
            X, path = np.ascontiguousarray(load(), dtype=np.float64), Path(folder, f"{name}.npz")
            np.savez(path, X=X, centers=kmeans(X, k).cluster_centers_)
            with ExitStack() as stack:
                fitters = [
                    stack.enter_context(Fitter(python, __file__, [str(path), 2 * k], 1))
                    for python in (other, sys.executable)
                ]
                paces = [[_pace(fitter) for fitter in fitters] for _ in range(REPEATS)]
            rounds = [f"{number:.0f}" for number, _ in paces[0]]
            best = [max(pace[which][1] for pace in paces) for which in (0, 1)]
            told = [f"{pace:.0f}" for pace in best]
            yield [name, str(2 * k), *rounds, *told, f"{best[1] / best[0]:.1f}"]


HEAD = ("table", "leaves", "rounds before", "after", "a second before", "after", "ratio")


def compare(other: str, only: Sequence[str]) -> None:
    """Print the table line by line."""
    print("before:", other, "\nafter: ", sys.executable)
    form = "{:8} {:>6} {:>14} {:>8} {:>16} {:>8} {:>7}"
    print(form.format(*HEAD))
    for line in lines(other, only):
        print(form.format(*line), flush=True)


if __name__ == "__main__":
    _serve(*json.loads(sys.argv[1]))
