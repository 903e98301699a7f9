"""Shape: a tree together with the centers it is priced by, and the moves that lower its cost."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from treemeans import _core
from treemeans.costs import CostTable
from treemeans.ground import Clusters, Ground
from treemeans.grow.expand import grow_by_gain
from treemeans.grow.sprout import Cut
from treemeans.limits import Limits
from treemeans.tree import ThresholdTree

_ANY_DEPTH = 2**31 - 1
_ANY_NUMBER = 2**62


class Shape:
    """A tree of fixed size. `choose_splits` and `recenter` never raise its cost."""

    def __init__(
        self, ground: Ground, tree: _core.Bonsai, centers: NDArray[np.float64], costs: CostTable
    ) -> None:
        self.ground = ground
        self.tree = tree
        self.centers = centers
        self.costs = costs

    @classmethod
    def of(
        cls,
        ground: Ground,
        tree: ThresholdTree,
        centers: NDArray[np.float64],
        costs: CostTable | None = None,
    ) -> Shape:
        """The cuts of ``tree``; those that the limits forbid or that part no rows are left out."""
        costs = ground.price(centers) if costs is None else costs
        limits = ground.rules.limits(costs)
        bonsai = _core.Bonsai(
            ground.table.bins,
            ground.table.points,
            costs.regrets.values,
            costs.rows,
            None if costs.weights is None else costs.weights.values,
            limits.min_weight,
            ground.slot_prices(costs),
            _ANY_DEPTH if limits.max_depth is None else limits.max_depth,
        )
        shape = cls(ground, bonsai, centers, costs)
        shape._follow(tree)
        return shape

    def _follow(self, tree: ThresholdTree) -> None:
        place = {0: 0}
        inner = np.flatnonzero(~tree.is_leaf)
        for node in inner[np.argsort(tree.growth[inner])].tolist():
            if node not in place:
                continue
            children = self.tree.split(
                place[node], int(tree.feature[node]), float(tree.threshold[node])
            )
            if children is not None:
                place[int(tree.left[node])], place[int(tree.right[node])] = children

    def copy(self) -> Shape:
        """The same tree, to be changed without changing this one."""
        return Shape(self.ground, self.tree.copy(), self.centers, self.costs)

    @property
    def limits(self) -> Limits:
        """The ground's rules, in the units of the costs."""
        return self.ground.rules.limits(self.costs)

    @property
    def cost(self) -> float:
        """Surrogate cost to the centers, and the prices of the cuts."""
        return self.costs.cheapest + self.tree.cost * self.costs.regrets.unit

    def clusters(self) -> Clusters:
        """The clusters as they are: means instead of centers, and what they cost."""
        return self.ground.clusters(self.tree.labels(), self.cost, self.centers)

    def choose_splits(self, root: int = 0, max_looks: int = _ANY_NUMBER) -> None:
        """Every split of a subtree again, the rest fixed, until none improves."""
        self.tree.settle(root, max_looks, self.ground.n_threads)

    def recenter(self, clusters: Clusters | None = None) -> None:
        """The means of the tree's clusters become the centers."""
        self.move_centers((self.clusters() if clusters is None else clusters).means)

    def move_centers(self, centers: NDArray[np.float64]) -> None:
        """Price the rows by other centers, and label the leaves again."""
        self.centers = centers
        self.costs = self.ground.price(self.centers)
        self.tree.reprice(self.costs.regrets.values, self.ground.slot_prices(self.costs))

    @property
    def inner(self) -> list[int]:
        """Numbers of the nodes that are cut."""
        return [node for node, feature, *_ in self.tree.nodes() if feature >= 0]

    @property
    def leaves(self) -> list[int]:
        """Numbers of the leaves."""
        return [node for node, feature, *_ in self.tree.nodes() if feature < 0]

    def grow(
        self,
        n_leaves: int,
        leaves: Iterable[int] | None = None,
        search: Callable[[int], Cut | None] | None = None,
    ) -> None:
        """Cut ``leaves`` (all, by default) and what comes of them, largest gain first."""

        def best(leaf: int) -> Cut | None:
            cut = self.tree.search(leaf, None, self.ground.n_threads)
            return cut if cut is not None and cut[0] < self.tree.regret(leaf) else None

        grow_by_gain(
            self.tree,
            self.leaves if leaves is None else leaves,
            n_leaves,
            best if search is None else search,
            lambda _: None,
        )

    def settle(self, n_leaves: int, tolerance: float, max_rounds: int) -> float:
        """Choose the splits, use leaves that became free, recenter; again, while it helps.

        A round looks at every split about once: a second look before the centers have moved gains
        little. Returns the cost; it stops once a round saves less than ``tolerance`` of it.
        """
        cost = self.cost
        for _ in range(max_rounds):
            self.choose_splits(max_looks=self.tree.n_leaves - 1)
            if self.tree.n_leaves < n_leaves:
                self.grow(n_leaves)
            self.recenter()
            before, cost = cost, self.cost
            if cost >= before * (1.0 - tolerance):
                break
        return cost

    def freeze(self) -> ThresholdTree:
        """The tree, its cuts in the order of what they save: the most first."""
        nodes = self.tree.nodes()
        number = {node: i for i, (node, *_) in enumerate(nodes)} | {-1: -1}
        left = [number[node[3]] for node in nodes]
        right = [number[node[4]] for node in nodes]
        return ThresholdTree(
            feature=np.array([node[1] for node in nodes]),
            threshold=np.array([node[2] for node in nodes]),
            left=np.array(left),
            right=np.array(right),
            label=np.array([node[5] for node in nodes]),
            n_features=self.ground.table.n_features,
            growth=most_saved_first(left, right, self._regrets(nodes)),
        )

    def _regrets(self, nodes: list[tuple[int, int, float, int, int, int]]) -> list[int]:
        """Of each node, parents first: what it costs beyond its rows' cheapest, as a leaf."""
        totals: dict[int, NDArray[np.int64]] = {}
        regrets = []
        for node, feature, _, left, right, _ in reversed(nodes):
            totals[node] = (
                self.tree.totals(node) if feature < 0 else totals.pop(left) + totals.pop(right)
            )
            regrets.append(int(totals[node].min()))
        return regrets[::-1]


def most_saved_first(left: list[int], right: list[int], regrets: list[int]) -> NDArray[np.int32]:
    """When each node is cut, if the cut that saves most comes first, after those above it."""
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
