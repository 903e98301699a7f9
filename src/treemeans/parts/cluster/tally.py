"""What a pass over the rows finds out about centers: their cost, and the means of their rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from treemeans import _core
from treemeans.exact import as_float, exact_sum
from treemeans.parts.block import Block
from treemeans.parts.cluster.draws import Draw, Sample
from treemeans.parts.cluster.sums import Columns, add_by_group, slices
from treemeans.parts.question import Question
from treemeans.reference import Reference
from treemeans.tables import as_points

OVERFLOW = (
    "The squared distances overflow: the values are too large. "
    "Scale the data, for example with StandardScaler."
)


@dataclass(frozen=True)
class Tally:
    """The rows of each center.

    Attributes
    ----------
    cost : of all rows, without rounding; see ``exact_sum``
    sums : (k, columns + 1), of the rows nearest to each center
    sample : rows drawn, if any were to be
    """

    cost: int
    sums: NDArray[np.int64]
    sample: Sample | None

    @property
    def total(self) -> float:
        """Cost of all rows."""
        return as_float(self.cost)


@dataclass(frozen=True)
class Lottery:
    """Rows are drawn by what they cost, and evenly from every cluster.

    That is what rows have to be drawn by so that any centers cost about the same on a few
    weighted ones as on all (a coreset: Feldman and Langberg 2011).

    Attributes
    ----------
    per_cost : share of a row for each unit of its cost
    per_weight : (k,), share of a row of each center for each unit of its weight
    """

    draw: Draw
    per_cost: float
    per_weight: NDArray[np.float64]

    def sample(
        self,
        first: int,
        X: NDArray[np.generic],
        base: NDArray[np.float64],
        nearest: NDArray[np.int32],
        weights: NDArray[np.float64] | None,
    ) -> Sample:
        """Of rows from number ``first`` on."""
        shares = base * self.per_cost + self.per_weight[nearest]
        if weights is not None:
            shares *= weights
        return self.draw.sample(first, X, shares, weights)


@dataclass(frozen=True)
class TakeTally(Question[Tally]):
    """Give every row to its nearest center.

    Attributes
    ----------
    reference : the centers, and the space they live in
    columns : of that space; or of X, if the sums are to be ``in_columns``
    lottery : how to draw rows; None to draw none
    """

    reference: Reference
    columns: Columns
    lottery: Lottery | None = None
    in_columns: bool = False

    def ask(self, block: Block) -> Tally:
        """The tally of one block."""
        space = self.reference.space(block.X, block.raw)
        summed = block.X if self.in_columns else space
        k = self.reference.n_clusters
        tally = Tally(0, np.zeros((k, summed.shape[1] + 1), dtype=np.int64), None)
        for rows in slices(block.n_rows):
            weights = None if block.weights is None else block.weights[rows]
            base, nearest, _ = _core.price(as_points(space[rows]), self.reference.centers, 1)
            costs = base if weights is None else base * weights
            if not np.isfinite(costs).all():
                raise ValueError(OVERFLOW)
            lines = self.columns.lines(summed[rows], weights)
            sample = None
            if self.lottery is not None:
                first = block.first + rows.start
                sample = self.lottery.sample(first, space[rows], base, nearest, weights)
            sums = add_by_group(lines, nearest, k)
            tally = self.merge(tally, Tally(exact_sum(costs), sums, sample))
        return tally

    def merge(self, one: Tally, other: Tally) -> Tally:
        """The tally of both."""
        drawn = [sample for sample in (one.sample, other.sample) if sample is not None]
        return replace(
            one,
            cost=one.cost + other.cost,
            sums=one.sums + other.sums,
            sample=drawn[0].merge(drawn[1]) if len(drawn) == 2 else next(iter(drawn), None),
        )
