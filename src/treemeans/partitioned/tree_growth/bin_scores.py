"""What cuts between bins cost, and a lower bound for the cuts inside each bin."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treemeans.partitioned.tree_growth.feature_bins import FeatureBins

NEVER = np.iinfo(np.int64).max
"""The bound of a bin that no cut may divide."""


class BinCut(NamedTuple):
    """A cut, compared by preference: lowest cost, then lowest feature, then lowest value.

    ``low`` is the last value on the left, ``high`` the first one on the right; ``left`` are the
    sums of the rows on the left.
    """

    cost: int
    feature: int
    low: float
    high: float
    left: tuple[int, ...]


@dataclass(frozen=True)
class BinScan:
    """All cuts between the bins of a feature, and bounds of those inside.

    Attributes
    ----------
    cost, low, high : of each cut that the limits permit, as in `BinCut`
    left : (n_cuts, k + 1 or k + 2), sums of the rows left of each cut
    bound : for each bin, no cut inside costs less; NEVER where there is none
    """

    cost: NDArray[np.int64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    left: NDArray[np.int64]
    bound: NDArray[np.int64]

    def best(self, feature: int) -> BinCut | None:
        """The cheapest cut; of equal ones, the lowest."""
        if not len(self.cost):
            return None
        i = int(self.cost.argmin())
        left = tuple(int(number) for number in self.left[i])
        return BinCut(int(self.cost[i]), feature, float(self.low[i]), float(self.high[i]), left)


class BinScore(ABC):
    """What a search minimizes in one node."""

    @abstractmethod
    def scan(self, feature: int, bins: FeatureBins) -> BinScan | None:
        """Score the bins of a feature; None where no cut is possible."""


@dataclass(frozen=True)
class SurrogateScore(BinScore):
    """The surrogate cost: the rows of either side at the center that is cheapest for them.

    Attributes
    ----------
    totals : (k,), the node's summed regrets
    weight : weight of its rows
    min_weight : least weight of either side
    prices : price of a cut on each feature; None where all are free
    """

    totals: NDArray[np.int64]
    weight: int
    min_weight: int
    prices: NDArray[np.int64] | None

    def scan(self, feature: int, bins: FeatureBins) -> BinScan | None:
        """Score the bins of a feature. Regrets are >= 0, so prefix sums grow from bin to bin."""
        if not len(bins):
            return None
        price = 0 if self.prices is None else int(self.prices[feature])
        sums = np.cumsum(bins.sums, axis=0)
        k = len(self.totals)
        after, weight = sums[:, :k], sums[:, k]
        rest = self.totals - after
        cost = after.min(axis=1) + rest.min(axis=1) + price
        permitted = (weight >= self.min_weight) & (self.weight - weight >= self.min_weight)
        cuts = np.flatnonzero(permitted[:-1])
        bound = np.full(len(bins), NEVER)
        wide = bins.low < bins.high
        before = after[wide] - bins.sums[wide, :k]
        bound[wide] = _least_of_both(before, rest[wide], int(self.totals.min())) + price
        return BinScan(cost[cuts], bins.high[cuts], bins.low[cuts + 1], sums[cuts], bound)


def _least_of_both(
    before: NDArray[np.int64], beyond: NDArray[np.int64], unsplit: int
) -> NDArray[np.int64]:
    """No cut costs less whose left side holds what is before it, and its right what is beyond.

    With the same center on both sides a cut saves nothing, so the two centers must differ.
    """
    if not len(before):
        return np.empty(0, dtype=np.int64)
    if before.shape[1] == 1:
        return np.full(len(before), unsplit)
    first, second = np.partition(before, 1, axis=1)[:, :2].T
    third, fourth = np.partition(beyond, 1, axis=1)[:, :2].T
    same = before.argmin(axis=1) == beyond.argmin(axis=1)
    otherwise = np.minimum(np.minimum(first + fourth, second + third), unsplit)
    return np.asarray(np.where(same, otherwise, first + third))


@dataclass(frozen=True)
class MistakeScore(BinScore):
    """The weight of the rows that a cut separates from their center (IMM).

    Every center must be a bin edge, so that no center lies inside a bin.

    Attributes
    ----------
    centers : (n_features, m), coordinates of the node's centers
    members : (m,), their numbers
    totals : (m,), weight of the rows in the node that belong to each
    k : number of all centers
    weight : weight of all rows in the node
    min_weight : least weight of either side; 0 where a side may be empty
    prices : price of a cut on each feature, in units of which a mistake is 2**shift
    """

    centers: NDArray[np.float64]
    members: NDArray[np.intp]
    totals: NDArray[np.int64]
    k: int
    weight: int
    min_weight: int
    prices: NDArray[np.int64] | None
    shift: int

    def scan(self, feature: int, bins: FeatureBins) -> BinScan | None:
        """Score cuts after every bin and every center that leave centers on both sides."""
        at = self.centers[feature]
        if at.min() == at.max():
            return None
        price = 0 if self.prices is None else int(self.prices[feature])
        none = np.zeros((1, bins.sums.shape[1]), dtype=np.int64)
        sums = np.concatenate([none, np.cumsum(bins.sums, axis=0)])
        low = np.unique(np.concatenate([bins.high, at]))
        low = low[(at.min() <= low) & (low < at.max())]
        passed = np.searchsorted(bins.high, low, side="right")
        weight = sums[passed, self.k]
        permitted = (weight >= self.min_weight) & (self.weight - weight >= self.min_weight)
        low, passed = low[permitted], passed[permitted]
        home = sums[passed][:, self.members]
        mistakes = np.where(at <= low[:, None], self.totals - home, home).sum(axis=1)
        return BinScan(
            (mistakes << self.shift) + price,
            low,
            _next_value(at, bins, low, passed),
            sums[passed],
            self._bounds(at, bins, sums[:, self.members], price),
        )

    def _bounds(
        self, at: NDArray[np.float64], bins: FeatureBins, home: NDArray[np.int64], price: int
    ) -> NDArray[np.int64]:
        """A center left of a bin has lost the rows right of it; one right of it, those before."""
        inside = (bins.low < bins.high) & (at.min() < bins.high) & (bins.low < at.max())
        lost = np.where(at <= bins.low[:, None], self.totals - home[1:], home[:-1]).sum(axis=1)
        return np.where(inside, (lost << self.shift) + price, NEVER)


def _next_value(
    centers: NDArray[np.float64],
    bins: FeatureBins,
    low: NDArray[np.float64],
    passed: NDArray[np.intp],
) -> NDArray[np.float64]:
    """The next value of a row or a center after each of ``low``."""
    row = np.append(bins.low, np.inf)[passed]
    ordered = np.append(np.sort(centers), np.inf)
    return np.asarray(np.minimum(row, ordered[np.searchsorted(ordered, low, side="right")]))
