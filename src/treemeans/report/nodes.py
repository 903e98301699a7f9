"""The nodes of the largest tree: what they ask, and the rows behind them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemeans.columns.decimals import percent, rows
from treemeans.explain.facts import Facts
from treemeans.report.axes import Axes
from treemeans.report.wording import Wording
from treemeans.tree import ThresholdTree, parents_first

_MOST_GROUPS = 4  # of the original grouping, that are told of one node


def nodes_of(facts: Facts, wording: Wording, axes: Axes, added: list[int]) -> dict[str, Any]:
    """What there is to know of each node, an entry for each in every list.

    ``added``: the goal that each node adds.
    """
    tree = facts.tree
    total = float(tree.weight[0])
    share = tree.weight / total if total > 0 else np.zeros(tree.n_nodes)
    return {
        "left": tree.left.tolist(),
        "right": tree.right.tolist(),
        "axis": [axes.of_column.get(int(f), -1) for f in tree.feature],
        "state": [_state(axes, int(f)) for f in tree.feature],
        "threshold": [float(t) if np.isfinite(t) else None for t in tree.threshold],
        "goal": added,
        "asks": [_asked(wording, node) for node in range(tree.n_nodes)],
        "rows": [rows(weight) for weight in tree.weight.tolist()],
        "share": [round(s, 5) for s in share.tolist()],
        "percent": [percent(s) for s in share.tolist()],
        "origin": [_origin(hits) for hits in below(tree, facts.hits)],
        "nested": _smaller_side(tree),
    }


def below(tree: ThresholdTree, of_leaf: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each node, the sum over the leaves below; ``of_leaf`` in the order of ``leaves``."""
    sums = np.zeros((tree.n_nodes, *of_leaf.shape[1:]))
    sums[tree.leaves] = of_leaf
    for node in reversed(parents_first(tree.left, tree.right)):
        if tree.left[node] >= 0:
            sums[node] = sums[tree.left[node]] + sums[tree.right[node]]
    return sums


def _state(axes: Axes, feature: int) -> int:
    """Of a cut by category, which; else -1."""
    if feature < 0:
        return -1
    features = axes.moves[axes.of_column[feature]].features
    is_choice = axes.columns[feature].kind in ("category", "flag")
    return features.index(feature) if is_choice else -1


def _asked(wording: Wording, node: int) -> list[str]:
    """Name, words to go left, words to go right; nothing at a leaf."""
    return list(wording.question(node)) if wording.reader.tree.feature[node] >= 0 else []


def _origin(hits: NDArray[np.float64]) -> list[tuple[int, float, str]]:
    """Where the original grouping has the rows of a node: group, share, and share in words."""
    total = hits.sum()
    if not total > 0:
        return []
    largest = np.argsort(-hits, kind="stable")[:_MOST_GROUPS]
    return [
        (int(group), round(float(hits[group] / total), 4), percent(float(hits[group] / total)))
        for group in largest
        if hits[group] > 0
    ]


def _smaller_side(tree: ThresholdTree) -> list[int]:
    """For each cut the side with fewer leaves, 0 or 1: where SQL nests, nesting stays shallow."""
    n_leaves = below(tree, np.ones(tree.n_leaves))
    return [
        int(left >= 0 and n_leaves[right] < n_leaves[left])
        for left, right in zip(tree.left.tolist(), tree.right.tolist(), strict=True)
    ]
