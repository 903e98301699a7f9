"""Rows to try: some of X, and one to start from where there is none."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from treemeans.columns.dates import PER_DAY
from treemeans.drawing.labels import one_line
from treemeans.explain.facts import Facts
from treemeans.explain.moves import Slide
from treemeans.report.axes import Axes

_MOST = 200  # rows


def sample_of(axes: Axes, X: Any, cluster: NDArray[np.int32], index: Any) -> dict[str, Any]:
    """Some rows of every cluster, evenly from the first to the last, as values on the axes.

    Rows that cannot be typed in, such as half of a whole number, are left out.
    ``index``: of a data frame, what its rows are called; by default they are counted from 1 on.
    """
    chosen = _spread(cluster)
    table = X[chosen].toarray() if sparse.issparse(X) else X[chosen]
    values = _values(axes, np.asarray(table, dtype=np.float64))
    kept = np.flatnonzero(np.isfinite(values).all(axis=1))
    return {
        "names": [_name(index, i) for i in chosen[kept].tolist()],
        "values": [[plain(x) for x in row] for row in values[kept].tolist()],
    }


def _name(index: Any, i: int) -> str:
    if index is None:
        return f"row {i + 1}"
    return one_line(f"{'row' if index.name is None else index.name} {index[i]}")


def middle_row(axes: Axes, facts: Facts) -> list[float | int]:
    """A row in the middle of all: means of numbers, as short as they are typed; common states."""
    weight = facts.weight
    known = np.where(weight[:, None] > 0, facts.profiles, 0.0)
    mean = weight @ known / weight.sum() if weight.sum() > 0 else np.zeros(len(axes.columns))
    row: list[float | int] = []
    for move in axes.moves:
        shares = mean[list(move.features)]
        if isinstance(move, Slide):
            row.append(plain(_short(move, float(shares[0]))))
        else:
            row.append(int(np.argmax([*shares, 1 - shares.sum()])))
    return row


def plain(x: float) -> float | int:
    """A number without a useless point and zero."""
    return int(x) if x.is_integer() and abs(x) < 2**53 else x


def _spread(cluster: NDArray[np.int32]) -> NDArray[np.intp]:
    """Places of up to so many rows, about as many of each cluster."""
    present = np.unique(cluster)
    quota = max(1, _MOST // max(1, len(present)))
    chosen: list[NDArray[np.intp]] = []
    for each in present[:_MOST]:
        members = np.flatnonzero(cluster == each)
        evenly = np.linspace(0, len(members) - 1, min(quota, len(members)))
        chosen.append(members[np.unique(evenly.astype(np.intp))])
    return np.sort(np.concatenate(chosen)) if chosen else np.empty(0, dtype=np.intp)


def _values(axes: Axes, table: NDArray[np.float64]) -> NDArray[np.float64]:
    columns = [axes.values(table, axis) for axis in range(len(axes.moves))]
    return np.stack(columns, axis=1) if columns else np.empty((len(table), 0))


def _short(move: Slide, x: float) -> float:
    if move.column.is_date:
        day = PER_DAY[move.column.unit]
        return float(x // day * day)
    return float(round(x)) if move.step else float(f"{x:.4g}")
