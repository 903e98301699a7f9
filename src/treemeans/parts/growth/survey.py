"""Looks at features: the sums of a node's lines by stretches of values, and single values."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from treemeans import _core
from treemeans.costs import CostTable
from treemeans.parts.block import Block
from treemeans.parts.pricing import Pricing
from treemeans.parts.question import Question

WIDTHS = (4, 8, 12, 16)
"""Lines of these lengths are added fastest; zeros fill them up."""


class Look(NamedTuple):
    """At a feature of a group's rows: the edges of its stretches, ascending.

    A stretch lacks its lower end and has its upper one. ``wanted`` says which are; None: all.
    """

    group: int
    feature: int
    edges: NDArray[np.float64]
    wanted: NDArray[np.uint8] | None = None


@dataclass(frozen=True)
class Looks:
    """Many of them, as the kernels read them."""

    group: NDArray[np.int32]
    feature: NDArray[np.int32]
    first: NDArray[np.int64]
    edges: NDArray[np.float64]
    wanted: NDArray[np.uint8]

    @classmethod
    def of(cls, looks: Iterable[Look]) -> Self:
        """Looks, sorted by group."""
        looks = list(looks)
        sizes = [len(look.edges) for look in looks]
        return cls(
            np.array([look.group for look in looks], dtype=np.int32),
            np.array([look.feature for look in looks], dtype=np.int32),
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            np.concatenate([np.empty(0), *(look.edges for look in looks)]),
            np.concatenate([np.empty(0, dtype=np.uint8), *(_wanted(look) for look in looks)]),
        )

    def stretches(self, look: int) -> tuple[int, int]:
        """The first of a look's stretches among those of all, and the one after the last."""
        return int(self.first[look]) - look, int(self.first[look + 1]) - look - 1

    @property
    def arrays(self) -> tuple[Any, ...]:
        """What the kernels take."""
        return self.group, self.feature, self.first, self.edges, self.wanted


def _wanted(look: Look) -> NDArray[np.uint8]:
    if look.wanted is None:
        return np.ones(len(look.edges) - 1, dtype=np.uint8)
    return look.wanted


@dataclass(frozen=True)
class Routes:
    """A tree, and the group of the rows in each of its leaves; a negative one: none."""

    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    group: NDArray[np.int32]

    def groups(self, block: Block) -> NDArray[np.int32]:
        """The group of each row; rows without weight are in none."""
        found = self.of_points(block.points)
        if block.weights is not None:
            found[block.weights == 0] = -1
        return found

    def of_points(self, points: _core.Points) -> NDArray[np.int32]:
        """The group of each point."""
        found = _core.apply(
            points, self.feature, self.threshold, self.left, self.right, self.group, 1
        )
        assert found is not None  # the rows were checked
        return found


@dataclass(frozen=True)
class Lines:
    """What is added up of each row: k integers, and what it weighs.

    ``weighted``: by the weight of the rows; otherwise each weighs 1.
    """

    weighted: bool

    @abstractmethod
    def numbers(self, costs: CostTable, groups: NDArray[np.int32]) -> NDArray[np.int64]:
        """(n, k)."""

    def of(self, costs: CostTable, groups: NDArray[np.int32]) -> NDArray[np.int64]:
        """The numbers, the weight, and a 1 that counts the row, unless that is its weight."""
        numbers = self.numbers(costs, groups)
        n, k = numbers.shape
        weighted = self.weighted and costs.weights is not None
        lines = np.empty((n, k + 2 if weighted else k + 1), dtype=np.int64)
        lines[:, :k] = numbers
        if weighted:
            assert costs.weights is not None
            lines[:, k] = np.maximum(costs.weights.values, 1)  # a row is a row, however light
        lines[:, -1] = 1
        return lines


@dataclass(frozen=True)
class RegretLines(Lines):
    """What a row costs with each center, beyond its cheapest."""

    def numbers(self, costs: CostTable, groups: NDArray[np.int32]) -> NDArray[np.int64]:
        """(n, k)."""
        return costs.regrets.values


