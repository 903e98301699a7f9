"""Iterative Mistake Minimization (Dasgupta, Frost, Moshkovitz, Rashtchian 2020): the base tree."""

import numpy as np
from numpy.typing import NDArray

from treemeans.growth.in_memory_tree import InMemoryTree
from treemeans.growth.mistake_search import MistakeSearch
from treemeans.growth.mixed_mistakes import center_means, centers_of_rows
from treemeans.growth.separate_centers import (
    placed_centers,
    separate,
    take_over_separation,
)
from treemeans.progress import Progress


def imm(growing: InMemoryTree, centers: NDArray[np.float64], progress: Progress) -> None:
    """Cut a tree of one leaf until every leaf holds one center, and label it with that center.

    Each cut parts the fewest rows from their center; rows once parted count no more. Every value
    of a row or a center is a candidate; in a column of categories, every set of them
    (`mixed_mistakes`).

    Parameters
    ----------
    centers : (k, n_features), in the columns of the table. A center with a NaN (a cluster without
        rows has no place in a pipeline's input) gets no leaf; of centers that coincide, only the
        first gets one.
    """
    by_feature = np.array(centers.T, order="C")
    mixed = bool(growing.table.bins.mixed)
    if mixed:
        for feature in np.flatnonzero(growing.comparable).tolist():
            by_feature[feature] = center_means(growing, feature)
    search = MistakeSearch(growing, by_feature, per_center=False, empty_sides=True)
    if mixed:  # where centers are placed by their rows
        placed = centers_of_rows(growing)
        separate(growing, by_feature, search, progress, placed)
    else:
        members = placed_centers(growing, by_feature)
        take_over_separation(growing, search.separate(members, progress))
