"""ExShallow (Laber, Murtinho, Oliveira 2021): the cuts of ExGreedy, with a weight on depth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treemeans.growth.growing_tree import Cut
from treemeans.growth.in_memory_tree import InMemoryTree
from treemeans.growth.separate_centers import separate
from treemeans.progress import Progress

Floats = NDArray[np.float64]

_DEPTH_FACTOR = 0.03
"""The authors' weight of the depth."""
_ROUNDING = 1e-12


def exshallow(growing: InMemoryTree, X: Floats, centers: Floats, progress: Progress) -> None:
    """Cut a tree of one leaf until every leaf holds one center, and label it with that center.

    A cut costs what the rows cost, each with the cheapest center of its own side, over what they
    cost with all the node's centers, plus 0.03 times the mean depth of the rows below the cut, if
    the nodes below divided rows and centers in the same proportion.

    Parameters
    ----------
    X : the features, dense and without missing values in the columns that may be cut
    centers : as for `imm`
    """
    by_feature = np.ascontiguousarray(centers.T)
    separate(growing, by_feature, _ShallowSearch(growing, X, by_feature), progress)


@dataclass(frozen=True)
class _Cuts:
    """The cuts of one feature: thresholds between neighbouring values of rows and centers.

    Attributes
    ----------
    low, high : the values
    cost : of the rows
    left_centers, left_points : numbers of centers and of distinct rows on the left
    """

    low: Floats
    high: Floats
    cost: Floats
    left_centers: NDArray[np.intp]
    left_points: NDArray[np.intp]


