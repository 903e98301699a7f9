"""The search beside every other method, on public and made tables (RIVALS.md)."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets

from benchmarks import rounds_against, runner
from benchmarks.command_line import names, parser
from benchmarks.pages import Summary, machine, show
from benchmarks.problems import PROBLEMS, kmeans, kmeans_cost
from benchmarks.runner import Task
from benchmarks.tables import Table, number
from benchmarks.targets import Target, target_table

Floats = NDArray[np.float64]
SIZES = (1, 2, 4)  # numbers of leaves, in k
SAME = 1e-9  # excesses that differ by less are the same but for the order of a sum
FLOOR = 0.002  # a ratio to a smaller excess says nothing


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
    "blobs 8000 x 10": (15, _blobs(8_000, 10, 15, 3.0)),
    "blobs 5000 x 6": (26, _blobs(5_000, 6, 26, 2.0)),
    "whole numbers": (26, _whole_numbers),
    "counts": (20, _counts),
    "amounts": (10, _amounts),
    "classes": (12, _classes),
}
"""Number of clusters, and the rows."""
SCALES = ("raw", "standardised")
DEFAULT = "IMM, expanded"
RIVALS = ("IMM", DEFAULT, "ExGreedy", "ExShallow", "Kauri", "CART", "ExKMC")
TUNED = (
    *("wine", "breast_cancer", "digits", "mice_protein", "anuran", "avila"),
    *("blobs 5000 x 6", "counts", "amounts"),
)
"""Tables by whose costs something in the search was chosen, if only with other references."""


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
    """Clusters of a rival's tree. IMM, ExGreedy and ExShallow have a leaf for every center; the
    default method, IMM as base tree and expanded, has all leaves, as Kauri, CART and ExKMC do."""
    from sklearn.tree import DecisionTreeClassifier

    from treemeans import ExKMC

    if name == "CART":
        tree = DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=0)
        labels: NDArray[Any] = tree.fit(X, known.labels_).predict(X)
        return labels
    if name == "ExShallow":
        return _exshallow_labels(X, known.cluster_centers_)
    bases = {"IMM": "imm", DEFAULT: "imm", "ExGreedy": "exgreedy", "Kauri": "kauri"}
    base = bases.get(name, "none")
    size = len(known.cluster_centers_) if name in ("IMM", "ExGreedy") else leaves
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


@dataclass(frozen=True)
class Cell:
    """What the methods cost beyond the reference on a table of some scale, at some size (in k)."""

    table: str
    scale: str
    size: int
    costs: dict[str, float]

    @property
    def searches(self) -> tuple[float, float]:
        """The search, for two seeds."""
        return self.costs["search 0"], self.costs["search 1"]

    @property
    def ratio(self) -> float | None:
        """Search (mean of both seeds) / default; None where the default has next to no excess."""
        default = self.costs[DEFAULT]
        return sum(self.searches) / 2 / default if default >= FLOOR else None

    @property
    def apart(self) -> float | None:
        """Difference of two seeds / the larger one; None where that is next to nothing."""
        low, high = sorted(self.searches)
        return (high - low) / high if high >= FLOOR else None


def summary(kept: dict[str, dict[str, Any]]) -> Summary:
    """The tables of the page."""
    cells = [
        Cell(*key.rsplit("-", 1), int(size), costs)
        for key, found in kept.items()
        if "error" not in found
        for size, costs in found.items()
    ]
    tables = {
        "excess": _excesses(cells),
        "means": _means(cells),
        "targets": target_table(_targets(cells)),
    }
    return Summary(tables, {"machine": machine()})


def _excesses(cells: Sequence[Cell]) -> Table:
    rows = []
    for cell in cells:
        leaves = str(cell.size * TABLES[cell.table][0])
        names = (*RIVALS, "search 0", "search 1")
        costs = [f"{round(cell.costs[name], 3) + 0.0:.3f}" for name in names]
        last = (number(cell.ratio), number(cell.costs["seconds"]))
        rows.append([cell.table, cell.scale, leaves, *costs, *last])
    return Table(
        ("data", "scale", "leaves", *RIVALS, "search", "seed 1", "search / default", "s"), rows
    )


def _means(cells: Sequence[Cell]) -> Table:
    """Means over the cells of a group of tables, at one size or at all of them."""
    groups = {
        "all": cells,
        "tuned on": [cell for cell in cells if cell.table in TUNED],
        "not tuned on": [cell for cell in cells if cell.table not in TUNED],
    }
    rows = []
    for group, own in groups.items():
        for title, sizes in (("all", SIZES), *((f"{size} k", (size,)) for size in SIZES)):
            here = [cell for cell in own if cell.size in sizes]
            ratios = _known(cell.ratio for cell in here)
            apart = _known(cell.apart for cell in here)
            means = (_mean(ratios), _mean(apart))
            counts = (str(len(here)), str(len(ratios)), str(len(apart)))
            row = (*counts[:2], number(means[0]), number(max(ratios, default=None)))
            rows.append([group, title, *row, counts[2], number(means[1])])
    head = ("tables", "leaves", "cells", "with a ratio", "search / default", "largest")
    return Table((*head, "cells of two seeds", "seeds apart"), rows)


def _targets(cells: Sequence[Cell]) -> list[Target]:
    pairs = [(cell.costs, cost) for cell in cells for cost in cell.searches]
    above = float(sum(any(cost > costs[m] + SAME for m in RIVALS) for costs, cost in pairs))
    held_out = [cell for cell in cells if cell.table not in TUNED]

    def ratio(some: Sequence[Cell]) -> float | None:
        return _mean(_known(cell.ratio for cell in some))

    at_k = ratio([cell for cell in cells if cell.size == 1])
    apart = _mean(_known(cell.apart for cell in cells))
    what = "mean of search / default"
    return [
        Target(f"{len(pairs)} searches", "above any method", 0.0, False, above if cells else None),
        Target("all cells", what, 0.45, False, ratio(cells)),
        Target("all cells of tables not tuned on", what, 0.45, False, ratio(held_out)),
        Target("k leaves", what, 0.45, False, at_k),
        Target("all cells", "mean difference of two seeds, of the excess", 0.02, False, apart),
    ]


def _known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print the tables, and write the page."""
    options = _options(arguments)
    if options.against:
        rounds_against.compare(options.against, options.only)
        return
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
    reader.add_argument(
        "--against",
        metavar="PYTHON",
        help="instead: rounds per second beside the build of this interpreter",
    )
    return reader.parse_args(arguments)
