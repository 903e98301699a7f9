"""Close calls: how near rows are to another cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from treemeans.columns.number_text import finite_or_none, percent
from treemeans.explain.to_frame import data_frame
from treemeans.model_file.saved_parameters import NotSaved
from treemeans.rows.column_values import column_of
from treemeans.tree import ThresholdTree
from treemeans.validation import is_number

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Confidence:
    """How sure the cluster of each row is.

    Attributes
    ----------
    cluster : array of shape (n_samples,)
        Cluster of each row.
    cut_distance : array of shape (n_samples,)
        Distance to the nearest threshold beyond which the row would be in another cluster, in
        standard deviations of the threshold's column in the training rows; infinite if there is
        none.
    nearest_column : array of int, shape (n_samples,)
        Column of that threshold; -1 if there is none.
    advantage : array of shape (n_samples,)
        How much less the row costs at its cluster than at the cheapest other one, as a share of
        the larger of both: 1 at the center, 0 where both cost the same, negative where the other
        is cheaper. NaN if costs are not known.
    within : float
        A row is a close call if its cut distance or its advantage is below it.
    names : tuple of str
        Names of the clusters.
    """

    cluster: NDArray[np.int32]
    cut_distance: Floats
    nearest_column: NDArray[np.int32]
    advantage: Floats
    within: float
    names: tuple[str, ...]

    @property
    def is_close(self) -> NDArray[np.bool_]:
        """Whether each row is a close call."""
        # NaN compares as false: a cost that is not known makes no close call.
        return np.asarray((self.cut_distance < self.within) | (self.advantage < self.within))

    @property
    def close_shares(self) -> Floats:
        """Share of close calls among the rows of each cluster; NaN for a cluster without rows."""
        k = len(self.names)
        total = np.bincount(self.cluster, minlength=k)
        close = np.bincount(self.cluster[self.is_close], minlength=k)
        shares: Floats = np.divide(close, total, out=np.full(k, np.nan), where=total > 0)
        return shares

    def to_dict(self) -> dict[str, Any]:
        """The shares of close calls, as plain values."""
        shares = [finite_or_none(share) for share in self.close_shares.tolist()]
        n = len(self.cluster)
        return {
            "n_rows": n,
            "within": self.within,
            "close_share": float(self.is_close.mean()) if n else None,
            "clusters": [
                {"cluster": i, "name": name, "close_share": shares[i]}
                for i, name in enumerate(self.names)
            ],
        }

    def to_frame(self, package: str = "pandas") -> Any:
        """A data frame of pandas or polars, one row for each row of the table."""
        return data_frame(
            package,
            {
                "cluster": self.cluster,
                "cut_distance": self.cut_distance,
                "advantage": self.advantage,
                "close_call": self.is_close,
            },
        )

    def __str__(self) -> str:
        if not len(self.cluster):
            return "no rows"
        lines = [
            f"{percent(float(self.is_close.mean()))} of {len(self.cluster):,} rows are close calls"
        ]
        for i, (name, close) in enumerate(zip(self.names, self.close_shares, strict=True)):
            told = "no rows" if np.isnan(close) else percent(float(close))
            lines.append(f"cluster {i} ({name}): {told}")
        return "\n".join(lines)


def cut_distances(tree: ThresholdTree, X: Any, scale: Floats) -> tuple[Floats, NDArray[np.int32]]:
    """Distance of each row to the nearest threshold that parts it from another cluster.

    A threshold on a row's way counts if a row with a value just beyond it, and the same values
    otherwise, is in another cluster. Sets of categories and missing values have no distance.

    Parameters
    ----------
    scale : (n_features,), the unit of each column

    Returns
    -------
    The distances, and the column of each of the thresholds, -1 where there is none.
    """
    X = X.tocsc() if sparse.issparse(X) else X
    n = X.shape[0]
    distance, column = np.full(n, np.inf), np.full(n, -1, dtype=np.int32)
    router = _Router(tree, X)
    own = router.label_of(0, np.arange(n))
    todo = [(0, np.arange(n))]
    while todo:
        node, rows = todo.pop()
        if tree.feature[node] < 0 or not len(rows):
            continue
        split, sides = tree.split(node), (int(tree.left[node]), int(tree.right[node]))
        values = router.values(split.feature, rows)
        left = split.goes_left(values)
        if np.isfinite(split.threshold):
            for stays, other in ((left, sides[1]), (~left, sides[0])):
                side = rows[stays & ~np.isnan(values)]
                if not len(side):
                    continue
                beyond = split.threshold
                if other == sides[1]:
                    beyond = float(np.nextafter(split.threshold, np.inf))
                moved = router.label_of(other, side, (split.feature, beyond))
                gap = np.abs(router.values(split.feature, side) - split.threshold)
                gap = gap / scale[split.feature]
                nearer = (moved != own[side]) & (gap < distance[side])
                distance[side[nearer]] = gap[nearer]
                column[side[nearer]] = split.feature
        todo += [(sides[0], rows[left]), (sides[1], rows[~left])]
    return distance, column


class _Router:
    """Sends rows down a tree from any node, with another value in one of their columns."""

    def __init__(self, tree: ThresholdTree, X: Any) -> None:
        self._tree, self._X = tree, X
        self._columns: dict[int, Floats] = {}

    def values(self, feature: int, rows: NDArray[np.intp]) -> Floats:
        """Values of a column in some rows."""
        if feature not in self._columns:
            self._columns[feature] = column_of(self._X, feature)
        return self._columns[feature][rows]

    def label_of(
        self, node: int, rows: NDArray[np.intp], changed: tuple[int, float] | None = None
    ) -> NDArray[np.int32]:
        """Cluster of some rows that are in a node; ``changed``: a column and its value in all."""
        found = np.empty(len(rows), dtype=np.int32)
        todo = [(node, np.arange(len(rows)))]
        while todo:
            here, at = todo.pop()
            if not len(at):
                continue
            if self._tree.feature[here] < 0:
                found[at] = self._tree.label[here]
                continue
            split = self._tree.split(here)
            if changed is not None and split.feature == changed[0]:
                left = np.full(len(at), split.goes_left(np.array([changed[1]]))[0])
            else:
                left = _left(split, self.values(split.feature, rows[at]))
            sides = ((self._tree.left, at[left]), (self._tree.right, at[~left]))
            todo += [(int(child[here]), part) for child, part in sides]
        return found


def _left(split: Any, values: Floats) -> NDArray[np.bool_]:
    """Which values go left; a missing one that the split has no side for goes right.

    Such a row did not come to this split by itself, but by the move that is tried.
    """
    known = split.accepts(values)
    if known.all():
        return np.asarray(split.goes_left(values))
    left = np.zeros(len(values), dtype=bool)
    left[known] = split.goes_left(values[known])
    return left


def advantages(beyond: Floats, base: Floats, cluster: NDArray[np.int32]) -> Floats:
    """(cheapest other - own) / the larger of both, from squared distances base + beyond."""
    costs = base[:, None] + beyond
    rows = np.arange(len(cluster))
    own = costs[rows, cluster]
    if costs.shape[1] == 1:
        return np.ones(len(cluster))
    costs[rows, cluster] = np.inf
    other = costs.min(axis=1)
    larger = np.maximum(own, other)
    found: Floats = np.divide(other - own, larger, out=np.zeros(len(own)), where=larger > 0)
    return found


def knows_costs(reference: Any) -> bool:
    """Whether other rows than those of the fit can be priced."""
    if reference.has_own_costs:
        return reference.price_rows is not None
    return not isinstance(reference.pipeline, NotSaved)


def measure_confidence(model: Any, X: Any, within: float) -> Confidence:
    """The `Confidence` of rows; ``within`` as there."""
    if not (is_number(within) and within >= 0):
        raise ValueError(f"within must be a number of at least 0; got {within!r}.")
    cluster = np.asarray(model.predict(X))
    facts = model._facts
    distance, column = cut_distances(model.tree_, model._validate(X, reset=False), facts.scale)
    advantage = np.full(len(cluster), np.nan)
    if knows_costs(model._fit_result.reference):
        base, beyond = model._costs_of(X)
        advantage = advantages(beyond, base, cluster)
    return Confidence(cluster, distance, column, advantage, float(within), model.cluster_names_)
