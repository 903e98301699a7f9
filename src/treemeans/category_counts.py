"""How often each leaf has each category of a column, for what is said about clusters."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_MOST = 20  # categories of a column that are kept: the most frequent ones
_FEWEST = 5.0  # rows of a category that is kept, so that no count tells of a single person
_MOST_CODES = 4096  # of columns with more categories none is typical of a cluster
_BLOCK = 65_536  # rows that are counted at a time


@dataclass(frozen=True)
class CategoryCounts:
    """Weight of the rows of each leaf, or of each cluster, by the category of a column.

    Attributes
    ----------
    feature : number of the column
    codes : of the categories that are counted, ascending
    weight : (n_leaves or n_clusters, len(codes))
    """

    feature: int
    codes: NDArray[np.int32]
    weight: Floats

    def merged(self, labels: NDArray[np.int32], n_clusters: int) -> CategoryCounts:
        """The counts of the clusters that the leaves with these labels make."""
        weight = np.zeros((n_clusters, len(self.codes)))
        np.add.at(weight, labels, self.weight)
        return CategoryCounts(self.feature, self.codes, weight)


def frequent_categories(
    found: Iterable[tuple[int, Floats, Floats]],
) -> tuple[CategoryCounts, ...]:
    """The most frequent categories of columns that have any that enough rows have.

    ``found``: by column its number, the weights (n_leaves, n_categories), and the numbers of rows
    (n_categories,).
    """
    counted = []
    for feature, weight, rows in found:
        order = np.argsort(-rows, kind="stable")[:_MOST]
        kept = np.sort(order[rows[order] >= _FEWEST])
        if len(kept):
            counted.append(CategoryCounts(feature, kept.astype(np.int32), weight[:, kept]))
    return tuple(counted)


def columns_to_count(n_codes: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Columns of categories that are counted, with their numbers of categories."""
    return tuple((feature, n) for feature, n in n_codes if 0 < n <= _MOST_CODES)


def count_by_leaf(
    column: NDArray[np.floating[Any]],
    groups: NDArray[np.integer[Any]],
    shape: tuple[int, int],
    weights: Floats | None,
) -> tuple[Floats, Floats]:
    """Weights by leaf and category of one column, and rows by category; NaN is not counted.

    Parameters
    ----------
    column : category codes
    groups : leaf of each row
    shape : numbers of leaves and of categories
    """
    counts, rows = np.zeros(shape[0] * shape[1]), np.zeros(shape[1])
    for first in range(0, len(column), _BLOCK):
        part = slice(first, first + _BLOCK)
        there = np.flatnonzero(~np.isnan(column[part]))
        codes = column[part][there].astype(np.int64)
        cells = groups[part][there].astype(np.int64) * shape[1] + codes
        own = None if weights is None else weights[part][there]
        counts += np.bincount(cells, own, minlength=len(counts))
        rows += np.bincount(codes, minlength=shape[1])
    return counts.reshape(shape), rows


def count_categories(
    X: NDArray[np.floating[Any]],
    n_codes: Iterable[tuple[int, int]],
    groups: NDArray[np.integer[Any]],
    n_leaves: int,
    weights: Floats | None,
) -> tuple[CategoryCounts, ...]:
    """Counts of some columns of category codes.

    ``n_codes``: pairs of a column and its number of categories.

    Examples
    --------
    >>> X = np.repeat([[0.0], [1.0], [2.0]], [6, 7, 3], axis=0)
    >>> found, = count_categories(X, [(0, 3)], np.arange(16) % 2, 2, None)
    >>> found.codes.tolist(), found.weight.tolist()
    ([0, 1], [[3.0, 4.0], [3.0, 3.0]])
    """
    return frequent_categories(
        (feature, *count_by_leaf(X[:, feature], groups, (n_leaves, n), weights))
        for feature, n in columns_to_count(n_codes)
    )
