"""The panel "Where would a row go?": its fields, what nodes ask of them, and rows to start from.

A field is what a row has one value of: a column of numbers or dates, or a choice between options
(a flag, the categories of a column). The value of a choice is the number of its option.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from treemeans.columns import Column
from treemeans.columns.dates import PER_DAY, UNIT_NAMES
from treemeans.columns.number_text import finite_or_none
from treemeans.explain.allowed_changes import AllowedChanges
from treemeans.explain.column_lookup import ColumnLookup
from treemeans.explain.leaf_boxes import Box, node_boxes
from treemeans.explain.leaf_distances import LeafDistances
from treemeans.explain.model_facts import Facts
from treemeans.explain.phrases import value_words
from treemeans.explain.smallest_move import ChoiceMove, CodeMove, Goal, Move, NumberMove, inside
from treemeans.report.histogram_bins import round_step
from treemeans.report.report_text import ReportText
from treemeans.rows.column_values import column_of
from treemeans.tree_layout.text_fitting import one_line
from treemeans.value_set import EVERYTHING

_MILLISECONDS = 24 * 3600 * 1000  # in a day
_LARGEST = np.finfo(np.float64).max


class RowFields:
    """The fields for the columns that a tree splits, and what each node asks of them.

    Parameters
    ----------
    facts : Facts
        Of the largest tree.
    text : ReportText
        Of the same tree.

    Attributes
    ----------
    moves : list of Move
        For each field, its columns and how their values may change.
    of_column : dict
        From columns of X to their fields.
    """

    def __init__(self, facts: Facts, text: ReportText) -> None:
        allowed_changes = AllowedChanges.of(ColumnLookup(facts.columns))
        self._tree, self._text = facts.tree, text
        self.columns = facts.columns
        self.moves: list[Move] = LeafDistances(facts, allowed_changes, facts.tree.leaves).moves
        self.of_column = {f: i for i, move in enumerate(self.moves) for f in move.features}

    def entries(self) -> list[dict[str, Any]]:
        """Name, kind, unit and options of each field."""
        return [self._entry(move) for move in self.moves]

    def conditions(self) -> tuple[list[dict[str, Any]], list[int]]:
        """What nodes ask of fields, and the condition that each node adds; -1 at the root.

        A condition covers everything that the splits on the way to a node ask of one field. So
        of the conditions on the way, the last one of each field is enough.
        """
        found: dict[tuple[int, Goal], int] = {}
        conditions: list[dict[str, Any]] = []
        of_node = [-1] * self._tree.n_nodes
        boxes = node_boxes(self._tree)
        for node in np.flatnonzero(~self._tree.is_leaf).tolist():
            field = self.of_column[int(self._tree.feature[node])]
            for child in (int(self._tree.left[node]), int(self._tree.right[node])):
                goal = _goal(self.moves[field], boxes[child])
                if (field, goal) not in found:
                    found[field, goal] = len(conditions)
                    conditions.append({"field": field} | self._condition(self.moves[field], goal))
                of_node[child] = found[field, goal]
        return conditions, of_node

    def split_entries(self) -> dict[str, list[Any]]:
        """For each node the field that it splits, and how: what ``goesLeft`` in tree.js reads.

        ``threshold`` is for fields of numbers, ``options_left`` for choices, ``missing_left`` for
        missing values (None if the split has no side for them). ``yes_left`` tells which side is
        shown first: a one-hot column is 1 on the right, where its category is.
        """
        names = ("field", "threshold", "options_left", "missing_left", "yes_left")
        entries: dict[str, list[Any]] = {name: [None] * self._tree.n_nodes for name in names}
        for node in np.flatnonzero(~self._tree.is_leaf).tolist():
            split = self._tree.split(node)
            field = self.of_column[split.feature]
            move = self.moves[field]
            entries["field"][node] = field
            entries["missing_left"][node] = split.missing_left
            entries["yes_left"][node] = not isinstance(move, ChoiceMove)
            if isinstance(move, NumberMove):
                # JSON has no infinity; no value that can be typed in lies beyond the largest.
                threshold = float(np.clip(split.threshold, -_LARGEST, _LARGEST))
                entries["threshold"][node] = threshold
            else:
                values = _options(move)[:, move.features.index(split.feature)]
                entries["options_left"][node] = np.flatnonzero(split.goes_left(values)).tolist()
        return entries

    def values(self, rows: NDArray[np.float64], field: int) -> NDArray[np.float64]:
        """Values of rows of X in a field; NaN where the field cannot hold them."""
        move = self.moves[field]
        x = rows[:, list(move.features)]
        if isinstance(move, NumberMove):
            step = move.step
            return np.where(np.mod(x[:, 0], step) == 0, x[:, 0], np.nan) if step else x[:, 0]
        option = np.full(len(rows), np.nan)
        for number, wanted in enumerate(_options(move)):
            option[(x == wanted).all(axis=1)] = number
        return option

    def typical_row(self, facts: Facts, X: Any) -> list[float | int]:
        """A row to start from: rounded medians of numbers, the most common options.

        A median may be the value of a row, so it is rounded to about a tenth of the column's
        spread. Without rows (``X`` is None) there are no medians, and means take their place.
        """
        weight = facts.weight
        known = np.where(weight[:, None] > 0, facts.profiles, 0.0)
        mean = weight @ known / weight.sum() if weight.sum() > 0 else np.zeros(len(self.columns))
        row: list[float | int] = []
        for move in self.moves:
            if isinstance(move, NumberMove):
                values = mean[[move.feature]] if X is None else column_of(X, move.feature)
                values = values[np.isfinite(values)]
                middle = float(np.median(values)) if len(values) else 0.0
                row.append(plain(_rounded(move, middle, float(facts.spread[move.feature]))))
            elif isinstance(move, CodeMove):
                values = np.empty(0) if X is None else column_of(X, move.feature)
                counts = [np.count_nonzero(values == code) for code in move.codes]
                row.append(int(np.argmax(counts)))
            else:
                shares = mean[list(move.features)]
                row.append(int(np.argmax([*shares, 1 - shares.sum()])))
        return row

    def _entry(self, move: Move) -> dict[str, Any]:
        feature = move.features[0]
        column = self.columns[feature]
        about = {
            "name": self._text.column_name(feature),
            "kind": "category" if isinstance(move, CodeMove) else column.kind,
            "accepts_missing": self._accepts_missing(move),
        }
        if isinstance(move, NumberMove):
            unit = self._unit(feature)
            known = {} if column.missing is None else {"missing": column.missing}
            slider = {"range": self._range(move)}
            return about | {"scale": move.scale, "unit": unit} | slider | known | _time_unit(column)
        names = self.option_names(move)
        return about | {
            "options": names,
            "distances": _distances(move),
            "changes": [f"change {about['name']} to {name}" for name in names],
        }

    def _unit(self, feature: int) -> str:
        """What the number in a field counts; nothing for dates, which are entered as dates."""
        column = self.columns[feature]
        if column.is_date:
            return ""
        if column.kind == "duration":
            return UNIT_NAMES[column.unit]
        return self._text.printed(self._column(feature).unit)

    def _range(self, move: NumberMove) -> list[float | int]:
        """Ends and step of a slider: beyond all thresholds, and not the extremes of the rows."""
        cuts = self._tree.threshold[self._tree.feature == move.feature]
        cuts = cuts[np.isfinite(cuts)]
        if not len(cuts):
            cuts = np.zeros(1)
        low, high = float(cuts.min()) - 2 * move.scale, float(cuts.max()) + 2 * move.scale
        step = float(move.step or round_step((high - low) / 200))
        low, high = math.floor(low / step) * step, math.ceil(high / step) * step
        return [plain(float(f"{x:.12g}")) for x in (low, high, step)]

    def option_names(self, move: Move) -> list[str]:
        """Names of the options of a field; last, if there is such, that of none of them."""
        if isinstance(move, CodeMove):
            column = self._column(move.feature)
            return [self._text.printed(column.category(code)) for code in move.codes]
        assert isinstance(move, ChoiceMove)
        if self.columns[move.features[0]].kind == "flag":
            return ["yes", "no"]
        names = [self._text.printed(self._column(f).value) for f in move.features]
        return names if move.complete else [*names, "none of these"]

    def _accepts_missing(self, move: Move) -> bool:
        splits = np.isin(self._tree.feature, move.features)
        return bool((self._tree.missing_left[splits] >= 0).all())

    def _column(self, feature: int) -> Column:
        return self._text.reader.columns[feature]

    def _condition(self, move: Move, goal: Goal) -> dict[str, Any]:
        box = dict(zip(move.features, goal, strict=True))
        about = {
            "text": self._text.printed("".join(self._text.reader.conditions(box))),
            "missing": all(wanted.missing for wanted in goal),
        }
        if isinstance(move, NumberMove):
            (interval,) = goal
            return about | {
                "above": finite_or_none(interval.above),
                "upto": finite_or_none(interval.upto),
                "raise": self._nearest(move, goal, interval.above, up=True),
                "lower": self._nearest(move, goal, interval.upto, up=False),
            }
        return about | {"options": np.flatnonzero(inside(_options(move).T, goal)).tolist()}

    def _nearest(self, move: NumberMove, goal: Goal, border: float, *, up: bool) -> Any:
        """The nearest value that meets a condition, coming from below or from above.

        It is a pair of the value that distances are measured to, and the change in words; None if
        there is no such value.
        """
        if math.isinf(border):
            return None
        outside = border if up else math.nextafter(border, math.inf)
        if move.step:
            outside = (math.floor(border / move.step) + (not up)) * move.step
        x = np.array([[outside]])
        ((must, squares),) = move.squared_distances(x, [goal])
        if not must[0] or not np.isfinite(squares[0]):
            return None
        new = float(move.moved(x, goal)[0, 0])
        beyond = math.nextafter(new, math.inf)
        words = value_words(self._text.reader, move.feature, new, new, beyond)
        verb = "move" if move.column.is_date else "raise" if up else "lower"
        change = f"{verb} {self._column(move.feature).name} to {words}"
        return [new if move.step else border, self._text.printed(change)]


def example_rows(
    fields: RowFields, X: Any, cluster: NDArray[np.int32], index: Any, most: int
) -> dict[str, Any]:
    """Up to ``most`` rows of X, evenly from every cluster, as values of the fields.

    Rows with a value that a field cannot hold, such as half of a whole number, are left out.
    ``index``: the index of a data frame, which names its rows; by default they are counted from 1.
    """
    chosen = _evenly_chosen(cluster, most)
    table = X[chosen].toarray() if sparse.issparse(X) else X[chosen]
    columns = [
        fields.values(np.asarray(table, dtype=np.float64), field)
        for field in range(len(fields.moves))
    ]
    values = np.stack(columns, axis=1) if columns else np.empty((len(chosen), 0))
    kept = np.flatnonzero(np.isfinite(values).all(axis=1))
    return {
        "names": [_row_name(index, i) for i in chosen[kept].tolist()],
        "values": [[plain(x) for x in row] for row in values[kept].tolist()],
    }


def _row_name(index: Any, i: int) -> str:
    if index is None:
        return f"row {i + 1}"
    return one_line(f"{'row' if index.name is None else index.name} {index[i]}")


def _evenly_chosen(cluster: NDArray[np.int32], most: int) -> NDArray[np.intp]:
    """Numbers of up to ``most`` rows, about as many of each cluster, from its first to its last."""
    present = np.unique(cluster)
    quota = max(1, most // max(1, len(present)))
    chosen: list[NDArray[np.intp]] = []
    for each in present[:most]:
        members = np.flatnonzero(cluster == each)
        evenly = np.linspace(0, len(members) - 1, min(quota, len(members)))
        chosen.append(members[np.unique(evenly.astype(np.intp))])
    return np.sort(np.concatenate(chosen)) if chosen else np.empty(0, dtype=np.intp)


def plain(x: float) -> float | int:
    """A number without a useless point and zero."""
    return int(x) if x.is_integer() and abs(x) < 2**53 else x


def _rounded(move: NumberMove, x: float, spread: float) -> float:
    """A number to about a tenth of the spread; a date to a day; a whole number stays whole."""
    unit = float(PER_DAY[move.column.unit]) if move.column.is_date else 1.0
    step = round_step(spread / unit / 10) * unit if spread > 0 else 0.0
    if move.step or move.column.is_date:
        return float(round(x / max(step, unit)) * max(step, unit))
    return float(f"{round(x / step) * step:.12g}") if step > 0 else float(f"{x:.4g}")


def _goal(move: Move, box: Box) -> Goal:
    return tuple(box.get(feature, EVERYTHING) for feature in move.features)


def _options(move: Move) -> NDArray[np.float64]:
    """The options of a choice, each as the values of its columns, (n_options, n_columns)."""
    if isinstance(move, CodeMove):
        return np.array(move.codes, dtype=np.float64)[:, None]
    assert isinstance(move, ChoiceMove)
    return move.states


def _distances(move: Move) -> list[float]:
    """Of each option its part in a squared distance: that of a change is the sum of both parts."""
    if isinstance(move, CodeMove):
        return [0.5] * len(move.codes)  # one code is as far from another as from any
    assert isinstance(move, ChoiceMove)
    return [float(((option / move.scale) ** 2).sum()) for option in _options(move)]


def _time_unit(column: Column) -> dict[str, Sequence[int]]:
    """The factor from milliseconds to the unit of a column of dates, as a fraction."""
    if not column.is_date:
        return {}
    ratio = Fraction(PER_DAY[column.unit], _MILLISECONDS)
    return {"per_millisecond": (ratio.numerator, ratio.denominator)}
