"""PartitionedData: what a tree on partitioned rows is grown on, as the driver knows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemeans.columns import Columns
from treemeans.limits import Limits
from treemeans.partitioned.map_reduce import MapReduceStep, PartitionedRows, Result
from treemeans.partitioned.partition import Partition
from treemeans.partitioned.partition_costs import CostTableBuilder, CostTotals
from treemeans.partitioned.row_summary import RowSummary
from treemeans.partitioned.tree_growth.code_edges import CodeEdges, CodeRanges
from treemeans.reference import Reference


@dataclass(frozen=True)
class MixedColumns:
    """The columns that hold categories or have missing values.

    Attributes
    ----------
    n_codes : of each column the number of its categories; 0 for one of numbers
    may_miss : of each column whether a row lacks a value
    """

    n_codes: tuple[int, ...]
    may_miss: NDArray[np.bool_]

    @classmethod
    def of(cls, columns: Columns | None, summary: RowSummary) -> MixedColumns:
        """From what is known of the columns, and what the first pass found."""
        known = columns or [None] * len(summary.n_missing)
        n_codes = tuple(
            len(column.categories) if column is not None and column.kind == "codes" else 0
            for column in known
        )
        return cls(n_codes, summary.n_missing > 0)

    @property
    def mixed(self) -> NDArray[np.bool_]:
        """The columns of categories, and those with missing values."""
        return self.may_miss | (np.array(self.n_codes) > 0)


@dataclass(frozen=True)
class PartitionedData:
    """The rows, and what the first passes found out about them.

    Attributes
    ----------
    rows : the partitioned rows
    summary : what the first pass found
    cost_builder : how a partition prices its rows
    columns : (k, d), the reference's centers in the columns of the rows
    cost_totals : sums over all rows
    edges, ranges : of the codes of the rows
    user_limits : the limits as the user set them, in rows
    allowed : (d,), the features that may be cut
    kinds : which of them hold categories or have missing values
    placed : the centers that are nearest to some row, if there are such features; otherwise empty
    """

    rows: PartitionedRows
    summary: RowSummary
    cost_builder: CostTableBuilder
    columns: NDArray[np.float64]
    cost_totals: CostTotals
    edges: CodeEdges
    ranges: CodeRanges
    user_limits: Limits
    allowed: NDArray[np.bool_]
    kinds: MixedColumns
    placed: NDArray[np.intp]

    def map_reduce(self, step: MapReduceStep[Result]) -> Result:
        """Make a pass over all rows."""
        return self.rows.map_reduce(step)

    @property
    def reference(self) -> Reference:
        """The clustering that the tree explains."""
        return self.cost_builder.reference

    @property
    def comparable(self) -> NDArray[np.bool_]:
        """The features that may be cut, hold numbers and have no missing values."""
        return self.allowed & ~self.kinds.mixed

    @property
    def is_mixed(self) -> bool:
        """Whether a feature that may be cut holds categories, or has missing values."""
        return bool((self.allowed & self.kinds.mixed).any())

    @property
    def weighted(self) -> bool:
        """Whether rows have weights."""
        return self.summary.weighted

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return self.reference.n_clusters

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.rows.n_features

    @property
    def limits(self) -> Limits:
        """The user's limits in the units of the weights."""
        return self.user_limits.for_rows(self)

    @property
    def weights_matter(self) -> bool:
        """Whether a search must sum weights: only if a leaf must hold more than one row."""
        return self.weighted and self.limits.min_weight > 1

    @property
    def total_weight(self) -> int:
        """Weight of all rows: their number, or in units of the weights."""
        return self.cost_totals.weight if self.weighted else self.cost_totals.n_rows

    @property
    def weight_unit(self) -> float:
        """What one unit of the weights stands for."""
        scale = self.cost_builder.scales.weights
        return 1.0 if scale is None else 1.0 / scale

    @property
    def cheapest(self) -> float:
        """Cost of giving every row to its cheapest center."""
        return self.cost_totals.cheapest

    @property
    def whole(self) -> float:
        """Cost of giving every row to its cheapest center, in units of the regrets."""
        return self.cheapest * self.cost_builder.scales.regrets

    # What `detect_columns` asks of rows, to tell what the columns are.

    def some(self) -> NDArray[Any]:
        """A sample of the rows."""
        return self.summary.sample

    def one_in_every_row(self, features: list[int]) -> bool:
        """Whether every row has a single 1 in these columns, and 0 in the others."""
        binary = bool(self.summary.binary[features].all())
        return binary and self.map_reduce(CheckOneHot(features))

    def range_of(self, feature: int) -> tuple[float, float]:
        """The smallest and the largest value of a column."""
        return float(self.summary.low[feature]), float(self.summary.high[feature])


@dataclass(frozen=True)
class CheckOneHot(MapReduceStep[bool]):
    """Check that every row has a single 1 in some columns, which hold only 0 and 1."""

    features: list[int]

    def map(self, partition: Partition) -> bool:
        """Check one partition."""
        return bool((partition.X[:, self.features].sum(axis=1) == 1).all())

    def reduce(self, one: bool, other: bool) -> bool:
        """Whether both sets of partitions pass."""
        return one and other
