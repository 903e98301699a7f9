"""Refinement within limits on clusters.

A search on costs plus prices prefers trees that can meet the limits; what it finds is accepted only
if its leaves have labels within the limits, found exactly, and its clusters then cost less.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from treemeans.costs import PricedCost
from treemeans.growth.expansion import labels_of
from treemeans.growth.in_memory_tree import InMemoryTree
from treemeans.growth.leaf_labeller import Labels, LeafLabeller
from treemeans.growth.limited_growth import LimitedTree, prices_of
from treemeans.refine.refinement import improves, refine
from treemeans.refine.search_budget import Budget
from treemeans.training_data import TrainingData

_LOCAL = (("local", 0.0), ("local", 0.3))
_SEARCH = (*_LOCAL, ("search", 0.1), ("local", 0.0))
"""Refinements in turn, each with prices of the best tree so far, a share tighter than the limits: a
tree that just meets them in the search may not do so with whole leaves."""
_MOST_RECENTERINGS = 10


class LimitedRefinement:
    """The best tree so far, its centers, and the labels of its leaves.

    Attributes
    ----------
    growing : the tree, on costs to ``centers``
    label : of its nodes
    centers : the representatives of its clusters
    cost : of the clusters, and the prices of the cuts
    """

    def __init__(self, data: TrainingData, tree: LimitedTree) -> None:
        self._data = data
        self.growing = tree.growing
        self.label = tree.labels[tree.growing.n_leaves]
        self.centers = data.centers
        self.cost = self._measured(self.growing, self.label)

    def run(self, kind: str, n_leaves: int, budget: Budget) -> None:
        """Refine: ``"local"`` or ``"search"``, as in `refine`; a search also locally."""
        self._consider(self.growing, self.centers)
        for each, margin in _SEARCH if kind == "search" else _LOCAL:
            data = self._priced(margin)
            grown = replace(self.growing.freeze(), label=self.label)
            refined, centers = refine(each, data, grown, n_leaves, budget)
            self._consider(refined, centers)

    def labels(self) -> dict[int, Labels]:
        """Labels within the limits at every size that has some."""
        limits = self._data.limits.clusters
        assert limits is not None
        found = LeafLabeller(self.growing, limits).all_sizes(1)
        return found | {self.growing.n_leaves: self.label}

    def _priced(self, margin: float) -> TrainingData:
        """The rows, with prices of the best tree so far."""
        data = self._data
        prices = prices_of(data, self.growing, margin)
        if prices is None:
            return data
        cost = PricedCost(data.cost, prices)
        return replace(data, cost=cost, costs=cost.price(data.centers))

    def _consider(self, growing: InMemoryTree, centers: NDArray[np.float64]) -> None:
        """Label a tree within the limits, and take it if it is better."""
        data, limits = self._data, self._data.limits.clusters
        assert limits is not None
        best = np.inf
        for _ in range(_MOST_RECENTERINGS):
            growing.reprice(data.cost.price(centers))
            label = LeafLabeller(growing, limits).labels(growing.n_leaves)
            if label is None:
                break
            cost = self._measured(growing, label)
            if not improves(cost, growing.n_leaves, best, growing.n_leaves):
                break
            best = cost
            if improves(cost, growing.n_leaves, self.cost, self.growing.n_leaves):
                self.growing, self.label, self.cost = growing, label, cost
                self.centers = centers
            rows = labels_of(growing.freeze(), label, data)
            centers = data.cost.clusters(rows, 0.0, centers).centers
        self.growing.reprice(data.cost.price(self.centers))
        self.growing.label = self.label.tolist()

    def _measured(self, growing: InMemoryTree, label: Labels) -> float:
        data, tree = self._data, growing.freeze()
        prices = data.limits.price_of_cuts(tree.feature) * data.reference_cost
        return data.cost.measured(labels_of(tree, label, data), data.centers) + prices
