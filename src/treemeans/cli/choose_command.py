"""``treemeans choose``: costs and stability for several numbers of clusters and leaves."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemeans.cli import interrupt
from treemeans.cli.console import Console
from treemeans.cli.fit_command import fit_model
from treemeans.cli.fit_settings import MOST_LEAVES, FitSettings
from treemeans.cli.load_table import TableInput
from treemeans.cli.output_files import check_outputs, save_figure, without_window
from treemeans.columns.number_text import finite_or_none
from treemeans.explain.suggest_leaves import suggested_leaves
from treemeans.files.file_errors import InputError
from treemeans.monitor.stability import measure_stability
from treemeans.monitor.uniform_columns import uniform_cost_share
from treemeans.optional_imports import need
from treemeans.threads import n_threads

_LEAVES_PER_CLUSTER = (1, 2, 4)  # sizes of trees shown: k, 2k and 4k leaves


CLUSTER_PRICE = 0.03
"""What a cluster must save beyond what it saves on uniform columns, in logarithms of cost."""
STABILITY_WEIGHT = 0.25
"""What clusters that always come back are worth, in logarithms of cost."""
_STABLE = 0.75  # mean Jaccard index


@dataclass(frozen=True)
class ClusterCosts:
    """Costs for one number of clusters: of k-means, and of trees of every size.

    Attributes
    ----------
    clusters : their number
    kmeans_cost : of k-means
    whole_cost : of all rows as one cluster
    path : costs of trees of every size
    uniform_share : cost of k-means on uniform columns, as a share of that of a single cluster
    stability : mean Jaccard index of the clusters on resamples; NaN if that was not measured
    """

    clusters: int
    kmeans_cost: float
    whole_cost: float
    path: NDArray[np.void]
    uniform_share: float = 1.0
    stability: float = math.nan

    @property
    def share(self) -> float:
        """Cost of k-means as a share of that of a single cluster."""
        return self.kmeans_cost / self.whole_cost if self.whole_cost > 0 else 0.0

    @property
    def score(self) -> float:
        """Gap to uniform columns, plus stability, less a price: the suggestion has the most.

        The gap is that of Tibshirani, Walther and Hastie (2001): how much less k-means costs than
        on columns without clusters, where more clusters cost less as well.
        """
        if self.share <= 0:
            return math.inf  # no cluster can do better
        gap = math.log(self.uniform_share) - math.log(self.share)
        stable = 1.0 if math.isnan(self.stability) else self.stability
        return gap + STABILITY_WEIGHT * stable - CLUSTER_PRICE * self.clusters

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
    resamples: int,
    force: bool,
    console: Console,
) -> None:
    """Fit models for all numbers of clusters, print their costs and stability, and plot them."""
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
            choices.append(measured(k, model, table.X, resamples, seed))
    best = suggested_clusters(choices)
    _print_costs(choices, best, console)
    console.print(f"\n{reason(choices, best)}")
    console.print_json(lambda: _document(choices, best))
    if plot:
        _draw(choices, best, plot)
        interrupt.wrote(plot)
        console.note(f"The plot is in {plot}.")


def measured(k: int, model: Any, X: Any, resamples: int, seed: int) -> ClusterCosts:
    """Costs of a fitted model, and its stability at the suggested number of leaves."""
    leaves = model._fit_result.leaves
    whole = leaves.merged(np.zeros(len(leaves.weight), dtype=np.int32), 1).cost
    uniform = uniform_cost_share(model, X, seed)
    found = ClusterCosts(k, model.reference_inertia_, whole, model.path_, uniform)
    if k < 2 or not resamples:
        return replace(found, stability=1.0 if resamples else math.nan)
    small = model.with_leaves(found.leaves)
    threads = n_threads(-1)
    stability = measure_stability(small, X, resamples, random_state=seed, n_threads=threads)
    return replace(found, stability=stability.jaccard)


def suggested_clusters(choices: list[ClusterCosts]) -> int:
    """The number whose score is most: it does not depend on what other numbers were tried."""
    return max(choices, key=lambda choice: (choice.score, -choice.clusters)).clusters


def reason(choices: list[ClusterCosts], best: int) -> str:
    """Why a number of clusters is suggested, in a sentence; and a second one at the edge."""
    chosen = next(choice for choice in choices if choice.clusters == best)
    words = (
        f"{best} clusters leave {chosen.share:.0%} of the cost of a single one (on columns without "
        f"clusters {chosen.uniform_share:.0%})"
    )
    if not math.isnan(chosen.stability):
        stable = chosen.stability >= _STABLE
        words += f"{', and they' if stable else ', but they do not'} come back on resamples"
        words += f" (mean Jaccard index {chosen.stability:.2f})"
    words += "."
    numbers = [choice.clusters for choice in choices]
    if best == max(numbers) and len(numbers) > 1:
        words += f" It is the largest number tried: try --to {2 * best} as well."
    elif best == min(numbers) and best > 2:
        words += f" It is the smallest number tried: try --from {max(2, best // 2)} as well."
    return words


def _print_costs(choices: list[ClusterCosts], best: int, console: Console) -> None:
    """Print a table of the costs, the suggested number of clusters marked."""
    rows = []
    for choice in choices:
        ratios = [choice.ratio(times * choice.clusters) for times in _LEAVES_PER_CLUSTER]
        rows.append(
            [
                str(choice.clusters),
                f"{choice.share:.1%}",
                "" if math.isnan(choice.stability) else f"{choice.stability:.2f}",
                *(f"{ratio:.3f}" for ratio in ratios),
                str(choice.leaves),
                "<- suggested" if choice.clusters == best else "",
            ]
        )
    head = ["clusters", "k-means cost", "stability", "cost / k-means: k leaves", "2k", "4k"]
    head.append("leaves suggested")
    marked = [choice.clusters for choice in choices].index(best)
    console.table([*head, ""], rows, marked)


def _document(choices: list[ClusterCosts], best: int) -> dict[str, Any]:
    return {
        "suggested_clusters": best,
        "reason": reason(choices, best),
        "choices": [
            {
                "clusters": choice.clusters,
                "kmeans_cost": choice.kmeans_cost,
                "uniform_share": choice.uniform_share,
                "stability": finite_or_none(choice.stability),
                "suggested_leaves": choice.leaves,
                "leaves": choice.path["n_leaves"].tolist(),
                "ratios": choice.path["ratio"].tolist(),
            }
            for choice in choices
        ],
    }


def _draw(choices: list[ClusterCosts], best: int, out: str) -> None:
    without_window()
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
