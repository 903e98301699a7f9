"""Limits that a user sets on a tree: the one place that decides whether a cut is allowed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from treemeans import _core
from treemeans.cluster_limits import ClusterLimits, Weighed

_MOST_DEPTH = 2**31 - 1  # more cuts above a leaf than any table has rows
_LARGEST_PRICE = 2.0**61  # no sum exceeds it, and it still can be added to one


class ProposedCut(Protocol):
    """A cut that no search within the limits has found. `Limits` reads costly properties last."""

    @property
    def is_allowed(self) -> bool:
        """Whether the feature may be cut."""

    @property
    def depth(self) -> int:
        """Cuts above the leaf."""

    @property
    def weight(self) -> int:
        """Weight of the leaf's rows."""

    @property
    def lighter_weight(self) -> int:
        """Weight of the rows on the side that has less."""

    @property
    def feature(self) -> int:
        """Feature that is cut."""

    @property
    def saved(self) -> int:
        """Surrogate cost that the cut saves, in fixed point."""

    @property
    def price(self) -> int:
        """The price of a cut on the feature, which it must save more than, in fixed point."""


@dataclass(frozen=True)
class Limits:
    """The limits on a tree.

    Attributes
    ----------
    min_samples_leaf : least weight of a leaf, a row counting 1 unless it has a weight; below 1, a
        share of the weight of all rows; 1 is no limit
    max_depth : most cuts above a leaf; None for any number
    feature_costs : price of a cut on each feature, as a share of what a search adds up (cost or
        mistakes); None where all are free
    max_categories : most categories that a cut lists; None for any number
    min_weight : ``min_samples_leaf`` in the units of some rows; `for_rows` sets it
    clusters : what every cluster must be like; None for anything. Searches for cuts do not ask:
        a cut never makes a labelling within these limits impossible, because both sides can keep
        the label of the leaf
    """

    min_samples_leaf: float = 1
    max_depth: int | None = None
    feature_costs: NDArray[np.float64] | None = None
    min_weight: int = 1
    max_categories: int | None = None
    clusters: ClusterLimits | None = None

    def for_rows(self, rows: Weighed) -> Self:
        """The same limits, in the units of ``rows``."""
        return replace(self, min_weight=self._min_weight(rows))

    def _min_weight(self, rows: Weighed) -> int:
        least = float(self.min_samples_leaf)
        if least == 1.0:
            return 1
        units = least * rows.total_weight if least < 1.0 else least / rows.weight_unit
        # Slightly less, so that rounding does not refuse a leaf of exactly that weight.
        return max(1, min(math.ceil(units * (1.0 - 1e-12)), rows.total_weight + 1))

    def for_sample(self, share: float) -> Self:
        """The limits for a sample that weighs ``share`` of all rows."""
        least = self.min_samples_leaf
        return replace(self, min_samples_leaf=max(1.0, least * share) if least > 1 else least)

    def for_some_rows(self, weight: int, total: int) -> Self:
        """The limits for a search on some rows, which weigh ``weight`` of ``total`` units."""
        return replace(self, min_weight=max(1, self.min_weight * weight // total))

    def slot_prices(self, features: Sequence[int], whole: float) -> NDArray[np.int64] | None:
        """Prices of cuts on ``features``, as shares of ``whole``; None where all are free."""
        if self.feature_costs is None:
            return None
        shares = self.feature_costs[np.asarray(features, dtype=np.intp)]
        with np.errstate(over="ignore"):  # an infinite price forbids
            prices = np.minimum(shares * whole, _LARGEST_PRICE)
        return np.rint(prices).astype(np.int64)

    def price_of_cuts(self, features: NDArray[np.int32]) -> float:
        """Prices of cuts on these features together; a leaf's -1 is free."""
        if self.feature_costs is None:
            return 0.0
        return float(self.feature_costs[features[features >= 0]].sum())

    @property
    def restrict_leaves(self) -> bool:
        """Whether a leaf must weigh more than any single row may."""
        return self.min_weight > 1

    def for_kernel(
        self,
        weights: NDArray[np.int64] | None,
        prices: NDArray[np.int64] | None = None,
        *,
        empty_sides: bool = False,
    ) -> _core.Limits:
        """What the searches in C++ ask before they take a cut.

        Parameters
        ----------
        weights : of all rows of the table; None where each weighs 1
        prices : of the slots of the table, as `slot_prices` gives them
        empty_sides : whether a side may be without rows where nothing limits leaves
        """
        least = 0 if empty_sides and not self.restrict_leaves else self.min_weight
        depth = None if self.max_depth is None else min(self.max_depth, _MOST_DEPTH)
        return _core.Limits(weights, least, prices, depth, self.max_categories)

    def for_decision_tree(self, total_weight: int, *, weighted: bool) -> dict[str, Any] | None:
        """Depth and weight of a leaf as scikit-learn's parameters; None if no cut is possible."""
        share = self.min_weight / total_weight
        if share > 0.5 or self.max_depth == 0:
            return None
        return {
            "max_depth": self.max_depth,
            "min_samples_leaf": 1 if weighted else self.min_weight,
            # Slightly less, so that rounding does not refuse a leaf of exactly that weight.
            "min_weight_fraction_leaf": share * (1.0 - 1e-9) if weighted else 0.0,
        }

    def may_cut(self, depth: int, weight: Callable[[], int]) -> bool:
        """Whether a leaf with so many cuts above it may be cut at all.

        ``weight``: of its rows, asked for only where it matters.
        """
        if self.max_depth is not None and depth >= self.max_depth:
            return False
        return not self.restrict_leaves or weight() >= 2 * self.min_weight

    def permits_sides(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.bool_]:
        """For each of many cuts whether it may leave these weights on its sides."""
        return (left >= self.min_weight) & (right >= self.min_weight)

    def permits(self, cut: ProposedCut, *, priced: bool = True) -> bool:
        """Whether a leaf may be cut in this way.

        ``priced``: whether a cut on a feature that has a price must save that much surrogate cost.
        """
        if not cut.is_allowed or not self.may_cut(cut.depth, lambda: cut.weight):
            return False
        if self.restrict_leaves and cut.lighter_weight < self.min_weight:
            return False
        # A price that is a share of nothing is zero, but the cut must still save something.
        if not priced or self.feature_costs is None or self.feature_costs[cut.feature] == 0.0:
            return True
        return cut.saved > cut.price

    def worth_making(self, saved: int, price: Callable[[], int]) -> bool:
        """Whether a cut that saves so much, net of its price, is made in an expansion.

        One that saves nothing is, because later cuts may; but not one on a feature with a price.
        """
        return saved > 0 or (saved == 0 and not price())
