"""Inertia of `FastKMeans` over that of scikit-learn's ``KMeans(n_init=10)`` (INERTIA.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn import datasets

from benchmarks import runner
from benchmarks.command_line import names, parser
from benchmarks.measure import once
from benchmarks.pages import Summary, machine, publish
from benchmarks.problems import PROBLEMS, SPEED_ONLY, Matrix, kmeans
from benchmarks.runner import Task
from benchmarks.tables import Table, number
from benchmarks.whole_fit import share

MOST = 1.001
"""Most that the mean over the seeds may be."""
PAPER = tuple(name for name in PROBLEMS if name not in SPEED_ONLY)
OTHERS = {
    "diabetes": 8,
    "log-normal": 8,
    "photograph": 16,
    "blobs": 20,
    "wide blobs": 10,
    "classification": 8,
    "moons": 6,
    "swiss roll": 12,
    "gaussian": 10,
    "low rank": 8,
    "whole numbers": 26,
}
SEEDS = 10
FEWER = {"covtype": 3, "cifar10": 1, "synthetic_2": 3, "20newsgroups": 5}
"""Seeds of the sets on which ten starts of KMeans take minutes."""


def load(name: str) -> tuple[Matrix, int]:
    """The table, and the number of clusters."""
    if name in PROBLEMS:
        return PROBLEMS[name].load(), PROBLEMS[name].k
    return np.ascontiguousarray(_make(name), dtype=np.float64), OTHERS[name]


def _make(name: str) -> Any:
    rng = np.random.default_rng(0)
    match name:
        case "diabetes":
            return datasets.load_diabetes().data
        case "log-normal":  # skewed columns of very different spreads
            return rng.lognormal(size=(20_000, 8)) * np.logspace(0, 3, 8)
        case "photograph":
            return datasets.load_sample_image("china.jpg").reshape(-1, 3)
        case "blobs":
            return datasets.make_blobs(100_000, 20, centers=20, cluster_std=3.0, random_state=0)[0]
        case "wide blobs":
            return datasets.make_blobs(5_000, 100, centers=10, cluster_std=8.0, random_state=1)[0]
        case "classification":
            return datasets.make_classification(10_000, 20, n_informative=8, random_state=0)[0]
        case "moons":
            return datasets.make_moons(20_000, noise=0.1, random_state=0)[0]
        case "swiss roll":
            return datasets.make_swiss_roll(20_000, noise=0.5, random_state=0)[0]
        case "gaussian":
            return rng.normal(size=(20_000, 10))
        case "low rank":
            return datasets.make_low_rank_matrix(5_000, 50, effective_rank=5, random_state=0)
        case _:  # whole numbers
            X = datasets.make_blobs(20_000, 16, centers=26, cluster_std=3.0, random_state=0)[0]
            return np.clip(np.round((X + 10.0) * 0.75), 0, 15)


def measure_seed(name: str, seed: int) -> dict[str, Any]:
    """Both clusterings with one seed, on one thread."""
    from treemeans import FastKMeans

    X, k = load(name)
    theirs = once(lambda: kmeans(X, k, seed))
    ours = once(lambda: FastKMeans(k, random_state=seed, n_jobs=1).fit(X))
    return {
        "n": X.shape[0],
        "d": X.shape[1],
        "k": k,
        "ratio": ours.result.inertia_ / theirs.result.inertia_,
        "cpu_seconds": ours.cpu_seconds,
        "kmeans_cpu_seconds": theirs.cpu_seconds,
    }


def tasks(sets: Sequence[str], quick: bool) -> list[Task]:
    """What is to be measured."""
    return [
        Task(f"{name}/{seed}", "benchmarks.inertia:measure_seed", {"name": name, "seed": seed})
        for name in sets
        for seed in range(2 if quick else FEWER.get(name, SEEDS))
    ]


def table(results: dict[str, dict[str, Any]]) -> Table:
    """A row for each set."""
    by_set: dict[str, list[dict[str, Any]]] = {}
    for key, result in results.items():
        if "error" not in result:
            by_set.setdefault(key.rpartition("/")[0], []).append(result)
    head = ("set", "rows", "columns", "k", "seeds", "mean", "worst", "best", "verdict", "time")
    return Table(head, [_line(name, runs) for name, runs in by_set.items()])


def _line(name: str, runs: list[dict[str, Any]]) -> list[str]:
    ratios = np.array([run["ratio"] for run in runs])
    size = [str(runs[0][key]) for key in ("n", "d", "k")]
    told = [f"{value:.5f}" for value in (ratios.mean(), ratios.max(), ratios.min())]
    seconds = [sum(run[key] for run in runs) for key in ("cpu_seconds", "kmeans_cpu_seconds")]
    verdict = "met" if ratios.mean() <= MOST else "missed"
    return [name, *size, str(len(runs)), *told, verdict, number(share(*seconds))]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print the table, and write the page."""
    every = (*PAPER, *OTHERS)
    options_of = parser("inertia", __doc__, "two seeds of three small sets")
    options_of.add_argument("--only", type=names(every), default=(), metavar="A,B", help="sets")
    options = options_of.parse_args(arguments)
    sets = options.only or (("iris", "wine", "diabetes") if options.quick else every)
    results = runner.run(tasks(sets, options.quick), options.results, fresh=options.fresh)
    found = Summary({"inertia": table(results)}, {"machine": machine()})
    print(found.tables["inertia"].text())
    for path in publish("inertia", found, options.out):
        print(path)
    runner.fail_if_any(results)


if __name__ == "__main__":
    main()