@dataclass(frozen=True)
class HomeLines(Lines):
    """The weight of a row, with its nearest center, as long as that is in the same node.

    ``members``: (n_groups, k), the centers in each.
    """

    members: NDArray[np.bool_]

    def numbers(self, costs: CostTable, groups: NDArray[np.int32]) -> NDArray[np.int64]:
        """(n, k)."""
        n, k = costs.regrets.values.shape
        lines = np.zeros((n, k), dtype=np.int64)
        rows = np.flatnonzero(groups >= 0)
        rows = rows[self.members[groups[rows], costs.nearest[rows]]]
        weights = 1 if costs.weights is None else costs.weights.values[rows]
        lines[rows, costs.nearest[rows]] = weights
        return lines


@dataclass(frozen=True)
class Stretches:
    """Sums of lines, least and greatest value, of stretches; those without rows have a sum of 0."""

    sums: NDArray[np.int64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


@dataclass(frozen=True)
class Values:
    """Distinct values: the stretch each is in, and the sums of the lines of its rows."""

    stretch: NDArray[np.int64]
    value: NDArray[np.float64]
    sums: NDArray[np.int64]

    @classmethod
    def gathered(
        cls, stretch: NDArray[np.int64], value: NDArray[np.float64], lines: NDArray[np.int64]
    ) -> Self:
        """In order, equal ones put together."""
        if not len(stretch):
            return cls(stretch, value, lines)
        order = np.lexsort((value, stretch))
        stretch, value, lines = stretch[order], value[order], lines[order]
        other = (stretch[1:] != stretch[:-1]) | (value[1:] != value[:-1])
        new = np.flatnonzero(np.concatenate([[True], other]))
        return cls(stretch[new], value[new], np.add.reduceat(lines, new, axis=0))


@dataclass(frozen=True)
class Seen:
    """What a survey returns: of the stretches it added up, and of the values it listed."""

    stretches: Stretches
    values: Values


@dataclass(frozen=True)
class Survey(Question[Seen]):
    """Add up lines by group, feature and stretch of values; where few rows are left, list them.

    Attributes
    ----------
    looks : whose stretches are added up
    lists : whose values are listed
    """

    pricing: Pricing
    routes: Routes
    lines: Lines
    looks: Looks
    lists: Looks

    def ask(self, block: Block) -> Seen:
        """What one block has."""
        groups = self.routes.groups(block)
        lines = self.lines.of(self.pricing.price(block), groups)
        return survey_block(block, groups, lines, self.looks, self.lists)

    def merge(self, one: Seen, other: Seen) -> Seen:
        """What both have."""
        return merge_seen(one, other)


def survey_block(
    block: Block, groups: NDArray[np.int32], lines: NDArray[np.int64], looks: Looks, lists: Looks
) -> Seen:
    """What a survey finds in a block, given the lines of its rows."""
    width = lines.shape[1]
    stretch, row, value = _core.collect(block.points, groups, *lists.arrays)
    values = Values.gathered(stretch, value, lines[row])
    padded = next((w for w in WIDTHS if w >= width), width)
    lines = np.ascontiguousarray(np.pad(lines, ((0, 0), (0, padded - width))))
    sums, low, high = _core.survey(block.points, groups, lines, *looks.arrays)
    return Seen(Stretches(np.ascontiguousarray(sums[:, :width]), low, high), values)


def merge_seen(one: Seen, other: Seen) -> Seen:
    """What two surveys have found together."""
    a, b = one.stretches, other.stretches
    listed, more = one.values, other.values
    return Seen(
        Stretches(a.sums + b.sums, np.minimum(a.low, b.low), np.maximum(a.high, b.high)),
        Values.gathered(
            np.concatenate([listed.stretch, more.stretch]),
            np.concatenate([listed.value, more.value]),
            np.concatenate([listed.sums, more.sums]),
        ),
    )
