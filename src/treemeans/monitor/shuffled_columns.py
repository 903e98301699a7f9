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
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treemeans import _core
from treemeans.explain.warning_record import SegmentWarning

Floats = NDArray[np.float64]

LEAST_ROWS = 5  # of a cluster, among the rows looked at; fewer say nothing about its spread


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
IN_FIT = Effort(5, 1, 2, rounds=5, until_clear=True)
QUICK = Effort(5, 1, 0, rounds=5, until_clear=True)


def shuffle_warnings(test: ShuffleTest, effort: Effort) -> list[SegmentWarning]:
    """That the clusters, or some of them, are no more compact than those of shuffled columns."""
    if test.work_left < 0.0:
        return []  # it ended before it was settled
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
    work_left : what is left of the work that it may take; below 0 if it ended before it was settled
    """

    share: float
    uniform_share: float
    ratio: float
    loose: list[int]
    work_left: float


def compare_with_shuffles(
    rows: Floats,
    weights: Floats | None,
    centers: Floats,
    seed: int,
    effort: Effort = THOROUGH,
    work: float = math.inf,
) -> ShuffleTest:
    """Cluster rows and shuffles of their columns alike, and compare the costs.

    Parameters
    ----------
    rows : in the space of the centers
    work : that it may take, in the units of ``SmallRows::work`` (`cpp/small_rows.hpp`)

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(200, 3))
    >>> round(compare_with_shuffles(rows, None, rows[:4], 0).ratio, 1)
    1.0
    """
    found = _core.compare_with_shuffles(
        rows,
        np.ones(len(rows)) if weights is None else weights,
        np.ascontiguousarray(centers, dtype=np.float64),
        effort.shuffles,
        effort.starts,
        effort.more_starts,
        effort.rounds,
        effort.until_clear,
        seed,
        work,
    )
    return ShuffleTest(*found)
