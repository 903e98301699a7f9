"""Cuts and boxes of a tree in words."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from treemeans.columns.column import Column, Columns
from treemeans.columns.dates import moment
from treemeans.columns.decimals import about, percent, shown, shown_date, telling_place, written
from treemeans.columns.interval import EVERYTHING, Interval
from treemeans.tree import ThresholdTree


class Reader:
    """Says in words what a tree does, in the units, categories and dates of its columns.

    Thresholds are written with six digits, or as many as it takes that no training row would
    be read to the wrong side.

    Parameters
    ----------
    tree : ThresholdTree
    columns : tuple of Column

    Examples
    --------
    >>> tree = ThresholdTree([0, -1, -1], [2.5, 0, 0], [1, -1, -1], [2, -1, -1], [0, 0, 1], 1)
    >>> Reader(tree, (Column("visits", "integer"),)).sides(0)
    ('visits <= 2', 'visits >= 3')
    """

    def __init__(self, tree: ThresholdTree, columns: Columns) -> None:
        self.tree = tree
        self.columns = columns
        self._gaps = _gaps(tree)
        self._sources: dict[str, list[int]] = {}
        for i, column in enumerate(columns):
            if column.kind == "category":
                self._sources.setdefault(column.source, []).append(i)

    def sides(self, node: int) -> tuple[str, str]:
        """The condition to go left at a cut, and the one to go right."""
        feature, threshold = int(self.tree.feature[node]), float(self.tree.threshold[node])
        return (
            self.condition(feature, Interval(upto=threshold)),
            self.condition(feature, Interval(above=threshold)),
        )

    def conditions(self, box: Mapping[int, Interval]) -> list[str]:
        """The conditions of a box, one for each column or source of categories, in words."""
        words: list[str] = []
        told: set[str] = set()
        for feature in sorted(box):
            column = self.columns[feature]
            if column.kind != "category":
                words.append(self.condition(feature, box[feature]))
            elif column.source not in told:
                told.add(column.source)
                words.append(self._category(column.source, box))
        return [phrase for phrase in words if phrase]

    def condition(self, feature: int, interval: Interval) -> str:
        """One interval of one column; empty where it holds every value."""
        if interval.is_all:
            return ""
        column = self.columns[feature]
        if column.kind == "category":
            return self._category(column.source, {feature: interval})
        if column.kind == "flag":
            return f"{_name(column)} = {0 if interval.above < 0 else 1}"
        low, high = self._bound(feature, interval.above), self._bound(feature, interval.upto)
        if column.kind in ("integer", "date"):
            return _whole_words(column, low, high)
        return _number_words(column, low, high)

    def title(self, feature: int) -> str:
        """What to call a column where there is no condition on it."""
        column = self.columns[feature]
        return column.title if column.kind == "category" else _name(column)

    def value(self, feature: int, x: float) -> str:
        """A value of a column as people write it."""
        column = self.columns[feature]
        if column.kind == "category":
            return column.value if x > 0.5 else f"not {column.value}"
        return _text(column, x)

    def mean(self, feature: int, x: float) -> str:
        """A mean of a column: shares of categories, dates of dates, four digits of a number."""
        column = self.columns[feature]
        if column.kind in ("category", "flag"):
            return percent(x)
        if column.is_date:
            return _date(column, x, "%Y-%m-%d")
        return _with_unit(column, about(x))

    def compared(self, feature: int, x: float, y: float) -> tuple[str, str]:
        """Two means of a column, to as many digits as it takes to tell them apart."""
        column = self.columns[feature]
        words = self.mean(feature, x), self.mean(feature, y)
        if column.kind in ("category", "flag") or (column.is_date and words[0] != words[1]):
            return words
        if column.is_date:
            return _date(column, x, "%Y-%m-%d %H:%M"), _date(column, y, "%Y-%m-%d %H:%M")
        place = telling_place(x, y)
        short = [_with_unit(column, written(round(each, place))) for each in (x, y)]
        return short[0], short[1]

    def _bound(self, feature: int, threshold: float) -> float:
        below, above = self._gaps.get((feature, threshold), (threshold, threshold))
        if math.isinf(threshold):
            return threshold
        if self.columns[feature].is_date:
            return shown_date(threshold, below, above, self.columns[feature].unit)
        return shown(threshold, below, above)

    def _category(self, source: str, box: Mapping[int, Interval]) -> str:
        members = self._sources[source]
        fixed = [(i, box[i].above >= 0) for i in members if not box.get(i, EVERYTHING).is_all]
        yes = [self.columns[i].value for i, is_it in fixed if is_it]
        no = [self.columns[i].value for i, is_it in fixed if not is_it]
        if yes:
            return f"{source} = {' and '.join(yes)}"
        rest = [self.columns[i].value for i in members if self.columns[i].value not in no]
        complete = all(self.columns[i].complete for i in members)
        if no and complete and 0 < len(rest) < max(len(no), 2):
            return f"{source} = {rest[0]}" if len(rest) == 1 else _listed(source, "in", rest)
        if len(no) == 1:
            return f"{source} != {no[0]}"
        return _listed(source, "not in", no) if no else ""


def _gaps(tree: ThresholdTree) -> dict[tuple[int, float], tuple[float, float]]:
    """For each cut, what its threshold may be read as; the same cut twice: what both allow."""
    gaps: dict[tuple[int, float], tuple[float, float]] = {}
    for node in np.flatnonzero(~tree.is_leaf).tolist():
        key = (int(tree.feature[node]), float(tree.threshold[node]))
        below, above = tree.gap[node].tolist()
        known = gaps.get(key, (-math.inf, math.inf))
        gaps[key] = (max(known[0], below), min(known[1], above))
    return gaps


def _number_words(column: Column, above: float, upto: float) -> str:
    if math.isinf(upto):
        return f"{_name(column)} > {_text(column, above)}"
    if math.isinf(above):
        return f"{_name(column)} <= {_text(column, upto)}"
    return f"{_text(column, above)} < {_name(column)} <= {_text(column, upto)}"


def _whole_words(column: Column, above: float, upto: float) -> str:
    """Of a column of integers, or whole days: only they count."""
    least = math.floor(above) + 1.0 if math.isfinite(above) else above
    most = math.floor(upto) if math.isfinite(upto) else upto
    if least > most:  # two cuts in one gap between integers
        return _number_words(column, above, upto)
    if math.isinf(most):
        return f"{_name(column)} >= {_text(column, least)}"
    if math.isinf(least):
        return f"{_name(column)} <= {_text(column, most)}"
    if least == most:
        return f"{_name(column)} = {_text(column, most)}"
    return f"{_text(column, least)} <= {_name(column)} <= {_text(column, most)}"


def _text(column: Column, x: float) -> str:
    return _date(column, x) if column.is_date else _with_unit(column, written(x))


def _name(column: Column) -> str:
    """The name; in quotes where it looks like a number."""
    try:
        float(column.name)
    except ValueError:
        return column.name
    return f'"{column.name}"'


def _with_unit(column: Column, number: str) -> str:
    return f"{number} {column.unit}" if column.unit else number


def _listed(source: str, relation: str, values: list[str]) -> str:
    return f"{source} {relation} ({', '.join(values)})"


def _date(column: Column, x: float, form: str = "") -> str:
    try:
        when = moment(x, column.unit)
    except ValueError:  # outside the calendar
        return f"{written(x)} {column.unit}"
    if form or column.kind == "date":
        return when.strftime(form or "%Y-%m-%d")
    text = when.isoformat(sep=" ")
    return text.removesuffix(":00").removesuffix(" 00:00")
