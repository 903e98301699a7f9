"""What is proven of small trees (PROOFS.md): costs of all methods beside the optimum or a bound."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_diabetes, make_blobs

from benchmarks import runner
from benchmarks.command_line import parser
from benchmarks.pages import Summary, machine, show
from benchmarks.problems import PROBLEMS, kmeans, kmeans_cost
from benchmarks.runner import Task
from benchmarks.tables import Table, number
from benchmarks.targets import Target, target_table

CELLS: tuple[tuple[str, int, int], ...] = (
    *(("iris", 3, leaves) for leaves in (3, 4, 6)),
    *(("wine", 3, leaves) for leaves in (3, 6)),
    *(("breast_cancer", 2, leaves) for leaves in (2, 4)),
    *(("synthetic_1", 3, leaves) for leaves in (3, 6)),
    *(("digits", 4, leaves) for leaves in (4, 8)),
    *(("mice_protein", 4, leaves) for leaves in (4, 8)),
    *(("anuran", 4, leaves) for leaves in (4, 8)),
    *(("avila", 4, leaves) for leaves in (4, 8)),
    ("covtype", 4, 4),
)
"""Problem, number of clusters, leaves: the paper's sets where their own k is small, else four."""
MANY_CENTERS = ("avila", "covtype")
"""Sets whose four leaves are also proven for the centers of the paper's k."""
BARS = ("depth 2 noise", "depth 2 groups", "depth 3 noise", "depth 3 groups")
PUBLIC = ("iris", "wine", "diabetes", "breast_cancer", "digits", "anuran", "avila")
PUBLIC_SIZES = ((3, 4), (4, 6), (5, 8))
"""Standardised tables, and the numbers of clusters and leaves of each."""
DEPTH_CELLS = (("iris", 4), ("wine", 5), ("diabetes", 4), ("breast_cancer", 4), ("digits", 5))
"""Standardised tables and numbers of clusters of trees of depth 3."""
N_MADE, MOST_SECONDS = 29, 60.0
"""Made tables of the size of a typical segmentation, which are 50 with the public ones, and the
processor time for each."""
MADE_ROWS, MADE_COLUMNS = 10_000, 15


def measure_cell(problem: str, k: int, leaves: int) -> dict[str, Any]:
    """Cost of the trees of a set over that of its reference, and what is proven."""
    from treemeans import ExKMC

    X = PROBLEMS[problem].load()
    known = kmeans(X, k, n_init=PROBLEMS[problem].n_init)
    found: dict[str, Any] = {"rows": X.shape[0], "columns": X.shape[1]}
    how = {"reference": known.cluster_centers_, "max_leaf_nodes": leaves, "random_state": 0}
    for name, options in (
        ("imm", {}),
        ("exkmc", {"base_tree": "none"}),
        ("search", {"refine": "search"}),
        ("optimal", {"refine": "optimal"}),
    ):
        begin = time.process_time()
        model = ExKMC(k, n_jobs=1, **how, **options).fit(X)
        found[f"{name} seconds"] = time.process_time() - begin
        found[name] = kmeans_cost(X, model.predict(X)) / known.inertia_ - 1.0
    proof = model.certificate_
    return found | {
        "kind": proof.kind,
        "status": proof.status,
        "gap": proof.gap,
        "bound": proof.lower_bound / known.inertia_ - 1.0,
    }


def measure_solver(X: Any, centers: NDArray[Any], leaves: int, depth: int) -> dict[str, Any]:
    """Processor seconds of the exact solver for given centers, from table to tree."""
    from treemeans.optimal.exact_solver import RankedColumns, regret_solver

    begin = time.process_time()
    cost = ((X**2).sum(axis=1)[:, None] - 2.0 * X @ centers.T) + (centers**2).sum(axis=1)
    regrets = cost - cost.min(axis=1, keepdims=True)
    regrets = np.rint(regrets * (2.0**40 / max(regrets.sum(axis=0).max(), 1.0))).astype(np.int64)
    columns = RankedColumns.of(X, tuple(range(X.shape[1])), np.arange(len(X), dtype=np.int32))
    solver = regret_solver(columns, regrets)
    solver.stop_at(np.inf)
    known = _greedy_cost(X, regrets, leaves, depth)
    best, exact, _ = solver.solve(leaves, depth, known + 1, lambda work: True)
    seconds = time.process_time() - begin
    return {"seconds": seconds, "exact": bool(exact), "greedy over best": known / max(best, 1)}


