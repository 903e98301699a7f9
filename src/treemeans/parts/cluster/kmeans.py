"""k-means over rows in parts, in few passes.

Every pass draws or adds up something small, so most of the work is done on a sample:

1. A first pass draws rows evenly. Centers are found on them in memory.
2. A second pass prices these centers and draws rows anew, by what they cost (a coreset). On these
   rows centers are found again. That is repeated if the coreset was surprised by all rows: rows
   far away which no sample knew are drawn by now. Compare the rounds of k-means|| (Bahmani et al.
   2012), which start from one center instead of good ones.
3. Lloyd's rounds, each one pass. After a pass, the coreset foresees where the following rounds
   would lead, so there are few. See ``_leap``. They end by scikit-learn's rule, and also where a
   pass lowers the cost by so little that another would not be worth reading all rows again.

Sums are integers and rows draw by their number, so parts leave no trace in the centers.
"""

from __future__ import annotations

import warnings
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from treemeans import _core
from treemeans.parts.cluster.draws import Draw, DrawRows
from treemeans.parts.cluster.passes import Passes, Together, Told
from treemeans.parts.cluster.scaler import fit_scaler, name_columns
from treemeans.parts.cluster.sums import Columns
from treemeans.parts.cluster.tally import OVERFLOW, Lottery, TakeTally, Tally
from treemeans.parts.question import Parts
from treemeans.parts.sketch import Sketch
from treemeans.reference import Reference
from treemeans.tables import as_points

Floats = NDArray[np.float64]
_ROUNDS = 4  # coresets at most
_STARTS = 10  # of k-means in memory
_SURPRISE = 1.05  # times as dear as the coreset made believe
_FORESIGHT = 100  # rounds of a leap at most
_GAIN = 0.1  # of the tolerance: what a pass must lower the cost by to be worth another
_NEAR = 1e-12  # moves over the variance: from here on, leaps gain nothing over Lloyd's rounds


@dataclass(frozen=True)
class Rows:
    """Weighted rows in memory that stand for all rows."""

    X: Floats
    weights: Floats

    def price(self, centers: Floats) -> tuple[Floats, NDArray[np.int32]]:
        """What each row costs, and its nearest center."""
        base, nearest, _ = _core.price(as_points(self.X), centers, 1)
        return base, nearest

    def cost(self, centers: Floats) -> float:
        """Of all rows."""
        return float(self.price(centers)[0] @ self.weights)

    def means(self, centers: Floats) -> Floats:
        """Of the rows nearest to each center; NaN where there are none."""
        _, nearest = self.price(centers)
        k = len(centers)
        sums = _core.group_sums(as_points(self.X), nearest, k, self.weights, None, None, 1)
        weight = np.bincount(nearest, self.weights, k)[:, None]
        return np.divide(sums, weight, out=np.full_like(sums, np.nan), where=weight > 0)

    def variance(self) -> float:
        """Of the columns, on average."""
        mean = np.average(self.X, axis=0, weights=self.weights)
        return float(np.average((self.X - mean) ** 2, axis=0, weights=self.weights).mean())


@dataclass(frozen=True)
class Pass:
    """Centers, and what a pass found out about them."""

    centers: Floats
    tally: Tally
    columns: Columns

    @property
    def weights(self) -> Floats:
        """Of the rows nearest to each center."""
        return self.columns.weights(self.tally.sums)

    def means(self, rows: Rows) -> Floats:
        """Of the rows nearest to each center.

        A center without any goes where the drawn rows would gain most.
        """
        means = self.columns.means(self.tally.sums)
        empty = np.isnan(means).any(axis=1)
        means[empty] = self.centers[empty]
        for center in np.flatnonzero(empty):
            gains = rows.price(means)[0] * rows.weights
            if gains.max(initial=0.0) > 0:
                means[center] = rows.X[gains.argmax()]
        return means

    def bound(self, means: Floats) -> float:
        """What the means cost at most."""
        gain = float((self.weights * ((means - self.centers) ** 2).sum(axis=1)).sum())
        return self.tally.total - gain


