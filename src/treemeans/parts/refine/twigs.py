"""Twigs: a tree that is cut back and changed, and routes through it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from treemeans.parts.growth.sapling import FarSapling
from treemeans.parts.growth.survey import Routes
from treemeans.tree import ThresholdTree


@dataclass(eq=False)
class Twig:
    """A node, and with it all below."""

    label: int = 0
    feature: int = -1
    threshold: float = np.nan
    children: tuple[Twig, Twig] | None = None

    @classmethod
    def of(cls, tree: ThresholdTree) -> Twig:
        """The root of a tree."""
        twigs = [cls(int(label)) for label in tree.label]
        for node in np.flatnonzero(~tree.is_leaf).tolist():
            twig = twigs[node]
            twig.feature, twig.threshold = int(tree.feature[node]), float(tree.threshold[node])
            twig.children = twigs[int(tree.left[node])], twigs[int(tree.right[node])]
        return twigs[0]

    def below(self) -> Iterator[Twig]:
        """It, and all below it, parents first."""
        waiting = [self]
        while waiting:
            twig = waiting.pop()
            yield twig
            waiting.extend(reversed(twig.children or ()))

    @property
    def inner(self) -> list[Twig]:
        """The nodes that are cut, of it and all below."""
        return [twig for twig in self.below() if twig.children is not None]

    @property
    def leaves(self) -> list[Twig]:
        """Those that are not."""
        return [twig for twig in self.below() if twig.children is None]

    def become(self, other: Twig) -> None:
        """Another takes its place."""
        self.label, self.feature, self.threshold = other.label, other.feature, other.threshold
        self.children = other.children

    def copy(self) -> Twig:
        """The same tree, to be changed without changing this one."""
        children = None
        if self.children is not None:
            children = self.children[0].copy(), self.children[1].copy()
        return Twig(self.label, self.feature, self.threshold, children)

    def routes(
        self,
        outcome: Mapping[Twig, int],
        ends: Collection[Twig] = (),
        sent: Mapping[Twig, float] | None = None,
    ) -> Routes:
        """The tree from here on, as rows go through it.

        Parameters
        ----------
        outcome : group of the rows that end in a node; without one, none
        ends : nodes where rows stop, even if they are cut
        sent : other thresholds, by node; an infinite one sends all rows to one side
        """
        sent = {} if sent is None else sent
        twigs = list(self.below())
        number = {twig: i for i, twig in enumerate(twigs)}
        cut = [twig.children is not None and twig not in ends for twig in twigs]

        def child(side: int) -> list[int]:
            return [
                number[twig.children[side]] if c and twig.children is not None else -1
                for twig, c in zip(twigs, cut, strict=True)
            ]

        return Routes(
            np.array([t.feature if c else -1 for t, c in zip(twigs, cut, strict=True)], np.int32),
            np.array([sent.get(twig, twig.threshold) for twig in twigs], dtype=np.float64),
            np.array(child(0), dtype=np.int32),
            np.array(child(1), dtype=np.int32),
            np.array([outcome.get(twig, -1) for twig in twigs], dtype=np.int32),
        )


def cuts_of(sapling: FarSapling) -> ThresholdTree:
    """The tree as it has grown."""
    return ThresholdTree(
        feature=np.array(sapling.feature),
        threshold=np.array(sapling.threshold),
        left=np.array(sapling.left),
        right=np.array(sapling.right),
        label=np.array(sapling.label),
        n_features=sapling.field.n_features,
        growth=np.array(sapling.growth),
    )
