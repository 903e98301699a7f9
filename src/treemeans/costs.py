"""The cost table: what it costs to give each row to each cluster, in fixed point.

Integer sums do not depend on their order, so every search gives the same tree for any number of
threads; and the difference of two sums is exact.
"""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from treemeans import _core

_BITS = 60  # the largest total has at most one bit more, and a sum of two still fits 63 bits


@dataclass(frozen=True)
class Fixed:
    """Numbers as multiples of a power of two, ``unit``."""

    values: NDArray[np.int64]
    unit: float

    @classmethod
    def of(
        cls,
        values: NDArray[np.float64],
        total: float,
        weights: NDArray[np.float64] | None,
        n_threads: int,
    ) -> Self:
        """Round ``values`` (n or n x k, overwritten) times ``weights``, of sum ``total``."""
        scale = _scale(total)
        whole = weights is not None and _countable(weights)
        _core.to_fixed(values.reshape(len(values), -1), weights, whole, scale, n_threads)
        return cls(values.view(np.int64), 1.0 / scale)

    def to_float(self, sums: NDArray[np.int64]) -> NDArray[np.float64]:
        """Sums of the values, as floats."""
        return np.asarray(sums * self.unit, dtype=np.float64)


def _countable(weights: NDArray[np.float64]) -> bool:
    """Whether the weights are numbers of copies, of rows a table could hold."""
    return bool(weights.sum() < 2**31 and np.all(weights == np.floor(weights)))


def _scale(total: float) -> float:
    """The power of two that takes ``total`` to between 2**60 and 2**61, if a float can hold it."""
    if total == 0.0:
        return 1.0
    return math.ldexp(1.0, min(max(_BITS + 1 - math.frexp(total)[1], -1000), 1000))


@dataclass(frozen=True)
class CostTable:
    """Costs of n rows and k centers, times the rows' weights.

    Attributes
    ----------
    nearest : the cheapest center of each row, the lowest index among equals
    regrets : n x k, cost of a center less that of the row's cheapest
    base : n, cost of the cheapest
    weights : n, the rows' weights; None where all are 1
    rows : the rows with a positive weight
    """

    nearest: NDArray[np.int32]
    regrets: Fixed
    base: Fixed
    weights: Fixed | None
    rows: NDArray[np.int32]

    @classmethod
    def price(
        cls,
        points: _core.Points,
        centers: NDArray[np.float64],
        weights: NDArray[np.float64] | None,
        n_threads: int,
    ) -> Self:
        """Squared distances from all points to all centers."""
        base, nearest, regret = _core.price(points, centers, n_threads)
        n = len(base)
        totals = _core.total_regrets(regret, weights, n_threads)
        base_total = float(base.sum() if weights is None else base @ weights)
        if not (np.isfinite(totals).all() and np.isfinite(base_total)):
            raise ValueError(
                "The squared distances overflow: the values are too large. "
                "Scale the data, for example with StandardScaler."
            )
        return cls(
            nearest=nearest,
            regrets=Fixed.of(regret, float(totals.max(initial=0.0)), weights, n_threads),
            base=Fixed.of(base, base_total, weights, n_threads),
            weights=None
            if weights is None
            else Fixed.of(np.ones(n), float(weights.sum()), weights, n_threads),
            rows=np.arange(n, dtype=np.int32)
            if weights is None
            else np.flatnonzero(weights).astype(np.int32),
        )

    @property
    def n_clusters(self) -> int:
        """K."""
        return int(self.regrets.values.shape[1])

    @property
    def total_weight(self) -> int:
        """Weight of all rows: their number, or in units of the weights."""
        return len(self.rows) if self.weights is None else int(self.weights.values.sum())

    @property
    def whole(self) -> float:
        """Cost of giving every row to its cheapest center, in units of the regrets."""
        return self.cheapest / self.regrets.unit

    @property
    def cheapest(self) -> float:
        """Cost of giving every row to its cheapest center."""
        return float(self.base.values.sum() * self.base.unit)
