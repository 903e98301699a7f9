"""What a fit costs, worked out from measurements: a law for a pass, memory, tasks, reading."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scale_cells import FILES, GIVEN, HELD, PARQUET, PROCESSES, STORED, SYNC, Setting
from scale_data import NUMBER
from scipy.optimize import nnls

from treemeans.parts.growth.search import COARSE, FINEST, LISTED

LARGEST = 3_000_000
"""Rows of the largest table that the law is fitted on; larger ones put it to the test."""
KINDS = {
    "sketch": ("sketch",),
    "price": ("pricing", "last", "count"),
    "first look": ("base, first", "growth, first"),
    "closer look": ("base, closer", "growth, closer"),
}
"""Passes that are alike, by the names that a record has for them."""
LARGE = ("sketch", "first look")
"""Of these, answers are large enough for their bytes to be felt."""
PARTITION, BYTE = "partition", "byte of answers"
TERMS: dict[str, Callable[[Setting], float]] = {
    "row": lambda s: s.rows,
    "row and feature": lambda s: s.rows * s.features,
    "row, feature and center": lambda s: s.rows * s.features * s.k,
    PARTITION: lambda s: s.parts,
}
"""What the time of a pass is a sum of; a byte of the answers is another term."""


@dataclass(frozen=True)
class Measured:
    """A setting and what was found."""

    setting: Setting
    result: dict[str, Any]

    @property
    def kinds(self) -> dict[str, dict[str, Any]]:
        """Records of the passes by their kind."""
        found: dict[str, dict[str, Any]] = self.result.get("kinds", {})
        return found

    def total(self, what: str, names: Iterable[str] | None = None) -> float:
        """Of passes, seconds or bytes, of all kinds or of some."""
        kept = [name for name in self.kinds if names is None or name in names]
        return float(sum(self.kinds[name][what] or 0 for name in kept))

    def mean(self, what: str, names: Iterable[str] | None = None) -> float:
        """The same in a pass, on average; NaN where there was none."""
        names = None if names is None else tuple(names)
        passes = self.total("passes", names)
        return self.total(what, names) / passes if passes else math.nan

    @property
    def passes(self) -> int:
        """Over all rows."""
        return int(self.total("passes"))


def measured(results: dict[str, Any]) -> list[Measured]:
    """The cells of scale.json that did not fail."""
    cells = [Measured(Setting(**cell["setting"]), cell["result"]) for cell in results["cells"]]
    return [cell for cell in cells if "error" not in cell.result]


# ---- seconds -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Law:
    """Seconds of one processor for a pass of each kind.

    ``constants``: by kind, seconds for each of the TERMS, and for a byte of answers.
    """

    constants: dict[str, dict[str, float]]

    def seconds(self, kind: str, setting: Setting, answered: float) -> float:
        """Of one pass."""
        found = self.constants[kind]
        terms = sum(found[name] * term(setting) for name, term in TERMS.items())
        return terms + found[BYTE] * answered

    def passes_seconds(self, one: Measured) -> float:
        """Of the passes of a fit."""
        total = 0.0
        for kind, names in KINDS.items():
            n_passes = one.total("passes", names)
            if n_passes and kind in self.constants:
                answered = one.mean("answered", names)
                total += n_passes * self.seconds(kind, one.setting, answered)
        return total


def law_of(cells: list[Measured]) -> Law:
    """The constants that fit best, in relative terms; none is negative."""
    used = [one for one in cells if _is_plain(one) and one.setting.rows <= LARGEST]
    constants = {}
    for kind, names in KINDS.items():
        some = [one for one in used if one.total("passes", names)]
        if some:
            large = kind in LARGE
            lines = [
                [*(term(one.setting) for term in TERMS.values()),
                 one.mean("answered", names) * large]
                for one in some
            ]  # fmt: skip
            seconds = [one.mean("cpu_seconds", names) for one in some]
            found = _fit(np.array(lines, dtype=float), np.array(seconds))
            constants[kind] = dict(zip([*TERMS, BYTE], found.tolist(), strict=True))
    return Law(constants)


def _is_plain(one: Measured) -> bool:
    """Whether a fit ran in one thread, on rows read from a file."""
    s = one.setting
    return (s.where, s.source, s.reference) == (SYNC, STORED, GIVEN)


def _fit(lines: NDArray[np.float64], seconds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Least squares of the relative errors, without negative constants."""
    lines = lines / np.maximum(seconds, 1e-9)[:, None]
    size = np.maximum(lines.max(axis=0), 1e-300)  # columns of like size, for the solver's sake
    found, _ = nnls(lines / size, np.ones(len(lines)))
    return np.asarray(found / size)


# ---- passes --------------------------------------------------------------------------------------


