"""``treemeans compare``: trees of several methods that explain the same clusters."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from treemeans import ExKMC
from treemeans.baselines import CART, CUBT, IMM, CLTree, KDTree
from treemeans.cli.console import Console
from treemeans.cli.fit_command import CALLED, fit_reference
from treemeans.cli.load_table import TableInput
from treemeans.cli.peer_trees import PEERS, GivenClusters, Peer


@dataclass(frozen=True)
class MethodResult:
    """The tree of one method: its size, cost, agreement with the reference, and time to fit."""

    method: str
    leaves: int
    ratio: float
    accuracy: float
    seconds: float


def run(
    source: TableInput,
    clusters: int,
    leaves: int | None,
    scale: str,
    cost: str,
    seed: int,
    console: Console,
) -> None:
    """Fit every method to the same reference, and print the table."""
    table = source.load(console, scale, clusters, as_numbers=True)
    called = CALLED[cost]
    with console.working(called):
        reference = fit_reference(table.X, clusters, scale, seed, cost)
    leaves = leaves or 2 * clusters
    methods = methods_for(clusters, leaves, reference)
    peers = [peer for peer in PEERS if not peer.why_not(len(table.X))]
    reasons = [peer.why_not(len(table.X)) for peer in PEERS if peer not in peers]
    space = table.X if len(reference) == 1 else reference[:-1].transform(table.X)
    centers = np.asarray(reference[-1].cluster_centers_, dtype=np.float64)
    given = GivenClusters(np.ascontiguousarray(space, dtype=np.float64), centers, cost)
    rows = []
    with console.working("compare", len(methods) + len(peers)) as progress:
        for done, (name, make) in enumerate(methods.items()):
            progress.update(done, name)
            rows.append(_measure(name, make(), table.X))
        for done, peer in enumerate(peers, len(methods)):
            progress.update(done, peer.title)
            try:
                rows.append(_measure_peer(peer, given, leaves, seed))
            except ImportError as error:
                reasons.append(f"{peer.title} is left out: it does not import ({error}).")
    console.print(f"{clusters} clusters of {called}, explained by trees")
    _print_results(rows, called, console)
    console.print_json(lambda: [asdict(row) for row in rows])
    for reason in reasons:
        console.note(reason)


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


def _measure_peer(peer: Peer, given: GivenClusters, leaves: int, seed: int) -> MethodResult:
    start = time.perf_counter()
    labels, n_leaves = peer.labels(given, leaves, seed)
    seconds = time.perf_counter() - start
    return MethodResult(peer.title, n_leaves, *given.figures(labels), seconds)


def _print_results(rows: list[MethodResult], called: str, console: Console) -> None:
    """Print the table, the lowest cost marked."""
    best = min(row.ratio for row in rows)
    head = ["method", "leaves", f"cost / {called}", f"agree with {called}", "seconds", ""]
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
