"""ExGreedy (Laber, Murtinho 2021): a base tree whose cuts cost least."""

import numpy as np
from numpy.typing import NDArray

from treemeans import _core
from treemeans.growth.in_memory_tree import InMemoryTree
from treemeans.growth.separate_centers import placed_centers, take_over_separation
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
    found = _core.separate_greedily(
        growing.table.bins,
        growing.table.points,
        growing.all_rows,
        growing.costs.regrets.values,
        by_feature,
        placed_centers(growing, by_feature).tolist(),
        growing.kernel_limits,
        growing.n_threads,
        progress.update,
    )
    take_over_separation(growing, found)