def closer_looks(rows: float) -> int:
    """Passes after a first look until a stretch is down to its values, where no bound ends it.

    A stretch of the first look holds a share of the rows. Every closer look divides it, half of its
    edges by distance, until so few rows are left that a last one lists them.
    """
    return 1 + math.ceil(math.log(max(rows / COARSE / LISTED, 1.0), FINEST // 2))


def passes_by_kind(one: Measured, rows: float) -> dict[str, int]:
    """Of a fit like the one measured, but on ``rows`` rows: there are more closer looks."""
    found = {kind: int(one.total("passes", names)) for kind, names in KINDS.items()}
    found["closer look"] = found["first look"] * closer_looks(rows)
    return found


# ---- memory, tasks, reading ----------------------------------------------------------------------


@dataclass(frozen=True)
class Room:
    """Peak memory of a process that asks one part at a time.

    Attributes
    ----------
    base : bytes of the program alone
    row, value, center : bytes for each row of a part, for each of its values, and of its costs
    answers : that are held at a time, before they are merged
    """

    base: float
    row: float
    value: float
    center: float
    answers: float

    def bytes(self, part_rows: float, features: int, k: int, answer: float) -> float:
        """With one part in memory, and with answers of so many bytes."""
        of_row = self.row + self.value * features + self.center * k
        return self.base + part_rows * of_row + self.answers * answer


def room_of(cells: list[Measured]) -> Room:
    """What fits the peaks of fits in one thread best."""
    used = [one for one in cells if _is_plain(one)]
    base = min(one.result["before_bytes"] for one in used)
    rows = np.array([one.setting.rows / one.setting.parts for one in used])
    features = np.array([one.setting.features for one in used])
    centers = np.array([one.setting.k for one in used])
    answers = np.array([max(one.mean("returned", [kind]) for kind in one.kinds) for one in used])
    lines = np.column_stack([rows, rows * features, rows * centers, answers])
    peaks = np.array([one.result["peak_bytes"] for one in used])
    extra = peaks - base - rows * features * NUMBER  # the part itself is there in any case
    row, value, center, held = _fit(lines, np.maximum(extra, 1.0)).tolist()
    return Room(base, row, NUMBER + value, center, held)


def _on_cluster(cells: list[Measured]) -> list[Measured]:
    """Fits of a small table in few parts and in many, on a cluster."""
    used = [one for one in cells if one.setting.where == PROCESSES and one.setting.workers > 1]
    fewest = min((one.setting.rows for one in used), default=0)
    used = [one for one in used if one.setting.rows == fewest]
    return sorted(used, key=lambda one: one.setting.parts)


def _per_part(few: Measured, many: Measured, what: str, names: tuple[str, ...]) -> float:
    """Seconds that one more part adds to a pass."""
    more = many.mean(what, names) - few.mean(what, names)
    return max(more, 0.0) / (many.setting.parts - few.setting.parts)


@dataclass(frozen=True)
class Overhead:
    """What partitions cost on a cluster apart from their rows, in processor seconds.

    Attributes
    ----------
    asking : of the process that asks and schedules, for each partition in a pass
    working : of a worker, for each partition in a pass
    byte : of the workers that send and merge it, for each byte of an answer
    """

    asking: float
    working: float
    byte: float


def overhead_of(cells: list[Measured]) -> Overhead:
    """From a small table in few parts and in many; NaN where that was not measured."""
    used = _on_cluster(cells)
    if len(used) < 2:
        return Overhead(math.nan, math.nan, math.nan)
    few, many = used[0], used[-1]
    asking = _per_part(few, many, "cpu_seconds", KINDS["price"])
    small = _per_part(few, many, "worker_seconds", KINDS["price"])
    names = KINDS["first look"]
    large = _per_part(few, many, "worker_seconds", names)
    answer = many.mean("answered", names) / many.setting.parts
    return Overhead(asking, small, max(large - small, 0.0) / answer)


def reading_rate(cells: list[Measured]) -> float:
    """Bytes of numbers that one thread reads from Parquet files in a second, beyond asking."""
    for files in cells:
        if files.setting.source == PARQUET and files.setting.workers == 1:
            alike = replace(files.setting, where=SYNC, source=HELD)
            held = next((one for one in cells if one.setting == alike), None)
            if held is not None:
                more = files.mean("cpu_seconds") - held.mean("cpu_seconds")
                return files.setting.table.n_bytes / more if more > 0 else math.inf
    return math.nan


def in_files(cells: list[Measured]) -> Measured | None:
    """The largest fit on files."""
    found = [one for one in cells if one.setting.where == FILES]
    return max(found, key=lambda one: one.setting.rows, default=None)
