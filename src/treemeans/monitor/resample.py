"""Fits on resamples of a table: warm-started reference, regrown tree, labels of all rows."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from treemeans.monitor.training_setup import TrainingSetup
from treemeans.monitor.warm_start import WarmRows, warm_rows
from treemeans.reference.lloyd import Clustering, one_thread
from treemeans.tree import ThresholdTree

Floats = NDArray[np.float64]
_Result = TypeVar("_Result")

METHODS = ("bootstrap", "subsample")
_SHARE = 0.5  # of the rows in a subsample
_SAMPLE = 4096  # rows on which other starts are compared with the warm one
_FRESH_STARTS = 2
_BETTER = 1e-4  # share of the cost that another start must save
_ROUNDS = 50
_FINISH_ROUNDS = 8  # on all rows, from centers of a sample or of the model
_TOLERANCE = 1e-4


@dataclass(frozen=True)
class Refit:
    """A tree that was grown on a resample, and the leaf to which it leads each row of the table."""

    tree: ThresholdTree
    leaf_of_row: NDArray[np.int32]

    @property
    def labels(self) -> NDArray[np.int32]:
        """The cluster of each row of the table."""
        return self.tree.label[self.leaf_of_row]


class Resampler:
    """Draws resamples of a table, and fits a reference and a tree to each.

    A resample is the table with other weights: no row is copied, and the bins of the table are made
    once. Resample ``i`` depends on the seed and ``i`` alone, not on threads.

    The reference is warm-started: k-means starts from the model's own centers. Alone that would
    hide that another optimum is as good, so on a sample of the resample it is compared with fresh
    starts; where one of those is better, both are finished and the better one is taken. Labels, and
    other costs that are given, stay as they are.
    """

    def __init__(self, setup: TrainingSetup, method: str, seed: int) -> None:
        self._setup, self._method, self._seed = setup, method, seed
        cost, weights, reference = setup.data.cost, setup.data.weights, setup.reference
        self._weights = np.ones(setup.data.table.n_rows) if weights is None else weights
        self._rows: WarmRows | None = None
        if not reference.has_own_costs:
            rows: Any = cost.rows  # type: ignore[attr-defined]
            self._rows = warm_rows(reference.cost, rows, weights, _TOLERANCE)
            self._start = reference.centers - self._rows.shift

    def refit(self, i: int) -> Refit:
        """Fit on resample ``i``."""
        rng = np.random.default_rng([self._seed, i])
        weights = self._draw(rng)
        data = self._setup.resampled(weights, self._centers(weights, rng))
        tree = self._setup.grow(data)
        leaf = tree.outcome(data.table.points, np.arange(tree.n_nodes, dtype=np.int32), 1)
        assert leaf is not None  # the table was checked
        return Refit(tree, leaf)

    def _draw(self, rng: np.random.Generator) -> Floats:
        """Weights of the rows in a resample: how often each was drawn, times its own weight."""
        n = len(self._weights)
        if self._method == "subsample":
            drawn = np.zeros(n)
            size = max(int(np.ceil(_SHARE * n)), self._setup.reference.n_clusters)
            drawn[rng.choice(n, min(size, n), replace=False)] = 1.0
        else:
            drawn = np.bincount(rng.integers(n, size=n), minlength=n).astype(np.float64)
        return drawn * self._weights

    def _centers(self, weights: Floats, rng: np.random.Generator) -> Floats:
        """Centers of the resample, in the order of the model's own."""
        drawn = np.flatnonzero(weights)
        k = self._setup.reference.n_clusters
        if self._rows is None or len(drawn) < k:  # costs that are given have no centers to move
            return self._setup.reference.centers
        rows = self._rows.some(drawn, weights)
        if len(drawn) <= _SAMPLE:
            found = min(self._runs(rows, rng), key=attrgetter("cost"))
        else:
            some = np.sort(rng.choice(drawn, min(max(_SAMPLE, 20 * k), len(drawn)), replace=False))
            warm, *fresh = self._runs(self._rows.some(some, weights), rng)
            better = [one.centers for one in fresh if one.cost < warm.cost * (1.0 - _BETTER)]
            starts = [self._start, *better[:1]]
            found = min(
                (rows.run(start, _FINISH_ROUNDS) for start in starts), key=attrgetter("cost")
            )
        return np.asarray(found.centers, dtype=np.float64) + self._rows.shift

    def _runs(self, rows: WarmRows, rng: np.random.Generator) -> list[Clustering]:
        """K-means from the model's centers, then from fresh ones, the best of these first."""
        starts = rows.starts(len(self._start), _FRESH_STARTS, rng)
        fresh = sorted((rows.run(start, _ROUNDS) for start in starts), key=attrgetter("cost"))
        return [rows.run(self._start, _ROUNDS), *fresh]


def in_threads(
    work: Callable[[int], _Result], n: int, n_threads: int, tell: Callable[[int], Any]
) -> list[_Result]:
    """``work(0)`` to ``work(n - 1)``, in this order; Ctrl-C ends it, and what is done is kept.

    Parameters
    ----------
    tell : called with the number that are done
    """
    found: dict[int, _Result] = {}
    with one_thread(), ThreadPoolExecutor(n_threads) as pool:
        waiting: dict[Future[_Result], int] = {}
        following = iter(range(n))
        try:
            while len(found) < n:
                while len(waiting) < 2 * n_threads and (i := next(following, None)) is not None:
                    waiting[pool.submit(work, i)] = i
                ready, _ = wait(waiting, return_when=FIRST_COMPLETED)
                for future in ready:
                    found[waiting.pop(future)] = future.result()
                tell(len(found))
        except KeyboardInterrupt:
            if not found:
                raise
        finally:
            for future in waiting:
                future.cancel()
    return [found[i] for i in sorted(found)]
