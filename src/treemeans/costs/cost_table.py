"""The cost table: what it costs to give each row to each cluster, in fixed point.

Integer sums do not depend on their order, so every search gives the same tree for any number of
threads; and the difference of two sums is exact.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
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

Prices = tuple[Floats, NDArray[np.int32], Floats]
"""Of each row, the cost of its cheapest center, which that is, and its regrets at all centers."""

PACKED_ROWS = 1 << 16
"""From so many rows on regrets are worth packing."""
MOST_PACKED = 256
"""Clusters of which regrets can be packed."""

_BLOCK = 1 << 14  # rows whose costs are packed at a time; a multiple of those of `total_regrets`
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
    def of_rows(cls, totals: Floats, base: Floats, weights: Floats | None) -> Self:
        """The scales for sums of the regrets of each center, base costs and weights of rows."""
        # `of` refuses what overflows, or is infinite in a row without weight.
        with np.errstate(over="ignore", invalid="ignore"):
            total_base = float(base.sum() if weights is None else base @ weights)
        return cls.of(
            float(totals.max(initial=0.0)),
            total_base,
            None if weights is None else as_float(exact_sum(weights)),
            weights is None or bool(np.all(weights == np.floor(weights))),
        )

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

    @property
    def for_search(self) -> NDArray[np.int64]:
        """What the searches of growth read."""
        return self.values

    @property
    def n_columns(self) -> int:
        """Numbers of a row."""
        return int(self.values.shape[1])


@dataclass(frozen=True)
class PackedRegrets:
    """Regrets as `Fixed` numbers, the same ones, in about half of the memory.

    They are computed when a search first asks for them: base trees such as IMM do not.

    Attributes
    ----------
    price : the costs of a block of rows in floats
    nearest, weights, scales, n_threads : as in `CostTable.rounded`
    n_columns : number of clusters
    """

    price: Callable[[slice], Prices]
    nearest: NDArray[np.int32]
    weights: Floats | None
    scales: Scales
    n_columns: int
    n_threads: int

    @property
    def unit(self) -> float:
        """As in `Fixed`."""
        return 1.0 / self.scales.regrets

    @cached_property
    def for_search(self) -> NDArray[np.int64] | _core.PackedRegrets:
        """What the searches of growth read; not packed if a regret is too large for that."""
        n = len(self.nearest)
        packed = _core.packed_regrets(self.nearest, self.n_columns)
        for block in _blocks(n):
            if not packed.pack(block.start, self._rounded(block)):
                return np.concatenate([self._rounded(each) for each in _blocks(n)])
        return packed

    @cached_property
    def values(self) -> NDArray[np.int64]:
        """The numbers, n x k, for all others that read them."""
        found = self.for_search
        return found if isinstance(found, np.ndarray) else found.unpack()

    def _rounded(self, block: slice) -> NDArray[np.int64]:
        weights = None if self.weights is None else self.weights[block]
        regrets, scales = self.price(block)[2], self.scales
        return Fixed.of(regrets, scales.regrets, weights, scales.copies, self.n_threads).values

    def to_float(self, sums: NDArray[np.int64]) -> NDArray[np.float64]:
        """Sums of the values, as floats."""
        return np.asarray(sums * self.unit, dtype=np.float64)


def node_costs(base: Floats, regrets: Floats) -> Floats:
    """Costs of nodes at each center, from the sums of their rows' least costs and regrets.

    Those at a far center may overflow where those of the labels do not; they are the largest float.
    """
    with np.errstate(over="ignore"):
        return np.minimum(base[:, None] + regrets, np.finfo(np.float64).max)


def _blocks(n: int) -> Iterator[slice]:
    """Rows, a block at a time."""
    return (slice(i, min(i + _BLOCK, n)) for i in range(0, n, _BLOCK))


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
    weighted_rows : the rows with a positive weight; None where all have one
    is_labelled : whether the clusters in ``nearest`` may not be the cheapest
    """

    nearest: NDArray[np.int32]
    regrets: Fixed | PackedRegrets
    base: Fixed
    weights: Fixed | None
    weighted_rows: NDArray[np.int32] | None
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
        scales = Scales.of_rows(totals, base, weights)
        return cls.rounded(base, nearest, regret, weights, scales, n_threads)

    @classmethod
    def packed(
        cls,
        price: Callable[[slice], Prices],
        n: int,
        k: int,
        weights: NDArray[np.float64] | None,
        n_threads: int,
    ) -> Self:
        """The same table with packed regrets.

        ``price``: the costs of some rows in floats. It is asked twice for each block of rows: their
        sums say how the regrets are rounded, so that those of all rows are never there as floats.
        """
        base, nearest = np.empty(n), np.empty(n, dtype=np.int32)
        totals: Floats = np.zeros(k)
        for block in _blocks(n):
            base[block], nearest[block], regret = price(block)
            some = None if weights is None else weights[block]
            totals = _core.total_regrets(regret, some, n_threads, totals)
        scales = Scales.of_rows(totals, base, weights)
        table = cls.rounded(base, nearest, np.empty((n, 0)), weights, scales, n_threads)
        regrets = PackedRegrets(price, nearest, weights, scales, k, n_threads)
        return replace(table, regrets=regrets)

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
            weighted_rows=None if weights is None else np.flatnonzero(weights).astype(np.int32),
        )

    @property
    def rows(self) -> NDArray[np.int32]:
        """The rows with a positive weight; the caller may change the array."""
        if self.weighted_rows is None:
            return np.arange(len(self.nearest), dtype=np.int32)
        return self.weighted_rows.copy()

    @property
    def n_rows(self) -> int:
        """The number of rows with a positive weight."""
        return len(self.nearest if self.weighted_rows is None else self.weighted_rows)

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
        return self.regrets.n_columns

    @property
    def total_weight(self) -> int:
        """Weight of all rows: their number, or in units of the weights."""
        return self.n_rows if self.weights is None else int(self.weights.values.sum())

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
        n = max(float(self.n_rows), self.total_weight * self.weight_unit)
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
