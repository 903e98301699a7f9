"""What the rows of a partition cost, and the pass that adds up what all rows cost."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray

from treemeans import _core
from treemeans.costs import TOO_LARGE, CostTable, Fixed, Scales, centered_prices
from treemeans.exact_sum import as_float, exact_sums
from treemeans.partitioned.map_reduce import MapReduceStep
from treemeans.partitioned.partition import Partition
from treemeans.partitioned.row_summary import RowSummary
from treemeans.reference import Reference
from treemeans.rows import as_points


def space_of(partition: Partition, reference: Reference) -> _core.Points:
    """The rows in the space where the reference's centers are."""
    if reference.pipeline is None:
        return partition.points
    return as_points(reference.space(partition.X, partition.raw))


def prices_of(
    partition: Partition, reference: Reference
) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.float64]]:
    """Least cost, cluster and regrets of a partition's rows."""
    if reference.cost == "labels":
        assert partition.labels is not None
        nearest = np.maximum(partition.labels, 0)
        regret = (nearest[:, None] != np.arange(reference.n_clusters)).astype(np.float64)
        return np.zeros(partition.n_rows), nearest, regret
    points = partition.points if reference.pipeline is None else None
    rows = reference.space(partition.X, partition.raw)
    return centered_prices(reference.cost, rows, reference.centers, 1, points)


@dataclass(frozen=True)
class CostTableBuilder:
    """Builds the cost table of a partition: the centers, and the fixed point of the costs.

    The scales come from sums over all rows, so a row has the same integer costs in any partition,
    and the same as in one memory.
    """

    reference: Reference
    scales: Scales
    token: str = field(default_factory=lambda: uuid.uuid4().hex, compare=False)
    labels_token: str = field(default_factory=lambda: uuid.uuid4().hex, compare=False)

    def build(self, partition: Partition) -> CostTable:
        """Costs of a partition's rows to all centers."""
        prices = prices_of(partition, self.reference)
        return CostTable.rounded(*prices, partition.weights, self.scales, 1)

    def cached(self, partition: Partition) -> CostTable:
        """Costs of a partition's rows, kept between passes if there is room."""
        table: CostTable | None = partition.cache.find("costs", self.token)
        if table is None:
            table = self.build(partition)
            n_bytes = table.nearest.nbytes + table.regrets.values.nbytes + table.base.values.nbytes
            partition.cache.keep("costs", self.token, table, n_bytes, spare=True)
            _keep_labels(partition, self.labels_token, table.nearest)
        return table

    def labels(self, partition: Partition) -> NDArray[np.int32]:
        """The cheapest center of every row."""
        labels: NDArray[np.int32] | None = partition.cache.find("labels", self.labels_token)
        return self.cached(partition).nearest if labels is None else labels

    def regrets_of(
        self, partition: Partition, wanted: NDArray[np.bool_]
    ) -> tuple[NDArray[np.int64], NDArray[np.int32] | None]:
        """Regrets of the rows that are wanted at least, and where those of each are: None: its own.

        As `regrets`, a few rows are priced by themselves if the costs of all are not kept.
        """
        table: CostTable | None = partition.cache.find("costs", self.token)
        rows = np.flatnonzero(wanted).astype(np.int32)
        if table is not None or 2 * len(rows) > len(wanted):
            table = self.cached(partition) if table is None else table
            return table.regrets.values, None
        place = np.zeros(len(wanted), dtype=np.int32)
        place[rows] = np.arange(len(rows), dtype=np.int32)
        return self.regrets(partition, rows), place

    def regrets(self, partition: Partition, rows: NDArray[np.int32]) -> NDArray[np.int64]:
        """Regrets of some rows; if those of all rows are not kept, only these are priced."""
        if not len(rows):
            return np.empty((0, self.reference.n_clusters), dtype=np.int64)
        table: CostTable | None = partition.cache.find("costs", self.token)
        if table is None and (
            self.reference.pipeline is not None
            or self.reference.cost == "labels"
            or 2 * len(rows) > len(partition.X)
        ):
            table = self.cached(partition)
        if table is not None:
            return table.regrets.values[rows]
        weights = None if partition.weights is None else partition.weights[rows]
        reference = self.reference
        prices = centered_prices(reference.cost, partition.X[rows], reference.centers, 1)
        return CostTable.rounded(*prices, weights, self.scales, 1).regrets.values

    def weights(self, partition: Partition) -> NDArray[np.int64] | None:
        """The rows' weights in fixed point; None where all are 1."""
        if partition.weights is None:
            return None
        scale, copies = self.scales.weights, self.scales.copies
        assert scale is not None
        return Fixed.of(np.ones(partition.n_rows), scale, partition.weights, copies, 1).values


def _keep_labels(partition: Partition, token: str, labels: NDArray[np.int32]) -> None:
    if partition.cache.find("labels", token) is None:
        partition.cache.keep("labels", token, labels, labels.nbytes, spills=True)


@dataclass(frozen=True)
class CostTotals:
    """Sums over all rows.

    Attributes
    ----------
    regrets : for each center, the exact sum of what rows cost there beyond their cheapest center
    base : exact sum of the rows' costs to their cheapest centers
    nearest : (k,), number of rows nearest to each center
    weight : weight of all rows, in units of the weights; 0 where rows have none
    """

    regrets: list[int]
    base: int
    nearest: NDArray[np.int64]
    weight: int

    def __add__(self, other: CostTotals) -> CostTotals:
        return CostTotals(
            [a + b for a, b in zip(self.regrets, other.regrets, strict=True)],
            self.base + other.base,
            self.nearest + other.nearest,
            self.weight + other.weight,
        )

    @property
    def n_rows(self) -> int:
        """Number of rows in all partitions."""
        return int(self.nearest.sum())

    @property
    def cheapest(self) -> float:
        """Cost of giving every row to its cheapest center."""
        return as_float(self.base)

    def scales(self, summary: RowSummary) -> Scales:
        """The fixed point in which no sum over these rows overflows."""
        weight = summary.weight if summary.weighted else None
        return Scales.of(
            as_float(max(self.regrets)), self.cheapest, weight, summary.integer_weights
        )


@dataclass(frozen=True)
class SumCosts(MapReduceStep[CostTotals]):
    """Add up the costs of all rows without rounding: the fixed point is not known before.

    ``weights``: the fixed point of the weights; None where rows have none. ``labels_token``: under
    which the labels of the rows are kept.
    """

    reference: Reference
    weights: Scales | None
    labels_token: str = field(default_factory=lambda: uuid.uuid4().hex, compare=False)

    @classmethod
    def of(cls, reference: Reference, summary: RowSummary) -> Self:
        """The step for the rows of a summary."""
        weights = None
        if summary.weighted:
            weights = Scales.of(0.0, 0.0, summary.weight, summary.integer_weights)
        return cls(reference, weights)

    def map(self, partition: Partition) -> CostTotals:
        """Add up one partition."""
        centers = self.reference.centers
        base, nearest, regret = prices_of(partition, self.reference)
        _keep_labels(partition, self.labels_token, nearest)
        weight = 0
        if partition.weights is not None and self.weights is not None:
            scale, copies = self.weights.weights, self.weights.copies
            assert scale is not None
            units = Fixed.of(np.ones(partition.n_rows), scale, partition.weights, copies, 1)
            weight = int(units.values.sum())
        regrets = exact_sums(regret, partition.weights)
        bases = exact_sums(base[:, None], partition.weights)
        if regrets is None or bases is None:
            raise ValueError(TOO_LARGE)
        return CostTotals(regrets, bases[0], np.bincount(nearest, minlength=len(centers)), weight)
