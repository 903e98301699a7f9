"""Are the clusters real? What becomes of clusters, rules and cuts on resamples of the table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from treemeans import _core
from treemeans.columns import Reader
from treemeans.explain.leaf_boxes import Box
from treemeans.monitor.resample import METHODS, Refit, Resampler, in_threads
from treemeans.monitor.stability_result import (
    ClusterStability,
    CutStability,
    FeatureUse,
    RuleStability,
    Stability,
)
from treemeans.monitor.training_setup import TrainingSetup
from treemeans.split import Split
from treemeans.tree import ThresholdTree
from treemeans.validation import is_integer, tree_seed

Floats = NDArray[np.float64]

_SAME = 0.5  # least Jaccard index of both sides of two cuts that are the same cut
_MOST_ROWS = 0.5  # share of a node's rows that must meet the cut for it to have come back
_DISSOLVED, _RECOVERED = 0.5, 0.75  # Jaccard indices (Hennig 2007)
_INTERVAL = (0.05, 0.95)  # quantiles of thresholds and Jaccard indices


def measure_stability(
    model: Any,
    X: Any,
    n_resamples: int,
    *,
    method: str = "bootstrap",
    sample_weight: Any = None,
    random_state: Any = None,
    n_threads: int = 1,
    tell: Callable[[int], Any] = lambda done: None,
) -> Stability:
    """Fit the model to resamples of X, and compare; ``ExKMC.stability`` says what is measured.

    ``tell`` is called with the number of resamples that are done.
    """
    if not is_integer(n_resamples) or n_resamples < 1:
        raise ValueError(f"n_resamples must be an integer of at least 1; got {n_resamples!r}.")
    if method not in METHODS:
        raise ValueError(f'method must be "bootstrap" or "subsample"; got {method!r}.')
    setup = TrainingSetup.of(model, X, sample_weight, n_threads, "stability")
    compare = _Comparison(model.tree_, setup)
    resampler = Resampler(setup, method, tree_seed(random_state))
    found = in_threads(lambda i: compare(resampler.refit(i)), n_resamples, n_threads, tell)
    return _summarize(model, compare, found, n_resamples, method)


@dataclass(frozen=True)
class _Compared:
    """What one resample says.

    Attributes
    ----------
    jaccard : (n_clusters,), of each cluster and the one it is matched with; NaN for an empty one
    returned : (n_cuts,), whether a cut came back
    threshold : (n_cuts,), its threshold then; NaN for sets of categories, and where it did not
    used : (n_features,), whether the tree cuts a feature
    """

    jaccard: Floats
    returned: NDArray[np.bool_]
    threshold: Floats
    used: NDArray[np.bool_]


class _Comparison:
    """Compares the trees of resamples with the model's own."""

    def __init__(self, tree: ThresholdTree, setup: TrainingSetup) -> None:
        data = setup.data
        self.tree, self._weights = tree, data.weights
        self.cuts = np.flatnonzero(~tree.is_leaf)
        self._leaf = leaf = setup.outcome(tree, np.arange(tree.n_nodes, dtype=np.int32))
        self._below = _leaves_below(tree)
        in_node = self._below[:, leaf]  # (n_nodes, n_rows)
        self._values = [
            _ValueCounts.of(data, int(tree.feature[cut]), np.flatnonzero(in_node[cut]))
            for cut in self.cuts
        ]
        self.weight = self._table(leaf, tree.n_nodes).sum(axis=1)

    def __call__(self, refit: Refit) -> _Compared:
        """What a tree that was grown on a resample says."""
        crossed = self._table(refit.leaf_of_row, refit.tree.n_nodes)
        returned, threshold = self._cuts(refit.tree, crossed)
        used = np.zeros(self.tree.n_features, dtype=bool)
        used[refit.tree.feature[~refit.tree.is_leaf]] = True
        return _Compared(self._jaccard(refit.tree, crossed), returned, threshold, used)

    def _table(self, leaf: NDArray[np.int32], n_nodes: int) -> Floats:
        """Weight of the rows by leaf of the model's tree and leaf of another."""
        cell = self._leaf.astype(np.int64) * n_nodes + leaf
        sums = np.bincount(cell, self._weights, minlength=self.tree.n_nodes * n_nodes)
        return sums.reshape(self.tree.n_nodes, n_nodes).astype(np.float64)

    def _jaccard(self, other: ThresholdTree, crossed: Floats) -> Floats:
        """Jaccard index of each cluster and the one it is matched with, one to one."""
        k = self.tree.n_clusters
        both = np.zeros((k, max(k, other.n_clusters)))
        rows, columns = np.nonzero(crossed)
        np.add.at(both, (self.tree.label[rows], other.label[columns]), crossed[rows, columns])
        either = both.sum(axis=1)[:, None] + both.sum(axis=0)[None, :] - both
        index = np.divide(both, either, out=np.zeros_like(both), where=either > 0)
        mine, theirs = linear_sum_assignment(-index)
        found = np.full(k, np.nan)
        found[mine] = index[mine, theirs]
        found[both.sum(axis=1) == 0] = np.nan
        return found

    def _cuts(self, other: ThresholdTree, crossed: Floats) -> tuple[NDArray[np.bool_], Floats]:
        """Whether each cut came back in another tree, and with which threshold.

        A cut came back if at least half of the rows of its node meet, in the other tree, cuts of
        the same feature that divide the rows of the node in the same way: the Jaccard indices of
        the left sides and of the right sides are at least 0.5. So the order of cuts is free.
        """
        below = _leaves_below(other)
        returned = np.zeros(len(self.cuts), dtype=bool)
        threshold = np.full(len(self.cuts), np.nan)
        for i, cut in enumerate(self.cuts.tolist()):
            same = [
                node
                for node in np.flatnonzero(other.feature == self.tree.feature[cut]).tolist()
                if self._values[i].alike(self.tree.split(cut), other.split(node)) >= _SAME
            ]
            if not same:
                continue
            in_node = crossed[self._below[cut]].sum(axis=0)
            meets = below[same].any(axis=0)
            total = in_node.sum()
            if total > 0 and in_node[meets].sum() >= _MOST_ROWS * total:
                returned[i] = True
                shares = [in_node[below[node]].sum() for node in same]
                threshold[i] = other.threshold[same[int(np.argmax(shares))]]
        return returned, threshold


