"""``treemeans compare``: trees of several methods that explain the same clusters."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from treemeans import ExKMC
from treemeans.baselines import CART, CUBT, IMM, CLTree, KDTree
from treemeans.cli.console import Console
from treemeans.cli.fit_command import fit_reference
from treemeans.cli.load_table import TableInput


@dataclass(frozen=True)
class MethodResult:
    """The tree of one method: its size, cost, agreement with k-means, and time to fit."""

    method: str
    leaves: int
    ratio: float
    accuracy: float
    seconds: float


def run(
    source: TableInput, clusters: int, leaves: int | None, scale: str, seed: int, console: Console
) -> None:
    """Fit every method to the same reference, and print the table."""
    table = source.load(console, scale, clusters, as_numbers=True)
    with console.working("k-means"):
        reference = fit_reference(table.X, clusters, scale, seed)
    methods = methods_for(clusters, leaves or 2 * clusters, reference)
    rows = []
    with console.working("compare", len(methods)) as progress:
        for done, (name, make) in enumerate(methods.items()):
            progress.update(done, name)
            rows.append(_measure(name, make(), table.X))
    console.print(f"{clusters} clusters of k-means, explained by trees")
    _print_results(rows, console)
    console.print_json(lambda: [asdict(row) for row in rows])


def methods_for(clusters: int, leaves: int, reference: Any) -> dict[str, Callable[[], Any]]:
    """The methods, ExKMC first. CLTree takes no number of leaves."""
    same: dict[str, Any] = {"n_clusters": clusters, "reference": reference}
    sized = same | {"max_leaf_nodes": leaves}
    return {
        "ExKMC": lambda: ExKMC(**sized),
        "ExKMC, refined": lambda: ExKMC(**sized, refine="search", random_state=0),
        "IMM": lambda: IMM(**same),
        "CART": lambda: CART(**sized),
        "KD-tree": lambda: KDTree(**sized),
        "CUBT": lambda: CUBT(**sized),
        "CLTree": lambda: CLTree(**same),
    }


def _measure(name: str, model: Any, X: Any) -> MethodResult:
    start = time.perf_counter()
    model.fit(X)
    seconds = time.perf_counter() - start
    last = model.path_[-1]
    return MethodResult(
        name, model.n_leaves_, float(last["ratio"]), float(last["accuracy"]), seconds
    )


def _print_results(rows: list[MethodResult], console: Console) -> None:
    """Print the table, the lowest cost marked."""
    best = min(row.ratio for row in rows)
    head = ["method", "leaves", "cost / k-means", "agree with k-means", "seconds", ""]
    cells = [
        [
            row.method,
            str(row.leaves),
            f"{row.ratio:.4f}",
            f"{row.accuracy:.1%}",
            f"{row.seconds:.2f}",
            "<- lowest" if row.ratio == best else "",
        ]
        for row in rows
    ]
    console.table(head, cells, [row.ratio for row in rows].index(best))
