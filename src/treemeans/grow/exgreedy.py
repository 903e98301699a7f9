"""ExGreedy (Laber, Murtinho 2021): a base tree whose cuts cost least."""

import numpy as np
from numpy.typing import NDArray

from treemeans import _core
from treemeans.grow.sapling import Sapling
from treemeans.grow.separate import separate
from treemeans.grow.sprout import Cut
from treemeans.progress import Progress


def exgreedy(sapling: Sapling, centers: NDArray[np.float64], progress: Progress) -> None:
    """Cut a sapling of one leaf until every leaf holds one center, and label it with that center.

    A cut divides the rows and the centers of a node. It costs what the rows cost, each with the
    cheapest of the centers on its own side; the cut that costs least is made. Every value of a row
    or a center is a candidate, if it leaves a row and a center on either side. (The authors' code
    asks for as many distinct rows as centers on a side. That would be a sort of whole rows at
    every cut, and matters only to nodes with next to no rows.)

    Parameters
    ----------
    centers : as for `imm`
    """
    by_feature = np.ascontiguousarray(centers.T)
    separate(sapling, by_feature, _GreedySearch(sapling, by_feature), progress)


class _GreedySearch:
    def __init__(self, sapling: Sapling, by_feature: NDArray[np.float64]) -> None:
        costs = sapling.costs
        self._sapling = sapling
        self._by_feature = by_feature
        self._weights = None if costs.weights is None else costs.weights.values
        self._prices = sapling.slot_prices

    def cut(self, node: int, members: NDArray[np.intp]) -> Cut | None:
        """The best cut with one of the ``members`` on each side; None if there is none."""
        sapling = self._sapling
        return _core.greedy_cut(
            sapling.table.bins,
            sapling.table.points,
            sapling.rows(node),
            sapling.costs.regrets.values,
            self._by_feature,
            members.tolist(),
            max(1, sapling.limits.min_weight),
            self._weights,
            self._prices,
            sapling.n_threads,
        )

    def carried_out(self, node: int, left: int, goes_left: NDArray[np.bool_]) -> None:
        """Nothing is kept from node to node."""
