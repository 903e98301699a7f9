"""A tree as a Python function that needs nothing else."""

from __future__ import annotations

import builtins
import keyword
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from treemeans.columns import Column, Columns
from treemeans.columns.dates import duration_from_count, from_count
from treemeans.columns.number_text import format_rows
from treemeans.export.flat_branches import (
    Branch,
    Chain,
    chain,
    features_cut,
    refuse_same_name,
)
from treemeans.tree import ThresholdTree
from treemeans.value_set import ValueSet

_INDENT = "    "

# What reads a value in the function. Where rows may lack a value, a test for that stands in place
# of {missing}, and None stands for the value that is missing.
_NUMBER = """
    def number(name):
        value = row[name]
{missing}        try:
            value = float(value)
        except (TypeError, ValueError, OverflowError):
            value = float("nan")
        if value - value != 0.0:
            raise ValueError(f"The row has no finite number in column {name!r}.")
        return value
"""

_MOMENT = """
    from datetime import date, datetime, timezone

    def moment(name):
        value = row[name]
{missing}        if not isinstance(value, date) or value != value:
            raise ValueError(f"The row has no date in column {name!r}.")
        if not isinstance(value, datetime):
            return datetime(value.year, value.month, value.day)
        if value.tzinfo is not None:
            value = value.astimezone(timezone.utc)
        day, time = (value.year, value.month, value.day), (value.hour, value.minute, value.second)
        return datetime(*day, *time, value.microsecond)
"""

_DURATION = """
    from datetime import timedelta

    def duration(name):
        value = row[name]
{missing}        if not isinstance(value, timedelta) or value != value:
            raise ValueError(f"The row has no duration in column {name!r}.")
        return value // timedelta(microseconds=1)
"""

_CATEGORY = """
    def category(name, kinds=str):
        value = row[name]
{missing}        if not isinstance(value, kinds):
            raise ValueError(f"The row has no category in column {name!r}.")
        return str(value)
"""

_HELPERS = {
    "number": _NUMBER,
    "moment": _MOMENT,
    "duration": _DURATION,
    "category": _CATEGORY,
}

_IS_MISSING = """
    def is_missing(value):
        try:
            return value is None or bool(value != value)
        except TypeError:  # pandas.NA is neither equal to itself nor not
            return True
"""

_NONE_IF_MISSING = """        if is_missing(value):
            return None
"""


def to_python(tree: ThresholdTree, columns: Columns, name: str = "predict") -> str:
    """The tree as the source of a function; ``TreeModel.to_python`` explains."""
    name = _function_name(name)
    features = features_cut(tree)
    refuse_same_name(columns, features)
    lines = [f"def {name}(row):", *_docstring(tree)]
    if tree.accepts_missing:
        lines += _IS_MISSING.rstrip("\n").split("\n")
    test = _NONE_IF_MISSING if tree.accepts_missing else ""
    used = {_reads(columns[feature]) for feature in features}
    for reads, helper in _HELPERS.items():
        if reads in used:
            lines += helper.replace("{missing}", test).rstrip("\n").split("\n")
    lines += [""] if features else []
    for feature in features:
        column = columns[feature]
        kinds = ", (str, int)" if column.has_number_names else ""
        lines.append(f"{_INDENT}x{feature} = {_reads(column)}({column.name!r}{kinds})")
    lines += _statements(columns, chain(tree), _INDENT)
    return "\n".join(lines) + "\n"


def _function_name(name: str) -> str:
    # As Python itself reads a name: letters of other fonts are plain ones.
    plain = unicodedata.normalize("NFKC", name) if isinstance(name, str) else ""
    if (
        not plain.isidentifier()
        or keyword.iskeyword(plain)
        or (hasattr(builtins, plain) and plain != "_")
    ):
        raise ValueError(
            f"A function cannot be called {name!r}; choose a name of letters, digits and "
            "underscores that is not a Python keyword."
        )
    return plain


def _docstring(tree: ThresholdTree) -> list[str]:
    leaves = tree.leaves
    weight = np.bincount(tree.label[leaves], tree.weight[leaves], minlength=tree.n_clusters)
    sizes = [f"    cluster {i}: {format_rows(size)}" for i, size in enumerate(weight.tolist())]
    text = [
        '"""The cluster of a row, which maps names of columns to values.',
        "",
        *_values_needed(tree),
        "",
        *sizes,
        '"""',
    ]
    return [_INDENT + line if line else "" for line in text]


def _values_needed(tree: ThresholdTree) -> list[str]:
    if not tree.accepts_missing:
        return ["A missing or infinite value raises a ValueError. In training:"]
    return [
        "A value that is None or NaN is missing. A ValueError is raised if the cluster depends on",
        "it, or if a number is infinite. In training:",
    ]


def _reads(column: Column) -> str:
    """What reads the column: its values are numbers, dates, durations, or names of categories."""
    if column.is_date and column.typed:
        return "moment"
    if column.kind == "duration" and column.typed:
        return "duration"
    return "category" if column.categories else "number"


def _statements(columns: Columns, tests: Chain, indent: str) -> Iterator[str]:
    """A test for each branch; each ends with a return, so that the next is its else."""
    for branch in tests.branches:
        yield f"{indent}if {_condition(columns[branch.feature], branch)}:"
        yield from _statements(columns, branch.then, indent + _INDENT)
    if tests.label is None:
        yield f'{indent}raise ValueError("The row lacks a value that its cluster depends on.")'
    else:
        yield f"{indent}return {tests.label}"


def _condition(column: Column, branch: Branch) -> str:
    """The test of a branch; a value that is missing is None, which compares with nothing."""
    name, side = f"x{branch.feature}", branch.side
    if side.has_no_value:
        return f"{name} is None" if side.missing else "False"
    if side.has_every_value:
        return f"{name} is not None"
    comparison = f"{name} {_comparison(column, side)}"
    if not branch.may_be_missing:
        return comparison
    missing = f"{name} is None or " if side.missing else f"{name} is not None and "
    return missing + comparison


def _comparison(column: Column, side: ValueSet) -> str:
    if side.asks_codes:
        codes = sorted(side.but if side.codes is None else side.codes)
        values = [column.category(code) for code in codes] if column.categories else codes
        return f"{'not in' if side.codes is None else 'in'} {_literal(values)}"
    sign, threshold = ("<=", side.upto) if np.isfinite(side.upto) else (">", side.above)
    bound: Any = float(threshold)
    if _reads(column) == "moment":
        bound = from_count(threshold, "D")
    elif _reads(column) == "duration":
        bound = duration_from_count(threshold, column.unit)
    return f"{sign} {repr(bound).removeprefix('datetime.')}"


def _literal(values: Sequence[str | int]) -> str:
    return f"({', '.join(map(repr, values))}{',' if len(values) == 1 else ''})"
