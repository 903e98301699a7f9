"""What cuts between bins cost, and a lower bound for the cuts inside each bin."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treemeans import _core
from treemeans.limits import Limits
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

    def is_known(self, feature: int, value: float) -> bool:
        """Whether the end of a cut is a value by itself, whatever rows have it."""
        return False


@dataclass(frozen=True)
class PrefixScore(BinScore):
    """A score that follows from the sums of the rows on the left of a cut.

    Attributes
    ----------
    price_bins : prices the cut after each bin and bounds the cuts inside it: a kernel of
        ``cpp/score.hpp``, the same arithmetic as where the rows are in memory
    at : the column of the sums that has the weight
    weight : weight of the node's rows
    limits : the user's
    prices : price of a cut on each feature; None where all are free
    """

    price_bins: Callable[[NDArray[np.int64]], tuple[NDArray[np.int64], NDArray[np.int64]]]
    at: int
    weight: int
    limits: Limits
    prices: NDArray[np.int64] | None

    def scan(self, feature: int, bins: FeatureBins) -> BinScan | None:
        """Score the bins of a feature."""
        if not len(bins):
            return None
        price = 0 if self.prices is None else int(self.prices[feature])
        cost, bound = self.price_bins(bins.sums)
        sums = np.cumsum(bins.sums, axis=0)
        weight = sums[:, self.at]
        cuts = np.flatnonzero(self.limits.permits_sides(weight, self.weight - weight)[:-1])
        # Inside a bin, a side weighs at most as much as with all rows of the bin.
        most_right = self.weight - (weight - bins.sums[:, self.at])
        inside = (bins.low < bins.high) & self.limits.permits_sides(weight, most_right)
        return BinScan(
            cost[cuts] + price,
            bins.high[cuts],
            bins.low[cuts + 1],
            sums[cuts],
            np.where(inside, bound + price, NEVER),
        )


def surrogate_score(
    sums: NDArray[np.int64], k: int, limits: Limits, prices: NDArray[np.int64] | None
) -> PrefixScore:
    """The surrogate cost: the rows of either side at the center that is cheapest for them.

    ``sums``: of the node's rows, their k regrets and their weight.
    """
    totals = np.ascontiguousarray(sums[:k])
    return PrefixScore(
        lambda bins: _core.score_surrogate_bins(bins, totals), k, int(sums[k]), limits, prices
    )


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
    limits : the user's, but that a side may be empty if they ask for no more than one row
    prices : price of a cut on each feature, in units of which a mistake is 2**shift
    """

    centers: NDArray[np.float64]
    members: NDArray[np.intp]
    totals: NDArray[np.int64]
    k: int
    weight: int
    limits: Limits
    prices: NDArray[np.int64] | None
    shift: int

    def is_known(self, feature: int, value: float) -> bool:
        """Whether a center of the node has this value."""
        return bool((self.centers[feature] == value).any())

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
        permitted = self.limits.permits_sides(weight, self.weight - weight)
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
