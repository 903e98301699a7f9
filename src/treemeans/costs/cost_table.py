"""The cost table: what it costs to give each row to each cluster, in fixed point.

Integer sums do not depend on their order, so every search gives the same tree for any number of
threads; and the difference of two sums is exact.
"""

import math
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from treemeans import _core
from treemeans.exact_sum import as_float, exact_sum

Floats = NDArray[np.float64]

TOO_LARGE = (
    "The squared distances overflow: the values are too large. "
    "Scale the data, for example with StandardScaler."
)
TOO_LARGE_WEIGHTED = (
    "The squared distances times the sample weights overflow: the values or the weights are too "
    "large. Scale the data, for example with StandardScaler, and divide the weights by their mean."
)
TOO_SMALL = (
    "The squared distances underflow: the values are too small. "
    "Scale the data, for example with StandardScaler."
)
SMALLEST = 1e-140
"""Squares of smaller numbers have lost digits: the smallest float is 5e-324."""

_BITS = 60  # the largest total has at most one bit more, and a sum of two still fits 63 bits


@dataclass(frozen=True)
class Scales:
    """The powers of two that take costs and weights to fixed point.

    They follow from sums over all rows, so that every part of them is rounded alike.

    Attributes
    ----------
    regrets, base : of the costs
    weights : of the weights; None where rows have none
    copies : whether the weights are numbers of copies, of rows a table could hold
    """

    regrets: float
    base: float
    weights: float | None = None
    copies: bool = False

    @classmethod
    def of(cls, regrets: float, base: float, weights: float | None, whole: bool) -> Self:
        """The scales for the largest sum of a center's regrets, of base costs and of weights.

        ``whole``: whether every weight is an integer.
        """
        if not (math.isfinite(regrets) and math.isfinite(base)):
            raise ValueError(TOO_LARGE if weights is None else TOO_LARGE_WEIGHTED)
        if weights is None:
            return cls(_scale(regrets), _scale(base))
        return cls(_scale(regrets), _scale(base), _scale(weights), whole and weights < 2**31)


def _scale(total: float) -> float:
    """The power of two that takes ``total`` to between 2**60 and 2**61, if a float can hold it."""
    if total == 0.0:
        return 1.0
    return math.ldexp(1.0, min(max(_BITS + 1 - math.frexp(total)[1], -1000), 1000))


@dataclass(frozen=True)
class Fixed:
    """Numbers as multiples of a power of two, ``unit``."""

    values: NDArray[np.int64]
    unit: float

    @classmethod
    def of(
        cls,
        values: NDArray[np.float64],
        scale: float,
        weights: NDArray[np.float64] | None,
        copies: bool,
        n_threads: int,
    ) -> Self:
        """Round ``values`` (n or n x k, overwritten) times ``weights``, times ``scale``."""
        _core.to_fixed(values.reshape(len(values), -1), weights, copies, scale, n_threads)
        return cls(values.view(np.int64), 1.0 / scale)

    def to_float(self, sums: NDArray[np.int64]) -> NDArray[np.float64]:
        """Sums of the values, as floats."""
        return np.asarray(sums * self.unit, dtype=np.float64)


def node_costs(base: Floats, regrets: Floats) -> Floats:
    """Costs of nodes at each center, from the sums of their rows' least costs and regrets.

    Those at a far center may overflow where those of the labels do not; they are the largest float.
    """
    with np.errstate(over="ignore"):
        return np.minimum(base[:, None] + regrets, np.finfo(np.float64).max)


def _cheapest(costs: Floats) -> tuple[Floats, NDArray[np.int32]]:
    """The least value of each row and the first place it is at, column by column.

    numpy's reductions of short rows take several times as long.
    """
    least = costs[:, 0].copy()
    place = np.zeros(len(costs), dtype=np.int32)
    for c in range(1, costs.shape[1]):
        place[costs[:, c] < least] = c
        np.minimum(least, costs[:, c], out=least)
    return least, place


