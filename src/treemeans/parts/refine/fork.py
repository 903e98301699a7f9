"""Splits chosen again, where rows are in parts: what a row costs on either side of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treemeans.parts.block import Block
from treemeans.parts.growth.field import Field
from treemeans.parts.growth.grid import coarse
from treemeans.parts.growth.search import Target, find_cuts
from treemeans.parts.growth.strips import NEVER, Place, Scan, Score, Strips
from treemeans.parts.growth.survey import Looks, Routes, Seen, merge_seen, survey_block
from treemeans.parts.pricing import Pricing
from treemeans.parts.question import Question
from treemeans.tables import as_points

ADDS, SAVES, NOW, WEIGHT = range(4)
"""A line: what going left adds, the same where that is negative, what the row adds where it is
now, and its weight. All go right, to begin with."""


@dataclass(frozen=True)
class Sides:
    """The tree, and the same with every row of some nodes sent to one side.

    Attributes
    ----------
    nodes : routes to these nodes; the groups are their numbers
    left, right, now : the groups are labels
    """

    nodes: Routes
    left: Routes
    right: Routes
    now: Routes


@dataclass(frozen=True)
class ForkSurvey(Question[Seen]):
    """Add up what going left adds, by node, feature and stretch of values."""

    pricing: Pricing
    sides: Sides
    weighs: bool
    looks: Looks
    lists: Looks

    def ask(self, block: Block) -> Seen:
        """Of one block."""
        groups = self.sides.nodes.groups(block)
        return survey_block(block, groups, self._lines(block), self.looks, self.lists)

    def merge(self, one: Seen, other: Seen) -> Seen:
        """Of both."""
        return merge_seen(one, other)

    def _lines(self, block: Block) -> NDArray[np.int64]:
        costs, sides = self.pricing.price(block), self.sides
        regrets, rows = costs.regrets.values, np.arange(block.n_rows)
        left, right, now = (
            regrets[rows, routes.of_points(block.points)]
            for routes in (sides.left, sides.right, sides.now)
        )
        adds = left - right
        numbers = [adds, np.minimum(adds, 0), now - right]
        if self.weighs and costs.weights is not None:
            numbers.append(np.maximum(costs.weights.values, 1))  # a row is a row, however light
        return np.stack([*numbers, np.ones_like(adds)], axis=1)


@dataclass(frozen=True)
class ForkScore(Score):
    """What the rows cost, those left of a cut sent left.

    Attributes
    ----------
    weight : of all rows
    min_weight : of either side
    prices : of cuts on the features; None where all are free
    """

    weight: int
    min_weight: int
    prices: NDArray[np.int64] | None

    def scan(self, feature: int, strips: Strips) -> Scan | None:
        """No cut inside a strip costs less than one that takes along every row which saves."""
        if not len(strips):
            return None
        price = 0 if self.prices is None else int(self.prices[feature])
        sums = np.cumsum(strips.sums, axis=0)
        weight = sums[:, WEIGHT]
        room = (weight >= self.min_weight) & (self.weight - weight >= self.min_weight)
        cuts = np.flatnonzero(room[:-1])
        before = sums - strips.sums
        inside = (strips.low < strips.high) & (weight >= self.min_weight)
        inside &= self.weight - before[:, WEIGHT] >= self.min_weight
        least = before[:, ADDS] + strips.sums[:, SAVES] + price
        return Scan(
            sums[cuts, ADDS] + price,
            strips.high[cuts],
            strips.low[cuts + 1],
            sums[cuts],
            np.where(inside, least, NEVER),
        )


@dataclass(frozen=True)
class Fork:
    """A node whose rows have been asked for: its best cut, and what there is instead.

    Costs are beyond what all rows cost on the right: there it is 0.
    """

    best: Place | None
    all_left: int
    now: int


def find_forks(
    field: Field,
    pricing: Pricing,
    sides: Sides,
    current: Sequence[tuple[int, float]],
    sample: NDArray[np.float64],
) -> list[Fork]:
    """The best cuts of nodes that share no rows, the rest of the tree fixed.

    Parameters
    ----------
    current : feature and threshold of each node's cut; none that costs more is looked for
    sample : some rows, which tell where values lie
    """
    weighs = field.weighs
    min_weight = field.limits.min_weight
    whole = field.cheapest * pricing.scales.regrets
    prices = field.limits.slot_prices(range(field.n_features), whole)
    groups = sides.nodes.of_points(as_points(sample))

    def ask(looks: Looks, lists: Looks) -> Seen:
        return field.ask(ForkSurvey(pricing, sides, weighs, looks, lists))

    def target(number: int) -> Target:
        rows = sample[groups == number]
        return Target(number, _edges(rows, *current[number]), score)

    def score(sums: NDArray[np.int64]) -> Score:
        return ForkScore(int(sums[WEIGHT]), min_weight, prices)

    targets = [target(number) for number in range(len(current))]
    width = WEIGHT + (2 if weighs else 1)
    find_cuts(targets, np.flatnonzero(field.allowed).tolist(), width, ask)
    found = []
    for done in targets:
        assert done.sums is not None
        found.append(Fork(done.best, int(done.sums[ADDS]), int(done.sums[NOW])))
    return found


def _edges(
    rows: NDArray[np.float64], feature: int, threshold: float
) -> Callable[[int, int], NDArray[np.float64]]:
    """The cut that there is lies between two stretches, so it is known what it costs."""

    def edges(f: int, n: int) -> NDArray[np.float64]:
        also = np.array([threshold] if f == feature else [])
        return coarse(rows[:, f], n, also)

    return edges
