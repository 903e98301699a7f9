"""How far rows are from leaves: how many features must change, and by how much."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from treemeans.columns.column import one_hot_columns
from treemeans.explain.allowed_changes import AllowedChanges
from treemeans.explain.leaf_boxes import Box, leaf_boxes
from treemeans.explain.model_facts import Facts
from treemeans.explain.smallest_move import (
    ChoiceMove,
    CodeMove,
    Goal,
    Move,
    NumberMove,
    inside,
)
from treemeans.value_set import EVERYTHING

_AT_ONCE = 2**20  # entries of a table of rows by leaves
NONE_REACHED = -1
"""Stands for a leaf or a cluster where none can be reached."""


@dataclass(frozen=True)
class RowDistances:
    """Distances of rows to leaves, as arrays of shape (n_leaves, n_rows).

    Attributes
    ----------
    changes : features that must change
    squares : least squared distance in scales; infinite where a leaf cannot be reached
    """

    changes: NDArray[np.int32]
    squares: NDArray[np.float64]

    def nearest(self, among: NDArray[np.bool_]) -> NDArray[np.intp]:
        """For each row the leaf at the least distance, the first of several; -1 if there is none.

        ``among``: which leaves count, (n_leaves, n_rows).
        """
        return _first_least(np.where(among, self.squares, np.inf))

    def easiest(self, among: NDArray[np.bool_]) -> NDArray[np.intp]:
        """For each row the leaf with the fewest changes, and of several the nearest."""
        able = among & np.isfinite(self.squares)
        changes = np.where(able, self.changes, np.iinfo(np.int32).max)
        fewest = changes == changes.min(axis=0, initial=np.iinfo(np.int32).max)
        return _first_least(np.where(able & fewest, self.squares, np.inf))


class LeafDistances:
    """Distances from rows to the leaves of a tree, and the changes that lead there.

    Parameters
    ----------
    facts : Facts
    allowed_changes : what may change
    leaves : node numbers of the leaves, in ascending order

    Attributes
    ----------
    used : columns of X that matter, in ascending order: all values here are of these
    moves : the features they make up
    """

    def __init__(
        self, facts: Facts, allowed_changes: AllowedChanges, leaves: NDArray[np.intp]
    ) -> None:
        boxes = leaf_boxes(facts.tree)
        self.leaves = leaves
        self.moves = _moves(facts, allowed_changes)
        self.used = np.array(sorted(f for move in self.moves for f in move.features), dtype=np.intp)
        self.scale = facts.scale[self.used]
        self._places = [np.searchsorted(self.used, move.features) for move in self.moves]
        self._goals = [_goals(move, [boxes[int(leaf)] for leaf in leaves]) for move in self.moves]

    def values(self, X: Any) -> NDArray[np.float64]:
        """The columns that matter, of an array or a sparse matrix, (n_used, n_rows)."""
        part = X.tocsc()[:, self.used].toarray() if sparse.issparse(X) else X[:, self.used]
        return np.array(part.T, dtype=np.float64, order="C")

    def blocks(self, n_rows: int) -> Iterator[slice]:
        """Parts of the rows, of which the distances to all leaves fit in little memory."""
        size = max(64, _AT_ONCE // max(1, len(self.leaves), len(self.used)))
        for start in range(0, n_rows, size):
            yield slice(start, min(start + size, n_rows))

    def distances(self, values: NDArray[np.float64]) -> RowDistances:
        """The distances of rows, given by the columns that matter, to the leaves."""
        shape = (len(self.leaves), values.shape[1])
        found = RowDistances(np.zeros(shape, dtype=np.int32), np.zeros(shape))
        for move, places, goals in zip(self.moves, self._places, self._goals, strict=True):
            reached = move.squared_distances(values[places], list(goals))
            for (must, squares), wanted_by in zip(reached, goals.values(), strict=True):
                for leaf in wanted_by:
                    found.changes[leaf] += must
                    found.squares[leaf] += squares
        return found

    def length(self, old: NDArray[np.float64], new: NDArray[np.float64]) -> NDArray[np.float64]:
        """How far rows move from old to new values: the root of the summed squares."""
        with np.errstate(over="ignore", invalid="ignore"):
            moved = np.where(differ(old, new), new - old, 0.0) / self.scale[:, None]
            for move, places in zip(self.moves, self._places, strict=True):
                if isinstance(move, CodeMove):  # codes are names, so that none is far from another
                    moved[places] = differ(old[places], new[places])
            return np.asarray(np.sqrt((moved * moved).sum(axis=0)))

    def moved(self, values: NDArray[np.float64], leaf: NDArray[np.intp]) -> NDArray[np.float64]:
        """The rows, each changed so that it is in its leaf; unchanged where the leaf is -1."""
        landed = values.copy()
        for move, places, goals in zip(self.moves, self._places, self._goals, strict=True):
            for goal, wanted_by in goals.items():
                wanted = np.zeros(len(self.leaves) + 1, dtype=bool)  # the last stands for -1
                wanted[wanted_by] = True
                rows = np.flatnonzero(wanted[leaf])
                rows = rows[~inside(values[np.ix_(places, rows)], goal)]
                if len(rows):
                    at = np.ix_(places, rows)
                    landed[at] = move.moved(values[at], goal)
        return landed


def differ(old: NDArray[np.float64], new: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Where two arrays differ; missing values do not differ from each other."""
    return np.asarray((old != new) & ~(np.isnan(old) & np.isnan(new)))


