"""Conditions of a tree in words: the only place that words them."""

from __future__ import annotations

import copy
import math
from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from treemeans.columns.column import Column, Columns, one_hot_columns
from treemeans.columns.dates import duration_text, from_count
from treemeans.columns.number_text import (
    decimals_to_compare,
    format_number,
    format_rounded,
    percent,
)
from treemeans.columns.threshold_rounding import shorten_date, shorten_duration, shorten_number
from treemeans.tree import ThresholdTree
from treemeans.value_set import EVERYTHING, ValueSet

MOST_LISTED = 6  # categories of a set that a condition lists; how many more there are, it says


class Reader:
    """Words for the splits of a tree, in the units, categories and dates of its columns.

    Thresholds are written with six digits, or with more if a training row would otherwise be read
    to the wrong side.

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
        self._first: dict[int, int] = {}
        self._may_be_missing = set(tree.feature[tree.missing_left >= 0].tolist())
        self._sources = one_hot_columns(columns)

    def sides(self, node: int) -> tuple[str, str]:
        """The condition to go left at a cut, and the one to go right."""
        split = self.tree.split(node)
        return (
            self.condition(split.feature, split.left),
            self.condition(split.feature, split.right),
        )

    def conditions(self, box: Mapping[int, ValueSet]) -> list[str]:
        """The conditions of a box, one for each column or source of categories, in words."""
        words: list[str] = []
        worded: set[str] = set()
        for feature in sorted(box):
            column = self.columns[feature]
            if column.kind != "category":
                words.append(self.condition(feature, box[feature]))
            elif column.source not in worded:
                worded.add(column.source)
                words.append(self._category(column.source, box))
        return [phrase for phrase in words if phrase]

    def condition(self, feature: int, values: ValueSet) -> str:
        """That a column has a value of a set; empty where every value is in it."""
        column = self.columns[feature]
        if column.kind == "category":
            return self._category(column.source, {feature: values})
        name = _name(column)
        if values.has_every_value:
            is_asked = not values.missing and feature in self._may_be_missing
            return f"{name} is not missing" if is_asked else ""
        if values.has_no_value and values.missing:
            return f"{name} is missing"
        if values.above == math.inf or values.upto == -math.inf:
            return f"{name} is neither missing nor present"  # of a leaf that no row can reach
        words = self._values(feature, values)
        return f"{words} or missing" if values.missing else words

    def _values(self, feature: int, values: ValueSet) -> str:
        """A set of values, of which some but not all are in it, without missing ones."""
        column = self.columns[feature]
        if values.asks_codes:
            return _codes(column, values, self._first.get(feature))
        if column.kind == "flag":
            return f"{_name(column)} = {_text(column, 0.0 if values.above < 0 else 1.0)}"
        low, high = self._bound(feature, values.above), self._bound(feature, values.upto)
        if column.kind in ("integer", "date"):
            return _whole_words(column, low, high)
        return _number_words(column, low, high)

    def without_ranges(self, features: Collection[int]) -> Reader:
        """The reader for a row whose values of some columns are beyond those of all training rows.

        ``language = 1`` stands for ``language <= 1`` if no training row has less. Of a row that
        has less, it would be untrue.
        """
        if not features:
            return self
        columns = list(self.columns)
        for i in features:
            columns[i] = replace(columns[i], low=None, high=None)
        return Reader(self.tree, tuple(columns))

    def for_values(self, values: Mapping[int, float]) -> Reader:
        """The reader for a row with these values: of many categories, its own are listed."""
        codes = {
            feature: int(value)
            for feature, value in values.items()
            if self.columns[feature].kind == "codes" and float(value).is_integer()
        }
        if not codes:
            return self
        reader = copy.copy(self)
        reader._first = codes
        return reader

    def title(self, feature: int) -> str:
        """The name of a column where there is no condition on it."""
        column = self.columns[feature]
        return column.title if column.kind == "category" else _name(column)

    def value(self, feature: int, x: float) -> str:
        """A value of a column as people write it."""
        column = self.columns[feature]
        if math.isnan(x):
            return "missing"
        if column.kind == "category":
            return column.value if x > 0.5 else f"not {column.value}"
        return _text(column, x)

    def mean(self, feature: int, x: float) -> str:
        """A mean of a column: shares of categories, dates of dates, four digits of a number."""
        column = self.columns[feature]
        if column.kind in ("category", "flag"):
            return percent(x)
        if column.is_date:
            return _date(column, x, "day")
        if column.kind == "duration":
            return duration_text(x, column.unit, "minutes")
        return _with_unit(column, format_rounded(x))

    def compared(self, feature: int, x: float, y: float) -> tuple[str, str]:
        """Two means of a column, with enough digits to show their difference."""
        column = self.columns[feature]
        words = self.mean(feature, x), self.mean(feature, y)
        if column.kind in ("category", "flag") or (column.is_date and words[0] != words[1]):
            return words
        if column.is_date:
            return _date(column, x, "minute"), _date(column, y, "minute")
        if column.kind == "duration":
            return words
        place = decimals_to_compare(x, y)
        short = [_with_unit(column, format_number(round(each, place))) for each in (x, y)]
        return short[0], short[1]

    def _bound(self, feature: int, threshold: float) -> float:
        below, above = self._gaps.get((feature, threshold), (threshold, threshold))
        if math.isinf(threshold):
            return threshold
        if self.columns[feature].is_date:
            return shorten_date(threshold, below, above, self.columns[feature].unit)
        if self.columns[feature].kind == "duration":
            return shorten_duration(threshold, below, above, self.columns[feature].unit)
        return shorten_number(threshold, below, above)

    def _category(self, source: str, box: Mapping[int, ValueSet]) -> str:
        """What a box says of the one-hot columns of a source."""
        members = self._sources[source]
        asked = [i for i in members if not box.get(i, EVERYTHING).has_every_value]
        words = self._one_hot(source, [(i, box[i].above >= 0) for i in asked])
        missing = bool(asked) and all(box[i].missing for i in asked)
        return f"{words} or missing" if missing else words

    def _one_hot(self, source: str, fixed: list[tuple[int, bool]]) -> str:
        """That the columns in ``fixed`` are 1, or are 0."""
        members = self._sources[source]
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
        lists_all = any(self.columns[i].lists_all for i in members)
        return _listed(source, "not in", no, lists_all=lists_all) if no else ""


def _gaps(tree: ThresholdTree) -> dict[tuple[int, float], tuple[float, float]]:
    """For each split, the range of its threshold; of a split that occurs twice, what both allow."""
    gaps: dict[tuple[int, float], tuple[float, float]] = {}
    for node in np.flatnonzero(np.isfinite(tree.threshold)).tolist():
        key = (int(tree.feature[node]), float(tree.threshold[node]))
        below, above = tree.gap[node].tolist()
        known = gaps.get(key, (-math.inf, math.inf))
        gaps[key] = (max(known[0], below), min(known[1], above))
    return gaps


def _codes(column: Column, values: ValueSet, first: int | None = None) -> str:
    """The categories that a column has, or those that it has not: others may be unknown.

    ``first``: the code of the one to list first, if it is among them.
    """
    chosen = sorted(values.but if values.codes is None else values.codes)
    if first in chosen and len(chosen) > MOST_LISTED:
        chosen = [first, *(code for code in chosen if code != first)]
    names = [column.category(code) for code in chosen]
    one, several = ("=", "in") if values.codes is not None else ("!=", "not in")
    if len(names) == 1:
        return f"{_name(column)} {one} {names[0]}"
    return _listed(_name(column), several, names, lists_all=column.lists_all)


def _number_words(column: Column, above: float, upto: float) -> str:
    if math.isinf(upto):
        return f"{_name(column)} > {_text(column, above)}"
    if math.isinf(above):
        return f"{_name(column)} <= {_text(column, upto)}"
    return f"{_text(column, above)} < {_name(column)} <= {_text(column, upto)}"


def _whole_words(column: Column, above: float, upto: float) -> str:
    """A condition on whole numbers or days, in terms of those that meet it."""
    least = math.floor(above) + 1.0 if math.isfinite(above) else above
    most = math.floor(upto) if math.isfinite(upto) else upto
    if least > most:  # two cuts in one gap between integers
        return _number_words(column, above, upto)
    if math.isinf(least) and most == column.low:
        least = column.low
    if math.isinf(most) and least == column.high:
        most = column.high
    if math.isinf(most):
        return f"{_name(column)} >= {_text(column, least)}"
    if math.isinf(least):
        return f"{_name(column)} <= {_text(column, most)}"
    if least == most:
        return f"{_name(column)} = {_text(column, most)}"
    return f"{_text(column, least)} <= {_name(column)} <= {_text(column, most)}"


def _text(column: Column, x: float) -> str:
    if column.kind == "codes":
        return column.category(x)
    if column.is_boolean:
        return "True" if x > 0.5 else "False"
    if column.kind == "duration":
        return duration_text(x, column.unit)
    return _date(column, x) if column.is_date else _with_unit(column, format_number(x))


def _name(column: Column) -> str:
    """The name of a column, in quotes if it looks like a number."""
    try:
        float(column.name)
    except ValueError:
        return column.name
    return f'"{column.name}"'


def _with_unit(column: Column, number: str) -> str:
    return f"{number} {column.unit}" if column.unit else number


def _listed(source: str, relation: str, values: list[str], *, lists_all: bool = False) -> str:
    if len(values) > MOST_LISTED + 1 and not lists_all:
        values = [*values[:MOST_LISTED], f"+{len(values) - MOST_LISTED}"]
    return f"{source} {relation} ({', '.join(values)})"


def _date(column: Column, x: float, precision: str = "") -> str:
    """A date or time to the day or the minute; by default, in full."""
    try:
        when = from_count(x, column.unit)
    except ValueError:  # outside the calendar
        return f"{format_number(x)} {column.unit}"
    # Not strftime, which writes the year 1 as "1" on some systems.
    if precision == "minute":
        return when.isoformat(sep=" ", timespec="minutes")
    if precision == "day" or column.kind == "date":
        return when.date().isoformat()
    text = when.isoformat(sep=" ")
    return text.removesuffix(":00").removesuffix(" 00:00")
