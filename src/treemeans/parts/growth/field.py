"""Field: what a tree is grown on, where rows are in parts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treemeans.limits import Limits, Rules
from treemeans.parts.pricing import Bill, Pricing
from treemeans.parts.question import Answer, Parts, Question
from treemeans.parts.sketch import Sketch
from treemeans.reference import Reference


@dataclass(frozen=True)
class Field:
    """The parts, and what has been found out about them.

    Attributes
    ----------
    columns : (k, d), the reference's centers in the columns of the rows
    bill : what all rows come to
    rules : the user's limits
    allowed : (d,), the features that may be cut
    """

    parts: Parts
    sketch: Sketch
    pricing: Pricing
    columns: NDArray[np.float64]
    bill: Bill
    rules: Rules
    allowed: NDArray[np.bool_]

    def ask(self, question: Question[Answer]) -> Answer:
        """Put a question to all rows."""
        return self.parts.ask(question)

    @property
    def reference(self) -> Reference:
        """What the tree is to explain."""
        return self.pricing.reference

    @property
    def weighted(self) -> bool:
        """Whether rows have weights."""
        return self.sketch.weighted

    @property
    def n_clusters(self) -> int:
        """K."""
        return self.reference.n_clusters

    @property
    def n_features(self) -> int:
        """Columns of the rows."""
        return self.parts.n_features

    @property
    def limits(self) -> Limits:
        """The rules, in the units of the weights."""
        return self.rules.limits(self)

    @property
    def weighs(self) -> bool:
        """Whether it matters what a row weighs: only where more than a row is asked for."""
        return self.weighted and self.limits.min_weight > 1

    @property
    def total_weight(self) -> int:
        """Of all rows: their number, or in units of the weights."""
        return self.bill.weight if self.weighted else self.bill.n_rows

    @property
    def weight_unit(self) -> float:
        """What a unit of the weights stands for."""
        scale = self.pricing.scales.weights
        return 1.0 if scale is None else 1.0 / scale

    @property
    def cheapest(self) -> float:
        """Cost of giving every row to its cheapest center."""
        return self.bill.cheapest

    @property
    def whole(self) -> float:
        """The same, in units of the regrets."""
        return self.cheapest * self.pricing.scales.regrets