class _ShallowSearch:
    def __init__(self, growing: InMemoryTree, X: Floats, by_feature: Floats) -> None:
        self._growing, self._X, self._by_feature = growing, X, by_feature
        self._first = np.zeros(len(X), dtype=np.int64)  # 1 for the first of equal rows
        rows = growing.rows(0)
        self._first[rows[np.unique(X[rows], axis=0, return_index=True)[1]]] = 1
        self._gone_left: dict[int, set[int]] = {0: set()}  # features, of a node's ancestors
        self._gone_right: dict[int, set[int]] = {0: set()}

    def cut(self, node: int, members: NDArray[np.intp]) -> Cut | None:
        """The best cut with one of the ``members`` on each side; None if there is none."""
        growing = self._growing
        rows, costs = growing.rows(node), growing.costs
        own = costs.regrets.to_float(np.ascontiguousarray(costs.regrets.values[rows].T[members]))
        own += costs.base.to_float(costs.base.values[rows])
        whole = float(own.min(axis=0).sum()) or 1.0
        n_points = int(self._first[rows].sum())
        features, found = [], []
        for feature in np.flatnonzero(growing.comparable):
            cuts = self._cuts(int(feature), rows, members, own)
            if cuts is not None:
                features.append(int(feature))
                found.append(cuts)
        if not found:
            return None
        of_cut = np.repeat(features, [len(cuts.low) for cuts in found])
        k_left = np.concatenate([cuts.left_centers for cuts in found])
        n_left = np.concatenate([cuts.left_points for cuts in found])
        share = np.concatenate([cuts.cost for cuts in found]) / whole
        # A cut that only tightens a condition of the node's adds no condition to its rows.
        free_left = np.isin(of_cut, list(self._gone_left[node])) * n_left
        free_right = np.isin(of_cut, list(self._gone_right[node])) * (n_points - n_left)
        free = free_left + free_right
        # Every row is at depth 1 at least: most cuts cannot be best, and are not looked at further.
        least = share + _DEPTH_FACTOR * (n_points - free) / n_points
        first = int(least.argmin())
        score = np.full(len(least), np.inf)
        depths = _depths(n_points, len(members), n_left[[first]], int(k_left[first]))
        most = share[first] + _DEPTH_FACTOR * float(depths[0] - free[first]) / n_points
        for k in np.unique(k_left):
            here = np.flatnonzero((k_left == k) & (least <= most + _ROUNDING))
            depths = _depths(n_points, len(members), n_left[here], int(k))
            score[here] = share[here] + _DEPTH_FACTOR * (depths - free[here]) / n_points
        best = int(np.flatnonzero(score <= score.min() + _ROUNDING)[0])
        low = np.concatenate([cuts.low for cuts in found])[best]
        high = np.concatenate([cuts.high for cuts in found])[best]
        return Cut(0, int(of_cut[best]), float(low), float(high))

    def _cuts(
        self, feature: int, rows: NDArray[np.int32], members: NDArray[np.intp], own: Floats
    ) -> _Cuts | None:
        """The cuts of a feature that leave each side at least as many points as centers.

        ``own``: what the rows cost with each of the members, (members, rows).
        """
        x, at = self._X[rows, feature], self._by_feature[feature, members]
        by_value, by_place = np.argsort(x, kind="stable"), np.argsort(at, kind="stable")
        x, at = x[by_value], at[by_place]
        if x[0] == x[-1] or at[0] == at[-1]:
            return None
        values = np.unique(np.concatenate([x, at]))
        inside = (values >= at[0]) & (values < at[-1])
        low = values[inside]
        high = values[np.flatnonzero(inside) + 1]
        k_left, n_rows = np.searchsorted(at, low, "right"), np.searchsorted(x, low, "right")
        points = np.concatenate([[0], np.cumsum(self._first[rows[by_value]])])
        n_left = points[n_rows]
        valid = (n_left >= k_left) & (points[-1] - n_left >= len(at) - k_left)
        if not valid.any():
            return None
        low, high, k_left = low[valid], high[valid], k_left[valid]
        n_rows, n_left = n_rows[valid], n_left[valid]
        # Of each row, its least cost with the centers up to each one, and from each one on.
        by_center = own.take(by_value, axis=1)[by_place]
        before = np.minimum.accumulate(by_center, axis=0)
        after = np.minimum.accumulate(by_center[::-1], axis=0)[::-1]
        cost = np.empty(len(low))
        for k in np.unique(k_left):
            here = k_left == k
            left, right = np.cumsum(before[k - 1]), np.cumsum(after[k][::-1])
            # Both sides have rows: as many as centers.
            cost[here] = left[n_rows[here] - 1] + right[len(x) - 1 - n_rows[here]]
        return _Cuts(low, high, cost, k_left, n_left)

    def centers_left(self, cut: Cut) -> NDArray[np.bool_]:
        """Which centers go left with a cut."""
        return np.asarray(self._by_feature[cut.feature] <= cut.threshold)

    def carried_out(self, node: int, left: int, goes_left: NDArray[np.bool_]) -> None:
        """Remember which features the children's ancestors were cut by."""
        feature, right = self._growing.feature[node], self._growing.right[node]
        before_left, before_right = self._gone_left[node], self._gone_right[node]
        self._gone_left |= {left: before_left | {feature}, right: before_left}
        self._gone_right |= {left: before_right, right: before_right | {feature}}


def _depths(
    n_points: int, n_centers: int, n_left: NDArray[np.intp], k_left: int
) -> NDArray[np.int64]:
    """Sum of the depths of the points below cuts that leave ``k_left`` centers on the left.

    Every node below divides its points and its centers in the proportion of the cut, rounded up,
    until a node has one center; children of the cut have the depth 1.
    """
    share, k_share = n_left / n_points, k_left / n_centers

    def below(depth: int, n: NDArray[np.int64], k: int) -> NDArray[np.int64]:
        if k == 1:
            return n * depth
        k1 = min(max(int(np.ceil(k * k_share - _ROUNDING)), 1), k - 1)
        n1 = np.ceil(n * share - _ROUNDING).astype(np.int64)
        n1 = np.where(n > 1, np.clip(n1, 1, np.maximum(n - 1, 1)), n if k1 > k - k1 else 0)
        return below(depth + 1, n1, k1) + below(depth + 1, n - n1, k - k1)

    n = np.clip(n_left.astype(np.int64), 1, n_points - 1)
    return below(1, n, k_left) + below(1, n_points - n, n_centers - k_left)
