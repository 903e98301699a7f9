"""Clusters of shuffled columns, to compare the clusters of a table with.

Shuffling every column by itself keeps what values there are, and removes what columns have to do
with each other. K-means finds clusters there as well; if its clusters of the table are no more
compact, the table shows no clusters beyond what single columns do (the reference distribution of
Tibshirani, Walther and Hastie 2001, by permutation). A single column may still show groups:
the table is warned of only if its clusters are no more compact than in uniform columns of the same
variance either, where there are none.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treemeans import _core
from treemeans.explain.warning_record import SegmentWarning

Floats = NDArray[np.float64]

_CLEAR_GAP = 4.0  # differences of shuffles, by which clusters that cost less are more compact
_LEAST_GAP = 0.02  # of the cost, at least
LEAST_ROWS = 5  # of a cluster, among the rows looked at; fewer say nothing about its spread
_WIDE = 1 << 17  # values of a table that takes long to shuffle
_FAR = 1.25  # times the cost: a shuffle that costs more is not looked at to the end


@dataclass(frozen=True)
class Effort:
    """How much a comparison does.

    Attributes
    ----------
    shuffles : at most; none is as cheap as the table in 1 of ``shuffles + 1`` tables whose columns
        are independent
    starts : of k-means on the rows and on each shuffle
    more_starts : on the rows and on a shuffle that seems to be as cheap, since one start may end
        badly; none for a comparison that another one confirms
    rounds : of k-means, the same for the rows and the shuffles
    until_clear : whether to end once shuffles cost clearly more
    """

    shuffles: int
    starts: int
    more_starts: int
    rounds: int
    until_clear: bool


THOROUGH = Effort(19, 2, 4, rounds=30, until_clear=False)
IN_FIT = Effort(5, 1, 2, rounds=12, until_clear=True)
QUICK = Effort(5, 1, 0, rounds=12, until_clear=True)


def shuffle_warnings(
    rows: Floats,
    weights: Floats | None,
    centers: Floats,
    rng: np.random.Generator,
    effort: Effort = THOROUGH,
) -> list[SegmentWarning]:
    """That the clusters, or some of them, are no more compact than those of shuffled columns.

    Parameters
    ----------
    rows : in the space of the centers
    """
    test = compare_with_shuffles(rows, weights, centers, rng, effort)
    level = 1.0 / (effort.shuffles + 1)
    if test.share > level and test.uniform_share <= level:
        return []  # single columns show the groups
    if test.share > level:
        return [
            SegmentWarning(
                "not compact",
                (),
                "the clusters are no more compact than those of k-means on shuffled columns "
                f"(cost {test.ratio:.2f} of theirs)",
                "the columns may have nothing to do with each other; drop columns that are "
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
                "it may be the rest of the rows and not a cluster; try another number of clusters",
            )
        ]
    return []


@dataclass(frozen=True)
class ShuffleTest:
    """What a comparison with shuffled columns found.

    Attributes
    ----------
    share : of the shuffles, the table itself included, that k-means clusters as cheaply
        A comparison ends with the first that is as cheap. One that ends because shuffles cost
        clearly more counts as if all others did.
    uniform_share : the same for tables of uniform columns; 0 if the shuffles say enough
    ratio : cost of the table's clusters, divided by the mean of the shuffles'
    loose : clusters whose rows are no closer to their center than the rows nearest to it are in
        half of the shuffles, and in half of as many tables of uniform columns
    """

    share: float
    uniform_share: float
    ratio: float
    loose: list[int]


def compare_with_shuffles(
    rows: Floats,
    weights: Floats | None,
    centers: Floats,
    rng: np.random.Generator,
    effort: Effort = THOROUGH,
) -> ShuffleTest:
    """Cluster rows and shuffles of their columns alike, and compare the costs.

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(200, 3))
    >>> round(compare_with_shuffles(rows, None, rows[:4], np.random.default_rng(0)).ratio, 1)
    1.0
    """
    weights = np.ones(len(rows)) if weights is None else weights
    start = np.ascontiguousarray(centers, dtype=np.float64)
    k, more, clear = len(start), effort.more_starts, False

    def cost_of(table: Floats, n_starts: int, other: float = math.inf) -> float:
        """Cost of k-means; where only the comparison with another cost counts, not to the end."""
        aim = other if effort.until_clear else math.inf
        return least_cost(table, weights, k, rng, n_starts, effort.rounds, aim)

    cost = cost_of(rows, effort.starts)
    own = spread_around(rows, weights, start, least=LEAST_ROWS)
    shuffled_costs: list[float] = []
    spreads: list[Floats] = []
    while len(spreads) < effort.shuffles and not _as_cheap(cost, shuffled_costs):
        shuffle = shuffled(rows, rng)
        spreads.append(spread_around(shuffle, weights, start))
        if clear:  # of all clusters together; more shuffles are for some of them
            if not _no_closer(own, spreads):
                break
            continue
        shuffled_costs.append(cost_of(shuffle, effort.starts, _FAR * cost))
        if more and _as_cheap(cost, shuffled_costs):
            cost = min(cost, cost_of(rows, more, shuffled_costs[-1]))
            if not effort.until_clear or not _as_cheap(cost, shuffled_costs):
                shuffled_costs[-1] = min(shuffled_costs[-1], cost_of(shuffle, more, cost))
        clear = effort.until_clear and _clearly_cheaper(cost, shuffled_costs)
        if clear and not _no_closer(own, spreads):
            break
    mean = float(np.mean(shuffled_costs))
    share, uniform_share = 1.0 / (effort.shuffles + 1), 0.0
    if _as_cheap(cost, shuffled_costs):
        share = _share(cost, shuffled_costs)
        uniform_share = 1.0
        if more:  # else the comparison that confirms this one looks at uniform columns
            uniform_share = _share(cost, _uniform_costs(rows, weights, cost, k, effort, rng))
    loose = _no_closer(own, spreads)
    if loose:  # single columns may hold a cluster together
        loose = _loose_in_uniform(loose, own, rows, weights, start, rng, len(spreads))
    return ShuffleTest(
        share=share,
        uniform_share=uniform_share,
        ratio=cost / mean if mean > 0 else 1.0,
        loose=sorted(loose),
    )


def _clearly_cheaper(cost: float, others: list[float]) -> bool:
    """Whether all others cost so much more that another one would hardly be as cheap."""
    if len(others) < 2:
        return False
    if min(others) > _FAR * cost:
        return True
    gap = min(others) - cost
    return gap > max(_CLEAR_GAP * (max(others) - min(others)), _LEAST_GAP * cost)


def _no_closer(own: Floats, others: list[Floats]) -> set[int]:
    """Clusters whose spread is no less than in half of the others."""
    with np.errstate(invalid="ignore"):
        return set(np.flatnonzero(np.mean(np.array(others) <= own, axis=0) >= 0.5).tolist())


def _loose_in_uniform(
    loose: set[int],
    own: Floats,
    rows: Floats,
    weights: Floats,
    centers: Floats,
    rng: np.random.Generator,
    n: int,
) -> set[int]:
    """The clusters of ``loose`` whose spread is no less than in half of n uniform tables.

    Where one takes long, those that would make no difference are not made.
    """
    chosen = sorted(loose)
    as_close = np.zeros(len(chosen), dtype=int)
    for done, uniform in enumerate(_uniform(rows, rng, n), start=1):
        as_close += spread_around(uniform, weights, centers)[chosen] <= own[chosen]
        enough = 2 * as_close >= n
        known = enough | (2 * (as_close + n - done) < n)
        if rows.size >= _WIDE and known.all():
            break
    return {cluster for cluster, yes in zip(chosen, enough.tolist(), strict=True) if yes}


def _as_cheap(cost: float, others: list[float]) -> int:
    return sum(other <= cost * (1.0 + 1e-12) for other in others)


def _share(cost: float, others: list[float]) -> float:
    """The p-value of a permutation test: the table counts as one of its own shuffles."""
    return (1 + _as_cheap(cost, others)) / (len(others) + 1)


def _uniform_costs(
    rows: Floats, weights: Floats, cost: float, k: int, effort: Effort, rng: np.random.Generator
) -> list[float]:
    """Costs of k-means on uniform columns with the variances of the table's columns."""
    found: list[float] = []
    starts = effort.starts + effort.more_starts
    for uniform in _uniform(rows, rng, effort.shuffles):
        found.append(least_cost(uniform, weights, k, rng, starts, effort.rounds, cost))
        if _as_cheap(cost, found):
            break
    return found


