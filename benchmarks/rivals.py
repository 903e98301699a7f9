"""The search beside every other method, on public and made tables (RIVALS.md)."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets

from benchmarks import runner
from benchmarks.command_line import names, parser
from benchmarks.pages import Summary, machine, show
from benchmarks.problems import PROBLEMS, kmeans, kmeans_cost
from benchmarks.runner import Task
from benchmarks.tables import Table, number
from benchmarks.targets import Target, target_table

Floats = NDArray[np.float64]
SIZES = (1, 2, 4)  # numbers of leaves, in k
SAME = 1e-9  # excesses that differ by less are the same but for the order of a sum


def _blobs(n: int, d: int, k: int, spread: float) -> Callable[[], Floats]:
    def make() -> Floats:
        X: Floats = datasets.make_blobs(n, d, centers=k, cluster_std=spread, random_state=0)[0]
        return X

    return make


def _whole_numbers() -> Floats:
    """Sixteen columns of the numbers 0 to 15, with many repeats: as in tables of letters."""
    rng = np.random.default_rng(0)
    means, spreads = rng.uniform(3, 12, (26, 16)), rng.uniform(1, 2.5, (26, 16))
    group = rng.integers(26, size=10_000)
    X = means[group] + spreads[group] * rng.normal(size=(len(group), 16))
    return np.asarray(np.clip(np.rint(X), 0, 15), dtype=np.float64)


def _counts() -> Floats:
    return np.random.default_rng(0).poisson(1.2, (5_000, 8)).astype(np.float64)


def _amounts() -> Floats:
    """Columns with long tails and no groups."""
    return np.asarray(np.random.default_rng(0).exponential(size=(4_000, 6)) ** 1.5)


def _classes() -> Floats:
    made = datasets.make_classification(
        4_000, 20, n_informative=10, n_classes=6, n_clusters_per_class=2, random_state=0
    )
    X: Floats = made[0]
    return X


TABLES: dict[str, tuple[int, Callable[[], Floats]]] = {
    "iris": (8, lambda: datasets.load_iris().data),
    "wine": (6, lambda: datasets.load_wine().data),
    "breast_cancer": (10, lambda: datasets.load_breast_cancer().data),
    "diabetes": (8, lambda: datasets.load_diabetes().data),
    "digits": (10, lambda: datasets.load_digits().data),
    "mice_protein": (8, lambda: PROBLEMS["mice_protein"].load()),
    "anuran": (10, lambda: PROBLEMS["anuran"].load()),
    "avila": (12, lambda: PROBLEMS["avila"].load()),
    "blobs 8,000 x 10": (15, _blobs(8_000, 10, 15, 3.0)),
    "blobs 5,000 x 6": (26, _blobs(5_000, 6, 26, 2.0)),
    "whole numbers": (26, _whole_numbers),
    "counts": (20, _counts),
    "amounts": (10, _amounts),
    "classes": (12, _classes),
}
"""Number of clusters, and the rows."""
SCALES = ("raw", "standardised")
RIVALS = ("IMM", "ExGreedy", "ExShallow", "Kauri", "CART", "ExKMC")


def measure_table(table: str, scale: str) -> dict[str, Any]:
    """Excess of every method at every size, and the seconds of two searches."""
    k, load = TABLES[table]
    X = np.ascontiguousarray(load(), dtype=np.float64)
    if scale == "standardised":
        spread = X.std(axis=0)
        X = (X - X.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    known = kmeans(X, k)
    found: dict[str, Any] = {}
    for size in SIZES:
        cell: dict[str, Any] = {}
        for name in RIVALS:
            labels = _labels(name, X, known, size * k)
            cell[name] = kmeans_cost(X, labels) / known.inertia_ - 1.0
        begin = time.process_time()
        for seed in (0, 1):
            labels = _search(X, known.cluster_centers_, size * k, seed)
            cell[f"search {seed}"] = kmeans_cost(X, labels) / known.inertia_ - 1.0
        cell["seconds"] = (time.process_time() - begin) / 2
        found[str(size)] = cell
    return found


def _search(X: Floats, centers: Floats, leaves: int, seed: int) -> NDArray[Any]:
    from treemeans import ExKMC

    how: dict[str, Any] = {"max_leaf_nodes": leaves, "reference": centers, "n_jobs": 1}
    model = ExKMC(None, refine="search", random_state=seed, **how).fit(X)
    labels: NDArray[Any] = model.predict(X)
    return labels


def _labels(name: str, X: Floats, known: Any, leaves: int) -> NDArray[Any]:
    """Clusters of a rival's tree. IMM, ExGreedy and ExShallow have a leaf for every center."""
    from sklearn.tree import DecisionTreeClassifier

    from treemeans import ExKMC

    if name == "CART":
        tree = DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=0)
        labels: NDArray[Any] = tree.fit(X, known.labels_).predict(X)
        return labels
    if name == "ExShallow":
        return _exshallow_labels(X, known.cluster_centers_)
    base = {"IMM": "imm", "ExGreedy": "exgreedy", "Kauri": "kauri", "ExKMC": "none"}[name]
    k = len(known.cluster_centers_)
    size = leaves if name in ("Kauri", "ExKMC") else k
    how: dict[str, Any] = {"reference": known.cluster_centers_, "random_state": 0, "n_jobs": 1}
    model = ExKMC(None, max_leaf_nodes=size, base_tree=base, **how).fit(X)
    return np.asarray(model.predict(X))


