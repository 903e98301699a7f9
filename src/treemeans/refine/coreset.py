"""The rows that a search works on: all of them, or a weighted sample (a coreset)."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from treemeans import _core
from treemeans.training_data import TrainingData

MOST_VALUES = 2**20
"""Number of values that one look at all rows may read; a table with more is sampled, because a
search needs thousands of looks."""
_FEWEST_ROWS = 2**13
_MOST_COPIED = 2**22  # values of a table that is copied to columns


def search_data(data: TrainingData, rng: np.random.Generator) -> TrainingData:
    """Return the rows to search on: a coreset where they are many, otherwise all.

    The coreset is lightweight (Bachem, Lucic, Krause 2018): half of it is drawn uniformly, half by
    what rows cost as one cluster (for k-means, the squared distance from the mean), and a row
    weighs the inverse of its chance. Then the cost of any centers is estimated without bias, and
    outliers, which uniform samples miss though they cost most, are in it.
    """
    n = data.table.n_rows
    per_row = max(1, _core.n_values(data.table.points) // n)
    wanted = rows_wanted(per_row)
    if n <= 2 * wanted:
        return _by_column(data)
    return _sample(data, wanted, rng)


def small_data(data: TrainingData, wanted: float, rng: np.random.Generator) -> TrainingData:
    """Return a coreset of about ``wanted`` rows; all rows unless they are twice as many."""
    return data if data.table.n_rows <= 2 * wanted else _sample(data, wanted, rng)


def _sample(data: TrainingData, wanted: float, rng: np.random.Generator) -> TrainingData:
    """The training data of a coreset of about ``wanted`` rows."""
    rows, weights = _draw(data, wanted, rng)
    X = data.X[rows]
    X = X if sparse.issparse(X) else np.asfortranarray(X)
    table = data.table.with_rows(X, data.n_threads)
    limits = data.limits.for_sample(float(weights.sum()) / data.total_weight)
    return TrainingData.of(
        X,
        table,
        data.cost.sample(rows, weights),
        limits,
        data.centers,
        data.center_columns,
        n_init=data.n_init,
        seed=data.seed,
    )


def rows_wanted(per_row: int) -> int:
    """Size of a coreset of rows with so many values; up to twice as many rows are all taken."""
    return max(_FEWEST_ROWS, MOST_VALUES // per_row)


def _by_column(data: TrainingData) -> TrainingData:
    """Copy a small dense table to column-major order, in which searches read it."""
    X: Any = data.X
    if sparse.issparse(X) or X.size > _MOST_COPIED:
        return data
    X = np.asfortranarray(X)
    return replace(data, X=X, table=data.table.by_column(X))


def _draw(
    data: TrainingData, wanted: float, rng: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Draw rows; return them ascending, with their weights in the coreset."""
    n = data.table.n_rows
    weights = np.ones(n) if data.weights is None else data.weights
    spread = weights * data.cost.as_one_cluster()
    share = weights / weights.sum()
    if spread.sum() > 0.0:
        share = (share + spread / spread.sum()) / 2
    chance = np.minimum(wanted * share, 1.0)
    rows = np.flatnonzero(rng.random(n) < chance)
    return rows, weights[rows] / chance[rows]