@dataclass(frozen=True)
class _ValueCounts:
    """The values of a column among the rows of a node, and the weight of each."""

    values: Floats
    weight: Floats

    @classmethod
    def of(cls, data: Any, feature: int, rows: NDArray[np.intp]) -> _ValueCounts:
        column = _core.column(data.table.points, feature, rows.astype(np.int32), data.n_threads)
        values, place = np.unique(column, return_inverse=True)
        weights = None if data.weights is None else data.weights[rows]
        counted = np.bincount(place, weights, minlength=len(values))
        return cls(values, counted.astype(np.float64))

    def alike(self, one: Split, other: Split) -> float:
        """The lower of the Jaccard indices of the left sides and the right sides of two cuts."""
        lefts, rights = (
            [getattr(split, side).holds(self.values) for split in (one, other)]
            for side in ("left", "right")
        )
        return min(self._jaccard(*lefts), self._jaccard(*rights))

    def _jaccard(self, one: NDArray[np.bool_], other: NDArray[np.bool_]) -> float:
        either = float(self.weight @ (one | other))
        return float(self.weight @ (one & other)) / either if either > 0 else 1.0


def _leaves_below(tree: ThresholdTree) -> NDArray[np.bool_]:
    """(n_nodes, n_nodes): whether the second is a leaf below the first, or the first itself."""
    found = np.zeros((tree.n_nodes, tree.n_nodes), dtype=bool)
    for leaf in tree.leaves.tolist():
        found[leaf, leaf] = True
    order = np.argsort(-tree.depth)
    for node in order[~tree.is_leaf[order]].tolist():
        found[node] = found[tree.left[node]] | found[tree.right[node]]
    return found


def _summarize(
    model: Any, compare: _Comparison, found: Sequence[_Compared], n_asked: int, method: str
) -> Stability:
    tree, rules = compare.tree, model.rules()
    reader = Reader(tree, model._fit_result.columns)
    returned = np.array([one.returned for one in found])
    thresholds = np.array([one.threshold for one in found])
    jaccard = np.array([one.jaccard for one in found])
    used = np.mean([one.used for one in found], axis=0)
    mine = set(tree.feature[compare.cuts].tolist())
    place = {node: i for i, node in enumerate(compare.cuts.tolist())}
    return Stability(
        clusters=tuple(
            _cluster(each.cluster, each.name, each.coverage, jaccard[:, each.cluster])
            for each in rules
        ),
        rules=tuple(
            RuleStability(
                each.cluster,
                str(rule),
                float(returned[:, [place[c] for c in _cuts_of(rule.box, tree)]].all(axis=1).mean()),
            )
            for each in rules
            for rule in each
        ),
        cuts=tuple(
            _cut(reader, cut, returned[:, i], thresholds[:, i])
            for i, cut in enumerate(compare.cuts.tolist())
        ),
        features=tuple(
            FeatureUse(feature, reader.title(feature), feature in mine, float(used[feature]))
            for feature in np.lexsort((np.arange(len(used)), -used)).tolist()
            if feature in mine or used[feature] > 0
        ),
        n_resamples=len(found),
        n_asked=n_asked,
        method=method,
    )


def _cluster(cluster: int, name: str, share: float, jaccard: Floats) -> ClusterStability:
    if np.isnan(jaccard).all():
        return ClusterStability(cluster, name, share, *[float("nan")] * 5)
    low, high = np.nanquantile(jaccard, _INTERVAL)
    return ClusterStability(
        cluster,
        name,
        share,
        float(np.nanmean(jaccard)),
        float(low),
        float(high),
        float((jaccard < _DISSOLVED).mean()),
        float((jaccard >= _RECOVERED).mean()),
    )


def _cut(
    reader: Reader, node: int, returned: NDArray[np.bool_], thresholds: Floats
) -> CutStability:
    tree = reader.tree
    feature, known = int(tree.feature[node]), thresholds[np.isfinite(thresholds)]
    low = high = float("nan")
    interval = ""
    if len(known):
        # Thresholds that occurred: one between two days or whole numbers would be no valid
        # threshold.
        low, high = (float(x) for x in np.quantile(known, _INTERVAL, method="nearest"))
        digits = 15 if reader.columns[feature].is_date else 6
        words = [reader.value(feature, float(f"{x:.{digits}g}")) for x in (low, high)]
        interval = words[0] if low == high else " to ".join(words)
    return CutStability(
        node=node,
        feature=feature,
        text=reader.sides(node)[0],
        threshold=float(tree.threshold[node]),
        returned=float(returned.mean()),
        low=low,
        high=high,
        interval=interval,
    )


def _cuts_of(box: Box, tree: ThresholdTree) -> list[int]:
    """The cuts of a tree that make the conditions of a rule."""
    found = []
    for feature, values in box.items():
        on_feature = tree.feature == feature
        bound = np.isin(tree.threshold, [values.above, values.upto])
        found += np.flatnonzero(on_feature & (bound | tree.is_categorical)).tolist()
    return found
