"""The panel of the tree: the questions of its nodes, and the rows that come to them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemeans.columns.number_text import format_rows, percent
from treemeans.explain.model_facts import Facts
from treemeans.report.report_text import ReportText
from treemeans.report.row_panel import RowFields
from treemeans.tree import ThresholdTree, parents_first

_MOST_GROUPS = 4  # of the original grouping, that are shown for one node


def node_entries(
    facts: Facts, text: ReportText, fields: RowFields, condition_of_node: list[int]
) -> dict[str, list[Any]]:
    """Everything about the nodes of the largest tree; each list has an entry for every node."""
    tree = facts.tree
    total = float(tree.weight[0])
    share = tree.weight / total if total > 0 else np.zeros(tree.n_nodes)
    return {
        "left": tree.left.tolist(),
        "right": tree.right.tolist(),
        **fields.split_entries(),
        "condition": condition_of_node,
        "question": [_question(text, node) for node in range(tree.n_nodes)],
        "rows": [format_rows(weight) for weight in tree.weight.tolist()],
        "share": [round(s, 5) for s in share.tolist()],
        "percent": [percent(s) for s in share.tolist()],
        "original_groups": [_original_groups(hits) for hits in sum_below(tree, facts.hits)],
        "smaller_side": _smaller_side(tree),
    }


def sum_below(tree: ThresholdTree, of_leaf: NDArray[Any]) -> NDArray[np.float64]:
    """For each node the sum over the leaves below; ``of_leaf`` in the order of ``tree.leaves``."""
    sums = np.zeros((tree.n_nodes, *of_leaf.shape[1:]))
    sums[tree.leaves] = of_leaf
    for node in reversed(parents_first(tree.left, tree.right)):
        if tree.left[node] >= 0:
            sums[node] = sums[tree.left[node]] + sums[tree.right[node]]
    return sums


def _question(text: ReportText, node: int) -> list[str]:
    """Name of the column, condition to go left, condition to go right; nothing at a leaf."""
    return list(text.split_text(node)) if text.reader.tree.feature[node] >= 0 else []


def _original_groups(hits: NDArray[np.float64]) -> list[tuple[int, float, str]]:
    """The largest groups of the original grouping among the rows of a node, with their shares."""
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
    """For each split the side with fewer leaves: 0 left, 1 right. SQL nests that side."""
    n_leaves = sum_below(tree, np.ones(tree.n_leaves))
    return [
        int(left >= 0 and n_leaves[right] < n_leaves[left])
        for left, right in zip(tree.left.tolist(), tree.right.tolist(), strict=True)
    ]