@dataclass(frozen=True)
class CostTable:
    """Costs of n rows and k centers, times the rows' weights.

    Attributes
    ----------
    nearest : the cluster that the reference gives each row: the cheapest, the lowest index among
        equals, unless the reference has labels of its own
    regrets : n x k, cost of a center less that of the row's cheapest
    base : n, cost of the cheapest
    weights : n, the rows' weights; None where all are 1
    rows : the rows with a positive weight
    is_labelled : whether the clusters in ``nearest`` may not be the cheapest
    """

    nearest: NDArray[np.int32]
    regrets: Fixed
    base: Fixed
    weights: Fixed | None
    rows: NDArray[np.int32]
    is_labelled: bool = False

    @classmethod
    def of(
        cls,
        base: NDArray[np.float64],
        nearest: NDArray[np.int32],
        regret: NDArray[np.float64],
        weights: NDArray[np.float64] | None,
        n_threads: int,
    ) -> Self:
        """The table of costs in floats, which are overwritten."""
        totals = _core.total_regrets(regret, weights, n_threads)
        # `Scales.of` refuses what overflows, or is infinite in a row without weight.
        with np.errstate(over="ignore", invalid="ignore"):
            total_base = float(base.sum() if weights is None else base @ weights)
        scales = Scales.of(
            float(totals.max(initial=0.0)),
            total_base,
            None if weights is None else as_float(exact_sum(weights)),
            weights is None or bool(np.all(weights == np.floor(weights))),
        )
        return cls.rounded(base, nearest, regret, weights, scales, n_threads)

    @classmethod
    def rounded(
        cls,
        base: NDArray[np.float64],
        nearest: NDArray[np.int32],
        regret: NDArray[np.float64],
        weights: NDArray[np.float64] | None,
        scales: Scales,
        n_threads: int,
    ) -> Self:
        """The table of prices in floats, which are overwritten."""
        n, copies = len(base), scales.copies
        units = None
        if weights is not None:
            assert scales.weights is not None
            units = Fixed.of(np.ones(n), scales.weights, weights, copies, n_threads)
        return cls(
            nearest=nearest,
            regrets=Fixed.of(regret, scales.regrets, weights, copies, n_threads),
            base=Fixed.of(base, scales.base, weights, copies, n_threads),
            weights=units,
            rows=np.arange(n, dtype=np.int32)
            if weights is None
            else np.flatnonzero(weights).astype(np.int32),
        )

    def with_prices(self, prices: Floats) -> Self:
        """The same table, with something added to what each row costs at each cluster.

        ``prices``: (n, k), times the rows' weights; of a row, only differences count.
        """
        costs = self.regrets.to_float(self.regrets.values)
        costs += prices
        costs -= _cheapest(prices)[0][:, None]
        least, nearest = _cheapest(costs)
        costs -= least[:, None]
        least += self.base.to_float(self.base.values)
        scales = Scales.of(float(costs.sum(axis=0).max()), float(least.sum()), None, False)
        costs *= scales.regrets
        regrets, base = np.rint(costs, out=costs), np.rint(least * scales.base)
        return replace(
            self,
            nearest=nearest,
            regrets=Fixed(regrets.astype(np.int64), 1.0 / scales.regrets),
            base=Fixed(base.astype(np.int64), 1.0 / scales.base),
        )

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.regrets.values.shape[1])

    @property
    def total_weight(self) -> int:
        """Weight of all rows: their number, or in units of the weights."""
        return len(self.rows) if self.weights is None else int(self.weights.values.sum())

    def weight_of(self, members: NDArray[np.bool_]) -> int:
        """Weight of some of the rows, in units of the weights."""
        if self.weights is None:
            return int(np.count_nonzero(members[self.rows]))
        return int(self.weights.values[members].sum())

    @property
    def weight_unit(self) -> float:
        """What a unit of the weights stands for."""
        return 1.0 if self.weights is None else self.weights.unit

    @property
    def rounding(self) -> float:
        """What rounding to fixed point can add to or take off the cost of all rows, at most."""
        n = max(float(len(self.rows)), self.total_weight * self.weight_unit)
        return n * (self.base.unit + (self.regrets.unit if self.n_clusters > 1 else 0.0)) / 2

    @property
    def whole(self) -> float:
        """Cost of giving every row to its cheapest center, in units of the regrets."""
        return self.cheapest / self.regrets.unit

    @property
    def reference(self) -> float:
        """Cost of the reference: every row at the cluster that the reference gives it."""
        if not self.is_labelled:
            return self.cheapest
        beyond = self.regrets.values[self.rows, self.nearest[self.rows]].sum()
        return self.cheapest + float(beyond * self.regrets.unit)

    @property
    def cheapest(self) -> float:
        """Cost of giving every row to its cheapest center."""
        return float(self.base.values.sum() * self.base.unit)
