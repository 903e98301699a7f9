"""k-means over partitioned rows, in few passes.

Every pass samples or sums something small, so most of the work is done on a sample:

1. The first pass draws rows evenly. Centers are found on them in memory.
2. The second pass evaluates these centers and draws new rows by what they cost (a coreset). Centers
   are found again on these rows. This is repeated while all rows cost clearly more than the coreset
   predicted: then rows far away, which no sample had, are drawn. Compare the rounds of k-means||
   (Bahmani et al. 2012), which start from one center instead of good ones.
3. Lloyd's rounds, one pass each. After a pass, the coreset predicts where the following rounds
   would lead, so few are needed (see ``_leap``). They end by scikit-learn's rule, and also when a
   pass lowers the cost by so little that another one is not worth reading all rows again.

Sums are integers and a row's index decides whether it is drawn, so the centers do not depend on how
the rows are partitioned.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from treemeans.partitioned.clustering.center_statistics import OVERFLOW
from treemeans.partitioned.clustering.fixed_point_columns import FixedPointColumns
from treemeans.partitioned.clustering.kmeans_passes import (
    EvaluatedCenters,
    Floats,
    KMeansPasses,
    WeightedRows,
)
from treemeans.partitioned.clustering.partitioned_scaler import fit_scaler, name_columns
from treemeans.partitioned.clustering.row_sampling import RowSampler, SampleRows
from treemeans.partitioned.map_reduce import PartitionedRows
from treemeans.partitioned.row_summary import RowSummary
from treemeans.preparation import TablePreparation
from treemeans.reference import Reference
from treemeans.reference.center_search import search_centers
from treemeans.reference.lloyd import LloydRows, one_thread

_CORESETS = 4  # at most
_TOL = 1e-4  # of k-means in memory
_SURPRISE = 1.05  # all rows cost so many times what the coreset predicted: draw another
_LEAP_ROUNDS = 100  # of Lloyd on the coreset, at most
_GAIN = 0.1  # of the tolerance: what a pass must lower the cost by to be worth another
_NEAR = 1e-12  # squared moves over the variance: from here on leaps gain nothing


def sample_size(n_features: int, n_clusters: int) -> int:
    """Rows to draw: enough of every cluster, but few enough to send and cluster quickly."""
    return max(min(max(1 << 13, 200 * n_clusters), (1 << 22) // n_features), 20 * n_clusters)


def coreset_size(size: int, n_features: int, n_rows: int) -> int:
    """Rows of a coreset: a share of all rows that costs little beside a pass over them."""
    return max(size, min(n_rows // 64, 8 * size, (1 << 23) // n_features))


def kmeans(
    partitions: PartitionedRows,
    summary: RowSummary,
    n_clusters: int,
    seed: int,
    *,
    before: Pipeline | TablePreparation | None = None,
    max_iter: int = 300,
    tol: float = 1e-4,
    init: Any = None,
    size: int | None = None,
) -> Reference:
    """Find the centers of all rows.

    Parameters
    ----------
    partitions, summary : the rows, and what the first pass found
    n_clusters : number of centers
    seed : seed of all draws
    before : pipeline of a StandardScaler to fit first, or a preparation that is ready; the centers
        are in its space
    max_iter, tol : of Lloyd's rounds, as in scikit-learn's KMeans
    init : (k, d), centers to start from, optional
    size : number of rows to draw, optional

    Returns
    -------
    The centers, and the fitted pipeline.
    """
    if partitions.first_rows is None:
        partitions.first_rows = summary.first_rows(partitions.n_partitions)
    size = sample_size(partitions.n_features, n_clusters) if size is None else size
    draw = SampleRows(RowSampler.of(seed, 0, size, summary.weight, summary.n_rows))
    ranges = np.stack([summary.low, summary.high])
    if isinstance(before, TablePreparation):
        drawn, weights = partitions.map_reduce(draw).weighted_rows()
        rows = WeightedRows(before.transform(drawn), weights)
        ranges = before.ranges(summary.low, summary.high)
        _check_finite(ranges, summary.weight)
    elif before is None:
        _check_finite(ranges, summary.weight)
        rows = WeightedRows(*partitions.map_reduce(draw).weighted_rows())
    else:
        _check_finite(ranges, summary.weight)
        before, sample = fit_scaler(before, partitions, summary, draw)
        drawn, weights = sample.weighted_rows()
        rows, ranges = WeightedRows(before.transform(drawn), weights), before.transform(ranges)
        name_columns(before, partitions.names)
    columns = FixedPointColumns.of(ranges[0], ranges[1], summary.weight, summary.integer_weights)
    coreset = coreset_size(size, partitions.n_features, summary.n_rows)
    passes = KMeansPasses(partitions, columns, before, summary.n_rows, size, coreset, seed)
    return Reference(_cluster(passes, rows, n_clusters, max_iter, tol, init), before, False)


def _check_finite(ranges: Floats, weight: float) -> None:
    with np.errstate(over="ignore"):
        largest = ((ranges[1] - ranges[0]) ** 2).sum() * weight
    if not np.isfinite(largest):
        raise ValueError(OVERFLOW)


def _cluster(
    passes: KMeansPasses,
    drawn: WeightedRows,
    n_clusters: int,
    max_iter: int,
    tol: float,
    init: Floats | None,
) -> Floats:
    """Centers of all rows, given a sample drawn evenly."""
    if init is None:
        centers = _solve(drawn, n_clusters, passes.seed)
    else:
        centers = _checked(init, (n_clusters, drawn.X.shape[1]))
    best, rows = _choose_start(passes, drawn, centers, fixed=init is not None)
    return _lloyd(passes, best, rows, max_iter, tol, drawn.variance())


def _checked(init: Any, shape: tuple[int, int]) -> Floats:
    centers = np.array(init, dtype=np.float64)
    if centers.shape != shape or not np.isfinite(centers).all():
        raise ValueError(
            f"The initial centers have the shape {centers.shape}; they must be {shape[0]} "
            f"rows of {shape[1]} finite numbers."
        )
    return centers


def _choose_start(
    passes: KMeansPasses, rows: WeightedRows, centers: Floats, *, fixed: bool
) -> tuple[EvaluatedCenters, WeightedRows]:
    """The best start, and the coreset it was found on; ``fixed``: start from these centers."""
    best: EvaluatedCenters | None = None
    for turn in range(1, _CORESETS + 1):
        predicted = rows.cost(centers)
        (found,) = passes.evaluate([centers], passes.coreset_sampler(rows, centers, turn))
        if best is None or found.statistics.exact_cost < best.statistics.exact_cost:
            best = found
        surprised = found.cost > _SURPRISE * predicted
        sample = found.statistics.sample
        assert sample is not None
        rows = WeightedRows(*sample.weighted_rows())
        if fixed or (turn > 1 and not surprised):
            break
        few = WeightedRows(*sample.weighted_rows(passes.size))
        starts = _solve(few, len(centers), passes.seed), best.means(rows)
        centers = min((_continue(rows, start) for start in starts), key=rows.cost)
    assert best is not None
    return best, rows


def _solve(rows: WeightedRows, n_clusters: int, seed: int) -> Floats:
    """k-means in memory; where there are no more rows than centers, the rows themselves."""
    if len(rows.X) <= n_clusters:
        return np.resize(rows.X, (n_clusters, rows.X.shape[1]))
    with one_thread():
        moved, shift = _lloyd_rows(rows)
        found = search_centers(moved, n_clusters, np.random.default_rng(seed)).best
        return np.asarray(found.centers + shift, dtype=np.float64)


def _continue(rows: WeightedRows, centers: Floats) -> Floats:
    """k-means in memory, from given centers on."""
    if len(rows.X) <= len(centers):
        return centers
    with one_thread():
        moved, shift = _lloyd_rows(rows)
        return np.asarray(moved.run(centers - shift, 300).centers + shift, dtype=np.float64)


def _lloyd_rows(rows: WeightedRows) -> tuple[LloydRows, Floats]:
    """The rows less their mean, as Lloyd's rounds want them, and the mean."""
    shift = np.average(rows.X, axis=0, weights=rows.weights)
    return LloydRows.of(rows.X - shift, rows.weights, _TOL), shift


