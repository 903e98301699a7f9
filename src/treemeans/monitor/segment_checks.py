"""Checks of segments that need the rows: shuffled columns, and other starts of k-means.

Clusters of shuffled columns. Shuffling every column by itself keeps what values there are, and
removes what columns have to do with each other. K-means finds clusters there as well; if its
clusters of the table are no more compact, the table shows no clusters beyond what single columns
do (the reference distribution of Tibshirani, Walther and Hastie 2001, by permutation). A single
column may show groups all the same: the table is warned of only if its clusters are no more compact
than in uniform columns of the same variance either, where there are none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from treemeans import _core
from treemeans.explain.segment_warnings import starts_disagree
from treemeans.explain.warning_record import SegmentWarning
from treemeans.model_file.saved_parameters import NotSaved
from treemeans.reference import Reference
from treemeans.reference.center_search import rand_index, seed_centers
from treemeans.reference.cluster_table import near_origin
from treemeans.reference.lloyd import LloydRows, one_thread
from treemeans.rows import as_points
from treemeans.validation import check_weights

Floats = NDArray[np.float64]

LEVEL = 0.05
_SHUFFLES = 19  # the least number with which a share of 1 / (shuffles + 1) is at most LEVEL
_ROWS = 2000  # that are looked at
_MOST_VALUES = 4_000_000  # of a sparse sample that is made dense to be shuffled
_STARTS = 2  # of k-means on the rows and on each shuffle
_ROUNDS = 30
_LEAST_ROWS = 5  # for each cluster, below which nothing can be said
_AGREEMENT_STARTS = 10
_AGREEMENT_ROUNDS = 8


def check_rows(model: Any, X: Any, sample_weight: Any, seed: int) -> tuple[SegmentWarning, ...]:
    """What the rows show to be wrong with the clusters of a fitted model."""
    reference: Reference = model._fit_result.reference
    if model._fit_result.cost != "kmeans":
        return ()  # shuffles are compared by the cost of k-means
    if isinstance(reference.pipeline, NotSaved):
        raise ValueError(
            "check_segments needs the space of the reference, and a file does not hold its "
            "pipeline; call it on the model that was fitted."
        )
    raw, X = X, model._validate(X, reset=False)
    weights = check_weights(X, sample_weight)
    rows = X if reference.pipeline is None else reference.space(X, raw)
    if sparse.issparse(rows):
        rows = rows.tocsr()
    rng = np.random.default_rng(seed)
    chosen = _sample(rows, weights, rng)
    some = rows[chosen]
    if some.dtype.kind != "f":
        some = some.astype(np.float64)
    weight = None if weights is None else weights[chosen]
    k = reference.n_clusters
    if k < 2 or len(chosen) < _LEAST_ROWS * k:
        return ()
    with one_thread():
        found = shuffle_warnings(some, weight, reference.centers, rng)
        if reference.start_agreement is None:
            found += starts_disagree(_agreement(some, weight, reference.centers, rng))
    return tuple(found)


def shuffle_warnings(
    rows: Any, weights: Floats | None, centers: Floats, rng: np.random.Generator
) -> list[SegmentWarning]:
    """That the clusters, or some of them, are no more compact than those of shuffled columns.

    Parameters
    ----------
    rows : in the space of the centers
    """
    dense = rows.toarray() if sparse.issparse(rows) else rows
    test = compare_with_shuffles(dense, weights, centers, rng)
    if test.share > LEVEL and test.uniform_share <= LEVEL:
        return []  # single columns show the groups
    if test.share > LEVEL:
        return [
            SegmentWarning(
                "not compact",
                (),
                "the clusters are no more compact than those of k-means on shuffled columns "
                f"(cost {test.ratio:.2f} of theirs)",
                "the columns may have nothing to do with each other: drop columns that are "
                "noise, or do not cluster this table",
            )
        ]
    if len(test.loose):
        verb = "is" if len(test.loose) == 1 else "are"
        return [
            SegmentWarning(
                "not compact",
                tuple(test.loose),
                f"{verb} no more compact than shuffled rows near the same center",
                "the rest of the rows rather than a segment: try another number of clusters",
            )
        ]
    return []


@dataclass(frozen=True)
class ShuffleTest:
    """What a comparison with shuffled columns found.

    Attributes
    ----------
    share : of the shuffles, the table itself included, that k-means clusters as cheaply
    uniform_share : the same for tables of uniform columns; 0 if the shuffles say enough
    ratio : cost of the table's clusters, divided by the mean of the shuffles'
    loose : clusters whose rows are no closer to their center than the rows nearest to it are in
        half of the shuffles
    """

    share: float
    uniform_share: float
    ratio: float
    loose: list[int]


def compare_with_shuffles(
    rows: Floats, weights: Floats | None, centers: Floats, rng: np.random.Generator
) -> ShuffleTest:
    """Cluster rows and shuffles of their columns alike, and compare the costs.

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(200, 3))
    >>> round(compare_with_shuffles(rows, None, rows[:4], np.random.default_rng(0)).ratio, 1)
    1.0
    """
    moved, shift = near_origin(rows)
    start = np.asarray(centers - shift, dtype=np.float64)
    table = LloydRows.of(moved, weights, 1e-4)
    cost, own = _least_cost(table, len(start), rng), _spread(table, start)
    shuffled_costs, spreads = [], []
    for _ in range(_SHUFFLES):
        shuffle = LloydRows(rng.permuted(moved, axis=0), table.weights, table.tol)
        shuffled_costs.append(_least_cost(shuffle, len(start), rng))
        spreads.append(_spread(shuffle, start))
    mean = float(np.mean(shuffled_costs))
    share, uniform_share = _share(cost, shuffled_costs), 0.0
    if share > LEVEL:
        uniform_share = _share(cost, _uniform_costs(table, len(start), rng))
    with np.errstate(invalid="ignore"):
        no_closer = np.mean(np.array(spreads) <= own, axis=0) >= 0.5
    return ShuffleTest(
        share=share,
        uniform_share=uniform_share,
        ratio=cost / mean if mean > 0 else 1.0,
        loose=np.flatnonzero(no_closer).tolist(),
    )


def _share(cost: float, others: list[float]) -> float:
    """The p-value of a permutation test: the table counts as one of its own shuffles."""
    return (1 + sum(other <= cost * (1.0 + 1e-12) for other in others)) / (len(others) + 1)


def _uniform_costs(table: LloydRows, k: int, rng: np.random.Generator) -> list[float]:
    """Costs of k-means on uniform columns with the variances of the table's columns."""
    X = np.asarray(table.X, dtype=np.float64)
    half = math.sqrt(3.0) * X.std(axis=0)
    found = []
    for _ in range(_SHUFFLES):
        rows = LloydRows(
            rng.uniform(-half, half, X.shape), table.weights.astype(X.dtype), table.tol
        )
        found.append(_least_cost(rows, k, rng))
    return found


