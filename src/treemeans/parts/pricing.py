"""What the rows of a block cost: as on one machine, row by row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from treemeans import _core
from treemeans.costs import CostTable, Fixed, Scales
from treemeans.exact import as_float, exact_sum
from treemeans.parts.block import Block
from treemeans.parts.question import Question
from treemeans.parts.sketch import Sketch
from treemeans.reference import Reference
from treemeans.tables import as_points


def space_of(block: Block, reference: Reference) -> _core.Points:
    """The rows where the reference's centers live."""
    if reference.pipeline is None:
        return block.points
    return as_points(reference.space(block.X, block.raw))


@dataclass(frozen=True)
class Pricing:
    """The centers, and how costs are rounded."""

    reference: Reference
    scales: Scales

    def price(self, block: Block) -> CostTable:
        """Costs of a block's rows."""
        prices = _core.price(space_of(block, self.reference), self.reference.centers, 1)
        return CostTable.rounded(*prices, block.weights, self.scales, 1)


@dataclass(frozen=True)
class Bill:
    """What all rows come to.

    Attributes
    ----------
    regrets : exact sums of each center's
    base : exact sum of the rows' cheapest costs
    nearest : (k,), how many rows each center is nearest to
    weight : of all rows, in units of the weights; 0 where they have none
    """

    regrets: list[int]
    base: int
    nearest: NDArray[np.int64]
    weight: int

    @property
    def n_rows(self) -> int:
        """Rows of all parts."""
        return int(self.nearest.sum())

    @property
    def cheapest(self) -> float:
        """Cost of giving every row to its cheapest center."""
        return as_float(self.base)

    def scales(self, sketch: Sketch) -> Scales:
        """How to round the costs of these rows."""
        weight = sketch.weight if sketch.weighted else None
        return Scales.of(as_float(max(self.regrets)), self.cheapest, weight, sketch.whole)


@dataclass(frozen=True)
class AddUp(Question[Bill]):
    """Price all rows, exactly.

    ``weights``: how their weights are rounded, if they have some.
    """

    reference: Reference
    weights: Scales | None

    @classmethod
    def of(cls, reference: Reference, sketch: Sketch) -> Self:
        """For rows that have been sketched."""
        weights = Scales.of(0.0, 0.0, sketch.weight, sketch.whole) if sketch.weighted else None
        return cls(reference, weights)

    def ask(self, block: Block) -> Bill:
        """The bill of one block."""
        centers = self.reference.centers
        base, nearest, regret = _core.price(space_of(block, self.reference), centers, 1)
        if block.weights is not None:
            base = base * block.weights
            regret = regret * block.weights[:, None]
        weight = 0
        if block.weights is not None and self.weights is not None:
            scale, copies = self.weights.weights, self.weights.copies
            assert scale is not None
            units = Fixed.of(np.ones(block.n_rows), scale, block.weights, copies, 1)
            weight = int(units.values.sum())
        if not (np.isfinite(regret).all() and np.isfinite(base).all()):
            Scales.of(np.inf, np.inf, None, True)  # says what is wrong
        return Bill(
            [exact_sum(column) for column in regret.T],
            exact_sum(base),
            np.bincount(nearest, minlength=len(centers)),
            weight,
        )

    def merge(self, one: Bill, other: Bill) -> Bill:
        """The bill of both."""
        regrets = [a + b for a, b in zip(one.regrets, other.regrets, strict=True)]
        return Bill(
            regrets, one.base + other.base, one.nearest + other.nearest, one.weight + other.weight
        )
