"""Checks of segments that need the rows: shuffled columns, and other starts of k-means."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from treemeans import _core
from treemeans.explain.segment_warnings import starts_disagree
from treemeans.explain.warning_record import SegmentWarning
from treemeans.model_file.saved_parameters import NotSaved
from treemeans.monitor.shuffled_columns import (
    IN_FIT,
    LEAST_ROWS,
    QUICK,
    THOROUGH,
    compare_with_shuffles,
    shuffle_warnings,
)
from treemeans.reference import Reference
from treemeans.reference.center_search import rand_index, seed_centers
from treemeans.reference.cluster_table import near_origin
from treemeans.reference.lloyd import LloydRows, one_thread
from treemeans.validation import check_weights

Floats = NDArray[np.float64]

_ROWS = 2000  # that are looked at
_FEW_ROWS = (200, 500)  # for a first look in a fit, at least and at most
_ROWS_IN_FIT = 1000  # for the last one, at most
_LEAST_ROWS_IN_FIT = 15  # of a cluster, at least
# What a comparison in a fit may take of the fit, both in tenths of a nanosecond. A fit is priced by
# its size, on the low side; measured on the tables of benchmarks/SPEED.md.
_SHARE_OF_FIT = 0.045
_ANY_FIT, _ANY_KMEANS = 6e6, 4e7
_DENSE_VALUE, _STORED_VALUE, _COST = 40.0, 400.0, 100.0
_KMEANS_PASSES = 30  # over rows and centers
_KMEANS_SAMPLE, _SAMPLED_COST = 8192, 5000.0  # rows of a sample that its starts run on; of each
_LOOK_PASSES = 5  # over few rows in a first look
_FIT_PASSES = 100  # the comparisons after it rarely take more
_ROW_WORK, _VALUE_WORK = 45.0, 90.0  # of a row in each pass; of drawing and shuffling a value
_MOST_VALUES = 4_000_000  # of a sparse sample that is made dense to be shuffled
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
    rng = np.random.default_rng(seed)
    rows, weights = sampled_rows(model, X, sample_weight, _ROWS, rng)
    k = reference.n_clusters
    if k < 2 or len(rows) < LEAST_ROWS * k:
        return ()
    test = compare_with_shuffles(rows, weights, reference.centers, seed)
    found = shuffle_warnings(test, THOROUGH)
    if reference.start_agreement is None:
        with one_thread():
            found += starts_disagree(_agreement(rows, weights, reference.centers, rng))
    return tuple(found)


def sampled_rows(
    model: Any, X: Any, sample_weight: Any, most: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Some rows of a table, dense, in the space of the reference of a fitted model; weights."""
    reference: Reference = model._fit_result.reference
    raw, X = X, model._validate(X, reset=False)
    weights = check_weights(X, sample_weight)
    rows = X if reference.pipeline is None else reference.space(X, raw)
    return _sampled(rows, weights, most, rng)


def look_in_passing(
    rows: Any, weights: Floats | None, centers: Floats, *, given: bool
) -> tuple[SegmentWarning, ...]:
    """The comparison with shuffles that every fit makes, shorter than that of ``check_segments``.

    First one shuffle of a few rows is looked at: where it costs much more than the rows themselves,
    there is nothing to warn of, and most tables end here. The others are compared with up to five
    shuffles, fewer where these cost clearly more. What a part of the rows shows is warned of only
    if a larger part shows it too. A comparison that would take more than a small share of the fit
    is not made, or ends without a warning.

    Parameters
    ----------
    rows : in the space of the centers
    given : whether the fit was given the reference, and spent no time on it
    """
    k, n = centers.shape[0], rows.shape[0]
    there = None if weights is None else np.flatnonzero(weights)
    n = n if there is None else len(there)
    least, most = _FEW_ROWS
    few, work = min(n, max(least, 25 * k), most), _work_of_look(rows, k, given=given)
    n_rows = min(few, _affordable(rows.shape[1], k, _LOOK_PASSES, work))
    if k < 2 or n_rows < LEAST_ROWS * k:
        return ()
    centers = np.ascontiguousarray(centers, dtype=np.float64)
    some = _drawn(rows, weights, there, n_rows, 0)
    doubtful, work = _core.is_doubtful(*some, centers, 0, work)
    if not doubtful:
        return ()
    larger = min(n, _ROWS_IN_FIT, _affordable(rows.shape[1], k, _FIT_PASSES, work))
    if larger < min(few, _LEAST_ROWS_IN_FIT * k):
        return ()
    wanted = min(few, larger)
    if larger >= 2 * few:  # a part, before a larger one
        some = _drawn(rows, weights, there, few, 1)
        test = compare_with_shuffles(*some, centers, 1, QUICK, work)
        if not shuffle_warnings(test, QUICK):
            return ()
        work, wanted = test.work_left, larger
    some = _drawn(rows, weights, there, wanted, 2)
    return tuple(shuffle_warnings(compare_with_shuffles(*some, centers, 2, IN_FIT, work), IN_FIT))


