"""Rows of results: what clusterings by trees cost to one reference."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import pairwise_distances

from benchmarks.problems import BLOCK, Reference, kmeans_cost

Row = dict[str, Any]


class LabelCosts:
    """Costs of labels of rows."""

    def __init__(self, X: Any, known: Reference) -> None:
        self.X, self.known = X, known
        self.distances = _distances(X, known.centers)

    def row(self, labels: NDArray[Any], leaves: int) -> Row:
        """Return what a clustering by a tree costs, and how like the reference it is."""
        known, each = self.known, np.arange(len(labels))
        return {
            "leaves": int(leaves),
            "ratio": kmeans_cost(self.X, labels) / known.inertia,
            "surrogate": float(self.distances[each, labels].sum()) / known.inertia,
            "accuracy": float((labels == known.labels).mean()),
        }

    def totals(self, group: NDArray[Any], n: int) -> NDArray[np.float64]:
        """Return the cost of each group of rows to each center."""
        columns = [np.bincount(group, column, minlength=n) for column in self.distances.T]
        return np.stack(columns, axis=1)


class LeafCosts:
    """Costs of labels of leaves: rows are read once, however many trees join the leaves anew.

    Parameters
    ----------
    leaf : the leaf of each row, from 0 to n_leaves - 1, none of them empty
    """

    def __init__(self, X: Any, known: Reference, leaf: NDArray[Any]) -> None:
        self.known, self.n_leaves = known, int(leaf.max()) + 1
        costs, k = LabelCosts(X, known), len(known.centers)
        self.counts = np.bincount(leaf, minlength=self.n_leaves)
        self.totals = costs.totals(leaf, self.n_leaves)
        self.right = np.zeros((self.n_leaves, k))
        np.add.at(self.right, (leaf, known.labels), 1.0)
        self.sums, self.squares = _sums(X, leaf, self.n_leaves)

    def row(self, labels: NDArray[Any], leaves: int) -> Row:
        """Return what `LabelCosts.row` does, for the labels of the leaves."""
        known, each = self.known, np.arange(self.n_leaves)
        member = np.equal.outer(np.unique(labels), labels).astype(np.float64)
        means = ((member @ self.sums) ** 2).sum(axis=1) / (member @ self.counts)
        return {
            "leaves": int(leaves),
            "ratio": float(self.squares - means.sum()) / known.inertia,
            "surrogate": float(self.totals[each, labels].sum()) / known.inertia,
            "accuracy": float(self.right[each, labels].sum()) / float(self.counts.sum()),
        }


def _sums(X: Any, leaf: NDArray[Any], n: int) -> tuple[NDArray[np.float64], float]:
    """Return the sum of the rows of each leaf, and that of all squares."""
    sums, squares = np.zeros((n, X.shape[1])), 0.0
    for rows, part in _blocks(X, leaf):
        each = np.arange(len(part))
        member = sparse.csr_matrix((np.ones(len(part)), (part, each)), shape=(n, len(part)))
        found = member @ rows
        sums += found.toarray() if sparse.issparse(found) else found
        stored = rows.data if sparse.issparse(rows) else rows.ravel()
        squares += float(stored @ stored)
    return sums, squares


def _blocks(X: Any, *others: NDArray[Any]) -> Iterator[tuple[Any, ...]]:
    """Some rows after the other, in full precision, with the same rows of other arrays."""
    for at in range(0, X.shape[0], BLOCK):
        some = slice(at, at + BLOCK)
        yield X[some].astype(np.float64), *(other[some] for other in others)


def _distances(X: Any, centers: NDArray[Any]) -> NDArray[np.float64]:
    """Squared distance of each row to each center."""
    return np.vstack([pairwise_distances(rows, centers) ** 2 for (rows,) in _blocks(X)])
