"""ExGreedy (Laber, Murtinho 2021): a base tree whose cuts cost least."""

import numpy as np
from numpy.typing import NDArray

from treemeans import _core
from treemeans.growth.growing_tree import Cut
from treemeans.growth.in_memory_tree import InMemoryTree
from treemeans.growth.separate_centers import separate
from treemeans.progress import Progress


def exgreedy(growing: InMemoryTree, centers: NDArray[np.float64], progress: Progress) -> None:
    """Cut a tree of one leaf until every leaf holds one center, and label it with that center.

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
    separate(growing, by_feature, _GreedySearch(growing, by_feature), progress)


class _GreedySearch:
    def __init__(self, growing: InMemoryTree, by_feature: NDArray[np.float64]) -> None:
        self._growing = growing
        self._by_feature = by_feature
        self._limits = growing.limits.for_kernel(growing.weights, growing.slot_prices)

    def cut(self, node: int, members: NDArray[np.intp]) -> Cut | None:
        """The best cut with one of the ``members`` on each side; None if there is none."""
        growing = self._growing
        if not growing.comparable.any():
            return None
        return _core.greedy_cut(
            growing.table.bins,
            growing.table.points,
            growing.rows(node),
            growing.costs.regrets.values,
            self._by_feature,
            members.tolist(),
            self._limits,
            growing.n_threads,
        )

    def centers_left(self, cut: Cut) -> NDArray[np.bool_]:
        """Which centers go left with a cut."""
        return np.asarray(self._by_feature[cut.feature] <= cut.threshold)

    def carried_out(self, node: int, left: int, goes_left: NDArray[np.bool_]) -> None:
        """Nothing is kept from node to node."""
