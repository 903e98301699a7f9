"""Sets of values, and boxes of them, as SQL conditions."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from treemeans.columns import Column, Columns
from treemeans.columns.dates import duration_from_count, from_count
from treemeans.explain.leaf_boxes import Box
from treemeans.export.sql_dialects import Dialect, Expression, as_double
from treemeans.optional_imports import need
from treemeans.value_set import ValueSet

_TOGETHER = 50  # terms of AND and OR in a row: databases limit how deep an expression is
_LINE_BREAK = "__SQLGLOT__LB__"  # what sqlglot keeps line breaks as while it indents
_WHOLE = 2.0**53  # up to here float64 has every integer


class Conditions:
    """Writes what a tree asks about its columns as expressions of sqlglot.

    Parameters
    ----------
    columns : tuple of Column
    dialect : Dialect
    one_hot : bool
        Whether the table has the one-hot columns of X; else it has the source of each.
    finite : bool
        Whether rows with NaN or infinity count as missing.

    Attributes
    ----------
    can_break_lines : bool
        Whether sqlglot leaves all names and texts so far as they are when it breaks lines.
    """

    def __init__(self, columns: Columns, dialect: Dialect, *, one_hot: bool, finite: bool) -> None:
        self.exp = need("sqlglot.expressions", "sql")
        self._columns = columns
        self._dialect = dialect
        self._one_hot = one_hot
        self._finite = finite
        self.can_break_lines = True

    def identifier(self, name: str) -> Expression:
        """A name in quotes."""
        if not isinstance(name, str) or not name:
            raise ValueError(f"In SQL a column must have a name, which {name!r} is not.")
        if set(name) & set(self._dialect.not_in_names):
            raise ValueError(
                f"{self._dialect.name} does not allow a character of the name {name!r}; rename it."
            )
        return self.exp.Identifier(this=self._checked(name), quoted=True)

    def text(self, value: str) -> Expression:
        """Text in quotes."""
        return self._dialect.text(self.exp, self._checked(value))

    def _checked(self, text: str) -> str:
        """Text that a database can hold."""
        if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
            raise ValueError(
                f"SQL cannot hold the text {text!r}: one of its characters is not allowed."
            )
        self.can_break_lines &= text.isprintable() and _LINE_BREAK not in text
        return text

    def missing(self, features: Iterable[int]) -> list[Expression]:
        """Conditions of which one holds if a row lacks a value of one of the columns."""
        named = self._named(features)
        null = [self._is_null(column) for column in named]
        return null + [self.exp.Not(this=finite) for finite in self._finite_values(named)]

    def present(self, features: Iterable[int]) -> list[Expression]:
        """Conditions that all hold if a row has a value of each of the columns."""
        named = self._named(features)
        return [self._is_not_null(column) for column in named] + self._finite_values(named)

    def infinite(self, features: Iterable[int]) -> list[Expression]:
        """Conditions of which one holds if a row has NaN or infinity in one of the columns."""
        return [self.exp.Not(this=finite) for finite in self._finite_values(self._named(features))]

    def finite_or_missing(self, features: Iterable[int]) -> list[Expression]:
        """Conditions that all hold if a row has neither NaN nor infinity in the columns."""
        return [
            self.any_of([self._is_null(column), finite])
            for column in self._named(features)
            for finite in self._finite_values([column])
        ]

    def _is_null(self, column: Column) -> Expression:
        return self.exp.Is(this=self._value(column), expression=self.exp.Null())

    def _is_not_null(self, column: Column) -> Expression:
        not_null = self.exp.Not(this=self.exp.Null())
        return self.exp.Is(this=self._value(column), expression=not_null)

    def inside(self, feature: int, values: ValueSet) -> list[Expression]:
        """Conditions for a column to have a value of a set.

        Where missing values are not in the set, a row that lacks the value meets no condition on
        it: comparisons with NULL are not true.
        """
        column = self._columns[feature]
        if values.has_every_value:
            return [] if values.missing else [self._is_not_null(column)]
        if values.has_no_value and values.missing:
            return [self._is_null(column)]
        conditions = self._values(feature, values)
        if not values.missing:
            return conditions
        if not conditions:  # every number is in the set that a boolean or a category can be
            return []
        return [self.any_of([self.all_of(conditions), self._is_null(column)])]

    def _values(self, feature: int, values: ValueSet) -> list[Expression]:
        """Conditions for a column to have a value of a set, missing values left aside."""
        column = self._columns[feature]
        if self._is_source(column):
            return self._categories({feature: values})
        if column.is_boolean:
            return self._truth(column, values)
        if values.asks_codes:
            return [self._codes(column, values)]
        if values.above == math.inf or values.upto == -math.inf:  # no number is beyond infinity
            return [self._constant(1)]
        bounds = []
        if math.isfinite(values.above):
            bounds.append(self.exp.GT(**self._compared(column, values.above)))
        if math.isfinite(values.upto):
            bounds.append(self.exp.LTE(**self._compared(column, values.upto)))
        return bounds

    def box(self, box: Box) -> list[Expression]:
        """Conditions for a row to be in a box."""
        found: list[Expression] = []
        told: set[str] = set()
        for feature, values in box.items():
            column = self._columns[feature]
            if not self._is_source(column) or values.missing:
                found += self.inside(feature, values)
            elif column.source not in told:
                told.add(column.source)
                found += self._categories(
                    {
                        i: side
                        for i, side in box.items()
                        if self._columns[i].source == column.source and not side.missing
                    }
                )
        return found

    def all_of(self, conditions: Sequence[Expression]) -> Expression:
        """The conjunction of conditions; of none, what is always true."""
        return self._joined(self.exp.And, conditions) if conditions else self._constant(0)

    def any_of(self, conditions: Sequence[Expression]) -> Expression:
        """The disjunction of conditions; of none, what is never true."""
        return self._joined(self.exp.Or, conditions) if conditions else self._constant(1)

    def _joined(self, connector: Any, conditions: Sequence[Expression]) -> Expression:
        while len(conditions) > _TOGETHER:
            starts = range(0, len(conditions), _TOGETHER)
            conditions = [self._joined(connector, conditions[i : i + _TOGETHER]) for i in starts]
        if len(conditions) == 1:
            return conditions[0]
        joined, *others = [self._in_parentheses(condition) for condition in conditions]
        for other in others:
            joined = connector(this=joined, expression=other)
        return joined

    def _in_parentheses(self, condition: Expression) -> Expression:
        is_joined = isinstance(condition, self.exp.And | self.exp.Or)
        return self.exp.Paren(this=condition) if is_joined else condition

    def _constant(self, other: int) -> Expression:
        """0 = ``other``: not every database knows true and false."""
        zero, other_side = (self.exp.Literal.number(n) for n in (0, other))
        return self.exp.EQ(this=zero, expression=other_side)

    def _is_source(self, column: Column) -> bool:
        return column.kind == "category" and not self._one_hot

    def _value(self, column: Column) -> Expression:
        return self.exp.Column(this=self.identifier(self._name(column)))

    def _name(self, column: Column) -> str:
        return column.source if self._is_source(column) else column.name

    def _compared(self, column: Column, threshold: float) -> dict[str, Expression]:
        """Both sides of a comparison of a column with a threshold."""
        value = self._value(column)
        if column.kind == "duration" and column.typed:
            if not self._dialect.has_intervals:
                raise ValueError(
                    f"Column {column.name!r} holds durations, for which {self._dialect.name} has "
                    "no type; fit the model to their number of seconds instead."
                )
            last = self._dialect.interval(self.exp, duration_from_count(threshold, column.unit))
            return {"this": value, "expression": last}
        if column.typed:
            if self._dialect.casts_dates:
                value = self._dialect.as_moment(self.exp, value, zoned=column.zoned)
            when = from_count(threshold, "D")
            last = self._dialect.moment(self.exp, when, zoned=column.zoned)
            return {"this": value, "expression": last}
        if abs(threshold) >= _WHOLE:  # some compare large integers exactly; predict as floats
            value = as_double(self.exp, value)
        # Zero for minus zero, which is no other number.
        return {"this": value, "expression": self._dialect.number(self.exp, threshold + 0.0)}

    def _codes(self, column: Column, values: ValueSet) -> Expression:
        """The condition that a column has one of some categories, or none of them.

        A table has the categories by name; where they have no names it has their codes.
        """
        codes = sorted(values.but if values.codes is None else values.codes)
        named = [self._category(column, code) for code in codes]
        if not named:
            return self._constant(1)
        value = self._value(column)
        if column.categories:
            value = self._dialect.as_exact_text(self.exp, value)
        if len(named) == 1:
            test = self.exp.NEQ if values.codes is None else self.exp.EQ
            return test(this=value, expression=named[0])
        among = self.exp.In(this=value, expressions=named)
        return self.exp.Not(this=among) if values.codes is None else among

    def _category(self, column: Column, code: int) -> Expression:
        if not column.categories:
            return self.exp.Literal.number(code)
        if code >= len(column.categories):
            raise ValueError(
                f"The tree asks for category {code} of column {column.name!r}, which has names for "
                f"{len(column.categories)} categories only; name it to write it in SQL."
            )
        return self.text(column.categories[code])

    def _truth(self, column: Column, values: ValueSet) -> list[Expression]:
        """Conditions for a boolean, of which X holds 1 and 0, to be in a set."""
        false_inside, true_inside = 0.0 in values, 1.0 in values
        if false_inside and true_inside:
            return []
        if not false_inside and not true_inside:
            return [self._constant(1)]
        value = self._value(column)
        if self._dialect.has_booleans:
            return [value if true_inside else self.exp.Not(this=value)]
        test = self.exp.NEQ if true_inside else self.exp.EQ
        return [test(this=value, expression=self.exp.Literal.number(0))]

    def _named(self, features: Iterable[int]) -> list[Column]:
        """A column for each name that the table is asked for."""
        columns = [self._columns[feature] for feature in features]
        return list({self._name(column): column for column in columns}.values())

    def _finite_values(self, columns: Iterable[Column]) -> list[Expression]:
        """For each column of numbers, the condition that it is finite; NaN is not."""
        if not self._finite:
            return []
        ends = (-sys.float_info.max, sys.float_info.max)
        return [
            self.exp.Between(
                this=self._value(column),
                low=self._dialect.number(self.exp, ends[0]),
                high=self._dialect.number(self.exp, ends[1]),
            )
            for column in columns
            if not column.typed and not self._is_source(column) and not column.categories
        ]

    def _categories(self, box: Box) -> list[Expression]:
        """Conditions on the column of categories behind one-hot columns."""
        yes, no = [], []
        for feature, wanted in box.items():
            if 0.0 not in wanted and 1.0 not in wanted:
                return [self._constant(1)]
            if 0.0 not in wanted:
                yes.append(feature)
            elif 1.0 not in wanted:
                no.append(feature)
        texts = {i: self.text(self._columns[i].value) for i in yes or no}
        exact = self._dialect.as_exact_text
        sides = [
            {"this": exact(self.exp, self._value(self._columns[i])), "expression": texts[i]}
            for i in texts
        ]
        if yes:
            return [self.exp.EQ(**side) for side in sides]
        if len(no) < 2:
            return [self.exp.NEQ(**side) for side in sides]
        among = self.exp.In(this=sides[0]["this"], expressions=list(texts.values()))
        return [self.exp.Not(this=among)]
