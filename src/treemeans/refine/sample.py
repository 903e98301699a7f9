"""The rows a search works on: all of them, or a weighted sample that stands for them."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from treemeans import _core
from treemeans.ground import Ground
from treemeans.tables import Table, as_points

MOST_VALUES = 2**20
"""Values that a search reads in one look at all rows; more rows than that are sampled."""
_FEWEST_ROWS = 2**13
_SMALL = 2**22  # values of a table that is worth a copy


def search_ground(ground: Ground, rng: np.random.Generator) -> Ground:
    """The ground itself, its columns brought together; or a sample of its rows.

    Half of the sample is drawn evenly, half by squared distance from the mean: then the k-means
    cost of any clusters is estimated without bias and no outlier is missed (a lightweight
    coreset: Bachem, Lucic, Krause 2018). A row that is drawn stands for those that are not.
    """
    n = ground.table.n_rows
    per_row = max(1, _core.n_values(ground.table.points) // n)
    wanted = rows_wanted(per_row)
    if n <= 2 * wanted:
        return _columns_together(ground)
    rows, weights = _draw(ground, wanted, rng)
    X, space_rows = ground.X[rows], ground.space_rows[rows]
    X = X if sparse.issparse(X) else np.asfortranarray(X)
    table = Table.of(X, ground.n_threads, ground.table.allowed)
    assert table is not None  # the rows were checked
    return replace(
        ground,
        X=X,
        table=table,
        space_rows=space_rows,
        space=as_points(space_rows),
        weights=weights,
    )


def rows_wanted(per_row: int) -> int:
    """Rows of a sample, of so many values each; a table of up to twice as many is not sampled."""
    return max(_FEWEST_ROWS, MOST_VALUES // per_row)


def _columns_together(ground: Ground) -> Ground:
    X: Any = ground.X
    if sparse.issparse(X) or X.size > _SMALL:
        return ground
    X = np.asfortranarray(X)
    return replace(ground, X=X, table=replace(ground.table, points=as_points(X, by_column=True)))


def _draw(
    ground: Ground, wanted: int, rng: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Rows, ascending, and the weight that each then has."""
    n = ground.table.n_rows
    weights = np.ones(n) if ground.weights is None else ground.weights
    everything = np.zeros(n, dtype=np.int32)
    sums = _core.group_sums(ground.space, everything, 1, weights, None, None, ground.n_threads)
    distance, _, _ = _core.price(ground.space, sums / weights.sum(), ground.n_threads)
    spread = weights * distance
    share = weights / weights.sum()
    if spread.sum() > 0.0:
        share = (share + spread / spread.sum()) / 2
    chance = np.minimum(wanted * share, 1.0)
    rows = np.flatnonzero(rng.random(n) < chance)
    return rows, weights[rows] / chance[rows]
