"""The leaves of a tree on a grid: which of them a box meets, and which it holds.

Along a column of numbers, no split tells the values between two neighbouring thresholds apart:
they are one *atom*. Along a column of category codes every code that some split names is an atom,
and all other codes together are one more. Missing values, where splits accept them, are an atom of
either. So a box is a set of atoms on each axis of a grid, kept as the bits of an integer, and so is
a set of leaves. Categories that have a one-hot column each are atoms of one axis together, since a
row is in exactly one of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from treemeans.columns import Columns
from treemeans.explain.leaf_boxes import Box
from treemeans.split import Split
from treemeans.tree import ThresholdTree
from treemeans.value_set import ValueSet

Atoms = int
"""Bit i is set: atom i of the axis is in the set."""
Leaves = int
"""Bit i is set: leaf i of the grid is in the set."""
GridBox = dict[int, Atoms]
"""Number of an axis -> atoms on it; an axis that is not in the box has all of them."""


@dataclass(frozen=True)
class NumberAxis:
    """The axis of a column of numbers.

    Atom i ends at ``thresholds[i]``, the last one never. If missing values are accepted they are
    one more atom, after these. A set of atoms on the axis is an interval of the values, with or
    without the missing ones.
    """

    feature: int
    thresholds: tuple[float, ...]
    may_be_missing: bool = False

    @property
    def values(self) -> Atoms:
        """All atoms of values that are not missing."""
        return (2 << len(self.thresholds)) - 1

    @property
    def missing(self) -> Atoms:
        """The atom of missing values; 0 if there is none."""
        return self.values + 1 if self.may_be_missing else 0

    @property
    def all(self) -> Atoms:
        """All atoms."""
        return self.values | self.missing

    def parts(self, split: Split) -> tuple[Atoms, Atoms]:
        """The atoms that go left at a split, and those that go right."""
        if math.isfinite(split.threshold):
            below = (2 << self.thresholds.index(split.threshold)) - 1
        else:  # whether there is a value
            below = self.values if split.threshold > 0 else 0
        return _with_missing(below, self.values & ~below, self.missing, split)

    def sides(self, atoms: Atoms) -> list[Atoms]:
        """What lies outside a set: below its interval, and above it; missing values on either."""
        rest = self.missing & ~atoms
        inside = atoms & self.values
        if not inside:
            return [self.values]
        below, above = lowest(inside) - 1, self.values & ~(2 * highest(inside) - 1)
        return [side | rest for side in (below, above) if side] or ([rest] if rest else [])

    def without(self, atoms: Atoms, excluded: Atoms) -> Atoms:
        """The largest set that holds ``atoms`` and nothing of ``excluded``, which is outside."""
        kept, inside, away = self.values, atoms & self.values, excluded & self.values
        if not inside and away:
            kept = 0  # values on either side of the excluded would do; they are added one by one
        elif away and lowest(away) > highest(inside):
            kept = lowest(away) - 1
        elif away:
            kept = self.values & ~(2 * highest(away) - 1)
        return kept | (self.missing & ~excluded)

    def larger(self, atoms: Atoms) -> list[Atoms]:
        """The sets with one atom more."""
        inside = atoms & self.values
        if not inside:
            return [atoms | atom for atom in bits(self.values)]
        above = (2 * highest(inside)) & self.values
        more = (lowest(inside) >> 1, above, self.missing & ~atoms)
        return [atoms | atom for atom in more if atom]

    def closed(self, atoms: Atoms) -> Atoms:
        """The smallest set of the axis that holds some atoms: what lies between them is added."""
        inside = atoms & self.values
        return (2 * highest(inside) - lowest(inside)) | atoms if inside else atoms

    def box(self, atoms: Atoms) -> Box:
        """A set of atoms as one of values."""
        missing = bool(atoms & self.missing)
        inside = atoms & self.values
        if not inside:
            return {self.feature: ValueSet(above=math.inf, missing=missing)}
        first, last = lowest(inside).bit_length() - 1, inside.bit_length() - 1
        above = self.thresholds[first - 1] if first else -math.inf
        upto = self.thresholds[last] if last < len(self.thresholds) else math.inf
        return {self.feature: ValueSet(above, upto, missing=missing)}

    def price(self, atoms: Atoms) -> int:
        """Number of bounds in the condition, plus one if it speaks of missing values."""
        inside = atoms & self.values
        if not inside:
            return 1
        bounds = (lowest(inside) > 1) + (2 * highest(inside) - 1 != self.values)
        if not self.missing:
            return bounds
        return bounds + (bool(atoms & self.missing) == (bounds > 0))


@dataclass(frozen=True)
class CodeAxis:
    """The axis of a column of category codes.

    There is an atom for each code that a split names, one for all others, and one for missing
    values if they are accepted.
    """

    feature: int
    codes: tuple[int, ...]
    may_be_missing: bool = False

    @property
    def values(self) -> Atoms:
        """All atoms of categories."""
        return (2 << len(self.codes)) - 1

    @property
    def missing(self) -> Atoms:
        """The atom of missing values; 0 if there is none."""
        return self.values + 1 if self.may_be_missing else 0

    @property
    def all(self) -> Atoms:
        """All atoms."""
        return self.values | self.missing

    def parts(self, split: Split) -> tuple[Atoms, Atoms]:
        """The atoms that go left at a split, and those that go right."""
        if split.is_categorical:
            named = sum(1 << self.codes.index(code) for code in split.categories)
        else:  # whether there is a value
            named = self.values if split.threshold > 0 else 0
        return _with_missing(named, self.values & ~named, self.missing, split)

    def sides(self, atoms: Atoms) -> list[Atoms]:
        """What lies outside a set."""
        return [self.all & ~atoms] if atoms != self.all else []

    def without(self, atoms: Atoms, excluded: Atoms) -> Atoms:
        """All categories but those of ``excluded``."""
        return self.all & ~excluded

    def larger(self, atoms: Atoms) -> list[Atoms]:
        """The sets with one category more."""
        return [atoms | atom for atom in bits(self.all & ~atoms)]

    def closed(self, atoms: Atoms) -> Atoms:
        """The same atoms: any categories make a set."""
        return atoms

    def box(self, atoms: Atoms) -> Box:
        """The categories of a set; or those that are not in it, where unknown ones are."""
        missing = bool(atoms & self.missing)
        if not atoms & self.values:
            return {self.feature: ValueSet(above=math.inf, missing=missing)}
        inside = frozenset(code for i, code in enumerate(self.codes) if atoms >> i & 1)
        if atoms >> len(self.codes) & 1:
            outside = frozenset(self.codes) - inside
            return {self.feature: ValueSet(but=outside, missing=missing)}
        return {self.feature: ValueSet(codes=inside, missing=missing)}

    def price(self, atoms: Atoms) -> int:
        """Number of categories in the condition, plus one if it speaks of missing values."""
        inside = atoms & self.values
        if not inside:
            return 1
        has_others = bool(atoms >> len(self.codes) & 1)
        named = (self.values & ~inside if has_others else inside).bit_count()
        if not self.missing:
            return named
        return named + (bool(atoms & self.missing) == (inside != self.values))


def _with_missing(left: Atoms, right: Atoms, missing: Atoms, split: Split) -> tuple[Atoms, Atoms]:
    """The two sides of a split, with the atom of missing values added to one of them."""
    if split.missing_left is None:
        return left, right
    return (left | missing, right) if split.missing_left else (left, right | missing)


@dataclass(frozen=True)
class OneHotAxis:
    """The axis of a source of one-hot columns: an atom for each that is split, one for others."""

    thresholds: dict[int, float]  # of the columns that tell their categories from the others
    others: tuple[int, ...]  # the other columns

    @property
    def all(self) -> Atoms:
        """All atoms."""
        return (1 << (len(self.thresholds) + bool(self.others))) - 1

    def parts(self, split: Split) -> tuple[Atoms, Atoms]:
        """The atoms that go left at a split, and those that go right."""
        feature, threshold = split.feature, split.threshold
        its = 1 << list(self.thresholds).index(feature) if feature in self.thresholds else 0
        left = (its if threshold >= 1 else 0) | (self.all & ~its if threshold >= 0 else 0)
        return left, self.all & ~left

    def sides(self, atoms: Atoms) -> list[Atoms]:
        """The other categories."""
        return [self.all & ~atoms] if atoms != self.all else []

    def without(self, atoms: Atoms, excluded: Atoms) -> Atoms:
        """All categories but those of ``excluded``."""
        return self.all & ~excluded

    def larger(self, atoms: Atoms) -> list[Atoms]:
        """The sets with one category more."""
        return [atoms | atom for atom in bits(self.all & ~atoms)]

    def closed(self, atoms: Atoms) -> Atoms:
        """The same atoms: any categories make a set."""
        return atoms

    def box(self, atoms: Atoms) -> Box:
        """The values of the one-hot columns: the one category of the set, or those outside it."""
        inside, outside = self._parted(atoms)
        if len(inside) == 1:
            return {feature: ValueSet(above=threshold) for feature, threshold in inside.items()}
        return {feature: ValueSet(upto=threshold) for feature, threshold in outside.items()}

    def price(self, atoms: Atoms) -> int:
        """Number of categories that the condition names."""
        return min(map(len, self._parted(atoms)))

    def _parted(self, atoms: Atoms) -> tuple[dict[int, float], dict[int, float]]:
        """The columns of some categories, and those of all others, with a threshold of each."""
        parted: tuple[dict[int, float], dict[int, float]] = ({}, {})
        for i, (feature, threshold) in enumerate(self.thresholds.items()):
            parted[not atoms >> i & 1][feature] = threshold
        parted[not atoms >> len(self.thresholds) & 1].update(dict.fromkeys(self.others, 0.5))
        return parted


Axis = NumberAxis | CodeAxis | OneHotAxis


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
            if tree.is_leaf[node]:
                self.nodes.append(node)
                self.boxes.append(box)
                continue
            split = tree.split(node)
            axis = axis_of[split.feature]
            left, right = self.axes[axis].parts(split)
            here = box.get(axis, self.axes[axis].all)
            for child, atoms in ((tree.left[node], here & left), (tree.right[node], here & right)):
                if atoms:
                    stack.append((int(child), box | {axis: atoms}))
        self.all: Leaves = (1 << len(self.nodes)) - 1
        self._at = self._leaves_at()
        self._known: dict[tuple[int, Atoms], Leaves] = {}

    def leaves(self, chosen: set[int]) -> Leaves:
        """The leaves with these node numbers, as a set."""
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
        """Number of bounds and categories in the conditions of a box."""
        return sum(self.axes[axis].price(atoms) for axis, atoms in box.items())

    def values(self, box: Mapping[int, Atoms]) -> Box:
        """A box of atoms as sets of values of the columns, in the order of its axes."""
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
    """The single bits of a number, ascending."""
    while number:
        yield number & -number
        number &= number - 1


def lowest(number: int) -> int:
    """The lowest bit of a number."""
    return number & -number


def highest(number: int) -> int:
    """The highest bit of a number."""
    return 1 << (number.bit_length() - 1)


def _axes(tree: ThresholdTree, columns: Columns) -> tuple[list[Axis], dict[int, int]]:
    """The axes, by first column, and the axis of each column that is split."""
    thresholds: dict[int, set[float]] = {}
    codes: dict[int, set[int]] = {}
    for node in np.flatnonzero(~tree.is_leaf).tolist():
        split = tree.split(node)
        found = thresholds.setdefault(split.feature, set())
        found |= {split.threshold} if math.isfinite(split.threshold) else set()
        if split.is_categorical:
            codes.setdefault(split.feature, set()).update(split.categories)
    may_be_missing = set(tree.feature[tree.missing_left >= 0].tolist())
    sources = _complete_sources(columns, may_be_missing)
    axes: list[Axis] = []
    axis_of: dict[int, int] = {}
    for feature in sorted(thresholds):
        if feature in axis_of:
            continue
        source = columns[feature].source
        if columns[feature].kind != "category" or source not in sources:
            axis_of[feature] = len(axes)
            is_missing = feature in may_be_missing
            axes.append(
                CodeAxis(feature, tuple(sorted(codes[feature])), is_missing)
                if feature in codes
                else NumberAxis(feature, tuple(sorted(thresholds[feature])), is_missing)
            )
            continue
        cut = [i for i in sources[source] if i in thresholds]
        telling = {i: [t for t in sorted(thresholds[i]) if 0 <= t < 1] for i in cut}
        firsts = {i: found[0] for i, found in telling.items() if found}
        axis_of |= dict.fromkeys(cut, len(axes))
        others = tuple(i for i in sources[source] if i not in firsts)
        axes.append(OneHotAxis(firsts, others))
    return axes, axis_of


def _complete_sources(columns: Columns, may_be_missing: set[int]) -> dict[str, list[int]]:
    """Sources with a one-hot column for each of their categories, and the columns.

    Where missing values are accepted, a row need not be in one of the categories.
    """
    members: dict[str, list[int]] = {}
    for i, column in enumerate(columns):
        if column.kind == "category":
            members.setdefault(column.source, []).append(i)
    return {
        source: found
        for source, found in members.items()
        if all(columns[i].complete for i in found) and not may_be_missing.intersection(found)
    }
