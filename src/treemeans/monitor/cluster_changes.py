"""Which cluster of one model is which of another, and what became of the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from treemeans.columns.number_text import percent

Floats = NDArray[np.float64]

_SAME = 0.5  # least Jaccard index, and most relative move of a center, of one and the same cluster
_LIKELY = 0.2  # that clusters of the same number and name have more
_MOST = 0.5  # share of a cluster's rows that says where they came from or went


@dataclass(frozen=True)
class ClusterFate:
    """What became of a cluster.

    Attributes
    ----------
    kind : "kept", "split", "new", "merged" or "gone"
    old, new : number of the cluster in the old and in the new model; None where it is in one only
    text : the same in words
    """

    kind: str
    old: int | None
    new: int | None
    text: str


@dataclass(frozen=True)
class ClusterChanges:
    """What became of the clusters of a model in another one.

    Attributes
    ----------
    crosstab : array of shape (n_old, n_new)
        Number of rows in each old and each new cluster.
    pairs : tuple of (int, int)
        Old and new number of the clusters that are the same.
    old_names, new_names : tuples of str

    Examples
    --------
    >>> table = np.array([[50.0, 0.0, 40.0], [0.0, 90.0, 2.0]])
    >>> print(ClusterChanges(table, ((0, 0), (1, 1)), ("a", "b"), ("a", "b", "c")))
    cluster 0 (a) is kept: 90 rows by the old rules, 50 by the new
    cluster 1 (b) is kept: 92 rows by the old rules, 90 by the new
    cluster 2 (c) is split from cluster 0 (a): 95 % of its 42 rows come from there
    """

    crosstab: Floats
    pairs: tuple[tuple[int, int], ...]
    old_names: tuple[str, ...]
    new_names: tuple[str, ...]

    @property
    def n_moved(self) -> float:
        """Rows that are not in the cluster that theirs became."""
        return float(self.crosstab.sum() - sum(self.crosstab[pair] for pair in self.pairs))

    @property
    def fates(self) -> tuple[ClusterFate, ...]:
        """What became of each cluster: first those that are kept, then new and old ones."""
        kept_old, kept_new = ({pair[side] for pair in self.pairs} for side in (0, 1))
        n_old, n_new = self.crosstab.shape
        found = [self._kept(old, new) for old, new in sorted(self.pairs)]
        found += [self._appeared(new) for new in range(n_new) if new not in kept_new]
        parts = [fate for fate in found if fate.kind == "split"]
        found += [self._vanished(old, parts) for old in range(n_old) if old not in kept_old]
        return tuple(found)

    def of_kind(self, kind: str) -> tuple[ClusterFate, ...]:
        """The clusters with that fate."""
        return tuple(fate for fate in self.fates if fate.kind == kind)

    def _kept(self, old: int, new: int) -> ClusterFate:
        number = "" if old == new else f", now with the number {new}"
        renamed = self.old_names[old] != self.new_names[new]
        called = f", now called {self.new_names[new]}" if renamed else ""
        before, now = self.crosstab[old].sum(), self.crosstab[:, new].sum()
        rows = f"{before:,.0f} rows by the old rules, {now:,.0f} by the new"
        return ClusterFate("kept", old, new, f"{self._old(old)} is kept{number}{called}: {rows}")

    def _appeared(self, new: int) -> ClusterFate:
        rows = self.crosstab[:, new]
        total, old = rows.sum(), int(rows.argmax())
        if total and rows[old] >= _MOST * total:
            share = percent(float(rows[old] / total))
            from_old = f"is split from {self._old(old)}: {share} of its {total:,.0f} rows come"
            return ClusterFate("split", old, new, f"{self._new(new)} {from_old} from there")
        return ClusterFate("new", None, new, f"{self._new(new)} is new: {total:,.0f} rows")

    def _vanished(self, old: int, parts: list[ClusterFate]) -> ClusterFate:
        rows = self.crosstab[old]
        total, new = rows.sum(), int(rows.argmax())
        into = [self._new(part.new) for part in parts if part.old == old and part.new is not None]
        if len(into) > 1:
            text = f"{self._old(old)} is split into {' and '.join(into)}: {total:,.0f} rows"
            return ClusterFate("split", old, None, text)
        taken = any(pair[1] == new for pair in self.pairs)
        if total and rows[new] >= _MOST * total and taken:
            share = percent(float(rows[new] / total))
            to_new = f"is merged into {self._new(new)}: {share} of its {total:,.0f} rows are there"
            return ClusterFate("merged", old, new, f"{self._old(old)} {to_new}")
        return ClusterFate(
            "gone", old, None, f"{self._old(old)} is gone: its rules hold {total:,.0f} rows"
        )

    def _old(self, old: int) -> str:
        return f"cluster {old} ({self.old_names[old]})"

    def _new(self, new: int) -> str:
        return f"cluster {new} ({self.new_names[new]})"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "crosstab": self.crosstab.tolist(),
            "old_names": list(self.old_names),
            "new_names": list(self.new_names),
            "n_moved": self.n_moved,
            "clusters": [
                {"kind": fate.kind, "old": fate.old, "new": fate.new, "text": fate.text}
                for fate in self.fates
            ],
        }

    def __str__(self) -> str:
        return "\n".join(fate.text for fate in self.fates)


def crosstab(old: NDArray[Any], new: NDArray[Any], n_old: int, n_new: int) -> Floats:
    """Number of rows in each old and each new cluster."""
    cells = np.asarray(old, dtype=np.int64) * n_new + np.asarray(new)
    return np.bincount(cells, minlength=n_old * n_new).reshape(n_old, n_new).astype(np.float64)


def match_on_rows(
    table: Floats, likely: Sequence[tuple[int, int]] = ()
) -> tuple[tuple[int, int], ...]:
    """Pairs of clusters with the largest sum of Jaccard indices; those below a half are dropped.

    ``likely``: pairs whose index counts ``_LIKELY`` more, because they have the same name.

    Examples
    --------
    >>> match_on_rows(np.array([[0.0, 10.0], [8.0, 1.0]]))
    ((0, 1), (1, 0))
    """
    union = table.sum(axis=1)[:, None] + table.sum(axis=0) - table
    jaccard = np.divide(table, union, out=np.zeros_like(table), where=union > 0)
    for pair in likely:
        jaccard[pair] += _LIKELY * (jaccard[pair] > 0)
    old, new = linear_sum_assignment(jaccard, maximize=True)
    return tuple((int(i), int(j)) for i, j in zip(old, new, strict=True) if jaccard[i, j] >= _SAME)


def match_on_centers(old: Floats, new: Floats) -> tuple[tuple[int, int], ...]:
    """Pairs of centers that are nearest in sum; those that moved too far are dropped.

    Too far is half the distance from the old center to the nearest other old one.

    Examples
    --------
    >>> match_on_centers(np.array([[0.0], [10.0]]), np.array([[11.0], [1.0], [50.0]]))
    ((0, 1), (1, 0))
    """
    moves = np.linalg.norm(old[:, None] - new[None], axis=2)
    first, second = linear_sum_assignment(moves**2)
    apart = np.linalg.norm(old[:, None] - old[None], axis=2)
    np.fill_diagonal(apart, np.inf)
    nearest = apart.min(axis=1)
    return tuple(
        (int(i), int(j))
        for i, j in zip(first, second, strict=True)
        if moves[i, j] <= _SAME * nearest[i] or moves[i, j] == 0
    )