def _greedy_cost(X: Any, regrets: NDArray[np.int64], leaves: int, depth: int) -> int:
    """Cost of CART on the nearest centers: a first upper bound."""
    from sklearn.tree import DecisionTreeClassifier

    cart = DecisionTreeClassifier(max_leaf_nodes=leaves, max_depth=depth, random_state=0)
    leaf = cart.fit(X, regrets.argmin(axis=1)).apply(X)
    return sum(int(regrets[leaf == each].sum(axis=0).min()) for each in np.unique(leaf))


def measure_bar(name: str) -> dict[str, Any]:
    """One of the named sizes: continuous columns, all thresholds, one thread."""
    if name in MANY_CENTERS:
        X = np.asarray(PROBLEMS[name].load())
        centers = kmeans(X, PROBLEMS[name].k, n_init=1).cluster_centers_
        return measure_solver(X, centers, 4, 64)
    depth, kind = int(name.split()[1]), name.split()[2]
    n, d, k = {2: (10_000, 30, 20), 3: (2_000, 10, 3)}[depth]
    X: NDArray[np.float64] = np.random.default_rng(0).normal(size=(n, d))
    if kind == "groups":
        X = make_blobs(n, d, centers=k, cluster_std=4.0, random_state=0)[0]
    centers = kmeans(X, k, n_init=1).cluster_centers_
    runs = [measure_solver(X, centers, 2**depth, depth) for _ in range(3)]
    return min(runs, key=lambda run: run["seconds"])


def made_table(seed: int) -> tuple[NDArray[np.float64], int, int]:
    """Rows, clusters and leaves: groups that overlap, of unequal size, with columns of noise."""
    rng = np.random.default_rng(seed)
    k, leaves = int(rng.integers(2, 6)), int(rng.integers(4, 9))
    leaves = max(leaves, k)
    n_groups, n_noise = k + int(rng.integers(0, 3)), int(rng.integers(0, 8))
    means = rng.normal(size=(n_groups, MADE_COLUMNS)) * rng.uniform(1.0, 3.0)
    means[:, :n_noise] = 0.0
    group = rng.choice(n_groups, size=MADE_ROWS, p=rng.dirichlet(np.full(n_groups, 3.0)))
    X = means[group] + rng.normal(size=(MADE_ROWS, MADE_COLUMNS))
    if seed % 2:  # counts and amounts: few values, long tails
        X[:, ::2] = np.round(np.exp(X[:, ::2] / 2.0), 1)
    return (X - X.mean(axis=0)) / X.std(axis=0), k, leaves


def public_table(name: str) -> NDArray[np.float64]:
    """A public table, standardised; constant columns are left out."""
    X = load_diabetes().data if name == "diabetes" else np.asarray(PROBLEMS[name].load())
    X = X[:, X.std(axis=0) > 0.0]
    standardised: NDArray[np.float64] = (X - X.mean(axis=0)) / X.std(axis=0)
    return standardised


def measure_made(seed: int) -> dict[str, Any]:
    """Whether a made table is proven within the time."""
    return measure_table(*made_table(seed))


def measure_public(name: str, k: int, leaves: int) -> dict[str, Any]:
    """The same of a public table."""
    return measure_table(public_table(name), k, leaves)


def measure_table(X: NDArray[np.float64], k: int, leaves: int) -> dict[str, Any]:
    """What is proven within a minute, and the processor seconds of that, search included."""
    from treemeans import ExKMC

    centers = kmeans(X, k).cluster_centers_
    begin = time.process_time()
    model = ExKMC(
        k,
        max_leaf_nodes=leaves,
        reference=centers,
        refine="optimal",
        max_time=MOST_SECONDS,
        random_state=0,
        n_jobs=1,
    ).fit(X)
    proof, seconds = model.certificate_, time.process_time() - begin
    return {
        "rows": len(X),
        "columns": X.shape[1],
        "k": k,
        "leaves": leaves,
        "status": proof.status,
        "gap": proof.gap,
        "seconds": seconds,
    }