def _lloyd(
    passes: KMeansPasses,
    found: EvaluatedCenters,
    rows: WeightedRows,
    max_iter: int,
    tol: float,
    variance: float,
) -> Floats:
    """Lloyd's rounds until the centers, or the cost, hardly change.

    A round goes where a leap predicts. Once a leap has led to something more expensive than a plain
    round would have, a pass evaluates both, and leaps are shorter.
    """
    still = 0.01 * max(tol, _NEAR) * variance
    leap_rounds, careful = _LEAP_ROUNDS, False
    means = found.means(rows)
    for _ in range(max_iter - 1):
        moved = float(((means - found.centers) ** 2).sum())
        if moved <= tol * variance:
            break
        candidates = [means]
        if moved > still:
            leap = _leap(rows, found.centers, means, leap_rounds, still)
            candidates = [leap, means] if careful else [leap]
        tried = passes.evaluate(candidates)
        plain = min(found.bound(means), tried[-1].cost)
        failed = moved > still and tried[0].cost > plain
        leap_rounds = max(leap_rounds // 4, 4) if failed else min(leap_rounds * 2, _LEAP_ROUNDS)
        if failed and not careful:
            careful = True
            continue
        last, found = found, min(tried, key=lambda one: one.statistics.exact_cost)
        means = found.means(rows)
        if last.cost - found.cost <= _GAIN * tol * last.cost:
            break
    return means


def _leap(
    rows: WeightedRows, centers: Floats, means: Floats, max_rounds: int, still: float
) -> Floats:
    """Predict where Lloyd's rounds from ``means`` would end, on the coreset ``rows`` alone.

    ``means`` are those of all rows; the means of the coreset's rows are a little off. The error is
    known at ``centers`` and changes little on the way, so it corrects every round.
    """
    error = np.nan_to_num(means - rows.means(centers))
    at = means
    for _ in range(max_rounds):
        following = rows.means(at) + error
        last, at = at, np.where(np.isnan(following), at, following)
        if float(((at - last) ** 2).sum()) <= still:
            break
    return at
