"""Which passes a fit will make, about how many of each kind, and how their times compare.

A pass that reads files takes many times as long as one that reads codes, so the time left is told
kind by kind. Numbers of passes are guesses from fits that were measured (`benchmarks/SCALE.md`):
they only matter for estimates of the time left.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

Passes = dict[str, float]
"""Number of passes by kind (`MapReduceStep.kind`); all that are not in `WORK` are of one."""

OTHER = "other"

WORK: Mapping[str, tuple[float, float]] = {
    "SummarizeRows": (4.3, 0.6),
    "SampleRows": (0.9, 0.9),
    "AssignToCenters": (2.4, 2.4),
    "SumCosts": (1.3, 1.3),
    "EncodeRows": (2.6, 2.6),
    "SumCodes of labels": (0.5, 0.5),
    "SumHistograms of labels": (0.2, 0.4),
    "SumCodes": (3.2, 0.6),
    "SumHistograms": (0.8, 0.7),
    "MeasureLeaves": (2.4, 2.4),
    OTHER: (2.0, 2.0),
}
"""Seconds of the first pass of each kind and of later ones, in proportion, where rows are kept."""


def kmeans_passes() -> Passes:
    """A sample of the rows, and rounds over all of them."""
    return {"SampleRows": 1, "AssignToCenters": 3}


def tree_passes(n_clusters: int, max_leaves: int, base: str | None, more: int) -> Passes:
    """The passes behind the reference.

    ``base``: name of the base tree; None for another one. ``more``: passes of refinement.
    """
    levels = 0.0 if base not in ("imm", "emn") else separation_levels(n_clusters, base == "emn")
    return {
        "SumCosts": 1,
        "EncodeRows": 1,
        **separation_passes(levels),
        **expansion_passes(max_leaves - (n_clusters if levels else 1)),
        "MeasureLeaves": 1,
        OTHER: more,
    }


def separation_levels(n_centers: int, balanced: bool) -> float:
    """Levels of a tree that separates some centers: IMM often cuts off a few of them."""
    if n_centers < 2:
        return 0.0
    return math.log2(n_centers) + 1 if balanced else max(1.0, 0.75 * (n_centers - 1))


def separation_passes(levels: float) -> Passes:
    """The passes of so many levels of a base tree: bins of codes, then bins of values."""
    return {"SumCodes of labels": levels, "SumHistograms of labels": 1.6 * levels}


def expansion_passes(n_cuts: int) -> Passes:
    """The passes of so many cuts more: many leaves are searched together, and ahead."""
    rounds = math.log2(1 + max(n_cuts, 0))
    return {"SumCodes": max(rounds, 1.0), "SumHistograms": rounds}
