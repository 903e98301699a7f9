"""The mistakes of cuts between bins (IMM): rows that a cut separates from their center."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from treemeans.growth.mistake_subsets import SubsetSearch
from treemeans.limits import Limits
from treemeans.partitioned.tree_growth.bin_scores import BinCut, BinScan, BinScore, Counts
from treemeans.partitioned.tree_growth.feature_bins import FeatureBins

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class MistakeScore(BinScore):
    """The weight of the rows that a cut separates from their center (IMM).

    Every center must be a bin edge, so that no center lies inside a bin.

    Attributes
    ----------
    centers : (n_features, m), coordinates of the node's centers; in a column of categories their
        codes; NaN for a center that is where values are missing
    members : (m,), their numbers
    totals : (m,), weight of the rows in the node that belong to each
    k : number of all centers
    weight : weight of all rows in the node
    limits : the user's, but that a side may be empty if they ask for no more than one row
    prices : price of a cut on each feature, in units of which a mistake is 2**shift
    mixed, may_miss : of each feature whether it is one of categories or has missing values, and
        whether it has missing values; empty if none does
    """

    centers: Floats
    members: NDArray[np.intp]
    totals: Counts
    k: int
    weight: int
    limits: Limits
    prices: Counts | None
    shift: int
    mixed: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, bool))
    may_miss: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, bool))

    def group(self, feature: int) -> int:
        """Of equal costs, columns of numbers without missing values win, as in memory."""
        return int(self.mixed[feature]) if len(self.mixed) else 0

    def is_known(self, feature: int, value: float) -> bool:
        """Whether a center of the node has this value."""
        return bool((self.centers[feature] == value).any())

    def scan(self, feature: int, bins: FeatureBins) -> BinScan | None:
        """Score cuts after every bin and every center that leave centers on both sides."""
        if bins.missing is not None:
            return _MissingScan(self, feature, bins, bins.missing).run()
        at = self.centers[feature]
        if at.min() == at.max():
            return None
        none = np.zeros((1, bins.sums.shape[1]), dtype=np.int64)
        sums = np.concatenate([none, np.cumsum(bins.sums, axis=0)])
        low = np.unique(np.concatenate([bins.high, at]))
        low = low[(at.min() <= low) & (low < at.max())]
        passed = np.searchsorted(bins.high, low, side="right")
        weight = sums[passed, self.k]
        permitted = self.limits.permits_sides(weight, self.weight - weight)
        low, passed = low[permitted], passed[permitted]
        home = sums[passed][:, self.members]
        goes_left = at <= low[:, None]
        mistakes = np.where(goes_left, self.totals - home, home).sum(axis=1)
        return BinScan(
            self.cost(feature, mistakes, goes_left.sum(axis=1)),
            low,
            next_value(at, bins, low, passed),
            sums[passed],
            self._bounds(feature, at, bins, sums[:, self.members]),
            goes_left=goes_left,
        )

    def _bounds(self, feature: int, at: Floats, bins: FeatureBins, home: Counts) -> Counts:
        """A center left of a bin has lost the rows right of it; one right of it, those before."""
        inside = (bins.low < bins.high) & (at.min() < bins.high) & (bins.low < at.max())
        goes_left = at <= bins.low[:, None]  # no center is inside a bin: for all cuts inside it
        lost = np.where(goes_left, self.totals - home[1:], home[:-1]).sum(axis=1)
        return np.where(inside, self.cost(feature, lost, goes_left.sum(axis=1)), self.never)

    def cost(self, feature: int, mistakes: Counts, n_left: Counts) -> Counts:
        """Mistakes of cuts on a feature, and its price; ``n_left``: centers left of each."""
        return (mistakes << self.shift) + self.price(feature)

    def price(self, feature: int) -> int:
        """The price of a cut on a feature."""
        return 0 if self.prices is None else int(self.prices[feature])

    def subset(self, feature: int, sums: Counts, most: int | None) -> BinCut | None:
        """The best cut of a column of categories, by the search that rows in memory have."""
        at = self.centers[feature]
        place = np.where(np.isnan(at), len(sums) - 1, at).astype(np.intp)
        weight, price = sums[:, : self.k].sum(axis=1), self.price(feature)
        may_miss = bool(self.may_miss[feature])
        search = SubsetSearch(sums[:, self.members], place, weight, self.limits, may_miss=may_miss)
        if most is not None and most < price:
            return None
        found = search.run(None if most is None else (most - price) >> self.shift)
        if found is None:
            return None
        cut = found.as_cut(feature, (found.mistakes << self.shift) + price)
        goes_left = np.zeros(len(sums), dtype=bool)
        goes_left[list(cut.categories) or slice(0, -1)] = True  # none: "is missing" by itself
        goes_left[-1] = cut.missing_left is True
        return BinCut(
            cut.cost,
            (self.group(feature), feature, 0.0, 0),
            cut.low,
            cut.high,
            tuple(sums[goes_left].sum(axis=0).tolist()),
            cut.missing_left,
            found.codes,
            found.goes_left,
        )


@dataclass(frozen=True)
class BalancedMistakeScore(MistakeScore):
    """Mistakes for each center on the side that has fewer of them (EMN).

    Costs are integers in units of 1 / ``unit``, which every number of centers divides. They may be
    longer than 64 bits, so that they are Python's. Columns of categories and columns with missing
    values are not cut.
    """

    never: ClassVar[int] = 1 << 200
    unit: int = 1

    def scan(self, feature: int, bins: FeatureBins) -> BinScan | None:
        """Score cuts of a column of numbers."""
        return None if self.group(feature) else super().scan(feature, bins)

    def subset(self, feature: int, sums: Counts, most: int | None) -> BinCut | None:
        """No cut by categories: the quotient has no minimum cut."""
        return None

    def cost(self, feature: int, mistakes: Counts, n_left: Counts) -> Counts:
        """Mistakes of cuts with so many centers on the left, and the price of the feature."""
        fewer = np.maximum(np.minimum(n_left, len(self.members) - n_left), 1)
        shares = np.array([self.unit // int(n) for n in fewer], dtype=object)
        whole: Counts = mistakes.astype(object) << self.shift
        cost: Counts = whole * shares + self.price(feature) * self.unit
        return cost


class _MissingScan:
    """Cuts of a column of numbers with missing values, which take a side.

    The same candidates and rules as `growth.mistake_thresholds.ThresholdSearch`.
    """

    def __init__(
        self, score: MistakeScore, feature: int, bins: FeatureBins, missing: Counts
    ) -> None:
        self.score, self.feature, self.bins, self.missing = score, feature, bins, missing
        self.at = score.centers[feature]
        self.absent = np.isnan(self.at)
        none = np.zeros((1, bins.sums.shape[1]), dtype=np.int64)
        self.sums = np.concatenate([none, np.cumsum(bins.sums, axis=0)])
        self.home = self.sums[:, score.members]
        self.lacking = missing[score.members]
        self.weights = self.sums[:, : score.k].sum(axis=1)
        self.lacking_weight = int(missing[: score.k].sum())

    def run(self) -> BinScan | None:
        """Score cuts with missing values on either side, or on the right if none is at the node."""
        placed = self.at[~self.absent]
        low = np.unique(np.concatenate([self.bins.high, placed]))
        if not len(low) or not len(placed):
            return None
        self.low = np.append(low[:-1], np.inf)  # beyond all values: "is missing" by itself
        self.passed = np.searchsorted(self.bins.high, self.low, side="right")
        self.high = next_value(placed, self.bins, self.low, self.passed)
        if self.lacking.any() or self.absent.any():
            return self._side(False).joined(self._side(True))
        return self._side(False)

    def _side(self, side: bool) -> BinScan:
        score = self.score
        left = self._left(self.low, side)
        home = self.home[self.passed]
        mistakes = np.where(left, self.home[-1] - home, home).sum(axis=1)
        mistakes += np.where(left != side, self.lacking, 0).sum(axis=1)
        total = int(self.weights[-1]) + self.lacking_weight
        weight = self.weights[self.passed] + (self.lacking_weight if side else 0)
        permitted = score.limits.permits_sides(weight, total - weight)
        permitted &= left.any(axis=1) & ~left.all(axis=1)
        missing_left = np.full(len(self.low), side)
        if not self.lacking.any() and not self.absent.any():
            # The heavier side takes missing values to come.
            missing_left = 2 * self.weights[self.passed] > total
        missing_left = missing_left & np.isfinite(self.low)
        sums = self.sums[self.passed] + np.where(missing_left[:, None], self.missing, 0)
        return BinScan(
            score.cost(self.feature, mistakes, left.sum(axis=1))[permitted],
            self.low[permitted],
            self.high[permitted],
            sums[permitted],
            self._bounds(side),
            missing_left[permitted],
            left[permitted],
        )

    def _left(self, thresholds: Floats, side: bool) -> NDArray[np.bool_]:
        left: NDArray[np.bool_] = self.at <= thresholds[:, None]
        left[:, self.absent] = side
        return left

    def _bounds(self, side: bool) -> Counts:
        bins = self.bins
        left = self._left(bins.low, side)
        lost = np.where(left, self.home[-1] - self.home[1:], self.home[:-1]).sum(axis=1)
        lost += np.where(left != side, self.lacking, 0).sum(axis=1)
        inside = (bins.low < bins.high) & left.any(axis=1) & ~left.all(axis=1)
        return np.where(
            inside, self.score.cost(self.feature, lost, left.sum(axis=1)), self.score.never
        )


def next_value(centers: Floats, bins: FeatureBins, low: Floats, passed: NDArray[np.intp]) -> Floats:
    """The next value of a row or a center after each of ``low``."""
    row = np.append(bins.low, np.inf)[passed]
    ordered = np.append(np.sort(centers), np.inf)
    at = np.minimum(np.searchsorted(ordered, low, side="right"), len(ordered) - 1)
    return np.asarray(np.minimum(row, ordered[at]))
