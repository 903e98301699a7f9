"""Seconds and memory of a fit, beside scikit-learn's KMeans and the official package."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import runner, speed_against
from benchmarks.command_line import names, parser
from benchmarks.environments import EnvironmentMissingError, interpreter
from benchmarks.measure import measure, once
from benchmarks.methods import METHODS, dense
from benchmarks.pages import Summary, machine, publish
from benchmarks.problems import PROBLEMS, input_bytes, kmeans_cost, reference, stored_values
from benchmarks.runner import Task
from benchmarks.tables import Table, number
from benchmarks.targets import Target, target_table
from benchmarks.whole_fit import LARGE, SHARE_OF_KMEANS_FIT, fit_with_kmeans, share, whole_table

# The problems large enough to tell methods apart by their time, and one that must not wait.
NAMES = (
    *("iris", "avila", "covtype", "20newsgroups"),
    *("cifar10_10k", "cifar10", "synthetic_2", "blobs_2m"),
    *("digits", "whole_20k", "whole_11k"),
)
REPEATS = {"iris": 50}  # milliseconds, so that its best time needs more fits
PREDICTIONS = 7
WARM_ROWS = 5  # rows of each cluster that a method is warmed up on
BUSY = 1.1  # a fit that took so much longer than its processor time is not to be trusted

FASTER_THAN_OFFICIAL = {
    "digits": 15.0,
    "avila": 15.0,
    "whole_20k": 15.0,
    "whole_11k": 15.0,
    "covtype": 25.0,
    "20newsgroups": 200.0,
    "cifar10_10k": 25.0,
    "cifar10": 25.0,
}
SHARE_OF_KMEANS = {"covtype": 0.02, "cifar10_10k": 0.02, "cifar10": 0.02}

Results = dict[str, dict[str, Any]]  # by problem, then by what was measured


# What is measured, each in a process of its own


def measure_kmeans(problem: str) -> dict[str, Any]:
    """The reference k-means, whose time is kept with it."""
    known = reference(problem)
    n, d = len(known.labels), known.centers.shape[1]
    return {"seconds": known.seconds, "cpu_seconds": known.cpu_seconds, "n": n, "d": d}


def measure_fit(problem: str, method: str, threads: int, repeat: int) -> dict[str, Any]:
    """The tree of 2 k leaves on given reference centers."""
    adapter, known, k = METHODS[method], reference(problem), PROBLEMS[problem].k
    X = PROBLEMS[problem].load()
    X = dense(X) if adapter.environment else X
    adapter.fit(X[_few_of_each(known.labels)], known, 2 * k, 0, threads)
    run = measure(lambda: adapter.fit(X, known, 2 * k, 0, threads), repeat)
    cost = kmeans_cost(X, adapter.labels(run.result, X, 2 * k))
    return {
        "seconds": run.seconds,
        "cpu_seconds": run.cpu_seconds,
        "calls": run.calls,
        "peak_bytes": run.peak_bytes,
        "input_bytes": input_bytes(X),
        "cost_ratio": cost / known.inertia,
        "read_seconds": measure(stored_values(X).max, repeat).seconds,
    }


def measure_predict(problem: str) -> dict[str, float]:
    """Our ``predict`` and that of scikit-learn's tree of as many leaves, by turns."""
    X, known, leaves = PROBLEMS[problem].load(), reference(problem), 2 * PROBLEMS[problem].k
    adapters = {"treemeans": METHODS["exkmc_imm"], "cart": METHODS["cart"]}
    models = {name: each.fit(X, known, leaves, 0) for name, each in adapters.items()}
    seconds: dict[str, list[float]] = {name: [] for name in adapters}
    for _ in range(PREDICTIONS):
        for name, model in models.items():
            seconds[name].append(once(partial(model.predict, X)).seconds)
    return {name: min(times) for name, times in seconds.items()}


def _few_of_each(labels: NDArray[Any]) -> NDArray[Any]:
    """The first rows of each cluster."""
    order = np.argsort(labels, kind="stable")
    starts = np.flatnonzero(np.diff(labels[order], prepend=-1))
    rank = np.arange(len(order)) - np.repeat(starts, np.diff(starts, append=len(order)))
    return np.sort(order[rank < WARM_ROWS])


def tasks(problems: Sequence[str], repeat: int, official: str | None) -> list[Task]:
    """What is to be measured; the k-means first, because fits are given its centers."""
    found = []
    for problem in problems:
        fit = {"problem": problem, "repeat": max(repeat, REPEATS.get(problem, 0))}
        found.append(
            Task(f"{problem}/kmeans", "benchmarks.speed:measure_kmeans", {"problem": problem})
        )
        found.extend(
            Task(f"{problem}/{kind}", f"benchmarks.whole_fit:measure_{kind}", fit)
            for kind in (("whole", "faiss", "cart") if problem not in REPEATS else ("whole",))
        )
        for threads in (1, 2) if problem not in REPEATS else (1,):
            arguments = {**fit, "method": "exkmc_imm", "threads": threads}
            key = f"{problem}/treemeans_{threads}"
            found.append(Task(key, "benchmarks.speed:measure_fit", arguments, threads))
        if official and problem not in REPEATS:
            arguments = {**fit, "method": "official", "threads": 1}
            key, function = f"{problem}/official_1", "benchmarks.speed:measure_fit"
            found.append(Task(key, function, arguments, python=official))
        if problem not in REPEATS:
            key, function = f"{problem}/predict", "benchmarks.speed:measure_predict"
            found.append(Task(key, function, {"problem": problem}))
    return found


# Tables


