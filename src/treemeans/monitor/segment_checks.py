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
    least_cost,
    shuffle_warnings,
    shuffled,
    spread_around,
)
from treemeans.reference import Reference
from treemeans.reference.center_search import rand_index, seed_centers
from treemeans.reference.cluster_table import near_origin
from treemeans.reference.lloyd import LloydRows, one_thread
from treemeans.rows import as_points
from treemeans.validation import check_weights

Floats = NDArray[np.float64]

_ROWS = 2000  # that are looked at
_FEW_ROWS = (200, 500)  # for a first look in a fit, at least and at most
_SOME_ROWS = 500  # for a second one
_ROWS_IN_FIT = 1000  # for the last one; of wide tables fewer
_VALUES_IN_FIT = 1 << 19
_CLEAR = 0.8  # share of a shuffle's cost below which clusters are far more compact
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
    found = shuffle_warnings(rows, weights, reference.centers, rng)
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
    rows: Any, weights: Floats | None, centers: Floats
) -> tuple[SegmentWarning, ...]:
    """The comparison with shuffles that every fit makes, shorter than that of ``check_segments``.

    First one shuffle of a few rows is clustered: where it costs much more than the rows themselves,
    there is nothing to warn of, and most tables end here. The others are compared with up to five
    shuffles, fewer where these cost clearly more. What a part of the rows shows is warned of only
    if a larger part shows it too.

    Parameters
    ----------
    rows : in the space of the centers
    """
    k = len(centers)
    if k < 2:
        return ()
    rng = np.random.default_rng(0)
    least, most = _FEW_ROWS
    few, few_weights = _sampled(rows, weights, min(max(least, 25 * k), most), rng)
    if len(few) < LEAST_ROWS * k or not _is_doubtful(few, few_weights, centers, rng):
        return ()
    if rows.shape[0] > _SOME_ROWS:
        some = _sampled(rows, weights, _SOME_ROWS, rng)
        if not shuffle_warnings(*some, centers, rng, QUICK):
            return ()
    most = min(_ROWS_IN_FIT, max(_SOME_ROWS, _VALUES_IN_FIT // rows.shape[1]))
    some = _sampled(rows, weights, most, rng)
    return tuple(shuffle_warnings(*some, centers, rng, IN_FIT))


def _is_doubtful(few: Floats, weights: Floats, centers: Floats, rng: np.random.Generator) -> bool:
    """Whether a single shuffle is, or one of its clusters, almost as compact as the rows."""
    centers = np.ascontiguousarray(centers, dtype=np.float64)
    shuffle = shuffled(few, rng)
    own = spread_around(few, weights, centers, LEAST_ROWS)
    other = spread_around(shuffle, weights, centers)
    with np.errstate(invalid="ignore"):
        if (own > _CLEAR * other).any():
            return True
    # Centers that were fitted to all rows: no search on these few is needed to compare costs.
    cost = float(weights @ _core.nearest_centers(as_points(few), centers, 1)[0])
    doubtful = cost / _CLEAR
    return least_cost(shuffle, weights, len(centers), rng, 1, aim=doubtful) < doubtful


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
    some = rows if there is None else rows[there]
    # float64 in the machine's byte order, whatever the table has: k-means reads nothing else.
    dense = np.array(some.toarray() if sparse.issparse(some) else some, dtype=np.float64, order="C")
    weight = np.ones(len(dense)) if weights is None else weights[there]
    return dense, np.asarray(weight, dtype=np.float64)
