"""The search of IMM and EMN: cuts that part few rows from their center."""

import math

import numpy as np
from numpy.typing import NDArray

from treemeans import _core
from treemeans.growth.growing_tree import Cut
from treemeans.growth.in_memory_tree import InMemoryTree
from treemeans.growth.mixed_mistakes import CenterCut, MixedMistakes
from treemeans.progress import Progress

SHIFT = 20  # prices are counted in 2**-20 of a row; weights are in small enough units


class MistakeSearch:
    """The cut with the fewest mistakes: rows that it is the first to separate from their center.

    Parameters
    ----------
    by_feature : (n_features, k), the centers
    per_center : whether the mistakes are divided by the smaller number of centers on either side;
        columns of categories and columns with missing values are then passed over
    empty_sides : whether a side may be without rows, if it has a center
    """

    def __init__(
        self,
        growing: InMemoryTree,
        by_feature: NDArray[np.float64],
        *,
        per_center: bool,
        empty_sides: bool,
    ) -> None:
        costs = growing.costs
        self._growing = growing
        self._by_feature = by_feature
        self._per_center = per_center
        self._shift = SHIFT if costs.weights is None else 0
        whole = math.ldexp(costs.total_weight, self._shift)
        prices = growing.limits.slot_prices(growing.table.bins.feature, whole)
        self._limits = growing.limits.for_kernel(growing.weights, prices, empty_sides=empty_sides)
        alive = np.ones(growing.table.n_rows, dtype=np.uint8)
        self._counts = _core.MistakeCounts(
            growing.table.bins,
            costs.n_clusters,
            costs.nearest,
            growing.weights,
            alive,
            growing.n_threads,
        )
        mixed = growing.table.bins.mixed
        self._mixed: MixedMistakes | None = None
        if mixed and not per_center:
            own = None if prices is None else prices[-len(mixed) :]
            self._mixed = MixedMistakes(growing, alive, own, self._shift)
        self._last: CenterCut | None = None

    def separate(self, members: NDArray[np.intp], progress: Progress) -> _core.Separation:
        """Cut the tree by the columns of numbers until every leaf holds one of the ``members``."""
        growing = self._growing
        return self._counts.separate(
            growing.table.bins,
            growing.table.points,
            growing.all_rows,
            growing.costs.regrets.values,
            self._by_feature,
            members.tolist(),
            self._per_center,
            self._limits,
            growing.kernel_limits,
            self._shift,
            growing.n_threads,
            progress.update,
        )

    def cut(self, node: int, members: NDArray[np.intp]) -> Cut | None:
        """The best cut with one of the ``members`` on each side; None if there is none."""
        found = self._comparable_cut(node, members)
        self._last = None
        if self._mixed is not None:
            most = None if found is None else found.cost
            self._last = self._mixed.cut(node, members, most)
        return found if self._last is None else self._last.cut

    def _comparable_cut(self, node: int, members: NDArray[np.intp]) -> Cut | None:
        """The best cut of the columns of numbers without missing values."""
        if not self._growing.comparable.any():
            return None
        return self._counts.cut(
            self._growing.table.points,
            self._growing.rows(node),
            self._by_feature,
            members.tolist(),
            self._per_center,
            self._limits,
            self._shift,
            self._growing.n_threads,
        )

    def centers_left(self, cut: Cut) -> NDArray[np.bool_]:
        """Which centers go left with the cut that was found last."""
        if self._last is not None:
            return self._last.goes_left
        return np.asarray(self._by_feature[cut.feature] <= cut.threshold)

    def carried_out(self, node: int, left: int, goes_left: NDArray[np.bool_]) -> None:
        """Rows that did not go with their center count no more."""
        growing = self._growing
        self._counts.remove_separated(
            growing.rows(node), len(growing.rows(left)), goes_left.view(np.uint8), growing.n_threads
        )
