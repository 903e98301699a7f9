"""``treemeans compare``: trees of several methods that explain the same clusters."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from treemeans import ExKMC
from treemeans.baselines import CART, CUBT, IMM, CLTree, KDTree
from treemeans.cli.console import Console
from treemeans.cli.fit_command import TableInput, fit_reference
from treemeans.progress import Progress


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
    table = source.load()
    for note in table.notes:
        console.note(f"Note: {note}")
    reference = fit_reference(table.X, clusters, scale, seed)
    methods = methods_for(clusters, leaves or 2 * clusters, reference)
    rows = []
    with Progress("treemeans: methods", len(methods), console.shows_progress) as progress:
        for done, (name, make) in enumerate(methods.items(), 1):
            rows.append(_measure(name, make(), table.X))
            progress.update(done, name)
    console.print(as_text(rows, clusters))
    console.print_json([asdict(row) for row in rows])


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


def as_text(rows: list[MethodResult], clusters: int) -> str:
    """The table as text, the lowest cost marked."""
    best = min(row.ratio for row in rows)
    lines = [
        f"{clusters} clusters of k-means, explained by",
        "method           leaves   cost / k-means   agree with k-means   seconds",
    ]
    for row in rows:
        mark = "   <- lowest" if row.ratio == best else ""
        lines.append(
            f"{row.method:<14}   {row.leaves:6}   {row.ratio:14.4f}   {row.accuracy:18.1%}"
            f"   {row.seconds:7.2f}{mark}"
        )
    return "\n".join(lines)
