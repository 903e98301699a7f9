"""A tree as a Python function that needs nothing else."""

from __future__ import annotations

import builtins
import keyword
import unicodedata
from collections.abc import Iterator

import numpy as np

from treemeans.columns import Columns
from treemeans.columns.dates import moment
from treemeans.columns.decimals import rows
from treemeans.columns.interval import Interval
from treemeans.export.branches import Chain, chain, features_cut, refuse_same_name
from treemeans.tree import ThresholdTree

_INDENT = "    "

_NUMBER = """
    def number(name):
        value = row[name]
        try:
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
        if not isinstance(value, date) or value != value:
            raise ValueError(f"The row has no date in column {name!r}.")
        if not isinstance(value, datetime):
            return datetime(value.year, value.month, value.day)
        if value.tzinfo is not None:
            value = value.astimezone(timezone.utc)
        day, time = (value.year, value.month, value.day), (value.hour, value.minute, value.second)
        return datetime(*day, *time, value.microsecond)
"""


def to_python(tree: ThresholdTree, columns: Columns, name: str = "predict") -> str:
    """The tree as the source of a function; ``TreeModel.to_python`` explains."""
    name = _function_name(name)
    features = features_cut(tree)
    refuse_same_name(columns, features)
    lines = [f"def {name}(row):", *_docstring(tree)]
    for helper, wanted in ((_NUMBER, False), (_MOMENT, True)):
        if any(columns[feature].typed == wanted for feature in features):
            lines += helper.rstrip("\n").split("\n")
    lines += [""] if features else []
    for feature in features:
        column = columns[feature]
        reads = "moment" if column.typed else "number"
        lines.append(f"{_INDENT}x{feature} = {reads}({column.name!r})")
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
            "underscores that is no word of Python's own."
        )
    return plain


def _docstring(tree: ThresholdTree) -> list[str]:
    leaves = tree.leaves
    weight = np.bincount(tree.label[leaves], tree.weight[leaves], minlength=tree.n_clusters)
    sizes = [f"    cluster {i}: {rows(size)}" for i, size in enumerate(weight.tolist())]
    text = [
        '"""The cluster of a row, which maps names of columns to values.',
        "",
        "Values must be there, and finite; else a ValueError is raised. In training:",
        "",
        *sizes,
        '"""',
    ]
    return [_INDENT + line if line else "" for line in text]


def _statements(columns: Columns, tests: Chain, indent: str) -> Iterator[str]:
    """A test for each branch; each ends with a return, so that the next is its else."""
    for branch in tests.branches:
        typed = columns[branch.feature].typed
        yield f"{indent}if x{branch.feature} {_comparison(branch.side, typed=typed)}:"
        yield from _statements(columns, branch.then, indent + _INDENT)
    yield f"{indent}return {tests.label}"


def _comparison(side: Interval, *, typed: bool) -> str:
    sign, threshold = ("<=", side.upto) if np.isfinite(side.upto) else (">", side.above)
    bound = moment(threshold, "D") if typed else float(threshold)
    return f"{sign} {repr(bound).removeprefix('datetime.')}"
