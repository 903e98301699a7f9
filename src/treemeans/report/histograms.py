"""Histograms of the columns that differ most between groups, by leaf of the largest tree."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from treemeans.columns.column import one_hot_columns
from treemeans.report.histogram_bins import Bins, category_bins, number_bins
from treemeans.report.report_text import ReportText
from treemeans.report.tree_panel import sum_below
from treemeans.rows.column_values import column_of
from treemeans.tree import ThresholdTree, parents_first

_MOST = 20  # histograms


class ReportHistograms:
    """Counts by leaf and bin, which the page adds up for any node or group of any size.

    Parameters
    ----------
    text : ReportText
        Of the largest tree.
    X : array or sparse matrix of the rows
    relevance : how much each column of X differs between groups; the first ones are drawn
    least : int
        Fewer rows are never counted by themselves: those of a leaf are counted with a leaf nearby,
        values at the ends of a column share a bin, and so do rare categories. With 1, all counts
        are exact.

    Attributes
    ----------
    entries : list of dict, the histograms
    of_column : dict, from columns of X to the number of their histogram
    too_few : list of bool, whether fewer rows than ``least`` come to a node
    """

    def __init__(self, text: ReportText, X: Any, relevance: Counter[int], least: int) -> None:
        self._text, self._least = text, least
        self._tree: ThresholdTree = text.reader.tree
        leaf_number = np.zeros(self._tree.n_nodes, dtype=np.intp)
        leaf_number[self._tree.leaves] = np.arange(self._tree.n_leaves)
        leaf = leaf_number[self._tree.apply(X)]
        counts = np.bincount(leaf, minlength=self._tree.n_leaves)
        self.too_few: list[bool] = (sum_below(self._tree, counts) < least).tolist()
        self._leaf = merged_leaves(self._tree, counts, least)[leaf]
        self._X = X.tocsc() if sparse.issparse(X) else X
        self.of_column: dict[int, int] = {}
        self._bins: list[Bins] = []
        self.entries: list[dict[str, Any]] = []
        for feature, _ in relevance.most_common():
            if len(self.entries) < _MOST and feature not in self.of_column:
                self._add(feature)

    def _add(self, feature: int) -> None:
        """Add the histogram of a column, or of all one-hot columns with the same source."""
        columns, text = self._text.reader.columns, self._text
        kind, source = columns[feature].kind, columns[feature].source
        members = [feature]
        if kind == "category":
            members = one_hot_columns(columns)[source]
            names = [text.printed(columns[i].value) for i in members]
            bins, bin_of_row = self._one_hot_bins(members, names, least=self._least)
        elif kind == "flag":
            bins, bin_of_row = self._one_hot_bins(members, ["yes"], none="no")
        elif kind == "codes":
            bins, bin_of_row = self._code_bins(feature)
        else:
            values = column_of(self._X, feature)
            if np.isnan(values).all():
                return
            bins = number_bins(text, feature, values[~np.isnan(values)], self._least)
            bin_of_row = np.where(np.isnan(values), -1, bins.bin_of(values))
        self.of_column |= dict.fromkeys(members, len(self.entries))
        self._bins.append(bins)
        n_bins = len(bins.labels)
        known = bin_of_row >= 0  # rows with a missing value are in no bin
        cells = np.bincount(
            self._leaf[known] * n_bins + bin_of_row[known],
            minlength=self._tree.n_leaves * n_bins,
        )
        self.entries.append(
            {
                "name": text.column_name(feature),
                "labels": bins.labels,
                "ends": bins.ends,
                "ordered": bins.ordered,
                "counts": [_without_last_zeros(row) for row in cells.reshape(-1, n_bins).tolist()],
            }
        )

    def _one_hot_bins(
        self,
        members: list[int],
        names: list[str],
        none: str = "none of these",
        least: int = 0,
    ) -> tuple[Bins, NDArray[np.intp]]:
        """The bins of one-hot columns or a flag, and the bin of each row."""
        category = np.full(len(self._leaf), len(members))
        for number, member in enumerate(members):
            category[column_of(self._X, member) > 0.5] = number
        counts = np.bincount(category, minlength=len(members) + 1)
        if counts[-1]:
            names = [*names, none]
        bins, bin_of = category_bins(names, counts[: len(names)], least)
        return bins, bin_of[category]

    def _code_bins(self, feature: int) -> tuple[Bins, NDArray[np.intp]]:
        """The bins of a column of category codes, and the bin of each row; -1 if it is missing."""
        column = self._text.reader.columns[feature]
        values = column_of(self._X, feature)
        missing = np.isnan(values)
        codes, number = np.unique(values[~missing], return_inverse=True)
        names = [self._text.printed(column.category(code)) for code in codes.tolist()]
        bins, bin_of = category_bins(names, np.bincount(number, minlength=len(codes)), self._least)
        bin_of_row = np.full(len(values), -1)
        bin_of_row[~missing] = bin_of[number]
        return bins, bin_of_row

    def threshold_positions(self) -> list[float | None]:
        """For each split by a threshold, its position on the axis of the column's histogram."""
        positions: list[float | None] = [None] * self._tree.n_nodes
        for node in np.flatnonzero(~self._tree.is_leaf).tolist():
            split = self._tree.split(node)
            histogram = self.of_column.get(split.feature)
            if histogram is not None and self._bins[histogram].ordered:
                positions[node] = round(self._bins[histogram].position(split.threshold), 2)
        return positions

    def ranges(self) -> list[str]:
        """For each split of a column of numbers, the range of the values that come to it.

        They are values of single rows: told only where all counts are exact.
        """
        found = [""] * self._tree.n_nodes
        if self._least > 1:
            return found
        inner = np.flatnonzero(~self._tree.is_leaf)
        for feature in np.unique(self._tree.feature[inner]).tolist():
            if self._text.reader.columns[feature].kind not in ("flag", "category", "codes"):
                low, high = self._extremes(feature)
                for node in inner[self._tree.feature[inner] == feature].tolist():
                    if low[node] <= high[node]:
                        found[node] = self._range(feature, float(low[node]), float(high[node]))
        return found

    def _extremes(self, feature: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        tree, values = self._tree, column_of(self._X, feature)
        low, high = np.full(tree.n_nodes, np.inf), np.full(tree.n_nodes, -np.inf)
        np.fmin.at(low, tree.leaves[self._leaf], values)
        np.fmax.at(high, tree.leaves[self._leaf], values)
        for node in reversed(parents_first(tree.left, tree.right)):
            if tree.left[node] >= 0:
                sides = [tree.left[node], tree.right[node]]
                low[node], high[node] = low[sides].min(), high[sides].max()
        return low, high

    def _range(self, feature: int, low: float, high: float) -> str:
        reader, printed = self._text.reader, self._text.printed
        if reader.columns[feature].is_date:
            return printed(f"{reader.mean(feature, low)} to {reader.mean(feature, high)}")
        low_text, high_text = reader.compared(feature, low, high)
        return printed(low_text) if low == high else printed(f"{low_text} to {high_text}")


def merged_leaves(tree: ThresholdTree, counts: NDArray[np.intp], least: int) -> NDArray[np.intp]:
    """For each leaf, the leaf that its rows are counted with, so that each has ``least`` rows.

    A leaf with fewer is merged into the largest one below the nearest node above it that has
    enough rows. ``counts`` and the result are in the order of ``tree.leaves``.
    """
    number = {int(leaf): i for i, leaf in enumerate(tree.leaves)}
    target, merged = np.arange(tree.n_leaves), counts.copy()
    below: dict[int, list[int]] = {}  # leaves below a node
    open_below: dict[int, list[int]] = {}  # those of them that have no target yet
    for node in reversed(parents_first(tree.left, tree.right)):
        if node in number:
            below[node] = [number[node]]
            open_below[node] = [number[node]] if counts[number[node]] < least else []
            continue
        sides = int(tree.left[node]), int(tree.right[node])
        below[node] = below.pop(sides[0]) + below.pop(sides[1])
        open_below[node] = open_below.pop(sides[0]) + open_below.pop(sides[1])
        if open_below[node] and (node == 0 or counts[below[node]].sum() >= least):
            into = max(below[node], key=lambda leaf: int(merged[leaf]))
            for leaf in open_below[node]:
                if leaf != into:
                    target[leaf] = into
                    merged[into] += merged[leaf]
                    merged[leaf] = 0
            open_below[node] = []
    return target


def _without_last_zeros(counts: list[int]) -> list[int]:
    while counts and counts[-1] == 0:
        counts.pop()
    return counts
