"""FarSapling: a tree that grows on rows in parts. It knows what its nodes' rows come to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treemeans.grow.sprout import Cut, Sprout, between
from treemeans.parts.growth.field import Field
from treemeans.parts.growth.grid import coarse
from treemeans.parts.growth.search import MakeScore, Target, find_cuts
from treemeans.parts.growth.strips import Place, Score, SurrogateScore
from treemeans.parts.growth.survey import Lines, Look, Looks, RegretLines, Routes, Seen, Survey
from treemeans.tables import as_points


@dataclass(eq=False)
class Node:
    """A node, grown or only thought of.

    Attributes
    ----------
    sums : of its rows' regrets, their weight and number; None where they are not known yet
    searched : whether its best cut is known
    cut : that cut, if there is one
    feature, threshold, children : how it is cut, if it is
    """

    depth: int = 0
    sums: NDArray[np.int64] | None = None
    searched: bool = False
    cut: Place | None = None
    feature: int = -1
    threshold: float = np.nan
    children: tuple[Node, Node] | None = None

    def divide(self, feature: int, threshold: float) -> tuple[Node, Node]:
        """Its children, if it is cut so; where its best cut was found, their sums are known."""
        known = self.children is not None and (feature, threshold) == (self.feature, self.threshold)
        if not known:
            self.feature, self.threshold = feature, threshold
            self.children = Node(self.depth + 1), Node(self.depth + 1)
            if self.sums is not None and self._is_best(feature, threshold):
                assert self.cut is not None
                left = np.array(self.cut.left, dtype=np.int64)
                self.children[0].sums, self.children[1].sums = left, self.sums - left
        assert self.children is not None
        return self.children

    def _is_best(self, feature: int, threshold: float) -> bool:
        cut = self.cut
        return cut is not None and (feature, threshold) == (
            cut.feature,
            between(cut.at, cut.next),
        )

    def below(self) -> Iterator[Node]:
        """It, and all nodes below it."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(node.children or ())


