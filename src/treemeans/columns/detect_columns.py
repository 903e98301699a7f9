"""Descriptions of columns found from the rows: whole numbers, flags, dates, one-hot columns."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from treemeans import _core
from treemeans.columns.column import Column, Columns, plain_columns, prefixes, split_name
from treemeans.columns.dates import frame_package
from treemeans.tree import ThresholdTree

_SAMPLE = 1000  # rows that show of most columns that they hold more than 0 and 1


@dataclass(frozen=True)
class SplitValues:
    """Values of the rows that come to each split of a tree, in the column that it splits.

    Attributes
    ----------
    gap : (n_nodes, 2), the largest that goes left and the smallest that goes right
    lowest, highest : the extremes of all
    whole : whether all are integers
    """

    gap: NDArray[np.float64]
    lowest: NDArray[np.float64]
    highest: NDArray[np.float64]
    whole: NDArray[np.bool_]


def learnt_split_values(
    margins: Sequence[tuple[float, float, float, float, bool]],
) -> SplitValues:
    """Of each node the gap, the extremes, and whether all values are integers, as growth saw it."""
    values = np.array(margins, dtype=np.float64)
    return SplitValues(values[:, :2], values[:, 2], values[:, 3], values[:, 4] == 1.0)


def find_split_values(tree: ThresholdTree, points: _core.Points, n_threads: int) -> SplitValues:
    """The values that the rows in ``points`` have at the splits of a tree."""
    values, whole = _core.margins(
        points,
        tree.feature,
        tree.threshold,
        tree.left,
        tree.right,
        n_threads,
        **tree.other_splits,
    )
    return SplitValues(values[:, :2], values[:, 2], values[:, 3], whole)


class InspectableRows(Protocol):
    """Rows from which columns are detected."""

    def some(self) -> NDArray[Any]:
        """A sample of the rows."""

    def one_in_every_row(self, features: list[int]) -> bool:
        """Whether every row has a single 1 in these columns, and 0 in the others."""

    def range_of(self, feature: int) -> tuple[float, float]:
        """The smallest and the largest value of a column."""


@dataclass(frozen=True)
class ArrayRows:
    """The rows of an array or a sparse matrix; their bins, if there are any, know the ranges."""

    X: Any
    bins: _core.Bins | None = None

    def some(self) -> NDArray[Any]:
        """A sample of evenly spaced rows."""
        rows = self.X[:: max(1, self.X.shape[0] // _SAMPLE)]
        return np.asarray(rows.toarray() if sparse.issparse(rows) else rows)

    def one_in_every_row(self, features: list[int]) -> bool:
        """Whether every row has a single 1 in these columns, and 0 in the others."""
        part = self.X[:, features]
        part = part.toarray() if sparse.issparse(part) else part
        return bool(_binary(part).all() and (part.sum(axis=1) == 1).all())

    def range_of(self, feature: int) -> tuple[float, float]:
        """The smallest and the largest value of a column."""
        known = None if self.bins is None else self.bins.range(feature)
        if known is not None:
            return known
        values = self.X[:, [feature]]
        values = values.toarray() if sparse.issparse(values) else values
        return float(np.nanmin(values)), float(np.nanmax(values))


def boolean_columns(X: Any) -> list[str]:
    """Names of the columns of a data frame (pandas, polars or pyarrow) that hold booleans."""
    package = frame_package(X)
    if package == "pandas":
        return [name for name, dtype in X.dtypes.items() if getattr(dtype, "kind", "") == "b"]
    if package == "polars":
        return [name for name, dtype in X.schema.items() if str(dtype) == "Boolean"]
    if package == "pyarrow":
        return [field.name for field in X.schema if str(field.type) == "bool"]
    return []


def detect_columns(
    rows: InspectableRows,
    names: NDArray[Any] | None,
    dates: Mapping[str, bool],
    booleans: Iterable[str],
    tree: ThresholdTree,
    seen: SplitValues,
) -> Columns:
    """The columns of X, described as whole numbers, flags, dates and one-hot columns.

    Whole numbers and flags are found from the values at the splits, since only these are put into
    words; one-hot columns from their names, and from a single 1 in every row. ``dates``: the names
    of the columns of dates, and whether they have a time zone.
    """
    columns = list(plain_columns(tree.n_features, names))
    for feature, kind in _kinds(tree, seen).items():
        columns[feature] = replace(columns[feature], kind=kind)
    boolean = set(booleans)
    for i, column in enumerate(columns):
        if column.name in dates:
            kind = "date" if column.kind in ("integer", "flag") else "time"
            zoned = dates[column.name]
            columns[i] = Column(column.name, kind, "D", typed=True, zoned=zoned)
        elif column.name in boolean:
            columns[i] = Column(column.name, "flag", typed=True)
    if names is None:
        return _with_ranges(rows, tuple(columns), tree, seen)
    return detect_more(rows, tuple(columns), tree, seen)


def detect_more(
    rows: InspectableRows,
    columns: Columns,
    tree: ThresholdTree,
    seen: SplitValues,
) -> Columns:
    """The columns with what only rows and splits show: one-hot columns, ranges of whole numbers."""
    one_hot = _one_hot(rows, columns)
    found = tuple(one_hot.get(i, column) for i, column in enumerate(columns))
    return _with_ranges(rows, found, tree, seen)


def _with_ranges(
    rows: InspectableRows, columns: Columns, tree: ThresholdTree, seen: SplitValues
) -> Columns:
    """The columns of whole numbers with the ends of their ranges that a split has alone on a side.

    No other end is kept: a model must not tell the largest income of all rows.
    """
    found = list(columns)
    cuts: dict[int, list[int]] = defaultdict(list)
    features, thresholds = tree.feature.tolist(), tree.threshold.tolist()
    for node, (feature, threshold) in enumerate(zip(features, thresholds, strict=True)):
        if feature >= 0 and math.isfinite(threshold) and columns[feature].kind == "integer":
            cuts[feature].append(node)
    below, above = seen.gap.T.tolist()
    for feature, nodes in cuts.items():
        low, high = rows.range_of(feature)
        if any(below[node] == low for node in nodes):
            found[feature] = replace(found[feature], low=low)
        if any(above[node] == high for node in nodes):
            found[feature] = replace(found[feature], high=high)
    return tuple(found)


def _kinds(tree: ThresholdTree, seen: SplitValues) -> dict[int, str]:
    """The kind of each feature that has only whole numbers at its splits: integer or flag."""
    cuts: dict[int, list[int]] = defaultdict(list)
    for node, feature in enumerate(tree.feature.tolist()):
        if feature >= 0:
            cuts[feature].append(node)
    whole, lowest, highest = (each.tolist() for each in (seen.whole, seen.lowest, seen.highest))
    kinds = {}
    for feature, nodes in cuts.items():
        if all(whole[node] for node in nodes):
            is_flag = all(lowest[node] >= 0 and highest[node] <= 1 for node in nodes)
            kinds[feature] = "flag" if is_flag else "integer"
    return kinds


def _one_hot(rows: InspectableRows, columns: Sequence[Column]) -> dict[int, Column]:
    """Columns of 0 and 1 with names like color_red and color_blue, one of them 1 in every row."""
    groups: dict[str, list[int]] = defaultdict(list)
    sample = rows.some()
    for i in np.flatnonzero(_binary(sample).all(axis=0)).tolist():
        for prefix in prefixes(columns[i].name) if columns[i].kind != "codes" else ():
            groups[prefix].append(i)
    found: dict[int, Column] = {}
    for prefix in sorted(groups, key=len, reverse=True):
        free = [i for i in groups[prefix] if i not in found]
        values = [split_name(columns[i].name, prefix) for i in free]
        if len(free) < 2 or None in values or not ArrayRows(sample).one_in_every_row(free):
            continue  # a few rows exclude most groups, before all rows are read
        if not rows.one_in_every_row(free):
            continue
        for i, value in zip(free, values, strict=True):
            assert value is not None
            found[i] = Column(
                columns[i].name,
                "category",
                source=prefix,
                value=value,
                complete=True,
                typed=columns[i].is_boolean,
            )
    return found


def _binary(values: NDArray[Any]) -> NDArray[np.bool_]:
    return np.asarray((values == 0) | (values == 1))
