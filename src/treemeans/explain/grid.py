"""The leaves of a tree on a grid: which of them a box meets, and which it holds.

Along a column, no cut tells the values between two neighbouring thresholds apart: they are one
*atom*. So a box is a set of atoms on each axis of a grid, kept as the bits of an integer, and so
is a set of leaves. Categories that have a column each are atoms of one axis together, since a row
is in exactly one of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from treemeans.columns import Columns
from treemeans.columns.interval import Interval
from treemeans.explain.boxes import Box
from treemeans.tree import ThresholdTree

Atoms = int
"""Bit i is set: atom i of the axis is in the set."""
Leaves = int
"""Bit i is set: leaf i of the grid is in the set."""
GridBox = dict[int, Atoms]
"""Number of an axis -> atoms on it; an axis that is missing has all of them."""


@dataclass(frozen=True)
class Line:
    """The axis of one column: atom i ends at ``thresholds[i]``, the last one never."""

    feature: int
    thresholds: tuple[float, ...]

    @property
    def all(self) -> Atoms:
        """All atoms."""
        return (2 << len(self.thresholds)) - 1

    def left(self, feature: int, threshold: float) -> Atoms:
        """The atoms that go left at a cut."""
        return (2 << self.thresholds.index(threshold)) - 1

    def sides(self, atoms: Atoms) -> list[Atoms]:
        """What lies on either side of an interval."""
        below = lowest(atoms) - 1
        above = self.all & ~(2 * highest(atoms) - 1)
        return [side for side in (below, above) if side]

    def without(self, atoms: Atoms, foe: Atoms) -> Atoms:
        """The largest interval that holds ``atoms`` and nothing of ``foe``, which is on a side."""
        if lowest(foe) > highest(atoms):
            return lowest(foe) - 1
        return self.all & ~(2 * highest(foe) - 1)

    def larger(self, atoms: Atoms) -> list[Atoms]:
        """The intervals with one atom more."""
        above = (2 * highest(atoms)) & self.all
        return [atoms | atom for atom in (lowest(atoms) >> 1, above) if atom]

    def box(self, atoms: Atoms) -> Box:
        """An interval of atoms as one of values."""
        first, last = lowest(atoms).bit_length() - 1, atoms.bit_length() - 1
        above = self.thresholds[first - 1] if first else -math.inf
        upto = self.thresholds[last] if last < len(self.thresholds) else math.inf
        return {self.feature: Interval(above, upto)}

    def price(self, atoms: Atoms) -> int:
        """How many bounds it takes to say."""
        return len(self.sides(atoms))


@dataclass(frozen=True)
class Choice:
    """The axis of a source of categories: an atom for each that is cut, a last one for others."""

    thresholds: dict[int, float]  # of the columns that tell their categories from the others
    others: tuple[int, ...]  # the other columns

    @property
    def all(self) -> Atoms:
        """All atoms."""
        return (1 << (len(self.thresholds) + bool(self.others))) - 1

    def left(self, feature: int, threshold: float) -> Atoms:
        """The atoms that go left at a cut."""
        its = 1 << list(self.thresholds).index(feature) if feature in self.thresholds else 0
        return (its if threshold >= 1 else 0) | (self.all & ~its if threshold >= 0 else 0)

    def sides(self, atoms: Atoms) -> list[Atoms]:
        """The other categories."""
        return [self.all & ~atoms] if atoms != self.all else []

    def without(self, atoms: Atoms, foe: Atoms) -> Atoms:
        """All categories but those of ``foe``."""
        return self.all & ~foe

    def larger(self, atoms: Atoms) -> list[Atoms]:
        """The sets with one category more."""
        return [atoms | atom for atom in bits(self.all & ~atoms)]

    def box(self, atoms: Atoms) -> Box:
        """The one category it is, or those it is not."""
        inside, outside = self._parted(atoms)
        if len(inside) == 1:
            return {feature: Interval(above=threshold) for feature, threshold in inside.items()}
        return {feature: Interval(upto=threshold) for feature, threshold in outside.items()}

    def price(self, atoms: Atoms) -> int:
        """How many categories it takes to say."""
        return min(map(len, self._parted(atoms)))

    def _parted(self, atoms: Atoms) -> tuple[dict[int, float], dict[int, float]]:
        """The columns of some categories, and those of all others, with a threshold of each."""
        parted: tuple[dict[int, float], dict[int, float]] = ({}, {})
        for i, (feature, threshold) in enumerate(self.thresholds.items()):
            parted[not atoms >> i & 1][feature] = threshold
        parted[not atoms >> len(self.thresholds) & 1].update(dict.fromkeys(self.others, 0.5))
        return parted


Axis = Line | Choice


class Grid:
    """The leaves of a tree that some row can come to, as boxes of atoms.

    Parameters
    ----------
    tree : ThresholdTree
    columns : tuple of Column

    Attributes
    ----------
    axes : list of Axis
    nodes : node number of each leaf
    boxes : box of each leaf
    """

    def __init__(self, tree: ThresholdTree, columns: Columns) -> None:
        self.axes, axis_of = _axes(tree, columns)
        self.nodes: list[int] = []
        self.boxes: list[GridBox] = []
        stack: list[tuple[int, GridBox]] = [(0, {})]
        while stack:
            node, box = stack.pop()
            feature = int(tree.feature[node])
            if feature < 0:
                self.nodes.append(node)
                self.boxes.append(box)
                continue
            axis = axis_of[feature]
            left = self.axes[axis].left(feature, float(tree.threshold[node]))
            here = box.get(axis, self.axes[axis].all)
            for child, atoms in ((tree.left[node], here & left), (tree.right[node], here & ~left)):
                if atoms:
                    stack.append((int(child), box | {axis: atoms}))
        self.all: Leaves = (1 << len(self.nodes)) - 1
        self._at = self._leaves_at()
        self._known: dict[tuple[int, Atoms], Leaves] = {}

    def leaves(self, chosen: set[int]) -> Leaves:
        """Of node numbers, the set of leaves."""
        return sum(1 << i for i, node in enumerate(self.nodes) if node in chosen)

    def meeting(self, axis: int, atoms: Atoms) -> Leaves:
        """Leaves with one of ``atoms`` on an axis."""
        key = (axis, atoms)
        if key not in self._known:
            found = 0
            for atom in bits(atoms):
                found |= self._at[axis][atom]
            self._known[key] = found
        return self._known[key]

    def within(self, axis: int, atoms: Atoms) -> Leaves:
        """Leaves with nothing but ``atoms`` on an axis."""
        return self.all & ~self.meeting(axis, self.axes[axis].all & ~atoms)

    def met(self, box: Mapping[int, Atoms]) -> Leaves:
        """Leaves that share a point with a box."""
        found = self.all
        for axis, atoms in box.items():
            found &= self.meeting(axis, atoms)
        return found

    def held(self, box: Mapping[int, Atoms]) -> Leaves:
        """Leaves that lie wholly in a box."""
        found = self.all
        for axis, atoms in box.items():
            found &= self.within(axis, atoms)
        return found

    def needed(self, axis: int, leaves: Leaves) -> Atoms:
        """The atoms on an axis that some leaves have."""
        found = 0
        for leaf in bits(leaves):
            found |= self.boxes[leaf.bit_length() - 1].get(axis, self.axes[axis].all)
        return found

    def price(self, box: Mapping[int, Atoms]) -> int:
        """How many bounds and categories a box takes to say."""
        return sum(self.axes[axis].price(atoms) for axis, atoms in box.items())

    def intervals(self, box: Mapping[int, Atoms]) -> Box:
        """A box of atoms as intervals of the columns, in the order of its axes."""
        found: Box = {}
        for axis, atoms in box.items():
            found |= self.axes[axis].box(atoms)
        return found

    def _leaves_at(self) -> list[dict[Atoms, Leaves]]:
        """For each axis and atom, the leaves that have it."""
        tables: list[dict[Atoms, Leaves]] = []
        for number, axis in enumerate(self.axes):
            anywhere = 0
            at = dict.fromkeys(bits(axis.all), 0)
            for i, box in enumerate(self.boxes):
                if number not in box:
                    anywhere |= 1 << i
                    continue
                for atom in bits(box[number]):
                    at[atom] |= 1 << i
            tables.append({atom: found | anywhere for atom, found in at.items()})
        return tables


def bits(number: int) -> Iterator[int]:
    """The powers of two a number is the sum of, ascending."""
    while number:
        yield number & -number
        number &= number - 1


def lowest(number: int) -> int:
    """The smallest of them."""
    return number & -number


def highest(number: int) -> int:
    """The largest of them."""
    return 1 << (number.bit_length() - 1)


def _axes(tree: ThresholdTree, columns: Columns) -> tuple[list[Axis], dict[int, int]]:
    """The axes, by first column, and the axis of each column that is cut."""
    thresholds: dict[int, set[float]] = {}
    for node in np.flatnonzero(~tree.is_leaf).tolist():
        thresholds.setdefault(int(tree.feature[node]), set()).add(float(tree.threshold[node]))
    choices = _choices(columns)
    axes: list[Axis] = []
    axis_of: dict[int, int] = {}
    for feature in sorted(thresholds):
        if feature in axis_of:
            continue
        source = columns[feature].source
        if columns[feature].kind != "category" or source not in choices:
            axis_of[feature] = len(axes)
            axes.append(Line(feature, tuple(sorted(thresholds[feature]))))
            continue
        cut = [i for i in choices[source] if i in thresholds]
        telling = {i: [t for t in sorted(thresholds[i]) if 0 <= t < 1] for i in cut}
        firsts = {i: found[0] for i, found in telling.items() if found}
        axis_of |= dict.fromkeys(cut, len(axes))
        others = tuple(i for i in choices[source] if i not in firsts)
        axes.append(Choice(firsts, others))
    return axes, axis_of


def _choices(columns: Columns) -> dict[str, list[int]]:
    """Sources with a column for each of their categories, and the columns."""
    members: dict[str, list[int]] = {}
    for i, column in enumerate(columns):
        if column.kind == "category":
            members.setdefault(column.source, []).append(i)
    return {
        source: found
        for source, found in members.items()
        if all(columns[i].complete for i in found)
    }
