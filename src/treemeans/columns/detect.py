"""What the data and its names tell about the columns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from treemeans import _core
from treemeans.columns.column import Column, Columns, plain_columns, prefixes, split_name
from treemeans.tree import ThresholdTree

_GLANCE = 1000  # rows that tell most columns apart from 0/1


@dataclass(frozen=True)
class Arrivals:
    """The values that come to the cuts of a tree, one entry a node.

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


def arrivals(tree: ThresholdTree, points: _core.Points, n_threads: int) -> Arrivals:
    """What comes to the cuts when ``points`` fall through the tree."""
    values, whole = _core.margins(
        points, tree.feature, tree.threshold, tree.left, tree.right, n_threads
    )
    return Arrivals(values[:, :2], values[:, 2], values[:, 3], whole)


class Rows(Protocol):
    """Rows that can be looked at."""

    def some(self) -> NDArray[Any]:
        """A few of them."""

    def one_in_every_row(self, features: list[int]) -> bool:
        """Whether every row has a single 1 in these columns, and 0 in the others."""


@dataclass(frozen=True)
class RowsOf:
    """The rows of an array or a sparse matrix."""

    X: Any

    def some(self) -> NDArray[Any]:
        """Rows from all over it."""
        rows = self.X[:: max(1, self.X.shape[0] // _GLANCE)]
        return np.asarray(rows.toarray() if sparse.issparse(rows) else rows)

    def one_in_every_row(self, features: list[int]) -> bool:
        """Whether every row has a single 1 in these columns, and 0 in the others."""
        part = self.X[:, features]
        part = part.toarray() if sparse.issparse(part) else part
        return bool(_binary(part).all() and (part.sum(axis=1) == 1).all())


def detect(
    rows: Rows,
    names: NDArray[Any] | None,
    dates: Iterable[str],
    tree: ThresholdTree,
    seen: Arrivals,
) -> Columns:
    """The columns of the rows: integers, flags, one-hot groups, dates.

    Integers and flags are told from the rows that come to the cuts, which are the values that
    words are about; one-hot columns by their names, and by a single 1 in every row.
    """
    columns = list(plain_columns(tree.n_features, names))
    for feature, kind in _kinds(tree, seen).items():
        columns[feature] = replace(columns[feature], kind=kind)
    dated = set(dates)
    for i, column in enumerate(columns):
        if column.name in dated:
            kind = "date" if column.kind in ("integer", "flag") else "time"
            columns[i] = Column(column.name, kind, "D", typed=True)
    if names is not None:
        for i, category in _one_hot(rows, columns).items():
            columns[i] = category
    return tuple(columns)


def _kinds(tree: ThresholdTree, seen: Arrivals) -> dict[int, str]:
    """Integer or flag, of the features that are cut and hold nothing else."""
    cuts: dict[int, list[int]] = defaultdict(list)
    for node in np.flatnonzero(~tree.is_leaf).tolist():
        cuts[int(tree.feature[node])].append(node)
    kinds = {}
    for feature, nodes in cuts.items():
        if seen.whole[nodes].all():
            is_flag = seen.lowest[nodes].min() >= 0 and seen.highest[nodes].max() <= 1
            kinds[feature] = "flag" if is_flag else "integer"
    return kinds


def _one_hot(rows: Rows, columns: list[Column]) -> dict[int, Column]:
    """Columns of 0 and 1 with names like color_red and color_blue, one of them 1 in every row."""
    groups: dict[str, list[int]] = defaultdict(list)
    glance = rows.some()
    for i in np.flatnonzero(_binary(glance).all(axis=0)).tolist():
        for prefix in prefixes(columns[i].name):
            groups[prefix].append(i)
    found: dict[int, Column] = {}
    for prefix in sorted(groups, key=len, reverse=True):
        free = [i for i in groups[prefix] if i not in found]
        values = [split_name(columns[i].name, prefix) for i in free]
        if len(free) < 2 or None in values or not RowsOf(glance).one_in_every_row(free):
            continue
        if not rows.one_in_every_row(free):
            continue
        for i, value in zip(free, values, strict=True):
            assert value is not None
            found[i] = Column(
                columns[i].name, "category", source=prefix, value=value, complete=True
            )
    return found


def _binary(values: NDArray[Any]) -> NDArray[np.bool_]:
    return np.asarray((values == 0) | (values == 1))
