"""What the package promises of its speed, set against what a run measured."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Row = dict[str, Any]

FASTER_THAN_OFFICIAL = {
    "avila": 10.0,
    "covtype": 25.0,
    "20newsgroups": 200.0,
    "cifar10_10k": 25.0,
    "cifar10": 25.0,
}
PART_OF_KMEANS = {"covtype": 0.02, "cifar10_10k": 0.02, "cifar10": 0.02}
TWO_THREADS_FASTER = 1.6
MEMORY_OF_DENSE = 0.5
# "A small multiple of the non-zeros".
MEMORY_OF_NON_ZEROS = 4.0
PREDICT_FASTER = 3.0
IRIS_MS = 5.0


@dataclass(frozen=True)
class Bar:
    """One promise: what is measured, the limit, and the number measured (None: not in this run)."""

    problem: str
    what: str
    limit: float
    at_least: bool
    measured: float | None

    @property
    def verdict(self) -> str:
        """Return met, missed or not measured."""
        if self.measured is None:
            return "not measured"
        met = self.measured >= self.limit if self.at_least else self.measured <= self.limit
        return "met" if met else "missed"


def bars_of(row: Row) -> Iterator[Bar]:
    """Yield the promises about one problem."""
    name = row["problem"]
    ours = _seconds(row, "treemeans_1")
    if name == "iris":
        yield Bar(name, "fit beyond k-means, ms", IRIS_MS, False, _times(ours, 1000.0))
        return
    if name in FASTER_THAN_OFFICIAL:
        faster = _ratio(_seconds(row, "official_1"), ours)
        yield Bar(name, "times the official speed", FASTER_THAN_OFFICIAL[name], True, faster)
    if name in PART_OF_KMEANS:
        part = _ratio(ours, _seconds(row, "kmeans"))
        yield Bar(name, "part of KMeans(n_init=10)", PART_OF_KMEANS[name], False, part)
    two = _ratio(ours, _seconds(row, "treemeans_2"))
    yield Bar(name, "two threads against one", TWO_THREADS_FASTER, True, two)
    limit = MEMORY_OF_NON_ZEROS if row["sparse"] else MEMORY_OF_DENSE
    yield Bar(name, "memory / input", limit, False, memory_ratio(row, "treemeans_1"))
    tree = _ratio(_seconds(row, "predict", "cart"), _seconds(row, "predict", "treemeans"))
    yield Bar(name, "times the predict speed of a tree", PREDICT_FASTER, True, tree)


def memory_ratio(row: Row, cell: str) -> float | None:
    """Return the peak beyond the input, in sizes of the input the method was given."""
    measured = row["cells"].get(cell, {})
    return _ratio(measured.get("peak_bytes"), measured.get("input_bytes"))


def _seconds(row: Row, cell: str, key: str = "seconds") -> float | None:
    """Return a time of a cell, if it was measured."""
    seconds: float | None = row["cells"].get(cell, {}).get(key)
    return seconds


def _ratio(one: float | None, other: float | None) -> float | None:
    """Divide, where both numbers are known."""
    return None if one is None or not other else one / other


def _times(number: float | None, factor: float) -> float | None:
    """Multiply a number, where it is known."""
    return None if number is None else number * factor
