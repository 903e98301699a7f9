"""GroupStatistics: what k-means costs of groups of rows, and of unions of them, follow from."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Moments = Callable[[Floats], tuple[Floats, Floats]]
"""For an origin of each group, weighted sums of its rows less the origin, and of the squares."""

_EPSILON = float(np.finfo(np.float64).eps)
_ENOUGH_DIGITS = 1e-10
"""Costs that may be off by more than this share of themselves are measured again."""


@dataclass(frozen=True)
class GroupStatistics:
    """What the cost of groups of rows, and of any unions of them, can be told from.

    Every cost here is a sum of terms that are not negative, so that none is lost to another,
    however far the rows are from the reference centers.

    Attributes
    ----------
    weight : (m,), weight of the rows of each group
    sums : (m, dimension), weighted sums of the rows less ``shift``
    shift : (dimension,), a point near the rows
    within : (m,), cost of the rows about the mean of their group; None in a space where costs are
        not measured
    mean_parts : mean of each group in two floats that add up to it, where the rows were measured
        from near it: one float holds too few digits for a center beside a mean far from the shift
    """

    weight: Floats
    sums: Floats
    shift: Floats
    within: Floats | None = None
    mean_parts: tuple[Floats, Floats] | None = None

    @cached_property
    def offset(self) -> Floats:
        """Mean of each group less the shift; zero for a group without rows."""
        return _divided(self.sums, self.weight)

    def means(self, fallback: Floats) -> Floats:
        """Mean of each group; ``fallback`` for a group without rows."""
        return np.where(self.weight[:, None] > 0, self.shift + self.offset, fallback)

    def spread(self, squares: Floats) -> Floats:
        """Standard deviation of each column; ``squares``: sums over all rows less the shift.

        It is not finite where the sums or the squares overflow.
        """
        total = self.weight.sum()
        with np.errstate(over="ignore", invalid="ignore"):
            mean = self.sums.sum(axis=0) / total
            return np.asarray(np.sqrt(np.maximum(squares / total - mean * mean, 0.0)))

    def union_costs(self, unions: Sequence[tuple[int, list[int]]]) -> Floats:
        """Cost of each union of some groups about its mean, as `merged` gives it, for less work.

        ``unions``: clusters, by their number, which this cost does not depend on, and members.
        """
        assert self.within is not None
        if not unions:
            return np.zeros(0)
        n = len(unions)
        members = np.array([group for _, union in unions for group in union], dtype=np.intp)
        union_of = np.repeat(np.arange(n), [len(union) for _, union in unions])
        own = self.weight[members]
        # Sums in the order of the groups, as `merged` makes them: `bincount` adds one by one.
        weight = np.bincount(union_of, own, minlength=n)
        sums = np.zeros((n, self.sums.shape[1]))
        np.add.at(sums, union_of, self.sums[members])
        # A union without weight has no mean: its groups are at the shift, and so is it.
        means = sums / np.where(weight > 0, weight, 1.0)[:, None]
        costs = self.within[members] + own * _squared(self.offset[members] - means[union_of])
        return np.bincount(union_of, costs, minlength=n).astype(np.float64)

    def merged(self, into: NDArray[np.int32], n_groups: int) -> GroupStatistics:
        """Unions of the groups; ``into`` is the union that each of them joins."""
        weight = np.bincount(into, self.weight, minlength=n_groups).astype(np.float64)
        sums = np.zeros((n_groups, self.sums.shape[1]))
        np.add.at(sums, into, self.sums)
        if self.within is None:
            return GroupStatistics(weight, sums, self.shift)
        between = self.weight * _squared(self.offset - _divided(sums, weight)[into])
        within = np.bincount(into, self.within + between, minlength=n_groups)
        return GroupStatistics(weight, sums, self.shift, within.astype(np.float64))

    def costs_to(self, centers: Floats) -> Floats:
        """(m, n_centers), cost of the rows of each group to each center.

        No digit of a near center is lost to one that is far away, as in fixed point. Costs to a
        far center may overflow where those to the nearest do not; they are infinite.
        """
        assert self.within is not None
        weight = self.weight[:, None]
        with np.errstate(over="ignore", invalid="ignore"):
            if self.mean_parts is None:
                from_shift = centers - self.shift
                away = np.stack([_squared(self.offset - center) for center in from_shift], axis=1)
            else:
                mean, rest = self.mean_parts
                away = np.stack([_squared((mean - center) + rest) for center in centers], axis=1)
            return self.within[:, None] + np.where(weight > 0.0, weight * away, 0.0)

    def without_rows(self) -> GroupStatistics:
        """The same: sums hold no rows."""
        return self

    @property
    def cost(self) -> float:
        """Cost of all rows, each to the mean of its group."""
        assert self.within is not None
        return float(self.within.sum())

    @classmethod
    def of(
        cls,
        sums: GroupStatistics,
        costs: Floats,
        centers: Floats,
        rounding: float,
        moments: Moments | None,
    ) -> GroupStatistics:
        """Add the costs about the means to weights and sums.

        Where the centers are near, they follow from the costs to the centers:

            cost about the mean = cost to a center - weight * |mean - center|^2

        Where the difference keeps too few digits, ``moments`` measures them.

        Parameters
        ----------
        sums : without ``within``
        costs : (m, n_centers), cost of the rows of each group to each center
        rounding : most that the sum of ``costs`` to a center may be off by
        moments : None where the rows are no longer there
        """
        weight, offset = sums.weight, sums.offset
        nearest = costs.argmin(axis=1)
        least = costs[np.arange(len(costs)), nearest]
        # Squares overflow where values above 1e150 are rounded; the rows are measured then.
        with np.errstate(over="ignore", invalid="ignore"):
            away = _squared(offset - (centers[nearest] - sums.shift))
            within = np.fmax(least - weight * away, 0.0)
            length = _squared(offset)
            error = rounding + _EPSILON * (
                8.0 * float(least.sum())
                + 4.0 * float(weight @ (np.sqrt(length) * np.sqrt(away)))
                # The means are off by rounding too, and so are the distances between them.
                + 4.0 * math.sqrt(float(weight @ length)) * math.sqrt(float(within.sum()))
            )
        if moments is None or error <= _ENOUGH_DIGITS * within.sum():
            return cls(weight, sums.sums, sums.shift, within)
        return sums.measured(moments)

    def measured(self, moments: Moments) -> GroupStatistics:
        """Weights, sums and costs about the means, from another look at the rows or several."""
        origin = self.shift + self.offset
        for looks in range(1, 5):
            sums, squares = moments(origin)
            step = _divided(sums, self.weight)
            moved = self.weight * _squared(step)
            within = np.maximum(squares.sum(axis=1) - moved, 0.0)
            # Far from the mean, the two terms of `within` cancel: look again from nearer by.
            near = moved.sum() <= 1e-3 * within.sum() or np.array_equal(origin + step, origin)
            if near or looks == 4:
                break
            origin = origin + step
        # Where most groups are: one that is far from the others takes no digits off them. The
        # lower median, since the mean of two may be near none.
        known = np.sort(origin[self.weight > 0], axis=0)
        shift = known[(len(known) - 1) // 2]
        offset = (origin - shift) + step
        sums = self.weight[:, None] * offset
        return GroupStatistics(self.weight, sums, shift, within, (origin, step))


def rounded_mean(rows: NDArray[np.generic]) -> NDArray[np.float64]:
    """Mean of some rows, rounded to about a quarter of their spread: a shift for sums.

    A shift only has to be near the rows, so that subtracting it keeps the digits in which they
    differ. It is saved with the model, so it must not be one of the rows.

    Examples
    --------
    >>> rounded_mean(np.array([[1000.3, 7.0], [1000.9, 7.0], [1003.7, 7.0]])).tolist()
    [1001.5, 7.0]
    """
    few = np.asarray(rows[:: max(1, len(rows) // 1000)], dtype=np.float64)
    # Halves, and a division before the sum, so that values near the largest float do not overflow.
    mean = (few / len(few)).sum(axis=0)
    half_width = np.abs(few / 2 - mean / 2).max(axis=0)
    _, exponent = np.frexp(half_width)
    unit = np.where(half_width > 0, np.ldexp(1.0, np.maximum(exponent - 2, -1000)), 0.0)
    rounded = np.round(mean / np.where(unit > 0, unit, 1.0)) * unit
    return np.asarray(np.where(unit > 0, rounded, mean))


def weights_near_one(weights: NDArray[np.float64] | None) -> NDArray[np.float64] | None:
    """Weights divided by the power of two that is near their largest.

    Means stay the same, and sums of values above 1e150 times weights above 1e150 do not overflow.
    """
    if weights is None:
        return None
    _, exponent = np.frexp(weights.max(initial=0.0))
    return np.asarray(np.ldexp(weights, -exponent), dtype=np.float64)


def shift_near(rows: Floats, centers: Floats) -> Floats:
    """What to take off values before they are added up, so that a large offset costs no digits.

    It is the mean of the centers; in columns where that is nowhere near ``rows``, which are a few
    of all rows, it is about their mean.
    """
    middle: Floats = centers.mean(axis=0)
    if not len(rows):
        return middle
    low, high = rows.min(axis=0), rows.max(axis=0)
    reach = 1024.0 * float((high - low).max(initial=0.0))
    far = (middle < low - reach) | (middle > high + reach)
    return np.where(far, rounded_mean(rows), middle) if far.any() else middle


def _divided(sums: Floats, weight: Floats) -> Floats:
    """Sums of groups by their weights; zero for a group without rows."""
    weights = weight[:, None]
    return np.asarray(np.divide(sums, weights, out=np.zeros_like(sums), where=weights > 0))


def _squared(vectors: Floats) -> Floats:
    return np.asarray(np.einsum("ij,ij->i", vectors, vectors))
