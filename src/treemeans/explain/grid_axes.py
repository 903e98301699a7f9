"""The axes of a grid of leaves: numbers, category codes, and one-hot columns of one source."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

from treemeans.explain.leaf_boxes import Box
from treemeans.split import Split
from treemeans.value_set import ValueSet

Atoms = int
"""Bit i is set: atom i of the axis is in the set."""


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


class _ColumnAxis(ABC):
    """The axis of one column: atoms that splits name, one more, and one of missing values."""

    may_be_missing: bool

    @property
    @abstractmethod
    def _n_named(self) -> int:
        """Number of thresholds or categories that splits name."""

    @property
    def values(self) -> Atoms:
        """All atoms of values that are not missing."""
        return (2 << self._n_named) - 1

    @property
    def missing(self) -> Atoms:
        """The atom of missing values; 0 if there is none."""
        return self.values + 1 if self.may_be_missing else 0

    @property
    def all(self) -> Atoms:
        """All atoms."""
        return self.values | self.missing

    def _with_missing(self, left: Atoms, split: Split) -> tuple[Atoms, Atoms]:
        """The two sides of a split, with the atom of missing values added to one of them."""
        right = self.values & ~left
        if split.missing_left is None:
            return left, right
        return (left | self.missing, right) if split.missing_left else (left, right | self.missing)


class _SetAxis(ABC):
    """An axis of categories, any of which make a set."""

    @property
    @abstractmethod
    def all(self) -> Atoms:
        """All atoms."""

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


@dataclass(frozen=True)
class NumberAxis(_ColumnAxis):
    """The axis of a column of numbers.

    Atom i ends at ``thresholds[i]``, the last one never. If missing values are accepted they are
    one more atom, after these. A set of atoms on the axis is an interval of the values, with or
    without the missing ones.
    """

    feature: int
    thresholds: tuple[float, ...]
    may_be_missing: bool = False

    @property
    def _n_named(self) -> int:
        return len(self.thresholds)

    def parts(self, split: Split) -> tuple[Atoms, Atoms]:
        """The atoms that go left at a split, and those that go right."""
        if math.isfinite(split.threshold):
            below = (2 << self.thresholds.index(split.threshold)) - 1
        else:  # whether there is a value
            below = self.values if split.threshold > 0 else 0
        return self._with_missing(below, split)

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
class CodeAxis(_ColumnAxis, _SetAxis):
    """The axis of a column of category codes.

    There is an atom for each code that a split names, one for all others, and one for missing
    values if they are accepted.
    """

    feature: int
    codes: tuple[int, ...]
    may_be_missing: bool = False

    @property
    def _n_named(self) -> int:
        return len(self.codes)

    def parts(self, split: Split) -> tuple[Atoms, Atoms]:
        """The atoms that go left at a split, and those that go right."""
        if split.is_categorical:
            named = sum(1 << self.codes.index(code) for code in split.categories)
        else:  # whether there is a value
            named = self.values if split.threshold > 0 else 0
        return self._with_missing(named, split)

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


@dataclass(frozen=True)
class OneHotAxis(_SetAxis):
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
