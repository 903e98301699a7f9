"""Bins of histograms as people would choose them: round numbers, whole values, categories."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treemeans.columns.dates import PER_DAY
from treemeans.report.report_text import ReportText

_BINS = 20  # of a column of numbers, about
_MOST_CATEGORIES = 10  # that are shown by name
_TAIL = 0.01  # share of the rows at either end that may share a bin
_LONG = 2.0  # tails are cut off if they make the axis so many times as wide


@dataclass(frozen=True)
class Bins:
    """Bins of the values of a column.

    Attributes
    ----------
    labels : the values of each bin, in words
    ends : labels of both ends of the axis; empty for categories
    ordered : whether the bins lie along an axis of numbers; those of categories do not
    edges : edges of ordered bins; the first and the last bin hold everything beyond as well
    """

    labels: list[str]
    ends: list[str]
    ordered: bool
    edges: NDArray[np.float64]

    def bin_of(self, values: NDArray[np.float64]) -> NDArray[np.intp]:
        """Number of the bin of each value."""
        return np.searchsorted(self.edges[1:-1], values, side="right")

    def position(self, threshold: float) -> float:
        """Position of a threshold on the axis, counted in bins."""
        return float(np.interp(threshold, self.edges, np.arange(len(self.edges))))


def number_bins(
    text: ReportText, feature: int, values: NDArray[np.float64], least: int = 1
) -> Bins:
    """Bins of a column of numbers or dates, with round edges.

    ``least``: the rows that the first and the last bin hold at least, if there are as many. More
    than one hides the smallest and the largest value, which may identify the row that has it.
    """
    column = text.reader.columns[feature]
    unit = float(PER_DAY[column.unit]) if column.is_date else 1.0
    whole = column.kind in ("integer", "date") or bool((values == np.floor(values)).all())
    edges = _without_sparse_ends(_edges(values, unit, whole=whole), values, least)

    def number_text(x: float) -> str:
        return text.printed(text.reader.value(feature, float(f"{x:.10g}")))

    lasts = edges[1:] - unit if whole else edges[1:]  # of whole numbers, the last in each bin
    labels = []
    for first, last in zip(edges[:-1].tolist(), lasts.tolist(), strict=True):
        one_value = whole and first == last
        labels.append(
            number_text(first) if one_value else f"{number_text(first)} to {number_text(last)}"
        )
    ends = [number_text(edges[0]), number_text(lasts[-1])]
    below, above = values.min() < edges[0], values.max() >= edges[-1]
    if below and above and len(labels) == 1:
        labels, ends, below, above = ["all values"], ["", ""], False, False
    if below:
        labels[0] = ends[0] = f"below {number_text(edges[1])}"
    if above:
        labels[-1] = ends[1] = f"{number_text(edges[-2])} or more"
    # Thresholds lie between whole numbers, so a bin begins half a unit before its first number.
    return Bins(labels, ends, True, edges - unit / 2 if whole else edges)


def _edges(values: NDArray[np.float64], unit: float, *, whole: bool) -> NDArray[np.float64]:
    """Round numbers at even distances, from below the smallest value to above the largest."""
    low, high = _ends(values)
    step = round_step((high - low) / unit / _BINS) * unit
    if whole:
        step = max(step, unit)
    start = math.floor(low / step) * step
    n_bins = max(math.floor((high - start) / step), 0) + 1
    return np.asarray(start + np.arange(n_bins + 1) * step, dtype=np.float64)


def _without_sparse_ends(
    edges: NDArray[np.float64], values: NDArray[np.float64], least: int
) -> NDArray[np.float64]:
    """Drop bins at both ends until the values up to the first edge left, and beyond, suffice."""
    ordered = np.sort(values)
    if len(ordered) < 2 * least:
        least = max(1, len(ordered) // 2)
    low, high = ordered[least - 1], ordered[-least]
    first = int(np.clip(np.searchsorted(edges, low, side="right") - 1, 0, len(edges) - 2))
    last = int(np.clip(np.searchsorted(edges, high, side="right"), first + 1, len(edges) - 1))
    return edges[first : last + 1]


def category_bins(
    names: list[str], counts: NDArray[np.int64], least: int = 0
) -> tuple[Bins, NDArray[np.intp]]:
    """Bins of categories, the largest first, the small ones together; and the bin of each.

    ``least``: the rows of a category that has a bin of its own.
    """
    order = np.argsort(-counts, kind="stable")
    n_shown = _MOST_CATEGORIES if len(order) <= _MOST_CATEGORIES else _MOST_CATEGORIES - 1
    shown = order[: min(n_shown, np.count_nonzero(counts >= least))]
    bin_of = np.full(len(names), len(shown))
    bin_of[shown] = np.arange(len(shown))
    labels = [names[i] for i in shown]
    if len(shown) < len(names):
        rest = len(names) - len(shown)
        labels.append(f"{rest} other{'' if rest == 1 else 's'}")
    return Bins(labels, [], False, np.empty(0)), bin_of


def _ends(values: NDArray[np.float64]) -> tuple[float, float]:
    """The range of the axis: smallest and largest value, without long tails."""
    low, high = float(values.min()), float(values.max())
    inner = np.quantile(values, [_TAIL, 1 - _TAIL]).tolist()
    width = inner[1] - inner[0]
    if 0 < _LONG * width < high - low:
        low = max(low, inner[0] - width / 4)
        high = min(high, inner[1] + width / 4)
    return low, high


def round_step(step: float) -> float:
    """The next of 1, 2, 5, 10, ... and their decimals."""
    if not step > 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(step))
    return next(float(f"{power * m:.1g}") for m in (1, 2, 5, 10) if power * m >= step * (1 - 1e-9))
