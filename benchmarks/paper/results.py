"""What the fits found, put together: curves over the leaves, and single numbers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.paper.plan import Case
from benchmarks.problems import PROBLEMS
from benchmarks.runner import Task

Kept = dict[str, Any]


@dataclass(frozen=True)
class Curve:
    """Median and standard deviation over the seeds, for each number of leaves."""

    leaves: NDArray[np.int64]
    median: NDArray[np.float64]
    deviation: NDArray[np.float64]
    seeds: int

    def at(self, leaves: int) -> float | None:
        """The median at a number of leaves, if it is known."""
        place = np.flatnonzero(self.leaves == leaves)
        return float(self.median[place[0]]) if len(place) else None

    def between(self, low: float, high: float) -> Curve:
        """A part of the curve."""
        kept = (self.leaves >= low) & (self.leaves <= high)
        return Curve(self.leaves[kept], self.median[kept], self.deviation[kept], self.seeds)


@dataclass
class Results:
    """What is known of each case: its rows and seconds, or the error that it ended with."""

    kept: dict[Case, Kept] = field(default_factory=dict)
    _curves: dict[tuple[str, str, str], Curve | None] = field(default_factory=dict)

    @classmethod
    def read(cls, tasks: Sequence[Task], results: Mapping[str, Kept]) -> Results:
        """Put the results of tasks, by their keys, into one place."""
        found = cls()
        for task in tasks:
            result = results.get(task.key)
            if result is not None:
                cases = [Case(**case) for case in task.arguments["cases"]]
                rows = result.get("cases", [result] * len(cases))
                found.kept |= zip(cases, rows, strict=True)
        return found

    def of_seed(self, seed: int) -> Results:
        """Those of one reference alone."""
        return Results({case: kept for case, kept in self.kept.items() if case.seed == seed})

    def done(self, data: str, method: str) -> dict[Case, Kept]:
        """The finished cases of a method on a data set."""
        return {
            case: kept
            for case, kept in self.kept.items()
            if (case.data, case.method) == (data, method) and "error" not in kept
        }

    def count(self, data: str, method: str, error: str) -> int:
        """How many cases ended with an error."""
        return sum(
            (case.data, case.method, kept.get("error")) == (data, method, error)
            for case, kept in self.kept.items()
        )

    def one(self, data: str, method: str, setting: str = "") -> Kept | None:
        """The case of a method that has one on a data set."""
        found = [kept for case, kept in self.done(data, method).items() if case.setting == setting]
        return found[0] if found else None

    def curve(self, data: str, method: str, what: str = "ratio") -> Curve | None:
        """A curve; of settings, the cheapest counts, for each seed and number of leaves."""
        key = data, method, what
        if key not in self._curves:
            self._curves[key] = self._curve(*key)
        return self._curves[key]

    def _curve(self, data: str, method: str, what: str) -> Curve | None:
        rows: dict[int, dict[int, Kept]] = defaultdict(dict)  # by leaves and seed
        for case, kept in self.done(data, method).items():
            for row in kept.get("rows", ()):
                known = rows[row["leaves"]].get(case.seed)
                if known is None or row["ratio"] < known["ratio"]:
                    rows[row["leaves"]][case.seed] = row
        leaves = sorted(rows)
        if not leaves:
            return None
        values = [[row[what] for row in rows[size].values()] for size in leaves]
        return Curve(
            np.array(leaves),
            np.array([np.median(some) for some in values]),
            np.array([np.std(some) for some in values]),
            max(map(len, values)),
        )

    def at(self, data: str, method: str, times_k: float, what: str = "ratio") -> float | None:
        """The median at so many times k leaves."""
        curve = self.curve(data, method, what)
        return None if curve is None else curve.at(round(times_k * PROBLEMS[data].k))

    def end(self, data: str, method: str, times_k: float, what: str = "ratio") -> float | None:
        """The same; of a tree that stopped growing before that, its last value."""
        curve = self.curve(data, method, what)
        if curve is None:
            return None
        some = curve.between(0, round(times_k * PROBLEMS[data].k))
        return float(some.median[-1]) if len(some.leaves) else None

    def paths(self, data: str, method: str) -> Iterable[list[Kept]]:
        """The rows of each finished case, by leaves."""
        return [kept.get("rows", []) for kept in self.done(data, method).values()]
