"""What cuts between bins cost, and a lower bound for the cuts inside each bin."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treemeans import _core
from treemeans.growth.growing_tree import Cut
from treemeans.limits import Limits
from treemeans.partitioned.tree_growth.feature_bins import FeatureBins

Counts = NDArray[np.int64]

NEVER = np.iinfo(np.int64).max
"""The bound of a bin that no cut may divide."""


class BinCut(NamedTuple):
    """A cut, compared by preference: lowest cost, then by ``rank``.

    ``rank``: a group of features that are preferred to others, the feature, the lowest value, and
    whether missing values go left. ``low`` is the last value on the left, ``high`` the first one on
    the right; ``left`` are the sums of the rows on the left; ``goes_left`` are the centers that go
    left, if the score asks for that.
    """

    cost: int
    rank: tuple[int, int, float, int]
    low: float
    high: float
    left: tuple[int, ...]
    missing_left: bool | None = None
    categories: tuple[int, ...] = ()
    goes_left: NDArray[np.bool_] | None = None

    @property
    def feature(self) -> int:
        """The feature that is cut."""
        return self.rank[1]

    def as_cut(self) -> Cut:
        """The cut as it is in memory."""
        return Cut(
            self.cost, self.feature, self.low, self.high, self.missing_left, list(self.categories)
        )


@dataclass(frozen=True)
class BinScan:
    """All cuts between the bins of a feature, and bounds of those inside.

    Attributes
    ----------
    cost, low, high : of each cut that the limits permit, as in `BinCut`
    left : (n_cuts, k + 1 or k + 2), sums of the rows left of each cut
    bound : for each bin, no cut inside costs less; NEVER where there is none
    missing_left : of each cut, whether missing values go left; None if the column has none
    goes_left : (n_cuts, centers), the centers that go left; None if the score does not ask
    """

    cost: Counts
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    left: Counts
    bound: Counts
    missing_left: NDArray[np.bool_] | None = None
    goes_left: NDArray[np.bool_] | None = None

    def best(self, feature: int, group: int = 0) -> BinCut | None:
        """The cheapest cut; of equal ones, the lowest, then with missing values on the right."""
        if not len(self.cost):
            return None
        side = np.zeros(len(self.cost), bool) if self.missing_left is None else self.missing_left
        ties = np.flatnonzero(self.cost == self.cost.min())
        i = int(ties[np.lexsort((side[ties], self.low[ties]))[0]])
        low = float(self.low[i])
        return BinCut(
            int(self.cost[i]),
            (group, feature, low, int(side[i])),
            low,
            float(self.high[i]),
            tuple(self.left[i].tolist()),
            None if self.missing_left is None else bool(side[i]),
            goes_left=None if self.goes_left is None else self.goes_left[i],
        )

    def joined(self, other: BinScan) -> BinScan:
        """The cuts of both, which may lie inside the same bins."""
        return BinScan(
            np.concatenate([self.cost, other.cost]),
            np.concatenate([self.low, other.low]),
            np.concatenate([self.high, other.high]),
            np.concatenate([self.left, other.left]),
            np.minimum(self.bound, other.bound),
            *(
                None if one is None or two is None else np.concatenate([one, two])
                for one, two in (
                    (self.missing_left, other.missing_left),
                    (self.goes_left, other.goes_left),
                )
            ),
        )


class BinScore(ABC):
    """What a search minimizes in one node.

    ``never``: the bound of a bin that no cut may divide, above all costs.
    """

    never: ClassVar[int] = NEVER

    @abstractmethod
    def scan(self, feature: int, bins: FeatureBins) -> BinScan | None:
        """Score the bins of a feature; None where no cut is possible."""

    def subset(self, feature: int, sums: Counts, most: int | None) -> BinCut | None:
        """The best cut of a column of categories; None if there is none.

        Parameters
        ----------
        sums : (categories + 1, k + 1 or k + 2), of the rows of each category; missing values last
        most : no cut that costs more is of use; None for any
        """
        raise NotImplementedError

    def group(self, feature: int) -> int:
        """The group of a feature: of equal costs, the lowest one wins."""
        return 0

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

    price_bins: Callable[[Counts], tuple[Counts, Counts]]
    at: int
    weight: int
    limits: Limits
    prices: Counts | None

    def scan(self, feature: int, bins: FeatureBins) -> BinScan | None:
        """Score the bins of a feature.

        Missing values are one more bin: behind all others, or before them.
        """
        if not len(bins):
            return None
        if bins.missing is None:
            return self._walk(feature, bins, np.zeros(bins.sums.shape[1], np.int64), None)
        if bins.missing[-1] == 0:
            found = self._walk(feature, bins, bins.missing, False)
            heavier = 2 * found.left[:, self.at] > self.weight  # takes missing values to come
            return BinScan(
                found.cost, found.low, found.high, found.left, found.bound, np.asarray(heavier)
            )
        right = self._walk(feature, bins, bins.missing, False)
        return right.joined(self._walk(feature, bins, bins.missing, True))

    def _walk(
        self, feature: int, bins: FeatureBins, missing: Counts, missing_left: bool | None
    ) -> BinScan:
        """Score the bins with missing values on one side."""
        price, m = self._price(feature), len(bins)
        before = missing[None] if missing_left else missing[None][:0]
        cost, bound = self.price_bins(np.ascontiguousarray(np.concatenate([before, bins.sums])))
        cost, bound = cost[-m:], bound[-m:]
        sums = np.cumsum(bins.sums, axis=0) + (missing if missing_left else 0)
        weight = sums[:, self.at]
        permitted = self.limits.permits_sides(weight, self.weight - weight)
        # Behind the last bin there is a cut if missing values are on its other side.
        permitted[-1] &= missing_left is False and missing[-1] > 0
        cuts = np.flatnonzero(permitted)
        # Inside a bin, a side weighs at most as much as with all rows of the bin.
        most_right = self.weight - (weight - bins.sums[:, self.at])
        inside = (bins.low < bins.high) & self.limits.permits_sides(weight, most_right)
        return BinScan(
            cost[cuts] + price,
            bins.high[cuts],
            np.append(bins.low, np.inf)[cuts + 1],
            sums[cuts],
            np.where(inside, bound + price, NEVER),
            None if missing_left is None else np.full(len(cuts), missing_left),
        )

    def _price(self, feature: int) -> int:
        return 0 if self.prices is None else int(self.prices[feature])


@dataclass(frozen=True)
class SurrogateScore(PrefixScore):
    """The surrogate cost: the rows of either side at the center that is cheapest for them.

    Attributes
    ----------
    totals : summed regrets of the node's rows
    may_miss : of each feature whether it has missing values anywhere
    """

    totals: Counts
    may_miss: NDArray[np.bool_]

    def subset(self, feature: int, sums: Counts, most: int | None) -> BinCut | None:
        """The best cut of a column of categories."""
        found = _core.surrogate_subset(
            sums, self.totals, feature, bool(self.may_miss[feature]), self.limits.for_kernel(None)
        )
        if found is None:
            return None
        goes_left = np.zeros(len(sums), dtype=bool)
        goes_left[list(found.categories) or slice(0, -1)] = True  # none: "is missing" by itself
        goes_left[-1] = found.missing_left is True
        return BinCut(
            found.cost + self._price(feature),
            (0, feature, 0.0, 0),
            found.low,
            found.high,
            tuple(sums[goes_left].sum(axis=0).tolist()),
            found.missing_left,
            tuple(found.categories),
        )


def surrogate_score(
    sums: Counts,
    k: int,
    limits: Limits,
    prices: Counts | None,
    may_miss: NDArray[np.bool_] | None = None,
) -> SurrogateScore:
    """The surrogate cost of a node's cuts.

    Parameters
    ----------
    sums : of the node's rows, their k regrets and their weight
    may_miss : of each feature whether it has missing values anywhere; None if none has
    """
    totals = np.ascontiguousarray(sums[:k])
    return SurrogateScore(
        lambda bins: _core.score_surrogate_bins(bins, totals),
        k,
        int(sums[k]),
        limits,
        prices,
        totals,
        np.zeros(0, bool) if may_miss is None else may_miss,
    )
