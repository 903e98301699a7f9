"""The first stage of CUBT (Fraiman, Ghattas, Svarc 2013): cuts that lower the deviance most.

The deviance of a node is the trace of the covariance of its rows times their share of all rows:
their k-means cost around their own mean, divided by the weight of all rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from treemeans.baselines.draft_tree import Draft
from treemeans.baselines.sorted_columns import SortedColumns
from treemeans.growth.growing_tree import between

Floats = NDArray[np.float64]

MINDEV_RULES = ("root", "node", "first")
_EQUAL = 1e-12  # gains closer than this, relatively, are the same, and the first counts
_BLOCK = 2**15  # numbers that are summed at a time: few enough to stay in the cache


@dataclass(frozen=True)
class Group:
    """Some rows: how many they are (or what they weigh), and how they lie."""

    rows: NDArray[np.int32]
    weight: float
    mean: Floats
    deviance: float

    @classmethod
    def of(cls, X: Floats, weights: Floats, rows: NDArray[np.int32], total: float) -> Group:
        """Rows of X; ``total``: weight of all."""
        some = weights[rows]
        weight = float(some.sum())
        mean = some @ X[rows] / weight
        away = X[rows] - mean
        deviance = float(some @ np.einsum("ij,ij->i", away, away)) / total
        return cls(rows, weight, mean, deviance)


@dataclass(frozen=True)
class DevianceCut:
    """Where a node is cut, and by how much that lowers the deviance."""

    feature: int
    threshold: float
    gain: float


@dataclass
class Growth:
    """What the largest tree is grown from and to.

    Attributes
    ----------
    X : (n, n_features), finite
    weights : of the rows; one of weight 2 counts as two rows
    draft : the cuts
    groups : the rows of each node
    depth : of each node
    """

    X: Floats
    weights: Floats
    draft: Draft = field(default_factory=Draft)
    groups: list[Group] = field(default_factory=list)
    depth: list[int] = field(default_factory=lambda: [0])

    @property
    def total(self) -> float:
        """Weight of all rows."""
        return float(self.weights.sum())


def overgrow(
    X: Floats,
    weights: Floats,
    *,
    minsize: float,
    mindev: float,
    minsplit: float,
    max_depth: int | None,
    mindev_rule: str = "root",
) -> Growth:
    """Cut as long as a cut lowers the deviance by enough.

    Parameters
    ----------
    X : (n, n_features), finite
    weights : of the rows; one of weight 2 counts as two rows
    minsize : least number of rows in a leaf
    mindev : least gain; how it is meant, ``mindev_rule`` says
    minsplit : least number of rows in a node that is cut
    max_depth : most cuts from the root to a leaf
    mindev_rule : "root", the gain as a share of the root's deviance; "node", the deviance of the
        node that is cut, as a share of the root's; "first", the gain as a share of the first cut's,
        which it must exceed
    """
    growth = Growth(X, weights)
    columns = SortedColumns.of(X, weights)
    growth.groups.append(Group.of(X, weights, columns.rows, growth.total))
    waiting, first = [(0, columns)], 0.0
    while waiting:
        node, columns = waiting.pop(0)
        group, depth = growth.groups[node], growth.depth[node]
        too_deep = max_depth is not None and depth >= max_depth
        if group.weight < minsplit or too_deep:
            continue
        cut = best_cut(X, columns, group, minsize, growth.total)
        if cut is None:
            continue
        first = first or cut.gain
        if not _worth(cut.gain, group.deviance, mindev, mindev_rule, growth.groups[0], first):
            continue
        sides = columns.part(cut.feature, cut.threshold)
        waiting += zip(growth.draft.split(node, cut.feature, cut.threshold), sides, strict=True)
        growth.groups += [Group.of(X, weights, side.rows, growth.total) for side in sides]
        growth.depth += [depth + 1] * 2
    return growth


def _worth(
    gain: float, deviance: float, mindev: float, rule: str, root: Group, first: float
) -> bool:
    if rule == "first":
        return gain > mindev * first
    return (gain if rule == "root" else deviance) >= mindev * root.deviance


def best_cut(
    X: Floats, columns: SortedColumns, group: Group, minsize: float, total: float
) -> DevianceCut | None:
    """The cut that lowers the deviance most; None if there is none that leaves enough rows."""
    upto, last = columns.upto(), columns.last_of_value()
    beyond = group.weight - upto
    allowed = last & (upto >= minsize) & (beyond >= minsize)
    allowed[:, -1] = False
    features = np.flatnonzero(allowed.any(axis=1))
    if len(features) == 0:
        return None
    place = np.empty(len(columns.weights), dtype=np.intp)
    place[columns.rows] = np.arange(len(columns.rows))
    moments = (X[columns.rows] - group.mean) * columns.weights[columns.rows, None]
    gains = np.full(last.shape, -np.inf)
    for feature in features:
        at = np.flatnonzero(allowed[feature])
        # Around the node's mean, the sums of the two sides are each other's opposite.
        squares = _squared_prefix_sums(moments, place[columns.order[feature]])[at]
        gains[feature, at] = squares / upto[feature, at] + squares / beyond[feature, at]
    most = gains.max()
    if not most > 0:
        return None
    feature, at = divmod(int((gains >= most * (1 - _EQUAL)).argmax()), last.shape[1])
    values = columns.values[feature]
    return DevianceCut(
        feature, between(float(values[at]), float(values[at + 1])), float(most) / total
    )


def _squared_prefix_sums(moments: Floats, order: NDArray[np.intp]) -> Floats:
    """For each place, the squared length of the sum of the rows up to it."""
    squares = np.empty(len(order))
    step = max(1, _BLOCK // moments.shape[1])
    carried = np.zeros(moments.shape[1])
    for begin in range(0, len(order), step):
        block = moments[order[begin : begin + step]]
        block[0] += carried
        np.cumsum(block, axis=0, out=block)
        carried = block[-1]
        np.einsum("ij,ij->i", block, block, out=squares[begin : begin + step])
    return squares
