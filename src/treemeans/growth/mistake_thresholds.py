"""The threshold of a column with missing values that parts the fewest rows from their center."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from treemeans.growth.growing_tree import Cut
from treemeans.limits import Limits

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]
NO_CUT = int(np.iinfo(np.int64).max)
"""More mistakes than there can be."""


class NodeRows(Protocol):
    """The rows of a node, which are looked at only where the bins do not decide."""

    def inside(
        self,
        missing_left: bool,
        changes: Counts,
        open_bins: NDArray[np.bool_],
        base: Counts,
        permitted: tuple[float, float],
        anyway: tuple[bool, bool],
    ) -> tuple[int, float]:
        """The best threshold inside some bins, as `_core.mistakes_inside` gives it."""

    def values(self) -> Floats:
        """The values of the rows, NaN where one is missing."""

    def weights(self) -> Counts:
        """Their weights."""

    def beside(self, threshold: float) -> ValuesBeside:
        """The values beside a threshold, and the weights of the sides."""


class ValuesBeside(NamedTuple):
    """The values beside a threshold: of rows, and the weight of those that have one on each side.

    Attributes
    ----------
    least : of all values
    below, above : the greatest value up to the threshold, the least above it
    weight_below, weight : of the rows with a value up to the threshold, of all rows
    """

    least: float
    below: float
    above: float
    weight_below: int
    weight: int

    @classmethod
    def none(cls) -> ValuesBeside:
        """Of no rows."""
        return cls(np.inf, -np.inf, np.inf, 0, 0)

    def plus(self, rows: NodeRows, threshold: float) -> ValuesBeside:
        """With those of more rows."""
        values, weights = rows.values(), rows.weights()
        left, right = values <= threshold, values > threshold
        weight = (
            self.weight_below + int(weights[left].sum()),
            self.weight + int(weights.sum()),
        )
        return self.with_values(values[left], values[right])._replace(
            weight_below=weight[0], weight=weight[1]
        )

    def with_values(self, below: Floats, above: Floats) -> ValuesBeside:
        """With more values on each side."""
        most = max(self.below, float(below.max(initial=-np.inf)))
        next_one = min(self.above, float(above.min(initial=np.inf)))
        least = min(float(some.min(initial=self.least)) for some in (below, above))
        return self._replace(least=least, below=most, above=next_one)


class ThresholdChoice(NamedTuple):
    """A threshold between ``low`` and ``high``, and the centers that go left."""

    mistakes: int
    low: float
    high: float
    missing_left: bool
    goes_left: NDArray[np.bool_]

    def as_cut(self, feature: int, cost: int) -> Cut:
        """The cut."""
        return Cut(cost, feature, self.low, self.high, self.missing_left)


class ThresholdSearch:
    """The threshold, with a side for missing values, that makes the fewest mistakes.

    Every value of a row or a center is a candidate. The bins of the column bound the mistakes of
    the thresholds inside them, so that few bins have to be looked into. Of equally many mistakes
    the lowest threshold wins, then missing values on the right.

    Parameters
    ----------
    counts : (bins + 1, centers), weight of the rows that count; missing values last
    place : of the centers; NaN for one that is where values are missing
    low, high : range of each bin
    rows : of the node
    """

    def __init__(
        self,
        counts: Counts,
        place: Floats,
        low: Floats,
        high: Floats,
        rows: NodeRows,
        limits: Limits,
    ) -> None:
        self._place, self._low, self._high = place, low, high
        self._rows, self._limits = rows, limits
        self._present, self._missing = counts[:-1], counts[-1]
        self._total = self._present.sum(axis=0)
        self._upto = np.cumsum(self._present, axis=0)
        self._is_asked = bool(counts[-1].any() or np.isnan(place).any())
        sides = (False, True) if self._is_asked else (False,)
        self._range = {side: self._permitted(side) for side in sides}
        self._coarse = {side: self._between_bins(side) for side in sides}

    @property
    def bound(self) -> int:
        """Mistakes of a threshold that exists: there may be a better one."""
        return min(found[0] for found in self._coarse.values())

    def run(self, limit: int | None) -> ThresholdChoice | None:
        """The best threshold; None if it makes more than ``limit`` mistakes."""
        most = NO_CUT - 1 if limit is None else min(limit, NO_CUT - 1)
        best: ThresholdChoice | None = None
        for side, coarse in self._coarse.items():
            mistakes, threshold = self._inside_bins(side, coarse, most)
            if side and mistakes <= most and threshold < (least := self._beside(threshold).least):
                # All values go right: "is missing" by itself, which the other side has, too.
                self._range[side] = max(self._range[side][0], least), self._range[side][1]
                mistakes, threshold = self._inside_bins(side, self._between_bins(side), most)
            if mistakes > most:
                continue
            found = self._choice(mistakes, threshold, side)
            if best is None or (mistakes, found.low) < (best.mistakes, best.low):
                best, most = found, mistakes
        return best

    def _choice(self, mistakes: int, threshold: float, missing_left: bool) -> ThresholdChoice:
        goes_left = self._sides(np.array([threshold]), missing_left)[0]
        seen = self._beside(threshold)
        if seen.above == np.inf:  # "is missing" by itself
            return ThresholdChoice(mistakes, np.inf, np.inf, False, goes_left)
        if not self._is_asked:  # the heavier side takes missing values to come
            missing_left = 2 * seen.weight_below > seen.weight
        return ThresholdChoice(mistakes, seen.below, seen.above, missing_left, goes_left)

    def _beside(self, threshold: float) -> ValuesBeside:
        """The values of rows and centers beside a threshold; the weights are of rows."""
        place = self._place
        return self._rows.beside(threshold).with_values(
            place[place <= threshold], place[place > threshold]
        )

    def _sides(self, thresholds: Floats, missing_left: bool) -> NDArray[np.bool_]:
        """For each threshold and center whether the center goes left."""
        left = self._place <= thresholds[:, None]
        left[:, np.isnan(self._place)] = missing_left
        return left

    def _between_bins(self, missing_left: bool) -> tuple[int, float]:
        """The best threshold at the end of a bin, at a center in a gap, or beyond all values."""
        occurs = self._low <= self._high
        ends = self._high[occurs]
        centers = np.unique(self._place[~np.isnan(self._place)])
        thresholds = np.concatenate([ends, centers, [np.inf]])
        reached = np.searchsorted(ends, thresholds, side="right")
        starts = np.append(self._low[occurs], np.nan)
        between = ~(starts[reached] <= thresholds)  # a center inside a bin is looked at there
        none = np.zeros((1, len(self._place)), dtype=np.int64)
        upto = np.concatenate([none, self._upto[occurs]])[reached]
        return self._least(thresholds[between], upto[between], missing_left)

    def _least(self, thresholds: Floats, upto: Counts, missing_left: bool) -> tuple[int, float]:
        """The threshold of fewest mistakes, of equals the lowest; ``upto``: rows up to each."""
        left = self._sides(thresholds, missing_left)
        mistakes = self._mistakes(left, upto, missing_left)
        mistakes[left.all(axis=1) | ~left.any(axis=1)] = NO_CUT
        low, high = self._range[missing_left]
        mistakes[(thresholds < low) | (thresholds > high)] = NO_CUT
        least = int(mistakes.min())
        return least, float(thresholds[mistakes == least].min())

    def _mistakes(self, left: NDArray[np.bool_], upto: Counts, missing_left: bool) -> Counts:
        found = np.where(left, self._total - upto, upto) + np.where(
            left != missing_left, self._missing, 0
        )
        return np.asarray(found.sum(axis=1))

    def _inside_bins(
        self, missing_left: bool, best: tuple[int, float], most: int
    ) -> tuple[int, float]:
        """The better of ``best`` and thresholds inside bins that may make up to ``most``."""
        before, after = self._upto - self._present, self._total - self._upto
        on_left = self._sides(self._low, missing_left)
        on_right = ~self._sides(self._high, missing_left)
        # The fewest mistakes of a threshold in each bin. A center inside may go either way.
        bound = np.where(on_left, after, np.where(on_right, before, np.minimum(before, after)))
        bound = bound + np.where(on_right if missing_left else on_left, self._missing, 0)
        fewest = bound.sum(axis=1)
        better = (fewest < best[0]) | ((fewest == best[0]) & (self._low < best[1]))
        is_open = (self._low < self._high) & better & (fewest <= most)
        if not is_open.any():
            return best
        below = self._sides(np.nextafter(self._low, -np.inf), missing_left)
        base = self._mistakes(below, before, missing_left)
        # A center that goes left takes its rows beyond along, and its missing ones to their side.
        at = np.clip(np.searchsorted(self._high, self._place), 0, len(self._high) - 1)
        each = np.arange(len(self._place))
        changes = after[at, each] - before[at, each]
        changes = changes + (-self._missing if missing_left else self._missing)
        absent = bool(np.isnan(self._place).any())
        anyway = (absent and missing_left, absent and not missing_left)
        found = self._rows.inside(
            missing_left, changes, is_open, base, self._range[missing_left], anyway
        )
        return min(best, found)

    def _permitted(self, missing_left: bool) -> tuple[float, float]:
        """The thresholds that leave both sides heavy enough."""
        if not self._limits.restrict_leaves:
            return -np.inf, np.inf
        values, weights = self._rows.values(), self._rows.weights()
        there = ~np.isnan(values)
        order = np.argsort(values[there])
        sorted_values = values[there][order]
        left = np.cumsum(weights[there][order])
        left = left + (int(weights[~there].sum()) if missing_left else 0)
        fits = self._limits.permits_sides(left, int(weights.sum()) - left)
        # A threshold at a value has all rows of that value on its left.
        fits &= np.append(sorted_values[1:] > sorted_values[:-1], True)
        found = np.flatnonzero(fits)
        if not len(found):
            return np.inf, -np.inf
        last = found[-1] + 1
        beyond = sorted_values[last] if last < len(sorted_values) else np.inf
        high = np.nextafter(beyond, -np.inf) if np.isfinite(beyond) else np.inf
        return float(sorted_values[found[0]]), float(high)
