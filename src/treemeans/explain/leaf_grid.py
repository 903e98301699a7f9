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
from collections.abc import Mapping

import numpy as np

from treemeans.columns import Columns
from treemeans.columns.column import one_hot_columns
from treemeans.explain.grid_axes import (
    Atoms,
    Axis,
    CodeAxis,
    NumberAxis,
    OneHotAxis,
    bits,
)
from treemeans.explain.leaf_boxes import Box
from treemeans.tree import ThresholdTree

Leaves = int
"""Bit i is set: leaf i of the grid is in the set."""
GridBox = dict[int, Atoms]
"""Number of an axis -> atoms on it; an axis that is not in the box has all of them."""


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
    return {
        source: found
        for source, found in one_hot_columns(columns).items()
        if all(columns[i].complete for i in found) and not may_be_missing.intersection(found)
    }