def _work_of_look(rows: Any, k: int, *, given: bool) -> float:
    """Work that the comparison of a fit may take: a share of the fit's own, by its size."""
    is_sparse = sparse.issparse(rows)
    values = float(rows.nnz if is_sparse else rows.size)
    work = _ANY_FIT + values * (_STORED_VALUE if is_sparse else _DENSE_VALUE)
    work += _COST * float(rows.shape[0]) * k
    if not given:
        sampled = min(rows.shape[0], _KMEANS_SAMPLE)
        work += _ANY_KMEANS + _KMEANS_PASSES * values * k + _SAMPLED_COST * sampled * k
    return _SHARE_OF_FIT * work


def _affordable(d: int, k: int, passes: int, work: float) -> int:
    """Rows for so many passes."""
    return int(max(work, 0.0) / (d * _VALUE_WORK + passes * (d * k + _ROW_WORK)))


def _drawn(
    rows: Any, weights: Floats | None, there: NDArray[np.intp] | None, m: int, seed: int
) -> tuple[Floats, Floats]:
    """So many of the rows that are there, spread evenly over the table, dense; their weights."""
    n = rows.shape[0] if there is None else len(there)
    places: Any = _core.draw_rows(n, m, seed)
    places = places if there is None else there[places]
    return _dense(rows[places] if m < n or there is not None else rows, weights, places)


def _agreement(
    rows: Floats, weights: Floats, centers: Floats, rng: np.random.Generator
) -> list[float]:
    """Adjusted Rand index of starts of k-means and the model's own clustering."""
    moved, shift = near_origin(rows)
    table = LloydRows.of(moved, weights, 1e-4)
    chosen = table.run(np.asarray(centers - shift, dtype=np.float64), 1)
    seeds = seed_centers(table, len(centers), _AGREEMENT_STARTS, rng)
    starts = [table.run(table.rows(seed), _AGREEMENT_ROUNDS) for seed in seeds]
    return [rand_index(one.labels, chosen.labels, table.weights) for one in starts]


def _sampled(
    rows: Any, weights: Floats | None, most: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Dense rows to look at: those with weight, or so many of them, in their order; weights."""
    there = None if weights is None else np.flatnonzero(weights)
    n = rows.shape[0] if there is None else len(there)
    if sparse.issparse(rows):
        rows = rows.tocsr()
        most = max(min(most, _MOST_VALUES // max(1, int(rows.shape[1]))), 1)
    if n > most:
        drawn = np.sort(rng.choice(n, most, replace=False, shuffle=False))
        there = drawn if there is None else there[drawn]
    return _dense(rows if there is None else rows[there], weights, there)


def _dense(some: Any, weights: Floats | None, there: Any) -> tuple[Floats, Floats]:
    """Rows as the core reads them, and their weights: float64 in the machine's byte order."""
    some = some.toarray() if sparse.issparse(some) else some
    dense = np.ascontiguousarray(some, dtype=np.float64)
    weight = np.ones(len(dense)) if weights is None else weights[there]
    return dense, np.ascontiguousarray(weight, dtype=np.float64)