def summary(results: Results, about: str) -> Summary:
    """The tables of the page."""
    targets = [target for problem, row in results.items() for target in _targets(problem, row)]
    failed = "\n".join([*_disturbed(results), *_failures(results)])
    tables = {
        "whole fit": whole_table(results),
        "times": _times(results),
        "targets": target_table(targets),
    }
    return Summary(tables, {"machine": about, "failures": failed or "All fits were measured."})


def _times(results: Results) -> Table:
    head = (
        *("problem", "rows", "columns", "k"),
        *("KMeans s", "official s", "1 thread s", "2 threads s", "reads"),
        *("memory", "official memory", "cost", "official cost"),
    )
    return Table(head, [_time_line(problem, row) for problem, row in results.items()])


def _time_line(problem: str, row: dict[str, Any]) -> list[str]:
    ours, official = row.get("treemeans_1", {}), row.get("official_1", {})
    size = [str(row["kmeans"].get(key, "-")) for key in ("n", "d")]
    kinds = ("kmeans", "official_1", "treemeans_1", "treemeans_2")
    seconds = [number(row.get(kind, {}).get("seconds")) for kind in kinds]
    reads = share(ours.get("seconds"), ours.get("read_seconds"))
    memory = [_memory(each) for each in (ours, official)]
    costs = [number(each.get("cost_ratio"), 4) for each in (ours, official)]
    k = str(PROBLEMS[problem].k)
    return [problem, *size, k, *seconds, number(reads), *map(number, memory), *costs]


def _targets(problem: str, row: dict[str, Any]) -> Iterator[Target]:
    """What the package promises about one problem."""
    ours, two, official = (
        row.get(kind, {}).get("seconds") for kind in ("treemeans_1", "treemeans_2", "official_1")
    )
    if problem in REPEATS:
        milliseconds = None if ours is None else 1000 * ours
        yield Target(problem, "fit beyond k-means, ms", 5.0, False, milliseconds)
        return
    if problem in FASTER_THAN_OFFICIAL:
        limit = FASTER_THAN_OFFICIAL[problem]
        yield Target(problem, "times the official speed", limit, True, share(official, ours))
    if problem in SHARE_OF_KMEANS:
        part = share(ours, row["kmeans"].get("seconds"))
        limit = SHARE_OF_KMEANS[problem]
        yield Target(problem, "part of KMeans(n_init=10)", limit, False, part)
    if problem in LARGE:
        whole = share(row.get("whole", {}).get("cpu_seconds"), fit_with_kmeans(row))
        what = "whole fit / that with KMeans"
        yield Target(problem, what, SHARE_OF_KMEANS_FIT, False, whole)
    yield Target(problem, "two threads against one", 1.6, True, share(ours, two))
    # A dense table: half an input; non-zeros: a small multiple of them.
    limit = 4.0 if PROBLEMS[problem].sparse else 0.5
    yield Target(problem, "memory / input", limit, False, _memory(row.get("treemeans_1", {})))
    predict = row.get("predict", {})
    faster = share(predict.get("cart"), predict.get("treemeans"))
    yield Target(problem, "times the predict speed of a tree", 3.0, True, faster)


def _memory(fit: dict[str, Any]) -> float | None:
    """Peak beyond the input, in sizes of the input."""
    return share(fit.get("peak_bytes"), fit.get("input_bytes"))


def _disturbed(results: Results) -> list[str]:
    """A line for each one-thread fit that waited for a processor in its best run."""
    lines = []
    for problem, row in results.items():
        for kind, fit in row.items():
            wait = share(fit.get("seconds"), fit.get("cpu_seconds"))
            if wait is not None and wait > BUSY and not kind.endswith("_2"):
                lines.append(f"{problem}, {kind}: took {wait:.2f} times its processor time.")
    return lines


def _failures(results: Results) -> list[str]:
    return [
        f"{problem}, {kind}: {fit['error']}"
        for problem, row in results.items()
        for kind, fit in row.items()
        if "error" in fit
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print the tables, and write the page."""
    options = _options(arguments)
    if options.against:
        speed_against.compare(options.against, options.only, options.effort)
        return
    only = options.only or (("iris", "avila") if options.quick else NAMES)
    official = None
    if options.official:
        try:
            official = interpreter("ExKMC")
        except EnvironmentMissingError as error:
            print(f"The official package is not measured: {error}.")
    for problem in only if official else ():
        PROBLEMS[problem].export()
    wanted = tasks(only, 2 if options.quick else options.repeat, official)
    kept = runner.run(wanted, options.results, fresh=options.fresh)
    results: Results = {problem: {} for problem in only}
    for task in wanted:
        problem, _, kind = task.key.partition("/")
        results[problem][kind] = kept[task.key]
    found = summary(results, machine())
    print("\n\n".join(table.text() for table in found.tables.values()))
    print(*publish("speed", found, options.out), sep="\n")
    runner.fail_if_any(kept)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    about = (
        "Seconds and memory of a fit with 2 k leaves, the reference centers given, on one thread "
        "and on two. With --against: beside another build of treemeans, fit by fit in turns."
    )
    add = (reader := parser("speed", about, quick="Iris and Avila, two fits each")).add_argument
    add("--only", type=names(tuple(PROBLEMS)), default=(), metavar="A,B", help=", ".join(NAMES))
    add("--repeat", type=int, default=5, metavar="N", help="best of N fits (default 5)")
    add("--official", action="store_true", help="the official package too, which is built for it")
    add("--against", metavar="PYTHON", help="interpreter that has another build of treemeans")
    add("--effort", type=float, default=1.0, help="with --against: times the usual number of fits")
    return reader.parse_args(arguments)
