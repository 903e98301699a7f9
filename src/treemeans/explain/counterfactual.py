"""The smallest change of a row that moves it to another cluster."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from treemeans.columns import Reader
from treemeans.explain.allowed_changes import AllowedChanges
from treemeans.explain.feature_change import Change, change_of
from treemeans.explain.html_table import MOST_ROWS, html_table, more_rows
from treemeans.explain.leaf_distances import NONE_REACHED, LeafDistances, differ
from treemeans.explain.model_facts import Facts
from treemeans.explain.phrases import Plain, first_few, listed
from treemeans.explain.to_frame import data_frame


@dataclass(frozen=True)
class Counterfactual:
    """The smallest change that moves a row to another cluster.

    Attributes
    ----------
    possible : whether there is one
    why : if not, why not, in a sentence; else empty
    cluster : where the row is
    to : where it is to be; None if that was left open, and no other cluster can be reached
    features : what changes, in the order of the columns
    distance : how far the row moves, in standard deviations (the root of the summed squares
        over columns); infinite if it is not possible
    leaf : node number of the leaf it comes to; None if it is not possible
    row : the row as it would be; unchanged if it is not possible
    """

    possible: bool
    why: str
    cluster: int
    to: int | None
    features: tuple[Change, ...]
    distance: float
    leaf: int | None
    row: NDArray[np.float64]

    @property
    def changes(self) -> dict[str, tuple[Plain, Plain]]:
        """``{column or source of categories: (old value, new value)}``."""
        return {change.name: (change.old, change.new) for change in self.features}

    @property
    def n_changed(self) -> int:
        """Number of features that change."""
        return len(self.features)

    def to_dict(self) -> dict[str, Any]:
        """Numbers, text, lists and dicts, ready for JSON; dates in ISO format."""
        return {
            "possible": self.possible,
            "why": self.why,
            "cluster": self.cluster,
            "to": self.to,
            "changes": {change.name: change.to_dict() for change in self.features},
            "distance": self.distance if self.possible else None,
            "leaf": self.leaf,
            "row": self.row.tolist(),
        }

    def _repr_html_(self) -> str:
        rows = [[change.name, change.old, change.new, change.words] for change in self.features]
        return html_table(str(self), ["column", "now", "needed", "change"], rows)

    def __str__(self) -> str:
        if not self.possible:
            return self.why
        if not self.features:
            return f"Nothing has to change: the row is in cluster {self.to}."
        return f"To be in cluster {self.to}: {listed([c.words for c in self.features])}."


class Counterfactuals(Sequence[Counterfactual]):
    """The smallest change of each of many rows: a ``Counterfactual`` for each, and arrays.

    Parameters
    ----------
    facts : Facts
    X : array or sparse matrix of finite numbers
    to : the cluster to move to; None for the one at the least distance, for each row
    allowed_changes : what may change

    Attributes
    ----------
    possible : array of bool
    cluster, to : arrays of int, where the rows are, and are to be (-1: no other can be reached)
    leaf : array of int, the leaf that each row comes to; -1 where that is not possible
    n_changed : array of int, how many features change
    distance : array of float, how far each row moves in standard deviations; infinite where that
        is not possible
    X : array or sparse matrix, the rows as they would be; unchanged where that is not possible
    """

    def __init__(
        self, facts: Facts, X: Any, to: int | None, allowed_changes: AllowedChanges
    ) -> None:
        tree = facts.tree
        leaves = tree.leaves if to is None else tree.leaves[tree.label[tree.leaves] == to]
        leaf_distances = LeafDistances(facts, allowed_changes, leaves)
        self._facts, self._given, self._asked, self._allowed_changes = facts, X, to, allowed_changes
        self._moves, self._used = leaf_distances.moves, leaf_distances.used
        self._old = leaf_distances.values(X)
        self._new = self._old.copy()
        self.cluster = tree.predict(X)
        n = len(self.cluster)
        self.leaf = np.full(n, NONE_REACHED, dtype=np.intp)
        self.n_changed = np.zeros(n, dtype=np.int32)
        self.distance = np.full(n, np.inf)
        for block in leaf_distances.blocks(n):
            self._solve(leaf_distances, block)
        self.possible = self.leaf != NONE_REACHED
        self.to = np.full(n, to, dtype=np.int32) if to is not None else self._reached

    @property
    def _reached(self) -> NDArray[np.int32]:
        return np.append(self._facts.tree.label, np.int32(NONE_REACHED))[self.leaf]

    def _solve(self, leaf_distances: LeafDistances, block: slice) -> None:
        """Choose a leaf for each row of a block, and find its new values."""
        old = self._old[:, block]
        distances = leaf_distances.distances(old)
        among = np.ones(distances.squares.shape, dtype=bool)
        if self._asked is None:
            label = self._facts.tree.label[leaf_distances.leaves]
            nearest = distances.nearest(label[:, None] != self.cluster[block])
            among = label[:, None] == np.append(label, NONE_REACHED)[nearest]
        chosen = distances.easiest(among)
        new = leaf_distances.moved(old, chosen)
        able = np.flatnonzero(chosen != NONE_REACHED)
        self._new[:, block] = new
        self.leaf[block] = np.append(leaf_distances.leaves, NONE_REACHED)[chosen]
        self.n_changed[block][able] = distances.changes[chosen[able], able]
        self.distance[block][able] = leaf_distances.length(old[:, able], new[:, able])

    @cached_property
    def X(self) -> Any:  # noqa: N802
        """The rows as they would be."""
        if sparse.issparse(self._given):
            return self._sparse_rows()
        X = np.array(self._given, dtype=np.float64)
        X[:, self._used] = self._new.T
        return X

    def _sparse_rows(self) -> Any:
        places, rows = np.nonzero(differ(self._old, self._new))
        at, shape = (rows, self._used[places]), self._given.shape
        changed = sparse.csr_array((np.ones(len(rows)), at), shape=shape)
        values = sparse.csr_array((self._new[places, rows], at), shape=shape)
        kept = sparse.csr_array(self._given, dtype=np.float64)
        X = kept - kept.multiply(changed) + values  # exact: every sum is of a value and zeros
        X.eliminate_zeros()
        return X

    def _row(self, i: int) -> NDArray[np.float64]:
        rows = self._given[[i]]
        table = rows.toarray() if sparse.issparse(rows) else rows
        row: NDArray[np.float64] = np.array(table[0], dtype=np.float64)
        row[self._used] = self._new[:, i]
        return row

    @cached_property
    def _reader(self) -> Reader:
        return Reader(self._facts.tree, self._facts.columns)

    def _changes(self, rows: slice) -> list[list[Change]]:
        """For each of the rows, what changes in it."""
        n = len(range(len(self))[rows])
        changes: list[list[Change]] = [[] for _ in range(n)]
        for move in self._moves:
            places = np.searchsorted(self._used, move.features)
            old, new = self._old[places, rows], self._new[places, rows]
            for i in np.flatnonzero(differ(old, new).any(axis=0)).tolist():
                changes[i].append(change_of(self._reader, move, old[:, i], new[:, i]))
        return changes

    @property
    def _why_not(self) -> str:
        if self._asked is None:
            return f"No other cluster can be reached{self._allowed_changes.words}."
        if self._asked not in self._facts.tree.label[self._facts.tree.leaves]:
            return f"No leaf of the tree is in cluster {self._asked}."
        return f"No leaf of cluster {self._asked} can be reached{self._allowed_changes.words}."

    @overload
    def __getitem__(self, i: int) -> Counterfactual: ...
    @overload
    def __getitem__(self, i: slice) -> list[Counterfactual]: ...
    def __getitem__(self, i: int | slice) -> Counterfactual | list[Counterfactual]:
        if isinstance(i, slice):
            return [self[j] for j in range(*i.indices(len(self)))]
        i = range(len(self))[i]
        possible, to = bool(self.possible[i]), int(self.to[i])
        return Counterfactual(
            possible=possible,
            why="" if possible else self._why_not,
            cluster=int(self.cluster[i]),
            to=None if to == NONE_REACHED else to,
            features=tuple(self._changes(slice(i, i + 1))[0]),
            distance=float(self.distance[i]),
            leaf=int(self.leaf[i]) if possible else None,
            row=self._row(i),
        )

    def __len__(self) -> int:
        return len(self.leaf)

    def to_frame(self, package: str = "pandas") -> Any:
        """A data frame (``"pandas"`` or ``"polars"``) with a row for each row that was given.

        Its columns are those arrays, and ``change``: what to do in words, or why it is not
        possible.
        """
        why_not = self._why_not
        words = [
            listed([change.words for change in changes]) if possible else why_not
            for changes, possible in zip(self._changes(slice(None)), self.possible, strict=True)
        ]
        arrays = ("cluster", "to", "possible", "n_changed", "distance", "leaf")
        return data_frame(
            package, {name: getattr(self, name) for name in arrays} | {"change": words}
        )

    def __str__(self) -> str:
        return first_few(self, "\n")

    def _repr_html_(self) -> str:
        rows = []
        for i, each in enumerate(self[:MOST_ROWS]):
            words = listed([c.words for c in each.features]) if each.possible else each.why
            to = "" if each.to is None else each.to
            far = f"{each.distance:.2f}" if each.possible else ""
            rows.append([i, each.cluster, to, words or "nothing has to change", far])
        head = ["row", "cluster", "to", "change", "standard deviations"]
        return html_table(repr(self), head, rows, more_rows(len(self)))

    def __repr__(self) -> str:
        return f"Counterfactuals of {len(self)} rows, {np.count_nonzero(self.possible)} possible"


def check_cluster(to: Any, n_clusters: int) -> int | None:
    """Return a cluster number that the tree can have, or None; refuse anything else."""
    if to is None:
        return None
    is_number = isinstance(to, numbers.Integral) and not isinstance(to, bool)
    if not is_number or not 0 <= to < n_clusters:
        raise ValueError(f"to must be a cluster from 0 to {n_clusters - 1}, or None; got {to!r}.")
    return int(to)
