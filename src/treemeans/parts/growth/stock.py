"""The last question: what the rows of a finished tree come to, for the record of the fit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treemeans import _core
from treemeans.columns.detect import Arrivals
from treemeans.parts.block import Block
from treemeans.parts.growth.field import Field
from treemeans.parts.growth.sapling import FarSapling
from treemeans.parts.growth.survey import Routes
from treemeans.parts.pricing import Pricing, space_of
from treemeans.parts.question import Question
from treemeans.path import LeafSums
from treemeans.record import Stock, hits_of, spread_of
from treemeans.reference import Reference
from treemeans.tree import ThresholdTree

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Harvest:
    """Of the leaves of a tree.

    Attributes
    ----------
    hits : (n_leaves, k), weight of their rows by reference label
    sums, profile : of their rows, in the space of the centers and in the columns of the rows
    squares : (d,), of all rows
    regrets, base, weight : (n_leaves, k), (n_leaves,), (n_leaves,), in fixed point
    margins, whole : of the cuts, node by node, as the kernel gives them
    """

    hits: Floats
    sums: Floats
    profile: Floats
    squares: Floats
    regrets: NDArray[np.int64]
    base: NDArray[np.int64]
    weight: NDArray[np.int64]
    margins: Floats
    whole: NDArray[np.bool_]


@dataclass(frozen=True)
class TakeHarvest(Question[Harvest]):
    """Send all rows down a tree, and add up what arrives.

    Attributes
    ----------
    routes : the tree; the groups are its leaves, in the order of their nodes
    pricing : what the tree's costs are measured to
    reference : whose labels are counted
    shift, profile_shift : taken off the rows before they are added up
    """

    routes: Routes
    n_leaves: int
    pricing: Pricing
    reference: Reference
    shift: Floats
    profile_shift: Floats

    def ask(self, block: Block) -> Harvest:
        """Of one block."""
        groups = self.routes.of_points(block.points)
        costs = self.pricing.price(block)
        nearest = costs.nearest
        if self.reference is not self.pricing.reference:
            space = space_of(block, self.reference)
            nearest = _core.price(space, self.reference.centers, 1)[1]
        k = self.reference.n_clusters
        squares = np.zeros(block.X.shape[1])
        profile = self._sums(block.points, groups, block, self.profile_shift, squares)
        here = profile
        if self.reference.pipeline is not None:
            here = self._sums(space_of(block, self.reference), groups, block, self.shift, None)
        units = np.ones(block.n_rows, dtype=np.int64)
        routes = self.routes
        margins, whole = _core.margins(
            block.points, routes.feature, routes.threshold, routes.left, routes.right, 1
        )
        return Harvest(
            hits_of(self.n_leaves, k, groups, nearest, block.weights),
            here,
            profile,
            squares,
            self._add(groups, costs.regrets.values),
            self._add(groups, costs.base.values),
            self._add(groups, units if costs.weights is None else costs.weights.values),
            margins,
            whole,
        )

    def merge(self, one: Harvest, other: Harvest) -> Harvest:
        """Of both."""
        a, b = one.margins, other.margins
        return Harvest(
            one.hits + other.hits,
            one.sums + other.sums,
            one.profile + other.profile,
            one.squares + other.squares,
            one.regrets + other.regrets,
            one.base + other.base,
            one.weight + other.weight,
            np.stack(
                [
                    np.maximum(a[:, 0], b[:, 0]),
                    np.minimum(a[:, 1], b[:, 1]),
                    np.minimum(a[:, 2], b[:, 2]),
                    np.maximum(a[:, 3], b[:, 3]),
                ],
                axis=1,
            ),
            one.whole & other.whole,
        )

    def _sums(
        self,
        points: _core.Points,
        groups: NDArray[np.int32],
        block: Block,
        shift: Floats,
        squares: Floats | None,
    ) -> Floats:
        return _core.group_sums(points, groups, self.n_leaves, block.weights, shift, squares, 1)

    def _add(self, groups: NDArray[np.int32], lines: NDArray[np.int64]) -> NDArray[np.int64]:
        """Integers by leaf."""
        order = np.argsort(groups, kind="stable")
        starts = np.searchsorted(groups[order], np.arange(self.n_leaves + 1))
        sums = np.concatenate([np.zeros_like(lines[:1]), np.cumsum(lines[order], axis=0)])
        return np.asarray(sums[starts[1:]] - sums[starts[:-1]])


def take_stock(field: Field, sapling: FarSapling, pricing: Pricing) -> tuple[Stock, Arrivals]:
    """What the rows of a tree come to, its costs measured by ``pricing``; and its margins."""
    reference = field.reference
    leaf = np.array(sapling.feature) < 0
    place = np.where(leaf, np.cumsum(leaf) - 1, -1).astype(np.int32)
    routes = Routes(
        np.array(sapling.feature, dtype=np.int32),
        np.array(sapling.threshold),
        np.array(sapling.left, dtype=np.int32),
        np.array(sapling.right, dtype=np.int32),
        place,
    )
    shift = reference.centers.mean(axis=0)
    profile_shift = shift if reference.pipeline is None else field.sketch.sample[0]
    question = TakeHarvest(
        routes, sapling.n_leaves, pricing, reference, shift, np.ascontiguousarray(profile_shift)
    )
    harvest = field.ask(question)
    profile = LeafSums(harvest.profile, harvest.hits, profile_shift)
    sums = profile if reference.pipeline is None else LeafSums(harvest.sums, harvest.hits, shift)
    stock = Stock(
        tree=_tree(sapling, place, harvest, field, pricing),
        sums=sums,
        profile_sums=profile,
        spread=spread_of(profile, harvest.squares),
        reference_cost=field.cheapest,
        rows=None,
    )
    margins = harvest.margins
    return stock, Arrivals(margins[:, :2], margins[:, 2], margins[:, 3], harvest.whole)


def _tree(
    sapling: FarSapling,
    place: NDArray[np.int32],
    harvest: Harvest,
    field: Field,
    pricing: Pricing,
) -> ThresholdTree:
    """The tree, with the sums of all nodes; children come after their parents."""
    scales, n = pricing.scales, sapling.n_nodes
    regrets = np.zeros((n, field.n_clusters), dtype=np.int64)
    base, weight = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    for node in range(n - 1, -1, -1):
        for of_node, of_leaf in (
            (regrets, harvest.regrets),
            (base, harvest.base),
            (weight, harvest.weight),
        ):
            if place[node] >= 0:
                of_node[node] = of_leaf[place[node]]
            else:
                left, right = sapling.left[node], sapling.right[node]
                of_node[node] = of_node[left] + of_node[right]
    return ThresholdTree(
        feature=np.array(sapling.feature),
        threshold=np.array(sapling.threshold),
        left=np.array(sapling.left),
        right=np.array(sapling.right),
        label=np.array(sapling.label),
        n_features=field.n_features,
        weight=np.asarray(weight * field.weight_unit, dtype=np.float64),
        costs=(base / scales.base)[:, None] + regrets / scales.regrets,
        growth=np.array(sapling.growth),
    )