class FarSapling(Sprout):
    """A sprout whose rows are in parts.

    A pass over the rows is dear, so `least_cut` searches every leaf that may be asked for next in
    one: all that are not searched yet, and the children of those that could be cut next, as if
    they had been. Such children are nodes that the tree may or may not come to.

    Attributes
    ----------
    max_leaves : that it may grow to; it tells how many cuts may come
    """

    def __init__(self, field: Field, max_leaves: int) -> None:
        super().__init__()
        self.field = field
        self.limits = field.limits
        self.allowed = field.allowed
        self.whole = field.whole
        self.max_leaves = max_leaves
        self.totals = _Totals(self)
        self._features = np.flatnonzero(field.allowed).tolist()
        self._nodes = [Node()]
        self._settled = False
        self.add_leaf(0, 0)

    def node(self, number: int) -> Node:
        """A node of the tree."""
        return self._nodes[number]

    def sums(self, number: int) -> NDArray[np.int64]:
        """What a node's rows come to; asks for those of all leaves if it is not known."""
        node = self._nodes[number]
        if node.sums is None:
            if node.children is not None and self.feature[number] >= 0:
                left, right = self.left[number], self.right[number]
                node.sums = self.sums(left) + self.sums(right)
            else:
                self._count([self._nodes[leaf] for leaf in self.leaves])
        assert node.sums is not None
        return node.sums

    def weight(self, node: int) -> int:
        """Weight of a node's rows."""
        return int(self.sums(node)[self.field.n_clusters])

    def split(self, node: int, feature: int, threshold: float) -> tuple[int, int]:
        """Cut a leaf. Labels are given later, by `settle`, when the sums are known."""
        first, second = self._nodes[node].divide(feature, threshold)
        left = self._plant(first, node)
        right = self._plant(second, node)
        self.make_inner(node, feature, threshold, left, right)
        return left, right

    def _plant(self, node: Node, parent: int) -> int:
        self._nodes.append(node)
        number = self.add_leaf(self.label[parent], self.depth[parent] + 1)
        if node.sums is None:
            self._settled = False
        elif self._settled:
            self.relabel(number)
        return number

    def relabel(self, node: int) -> None:
        """Label a node with its cheapest center, if it has rows."""
        self.settle()
        super().relabel(node)

    def settle(self) -> None:
        """Label all nodes with their cheapest center; empty ones like the node above them.

        Nothing is done if no node has come since that lacks a label: an empty leaf that was given
        the label of its center keeps it.
        """
        if self._settled:
            return
        self._settled = True
        for number in range(self.n_nodes):
            super().relabel(number)
            if self.feature[number] >= 0:
                for child in (self.left[number], self.right[number]):
                    self.label[child] = self.label[number]

    def least_cut(self, node: int) -> Cut | None:
        """The cut of a leaf that leaves the least surrogate cost."""
        here = self._nodes[node]
        if not here.searched:
            self._search(self._worth_searching(here))
        if here.cut is None:
            return None
        return here.cut.cost, here.cut.feature, here.cut.at, here.cut.next

    def _worth_searching(self, asked: Node) -> list[Node]:
        """Leaves that may be asked for before long, and the one that is.

        With m cuts to come, a leaf that is cut is among the m that gain most. Of these the
        children are thought of, and searched in the same pass as the leaves.
        """
        leaves = [self._nodes[leaf] for leaf in self.leaves]
        self._count(leaves)
        to_come = self.max_leaves - self.n_leaves
        gains = sorted((self._gain(leaf) for leaf in leaves if leaf.searched), reverse=True)
        least = gains[to_come - 1] if len(gains) >= to_come else 0
        ends = [node for leaf in leaves for node in leaf.below() if node.children is None]
        likely = [node for node in ends if node.cut is not None and self._gain(node) >= least]
        found = [node for node in ends if not node.searched]
        for node in sorted(likely, key=self._gain, reverse=True)[:to_come]:
            assert node.cut is not None
            found += node.divide(node.cut.feature, between(node.cut.at, node.cut.next))
        return [asked, *(n for n in found if n is not asked and self._may_gain(n, least))]

    def _gain(self, node: Node) -> int:
        return -1 if node.cut is None else self._regret(node) - node.cut.cost

    def _regret(self, node: Node) -> int:
        assert node.sums is not None
        return int(node.sums[: self.field.n_clusters].min())

    def _may_gain(self, node: Node, least: int) -> bool:
        if node.searched or node.sums is None or self._regret(node) < max(least, 1):
            return False
        limits, weight = self.limits, int(node.sums[self.field.n_clusters])
        if limits.max_depth is not None and node.depth >= limits.max_depth:
            return False
        return limits.min_weight <= 1 or weight >= 2 * limits.min_weight

    def _search(self, nodes: list[Node]) -> None:
        limits, k = self.limits, self.field.n_clusters
        prices = limits.slot_prices(range(self.field.n_features), self.whole)

        def score(sums: NDArray[np.int64]) -> Score:
            return SurrogateScore(sums[:k], int(sums[k]), limits.min_weight, prices)

        places = self.search_cuts(nodes, RegretLines(self.field.weighs), [score] * len(nodes))
        for node, (place, sums) in zip(nodes, places, strict=True):
            node.sums, node.cut, node.searched = sums, place, True

    def search_cuts(
        self,
        nodes: Sequence[Node],
        lines: Lines,
        scores: Sequence[MakeScore],
        also: Sequence[NDArray[np.float64]] | None = None,
    ) -> list[tuple[Place | None, NDArray[np.int64]]]:
        """The best cut of each node, by its score; and the sums of its lines.

        ``also``: for each node, (n_features, m) values that no stretch may hold inside.
        """
        routes = self._routes(nodes)
        sample = self.field.sketch.sample
        groups = routes.of_points(as_points(sample))

        def target(number: int) -> Target:
            rows = sample[groups == number]
            none = np.empty((self.field.n_features, 0))
            edges = none if also is None else also[number]
            return Target(number, lambda f, n: coarse(rows[:, f], n, edges[f]), scores[number])

        def ask(looks: Looks, lists: Looks) -> Seen:
            return self.field.ask(Survey(self.field.pricing, routes, lines, looks, lists))

        targets = [target(number) for number in range(len(nodes))]
        find_cuts(targets, self._features, self.field.n_clusters + 2, ask)
        found = []
        for target_ in targets:
            assert target_.sums is not None
            found.append((target_.best, target_.sums))
        return found

    def _count(self, nodes: Iterable[Node]) -> None:
        """Ask what the rows of some nodes come to, where it is not known."""
        unknown = [node for node in nodes if node.sums is None]
        if not unknown:
            return
        everything = np.array([-np.inf, np.inf])
        looks = Looks.of(Look(number, 0, everything) for number in range(len(unknown)))
        lines = RegretLines(self.field.weighs)
        seen = self.field.ask(
            Survey(self.field.pricing, self._routes(unknown), lines, looks, Looks.of([]))
        )
        for node, sums in zip(unknown, seen.stretches.sums, strict=True):
            node.sums = sums

    def _routes(self, targets: Sequence[Node]) -> Routes:
        """The tree as far as it is grown or thought of; groups are the targets' numbers."""
        group = {id(node): number for number, node in enumerate(targets)}
        nodes = list(self._nodes[0].below())
        number = {id(node): i for i, node in enumerate(nodes)}
        left = [-1 if n.children is None else number[id(n.children[0])] for n in nodes]
        right = [-1 if n.children is None else number[id(n.children[1])] for n in nodes]
        return Routes(
            np.array([-1 if n.children is None else n.feature for n in nodes], dtype=np.int32),
            np.array([np.nan if n.children is None else n.threshold for n in nodes]),
            np.array(left, dtype=np.int32),
            np.array(right, dtype=np.int32),
            np.array([group.get(id(n), -1) for n in nodes], dtype=np.int32),
        )


class _Totals(Sequence[NDArray[np.int64]]):
    """The regrets of each node, asked for when they are wanted."""

    def __init__(self, sapling: FarSapling) -> None:
        self._sapling = sapling

    def __len__(self) -> int:
        return self._sapling.n_nodes

    def __getitem__(self, node: int) -> NDArray[np.int64]:  # type: ignore[override]
        sums: NDArray[np.int64] = self._sapling.sums(node)
        return sums[: self._sapling.field.n_clusters]
