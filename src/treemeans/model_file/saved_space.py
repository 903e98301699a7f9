"""The space of the reference in a model file: how columns are scaled, as far as numbers say it.

A `TablePreparation` is numbers. So is a pipeline of one scaler of scikit-learn, which subtracts a
number from each column and divides by another. Any other pipeline is an object, which a file does
not hold.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from treemeans.columns import Columns
from treemeans.model_file.checked_entries import Entries, UnreadableError
from treemeans.preparation import ColumnView, TablePreparation
from treemeans.training_histograms import FEW

_HOW = ("none", "standard", "robust", "log", "rank", "flag", "one-hot")
_NUMBERS = {"shift": 0.0, "scale": 1.0, "unit": 1.0, "fill": 0.0}
_MOST_LEVELS = 2**24
_MOST_KNOTS = 101
_PART = 1e-4  # of the spread of a column, to which medians are rounded


def write_space(pipeline: Any, columns: Columns, n_rows: float) -> list[dict[str, Any]] | None:
    """The views of the columns; None if they cannot be written.

    ``n_rows``: of the training table. Ranks are interpolated between quantiles, of which a file
    holds at most 101, none of them of fewer than five rows.
    """
    prepared = as_preparation(pipeline, columns)
    if prepared is None:
        return None
    return [_write_view(_without_values(view), n_rows) for view in prepared.views]


def _without_values(view: ColumnView) -> ColumnView:
    """The view with medians rounded to a ten-thousandth of the spread: they are values of rows."""
    spread = view.scale if view.how in ("standard", "robust") else abs(view.fill) or 1.0
    rounded = replace(view, fill=_rounded(view.fill, spread), unit=float(f"{view.unit:.4g}"))
    return replace(rounded, shift=_rounded(view.shift, spread)) if view.how == "robust" else rounded


def _rounded(value: float, spread: float) -> float:
    step = float(f"{spread * _PART:.0e}")
    return float(f"{round(value / step) * step:.12g}") if step > 0 else value


def as_preparation(pipeline: Any, columns: Columns) -> TablePreparation | None:
    """The preparation that does what a pipeline does; None if none is known to."""
    if isinstance(pipeline, TablePreparation):
        return pipeline
    steps = [step for _, step in pipeline.steps] if type(pipeline) is Pipeline else []
    steps = [step for step in steps if step is not None and step != "passthrough"]
    if len(steps) != 1:
        return None
    found = _shift_and_scale(steps[0], len(columns))
    if found is None:
        return None
    shift, scale = found
    how = "robust" if isinstance(steps[0], RobustScaler) else "standard"
    return TablePreparation(
        tuple(
            ColumnView(column, how, shift=shift[i], scale=scale[i])
            for i, column in enumerate(columns)
        )
    )


def _shift_and_scale(scaler: Any, n: int) -> tuple[list[float], list[float]] | None:
    zeros, ones = np.zeros(n), np.ones(n)
    if type(scaler) is StandardScaler:
        shift, scale = getattr(scaler, "mean_", None), getattr(scaler, "scale_", None)
        shift = shift if scaler.with_mean else None
    elif type(scaler) is RobustScaler:
        shift, scale = scaler.center_, scaler.scale_
    elif type(scaler) is MaxAbsScaler:
        shift, scale = None, scaler.scale_
    elif type(scaler) is MinMaxScaler and not scaler.clip:
        scale = 1.0 / scaler.scale_
        shift = -scaler.min_ * scale
    else:
        return None
    shift = zeros if shift is None else np.asarray(shift, dtype=np.float64)
    scale = ones if scale is None else np.asarray(scale, dtype=np.float64)
    if shift.shape != (n,) or scale.shape != (n,):
        return None
    finite = np.isfinite(shift).all() and np.isfinite(scale).all() and (scale > 0).all()
    return (shift.tolist(), scale.tolist()) if finite else None


def _write_view(view: ColumnView, n_rows: float) -> dict[str, Any]:
    written: dict[str, Any] = {"how": view.how}
    written |= {
        name: float(getattr(view, name))
        for name, usual in _NUMBERS.items()
        if getattr(view, name) != usual
    }
    if view.why:
        written["why"] = view.why
    if view.knots:
        written["knots"] = _fewer_knots(view.knots, n_rows)
    if view.levels:
        written["levels"] = list(view.levels)
    written |= {name: True for name in ("has_missing", "has_others") if getattr(view, name)}
    return written


def _fewer_knots(knots: Sequence[float], n_rows: float) -> list[float]:
    """Quantiles at even shares, each of which stands for at least ``FEW`` rows."""
    steps = len(knots) - 1
    most = max(2, min(_MOST_KNOTS, int(n_rows) // FEW))
    if len(knots) <= most:  # read from a file
        return [float(knot) for knot in knots]
    # The middles of equally large parts: the smallest and the largest value are not among them.
    middles = (np.arange(most) + 0.5) / most * steps
    found: list[float] = np.interp(middles, np.arange(steps + 1), knots).tolist()
    return found


def read_space(entries: Sequence[Entries], columns: Columns) -> TablePreparation:
    """The preparation of views; or UnreadableError."""
    if len(entries) != len(columns):
        raise UnreadableError("reference.space must have one entry for each column")
    return TablePreparation(
        tuple(_read_view(entry, column) for entry, column in zip(entries, columns, strict=True))
    )


def _read_view(entry: Entries, column: Any) -> ColumnView:
    how = entry.text("how")
    if how not in _HOW:
        raise UnreadableError(f"a column is scaled by {how!r}, which is unknown")
    numbers: dict[str, Any] = {
        name: entry.number(name) if entry.has(name) else usual for name, usual in _NUMBERS.items()
    }
    if numbers["scale"] <= 0 or numbers["unit"] <= 0:
        raise UnreadableError("a column is divided by a number that is not positive")
    knots: tuple[float, ...] = ()
    if entry.has("knots"):
        knots = tuple(entry.float_list("knots").tolist())
    if how == "rank" and (len(knots) < 2 or list(knots) != sorted(knots)):
        raise UnreadableError("the quantiles of a column must ascend")
    levels: tuple[int, ...] = ()
    if entry.has("levels"):
        levels = tuple(entry.integers("levels", None, 0, _MOST_LEVELS).tolist())
    flags: dict[str, Any] = {
        name: entry.flag(name) if entry.has(name) else False
        for name in ("has_missing", "has_others")
    }
    why = entry.text("why") if entry.has("why") else ""
    entry.end()
    view = ColumnView(column, how, why, knots=knots, levels=levels, **numbers, **flags)
    if not all(map(math.isfinite, numbers.values())) or view.width < 1:
        raise UnreadableError("a column has no coordinate")
    return view
