"""Limits a user sets to a tree. Every search honours them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

_DEAREST = 2.0**61  # no sum exceeds it, and it still can be added to one


class Weighed(Protocol):
    """Rows whose weight is known."""

    @property
    def total_weight(self) -> int:
        """Of all rows: their number, or in units of the weights."""

    @property
    def weight_unit(self) -> float:
        """What a unit stands for."""


@dataclass(frozen=True)
class Limits:
    """What a tree may be, in the units of a cost table.

    Attributes
    ----------
    min_weight : least weight of a leaf: rows, or units of the cost table's weights
    max_depth : most cuts above a leaf; None for any number
    prices : of a cut on each feature, as a share of what the search adds up (cost or mistakes);
        None where all are free
    """

    min_weight: int = 1
    max_depth: int | None = None
    prices: NDArray[np.float64] | None = None

    def slot_prices(self, features: Sequence[int], whole: float) -> NDArray[np.int64] | None:
        """Prices of cuts on ``features``, as shares of ``whole``; None where all are free."""
        if self.prices is None:
            return None
        prices = np.minimum(self.prices[np.asarray(features, dtype=np.intp)] * whole, _DEAREST)
        return np.rint(prices).astype(np.int64)


@dataclass(frozen=True)
class Rules:
    """What a tree may be, as the user says it.

    Attributes
    ----------
    min_samples_leaf : least weight of a leaf, a row counting 1; below 1, a share of all rows
    max_depth : most cuts above a leaf; None for any number
    feature_costs : of a cut on each feature, as a share of the reference's cost; or None
    """

    min_samples_leaf: float = 1
    max_depth: int | None = None
    feature_costs: NDArray[np.float64] | None = None

    def limits(self, rows: Weighed) -> Limits:
        """The same in the units of ``rows``. A least weight of 1 is none: any row has its own."""
        return Limits(self._min_weight(rows), self.max_depth, self.feature_costs)

    def _min_weight(self, rows: Weighed) -> int:
        least = float(self.min_samples_leaf)
        if least == 1.0:
            return 1
        units = least * rows.total_weight if least < 1.0 else least / rows.weight_unit
        # A hair less, so that rounding does not refuse a leaf of just that weight.
        return max(1, min(math.ceil(units * (1.0 - 1e-12)), rows.total_weight + 1))

    def for_sample(self, share: float) -> Self:
        """For a sample that weighs ``share`` of all rows."""
        least = self.min_samples_leaf
        return replace(self, min_samples_leaf=max(1.0, least * share) if least > 1 else least)