def _uniform(rows: Floats, rng: np.random.Generator, n: int) -> Iterator[Floats]:
    """Tables of uniform columns with the means and variances of the table's columns."""
    mean, half = rows.mean(axis=0), math.sqrt(3.0) * rows.std(axis=0)
    for _ in range(n):
        uniform = rng.random(rows.shape)
        uniform *= 2.0 * half
        uniform += mean - half
        yield uniform


def least_cost(
    rows: Floats,
    weights: Floats,
    k: int,
    rng: np.random.Generator,
    n_starts: int,
    rounds: int = 30,
    aim: float = math.inf,
) -> float:
    """Cost of k-means from fresh starts.

    The model's own centers were searched for on the table, and would give it an advantage.

    Parameters
    ----------
    aim : what the cost is compared with. A run ends early once it would stay above this if all
        rounds that are left saved as much as the last one; no start follows one that is below.

    Examples
    --------
    >>> rows = np.repeat([[0.0], [1.0], [9.0]], 5, axis=0)
    >>> least_cost(rows, np.ones(15), 2, np.random.default_rng(0), 3)
    2.5
    """
    trials = 2 + int(math.log(k))
    draws = rng.random((n_starts, 1 + trials * (k - 1)))
    return _core.kmeans_cost(rows, weights, k, draws, rounds, aim)


def shuffled(rows: Floats, rng: np.random.Generator) -> Floats:
    """The rows with every column in a random order of its own.

    Examples
    --------
    >>> rows = np.arange(6.0).reshape(3, 2)
    >>> np.sort(shuffled(rows, np.random.default_rng(0)), axis=0).tolist()
    [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
    """
    if rows.size < _WIDE:
        return rng.permuted(rows, axis=0)
    # numpy draws a number for each value; the core, five times as fast, for each that is not zero.
    return _core.shuffle_columns(rows, int(rng.integers(1 << 63)))


def spread_around(rows: Floats, weights: Floats, centers: Floats, least: int = 1) -> Floats:
    """Mean squared distance to each center of the rows nearest to it; NaN with too few rows.

    Examples
    --------
    >>> rows, centers = np.array([[0.0], [1.0], [9.0]]), np.array([[0.0], [9.0]])
    >>> spread_around(rows, np.ones(3), centers).tolist()
    [0.5, 0.0]
    >>> spread_around(rows, np.ones(3), centers, least=2).tolist()
    [0.5, nan]
    """
    return _core.spread_around(rows, weights, centers, least)