def _least_cost(rows: LloydRows, k: int, rng: np.random.Generator) -> float:
    """Cost of k-means from fresh starts.

    The model's own centers were searched for on the table, and would give it an advantage.
    """
    seeds = seed_centers(rows, k, _STARTS, rng)
    return min(rows.run(rows.rows(seed), _ROUNDS).cost for seed in seeds)


def _spread(rows: LloydRows, centers: Floats) -> Floats:
    """Mean squared distance to each center of the rows nearest to it; NaN without rows."""
    squares, nearest = _core.nearest_centers(as_points(rows.X), centers, 1)
    k = len(centers)
    weight = np.bincount(nearest, rows.weights, minlength=k)
    total = np.bincount(nearest, rows.weights * squares, minlength=k)
    spread: Floats = np.divide(total, weight, out=np.full(k, np.nan), where=weight > 0)
    return spread


def _agreement(
    rows: Any, weights: Floats | None, centers: Floats, rng: np.random.Generator
) -> list[float]:
    """Adjusted Rand index of starts of k-means and the model's own clustering."""
    moved, shift = near_origin(rows)
    table = LloydRows.of(moved, weights, 1e-4)
    chosen = table.run(np.asarray(centers - shift, dtype=np.float64), 1)
    seeds = seed_centers(table, len(centers), _AGREEMENT_STARTS, rng)
    starts = [table.run(table.rows(seed), _AGREEMENT_ROUNDS) for seed in seeds]
    return [rand_index(one.labels, chosen.labels, table.weights) for one in starts]


def _sample(rows: Any, weights: Floats | None, rng: np.random.Generator) -> NDArray[np.intp]:
    """Rows to look at: those with weight, or so many of them, in their order."""
    there = np.arange(rows.shape[0]) if weights is None else np.flatnonzero(weights)
    most = _ROWS
    if sparse.issparse(rows):
        most = max(min(most, _MOST_VALUES // max(1, int(rows.shape[1]))), 1)
    if len(there) <= most:
        return there
    return np.sort(rng.choice(there, most, replace=False))
