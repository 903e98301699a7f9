"""Base trees that separate the reference centers: what IMM, EMN and ExGreedy have in common."""

from collections import deque
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from treemeans import _core
from treemeans.growth.growing_tree import Cut, GrowingTree
from treemeans.growth.in_memory_tree import InMemoryTree
from treemeans.growth.leaf_label import label_by_center
from treemeans.progress import Progress


class Search(Protocol):
    """Where to cut a node that holds several centers."""

    def cut(self, node: int, members: NDArray[np.intp]) -> Cut | None:
        """The best cut with one of the ``members`` on each side; None if there is none."""

    def centers_left(self, cut: Cut) -> NDArray[np.bool_]:
        """Which centers go left with the cut that was found last."""

    def carried_out(self, node: int, left: int, goes_left: NDArray[np.bool_]) -> None:
        """A node has been cut; ``goes_left`` says which centers went with its left child."""


def separate(
    growing: GrowingTree,
    by_feature: NDArray[np.float64],
    search: Search,
    progress: Progress,
    placed: NDArray[np.intp] | None = None,
) -> None:
    """Cut a tree of one leaf until every leaf holds one center, and label it with that center.

    `cpp/separate.hpp` does the same for rows in memory that are cut by thresholds alone.

    A leaf that the limits forbid to cut holds several: it is labelled with its cheapest center. A
    leaf whose centers cannot be told apart is labelled with the first of them.

    Parameters
    ----------
    by_feature : (n_features, k), the centers. One with a NaN (a cluster without rows has no place
        in a pipeline's input) gets no leaf; of centers that coincide, only the first gets one.
    placed : the centers that get a leaf; None for those without a NaN in a comparable column
    """
    single: list[tuple[int, int]] = []  # leaves and the center they were made for
    queue = deque([(0, placed_centers(growing, by_feature) if placed is None else placed)])
    while queue:
        node, members = queue.popleft()
        several = len(members) > 1
        cut = search.cut(node, members) if several and growing.may_cut(node) else None
        if cut is None:
            if not (several and _limited(growing, node)):
                single.append((node, int(members[0])))
            continue
        goes_left = search.centers_left(cut)
        left, right = growing.split(
            node, cut.feature, cut.threshold, cut.missing_left, cut.categories
        )
        search.carried_out(node, left, goes_left)
        queue.append((left, members[goes_left[members]]))
        queue.append((right, members[~goes_left[members]]))
        progress.update(growing.n_leaves)
    growing.sum_nodes()
    for node in growing.leaves:
        growing.relabel(node)
    for node, center in single:
        label_by_center(growing, node, center)


def take_over_separation(growing: InMemoryTree, found: _core.Separation) -> None:
    """Make the cuts of a tree of one leaf that the core has found, and label its leaves."""
    growing.take_over_all(found.totals, found.cuts)
    for node, members in found.leaves:
        if len(members) == 1 or not _limited(growing, node):
            label_by_center(growing, node, members[0])


def placed_centers(growing: GrowingTree, by_feature: NDArray[np.float64]) -> NDArray[np.intp]:
    """The centers that have a place in every column that they are compared in."""
    columns = by_feature[growing.comparable] if growing.comparable.any() else by_feature
    return np.flatnonzero(np.isfinite(columns).all(axis=0))


def _limited(growing: GrowingTree, node: int) -> bool:
    """Whether there might be more cuts if the user had set no limits."""
    few = not growing.comparable.all()
    return few or growing.limits.restrict_leaves or not growing.may_cut(node)
