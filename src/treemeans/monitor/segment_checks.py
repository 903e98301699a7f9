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

_SHUFFLES = 19  # of which none is as cheap, in 5 % of tables whose columns are independent
_SHUFFLES_IN_FIT = 5  # fewer, so that more is missed, and no more is warned of than with all
_ROWS = 2000  # that are looked at
_LARGE = 1_000_000  # values of a table from which on a look takes little of a fit
_FEW_ROWS = 500  # for a first look in a fit
_CLEAR = 0.8  # share of a shuffle's cost below which clusters are far more compact
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
    rng = np.random.default_rng(seed)
    some = _sampled(rows, weights, _ROWS, rng)
    k = reference.n_clusters
    if k < 2 or len(some.weights) < _LEAST_ROWS * k:
        return ()
    with one_thread():
        found = shuffle_warnings(some.X, some.weights, reference.centers, rng)
        if reference.start_agreement is None:
            found += starts_disagree(_agreement(some, reference.centers, rng))
    return tuple(found)


def look_in_passing(
    rows: Any, weights: Floats | None, centers: Floats
) -> tuple[SegmentWarning, ...]:
    """The comparison with shuffles as a part of a fit: only where it takes little of its time.

    That is on large tables. First one shuffle of a few rows is clustered: where it costs much more
    than the rows themselves, there is nothing to warn of, and most tables end here.

    Parameters
    ----------
    rows : in the space of the centers
    """
    k = len(centers)
    if k < 2 or rows.shape[0] * rows.shape[1] < _LARGE:
        return ()
    rng = np.random.default_rng(0)
    few = _sampled(rows, weights, _FEW_ROWS, rng)
    if len(few.weights) < _LEAST_ROWS * k:
        return ()
    with one_thread():
        if not _is_doubtful(few, centers, rng):
            return ()
        some = _sampled(rows, weights, _ROWS, rng)
        return tuple(shuffle_warnings(some.X, some.weights, centers, rng, _SHUFFLES_IN_FIT))


def _is_doubtful(few: LloydRows, centers: Floats, rng: np.random.Generator) -> bool:
    """Whether a single shuffle is, or one of its clusters, almost as compact as the rows."""
    moved, shift = near_origin(few.X)
    start = np.asarray(centers - shift, dtype=np.float64)
    table = LloydRows.of(moved, few.weights, 1e-4)
    shuffle = LloydRows(rng.permuted(moved, axis=0), table.weights, table.tol)
    costs = [
        each.run(each.rows(seed_centers(each, len(start), 1, rng)[0]), _ROUNDS).cost
        for each in (table, shuffle)
    ]
    if costs[0] > _CLEAR * costs[1]:
        return True
    with np.errstate(invalid="ignore"):
        return bool((_spread(table, start) > _CLEAR * _spread(shuffle, start)).any())


def shuffle_warnings(
    rows: Any,
    weights: NDArray[np.floating[Any]] | None,
    centers: Floats,
    rng: np.random.Generator,
    n_shuffles: int = _SHUFFLES,
) -> list[SegmentWarning]:
    """That the clusters, or some of them, are no more compact than those of shuffled columns.

    Parameters
    ----------
    rows : in the space of the centers
    """
    test = compare_with_shuffles(rows, weights, centers, rng, n_shuffles)
    level = 1.0 / (n_shuffles + 1)
    if test.share > level and test.uniform_share <= level:
        return []  # single columns show the groups
    if test.share > level:
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
        A comparison ends with the first that is as cheap.
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
    rows: Floats,
    weights: NDArray[np.floating[Any]] | None,
    centers: Floats,
    rng: np.random.Generator,
    n_shuffles: int = _SHUFFLES,
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
    shuffled_costs: list[float] = []
    spreads = []
    while len(shuffled_costs) < n_shuffles and not _as_cheap(cost, shuffled_costs):
        shuffle = LloydRows(rng.permuted(moved, axis=0), table.weights, table.tol)
        shuffled_costs.append(_least_cost(shuffle, len(start), rng))
        spreads.append(_spread(shuffle, start))
    mean = float(np.mean(shuffled_costs))
    share, uniform_share = _share(cost, shuffled_costs), 0.0
    if _as_cheap(cost, shuffled_costs):
        uniform_share = _share(cost, _uniform_costs(table, cost, len(start), n_shuffles, rng))
    with np.errstate(invalid="ignore"):
        no_closer = np.mean(np.array(spreads) <= own, axis=0) >= 0.5
    return ShuffleTest(
        share=share,
        uniform_share=uniform_share,
        ratio=cost / mean if mean > 0 else 1.0,
        loose=np.flatnonzero(no_closer).tolist(),
    )


def _as_cheap(cost: float, others: list[float]) -> int:
    return sum(other <= cost * (1.0 + 1e-12) for other in others)


def _share(cost: float, others: list[float]) -> float:
    """The p-value of a permutation test: the table counts as one of its own shuffles."""
    return (1 + _as_cheap(cost, others)) / (len(others) + 1)


def _uniform_costs(
    table: LloydRows, cost: float, k: int, n_tables: int, rng: np.random.Generator
) -> list[float]:
    """Costs of k-means on uniform columns with the variances of the table's columns."""
    X = np.asarray(table.X, dtype=np.float64)
    half = math.sqrt(3.0) * X.std(axis=0)
    found: list[float] = []
    while len(found) < n_tables and not _as_cheap(cost, found):
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


def _agreement(some: LloydRows, centers: Floats, rng: np.random.Generator) -> list[float]:
    """Adjusted Rand index of starts of k-means and the model's own clustering."""
    moved, shift = near_origin(some.X)
    table = LloydRows.of(moved, some.weights, 1e-4)
    chosen = table.run(np.asarray(centers - shift, dtype=np.float64), 1)
    seeds = seed_centers(table, len(centers), _AGREEMENT_STARTS, rng)
    starts = [table.run(table.rows(seed), _AGREEMENT_ROUNDS) for seed in seeds]
    return [rand_index(one.labels, chosen.labels, table.weights) for one in starts]


def _sampled(rows: Any, weights: Floats | None, most: int, rng: np.random.Generator) -> LloydRows:
    """Dense rows to look at: those with weight, or so many of them, in their order."""
    there = np.arange(rows.shape[0]) if weights is None else np.flatnonzero(weights)
    if sparse.issparse(rows):
        rows = rows.tocsr()
        most = max(min(most, _MOST_VALUES // max(1, int(rows.shape[1]))), 1)
    if len(there) > most:
        there = np.sort(rng.choice(there, most, replace=False))
    some = rows[there]
    dense = some.toarray() if sparse.issparse(some) else some
    if dense.dtype.kind != "f":
        dense = dense.astype(np.float64)
    weight = np.ones(len(there)) if weights is None else weights[there]
    return LloydRows(dense, np.asarray(weight, dtype=dense.dtype), 0.0)
