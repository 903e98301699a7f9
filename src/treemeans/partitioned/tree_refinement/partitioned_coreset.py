"""A coreset of rows in partitions: a weighted sample, in memory, that a search works on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from treemeans import _core
from treemeans.costs import KMeansCost
from treemeans.exact_sum import as_float
from treemeans.partitioned.clustering.fixed_point_columns import FixedPointColumns
from treemeans.partitioned.clustering.row_sampling import RowSample, RowSampler
from treemeans.partitioned.map_reduce import MapReduceStep
from treemeans.partitioned.partition import Partition
from treemeans.partitioned.tree_growth.partitioned_data import PartitionedData
from treemeans.reference import Reference
from treemeans.refine.coreset import rows_wanted
from treemeans.rows import Table, as_points
from treemeans.training_data import TrainingData

Floats = NDArray[np.float64]

_DRAW_NUMBER = 2**20  # seeds a stream of random numbers that nothing else draws from
_MOST = 2**24  # values of the rows that are drawn, so that they fit in memory


@dataclass(frozen=True)
class DrawnRows:
    """Rows with their number, columns and place in the space; and the range of the space."""

    sample: RowSample
    low: Floats
    high: Floats


@dataclass(frozen=True)
class DrawCoreset(MapReduceStep[DrawnRows]):
    """Draw rows, half uniformly and half by squared distance from a point (see `search_data`).

    Attributes
    ----------
    middle : that point, in the space
    per_weight, per_square : share of a row for each unit of its weight, and of that times its
        squared distance from the middle
    """

    draw: RowSampler
    reference: Reference
    middle: Floats
    per_weight: float
    per_square: float

    def map(self, partition: Partition) -> DrawnRows:
        """Draw from one partition."""
        space = dense(self.reference.space(partition.X, partition.raw))
        squares, _ = _core.nearest_centers(as_points(space), self.middle[None, :], 1)
        shares = self.per_weight + squares * self.per_square
        if partition.weights is not None:
            shares *= partition.weights
        numbers = np.arange(partition.n_rows)[:, None]
        found = self.draw.sample(partition.first_row, numbers, shares, partition.weights)
        at = found.rows[:, 0].astype(np.intp)
        pieces = [found.rows + partition.first_row, partition.X[at]]
        if self.reference.pipeline is not None:
            pieces.append(space[at])
        return DrawnRows(
            replace(found, rows=np.concatenate(pieces, axis=1, dtype=np.float64)),
            space.min(axis=0).astype(np.float64),
            space.max(axis=0).astype(np.float64),
        )

    def reduce(self, one: DrawnRows, other: DrawnRows) -> DrawnRows:
        """Draw from two samples what would be drawn from both together."""
        return DrawnRows(
            one.sample.merge(other.sample),
            np.minimum(one.low, other.low),
            np.maximum(one.high, other.high),
        )


def dense(rows: Any) -> NDArray[Any]:
    """Rows as an array."""
    return rows.toarray() if sparse.issparse(rows) else np.asarray(rows)


@dataclass(frozen=True)
class Coreset:
    """A weighted sample of the rows, or all of them.

    Attributes
    ----------
    X, space : their columns, and where they are in the space of the centers
    weights : of the rows, so that they estimate sums over all rows; None where all are 1
    columns : how to add up the columns of the space over all rows in fixed point
    complete : whether they are all rows
    """

    X: Floats
    space: Floats
    weights: Floats | None
    columns: FixedPointColumns
    complete: bool

    def training_data(self, field: PartitionedData, seed: int, n_threads: int) -> TrainingData:
        """Return what a tree on these rows is refined on."""
        table = Table.of(self.X, n_threads, field.allowed)
        assert table is not None  # the rows were checked
        rules = field.user_limits
        if not self.complete and self.weights is not None:
            rules = rules.for_sample(float(self.weights.sum()) / field.summary.weight)
        cost = KMeansCost(self.space, as_points(self.space), self.weights, n_threads)
        centers = field.reference.centers
        return TrainingData.of(self.X, table, cost, rules, centers, field.columns, seed=seed)


def draw_coreset(field: PartitionedData, seed: int) -> Coreset:
    """Take all rows where they are few, otherwise a coreset of them."""
    reference, summary, d = field.reference, field.summary, field.n_features
    n_values = d + (0 if reference.pipeline is None else reference.centers.shape[1])
    wanted = max(min(rows_wanted(d), _MOST // n_values), 20 * field.n_clusters)
    complete = summary.n_rows <= 2 * wanted
    size = summary.n_rows if complete else wanted
    middle, squares = _middle(field)
    even = squares <= 0.0
    draw = RowSampler.of(seed, _DRAW_NUMBER, size, 1.0, summary.n_rows)
    step = DrawCoreset(
        draw,
        reference,
        middle,
        (1.0 if even else 0.5) / summary.weight,
        0.0 if even else 0.5 / squares,
    )
    drawn = field.map_reduce(step)
    rows, weights = drawn.sample.weighted_rows()
    order = np.argsort(rows[:, 0], kind="stable")
    rows, weights = rows[order], weights[order]
    X = np.asfortranarray(rows[:, 1 : d + 1])
    space = rows[:, 1 : d + 1] if reference.pipeline is None else rows[:, d + 1 :]
    return Coreset(
        X,
        np.ascontiguousarray(space),
        None if complete and not summary.weighted else weights,
        FixedPointColumns.of(drawn.low, drawn.high, summary.weight, summary.integer_weights),
        complete,
    )


def _middle(field: PartitionedData) -> tuple[Floats, float]:
    """The mean of the rows' centers, and the squared distances of all rows from it.

    The latter follow from those to the centers, of which `CostTotals` has the sums.
    """
    cost_totals, centers = field.cost_totals, field.reference.centers
    part = cost_totals.nearest / cost_totals.nearest.sum()
    middle = part @ centers
    apart = ((centers - middle) ** 2).sum(axis=1)
    return middle, float(part @ (costs_of_all(field) - apart * field.summary.weight))


def costs_of_all(field: PartitionedData) -> Floats:
    """For each center of the reference, what all rows would cost with it."""
    cost_totals = field.cost_totals
    return np.array([as_float(cost_totals.base + regrets) for regrets in cost_totals.regrets])
