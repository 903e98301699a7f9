"""``treemeans choose``: what every number of clusters and leaves costs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemeans.cli.console import Say
from treemeans.cli.fitting import Settings, Source, fit_model
from treemeans.cli.outputs import check_free
from treemeans.explain.knee import knee, suggested_leaves
from treemeans.progress import Progress
from treemeans.sheets.errors import InputError

_TIMES = (1, 2, 4)  # leaves shown for k clusters: k, 2 k, 4 k


@dataclass(frozen=True)
class Choice:
    """One number of clusters: its k-means cost, and what the trees for it cost."""

    clusters: int
    kmeans_cost: float
    path: NDArray[np.void]

    @property
    def leaves(self) -> int:
        """The suggested number of leaves."""
        return suggested_leaves(self.path)

    def ratio(self, leaves: int) -> float:
        """Cost of the tree of so many leaves, or of the largest, to that of k-means."""
        row = int(np.searchsorted(self.path["n_leaves"], leaves))
        return float(self.path["ratio"][min(row, len(self.path) - 1)])


def run(
    source: Source,
    clusters: Iterable[int],
    scale: str,
    seed: int,
    plot: str | None,
    force: bool,
    say: Say,
) -> None:
    """Fit every number of clusters, print the grid, draw it."""
    numbers = [k for k in clusters if k >= 1]
    if not numbers:
        raise InputError("There is no number of clusters between --from and --to.")
    check_free([plot], force=force)
    table = source.load()
    for note in table.notes:
        say.aside(f"Note: {note}")
    choices = []
    with Progress("treemeans: clusters", len(numbers), say.shows_progress) as progress:
        for done, k in enumerate(numbers, 1):
            model = fit_model(table, Settings(k, _TIMES[-1] * k, scale, seed=seed))
            choices.append(Choice(k, model.reference_inertia_, model.path_))
            progress.update(done, f"k = {k}")
    best = suggested_clusters(choices)
    say.words(grid(choices, best))
    say.document(_document(choices, best))
    if plot:
        _draw(choices, best, plot)
        say.aside(f"The plot is in {plot}.")


def suggested_clusters(choices: list[Choice]) -> int:
    """The knee of the k-means cost."""
    whole = choices[0].kmeans_cost or 1.0
    shares = [choice.kmeans_cost / whole for choice in choices]
    return choices[knee([choice.clusters for choice in choices], shares)].clusters


def grid(choices: list[Choice], best: int) -> str:
    """The costs as a table."""
    whole = choices[0].kmeans_cost or 1.0
    lines = [
        "           k-means   cost / k-means with           leaves",
        "clusters      cost   k leaves      2k      4k   suggested",
    ]
    for choice in choices:
        ratios = [choice.ratio(times * choice.clusters) for times in _TIMES]
        mark = "   <- suggested" if choice.clusters == best else ""
        lines.append(
            f"{choice.clusters:8}   {choice.kmeans_cost / whole:7.1%}   {ratios[0]:8.3f}"
            f" {ratios[1]:7.3f} {ratios[2]:7.3f}   {choice.leaves:9}{mark}"
        )
    return "\n".join(lines)


def _document(choices: list[Choice], best: int) -> dict[str, Any]:
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


def _draw(choices: list[Choice], best: int, out: str) -> None:
    from treemeans.cli.showing import save_figure
    from treemeans.extras import need

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
