"""A base tree the user brings: a ThresholdTree, or a fitted decision tree of scikit-learn."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemeans.growth.in_memory_tree import InMemoryTree
from treemeans.growth.proposed_cut import RowCut, mid_gap
from treemeans.tree import ThresholdTree

Sides = tuple[int | None, int | None]


def replay(tree: ThresholdTree, cut: Callable[[int, int], Sides | None]) -> dict[int, int]:
    """Make the cuts of a tree on other rows, in the order in which it grew.

    Parameters
    ----------
    cut : is given a node there and the node of ``tree``, cuts the one as the other is cut, and
        returns where the two sides are. A side that is None is dropped, with all that is below it;
        None drops both.

    Returns
    -------
    The node there for each node of the tree that is not dropped.
    """
    place = {0: 0}
    inner = np.flatnonzero(~tree.is_leaf)
    for node in inner[np.argsort(tree.growth[inner])].tolist():
        sides = cut(place[node], node) if node in place else None
        if sides is None:
            continue
        for child, there in zip((tree.left[node], tree.right[node]), sides, strict=True):
            if there is not None:
                place[int(child)] = there
    return place


def follow(
    growing: InMemoryTree, tree: ThresholdTree, *, recenter: bool = False, priced: bool = True
) -> dict[int, int]:
    """Cut a tree of one leaf as ``tree`` is cut. Leaves are labelled by the surrogate cost.

    A cut that the limits forbid is not made, and what is below it is dropped: one on a feature
    that may not be cut, too deep, with too light a side, or that saves less than its price.

    Parameters
    ----------
    recenter : move thresholds half way between the values of the node's rows around them
    priced : whether prices count; not where the tree's search has paid them already

    Returns
    -------
    The growing tree's node for each node of the tree that is not dropped.
    """

    def cut(here: int, node: int) -> Sides | None:
        split = tree.split(node)
        proposed = RowCut.of(growing, here, split)
        if not proposed.is_permitted(priced=priced):
            return None
        middle = mid_gap(proposed.values, split.threshold) if recenter else None
        threshold = split.threshold if middle is None else middle
        return growing.split(here, split.feature, threshold, split.missing_left, split.categories)

    return replay(tree, cut)


def from_sklearn(estimator: Any) -> ThresholdTree:
    """The cuts of a fitted scikit-learn decision tree."""
    tree = estimator.tree_
    leaf = tree.children_left == tree.children_right
    return ThresholdTree(
        feature=np.where(leaf, -1, tree.feature),
        threshold=np.where(leaf, np.nan, _as_double(tree.threshold)),
        left=np.where(leaf, -1, tree.children_left),
        right=np.where(leaf, -1, tree.children_right),
        label=np.zeros(tree.node_count, dtype=np.int32),
        n_features=tree.n_features,
    )


def _as_double(threshold: NDArray[np.float64]) -> NDArray[np.float64]:
    """The thresholds that do for float64 what these do for values rounded to float32.

    scikit-learn compares float32(x) <= t. Let a be the largest float32 up to t and b the next one:
    x goes left if it rounds to a or less, that is if it lies below the middle of a and b (or on
    it, when a is the even one of the two).
    """
    a = threshold.astype(np.float32)
    a = np.where(a > threshold, np.nextafter(a, np.float32(-np.inf)), a)
    b = np.nextafter(a, np.float32(np.inf))
    middle = a.astype(np.float64) / 2 + b.astype(np.float64) / 2
    return np.where(middle.astype(np.float32) == a, middle, np.nextafter(middle, -np.inf))
