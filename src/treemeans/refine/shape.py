"""Shape: a tree together with the centers it is priced by, and the moves that lower its cost."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemeans import _core
from treemeans.costs import CostTable
from treemeans.grow.expand import grow_by_gain
from treemeans.grow.sapling import Cut
from treemeans.limits import Limits, Rules
from treemeans.tables import Table
from treemeans.tree import ThresholdTree

_ANY_DEPTH = 2**31 - 1
_ANY_NUMBER = 2**62


@dataclass(frozen=True)
class Ground:
    """What a tree is shaped on: the features, and the space that costs are measured in.

    ``shift`` is taken off the points of the space before they are added up, so that a large
    common offset costs no digits; None where they are sparse.
    """

    table: Table
    space: _core.Points
    shift: NDArray[np.float64] | None
    weights: NDArray[np.float64] | None
    rules: Rules
    n_threads: int

    def price(self, centers: NDArray[np.float64]) -> CostTable:
        """Costs of all rows and centers."""
        return CostTable.price(self.space, centers, self.weights, self.n_threads)


@dataclass(frozen=True)
class Clusters:
    """The clusters of a tree: their k-means cost, that of the tree's features, their means."""

    cost: float
    means: NDArray[np.float64]


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
            limits.slot_prices(ground.table.bins.feature, costs),
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
        ground, labels = self.ground, self.tree.labels()
        k = len(self.centers)
        sums = _core.group_sums(
            ground.space, labels, k, ground.weights, ground.shift, ground.n_threads
        )
        weight = np.bincount(labels, ground.weights, minlength=k).astype(np.float64)
        occupied = weight > 0
        shift = np.zeros(sums.shape[1]) if ground.shift is None else ground.shift
        means = self.centers.copy()
        means[occupied] = shift + sums[occupied] / weight[occupied, None]
        away = means - self.centers
        saved = float(weight @ (away * away).sum(axis=1))
        return Clusters(self.cost - saved, means)

    def choose_splits(self, root: int = 0) -> None:
        """Every split of a subtree again, the rest fixed, until none improves."""
        self.tree.settle(root, _ANY_NUMBER, self.ground.n_threads)

    def recenter(self, clusters: Clusters | None = None) -> None:
        """The means of the tree's clusters become the centers."""
        self.centers = (self.clusters() if clusters is None else clusters).means
        self.costs = self.ground.price(self.centers)
        self.tree.reprice(
            self.costs.regrets.values,
            self.limits.slot_prices(self.ground.table.bins.feature, self.costs),
        )

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
        search: Any = None,
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

        Returns the cost. It stops once a round saves less than ``tolerance`` of it.
        """
        cost = self.cost
        for _ in range(max_rounds):
            self.choose_splits()
            if self.tree.n_leaves < n_leaves:
                self.grow(n_leaves)
            self.recenter()
            before, cost = cost, self.cost
            if cost >= before * (1.0 - tolerance):
                break
        return cost
