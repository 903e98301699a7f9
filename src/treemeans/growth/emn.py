"""EMN (Esfandiari, Mirrokni, Narayanan 2022), in the form of SpEx: a base tree of balanced cuts."""

import numpy as np
from numpy.typing import NDArray

from treemeans.growth.in_memory_tree import InMemoryTree
from treemeans.growth.mistake_search import MistakeSearch
from treemeans.growth.separate_centers import placed_centers, take_over_separation
from treemeans.progress import Progress


def emn(growing: InMemoryTree, centers: NDArray[np.float64], progress: Progress) -> None:
    """Cut a tree of one leaf until every leaf holds one center, and label it with that center.

    As IMM, but the rows a cut parts from their center are divided by the smaller number of centers
    on either side, so that a cut may cost more where it separates more; and a side without rows is
    no side.

    Parameters
    ----------
    centers : as for `imm`
    """
    by_feature = np.ascontiguousarray(centers.T)
    search = MistakeSearch(growing, by_feature, per_center=True, empty_sides=False)
    members = placed_centers(growing, by_feature)
    take_over_separation(growing, search.separate(members, progress))
