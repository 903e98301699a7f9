"""Bins that people would choose: round numbers, whole values, categories."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treemeans.columns.dates import PER_DAY
from treemeans.report.wording import Wording

_BINS = 20  # of a column of numbers, about
_MOST_CATEGORIES = 10  # that are shown by name
_TAIL = 0.01  # of the rows, that may go into the first or last bin
_LONG = 2.0  # times as wide as the rest, tails are cut off


@dataclass(frozen=True)
class Bins:
    """Bins of the values of a column, or of a source of categories.

    Attributes
    ----------
    labels : what each holds, in words
    ends : what to write at the ends of the scale; none for categories
    ordered : whether they lie side by side along a scale; categories do not
    edges : of ordered bins, where they begin and end; the first and the last hold all beyond
    """

    labels: list[str]
    ends: list[str]
    ordered: bool
    edges: NDArray[np.float64]

    def of(self, values: NDArray[np.float64]) -> NDArray[np.intp]:
        """The bin of each value."""
        return np.searchsorted(self.edges[1:-1], values, side="right")

    def place(self, threshold: float) -> float:
        """Where a threshold lies, counted in bins."""
        return float(np.interp(threshold, self.edges, np.arange(len(self.edges))))


def number_bins(wording: Wording, feature: int, values: NDArray[np.float64]) -> Bins:
    """Bins of a column of numbers or dates."""
    column = wording.reader.columns[feature]
    unit = float(PER_DAY[column.unit]) if column.is_date else 1.0
    whole = column.kind in ("integer", "date") or bool((values == np.floor(values)).all())
    edges = _edges(values, unit, whole=whole, dated=column.is_date)

    def text(x: float) -> str:
        return wording.said(wording.reader.value(feature, float(f"{x:.10g}")))

    lasts = edges[1:] - unit if whole else edges[1:]  # of whole numbers, the last one inside
    labels = [
        text(first) if whole and first == last else f"{text(first)} to {text(last)}"
        for first, last in zip(edges[:-1].tolist(), lasts.tolist(), strict=True)
    ]
    ends = [text(edges[0]), text(lasts[-1])]
    if values.min() < edges[0]:
        labels[0] = ends[0] = f"below {text(edges[1])}"
    if values.max() >= edges[-1]:
        labels[-1] = ends[1] = f"{text(edges[-2])} or more"
    # Thresholds of whole numbers lie between them: a bin begins half of one before its first.
    return Bins(labels, ends, True, edges - unit / 2 if whole else edges)


def _edges(
    values: NDArray[np.float64], unit: float, *, whole: bool, dated: bool
) -> NDArray[np.float64]:
    """Round numbers at even distances; dates begin with the first."""
    low, high = _ends(values)
    step = _round_step((high - low) / unit / _BINS) * unit
    if whole:
        step = max(step, unit)
    round_to = unit if dated else step
    start = math.floor(low / round_to) * round_to
    n_bins = max(math.floor((high - start) / step), 0) + 1
    return np.asarray(start + np.arange(n_bins + 1) * step, dtype=np.float64)


def category_bins(names: list[str], counts: NDArray[np.int64]) -> tuple[Bins, NDArray[np.intp]]:
    """Bins of categories, the largest first, the small ones together; and the bin of each."""
    order = np.argsort(-counts, kind="stable")
    shown = order[: _MOST_CATEGORIES if len(order) <= _MOST_CATEGORIES else _MOST_CATEGORIES - 1]
    bin_of = np.full(len(names), len(shown))
    bin_of[shown] = np.arange(len(shown))
    labels = [names[i] for i in shown]
    if len(shown) < len(names):
        labels.append(f"{len(names) - len(shown)} others")
    return Bins(labels, [], False, np.empty(0)), bin_of


def _ends(values: NDArray[np.float64]) -> tuple[float, float]:
    """The extremes; without long tails."""
    low, high = float(values.min()), float(values.max())
    inner = np.quantile(values, [_TAIL, 1 - _TAIL]).tolist()
    width = inner[1] - inner[0]
    if 0 < _LONG * width < high - low:
        low = max(low, inner[0] - width / 4)
        high = min(high, inner[1] + width / 4)
    return low, high


def _round_step(step: float) -> float:
    """The next of 1, 2, 5, 10, ... and their decimals."""
    if not step > 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(step))
    return next(float(f"{power * m:.1g}") for m in (1, 2, 5, 10) if power * m >= step * (1 - 1e-9))
