"""Kauri (Ohl, Mattei, Leclercq, Droit, Precioso 2024): a tree that clusters without a reference."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from treemeans import _core
from treemeans.growth.given_tree import follow
from treemeans.growth.in_memory_tree import InMemoryTree
from treemeans.progress import Progress
from treemeans.tree import ThresholdTree

_MOST_ROWS = 2**15  # that are searched
_MOST_VALUES = 2**22
_FEWEST_ROWS = 2**10
_MOST_RANGE = 1e12  # of the weights: gains are differences of sums that hold 15 digits


def kauri(
    growing: InMemoryTree,
    space: _core.Points,
    weights: NDArray[np.float64] | None,
    max_clusters: int,
    n_leaves: int,
    progress: Progress,
) -> NDArray[np.int32]:
    """Cut a tree of one leaf into up to ``n_leaves``, each cut by what k-means cost it saves.

    Each step cuts the leaf, at the value, whose two sides save most when each of them stays in the
    leaf's cluster, starts a new one or joins another; costs are those to the clusters' own means,
    not to the reference centers. Every value is a candidate. Growth ends where nothing is saved.

    A large table is searched on a sample of its rows, always the same: 32,768 of them, or fewer
    (but at least 1,024) if they have more than about four million values, counting stored ones in
    a sparse table. All rows then follow the cuts, and each threshold moves half way between the
    values of all rows around it. Growth ends where nothing is saved on the sample: rows unlike any
    in it may be left in a far cluster, and where such rows cost much the total cost is much higher.

    Parameters
    ----------
    space : the rows where the k-means cost is measured; may be the table's points
    weights : of the rows, None where all are 1
    max_clusters : at most so many clusters

    Returns
    -------
    Kauri's cluster of every node of the growing tree: of a leaf, or of an inner node while it was
    a leaf. The growing tree's own labels are by the surrogate cost.
    """
    tree = _grow(growing, space, weights, max_clusters, n_leaves, progress)
    place = follow(growing, tree, recenter=True, priced=False)
    clusters = np.zeros(growing.n_nodes, dtype=np.int32)
    clusters[list(place.values())] = tree.label[list(place)]
    return clusters


@dataclass
class _Nodes:
    """A tree as it grows: the root, and two more nodes for every cut."""

    feature: list[int] = field(default_factory=lambda: [-1])
    threshold: list[float] = field(default_factory=lambda: [np.nan])
    left: list[int] = field(default_factory=lambda: [-1])
    cluster: list[int] = field(default_factory=lambda: [0])
    growth: list[int] = field(default_factory=lambda: [0])

    @property
    def n_leaves(self) -> int:
        return (len(self.feature) + 1) // 2

    def split(self, node: int, feature: int, threshold: float, clusters: tuple[int, int]) -> None:
        self.feature[node], self.threshold[node] = feature, threshold
        self.left[node] = len(self.feature)
        self.feature += [-1, -1]
        self.threshold += [np.nan, np.nan]
        self.left += [-1, -1]
        self.cluster += clusters
        self.growth += [0, 0]
        self.growth[node] = self.n_leaves

    def freeze(self, n_features: int) -> ThresholdTree:
        left = np.array(self.left)
        return ThresholdTree(
            feature=np.array(self.feature),
            threshold=np.array(self.threshold),
            left=left,
            right=np.where(left < 0, -1, left + 1),
            label=np.array(self.cluster),
            n_features=n_features,
            growth=np.array(self.growth),
        )


def weighable(weights: NDArray[np.float64] | None) -> bool:
    """Whether no weight is so small beside another that it is lost in their sum."""
    if weights is None:
        return True
    used = weights[weights > 0]
    return bool(len(used) == 0 or used.max() <= used.min() * _MOST_RANGE)


def _sample(growing: InMemoryTree) -> NDArray[np.int32]:
    """The rows that are searched, ascending."""
    rows = growing.rows(0)
    per_row = max(1.0, _core.n_values(growing.table.points) / growing.table.n_rows)
    most = min(_MOST_ROWS, max(_FEWEST_ROWS, int(_MOST_VALUES / per_row)))
    if len(rows) <= most:
        return rows.copy()
    return np.sort(np.random.RandomState(0).permutation(rows)[:most])


def _grow(
    growing: InMemoryTree,
    space: _core.Points,
    weights: NDArray[np.float64] | None,
    max_clusters: int,
    n_leaves: int,
    progress: Progress,
) -> ThresholdTree:
    """The tree grown on some rows, labelled with Kauri's clusters."""
    costs, limits, rows = growing.costs, growing.limits, _sample(growing)
    if weights is not None and not weighable(weights):
        used = weights[weights > 0]
        raise ValueError(
            f"base_tree='kauri' compares sums of sample weights, which range from {used.min():g} "
            f"to {used.max():g} here: more than a factor of {_MOST_RANGE:g} is beyond its accuracy."
        )
    features = np.flatnonzero(growing.table.comparable)
    units = growing.weights
    weight = len(rows) if units is None else int(units[rows].sum())
    sampled_cost = costs.cheapest * (weight / costs.total_weight)
    prices = np.zeros(len(features))
    if limits.feature_costs is not None:
        with np.errstate(over="ignore"):  # an infinite price forbids, as a very high one does
            prices = limits.feature_costs[features] * sampled_cost
    if weights is not None:
        # Squares of weighted sums overflow for weights of 1e137 beside values of 1e18. A power of
        # two changes no digit of them, and no choice between cuts.
        exponent = -int(np.frexp(weights.max())[1])
        with np.errstate(over="ignore", under="ignore"):
            weights, prices = np.ldexp(weights, exponent), np.ldexp(prices, exponent)
    search = _core.Kauri(
        growing.table.points,
        space,
        rows,
        weights,
        limits.for_some_rows(weight, costs.total_weight).for_kernel(units),
        max_clusters,
        features.tolist(),
        prices.tolist(),
        growing.n_threads,
    )
    nodes = _Nodes()
    while nodes.n_leaves < n_leaves and (cut := search.step()) is not None:
        clusters = (cut.left_cluster, cut.right_cluster)
        nodes.split(cut.node, cut.feature, cut.threshold, clusters)
        progress.update(nodes.n_leaves)
    return nodes.freeze(growing.table.n_features)
