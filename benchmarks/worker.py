"""Measure one cell of the table in a process of its own: ``python worker.py '{"task": ...}'``.

It prints one line of JSON. speed.py starts it, with the interpreter of the method it measures.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from functools import partial
from typing import Any

import methods
import numpy as np
import reference
from cost import kmeans_cost, values
from measure import measure, once
from methods import sklearn_kmeans
from numpy.typing import NDArray
from problems import PROBLEMS, Problem, Table, input_bytes

PREDICT_ROUNDS = 7
# The method needs a few rows of each cluster to warm up on.
WARM_ROWS = 5


@dataclasses.dataclass(frozen=True)
class Cell:
    """What to measure: a task, and the method, threads, repeats and number type it is done with."""

    task: str
    problem: str
    method: str = "treemeans"
    threads: int = 1
    repeat: int = 1
    compact: bool = False
    seed: int = 0
    n_init: int = 10


def cluster(cell: Cell, problem: Problem, X: Table) -> dict[str, Any]:
    """Compute, time and save the reference k-means."""
    sklearn_kmeans.fit(X[: 20 * problem.k], problem.k, cell.threads)
    start = (cell.threads, cell.seed, cell.n_init)
    run = once(lambda: sklearn_kmeans.fit(X, problem.k, *start))
    model = run.result
    found = (model.cluster_centers_, model.labels_, float(model.inertia_))
    took = (run.seconds, run.cpu_seconds, run.peak_bytes or 0)
    path = reference.path_of(problem.name, cell.seed, cell.n_init)
    reference.save(path, reference.Reference(*found, *took))
    return {"seconds": run.seconds}


def fit(cell: Cell, problem: Problem, X: Table) -> dict[str, Any]:
    """Time the tree on given reference centers."""
    method, known = methods.get(cell.method), reference.read(problem.name)
    table = method.prepare(X)
    some = table[_few_of_each(known.labels)]
    method.fit(some, problem.k, known.centers, cell.threads)
    run = measure(lambda: method.fit(table, problem.k, known.centers, cell.threads), cell.repeat)
    cost = kmeans_cost(table, method.labels(run.result, table))
    return {
        "seconds": run.seconds,
        "cpu_seconds": run.cpu_seconds,
        "calls": run.calls,
        "peak_bytes": run.peak_bytes,
        "input_bytes": input_bytes(table),
        "cost_ratio": cost / known.inertia,
        "read_seconds": measure(values(table).max, cell.repeat).seconds,
    }


def predict(cell: Cell, problem: Problem, X: Table) -> dict[str, Any]:
    """Time our predict and that of scikit-learn's tree, by turns."""
    centers = reference.read(problem.name).centers
    times: dict[str, list[float]] = {"treemeans": [], "cart": []}
    adapters = {name: methods.get(name) for name in times}
    models = {name: m.fit(X, problem.k, centers, cell.threads) for name, m in adapters.items()}
    for _ in range(PREDICT_ROUNDS):
        for name, adapter in adapters.items():
            times[name].append(once(partial(adapter.labels, models[name], X)).seconds)
    return {name: min(seconds) for name, seconds in times.items()}


TASKS = {"cluster": cluster, "fit": fit, "predict": predict}


def _few_of_each(labels: NDArray[Any]) -> NDArray[Any]:
    """Return the first rows of each cluster."""
    order = np.argsort(labels, kind="stable")
    starts = np.flatnonzero(np.diff(labels[order], prepend=-1))
    rank = np.arange(len(order)) - np.repeat(starts, np.diff(starts, append=len(order)))
    return np.sort(order[rank < WARM_ROWS])


def main() -> None:
    """Measure the cell described by the first argument."""
    cell = Cell(**json.loads(sys.argv[1]))
    problem = PROBLEMS[cell.problem]
    X = problem.load(compact=cell.compact)
    print(json.dumps(TASKS[cell.task](cell, problem, X)))


if __name__ == "__main__":
    main()
