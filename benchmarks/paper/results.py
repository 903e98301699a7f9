"""What the cells hold, put together: curves over the leaves, and single numbers."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemeans.datasets import TABLE

from . import sheets
from .cells import Cell
from .run import DONE, FOLDER

Kept = dict[str, Any]


@dataclass(frozen=True)
class Curve:
    """Median and standard deviation over the seeds, for each number of leaves."""

    leaves: NDArray[np.int64]
    median: NDArray[np.float64]
    deviation: NDArray[np.float64]
    seeds: int

    def at(self, leaves: int) -> float | None:
        """Return the median at a number of leaves, if it is known."""
        place = np.flatnonzero(self.leaves == leaves)
        return float(self.median[place[0]]) if len(place) else None

    def between(self, low: float, high: float) -> Curve:
        """Return a part of the curve."""
        kept = (self.leaves >= low) & (self.leaves <= high)
        return Curve(self.leaves[kept], self.median[kept], self.deviation[kept], self.seeds)


@dataclass
class Results:
    """All cells that are kept."""

    kept: dict[Cell, Kept] = field(default_factory=dict)
    _curves: dict[tuple[str, str, str], Curve | None] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path = FOLDER) -> Results:
        """Read every cell of a folder: a file for each, or the two tables of them all."""
        if (folder / sheets.CELLS).exists():
            return cls(sheets.read(folder))
        found = cls()
        for path in sorted(folder.glob("*/*/*.json")):
            kept = json.loads(path.read_text())
            found.kept[Cell(**kept.pop("cell"))] = kept
        return found

    def of_seed(self, seed: int) -> Results:
        """Return those of one reference alone."""
        return Results({cell: kept for cell, kept in self.kept.items() if cell.seed == seed})

    def done(self, data: str, method: str) -> dict[Cell, Kept]:
        """Return the finished cells of a method on a data set."""
        return {
            cell: kept
            for cell, kept in self.kept.items()
            if (cell.data, cell.method) == (data, method) and kept["status"] == DONE
        }

    def count(self, data: str, method: str, status: str) -> int:
        """Return how many cells ended so."""
        return sum(
            (cell.data, cell.method, kept["status"]) == (data, method, status)
            for cell, kept in self.kept.items()
        )

    def one(self, data: str, method: str, setting: str = "") -> Kept | None:
        """Return the cell of a method that has one on a data set."""
        found = [kept for cell, kept in self.done(data, method).items() if cell.setting == setting]
        return found[0] if found else None

    def curve(self, data: str, method: str, what: str = "ratio") -> Curve | None:
        """Return a curve; of settings, the cheapest counts, for each seed and number of leaves."""
        key = data, method, what
        if key not in self._curves:
            self._curves[key] = self._curve(*key)
        return self._curves[key]

    def _curve(self, data: str, method: str, what: str) -> Curve | None:
        rows: dict[int, dict[int, Kept]] = defaultdict(dict)  # by leaves and seed
        for cell, kept in self.done(data, method).items():
            for row in kept.get("rows", ()):
                known = rows[row["leaves"]].get(cell.seed)
                if known is None or row["ratio"] < known["ratio"]:
                    rows[row["leaves"]][cell.seed] = row
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
        """Return the median at so many times k leaves."""
        curve = self.curve(data, method, what)
        return None if curve is None else curve.at(round(times_k * TABLE[data].k))

    def end(self, data: str, method: str, times_k: float, what: str = "ratio") -> float | None:
        """Return the same; of a tree that stopped growing before that, its last value."""
        curve = self.curve(data, method, what)
        if curve is None:
            return None
        some = curve.between(0, round(times_k * TABLE[data].k))
        return float(some.median[-1]) if len(some.leaves) else None

    def paths(self, data: str, method: str) -> Iterable[list[Kept]]:
        """Return the rows of each finished cell, by leaves."""
        return [kept.get("rows", []) for kept in self.done(data, method).values()]

    def packages(self) -> set[str]:
        """Return the versions of the code that the cells were computed with."""
        return {kept["package"] for kept in self.kept.values() if "package" in kept}