def measure_depth(name: str, k: int) -> dict[str, Any]:
    """Excess of trees of depth 3 with up to 8 leaves, and whether the last is proven."""
    from treemeans import ExKMC

    X = public_table(name)
    known = kmeans(X, k)
    found: dict[str, Any] = {"rows": len(X)}
    how = {"reference": known.cluster_centers_, "max_leaf_nodes": 8, "max_depth": 3}
    for refine in ("local", "search", "optimal"):
        begin = time.process_time()
        model = ExKMC(k, refine=refine, random_state=0, n_jobs=1, **how).fit(X)
        found[f"{refine} seconds"] = time.process_time() - begin
        found[refine] = kmeans_cost(X, model.predict(X)) / known.inertia_ - 1.0
    return found | {"status": model.certificate_.status, "gap": model.certificate_.gap}


def tasks(n_made: int, *, quick: bool) -> list[Task]:
    """All that is measured."""
    small = ("iris", "wine", "breast_cancer")
    cells = [cell for cell in CELLS if not quick or cell[0] in small]
    bars = ["depth 3 groups"] if quick else [*BARS, *MANY_CENTERS]
    found = [
        Task(
            f"{problem}-{k}-{leaves}",
            "benchmarks.proofs:measure_cell",
            {"problem": problem, "k": k, "leaves": leaves},
        )
        for problem, k, leaves in cells
    ]
    found += [Task(f"bar-{bar}", "benchmarks.proofs:measure_bar", {"name": bar}) for bar in bars]
    found += [
        Task(f"made-{seed}", "benchmarks.proofs:measure_made", {"seed": seed})
        for seed in range(n_made)
    ]
    found += [
        Task(f"depth-{name}-{k}", "benchmarks.proofs:measure_depth", {"name": name, "k": k})
        for name, k in DEPTH_CELLS[: 1 if quick else None]
    ]
    sizes = () if quick else PUBLIC_SIZES
    found += [
        Task(
            f"public-{name}-{k}-{leaves}",
            "benchmarks.proofs:measure_public",
            {"name": name, "k": k, "leaves": leaves},
        )
        for k, leaves in sizes
        for name in PUBLIC
    ]
    return found


def summary(kept: dict[str, dict[str, Any]]) -> Summary:
    """The tables of the page."""
    return Summary(
        {"proofs": _proofs(kept), "targets": target_table(_targets(kept)), "made": _made(kept)}
        | {"depths": _depths(kept)},
        {"machine": machine(), "made tables": _made_text(kept)},
    )


def _proofs(kept: dict[str, dict[str, Any]]) -> Table:
    rows = []
    for problem, k, leaves in CELLS:
        cell = kept.get(f"{problem}-{k}-{leaves}", {})
        if "status" not in cell:
            continue
        costs = [_excess(cell[name]) for name in ("imm", "exkmc", "search", "optimal", "bound")]
        proven = "optimal" if cell["status"] == "optimal" else f"gap {100 * cell['gap']:.2g} %"
        what = "k-means cost" if cell["kind"] == "kmeans_cost" else "these centers"
        times = [number(cell["search seconds"]), number(cell["optimal seconds"])]
        rows.append([problem, str(cell["rows"]), str(k), str(leaves), *costs, proven, what, *times])
    head = ("data", "rows", "k", "leaves", "IMM", "ExKMC", "search", "optimal", "bound")
    return Table((*head, "proven", "about", "search s", "optimal s"), rows)