@dataclass(frozen=True)
class Search:
    """What k-means over parts goes by.

    Attributes
    ----------
    passes : over the rows
    columns : fixed point of the columns of the space
    pipeline : what takes rows to the space; None where X is the space itself
    n_rows : of all parts
    size : rows on which centers are searched for
    coreset : rows to draw for that, the more of which know better where rounds lead
    seed : of all that is drawn
    """

    passes: Passes
    columns: Columns
    pipeline: Pipeline | None
    n_rows: int
    size: int
    coreset: int
    seed: int

    def count(self, tried: list[Floats], what: str, lottery: Lottery | None = None) -> list[Pass]:
        """One pass that prices several sets of centers."""
        references = [Reference(centers, self.pipeline, False) for centers in tried]
        questions = (TakeTally(reference, self.columns, lottery) for reference in references)
        tallies = self.passes.ask(Together(tuple(questions)), what)
        return [
            Pass(centers, tally, self.columns)
            for centers, tally in zip(tried, tallies, strict=True)
        ]

    def lottery(self, rows: Rows, centers: Floats, turn: int) -> Lottery:
        """Half of what is drawn goes by cost, half evenly by cluster, going by ``rows``."""
        base, nearest = rows.price(centers)
        cost = float(base @ rows.weights)
        weight = np.bincount(nearest, rows.weights, len(centers))
        weight[weight == 0] = rows.weights.min()
        draw = Draw.of(self.seed, turn, self.coreset, 1.0, self.n_rows)
        per_cost = 0.5 / cost if cost > 0 else 1.0
        return Lottery(draw, per_cost, 0.5 / len(centers) / weight)


def one_thread() -> AbstractContextManager[Any]:
    """For k-means in memory, the threads of which add up in an order that is never the same."""
    limits: AbstractContextManager[Any] = threadpool_limits(1)
    return limits


