"""What k-means asks of partitioned rows: weighted sample rows, and passes that evaluate centers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from treemeans import _core
from treemeans.partitioned.clustering.center_statistics import (
    AssignToCenters,
    CenterStatistics,
    CoresetSampler,
)
from treemeans.partitioned.clustering.fixed_point_columns import FixedPointColumns
from treemeans.partitioned.clustering.row_sampling import RowSampler
from treemeans.partitioned.map_reduce import CombinedSteps, PartitionedRows
from treemeans.preparation import TablePreparation
from treemeans.reference import Reference
from treemeans.rows import as_points

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class WeightedRows:
    """Rows in the driver's memory whose weighted sums estimate sums over all rows."""

    X: Floats
    weights: Floats

    def price(self, centers: Floats) -> tuple[Floats, NDArray[np.int32]]:
        """What each row costs, and its nearest center."""
        base, nearest = _core.nearest_centers(as_points(self.X), centers, 1)
        return base, nearest

    def cost(self, centers: Floats) -> float:
        """k-means cost of the centers."""
        return float(self.price(centers)[0] @ self.weights)

    def means(self, centers: Floats) -> Floats:
        """Means of the rows nearest to each center; NaN where there are none."""
        _, nearest = self.price(centers)
        k = len(centers)
        sums = _core.group_sums(as_points(self.X), nearest, k, self.weights, None, None, 1)
        weight = np.bincount(nearest, self.weights, k)[:, None]
        return np.divide(sums, weight, out=np.full_like(sums, np.nan), where=weight > 0)

    def variance(self) -> float:
        """Mean variance of the columns."""
        mean = np.average(self.X, axis=0, weights=self.weights)
        return float(np.average((self.X - mean) ** 2, axis=0, weights=self.weights).mean())


@dataclass(frozen=True)
class EvaluatedCenters:
    """Centers, and what a pass over all rows found out about them."""

    centers: Floats
    statistics: CenterStatistics
    columns: FixedPointColumns

    @property
    def cost(self) -> float:
        """k-means cost of the centers on all rows."""
        return self.statistics.cost

    def means(self, rows: WeightedRows) -> Floats:
        """Means of the rows nearest to each center.

        A center without rows moves to the sampled row that costs most.
        """
        means = self.columns.means(self.statistics.sums)
        empty = np.isnan(means).any(axis=1)
        means[empty] = self.centers[empty]
        for center in np.flatnonzero(empty):
            gains = rows.price(means)[0] * rows.weights
            if gains.max(initial=0.0) > 0:
                means[center] = rows.X[gains.argmax()]
        return means

    def bound(self, means: Floats) -> float:
        """Upper bound of the cost of the means: rows may have a nearer mean than their own."""
        weights = self.columns.weights(self.statistics.sums)
        gain = float((weights * ((means - self.centers) ** 2).sum(axis=1)).sum())
        return self.cost - gain


@dataclass(frozen=True)
class KMeansPasses:
    """Evaluates centers on all rows, one pass at a time.

    Attributes
    ----------
    rows : the partitioned rows
    columns : fixed point of the columns of the space
    pipeline : transforms rows to the space; None where X is the space itself
    n_rows : number of rows in all partitions
    size : number of sampled rows on which centers are searched for from scratch
    coreset : number of rows to draw for a coreset; larger ones predict Lloyd's rounds better
    seed : seed of all draws
    """

    rows: PartitionedRows
    columns: FixedPointColumns
    pipeline: Pipeline | TablePreparation | None
    n_rows: int
    size: int
    coreset: int
    seed: int

    def evaluate(
        self, candidates: list[Floats], sampler: CoresetSampler | None = None
    ) -> list[EvaluatedCenters]:
        """Evaluate several sets of centers in one pass."""
        references = [Reference(centers, self.pipeline, False) for centers in candidates]
        steps = (AssignToCenters(reference, self.columns, sampler) for reference in references)
        found = self.rows.map_reduce(CombinedSteps(tuple(steps)))
        return [
            EvaluatedCenters(centers, statistics, self.columns)
            for centers, statistics in zip(candidates, found, strict=True)
        ]

    def coreset_sampler(self, rows: WeightedRows, centers: Floats, turn: int) -> CoresetSampler:
        """Shares of a draw, half by cost and half evenly by cluster, as ``rows`` estimate them."""
        base, nearest = rows.price(centers)
        cost = float(base @ rows.weights)
        weight = np.bincount(nearest, rows.weights, len(centers))
        weight[weight == 0] = rows.weights.min()
        sampler = RowSampler.of(self.seed, turn, self.coreset, 1.0, self.n_rows)
        per_cost = 0.5 / cost if cost > 0 else 1.0
        return CoresetSampler(sampler, per_cost, 0.5 / len(centers) / weight)