def _targets(kept: dict[str, dict[str, Any]]) -> list[Target]:
    def seconds(key: str) -> float | None:
        found = kept.get(f"bar-{key}", {})
        return found.get("seconds") if found.get("exact") else None

    def proven(cells: Sequence[tuple[str, int, int]]) -> float | None:
        found = [kept.get(f"{name}-{k}-{leaves}", {}).get("status") for name, k, leaves in cells]
        return None if None in found else float(sum(status == "optimal" for status in found))

    named = [("iris", 3, 3), ("iris", 3, 6), ("wine", 3, 3), ("breast_cancer", 2, 2)]
    named += [("synthetic_1", 3, 3), ("avila", 4, 4), ("covtype", 4, 4)]
    sizes = {"2": ("10,000 x 30, k = 20", 2.0), "3": ("2,000 x 10, k = 3", 5.0)}
    bars = []
    for bar in BARS:
        _, depth, kind = bar.split()
        size, limit = sizes[depth]
        what = f"seconds to prove depth {depth}"
        bars.append(Target(f"{size}, {kind}", what, limit, False, seconds(bar)))
    return [
        *bars,
        Target("avila, k = 12", "seconds to prove 4 leaves", 60.0, False, seconds("avila")),
        Target("covtype, k = 7", "seconds to prove 4 leaves", 60.0, False, seconds("covtype")),
        Target("the seven named sizes", "proven optimal", 7.0, True, proven(named)),
    ]


def _made_cells(kept: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    kinds = ("made-", "public-")
    return [cell for key, cell in kept.items() if key.startswith(kinds) and "status" in cell]


def _is_proven(cell: dict[str, Any]) -> bool:
    return bool(cell["status"] == "optimal" and cell["seconds"] <= MOST_SECONDS)


def _made(kept: dict[str, dict[str, Any]]) -> Table:
    cells, rows = _made_cells(kept), []
    for leaves in range(4, 9):
        here = [cell for cell in cells if cell["leaves"] == leaves]
        open_gaps = [100.0 * cell["gap"] for cell in here if not _is_proven(cell)]
        times = [cell["seconds"] for cell in here if _is_proven(cell)]
        counts = [str(leaves), str(len(here)), str(len(times))]
        median = number(float(np.median(times))) if times else "-"
        gap = f"{max(open_gaps):.2g} %" if open_gaps else "-"
        rows.append([*counts, median, gap])
    head = ("leaves", "tables", "proven", "median s of these", "largest gap of the others")
    return Table(head, rows)


def _made_text(kept: dict[str, dict[str, Any]]) -> str:
    counts = []
    for kind in ("made-", "public-"):
        cells = _made_cells({key: cell for key, cell in kept.items() if key.startswith(kind)})
        counts.append((sum(map(_is_proven, cells)), len(cells)))
    (made, n_made), (public, n_public) = counts
    return (
        f"Proven within a minute: {made + public} of the {n_made + n_public} tables that were "
        f"measured, {made} of {n_made} made ones and {public} of {n_public} public ones."
    )


def _depths(kept: dict[str, dict[str, Any]]) -> Table:
    rows = []
    for name, k in DEPTH_CELLS:
        cell = kept.get(f"depth-{name}-{k}", {})
        if "status" not in cell:
            continue
        proven = "optimal" if cell["status"] == "optimal" else f"gap {100 * cell['gap']:.2g} %"
        costs = [_excess(cell[how]) for how in ("local", "search", "optimal")]
        times = [number(cell[f"{how} seconds"]) for how in ("search", "optimal")]
        rows.append([name, str(cell["rows"]), str(k), *costs, proven, *times])
    head = ("data", "rows", "k", "local", "search", "optimal", "proven", "search s", "optimal s")
    return Table(head, rows)


def _excess(value: float) -> str:
    return f"{round(value, 4) + 0.0:.4f}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print the tables, and write the page."""
    options = _options(arguments)
    n_made = 2 if options.quick else options.made
    kept = runner.run(tasks(n_made, quick=options.quick), options.results, fresh=options.fresh)
    show("proofs", summary(kept), options.out)
    runner.fail_if_any(kept)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    about = "What refine='optimal' proves of small trees, and what that takes."
    reader = parser("proofs", about, quick="three sets, one size, two made tables")
    reader.add_argument("--made", type=int, default=N_MADE, metavar="N", help="made tables")
    return reader.parse_args(arguments)
