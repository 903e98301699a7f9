"""``python -m benchmarks mixed``: a tree on a table with categories and missing values.

The same table twice: with categories, and with their codes as whole numbers. A process of its own
fits each, in turns; seconds are of the processor, the least of the runs. Memory is the peak of the
process less what it held before the tree, beside the bytes of the table as float64.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import reset_peak, resident

SIZES = (2, 5, 20, 50, 200, 1000)  # numbers of categories
N_NUMBERS, MISSING = 10, 0.1


def table(n: int, k: int, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Numbers, then codes of categories, of k groups of rows; and the group of each row."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, k, n)
    X = np.empty((n, N_NUMBERS + len(SIZES)), order="F")
    for i in range(N_NUMBERS):
        X[:, i] = rng.normal(size=n) + 1.5 * rng.normal(size=k)[group]
    for i, size in enumerate(SIZES):
        drawn = rng.geometric(1 / (size / 4 + 1), n) + rng.integers(0, size, k)[group]
        X[:, N_NUMBERS + i] = drawn % size
    for i in range(X.shape[1]):
        X[rng.random(n) < MISSING, i] = np.nan
    return X, group.astype(np.int32)


def measure(n: int, k: int, base: str, *, categories: bool) -> dict[str, float]:
    """Seconds and memory of the tree on one table, in this process."""
    _measure_once(1000, k, base, categories=categories)  # loads code, which is no memory of a tree
    return _measure_once(n, k, base, categories=categories)


def _measure_once(n: int, k: int, base: str, *, categories: bool) -> dict[str, float]:
    from treemeans.columns import Column
    from treemeans.costs import KMeansCost
    from treemeans.growth import grow
    from treemeans.limits import Limits
    from treemeans.preparation import TablePreparation
    from treemeans.progress import Progress
    from treemeans.rows import Table, as_points
    from treemeans.training_data import TrainingData

    X, group = table(n, k)
    columns = tuple(Column(f"n{i}") for i in range(N_NUMBERS)) + tuple(
        Column(f"c{i}", "codes", categories=tuple(map(str, range(size))))
        for i, size in enumerate(SIZES)
    )
    space = TablePreparation.of(columns, X).transform(X)
    centers = np.stack([space[group == g].mean(axis=0) for g in range(k)])
    held = reset_peak() or 0
    seconds, wall = time.process_time(), time.perf_counter()
    categorical = np.array([column.kind == "codes" for column in columns]) & categories
    found = Table.of(X, 1, None, categorical)
    assert found is not None
    cost = KMeansCost(space, as_points(space), None, 1)
    priced = time.process_time()
    costs = cost.price_packed(centers)  # as ExKMC does
    priced = time.process_time() - priced
    blank = np.full((k, X.shape[1]), np.nan)
    data = TrainingData.of(X, found, cost, Limits(), centers, blank, costs=costs)
    tree = grow(data, base, 2 * k, Progress("", 1, False))
    return {
        "seconds": time.process_time() - seconds - priced,
        "wall": time.perf_counter() - wall,
        "memory": (resident("VmHWM") - held) / X.nbytes,
        "leaves": tree.n_leaves,
    }


def main(arguments: list[str]) -> None:
    """Measure both tables in turns, and print how they compare."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks mixed", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="100,000 rows instead of 1,000,000")
    parser.add_argument("--clusters", type=int, default=5)
    parser.add_argument("--base", default="imm", help="base tree")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--one", choices=["categories", "codes"], help=argparse.SUPPRESS)
    read = parser.parse_args(arguments)
    n = 100_000 if read.quick else 1_000_000
    if read.one:
        found = measure(n, read.clusters, read.base, categories=read.one == "categories")
        print(json.dumps(found))
        return
    results: dict[str, list[dict[str, float]]] = {"categories": [], "codes": []}
    for _ in range(read.runs):
        for name, runs in results.items():
            done = subprocess.run(
                [sys.executable, "-m", "benchmarks", "mixed", "--one", name, *arguments],
                capture_output=True,
                text=True,
                check=True,
                cwd=Path(__file__).parents[1],
            )
            runs.append(json.loads(done.stdout))
    least = {name: min(run["seconds"] for run in runs) for name, runs in results.items()}
    print(f"{n:,} rows, {N_NUMBERS} numbers, {len(SIZES)} columns of {SIZES} categories")
    for name, runs in results.items():
        memory = max(run["memory"] for run in runs)
        print(f"{name:11}{least[name]:7.2f} s   {memory:.2f} of the table's bytes")
    print(f"ratio      {least['categories'] / least['codes']:7.2f}   (at most 2)")
