"""The exact solver on a table: its columns as ranks, the costs of its rows, and a tree back."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from treemeans import _core
from treemeans.costs import CostTable
from treemeans.growth.growing_tree import between
from treemeans.training_data import TrainingData
from treemeans.tree import ThresholdTree

_WIDTHS = {2: "RegretSolver2", 4: "RegretSolver4", 8: "RegretSolver8", 16: "RegretSolver16"}
_WIDTHS[24] = "RegretSolver24"
_ROUNDING = 1e-12
"""Costs in floating point that differ by less than this share of the largest are the same."""
_NO_DEPTH = 64
"""Stands for any depth: more leaves than a tree of this depth has are out of reach."""

Pause = Callable[[float], bool]
"""Called with the work so far, from time to time; returns whether to continue."""


class Answer(NamedTuple):
    """What is known of the least cost: the cost and its tree, or no more than a lower bound."""

    bound: float
    tree: ThresholdTree | None


@dataclass(frozen=True)
class RankedColumns:
    """The features that may be cut, by the rank of each row's value.

    Attributes
    ----------
    features : their numbers
    ranks : (n_features, n_rows), of the values among the distinct ones
    values : the distinct values of each feature, ascending
    """

    features: tuple[int, ...]
    ranks: NDArray[np.uint32]
    values: tuple[NDArray[np.float64], ...]

    @classmethod
    def of(cls, X: Any, features: tuple[int, ...], rows: NDArray[np.int32]) -> RankedColumns:
        """The ranked columns of some rows of a table."""
        X = X.tocsc() if sparse.issparse(X) else X
        ranks = np.empty((len(features), len(rows)), dtype=np.uint32)
        values = []
        for slot, feature in enumerate(features):
            column = X[:, [feature]].toarray()[:, 0] if sparse.issparse(X) else X[:, feature]
            distinct, ranks[slot] = np.unique(np.asarray(column)[rows], return_inverse=True)
            values.append(distinct.astype(np.float64))
        return cls(features, ranks, tuple(values))

    @property
    def n_distinct(self) -> NDArray[np.uint32]:
        """Number of values of each feature."""
        return np.array([len(values) for values in self.values], dtype=np.uint32)


class ExactSolver:
    """The cheapest tree on some rows.

    What one call learns helps the next one: bounds can be raised step by step.

    Parameters
    ----------
    solver : the kernel's
    columns : of the rows
    n_features : of the table
    unit, offset : cost = offset + unit * cost in the kernel
    """

    def __init__(
        self, solver: Any, columns: RankedColumns, n_features: int, unit: float, offset: float
    ) -> None:
        self._solver = solver
        self._columns = columns
        self._n_features = n_features
        self.unit, self.offset = unit, offset

    @classmethod
    def to_centers(cls, data: TrainingData, costs: CostTable) -> ExactSolver:
        """The solver for the cost of every leaf to one of the centers of ``costs``.

        Costs in the kernel are integers: what it finds is exact.
        """
        columns = _ranked(data, costs)
        regrets, prices = costs.regrets.values[costs.rows], data.slot_prices(costs)
        if prices is not None:  # no cut saves as much as that, and sums of it do not overflow
            prices = np.minimum(prices, int(regrets.sum(axis=0).min()) + 1)
        solver = regret_solver(columns, regrets, *_leaf_limits(data, costs), prices)
        return cls(solver, columns, data.table.n_features, costs.regrets.unit, costs.cheapest)

    @classmethod
    def to_means(cls, data: TrainingData, points: NDArray[np.float64]) -> ExactSolver | None:
        """The solver for the cost of every leaf to its own mean, in the space of ``points``.

        None where the cost of a leaf may be above the largest float.
        """
        costs = data.costs
        columns, prices = _ranked(data, costs), data.limits.feature_costs
        rows = points[costs.rows]
        weights = np.ones(len(rows)) if data.weights is None else data.weights[costs.rows]
        from_first = rows - rows[0]  # exactly zero in a column of one value
        centered = from_first - np.average(from_first, axis=0, weights=weights)
        # The kernel squares sums: by powers of two they are kept near 1, where no square overflows.
        scale = _power_below(float(weights.sum()))
        length = _power_below(float(np.abs(centered).max(initial=0.0)))
        # Costs of values that are smaller still are zero, but their unit must not be.
        length = max(length, math.ldexp(1.0, (-1000 - math.frexp(scale)[1]) // 2))
        unit = scale * length * length
        if not math.isfinite(unit):
            return None
        weights, centered = weights / scale, centered / length
        squares = weights * np.einsum("ij,ij->i", centered, centered)
        dimension = rows.shape[1]
        sums = np.zeros((len(rows), 4 + -(-dimension // 4) * 4))
        sums[:, 0], sums[:, 1] = weights, squares
        sums[:, 4 : 4 + dimension] = weights[:, None] * centered
        if prices is not None:
            with np.errstate(over="ignore"):  # an infinite price forbids
                prices = prices[list(columns.features)] * (data.reference_cost / unit)
        slack = _ROUNDING * float(squares.sum())
        solver = _core.SquaresSolver(
            columns.ranks, columns.n_distinct, sums, 0, *_leaf_limits(data, costs), prices, slack
        )
        return cls(solver, columns, data.table.n_features, unit, 0.0)

    @property
    def work(self) -> float:
        """Values read and added so far."""
        return float(self._solver.work)

    def solve(
        self, n_leaves: int, max_depth: int | None, target: float, pause: Pause, stop_at: float
    ) -> Answer | None:
        """The cheapest tree with at most ``n_leaves`` leaves, if it costs less than ``target``.

        Costs are in the kernel's units. Otherwise a lower bound that is not below the target; None
        if ``pause`` ended it. ``stop_at``: the work at which ``pause`` is asked in any case.
        """
        self._solver.stop_at(stop_at)
        depth = _NO_DEPTH if max_depth is None else min(max_depth, _NO_DEPTH)
        found = self._solver.solve(n_leaves, depth, target, pause)
        if found is None:
            return None
        bound, exact, arrays = found
        tree = tree_of_ranks(self._columns, self._n_features, *arrays) if exact else None
        return Answer(bound, tree)


def tree_of_ranks(
    columns: RankedColumns,
    n_features: int,
    slot: NDArray[np.int32],
    rank: NDArray[np.uint32],
    left: NDArray[np.int32],
    right: NDArray[np.int32],
) -> ThresholdTree:
    """A tree of the kernel with thresholds in place of ranks; its labels mean nothing."""
    feature, threshold = np.full(len(slot), -1, dtype=np.int32), np.full(len(slot), np.nan)
    for node in np.flatnonzero(slot >= 0):
        values, at = columns.values[slot[node]], int(rank[node])
        feature[node] = columns.features[slot[node]]
        # A cut above all values of the node may be above all values there are.
        high = values[at + 1] if at + 1 < len(values) else values[at]
        threshold[node] = between(float(values[at]), float(high))
    label = np.zeros(len(slot), dtype=np.int32)
    return ThresholdTree(feature, threshold, left, right, label, n_features)


def regret_solver(
    columns: RankedColumns,
    regrets: NDArray[np.int64],
    weights: NDArray[np.float64] | None = None,
    least: float = 0.0,
    prices: NDArray[np.int64] | None = None,
) -> Any:
    """The kernel for regrets (rows, centers), of the width that is fastest.

    ``weights``, ``least``: of the rows, and of a leaf; ``prices``: of the features.
    """
    k = regrets.shape[1]
    width = next((width for width in _WIDTHS if k <= width), k)
    # Repeating a column changes no minimum, and loops of known length are faster.
    padded = np.concatenate([regrets, np.repeat(regrets[:, -1:], width - k, axis=1)], axis=1)
    kernel = getattr(_core, _WIDTHS.get(width, "RegretSolver"))
    padded = np.ascontiguousarray(padded)
    return kernel(columns.ranks, columns.n_distinct, padded, k, weights, least, prices, 0)


def _ranked(data: TrainingData, costs: CostTable) -> RankedColumns:
    return RankedColumns.of(data.X, tuple(data.table.bins.feature), costs.rows)


def _leaf_limits(data: TrainingData, costs: CostTable) -> tuple[NDArray[np.float64] | None, float]:
    """Weights of the rows, and the least weight of a leaf; zero where there is no limit."""
    least = data.limits.for_rows(costs).min_weight
    if least <= 1:
        return None, 0.0
    if costs.weights is None:
        return None, float(least)
    return costs.weights.values[costs.rows].astype(np.float64), float(least)


def _power_below(value: float) -> float:
    """The largest power of two up to a positive value; 1 for zero."""
    return math.ldexp(1.0, math.frexp(value)[1] - 1) if value > 0.0 else 1.0
