"""FarShape: a tree and its centers, on rows in parts; and the moves that lower its cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from treemeans.grow.expand import grow_by_gain
from treemeans.grow.sprout import Cut, between
from treemeans.parts.growth.field import Field
from treemeans.parts.growth.sapling import FarSapling
from treemeans.parts.pricing import Pricing
from treemeans.parts.refine.count import Count, CountLeaves, Trial, pricing_to
from treemeans.parts.refine.fork import Fork, Sides, find_forks
from treemeans.parts.refine.standin import StandIn
from treemeans.parts.refine.twigs import Twig, cuts_of
from treemeans.refine.shape import most_saved_first

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class FarShape:
    """A tree, the means of its clusters, and what these cost with the prices of its cuts."""

    root: Twig
    centers: Floats
    cost: float


@dataclass(frozen=True)
class Workshop:
    """Where trees on rows in parts are shaped.

    Attributes
    ----------
    rows : that stand for all: they tell where values lie
    n_leaves : that a tree may have
    """

    field: Field
    rows: StandIn
    n_leaves: int

    def weigh(self, trees: Sequence[tuple[Twig, Floats]]) -> list[FarShape]:
        """Trees and centers, in one pass.

        Leaves keep their labels, or get those of their cheapest centers where that is better. A
        cut that leaves a side empty, or lighter than the limits permit, is not made.
        """
        trials = []
        for root, centers in trees:
            leaves = root.leaves
            outcome = {leaf: number for number, leaf in enumerate(leaves)}
            pricing = pricing_to(self.field, centers)
            trials.append(Trial(root.routes(outcome), len(leaves), pricing))
        counts = self.field.ask(CountLeaves(trials, self.rows.columns))
        return [
            self._shape(root.copy(), trial, count)
            for (root, _), trial, count in zip(trees, trials, counts, strict=True)
        ]

    def _shape(self, root: Twig, trial: Trial, count: Count) -> FarShape:
        """A tree as it is, once its rows have been counted; ``root`` is changed."""
        arrived = _Arrived(root, count, self.field.limits.min_weight)
        arrived.prune(root)
        cheapest = [int(arrived.regrets(leaf).argmin()) for leaf in root.leaves]
        own = [leaf.label for leaf in root.leaves]
        found = [self._labelled(arrived, root, labels, trial, count) for labels in (own, cheapest)]
        labels, means, cost = min(found, key=lambda option: option[2])
        for leaf, label in zip(root.leaves, labels, strict=True):
            leaf.label = label
        return FarShape(root, means, cost + self._prices(root))

    def _labelled(
        self, arrived: _Arrived, root: Twig, labels: list[int], trial: Trial, count: Count
    ) -> tuple[list[int], Floats, float]:
        """The labels of the leaves, the means of the clusters they make, and what these cost."""
        centers, scales = trial.pricing.reference.centers, trial.pricing.scales
        columns = self.rows.columns
        sums = np.zeros((len(centers), count.sums.shape[1]), dtype=np.int64)
        regret = 0
        for leaf, label in zip(root.leaves, labels, strict=True):
            regret += int(arrived.regrets(leaf)[label])
            sums[label] += arrived.sums(leaf)
        means = columns.means(sums)
        means = np.where(np.isnan(means), centers, means)
        saved = float(columns.weights(sums) @ ((means - centers) ** 2).sum(axis=1))
        return labels, means, count.base / scales.base + regret / scales.regrets - saved

    def _prices(self, root: Twig) -> float:
        prices = self.field.rules.feature_costs
        if prices is None:
            return 0.0
        return float(sum(prices[twig.feature] for twig in root.inner)) * self.field.cheapest

    def settle(self, shape: FarShape, tolerance: float, max_rounds: int) -> FarShape:
        """Choose the splits again, use leaves that became free, recenter; while it helps.

        It stops once a round saves less than ``tolerance`` of the cost.
        """
        for _ in range(max_rounds):
            found = self._round(shape)
            if found.cost >= shape.cost:
                break
            before, shape = shape.cost, found
            if shape.cost >= before * (1.0 - tolerance):
                break
        return shape

    def _round(self, shape: FarShape) -> FarShape:
        root, centers = shape.root.copy(), shape.centers
        level = [root]
        while level:
            self._choose(root, [twig for twig in level if twig.children is not None], centers)
            level = [child for twig in level for child in twig.children or ()]
        found = self.weigh([(root, centers)])[0]
        if len(found.root.leaves) < self.n_leaves:
            found = self._grown(found)
        return found

    def _choose(self, root: Twig, twigs: list[Twig], centers: Floats) -> None:
        """Choose the splits of nodes that share no rows again, the rest of the tree fixed."""
        if not twigs:
            return
        labels = {leaf: leaf.label for leaf in root.leaves}
        sides = Sides(
            root.routes({twig: i for i, twig in enumerate(twigs)}, ends=set(twigs)),
            root.routes(labels, sent=dict.fromkeys(twigs, np.inf)),
            root.routes(labels, sent=dict.fromkeys(twigs, -np.inf)),
            root.routes(labels),
        )
        pricing = pricing_to(self.field, centers)
        current = [(twig.feature, twig.threshold) for twig in twigs]
        forks = find_forks(self.field, pricing, sides, current, self.rows.X)
        whole = self.field.cheapest * pricing.scales.regrets
        changed = dict[Twig, Twig]()
        for twig, fork in zip(twigs, forks, strict=True):
            prices = self.field.limits.slot_prices([twig.feature], whole)
            before = Twig(twig.label, twig.feature, twig.threshold, twig.children)
            if _choose_one(twig, fork, 0 if prices is None else int(prices[0])):
                changed[twig] = before
        deeper = any(child.children for twig in twigs for child in twig.children or ())
        if changed and (deeper or self.field.limits.min_weight > 1):
            self._relabel(root, changed, pricing)

    def _relabel(self, root: Twig, changed: dict[Twig, Twig], pricing: Pricing) -> None:
        """Label the leaves below nodes that have changed again.

        A node that has now a leaf that is too light becomes what it was before.
        """
        leaves, least = root.leaves, self.field.limits.min_weight
        outcome = {leaf: number for number, leaf in enumerate(leaves)}
        trial = Trial(root.routes(outcome), len(leaves), pricing)
        count = self.field.ask(CountLeaves([trial], self.rows.columns))[0]
        for twig, before in changed.items():
            here = [outcome[leaf] for leaf in twig.leaves if count.weight[outcome[leaf]] > 0]
            if (count.weight[here] < least).any():
                twig.become(before)
                continue
            for number in here:
                leaves[number].label = int(count.regrets[number].argmin())

    def plant(self, shape: FarShape) -> FarSapling:
        """The tree as a sapling on all rows, priced by its centers; what saves most comes first."""
        first, numbers = self._planted(shape.root, shape.centers)
        regrets = [first.regret(node) for node in range(first.n_nodes)]
        growth = most_saved_first(first.left, first.right, regrets)
        again, others = self._planted(shape.root, shape.centers, growth[numbers].tolist())
        for number, other in zip(numbers, others, strict=True):
            again.node(other).sums = first.sums(number)
        again.settle()
        return again

    def _planted(
        self, root: Twig, centers: Floats, growth: list[int] | None = None
    ) -> tuple[FarSapling, list[int]]:
        """A sapling with the cuts of a tree, and where its nodes are there.

        ``growth``: when each is cut; by default, parents first.
        """
        sapling = FarSapling(
            replace(self.field, pricing=pricing_to(self.field, centers)), self.n_leaves
        )
        twigs = list(root.below())
        place = {root: 0}
        inner = root.inner
        if growth is not None:
            when = dict(zip(twigs, growth, strict=True))
            inner.sort(key=when.__getitem__)
        for twig in inner:
            assert twig.children is not None
            sides = sapling.split(place[twig], twig.feature, twig.threshold)
            place.update(zip(twig.children, sides, strict=True))
        return sapling, [place[twig] for twig in twigs]

    def _grown(self, shape: FarShape) -> FarShape:
        """With leaves that became free used where they save most."""
        sapling, _ = self._planted(shape.root, shape.centers)
        sapling.settle()

        def best(leaf: int) -> Cut | None:
            cut = sapling.least_cut(leaf) if sapling.may_cut(leaf) else None
            return cut if cut is not None and cut[0] < sapling.regret(leaf) else None

        before = sapling.n_leaves
        grow_by_gain(sapling, sapling.leaves, self.n_leaves, best, lambda _: None)
        if sapling.n_leaves == before:
            return shape
        return self.weigh([(Twig.of(cuts_of(sapling)), shape.centers)])[0]


def _choose_one(twig: Twig, fork: Fork, price: int) -> bool:
    """Cut a node anew where that costs less; one that saves nothing is dropped. Whether it is."""
    assert twig.children is not None
    now, uncut, best = fork.now + price, min(fork.all_left, 0), fork.best
    if uncut <= now and (best is None or uncut <= best.cost):
        twig.become(twig.children[0 if fork.all_left <= 0 else 1])
        return True
    if best is None or best.cost >= now:
        return False
    twig.feature, twig.threshold = best.feature, between(best.at, best.next)
    return True


class _Arrived:
    """What has arrived at the nodes of a tree: regrets, weight and sums, in one line each."""

    def __init__(self, root: Twig, count: Count, min_weight: int) -> None:
        self._k = count.regrets.shape[1]
        self._min_weight = min_weight
        lines = np.column_stack([count.regrets, count.weight, count.sums])
        self._lines = dict(zip(root.leaves, lines, strict=True))
        for twig in reversed(root.inner):
            assert twig.children is not None
            left, right = twig.children
            self._lines[twig] = self._lines[left] + self._lines[right]

    def regrets(self, twig: Twig) -> NDArray[np.int64]:
        """Of the rows of a node, by center."""
        return np.asarray(self._lines[twig][: self._k])

    def weight(self, twig: Twig) -> int:
        """Of them."""
        return int(self._lines[twig][self._k])

    def sums(self, twig: Twig) -> NDArray[np.int64]:
        """Of them, in fixed point."""
        return np.asarray(self._lines[twig][self._k + 1 :])

    def prune(self, root: Twig) -> None:
        """Drop cuts that leave a side empty; make leaves of nodes with one that is too light."""
        waiting = [root]
        while waiting:
            twig = waiting.pop()
            while twig.children is not None:
                light, heavy = sorted(twig.children, key=self.weight)
                if self.weight(light) == 0:
                    twig.become(heavy)
                elif self.weight(light) < self._min_weight:
                    twig.become(Twig(twig.label))
                else:
                    waiting += twig.children
                    break
