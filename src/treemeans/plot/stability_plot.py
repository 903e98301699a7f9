"""How stable clusters and cuts are, drawn with matplotlib."""

from __future__ import annotations

from typing import Any

import numpy as np

from treemeans.optional_imports import need
from treemeans.tree_layout.colors import fill

_STABLE, _DISSOLVED = 0.75, 0.5  # Jaccard indices at which lines are drawn


def plot_stability(stability: Any, ax: Any = None) -> Any:
    """Draw a `Stability`: Jaccard indices of clusters, and how often cuts come back.

    Parameters
    ----------
    stability : Stability
        What ``model.stability(X)`` returns.
    ax : two matplotlib Axes, optional
        By default a new figure.

    Returns
    -------
    array of two Axes
    """
    pyplot = need("matplotlib.pyplot", "plot")
    if ax is None:
        height = 1.5 + 0.32 * max(len(stability.clusters), len(stability.cuts))
        _, ax = pyplot.subplots(1, 2, figsize=(11, height), layout="constrained")
    left, right = np.ravel(ax)
    for i, each in enumerate(stability.clusters):
        if np.isnan(each.jaccard):
            continue
        left.plot([each.low, each.high], [i, i], color=fill(each.cluster), linewidth=6, alpha=0.5)
        left.plot(each.jaccard, i, "o", color=fill(each.cluster), markeredgecolor="0.2")
    names = [f"{each.cluster}: {each.name}" for each in stability.clusters]
    left.set_yticks(range(len(names)), names, parse_math=False)
    left.axvline(_STABLE, color="0.6", linestyle=":")
    left.axvline(_DISSOLVED, color="tab:red", linestyle=":")
    left.set(xlim=(0, 1.02), xlabel="Jaccard index (line: 90 % of the resamples)")
    left.invert_yaxis()
    shares = [each.returned for each in stability.cuts]
    right.barh(range(len(shares)), shares, color="0.7")
    texts = [
        f"{each.text}  ({each.interval})" if each.interval else each.text for each in stability.cuts
    ]
    right.set_yticks(range(len(texts)), texts, parse_math=False)
    right.set(xlim=(0, 1.02), xlabel="share of resamples in which the cut comes back")
    right.invert_yaxis()
    return np.array([left, right])
