"""A cut that was not found by a search of the costs: may it be made, and where exactly?"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from treemeans import _core
from treemeans.growth.growing_tree import between
from treemeans.growth.in_memory_tree import InMemoryTree
from treemeans.split import Split


@dataclass(frozen=True)
class RowCut:
    """A cut of a leaf whose rows are in memory; what `Limits.permits` asks of it.

    Attributes
    ----------
    values : of the feature, in the node's rows
    """

    growing: InMemoryTree
    node: int
    split: Split
    values: NDArray[np.float64]

    @classmethod
    def of(cls, growing: InMemoryTree, node: int, split: Split) -> RowCut:
        """A cut by any split."""
        return cls(growing, node, split, values_of(growing, node, split.feature))

    @property
    def feature(self) -> int:
        """Feature that is cut."""
        return self.split.feature

    def is_permitted(self, *, priced: bool = True) -> bool:
        """Whether the tree's limits permit it; ``priced`` as in `Limits.permits`."""
        return self.growing.limits.permits(self, priced=priced)

    @property
    def is_allowed(self) -> bool:
        """Whether the feature may be cut."""
        return bool(self.growing.allowed[self.feature])

    @property
    def depth(self) -> int:
        """Cuts above the leaf."""
        return self.growing.depth[self.node]

    @property
    def weight(self) -> int:
        """Weight of the leaf's rows."""
        return self.growing.weight(self.node)

    @property
    def lighter_weight(self) -> int:
        """Weight of the rows on the side that has less."""
        weights = self.growing.weights
        if weights is None:
            n_left = int(self._left.sum())
            return min(n_left, len(self._left) - n_left)
        on_left = int(weights[self.growing.rows(self.node)[self._left]].sum())
        return min(on_left, self.weight - on_left)

    @property
    def saved(self) -> int:
        """Surrogate cost that the cut saves, in fixed point."""
        growing, node = self.growing, self.node
        on_left = _core.sum_regrets(
            growing.costs.regrets.for_search, growing.rows(node)[self._left], growing.n_threads
        )
        on_right = growing.totals[node] - on_left
        return growing.regret(node) - int(on_left.min()) - int(on_right.min())

    @property
    def price(self) -> int:
        """The price of a cut on the feature, which it must save more than, in fixed point."""
        return self.growing.price_of(self.feature)

    @cached_property
    def _left(self) -> NDArray[np.bool_]:
        return self.split.goes_left(self.values)


def values_of(growing: InMemoryTree, node: int, feature: int) -> NDArray[np.float64]:
    """Values of a feature in the rows of a node."""
    return _core.column(growing.table.points, feature, growing.rows(node), growing.n_threads)


def mid_gap(values: NDArray[np.float64], threshold: float) -> float | None:
    """The threshold half way between the values around it; None if all are on one side."""
    values = values[~np.isnan(values)]
    left = values <= threshold
    if left.all() or not left.any():
        return None
    return between(float(values[left].max()), float(values[~left].min()))
