"""CenteredTree: a tree under refinement, and the centers its rows are priced by."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from treemeans import _core
from treemeans.costs import Clusters, CostTable
from treemeans.growth.expansion import expand
from treemeans.growth.given_tree import Sides, replay
from treemeans.growth.growing_tree import Cut
from treemeans.split import split_arrays
from treemeans.training_data import TrainingData
from treemeans.tree import ThresholdTree, parents_first, with_sides

_ANY_NUMBER = 2**62


class CenteredTree:
    """A tree that changes, the centers of its clusters, and the rows' costs to these centers.

    The cost that every method here lowers or keeps is the surrogate cost to the centers plus the
    prices of the cuts. As the centers follow the means of the clusters, it is also an upper bound
    of the k-means cost.

    Attributes
    ----------
    data : the rows
    tree : the cuts and the rows of every node; each leaf has the label of its cheapest center
    centers : (k, dimension of the space)
    costs : of the rows to the centers
    """

    def __init__(
        self,
        data: TrainingData,
        tree: _core.MutableTree,
        centers: NDArray[np.float64],
        costs: CostTable,
    ) -> None:
        self.data = data
        self.tree = tree
        self.centers = centers
        self.costs = costs

    @classmethod
    def replay(
        cls,
        data: TrainingData,
        tree: ThresholdTree,
        centers: NDArray[np.float64],
        costs: CostTable | None = None,
    ) -> CenteredTree:
        """Make the cuts of ``tree`` on the rows of ``data``.

        A cut that parts no rows is not made: its rows go on in the child that holds them all. A
        cut that the limits forbid is left out, with everything below it.
        """
        return cls.replays(data, tree, centers, costs)[0]

    @classmethod
    def replays(
        cls,
        data: TrainingData,
        tree: ThresholdTree,
        centers: NDArray[np.float64],
        costs: CostTable | None = None,
    ) -> list[CenteredTree]:
        """`replay` a tree; if it has leaves without rows, also with these subtrees removed.

        In the second tree a cut that parts no rows is left out with everything below it. This tree
        costs more at first, but it has leaves to spare: where they grow again, it can end far below
        the first one.
        """
        costs = data.cost.price(centers) if costs is None else costs
        if data.table.bins.mixed:  # a sample that it was grown on may lack no value of a column
            tree = with_sides(tree, data.table.has_missing)
        whole = cls._root(data, centers, costs)
        if not whole._make_cuts(tree, whole=True):
            return [whole]
        reduced = cls._root(data, centers, costs)
        reduced._make_cuts(tree, whole=False)
        return [whole, reduced]

    @classmethod
    def _root(
        cls, data: TrainingData, centers: NDArray[np.float64], costs: CostTable
    ) -> CenteredTree:
        """One leaf with all rows."""
        weights = None if costs.weights is None else costs.weights.values
        tree = _core.MutableTree(
            data.table.bins,
            data.table.points,
            costs.regrets.values,
            costs.rows,
            data.limits.for_rows(costs).for_kernel(weights, data.slot_prices(costs)),
        )
        return cls(data, tree, centers, costs)

    def _make_cuts(self, tree: ThresholdTree, *, whole: bool) -> bool:
        """Cut a tree of one leaf as ``tree`` is cut; return whether some cut parts no rows."""
        n_rows: NDArray[np.intp] | None = None
        passed = False

        def cut(here: int, node: int) -> Sides | None:
            nonlocal n_rows, passed
            split = tree.split(node)
            children = self.tree.split(
                here, split.feature, split.threshold, split.missing_left, split.categories
            )
            if children is not None or not whole:
                return children
            # Counting takes a pass over the rows, which most trees do not need.
            n_rows = self._rows_of_nodes(tree) if n_rows is None else n_rows
            on_left, on_right = n_rows[tree.left[node]] > 0, n_rows[tree.right[node]] > 0
            if on_left == on_right:
                return None
            passed = True
            return (here, None) if on_left else (None, here)

        replay(tree, cut)
        return passed

    def _rows_of_nodes(self, tree: ThresholdTree) -> NDArray[np.intp]:
        """Count the rows with a weight that go through each node of a tree."""
        nodes = np.arange(tree.n_nodes, dtype=np.int32)
        leaf = tree.outcome(self.data.table.points, nodes, self.data.n_threads)
        assert leaf is not None  # the table was checked
        n_rows = np.bincount(leaf[self.costs.rows], minlength=tree.n_nodes)
        for node in reversed(parents_first(tree.left, tree.right)):
            if not tree.is_leaf[node]:
                n_rows[node] = n_rows[tree.left[node]] + n_rows[tree.right[node]]
        return n_rows

    def copy(self) -> CenteredTree:
        """Return the same tree, to be changed without changing this one."""
        return CenteredTree(self.data, self.tree.copy(), self.centers, self.costs)

    @property
    def cost(self) -> float:
        """Surrogate cost to the centers, plus the prices of the cuts."""
        return self.costs.cheapest + self.tree.cost * self.costs.regrets.unit

    def cost_with_labels(self, labels: NDArray[np.int32]) -> float:
        """Surrogate cost to the centers if the rows had these labels."""
        rows, regrets = self.costs.rows, self.costs.regrets
        regret = int(regrets.values[rows, labels[rows]].sum())
        return self.costs.cheapest + regret * regrets.unit

    def clusters(self) -> Clusters:
        """Means of the tree's clusters, and what the tree costs with these as centers."""
        return self.data.cost.clusters(self.tree.labels(), self.cost, self.centers)

    def reoptimize(self, root: int = 0, max_looks: int = _ANY_NUMBER) -> None:
        """Choose every split of a subtree again, the rest fixed, until none improves.

        ``max_looks``: number of splits that are looked at, at most.
        """
        self.tree.reoptimize(root, max_looks, self.data.n_threads)

    def recenter(self, clusters: Clusters | None = None) -> None:
        """Make the means of the tree's clusters the centers."""
        self.move_centers((self.clusters() if clusters is None else clusters).centers)

    def move_centers(self, centers: NDArray[np.float64]) -> None:
        """Price the rows by other centers, and label the leaves again."""
        self.centers = centers
        self.costs = self.data.cost.price(self.centers)
        self.tree.reprice(self.costs.regrets.values, self.data.slot_prices(self.costs))

    @property
    def inner(self) -> list[int]:
        """Numbers of the nodes that are cut."""
        return [node.number for node in self.tree.nodes() if not node.is_leaf]

    @property
    def leaves(self) -> list[int]:
        """Numbers of the leaves."""
        return [node.number for node in self.tree.nodes() if node.is_leaf]

    def grow(
        self,
        n_leaves: int,
        leaves: Iterable[int] | None = None,
        search: Callable[[int], Cut | None] | None = None,
    ) -> None:
        """Cut leaves, largest gain first, until the tree has ``n_leaves``.

        Parameters
        ----------
        leaves : those that may be cut, and their descendants; all by default
        search : the cut to make in a leaf; by default the best one, if it gains anything
        """

        def best(leaf: int) -> Cut | None:
            cut = self.tree.search(leaf, None, self.data.n_threads)
            return cut if cut is not None and cut.cost < self.tree.regret(leaf) else None

        allowed = self.leaves if leaves is None else leaves
        expand(self.tree, allowed, n_leaves, best if search is None else search)

    def optimize(self, n_leaves: int, tolerance: float, max_rounds: int) -> float:
        """Reoptimize the splits, use leaves that became free, recenter; repeat while it helps.

        Each of the three steps never raises the cost, so this is a descent like Lloyd's. It stops
        once a round saves less than ``tolerance`` of the cost. Returns the cost.
        """
        cost = self.cost
        for _ in range(max_rounds):
            # About one look at every split: a second one before the centers move gains little.
            self.reoptimize(max_looks=self.tree.n_leaves - 1)
            if self.tree.n_leaves < n_leaves:
                self.grow(n_leaves)
            self.recenter()
            before, cost = cost, self.cost
            if cost >= before * (1.0 - tolerance):
                break
        return cost

    def freeze(self) -> ThresholdTree:
        """Return the tree, its growth in the order of what the cuts save: the most first."""
        nodes = self.tree.nodes()
        place = {node.number: i for i, node in enumerate(nodes)} | {-1: -1}
        left = [place[node.left] for node in nodes]
        right = [place[node.right] for node in nodes]
        return ThresholdTree(
            feature=np.array([node.feature for node in nodes]),
            threshold=np.array([node.threshold for node in nodes]),
            left=np.array(left),
            right=np.array(right),
            label=np.array([node.label for node in nodes]),
            n_features=self.data.table.n_features,
            growth=growth_by_gain(left, right, self._regrets(nodes)),
            **split_arrays(
                [node.missing_left for node in nodes], [node.categories for node in nodes]
            ),
        )

    def _regrets(self, nodes: list[_core.TreeNode]) -> list[int]:
        """What each of the nodes, parents first, would cost as a leaf beyond its rows' cheapest."""
        totals: dict[int, NDArray[np.int64]] = {}
        regrets = []
        for node in reversed(nodes):
            totals[node.number] = (
                self.tree.totals(node.number)
                if node.is_leaf
                else totals.pop(node.left) + totals.pop(node.right)
            )
            regrets.append(int(totals[node.number].min()))
        return regrets[::-1]


def growth_by_gain(left: list[int], right: list[int], regrets: list[int]) -> NDArray[np.int32]:
    """When each node is cut if, of the nodes whose parent is cut, the largest gain comes first.

    A tree that was refined has no order of growth; readers of a tree, its plots and its smaller
    sizes want one.
    """
    growth = np.zeros(len(left), dtype=np.int32)
    heap: list[tuple[int, int]] = []

    def consider(node: int) -> None:
        if left[node] >= 0:
            saved = regrets[node] - regrets[left[node]] - regrets[right[node]]
            heapq.heappush(heap, (-saved, node))

    consider(0)
    for n_leaves in range(2, (len(left) + 1) // 2 + 1):
        _, node = heapq.heappop(heap)
        growth[node] = n_leaves
        consider(left[node])
        consider(right[node])
    return growth