def _exshallow_labels(X: Floats, centers: Floats) -> NDArray[Any]:
    from treemeans.costs import KMeansCost
    from treemeans.growth.exshallow import exshallow
    from treemeans.growth.in_memory_tree import InMemoryTree
    from treemeans.limits import Limits
    from treemeans.progress import Progress
    from treemeans.rows import Table as Rows
    from treemeans.training_data import TrainingData

    rows = Rows.of(X, 1)
    data = TrainingData.of(X, rows, KMeansCost(X, rows.points, None, 1), Limits(), centers)
    growing = InMemoryTree(data)
    exshallow(growing, X, centers, Progress("", 1, False))
    labels: NDArray[Any] = growing.freeze().predict(X)
    return labels


def tasks(tables: Sequence[str]) -> list[Task]:
    """One for each table and scale."""
    function = "benchmarks.rivals:measure_table"
    return [
        Task(f"{table}-{scale}", function, {"table": table, "scale": scale})
        for table in tables
        for scale in SCALES
    ]


def summary(kept: dict[str, dict[str, Any]]) -> Summary:
    """The tables of the page."""
    cells = [
        (key, int(size), cell)
        for key, found in kept.items()
        if "error" not in found
        for size, cell in found.items()
    ]
    rows = []
    for key, size, cell in cells:
        table, scale = key.rsplit("-", 1)
        leaves = str(size * TABLES[table][0])
        costs = [f"{round(cell[name], 3) + 0.0:.3f}" for name in (*RIVALS, "search 0", "search 1")]
        # At more leaves than k IMM's tree is smaller: the ratio would flatter the search.
        fair = size == 1 and cell["IMM"] > SAME
        ratio = number(cell["search 0"] / cell["IMM"]) if fair else "-"
        rows.append([table, scale, leaves, *costs, ratio, number(cell["seconds"])])
    head = ("data", "scale", "leaves", *RIVALS, "search", "seed 1", "search / IMM", "s")
    return Summary(
        {"excess": Table(head, rows), "targets": target_table(_targets(cells))},
        {"machine": machine()},
    )


def _targets(found: Sequence[tuple[str, int, dict[str, Any]]]) -> list[Target]:
    above = ratio = apart = None
    cells = [cell for *_, cell in found]
    if cells:
        runs = [(cell, cell[f"search {seed}"]) for cell in cells for seed in (0, 1)]
        above = float(sum(any(cost > cell[name] + SAME for name in RIVALS) for cell, cost in runs))
        at_k = [cell for _, size, cell in found if size == 1 and cell["IMM"] > SAME]
        ratio = float(np.mean([cell["search 0"] / cell["IMM"] for cell in at_k])) if at_k else None
        pairs = [(cell["search 0"], cell["search 1"]) for cell in cells]
        apart = float(np.mean([abs(a - b) / max(a, b) for a, b in pairs if max(a, b) > SAME]))
    return [
        Target(f"{2 * len(cells)} searches", "above any other method", 0.0, False, above),
        Target("k leaves", "mean of search / IMM", 0.45, False, ratio),
        Target("all", "mean difference of two seeds, of the excess", 0.02, False, apart),
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print the tables, and write the page."""
    options = _options(arguments)
    tables = options.only or (("iris", "wine") if options.quick else tuple(TABLES))
    kept = runner.run(tasks(tables), options.results, fresh=options.fresh)
    show("rivals", summary(kept), options.out)
    runner.fail_if_any(kept)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    about = "The search beside every other method: k, 2 k and 4 k leaves, two seeds."
    reader = parser("rivals", about, quick="two tables")
    reader.add_argument(
        "--only", type=names(tuple(TABLES)), default=(), metavar="A,B", help=", ".join(TABLES)
    )
    return reader.parse_args(arguments)
