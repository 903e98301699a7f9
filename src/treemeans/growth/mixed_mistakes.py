"""The search of IMM in columns of categories and columns with missing values.

A center has a place in such a column as well: the category that most of its rows have, the mean of
its rows that have a value, or "missing" if most of them have none. As in other columns a cut sends
every center to the side of its place, and a row that does not go with its center is a mistake.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treemeans import _core
from treemeans.exact_sum import ExactGroupSums
from treemeans.growth.growing_tree import Cut
from treemeans.growth.in_memory_tree import InMemoryTree
from treemeans.growth.mistake_subsets import SubsetSearch
from treemeans.growth.mistake_thresholds import NO_CUT, ThresholdSearch, ValuesBeside

Counts = NDArray[np.int64]
_BLOCK = 1 << 14


class CenterCut(NamedTuple):
    """A cut, and which of the centers go left with it."""

    cut: Cut
    goes_left: NDArray[np.bool_]


def center_means(growing: InMemoryTree, feature: int) -> NDArray[np.float64]:
    """Mean value of the rows of each center that have one; NaN if none does.

    Sums are exact: rows in partitions have the same means.
    """
    costs, weights = growing.costs, growing.weights
    found = ExactGroupSums.none(costs.n_clusters)
    for rows in _blocks(growing.rows(0)):
        values = _core.column(growing.table.points, feature, rows, growing.n_threads)
        some = None if weights is None else weights[rows]
        part = ExactGroupSums.of(values, costs.nearest[rows], some, costs.n_clusters)
        found = found.plus(part)
    return found.means()


def centers_of_rows(growing: InMemoryTree) -> NDArray[np.intp]:
    """The centers that some row is nearest to, ascending."""
    nearest = growing.costs.nearest
    found = [np.unique(nearest[rows]) for rows in _blocks(growing.rows(0))]
    return np.unique(np.concatenate(found)).astype(np.intp)


def _blocks(rows: NDArray[np.int32]) -> Iterator[NDArray[np.int32]]:
    """Some rows at a time, so that copies of their values take little memory."""
    return (rows[i : i + _BLOCK] for i in range(0, len(rows), _BLOCK))


@dataclass(frozen=True)
class _Column:
    """A column: its number among the mixed ones, its feature, its bins, the centers' places.

    ``place``: the code of a category, or a mean; NaN if it is missing.
    """

    index: int
    feature: int
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    place: NDArray[np.float64]

    @property
    def is_categorical(self) -> bool:
        return len(self.low) == 0


@dataclass(frozen=True)
class _NodeRows:
    """The rows of a node in a column of numbers, for `ThresholdSearch`."""

    growing: InMemoryTree
    column: _Column
    rows: NDArray[np.int32]
    alive: NDArray[np.int32]
    members: NDArray[np.intp]

    def inside(
        self,
        missing_left: bool,
        changes: Counts,
        open_bins: NDArray[np.bool_],
        base: Counts,
        permitted: tuple[float, float],
        anyway: tuple[bool, bool],
    ) -> tuple[int, float]:
        """The best threshold inside some bins."""
        growing, place = self.growing, self.column.place
        whole = np.zeros(len(place), dtype=np.int64)
        whole[self.members] = changes
        return _core.mistakes_inside(
            growing.table.bins,
            self.column.index,
            growing.table.points,
            self.alive,
            growing.costs.nearest,
            growing.weights,
            place,
            missing_left,
            self.members[~np.isnan(place[self.members])].tolist(),
            whole,
            open_bins.astype(np.uint8),
            base,
            permitted,
            anyway,
        )

    def values(self) -> NDArray[np.float64]:
        """The values of the rows, NaN where one is missing."""
        growing = self.growing
        return _core.column(growing.table.points, self.column.feature, self.rows, growing.n_threads)

    def weights(self) -> Counts:
        """Their weights."""
        weights = self.growing.weights
        return np.ones(len(self.rows), np.int64) if weights is None else weights[self.rows]

    def beside(self, threshold: float) -> ValuesBeside:
        """The values beside a threshold, and the weights of the sides."""
        found = ValuesBeside.none()
        for rows in _blocks(self.rows):
            found = found.plus(replace(self, rows=rows), threshold)
        return found


class MixedMistakes:
    """Cuts of the mixed columns of a growing tree that make the fewest mistakes.

    Parameters
    ----------
    growing : tree of one leaf
    alive : of each row, whether it is still with its center
    prices : of each mixed column, in units of which a mistake is ``2 ** shift``; None if all are
        free
    """

    def __init__(
        self, growing: InMemoryTree, alive: NDArray[np.uint8], prices: Counts | None, shift: int
    ) -> None:
        self._growing, self._alive = growing, alive
        self._prices, self._shift = prices, shift
        features = growing.table.bins.mixed
        self._columns = [self._column(i, feature) for i, feature in enumerate(features)]

    def cut(self, node: int, members: NDArray[np.intp], most: int | None) -> CenterCut | None:
        """The best cut with one of the ``members`` on each side; None if it costs ``most``."""
        rows = self._growing.rows(node)
        alive = rows if node == 0 else rows[self._alive[rows].view(np.bool_)]
        searches = [
            self._subsets(column, rows, alive, members)
            if column.is_categorical
            else self._thresholds(column, rows, alive, members)
            for column in self._columns
        ]
        # Each column has a cut that costs no more than its bound: no better one is looked for in
        # another that cannot have one.
        prices = [0] * len(searches) if self._prices is None else self._prices.tolist()
        bounds = [
            (search.bound << self._shift) + price
            for search, price in zip(searches, prices, strict=True)
            if search.bound < NO_CUT >> self._shift
        ]
        if most is not None:
            bounds.append(most - 1)
        limit = min(bounds, default=NO_CUT)
        best: CenterCut | None = None
        for column, search, price in zip(self._columns, searches, prices, strict=True):
            found = search.run((limit - price) >> self._shift) if limit >= price else None
            if found is not None:
                cost = (found.mistakes << self._shift) + price
                goes_left = np.zeros(self._growing.costs.n_clusters, dtype=bool)
                goes_left[members] = found.goes_left
                best = CenterCut(found.as_cut(column.feature, cost), goes_left)
                limit = cost - 1
        return best

    def _subsets(
        self,
        column: _Column,
        rows: NDArray[np.int32],
        alive: NDArray[np.int32],
        members: NDArray[np.intp],
    ) -> SubsetSearch:
        counts = self._counts(column.index, alive)[:, members]
        weight = self._counts(column.index, rows).sum(axis=1)
        place = np.where(np.isnan(column.place), len(counts) - 1, column.place)[members]
        may_miss = bool(self._growing.table.has_missing[column.feature])
        limits = self._growing.limits
        return SubsetSearch(counts, place.astype(np.intp), weight, limits, may_miss=may_miss)

    def _thresholds(
        self,
        column: _Column,
        rows: NDArray[np.int32],
        alive: NDArray[np.int32],
        members: NDArray[np.intp],
    ) -> ThresholdSearch:
        counts = self._counts(column.index, alive)[:, members]
        here = _NodeRows(self._growing, column, rows, alive, members)
        place = column.place[members]
        limits = self._growing.limits
        return ThresholdSearch(counts, place, column.low, column.high, here, limits)

    def _column(self, index: int, feature: int) -> _Column:
        low, high, n_values, _ = _core.mixed_column(self._growing.table.bins, index)
        rows = self._growing.rows(0)
        counts = self._counts(index, rows)
        if len(low) == 0:
            place = counts.argmax(axis=0).astype(np.float64)
            place[place == n_values] = np.nan
        else:
            place = center_means(self._growing, feature)
            place[2 * counts[n_values] > counts.sum(axis=0)] = np.nan
        return _Column(index, feature, low, high, place)

    def _counts(self, index: int, rows: NDArray[np.int32]) -> Counts:
        """Weight of rows by group of the column and center."""
        growing = self._growing
        bins, nearest, k = growing.table.bins, growing.costs.nearest, growing.costs.n_clusters
        return _core.group_counts(bins, index, rows, nearest, growing.weights, k)
