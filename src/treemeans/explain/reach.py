"""How far rows are from leaves: how many features must change, and by how much."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from treemeans.columns.interval import EVERYTHING
from treemeans.explain.boxes import Box, leaf_boxes
from treemeans.explain.facts import Facts
from treemeans.explain.freedom import Freedom
from treemeans.explain.moves import Choice, Goal, Move, Slide, inside

_AT_ONCE = 2**20  # entries of a table of rows by leaves
NOWHERE = -1
"""No such leaf, or no such cluster."""


@dataclass(frozen=True)
class Distances:
    """Of rows to leaves, (n_leaves, n_rows).

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
        """The same with the fewest changes, and of these the least distance."""
        able = among & np.isfinite(self.squares)
        changes = np.where(able, self.changes, np.iinfo(np.int32).max)
        fewest = changes == changes.min(axis=0, initial=np.iinfo(np.int32).max)
        return _first_least(np.where(able & fewest, self.squares, np.inf))


class Reach:
    """The leaves of a tree as goals for the features of a row.

    Parameters
    ----------
    facts : Facts
    freedom : what may change
    leaves : node numbers of the leaves, in ascending order

    Attributes
    ----------
    used : columns of X that matter, in ascending order: all values here are of these
    moves : the features they make up
    """

    def __init__(self, facts: Facts, freedom: Freedom, leaves: NDArray[np.intp]) -> None:
        boxes = leaf_boxes(facts.tree)
        self.leaves = leaves
        self.moves = _moves(facts, freedom)
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

    def distances(self, values: NDArray[np.float64]) -> Distances:
        """Of rows, given by the columns that matter, to the leaves."""
        shape = (len(self.leaves), values.shape[1])
        found = Distances(np.zeros(shape, dtype=np.int32), np.zeros(shape))
        for move, places, goals in zip(self.moves, self._places, self._goals, strict=True):
            reached = move.reach(values[places], list(goals))
            for (must, squares), wanted_by in zip(reached, goals.values(), strict=True):
                for leaf in wanted_by:
                    found.changes[leaf] += must
                    found.squares[leaf] += squares
        return found

    def land(self, values: NDArray[np.float64], leaf: NDArray[np.intp]) -> NDArray[np.float64]:
        """The rows as they must become to be in a leaf each; -1: as they are."""
        landed = values.copy()
        for move, places, goals in zip(self.moves, self._places, self._goals, strict=True):
            for goal, wanted_by in goals.items():
                wanted = np.zeros(len(self.leaves) + 1, dtype=bool)  # the last stands for -1
                wanted[wanted_by] = True
                rows = np.flatnonzero(wanted[leaf])
                rows = rows[~inside(values[np.ix_(places, rows)], goal)]
                if len(rows):
                    at = np.ix_(places, rows)
                    landed[at] = move.land(values[at], goal)
        return landed


def _goals(move: Move, boxes: list[Box]) -> dict[Goal, list[int]]:
    """What the leaves want of a feature, and which of them want it; most want nothing."""
    goals: dict[Goal, list[int]] = {}
    for i, box in enumerate(boxes):
        goal = tuple(box.get(feature, EVERYTHING) for feature in move.features)
        if not all(interval.is_all for interval in goal):
            goals.setdefault(goal, []).append(i)
    return goals


def _moves(facts: Facts, freedom: Freedom) -> list[Move]:
    """The features that the tree cuts, in the order of their first columns."""
    columns, scale = facts.columns, facts.scale
    cut = np.unique(facts.tree.feature[~facts.tree.is_leaf]).tolist()
    sources = {columns[f].source for f in cut if columns[f].kind == "category"}
    members: dict[str, list[int]] = {}
    for i, column in enumerate(columns):
        if column.kind == "category" and column.source in sources:
            members.setdefault(column.source, []).append(i)
    choices = [*members.values(), *([f] for f in cut if columns[f].kind == "flag")]
    moves: list[Move] = [
        Choice(
            features=tuple(group),
            scale=scale[group],
            free=freedom.free[group],
            low=freedom.low[group],
            high=freedom.high[group],
            complete=columns[group[0]].complete,
        )
        for group in choices
    ]
    moves += [
        Slide(
            feature=f,
            column=columns[f],
            scale=float(scale[f]),
            free=bool(freedom.free[f]),
            low=float(freedom.low[f]),
            high=float(freedom.high[f]),
            step=float(freedom.step[f]),
        )
        for f in cut
        if columns[f].kind not in ("flag", "category")
    ]
    return sorted(moves, key=lambda move: move.features)


def _first_least(squares: NDArray[np.float64]) -> NDArray[np.intp]:
    if not len(squares):
        return np.full(squares.shape[1], NOWHERE, dtype=np.intp)
    first = squares.argmin(axis=0)
    reached = np.isfinite(np.take_along_axis(squares, first[None, :], axis=0)[0])
    return np.where(reached, first, NOWHERE)
