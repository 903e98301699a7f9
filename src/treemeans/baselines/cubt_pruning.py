"""The other stages of CUBT: prune siblings that are alike, then join leaves that are alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import pairwise_distances_argmin

from treemeans.baselines.cubt_growth import Floats, Group, Growth
from treemeans.baselines.draft_tree import Draft
from treemeans.tree import ThresholdTree

_EQUAL = 1e-12  # what is closer than this, relatively, is the same, and the first counts
_WHOLE = 1e-9  # what a share of the rows may lack to a whole number, by rounding


@dataclass(frozen=True)
class PrunedCUBT:
    """A pruned tree, and the rows of its leaves in the order of ``tree.leaves``."""

    tree: ThresholdTree
    leaves: list[Group]


@dataclass
class Pruner:
    """Prunes one large tree, again and again: distances are kept.

    Attributes
    ----------
    growth : the tree

    Examples
    --------
    >>> from treemeans.baselines.cubt_growth import overgrow
    >>> X = np.array([[0.0], [1.0], [3.0], [7.0]])
    >>> grown = overgrow(X, np.ones(4), minsize=1, mindev=0, minsplit=2, max_depth=None)
    >>> pruner = Pruner(grown)
    >>> [pruner.prune(mindist, alpha=0.5, nleaves=None).tree.n_leaves for mindist in (0, 1, 4)]
    [4, 3, 1]
    """

    growth: Growth
    _distances: dict[int, tuple[Floats, Floats]] = field(default_factory=dict)

    def prune(self, mindist: float, alpha: float, nleaves: int | None) -> PrunedCUBT:
        """Make one leaf of two siblings, the most similar ones first.

        Parameters
        ----------
        mindist : siblings are pruned if they are no more dissimilar than this
        alpha : share of the rows of a leaf, those nearest to the other, that are looked at
        nleaves : then others are pruned, the most similar first, until no more leaves are left
        """
        pairs = _Pairs(self.growth.draft, lambda node: self._dissimilarity(node, alpha))
        while pairs.least() <= mindist:
            pairs.collapse()
        while nleaves is not None and pairs.n_leaves > nleaves:
            pairs.collapse()
        draft, leaf = self.growth.draft, pairs.leaf
        tree, origin = draft.finish(self.growth.X.shape[1], lambda node: not leaf[node])
        return PrunedCUBT(tree, [self.growth.groups[origin[at]] for at in tree.leaves])

    def _dissimilarity(self, node: int, alpha: float) -> float:
        """How dissimilar the two children of a node are."""
        left, right = (self.growth.groups[child] for child in self.growth.draft.children(node))
        if node not in self._distances:
            X = self.growth.X
            self._distances[node] = (
                distance_to(X, left.rows, right.rows),
                distance_to(X, right.rows, left.rows),
            )
        weights = self.growth.weights
        return max(
            nearest_mean(distance, weights[side.rows], alpha)
            for side, distance in zip((left, right), self._distances[node], strict=True)
        )


class _Pairs:
    """Leaves that are siblings, in a draft of which more and more nodes become leaves."""

    def __init__(self, draft: Draft, dissimilarity: Callable[[int], float]) -> None:
        self._draft, self._dissimilarity = draft, dissimilarity
        self.leaf = [draft.is_leaf(node) for node in range(draft.n_nodes)]
        self._parent: dict[int, int] = {}
        self._apart: dict[int, float] = {}  # by the parent of the pair
        for node in range(draft.n_nodes):
            if not self.leaf[node]:
                self._parent |= dict.fromkeys(draft.children(node), node)
                self._see(node)
        self.n_leaves = (draft.n_nodes + 1) // 2

    def least(self) -> float:
        """How dissimilar the most similar pair is."""
        return min(self._apart.values(), default=np.inf)

    def collapse(self) -> None:
        """Make one leaf of the most similar pair, the first of equals."""
        most = self.least() * (1 + _EQUAL)
        node = min(node for node, apart in self._apart.items() if apart <= most)
        del self._apart[node]
        self.leaf[node] = True
        self.n_leaves -= 1
        if node in self._parent:
            self._see(self._parent[node])

    def _see(self, node: int) -> None:
        """Compare the children of a node, if both are leaves."""
        if all(self.leaf[child] for child in self._draft.children(node)):
            self._apart[node] = self._dissimilarity(node)


def distance_to(X: Floats, rows: NDArray[np.int32], others: NDArray[np.int32]) -> Floats:
    """Distance from each of some rows to the nearest of others."""
    here, there = X[rows], X[others]
    middle = there.mean(axis=0)  # taken off, so that a large offset does not hide who is nearest
    nearest = pairwise_distances_argmin(here - middle, there - middle)
    away = here - there[nearest]
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", away, away)))


def nearest_mean(distance: Floats, weights: Floats, alpha: float) -> float:
    """Mean of the smallest distances: of the share ``alpha``, rounded down, but at least one."""
    order = np.argsort(distance, kind="stable")
    upto = np.cumsum(weights[order])
    many = min(max(1.0, np.floor(alpha * upto[-1] + _WHOLE)), upto[-1])
    counted = np.diff(np.minimum(upto, many), prepend=0.0)
    return float(counted @ distance[order] / many)


def join(growth: Growth, leaves: list[Group], nclass: int, how: str, alpha: float) -> list[int]:
    """Join leaves, the most similar two first, until ``nclass`` groups are left.

    Parameters
    ----------
    leaves : of the pruned tree
    how : what counts as similar. "deviance": the rise of the deviance is least; "ratio": that rise
        as a share of the deviance of both together; "dissimilarity": as in pruning

    Returns
    -------
    The group of each leaf, numbered in the order of their first leaves.
    """
    measure = JOINS[how](growth, leaves, alpha)
    group = np.arange(len(leaves))
    n = len(leaves)
    apart = np.full((n, n), np.inf)
    for a in range(n):
        for b in range(a + 1, n):
            apart[a, b] = measure.between(a, b)
    for _ in range(n - nclass):
        a, b = divmod(int((apart <= apart.min() * (1 + _EQUAL)).argmax()), n)
        measure.merge(a, b)
        group[group == b] = a
        apart[b, :] = apart[:, b] = np.inf
        for other in np.unique(group):
            if other != a:
                apart[min(a, other), max(a, other)] = measure.between(*sorted((a, int(other))))
    found: list[int] = np.unique(group, return_inverse=True)[1].tolist()
    return found


class ByDeviance:
    """How much the deviance rises when two groups become one."""

    def __init__(self, growth: Growth, leaves: list[Group], alpha: float) -> None:
        self._total = growth.total
        self._weight = [leaf.weight for leaf in leaves]
        self._mean = [leaf.mean for leaf in leaves]
        self._deviance = [leaf.deviance for leaf in leaves]

    def between(self, a: int, b: int) -> float:
        """How unlike two groups are."""
        return self._rise(a, b)

    def merge(self, a: int, b: int) -> None:
        """Make group ``a`` of both."""
        self._deviance[a] += self._deviance[b] + self._rise(a, b)
        weight = self._weight[a] + self._weight[b]
        self._mean[a] = self._mean[a] + (self._mean[b] - self._mean[a]) * (self._weight[b] / weight)
        self._weight[a] = weight

    def _rise(self, a: int, b: int) -> float:
        away = self._mean[a] - self._mean[b]
        weight = self._weight[a] * self._weight[b] / (self._weight[a] + self._weight[b])
        return float(weight * (away @ away) / self._total)


class ByRatio(ByDeviance):
    """How much the deviance rises, as a share of the deviance of both together."""

    def between(self, a: int, b: int) -> float:
        """How unlike two groups are."""
        rise = self._rise(a, b)
        return rise / (self._deviance[a] + self._deviance[b] + rise) if rise > 0 else 0.0


class ByDissimilarity:
    """How far the rows of two groups that are nearest to the other one are from it."""

    def __init__(self, growth: Growth, leaves: list[Group], alpha: float) -> None:
        X, self._alpha, self._weights = growth.X, alpha, growth.weights
        self._rows = [leaf.rows for leaf in leaves]
        everyone = np.concatenate(self._rows)
        self._near = np.empty((len(leaves), len(X)))  # distance of each row to each leaf
        for near, rows in zip(self._near, self._rows, strict=True):
            near[everyone] = distance_to(X, everyone, rows)

    def between(self, a: int, b: int) -> float:
        """How unlike two groups are."""
        return max(self._one_way(a, b), self._one_way(b, a))

    def merge(self, a: int, b: int) -> None:
        """Make group ``a`` of both."""
        self._rows[a] = np.concatenate([self._rows[a], self._rows[b]])
        np.minimum(self._near[a], self._near[b], out=self._near[a])

    def _one_way(self, a: int, b: int) -> float:
        rows = self._rows[a]
        return nearest_mean(self._near[b, rows], self._weights[rows], self._alpha)


JOINS: dict[str, Callable[[Growth, list[Group], float], ByDeviance | ByDissimilarity]] = {
    "deviance": ByDeviance,
    "ratio": ByRatio,
    "dissimilarity": ByDissimilarity,
}