def sample_size(n_features: int, n_clusters: int) -> int:
    """Rows to draw: enough of every cluster, and no more than are quickly sent and clustered."""
    return max(min(max(1 << 13, 200 * n_clusters), (1 << 22) // n_features), 20 * n_clusters)


def coreset_size(size: int, n_features: int, n_rows: int) -> int:
    """A part of all rows that costs little beside a pass over them, within bounds."""
    return max(size, min(n_rows // 64, 8 * size, (1 << 23) // n_features))


def kmeans(
    parts: Parts,
    sketch: Sketch,
    n_clusters: int,
    seed: int,
    *,
    before: Pipeline | None = None,
    max_iter: int = 300,
    tol: float = 1e-4,
    init: Any = None,
    size: int | None = None,
    told: Told | None = None,
) -> Reference:
    """Centers of the rows of all parts.

    Parameters
    ----------
    parts, sketch : the rows, and what is known of them
    n_clusters : k
    seed : of all that is drawn
    before : a StandardScaler to fit first, in a pipeline; the centers live in its space
    max_iter, tol : of Lloyd's rounds, as in scikit-learn's KMeans
    init : (k, d), centers to start from
    size : rows to draw
    told : hears of every pass

    Returns
    -------
    the centers, and the pipeline fitted
    """
    if parts.firsts is None:
        parts.firsts = sketch.firsts(parts.n_parts)
    size = sample_size(parts.n_features, n_clusters) if size is None else size
    passes = Passes(parts, told)
    draw = DrawRows(Draw.of(seed, 0, size, sketch.weight, sketch.n_rows))
    ends = np.stack([sketch.low, sketch.high])
    _check_finite(ends, sketch.weight)
    if before is None:
        rows = Rows(*passes.ask(draw, "drawing rows").standing_for_all())
    else:
        before, sample = fit_scaler(before, passes, sketch, draw)
        drawn, weights = sample.standing_for_all()
        rows, ends = Rows(before.transform(drawn), weights), before.transform(ends)
        name_columns(before, parts.names)
    columns = Columns.of(ends[0], ends[1], sketch.weight, sketch.whole)
    coreset = coreset_size(size, parts.n_features, sketch.n_rows)
    search = Search(passes, columns, before, sketch.n_rows, size, coreset, seed)
    return Reference(_cluster(search, rows, n_clusters, max_iter, tol, init), before, False)


def _check_finite(ends: Floats, weight: float) -> None:
    with np.errstate(over="ignore"):
        largest = ((ends[1] - ends[0]) ** 2).sum() * weight
    if not np.isfinite(largest):
        raise ValueError(OVERFLOW)


def _cluster(
    search: Search, drawn: Rows, n_clusters: int, max_iter: int, tol: float, init: Floats | None
) -> Floats:
    """Centers of all rows, given some drawn evenly."""
    if init is None:
        centers = _found_anew(drawn, n_clusters, search.seed)
    else:
        centers = _checked(init, (n_clusters, drawn.X.shape[1]))
    best, rows = _seed(search, drawn, centers, init is None)
    return _lloyd(search, best, rows, max_iter, tol, drawn.variance())


def _checked(init: Any, shape: tuple[int, int]) -> Floats:
    centers = np.array(init, dtype=np.float64)
    if centers.shape != shape or not np.isfinite(centers).all():
        raise ValueError(
            f"The initial centers have the shape {centers.shape}; they must be {shape[0]} "
            f"rows of {shape[1]} finite numbers."
        )
    return centers


def _seed(search: Search, rows: Rows, centers: Floats, anew: bool) -> tuple[Pass, Rows]:
    """The best start, and the coreset it was found on. Not ``anew``: keep to these centers."""
    best: Pass | None = None
    for turn in range(1, _ROUNDS + 1):
        hoped = rows.cost(centers)
        lottery = search.lottery(rows, centers, turn)
        (found,) = search.count([centers], "seeding", lottery)
        if best is None or found.tally.cost < best.tally.cost:
            best = found
        surprised = found.tally.total > _SURPRISE * hoped
        sample = found.tally.sample
        assert sample is not None
        rows = Rows(*sample.standing_for_all())
        if not anew or (turn > 1 and not surprised):
            break
        few = Rows(*sample.standing_for_all(search.size))
        starts = _found_anew(few, len(centers), search.seed), best.means(rows)
        centers = min((_polished(rows, start) for start in starts), key=rows.cost)
    assert best is not None
    return best, rows


def _found_anew(rows: Rows, n_clusters: int, seed: int) -> Floats:
    """Centers of rows in memory, of which there may be fewer than centers."""
    if len(rows.X) <= n_clusters:
        return np.resize(rows.X, (n_clusters, rows.X.shape[1]))
    return _solved(rows, KMeans(n_clusters, n_init=_STARTS, random_state=seed))


def _polished(rows: Rows, centers: Floats) -> Floats:
    """Where k-means in memory leads from centers."""
    if len(rows.X) <= len(centers):
        return centers
    return _solved(rows, KMeans(len(centers), n_init=1, init=centers))


def _solved(rows: Rows, model: Any) -> Floats:
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # all rows may be more distinct
        model.fit(rows.X, sample_weight=rows.weights)
    return np.ascontiguousarray(model.cluster_centers_)


def _lloyd(
    search: Search, found: Pass, rows: Rows, max_iter: int, tol: float, variance: float
) -> Floats:
    """Lloyd's rounds until the centers hardly move, as scikit-learn has it, or gain hardly.

    They are rounds of leaps. Once a leap has led to something dearer than a plain round would
    have, a pass prices both, and leaps are shorter.
    """
    still = 0.01 * max(tol, _NEAR) * variance
    foresight, careful = _FORESIGHT, False
    means = found.means(rows)
    for _ in range(max_iter - 1):
        moved = float(((means - found.centers) ** 2).sum())
        if moved <= tol * variance:
            break
        aims = [means]
        if moved > still:
            leap = _leap(rows, found.centers, means, foresight, still)
            aims = [leap, means] if careful else [leap]
        tried = search.count(aims, "k-means")
        plain = min(found.bound(means), tried[-1].tally.total)
        failed = moved > still and tried[0].tally.total > plain
        foresight = max(foresight // 4, 4) if failed else min(foresight * 2, _FORESIGHT)
        if failed and not careful:
            careful = True
            continue
        last, found = found, min(tried, key=lambda one: one.tally.cost)
        means = found.means(rows)
        if last.tally.total - found.tally.total <= _GAIN * tol * last.tally.total:
            break
    return means


def _leap(rows: Rows, centers: Floats, means: Floats, foresight: int, still: float) -> Floats:
    """Where Lloyd's rounds from ``means`` would end, for all that ``rows`` know.

    The means of all rows are ``means``, those of the coreset's rows a little off. By how much is
    known at ``centers``; it changes little from there to where the rounds lead, so that is what
    the means of the coreset's rows are corrected by while rounds go on with them alone.
    """
    error = np.nan_to_num(means - rows.means(centers))
    at = means
    for _ in range(foresight):
        following = rows.means(at) + error
        last, at = at, np.where(np.isnan(following), at, following)
        if float(((at - last) ** 2).sum()) <= still:
            break
    return at
