"""What the values of each training column were like: counts in a few bins, and no rows.

A fit keeps a sample of its rows until someone asks for the counts; files and pickles hold only the
counts. No bin, and no end of a range, tells about fewer than ``FEW`` rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from treemeans.rows.column_values import column_of

Floats = NDArray[np.float64]

FEW = 5  # rows; a bin has at least as many
N_BINS = 10
MOST_ROWS = 2**14  # of a sample
_FEWEST_ROWS, _MOST_VALUES = 2**12, 2**21  # of a sample of many columns
MOST_COLUMNS = 500  # with histograms, in a wide table: those that are cut first, then by spread
_MOST_CATEGORIES = 100  # with a bin of their own
_DIGITS = 3  # of an edge, counted from the spread of the column


@dataclass(frozen=True)
class TrainingSample:
    """Some training rows, from which histograms are made when they are asked for.

    Attributes
    ----------
    X : the rows, of a wide table only the columns that have histograms
    weights : of the rows; None where all are 1
    features : numbers of the columns of X in the table; None where X has all of them
    """

    X: Any
    weights: Floats | None
    features: tuple[int, ...] | None = None


@dataclass(frozen=True)
class ColumnHistogram:
    """Counts of the training values of one column.

    Attributes
    ----------
    feature : number of the column
    edges : (m,), ascending; bin i holds the values in (edges[i - 1], edges[i]], and there is one
        more bin than edges
    codes : of the categories with a bin of their own; all others share the last bin. Empty for
        numbers.
    counts : (number of bins,), weight of the rows in each
    missing : weight of the rows without a value
    low, high : range of numbers that holds all but fewer than ``FEW`` rows at either end
    outside : weight of the rows outside that range
    """

    feature: int
    edges: Floats
    codes: NDArray[np.int32]
    counts: Floats
    missing: float
    low: float = -np.inf
    high: float = np.inf
    outside: float = 0.0

    def bins(self, values: NDArray[Any]) -> NDArray[np.intp]:
        """The bin of each value; missing values have the one after the last."""
        missing = np.isnan(values)
        if self.is_categorical:
            place = np.searchsorted(self.codes, values)
            known = np.append(self.codes, -1)[place] == values
            found = np.where(known, place, len(self.codes))
        else:
            found = np.searchsorted(self.edges, values, side="left")
        return np.where(missing, len(self.counts), found)

    @property
    def is_categorical(self) -> bool:
        """Whether it counts categories."""
        return len(self.codes) > 0

    def count(self, values: NDArray[Any], weights: Floats | None = None) -> Floats:
        """Weight of the values in each bin, missing values last."""
        found = np.bincount(self.bins(values), weights, minlength=len(self.counts) + 1)
        return found.astype(np.float64)

    def is_outside(self, values: NDArray[Any]) -> NDArray[np.bool_]:
        """Whether values are outside the training range; a missing one is not."""
        return np.asarray((values < self.low) | (values > self.high))

    @property
    def with_missing(self) -> Floats:
        """The counts, missing values last."""
        return np.append(self.counts, self.missing)


@dataclass(frozen=True)
class TrainingHistograms:
    """Histograms of the training columns.

    Attributes
    ----------
    n_rows : number of the rows that were counted; of weighted rows, the number of equally weighted
        rows that vary as much
    columns : the columns that have one
    """

    n_rows: float
    columns: tuple[ColumnHistogram, ...]


def sample_rows(
    X: Any, weights: Floats | None, features: Sequence[int] | None = None
) -> TrainingSample:
    """Rows drawn evenly, one at random from each of ``MOST_ROWS`` equally long parts.

    That takes a few milliseconds for any number of rows, and an order of the table does no harm.

    Parameters
    ----------
    features : the columns to keep, from `columns_to_count`; None for all
    """
    n, n_columns = X.shape[0], X.shape[1] if features is None else len(features)
    most = min(MOST_ROWS, max(_FEWEST_ROWS, _MOST_VALUES // n_columns))
    rows: Any = slice(None)
    if n > most:
        ends = np.arange(most + 1) * n // most
        rows = np.random.default_rng(0).integers(ends[:-1], ends[1:])
    if sparse.issparse(X):
        taken = X.tocsr()[rows] if n > most else X.copy()
        taken = taken if features is None else taken[:, list(features)]
    elif n > most:
        taken = X.take(rows, axis=0) if features is None else X[rows[:, None], list(features)]
    else:
        taken = np.array(X if features is None else X[:, list(features)], order="C")
    kept = None if features is None else tuple(features)
    return TrainingSample(taken, None if weights is None else np.array(weights[rows]), kept)


def count_sample(
    sample: TrainingSample, categorical: NDArray[np.bool_], cut: Sequence[int], spread: Floats
) -> TrainingHistograms:
    """Histograms of a sample.

    Parameters
    ----------
    categorical : the columns that hold codes of categories
    cut : the columns that the tree cuts
    spread : standard deviation of each column

    Examples
    --------
    >>> X = np.arange(100.0)[:, None]
    >>> found = count_sample(TrainingSample(X, None), np.zeros(1, bool), [0], np.ones(1))
    >>> found.columns[0].edges.tolist()
    [9.5, 19.5, 29.5, 39.5, 49.5, 59.5, 69.5, 79.5, 89.5]
    >>> found.columns[0].low, found.columns[0].high, found.columns[0].outside
    (3.5, 95.5, 8.0)
    """
    X, weights = sample.X, sample.weights
    if weights is not None:
        X, weights = X[weights > 0], weights[weights > 0]
    n_rows = float(X.shape[0])
    if weights is not None and len(weights):
        relative = weights / weights.max()  # the squares of large weights overflow
        n_rows = float(relative.sum() ** 2 / (relative @ relative))
    features = sample.features
    places: Sequence[int] = range(X.shape[1])
    if features is None:
        features = tuple(places)
        chosen = columns_to_count(X.shape[1], cut, spread)
        places = range(X.shape[1]) if chosen is None else chosen
    X = X.tocsc() if sparse.issparse(X) else X
    columns = []
    for place in places:
        i, values = features[place], column_of(X, place)
        columns.append(
            _categories(i, values, weights) if categorical[i] else _numbers(i, values, weights)
        )
    return TrainingHistograms(n_rows, tuple(columns))


def columns_to_count(n_features: int, cut: Sequence[int], spread: Floats) -> list[int] | None:
    """Columns of a wide table that have histograms: those that are cut, then by their spread.

    None where all have one.
    """
    if n_features <= MOST_COLUMNS:
        return None
    order = np.argsort(-spread, kind="stable").tolist()
    return sorted(list(dict.fromkeys([*sorted(cut), *order]))[: max(MOST_COLUMNS, len(set(cut)))])


def _categories(feature: int, values: Floats, weights: Floats | None) -> ColumnHistogram:
    present = ~np.isnan(values)
    codes, place = np.unique(values[present], return_inverse=True)
    n_each = np.bincount(place, minlength=len(codes))
    order = np.lexsort((codes, -n_each))[:_MOST_CATEGORIES]
    kept = np.sort(codes[order[(n_each >= FEW)[order] & (codes >= 0)[order]]]).astype(np.int32)
    empty = ColumnHistogram(feature, np.zeros(0), kept, np.zeros(len(kept) + 1), 0.0)
    if not len(kept):
        empty = ColumnHistogram(feature, np.zeros(0), kept, np.zeros(1), 0.0)
    return _counted(empty, values, weights)


def _deviation(values: Floats) -> float:
    """Standard deviation; 0 without values."""
    if not len(values):
        return 0.0
    # Squares of values above 1e150 overflow: halve their exponent.
    scale = 2.0**-512 if np.abs(values).max() > 1e150 else 1.0
    return float((values * scale).std() / scale)


def _numbers(feature: int, values: Floats, weights: Floats | None) -> ColumnHistogram:
    present = values[~np.isnan(values)]
    distinct, n_each = np.unique(present, return_counts=True)
    upto = np.cumsum(n_each)
    unit = _deviation(present)
    # A boundary is between two distinct values: after as many rows as are nearest to a tenth, two
    # tenths, ... of all, and with at least FEW rows on either side and since the boundary before.
    places: list[int] = []
    last, n = 0, len(present)
    targets = np.linspace(0, n, N_BINS + 1)[1:-1]
    candidates = range(len(distinct) - 1) if len(distinct) <= N_BINS else _nearest(upto, targets)
    for i in candidates:
        if upto[i] - last >= FEW and n - upto[i] >= FEW:
            places.append(i)
            last = int(upto[i])
    edges = np.array([_between(distinct[i], distinct[i + 1], unit) for i in places])
    low, high, outside = _range(distinct, upto, unit)
    found = ColumnHistogram(
        feature,
        edges,
        np.zeros(0, dtype=np.int32),
        np.zeros(len(edges) + 1),
        0.0,
        low,
        high,
        float(outside),
    )
    return _counted(found, values, weights)


def _nearest(upto: NDArray[np.int64], targets: Floats) -> list[int]:
    """For each target the boundary before which the number of rows is nearest to it."""
    right = np.clip(np.searchsorted(upto, targets), 1, len(upto) - 1)
    left = right - 1
    near = np.where(targets - upto[left] <= upto[right] - targets, left, right)
    return sorted({int(i) for i in near if i < len(upto) - 1})


def _range(distinct: Floats, upto: NDArray[np.int64], unit: float) -> tuple[float, float, int]:
    """The range that holds all but fewer than FEW rows at either end, and those beyond it."""
    if not len(distinct):
        return -np.inf, np.inf, 0
    below = int(np.searchsorted(upto, FEW))  # distinct values of fewer than FEW rows together
    from_end = np.cumsum(np.diff(np.append(0, upto))[::-1])
    above = int(np.searchsorted(from_end, FEW))
    if below + above >= len(distinct):
        return -np.inf, np.inf, 0
    low = distinct[0] if below == 0 else _between(distinct[below - 1], distinct[below], unit)
    last = len(distinct) - 1 - above
    high = distinct[-1] if above == 0 else _between(distinct[last], distinct[last + 1], unit)
    n_below = int(upto[below - 1]) if below else 0
    n_above = int(from_end[above - 1]) if above else 0
    return float(low), float(high), n_below + n_above


def _between(below: float, above: float, unit: float) -> float:
    """A number in [below, above), rounded to a small part of the spread where that stays in it."""
    middle = below / 2 + above / 2
    middle = middle if below <= middle < above else below
    if unit > 0:
        digits = _DIGITS - 1 - int(np.floor(np.log10(unit)))
        if abs(digits) < 300:
            short = float(np.round(middle, digits))
            if below <= short < above:
                return short
    return float(middle)


def _counted(empty: ColumnHistogram, values: Floats, weights: Floats | None) -> ColumnHistogram:
    """The histogram with its counts."""
    counts = empty.count(values, weights)
    outside = empty.outside
    if outside:
        beyond = empty.is_outside(values)
        outside = float(np.count_nonzero(beyond) if weights is None else weights[beyond].sum())
    return replace(empty, counts=counts[:-1], missing=float(counts[-1]), outside=outside)
