"""What a row is asked for, and what would bring it where a node wants it.

An *axis* is a column, or a source of categories: what a row has one value of. A *goal* is what the
cuts on the way to a node ask of one axis: an interval, or some of the categories. Every node but
the root adds one goal, and the last of each axis on the way says all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemeans.columns import Column
from treemeans.columns.dates import PER_DAY
from treemeans.columns.interval import EVERYTHING
from treemeans.explain.boxes import Box, node_boxes
from treemeans.explain.directory import Directory
from treemeans.explain.facts import Facts
from treemeans.explain.freedom import Freedom
from treemeans.explain.moves import Choice, Goal, Move, Slide, inside
from treemeans.explain.reach import Reach
from treemeans.explain.words import value_words
from treemeans.report.wording import Wording

_MILLISECONDS = 24 * 3600 * 1000


class Axes:
    """The axes of a tree, and the goals of its nodes.

    Parameters
    ----------
    facts : Facts
        Of the largest tree.
    wording : Wording
        Of the same tree.

    Attributes
    ----------
    moves : list of Move, one for each axis
    of_column : dict, from columns of X to their axes
    """

    def __init__(self, facts: Facts, wording: Wording) -> None:
        freedom = Freedom.of(Directory(facts.columns))
        self._tree, self._wording = facts.tree, wording
        self.columns = facts.columns
        self.moves: list[Move] = Reach(facts, freedom, facts.tree.leaves).moves
        self.of_column = {f: i for i, move in enumerate(self.moves) for f in move.features}

    def described(self) -> list[dict[str, Any]]:
        """Each axis for the page."""
        return [self._axis(move) for move in self.moves]

    def goals(self) -> tuple[list[dict[str, Any]], list[int]]:
        """The distinct goals, and the one that each node adds; -1 at the root."""
        found: dict[tuple[int, Goal], int] = {}
        goals: list[dict[str, Any]] = []
        added = [-1] * self._tree.n_nodes
        boxes = node_boxes(self._tree)
        for cut in np.flatnonzero(~self._tree.is_leaf).tolist():
            axis = self.of_column[int(self._tree.feature[cut])]
            for child in (int(self._tree.left[cut]), int(self._tree.right[cut])):
                goal = _goal(self.moves[axis], boxes[child])
                if (axis, goal) not in found:
                    found[axis, goal] = len(goals)
                    goals.append({"axis": axis} | self._described_goal(self.moves[axis], goal))
                added[child] = found[axis, goal]
        return goals, added

    def values(self, rows: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
        """Of rows of X, the value on an axis, or the number of the state; NaN where it is none."""
        move = self.moves[axis]
        x = rows[:, list(move.features)]
        if isinstance(move, Slide):
            step = move.step
            return np.where(np.mod(x[:, 0], step) == 0, x[:, 0], np.nan) if step else x[:, 0]
        state = np.full(len(rows), np.nan)
        for number, wanted in enumerate(_states(move)):
            state[(x == wanted).all(axis=1)] = number
        return state

    def _axis(self, move: Move) -> dict[str, Any]:
        feature = move.features[0]
        column = self.columns[feature]
        about = {"name": self._wording.name(feature), "kind": column.kind}
        if isinstance(move, Slide):
            unit = "" if column.is_date else self._wording.said(self._column(feature).unit)
            known = {} if column.missing is None else {"missing": column.missing}
            return about | {"scale": move.scale, "unit": unit} | known | _clock(column)
        assert isinstance(move, Choice)
        names = self.state_names(move)
        return about | {
            "states": names,
            "far": [float(((s / move.scale) ** 2).sum()) for s in _states(move)],
            "say": [f"change {about['name']} to {name}" for name in names],
        }

    def state_names(self, move: Choice) -> list[str]:
        """The categories of a source, and what to call none of them; yes and no of a flag."""
        if self.columns[move.features[0]].kind == "flag":
            return ["yes", "no"]
        names = [self._wording.said(self._column(f).value) for f in move.features]
        return names if move.complete else [*names, "none of these"]

    def _column(self, feature: int) -> Column:
        return self._wording.reader.columns[feature]

    def _described_goal(self, move: Move, goal: Goal) -> dict[str, Any]:
        box = dict(zip(move.features, goal, strict=True))
        words = {"words": self._wording.said("".join(self._wording.reader.conditions(box)))}
        if isinstance(move, Slide):
            (interval,) = goal
            return words | {
                "above": _finite(interval.above),
                "upto": _finite(interval.upto),
                "up": self._landing(move, goal, interval.above, up=True),
                "down": self._landing(move, goal, interval.upto, up=False),
            }
        assert isinstance(move, Choice)
        return words | {"states": np.flatnonzero(inside(_states(move).T, goal)).tolist()}

    def _landing(self, move: Slide, goal: Goal, border: float, *, up: bool) -> Any:
        """From below or above: how far a row must come, and to what in words; None: it cannot."""
        if math.isinf(border):
            return None
        outside = border if up else math.nextafter(border, math.inf)
        if move.step:
            outside = (math.floor(border / move.step) + (not up)) * move.step
        x = np.array([[outside]])
        ((must, squares),) = move.reach(x, [goal])
        if not must[0] or not np.isfinite(squares[0]):
            return None
        landed = float(move.land(x, goal)[0, 0])
        becomes = value_words(
            self._wording.reader, move.feature, landed, landed, math.nextafter(landed, math.inf)
        )
        verb = "move" if move.column.is_date else "raise" if up else "lower"
        words = f"{verb} {self._column(move.feature).name} to {becomes}"
        return [landed if move.step else border, self._wording.said(words)]


def _goal(move: Move, box: Box) -> Goal:
    return tuple(box.get(feature, EVERYTHING) for feature in move.features)


def _states(move: Move) -> NDArray[np.float64]:
    """What a row may have: one of the columns at 1; or none, which comes last."""
    assert isinstance(move, Choice)
    return move.states


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def _clock(column: Column) -> dict[str, Sequence[int]]:
    """What milliseconds are multiplied with and divided by to count as the column does."""
    if not column.is_date:
        return {}
    ratio = Fraction(PER_DAY[column.unit], _MILLISECONDS)
    return {"clock": (ratio.numerator, ratio.denominator)}
