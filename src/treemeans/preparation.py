"""How the default reference sees a table that is not all numbers: columns as coordinates.

=================  =============================================================================
column             what k-means sees, unless the user gives a pipeline of their own
=================  =============================================================================
number, duration   standardised to variance 1; first the logarithm is taken if no value is negative
                   and the distribution is skewed to the right, as amounts of money are, or the rank
                   if it is skewed otherwise or has far outliers (``scale="auto"``)
date, time         as time, standardised
flag, boolean      0 and 1
category           a column of 0 and 1 for each of the ``MOST_LEVELS`` most frequent categories, and
                   one for all others together, none of them standardised
missing value      the middle (the median) in place of the value, and a column of 0 and 1 that says
                   that it is missing; of a category, a category of its own
=================  =============================================================================

Two random rows differ by 2 (squared) in a standardised number, and by 2 in a category if they have
different ones: a whole column of categories counts as much as a number, or less if one of them is
frequent. Standardised columns of 0 and 1 would make rare categories the largest distances there
are: on six of seven tables they made clusters of single categories, or missed groups that columns
of 0 and 1 found (``tests/estimator/test_preparation.py``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from treemeans.columns import Column, Columns

Floats = NDArray[np.float64]
SCALES = ("auto", "none", "standard", "robust", "log", "rank")
MOST_LEVELS = 20  # categories of a column with a coordinate of their own
_SKEWED = 0.5  # of (q95 + q05 - 2 q50) / (q95 - q05): 0 is symmetric, an exponential has 0.56
_FAR = 5.0  # distance of the largest value from the median, in units of q95 - q05
_KNOTS = 1001  # quantiles from which ranks are interpolated
_BLOCK = 2**18  # numbers that are written before the next rows
_NORMAL_IQR = 1.349  # of a normal distribution of variance 1


@dataclass(frozen=True)
class ColumnView:
    """How k-means sees one column.

    Attributes
    ----------
    column : of the table
    how : "none", "standard", "robust", "log", "rank", "flag" or "one-hot"
    why : a reason for it, if the values gave one
    shift, scale : what is subtracted, and what the result is divided by
    unit : for "log", log(1 + x / unit) is taken first
    knots : for "rank", the values at even quantiles
    fill : what stands for a missing value, before it is scaled
    has_missing : whether there is a coordinate that says that the value is missing
    levels : for "one-hot", the codes that have coordinates
    """

    column: Column
    how: str
    why: str = ""
    shift: float = 0.0
    scale: float = 1.0
    unit: float = 1.0
    knots: tuple[float, ...] = ()
    fill: float = 0.0
    has_missing: bool = False
    levels: tuple[int, ...] = ()
    has_others: bool = False

    @property
    def width(self) -> int:
        """Number of coordinates."""
        if self.how == "one-hot":
            return len(self.levels) + self.has_others + self.has_missing
        return 1 + self.has_missing

    def write(self, values: Floats, out: Floats) -> None:
        """Set the coordinates ``out``, of shape (n_rows, width), of the values of a column."""
        missing = np.isnan(values)
        if self.how == "one-hot":
            self._write_levels(values, missing, out)
            return
        filled = np.where(missing, self.fill, values) if missing.any() else values
        out[:, 0] = (self._bent(filled) - self.shift) / self.scale
        if self.has_missing:
            out[:, 1] = missing

    def _write_levels(self, values: Floats, missing: NDArray[np.bool_], out: Floats) -> None:
        known = np.zeros(len(values), dtype=bool)
        for i, level in enumerate(self.levels):
            is_it = values == level
            known |= is_it
            out[:, i] = is_it
        if self.has_others:
            out[:, len(self.levels)] = ~known & ~missing
        if self.has_missing:
            out[:, -1] = missing

    def _bent(self, values: Floats) -> Floats:
        """The values after a logarithm or as ranks between 0 and 1."""
        if self.how == "log":
            return np.asarray(np.sign(values) * np.log1p(np.abs(values) / self.unit))
        if self.how == "rank":
            return _ranks(values, np.array(self.knots))
        return values

    @property
    def words(self) -> str:
        """What k-means sees, for people."""
        if self.how == "one-hot":
            n = len(self.levels)
            words = f"0 and 1 for each of {n} categories" if n > 1 else "0 and 1 for its category"
            if self.has_others:
                words = f"0 and 1 for each of the {n} most frequent categories, and for the others"
            return f"{words}, and for missing values" if self.has_missing else words
        words = {
            "none": "as it is",
            "flag": "0 and 1",
            "standard": "standardised",
            "robust": "less its median, divided by its interquartile range",
            "log": "logarithm, standardised",
            "rank": "rank, standardised",
        }[self.how]
        if self.why:
            words += f" ({self.why})"
        return f"{words}; 0 and 1 for missing" if self.has_missing else words


@dataclass(frozen=True)
class TablePreparation:
    """Makes the coordinates in which k-means clusters a table with categories or missing values.

    Takes the place of a pipeline of transformers. ``print`` it for what becomes of each column.

    Attributes
    ----------
    views : tuple of ColumnView

    Examples
    --------
    >>> columns = (Column("active", "flag"), Column("country", "codes", categories=("DE", "FR")))
    >>> X = np.array([[0.0, 1.0], [1.0, np.nan], [1.0, 0.0]])
    >>> print(TablePreparation.of(columns, X))
    column   what k-means sees
    active   0 and 1
    country  0 and 1 for each of 2 categories, and for missing values
    >>> TablePreparation.of(columns, X).transform(X)
    array([[0., 0., 1., 0.],
           [1., 0., 0., 1.],
           [1., 1., 0., 0.]])
    """

    views: tuple[ColumnView, ...]

    @classmethod
    def of(
        cls, columns: Columns, X: Any, weights: Floats | None = None, scale: str = "auto"
    ) -> TablePreparation:
        """The preparation for a table that is encoded as numbers.

        Parameters
        ----------
        columns : tuple of Column
        X : array of shape (n_rows, n_columns), NaN for missing values
        weights : of the rows, optional
        scale : one of ``SCALES``; for numbers, dates and durations
        """
        if weights is not None:
            X, weights = X[weights > 0], weights[weights > 0]
        return cls(
            tuple(
                _view(column, np.asarray(X[:, i], dtype=np.float64), weights, scale)
                for i, column in enumerate(columns)
            )
        )

    @property
    def width(self) -> int:
        """Number of coordinates."""
        return sum(view.width for view in self.views)

    def transform(self, X: Any) -> Any:
        """The coordinates of encoded rows."""
        if sparse.issparse(X):
            return self._scale_sparse(X)
        ends = np.cumsum([0, *(view.width for view in self.views)])
        found = np.empty((X.shape[0], ends[-1]))
        # In blocks of rows that stay in the cache while one column after the other is written.
        step = max(1, _BLOCK // max(1, int(ends[-1])))
        for first in range(0, X.shape[0], step):
            rows = slice(first, first + step)
            for i, view in enumerate(self.views):
                values = np.asarray(X[rows, i], dtype=np.float64)
                view.write(values, found[rows, ends[i] : ends[i + 1]])
        return found

    def ranges(self, low: Floats, high: Floats) -> Floats:
        """(2, width), the least and the greatest of each coordinate, from those of the columns."""
        found: Floats = self.transform(np.stack([low, high]))
        ends = np.cumsum([0, *(view.width for view in self.views)])
        for view, begin, end in zip(self.views, ends[:-1], ends[1:], strict=True):
            counted = begin if view.how == "one-hot" else begin + 1  # coordinates of 0 and 1
            found[:, counted:end] = [[0.0], [1.0]]
        return found

    def _scale_sparse(self, X: Any) -> Any:
        """Sparse rows, which stay sparse because zero stays zero, as under ``MaxAbsScaler``."""
        scaled = ("standard", "robust")
        if any(view.how not in scaled or view.shift != 0 for view in self.views):
            raise ValueError(
                "The reference was fitted to shifted columns, and shifting a sparse table would "
                "make it dense; pass a dense array."
            )
        scales = np.array([[1.0 / view.scale for view in self.views]])
        return X @ sparse.dia_array((scales, [0]), shape=(X.shape[1], X.shape[1]))

    def __str__(self) -> str:
        width = max(len("column"), *(len(view.column.name) for view in self.views))
        lines = [f"{'column':<{width}}  what k-means sees"]
        lines += [f"{view.column.name:<{width}}  {view.words}" for view in self.views]
        return "\n".join(lines)


def widest(columns: Columns) -> int:
    """Coordinates that columns have at most."""
    levels = [min(len(column.categories), MOST_LEVELS) + 1 for column in columns]
    return sum(
        n + 1 if column.kind == "codes" else 2 for n, column in zip(levels, columns, strict=True)
    )


def _view(column: Column, values: Floats, weights: Floats | None, scale: str) -> ColumnView:
    present = ~np.isnan(values)
    has_missing = not bool(present.all())
    if weights is None:
        weights = np.ones(len(values))
    values, weights = values[present], weights[present]
    if column.kind == "codes":
        return _levels(column, values, weights, has_missing)
    if not len(values):
        return ColumnView(column, "none", has_missing=has_missing)
    if column.kind in ("flag", "category"):
        fill = _quantiles(values, weights, [0.5])[0]
        return ColumnView(column, "flag", fill=fill, has_missing=has_missing)
    return _numbers(column, values, weights, scale, has_missing)


def _levels(column: Column, codes: Floats, weights: Floats, has_missing: bool) -> ColumnView:
    total = np.bincount(codes.astype(np.intp), weights, minlength=1)
    order = np.lexsort((np.arange(len(total)), -total))
    seen = [int(code) for code in order if total[code] > 0]
    has_others = len(seen) > MOST_LEVELS
    return ColumnView(
        column,
        "one-hot",
        has_missing=has_missing,
        levels=tuple(sorted(seen[:MOST_LEVELS])),
        has_others=has_others,
    )


def _numbers(
    column: Column, values: Floats, weights: Floats, scale: str, has_missing: bool
) -> ColumnView:
    # Sorted, so that all quantiles are found at once.
    if (weights == 1.0).all():
        values = np.sort(values)  # much faster than finding their order
    else:
        order = np.argsort(values, kind="stable")
        values, weights = values[order], weights[order]
    fill = _quantiles(values, weights, [0.5])[0]
    how, why = (scale, "") if scale != "auto" else _choose(column, values, weights)
    view = ColumnView(column, how, why, fill=fill, has_missing=has_missing)
    if how == "none":
        return view
    if how == "robust":
        low, middle, high = _quantiles(values, weights, [0.25, 0.5, 0.75])
        if high > low:
            spread = (high - low) / _NORMAL_IQR
            return replace(view, shift=middle, scale=spread)
    if how == "log":
        positive = np.abs(values) > 0
        sizes = _quantiles(np.abs(values[positive]), weights[positive], [0.5])
        view = replace(view, unit=sizes[0] if sizes else 1.0)
    if how == "rank":
        knots = _quantiles(values, weights, np.linspace(0, 1, _KNOTS).tolist())
        view = replace(view, knots=tuple(knots))
    bent = view._bent(values)
    total = weights.sum()
    mean = float(weights @ bent / total)
    deviation = math.sqrt(float(weights @ (bent - mean) ** 2 / total))
    return replace(view, shift=mean, scale=deviation if deviation > 0 else 1.0)


def _choose(column: Column, values: Floats, weights: Floats) -> tuple[str, str]:
    """The scale of a column of numbers, and why it is not the usual one."""
    if column.is_date:
        return "standard", ""
    low, middle, high = _quantiles(values, weights, [0.05, 0.5, 0.95])
    if not low < high:
        # Most values are the same: whether a value differs matters, not how far.
        far = values.max() - values.min() > 0 and len(np.unique(values)) > 2
        return ("rank", "most values are the same") if far else ("standard", "")
    skew = (high + low - 2 * middle) / (high - low)
    farthest = max(values.max() - middle, middle - values.min()) / (high - low)
    if values.min() >= 0 and (skew > _SKEWED or (farthest > _FAR and skew > 0)):
        return "log", "skewed to the right"
    if abs(skew) > _SKEWED:
        return "rank", "skewed"
    return ("rank", "far outliers") if farthest > _FAR else ("standard", "")


def _quantiles(values: Floats, weights: Floats, shares: Sequence[float]) -> list[float]:
    """Quantiles of weighted values, of which a weight of 2 is the same as the value twice."""
    if not len(values):
        return []
    if np.any(values[1:] < values[:-1]):
        order = np.argsort(values, kind="stable")
        values, weights = values[order], weights[order]
    reached = np.cumsum(weights)
    at = np.searchsorted(reached, np.asarray(shares) * reached[-1], side="left")
    found: list[float] = values[np.minimum(at, len(values) - 1)].tolist()
    return found


def _ranks(values: Floats, knots: Floats) -> Floats:
    """The share of training values below a value, and half of those that equal it."""
    different, first, count = np.unique(knots, return_index=True, return_counts=True)
    shares = (first + (count - 1) / 2) / (len(knots) - 1)
    return np.asarray(np.interp(values, different, shares))
