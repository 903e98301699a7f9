"""Limits a user sets to a tree, in the units of the cost table. Every search honours them."""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from treemeans.costs import CostTable


@dataclass(frozen=True)
class Limits:
    """What a tree may be.

    Attributes
    ----------
    min_weight : least weight of a leaf: rows, or units of the cost table's weights
    max_depth : most cuts above a leaf; None for any number
    prices : of a cut on each feature, as a share of what the search adds up (cost or mistakes);
        None where all are free
    """

    min_weight: int = 1
    max_depth: int | None = None
    prices: NDArray[np.float64] | None = None

    @classmethod
    def of(
        cls,
        min_samples_leaf: float,
        max_depth: int | None,
        feature_costs: NDArray[np.float64] | None,
        costs: CostTable,
    ) -> Self:
        """Limits for rows that cost ``costs``. A leaf of less than one row is a share of all."""
        unit = 1.0 if costs.weights is None else costs.weights.unit
        least = float(min_samples_leaf)
        if least < 1.0:
            least *= costs.total_weight * unit
        return cls(
            min_weight=1 if least <= 1.0 else math.ceil(least / unit),
            max_depth=max_depth,
            prices=feature_costs,
        )
