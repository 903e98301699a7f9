"""Thresholds a person can remember."""

from dataclasses import replace

import numpy as np

from treemeans.columns.column import Column, Columns
from treemeans.columns.decimals import shortest, shortest_date
from treemeans.tree import ThresholdTree


def rounded(tree: ThresholdTree, columns: Columns) -> ThresholdTree:
    """The tree with the shortest number in each gap as threshold.

    A gap holds no value of the rows that come to the cut, so that none of them changes side.
    """
    threshold = np.array(tree.threshold)
    for node in np.flatnonzero(~tree.is_leaf):
        below, above = tree.gap[node].tolist()
        threshold[node] = _short(columns[tree.feature[node]], threshold[node], below, above)
    return replace(tree, threshold=threshold)


def _short(column: Column, threshold: float, below: float, above: float) -> float:
    if not below < above:
        return threshold
    if column.is_date:
        return shortest_date(threshold, below, above, column.unit)
    return shortest(threshold, below, above)
