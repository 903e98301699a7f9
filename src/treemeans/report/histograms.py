"""How the rows of each leaf spread over the columns that tell most."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from treemeans.report.bins import Bins, category_bins, number_bins
from treemeans.report.wording import Wording
from treemeans.tree import ThresholdTree, parents_first

_MOST = 20  # histograms


class Histograms:
    """Counts by leaf of the largest tree and bin: they add up to those of any node or group.

    Parameters
    ----------
    wording : Wording
        Of the largest tree.
    X : array or sparse matrix of the rows
    telling : how much each column of X tells
    """

    def __init__(self, wording: Wording, X: Any, telling: Counter[int]) -> None:
        self._wording = wording
        self._tree: ThresholdTree = wording.reader.tree
        place = np.zeros(self._tree.n_nodes, dtype=np.intp)
        place[self._tree.leaves] = np.arange(self._tree.n_leaves)
        self._leaf = place[self._tree.apply(X)]
        self._X = X.tocsc() if sparse.issparse(X) else X
        self.of_column: dict[int, int] = {}
        self._bins: list[Bins] = []
        self.drawn: list[dict[str, Any]] = []
        for feature, _ in telling.most_common():
            if len(self.drawn) < _MOST and feature not in self.of_column:
                self._draw(feature)

    def _draw(self, feature: int) -> None:
        """Add the histogram of a column, or of its source of categories."""
        columns, wording = self._wording.reader.columns, self._wording
        kind, source = columns[feature].kind, columns[feature].source
        if kind == "category":
            members = [i for i, c in enumerate(columns) if c.source == source and c.kind == kind]
            names = [wording.said(columns[i].value) for i in members]
            bins, chosen = self._categories(members, names)
        elif kind == "flag":
            members = [feature]
            bins, chosen = self._categories(members, ["yes"], none="no")
        else:
            members = [feature]
            values = self.column(feature)
            bins = number_bins(wording, feature, values)
            chosen = bins.of(values)
        self.of_column |= dict.fromkeys(members, len(self.drawn))
        self._bins.append(bins)
        n_bins = len(bins.labels)
        cells = np.bincount(self._leaf * n_bins + chosen, minlength=self._tree.n_leaves * n_bins)
        self.drawn.append(
            {
                "name": wording.name(feature),
                "labels": bins.labels,
                "ends": bins.ends,
                "ordered": bins.ordered,
                "counts": [_trimmed(row) for row in cells.reshape(-1, n_bins).tolist()],
            }
        )

    def _categories(
        self, members: list[int], names: list[str], none: str = "none of these"
    ) -> tuple[Bins, NDArray[np.intp]]:
        """The bins of one-hot columns, and the bin of each row."""
        state = np.full(len(self._leaf), len(members))
        for number, member in enumerate(members):
            state[self.column(member) > 0.5] = number
        counts = np.bincount(state, minlength=len(members) + 1)
        if counts[-1]:
            names = [*names, none]
        bins, bin_of = category_bins(names, counts[: len(names)])
        return bins, bin_of[state]

    def column(self, feature: int) -> NDArray[np.float64]:
        """A column of X."""
        part = self._X[:, [feature]]
        dense = part.toarray() if sparse.issparse(part) else part
        return np.asarray(dense[:, 0], dtype=np.float64)

    def marks(self) -> list[float | None]:
        """For each cut of a column with ordered bins, where its threshold lies among them."""
        marks: list[float | None] = [None] * self._tree.n_nodes
        for node in np.flatnonzero(~self._tree.is_leaf).tolist():
            drawn = self.of_column.get(int(self._tree.feature[node]))
            if drawn is not None and self._bins[drawn].ordered:
                marks[node] = round(self._bins[drawn].place(float(self._tree.threshold[node])), 2)
        return marks

    def ranges(self) -> list[str]:
        """For each cut of a column of numbers, the least and the largest value that comes to it."""
        found = [""] * self._tree.n_nodes
        cuts = np.flatnonzero(~self._tree.is_leaf)
        for feature in np.unique(self._tree.feature[cuts]).tolist():
            if self._wording.reader.columns[feature].kind not in ("flag", "category"):
                low, high = self._extremes(feature)
                for node in cuts[self._tree.feature[cuts] == feature].tolist():
                    if low[node] <= high[node]:
                        found[node] = self._range(feature, float(low[node]), float(high[node]))
        return found

    def _extremes(self, feature: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        tree, values = self._tree, self.column(feature)
        low, high = np.full(tree.n_nodes, np.inf), np.full(tree.n_nodes, -np.inf)
        np.minimum.at(low, tree.leaves[self._leaf], values)
        np.maximum.at(high, tree.leaves[self._leaf], values)
        for node in reversed(parents_first(tree.left, tree.right)):
            if tree.left[node] >= 0:
                sides = [tree.left[node], tree.right[node]]
                low[node], high[node] = low[sides].min(), high[sides].max()
        return low, high

    def _range(self, feature: int, low: float, high: float) -> str:
        reader, said = self._wording.reader, self._wording.said
        if reader.columns[feature].is_date:
            return said(f"{reader.mean(feature, low)} to {reader.mean(feature, high)}")
        low_text, high_text = reader.compared(feature, low, high)
        return said(low_text) if low == high else said(f"{low_text} to {high_text}")


def _trimmed(counts: list[int]) -> list[int]:
    """Counts without the zeros at their end."""
    while counts and counts[-1] == 0:
        counts.pop()
    return counts
