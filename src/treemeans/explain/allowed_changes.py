"""What may change in a row, how far and in which steps."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemeans.columns import Column
from treemeans.columns.dates import PER_DAY
from treemeans.explain.column_lookup import ColumnLookup
from treemeans.explain.parse_rows import number_of
from treemeans.explain.phrases import listed


@dataclass(frozen=True)
class AllowedChanges:
    """Which columns may change, and the limits of their new values.

    Attributes
    ----------
    free : whether the column may change
    low, high : the least and the largest new value
    step : what a change must be a multiple of; 0 where any change will do
    words : the limits in words, to follow "can be reached"
    """

    free: NDArray[np.bool_]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    step: NDArray[np.float64]
    words: str

    @classmethod
    def of(
        cls,
        lookup: ColumnLookup,
        allowed: Any = None,
        frozen: Any = None,
        bounds: Any = None,
        step: Any = None,
    ) -> AllowedChanges:
        """From the parameters of ``ExKMC.counterfactual``."""
        free = np.ones(len(lookup.columns), dtype=bool)
        said = []
        if allowed is not None:
            free, names = _marked(lookup, allowed, "allowed")
            said.append(f"by changing only {listed(names)}" if names else "without any change")
        if frozen is not None:
            fixed, names = _marked(lookup, frozen, "frozen")
            free = free & ~fixed
            said += [f"without changing {listed(names)}"] if names else []
        low, high = _limits(lookup, bounds)
        said += ["within the bounds"] if bounds else []
        said += ["in steps of the given size"] if step is not None else []
        words = f" {', '.join(said)}" if said else ""
        return cls(free, low, high, _steps(lookup, step), words)


def _marked(lookup: ColumnLookup, keys: Any, what: str) -> tuple[NDArray[np.bool_], list[str]]:
    """A mask of the columns that ``keys`` stand for, and what to call them."""
    if isinstance(keys, str) or not isinstance(keys, Iterable):
        keys = [keys]
    entries = list(keys)
    columns = lookup.columns
    mask = np.zeros(len(columns), dtype=bool)
    if all(isinstance(entry, bool | np.bool_) for entry in entries) and entries:
        if len(entries) != len(columns):
            raise ValueError(
                f"{what} is a mask of {len(entries)} columns, but there are {len(columns)}."
            )
        entries = np.flatnonzero(entries).tolist()
    names = []
    for entry in entries:
        places = lookup[entry]
        mask[places] = True
        names.append(entry if lookup.is_source(entry) else columns[places[0]].name)
    return mask, names


def _limits(lookup: ColumnLookup, bounds: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    low = np.full(len(lookup.columns), -np.inf)
    high = np.full(len(lookup.columns), np.inf)
    if bounds is not None and not isinstance(bounds, Mapping):
        raise ValueError(f"bounds must be a dict of column to (low, high); got {bounds!r}.")
    for key, pair in (bounds or {}).items():
        i = _column_of(lookup, key, "bounds")
        low[i], high[i] = _ends(lookup.columns[i], pair)
    return low, high


def _ends(column: Column, pair: Any) -> tuple[float, float]:
    if isinstance(pair, str) or not isinstance(pair, Iterable) or len(ends := list(pair)) != 2:
        raise ValueError(f"The bounds of {column.name} must be a pair (low, high); got {pair!r}.")
    low = -math.inf if ends[0] is None else number_of(ends[0], column)
    high = math.inf if ends[1] is None else number_of(ends[1], column)
    if low > high:
        raise ValueError(f"The bounds of {column.name} are the wrong way round: {pair!r}.")
    return low, high


def _steps(lookup: ColumnLookup, step: Any) -> NDArray[np.float64]:
    columns = lookup.columns
    steps = np.array([_own_step(column) for column in columns])
    if step is None:
        return steps
    if not isinstance(step, Mapping):
        plain = [i for i, column in enumerate(columns) if column.kind == "number"]
        steps[plain] = _size(step, "step")
        return steps
    for key, size in step.items():
        i = _column_of(lookup, key, "step")
        if columns[i].kind in ("flag", "category"):
            raise ValueError(f"{columns[i].name} is 0 or 1, and has no step.")
        steps[i] = _size(size, f"The step of {columns[i].name}")
    return steps


def _own_step(column: Column) -> float:
    """The step of a column by its kind: whole numbers and whole days stay whole."""
    if column.kind == "date":
        return float(PER_DAY[column.unit])
    return 1.0 if column.kind == "integer" else 0.0


def _size(step: Any, what: str) -> float:
    try:
        size = math.nan if isinstance(step, str | bytes) else float(step)
    except (TypeError, ValueError):
        size = math.nan
    if not 0 < size < math.inf:
        raise ValueError(f"{what} must be a number above 0; got {step!r}.")
    return size


def _column_of(lookup: ColumnLookup, key: Any, what: str) -> int:
    places = lookup[key]
    if lookup.is_source(key) or lookup.columns[places[0]].kind == "codes":
        raise ValueError(f"{what} is for columns of numbers, but {key!r} has categories.")
    return places[0]
