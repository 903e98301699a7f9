"""``treemeans choose``: costs for several numbers of clusters and leaves."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemeans.cli import interrupt
from treemeans.cli.console import Console
from treemeans.cli.fit_command import MOST_LEAVES, FitSettings, TableInput, fit_model
from treemeans.cli.output_files import check_outputs
from treemeans.explain.suggest_leaves import knee, suggested_leaves
from treemeans.files.file_errors import InputError

_LEAVES_PER_CLUSTER = (1, 2, 4)  # sizes of trees shown: k, 2k and 4k leaves


@dataclass(frozen=True)
class ClusterCosts:
    """Costs for one number of clusters: of k-means, and of trees of every size."""

    clusters: int
    kmeans_cost: float
    path: NDArray[np.void]

    @property
    def leaves(self) -> int:
        """The suggested number of leaves, which `fit` uses."""
        within = self.path["n_leaves"] <= MOST_LEAVES * self.clusters
        return suggested_leaves(self.path[within] if within.any() else self.path)

    def ratio(self, leaves: int) -> float:
        """Cost of a tree relative to k-means; of the largest tree if none has so many leaves."""
        row = int(np.searchsorted(self.path["n_leaves"], leaves))
        return float(self.path["ratio"][min(row, len(self.path) - 1)])


def run(
    source: TableInput,
    clusters: Iterable[int],
    scale: str,
    seed: int,
    plot: str | None,
    force: bool,
    console: Console,
) -> None:
    """Fit models for all numbers of clusters, print their costs and plot them."""
    numbers = [k for k in clusters if k >= 1]
    if not numbers:
        raise InputError("There is no number of clusters between --from and --to.")
    check_outputs([plot], force=force)
    table = source.load(console, scale)
    choices = []
    silent = Console(quiet=True, as_json=False)
    with console.working("choose", len(numbers)) as progress:
        for done, k in enumerate(numbers):
            progress.update(done, f"k = {k}")
            model = fit_model(
                table, FitSettings(k, _LEAVES_PER_CLUSTER[-1] * k, scale, seed=seed), silent
            )
            choices.append(ClusterCosts(k, model.reference_inertia_, model.path_))
    best = suggested_clusters(choices)
    _print_costs(choices, best, console)
    console.print_json(lambda: _document(choices, best))
    if plot:
        _draw(choices, best, plot)
        interrupt.wrote(plot)
        console.note(f"The plot is in {plot}.")


def suggested_clusters(choices: list[ClusterCosts]) -> int:
    """The knee of the k-means cost."""
    whole = choices[0].kmeans_cost or 1.0
    shares = [choice.kmeans_cost / whole for choice in choices]
    return choices[knee([choice.clusters for choice in choices], shares)].clusters


def _print_costs(choices: list[ClusterCosts], best: int, console: Console) -> None:
    """Print a table of the costs, the suggested number of clusters marked."""
    whole = choices[0].kmeans_cost or 1.0
    rows = []
    for choice in choices:
        ratios = [choice.ratio(times * choice.clusters) for times in _LEAVES_PER_CLUSTER]
        rows.append(
            [
                str(choice.clusters),
                f"{choice.kmeans_cost / whole:.1%}",
                *(f"{ratio:.3f}" for ratio in ratios),
                str(choice.leaves),
                "<- suggested" if choice.clusters == best else "",
            ]
        )
    head = ["clusters", "k-means cost", "cost / k-means: k leaves", "2k", "4k", "leaves suggested"]
    marked = [choice.clusters for choice in choices].index(best)
    console.table([*head, ""], rows, marked)


def _document(choices: list[ClusterCosts], best: int) -> dict[str, Any]:
    return {
        "suggested_clusters": best,
        "choices": [
            {
                "clusters": choice.clusters,
                "kmeans_cost": choice.kmeans_cost,
                "suggested_leaves": choice.leaves,
                "leaves": choice.path["n_leaves"].tolist(),
                "ratios": choice.path["ratio"].tolist(),
            }
            for choice in choices
        ],
    }


def _draw(choices: list[ClusterCosts], best: int, out: str) -> None:
    from treemeans.cli.show_command import save_figure
    from treemeans.optional_imports import need

    need("matplotlib", "plot").use("agg")
    pyplot = need("matplotlib.pyplot", "plot")
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    left.plot([c.clusters for c in choices], [c.kmeans_cost for c in choices], "o-", color="0.35")
    left.axvline(best, color="tab:red", linestyle=":", label=f"suggested: {best}")
    left.set(xlabel="clusters", ylabel="cost of k-means")
    left.legend(frameon=False)
    for choice in choices:
        label = f"{choice.clusters}, {choice.leaves} leaves suggested"
        (line,) = right.plot(choice.path["n_leaves"], choice.path["ratio"], label=label)
        right.plot(choice.leaves, choice.ratio(choice.leaves), "o", color=line.get_color())
    right.legend(title="clusters", frameon=False, fontsize="small")
    right.axhline(1.0, color="0.6", linewidth=0.8)
    right.set(xlabel="leaves", ylabel="cost of the tree / cost of k-means")
    save_figure(figure, out)
