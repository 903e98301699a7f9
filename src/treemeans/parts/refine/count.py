"""What arrives in the leaves of trees, each with its own centers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemeans import _core
from treemeans.costs import CostTable, Scales
from treemeans.parts.block import Block
from treemeans.parts.cluster.sums import Columns, add_by_group, slices
from treemeans.parts.growth.field import Field
from treemeans.parts.growth.survey import Routes
from treemeans.parts.pricing import Pricing
from treemeans.parts.question import Question
from treemeans.parts.refine.standin import costs_of_all, dense
from treemeans.tables import as_points

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Trial:
    """A tree and centers that it may have; the groups of its routes are its leaves."""

    routes: Routes
    n_leaves: int
    pricing: Pricing


@dataclass(frozen=True)
class Count:
    """What the rows of a tree's leaves come to.

    Attributes
    ----------
    base : cost of all rows, each with its cheapest center
    regrets : (n_leaves, k), of the rows of each leaf
    weight : (n_leaves,), of them: their number, or in units of the weights
    sums : (n_leaves, dimension of the space + 1), of them in fixed point
    """

    base: int
    regrets: Integers
    weight: Integers
    sums: Integers


@dataclass(frozen=True)
class CountLeaves(Question[list[Count]]):
    """Send all rows down some trees, and add up what arrives in their leaves.

    ``columns``: of the space that the centers of all of them live in.
    """

    trials: list[Trial]
    columns: Columns

    def ask(self, block: Block) -> list[Count]:
        """Of one block."""
        reference = self.trials[0].pricing.reference
        space = block.X if reference.pipeline is None else reference.space(block.X, block.raw)
        return [self._count(block, space, trial) for trial in self.trials]

    def merge(self, one: list[Count], other: list[Count]) -> list[Count]:
        """Of both."""
        return [
            Count(a.base + b.base, a.regrets + b.regrets, a.weight + b.weight, a.sums + b.sums)
            for a, b in zip(one, other, strict=True)
        ]

    def _count(self, block: Block, space: Any, trial: Trial) -> Count:
        groups, m = trial.routes.of_points(block.points), trial.n_leaves
        prices = _core.price(as_points(space), trial.pricing.reference.centers, 1)
        costs = CostTable.rounded(*prices, block.weights, trial.pricing.scales, 1)
        weight = np.ones(block.n_rows, dtype=np.int64)
        if costs.weights is not None and block.weights is not None:
            weight = np.where(block.weights > 0, np.maximum(costs.weights.values, 1), 0)
        return Count(
            int(costs.base.values.sum()),
            add_by_group(costs.regrets.values, groups, m),
            add_by_group(weight[:, None], groups, m)[:, 0],
            self._sums(space, groups, m, block.weights),
        )

    def _sums(
        self, space: Any, groups: NDArray[np.int32], n_leaves: int, weights: Floats | None
    ) -> Integers:
        sums = np.zeros((n_leaves, space.shape[1] + 1), dtype=np.int64)
        for rows in slices(space.shape[0]):
            some = None if weights is None else weights[rows]
            lines = self.columns.lines(dense(space[rows]), some)
            sums += add_by_group(lines, groups[rows], n_leaves)
        return sums


def pricing_to(field: Field, centers: Floats) -> Pricing:
    """How rows are priced by other centers than the reference's.

    What all rows cost with a new center is at most twice what they cost with an old one and its
    distance to that: so no pass is needed to know how costs are to be rounded.
    """
    reference, sketch = field.reference, field.sketch
    apart = ((centers[:, None] - reference.centers) ** 2).sum(axis=2)
    most = 2.0 * (costs_of_all(field) + sketch.weight * apart).min(axis=1)
    weight = sketch.weight if sketch.weighted else None
    scales = Scales.of(float(most.max()), float(most.min()), weight, sketch.whole)
    return Pricing(replace(reference, centers=centers), scales)