def _goals(move: Move, boxes: list[Box]) -> dict[Goal, list[int]]:
    """The distinct goals of the leaves for a feature, and the leaves of each; most have none."""
    goals: dict[Goal, list[int]] = {}
    for i, box in enumerate(boxes):
        goal = tuple(box.get(feature, EVERYTHING) for feature in move.features)
        if not all(wanted.is_all for wanted in goal):
            goals.setdefault(goal, []).append(i)
    return goals


def _moves(facts: Facts, allowed_changes: AllowedChanges) -> list[Move]:
    """The moves of the features that the tree splits, in the order of their first columns."""
    columns, scale = facts.columns, facts.scale
    cut = np.unique(facts.tree.feature[~facts.tree.is_leaf]).tolist()
    sources = {columns[f].source for f in cut if columns[f].kind == "category"}
    members = [group for name, group in one_hot_columns(columns).items() if name in sources]
    codes = _codes(facts)
    choices = [*members, *([f] for f in cut if columns[f].kind == "flag")]
    moves: list[Move] = [
        ChoiceMove(
            features=tuple(group),
            scale=scale[group],
            free=allowed_changes.free[group],
            low=allowed_changes.low[group],
            high=allowed_changes.high[group],
            complete=columns[group[0]].complete,
        )
        for group in choices
    ]
    moves += [
        NumberMove(
            feature=f,
            column=columns[f],
            scale=float(scale[f]),
            free=bool(allowed_changes.free[f]),
            low=float(allowed_changes.low[f]),
            high=float(allowed_changes.high[f]),
            step=float(allowed_changes.step[f]),
        )
        for f in cut
        if columns[f].kind not in ("flag", "category") and f not in codes
    ]
    moves += [CodeMove(f, codes[f], bool(allowed_changes.free[f])) for f in codes]
    return sorted(moves, key=lambda move: move.features)


def _codes(facts: Facts) -> dict[int, tuple[int, ...]]:
    """The columns of category codes that the tree splits, and the codes that are known.

    Where the categories have no names, those are known that the splits name.
    """
    tree = facts.tree
    known: dict[int, set[int]] = {}
    for node in np.flatnonzero(~tree.is_leaf).tolist():
        split = tree.split(node)
        if split.is_categorical or facts.columns[split.feature].kind == "codes":
            known.setdefault(split.feature, set()).update(split.categories)
    for feature, named in known.items():
        named |= set(range(len(facts.columns[feature].categories)))
    return {feature: tuple(sorted(named)) for feature, named in sorted(known.items())}


def _first_least(squares: NDArray[np.float64]) -> NDArray[np.intp]:
    if not len(squares):
        return np.full(squares.shape[1], NONE_REACHED, dtype=np.intp)
    first = squares.argmin(axis=0)
    reached = np.isfinite(np.take_along_axis(squares, first[None, :], axis=0)[0])
    return np.where(reached, first, NONE_REACHED)
