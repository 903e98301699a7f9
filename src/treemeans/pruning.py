"""Optimal pruning: for every number of leaves, the cheapest tree inside a given one."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treemeans.cost_path import PATH_DTYPE, path_row, reconciled
from treemeans.costs import GroupCosts
from treemeans.tree import ThresholdTree, parents_first


@dataclass(frozen=True)
class Pruning:
    """A tree inside another: which of its nodes are cut, and the label of every node in it."""

    inner: NDArray[np.bool_]
    label: NDArray[np.int32]


def prunings(
    tree: ThresholdTree,
    costs: NDArray[np.float64],
    leaves: GroupCosts,
    hits: NDArray[np.float64],
    fewest: int,
    reference_cost: float,
) -> tuple[list[Pruning], NDArray[np.void]]:
    """The cheapest trees of ``fewest`` leaves, of one more, and so on up to the whole tree.

    Cheapest by the surrogate cost, which never rises from one to the next. Where the cost of the
    clusters would, the smaller tree is kept, with one cut more that changes no row's label.

    Parameters
    ----------
    costs : (n_nodes, n_clusters), of the rows in the tree's nodes
    leaves : statistics of the rows in the tree's leaves
    hits : (n_leaves, n_clusters), weight of these rows by their reference label

    Returns
    -------
    the trees, and the path they make
    """
    best = _Best(tree)
    sizes = range(min(fewest, tree.n_leaves), tree.n_leaves + 1)
    path = np.zeros(len(sizes), dtype=PATH_DTYPE)
    found: list[Pruning] = []
    for i, n_leaves in enumerate(sizes):
        pruning = Pruning(best.inner(n_leaves), tree.label)
        # The label that each leaf of the whole tree has in the smaller one.
        labels = pruning.label[tree.ancestor_in(pruning.inner)][tree.leaves]
        surrogate, cost = reconciled(
            float(costs[tree.leaves, labels].sum()),
            leaves.merged(labels, tree.n_clusters).cost,
        )
        if found and cost > path["kmeans_cost"][i - 1]:
            pruning = _one_cut_more(tree, found[-1])
            path[i] = path[i - 1]
            path["n_leaves"][i] = n_leaves
        else:
            accuracy = float(hits[np.arange(len(labels)), labels].sum() / hits.sum())
            path[i] = path_row(n_leaves, surrogate, cost, reference_cost, accuracy)
        found.append(pruning)
    return found, path


def _one_cut_more(tree: ThresholdTree, pruning: Pruning) -> Pruning:
    """The first leaf that the whole tree cuts is cut too; both sides keep its label."""
    ancestor = tree.ancestor_in(pruning.inner)
    uncut = np.flatnonzero((ancestor == np.arange(tree.n_nodes)) & ~pruning.inner & ~tree.is_leaf)
    node = int(uncut[np.argmin(tree.growth[uncut])])
    inner, label = pruning.inner.copy(), pruning.label.copy()
    inner[node] = True
    label[[tree.left[node], tree.right[node]]] = label[node]
    return Pruning(inner, label)


class _Best:
    """Dynamic programming over the subtrees: the least cost of each with 1, 2, ... leaves."""

    def __init__(self, tree: ThresholdTree) -> None:
        self._tree = tree
        self._costs: dict[int, NDArray[np.float64]] = {}
        self._in_left: dict[int, NDArray[np.intp]] = {}  # leaves on the left, for each number
        as_leaf = tree.costs[np.arange(tree.n_nodes), tree.label]
        for node in reversed(parents_first(tree.left, tree.right)):
            self._costs[node] = as_leaf[node : node + 1]
            if not tree.is_leaf[node]:
                self._combine(node)

    def _combine(self, node: int) -> None:
        left = self._costs[int(self._tree.left[node])]
        right = self._costs[int(self._tree.right[node])]
        n_leaves = len(left) + len(right)
        costs = np.full(n_leaves, np.inf)
        in_left = np.zeros(n_leaves, dtype=np.intp)
        costs[0] = self._costs[node][0]
        for i, cost in enumerate(left):  # i + 1 leaves on the left, so i + 2 and more in all
            sums = cost + right
            place = slice(i + 1, i + 1 + len(right))
            better = sums < costs[place]
            costs[place] = np.where(better, sums, costs[place])
            in_left[place] = np.where(better, i + 1, in_left[place])
        self._costs[node], self._in_left[node] = costs, in_left

    def inner(self, n_leaves: int) -> NDArray[np.bool_]:
        """The nodes that are cut in the cheapest tree of ``n_leaves`` leaves."""
        inner = np.zeros(self._tree.n_nodes, dtype=bool)
        open_nodes = [(0, n_leaves)]
        while open_nodes:
            node, n = open_nodes.pop()
            if n == 1:
                continue
            inner[node] = True
            in_left = int(self._in_left[node][n - 1])
            open_nodes.append((int(self._tree.left[node]), in_left))
            open_nodes.append((int(self._tree.right[node]), n - in_left))
        return inner
