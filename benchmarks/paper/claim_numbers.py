"""Numbers that several statements are judged by."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from benchmarks.paper.claims import COMPETITIVE, SAME, listed
from benchmarks.paper.plan import METHODS, TITLES
from benchmarks.paper.results import Results
from treemeans.datasets import NAMES, TABLE

OURS = "exkmc_imm"
BASELINES = ("cart", "kdtree", "cltree", "cubt")
LINES = tuple(method for method in METHODS if method != "imm")


def titled(values: dict[str, float | None], form: str = "{:.3f}") -> str:
    """Return the values with the names of the data sets."""
    return listed({TITLES[name]: value for name, value in values.items()}, form)


def ends(
    results: Results, names: Iterable[str], method: str, times_k: float
) -> dict[str, float | None]:
    """Return the ratio at so many times k leaves on each set."""
    return {name: results.end(name, method, times_k) for name in names}


def least(results: Results, name: str, low: int, high: int) -> float | None:
    """Return our least ratio in a range; of a tree that stopped before it, the last."""
    curve, k = results.curve(name, OURS), TABLE[name].k
    if curve is None:
        return None
    some = curve.between(low * k, high * k)
    return float(some.median.min()) if len(some.leaves) else results.end(name, OURS, low)


def upto(results: Results, name: str, method: str, leaves: float) -> float | None:
    """Return the ratio of the largest tree of at most so many leaves."""
    curve = results.curve(name, method)
    some = None if curve is None else curve.between(0, leaves)
    return float(some.median[-1]) if some is not None and len(some.leaves) else None


def mean_at(results: Results, name: str, method: str, leaves: Iterable[float]) -> float | None:
    """Return the mean ratio at some sizes; of a tree that stopped, with its last value."""
    found = [v for size in leaves if (v := upto(results, name, method, size)) is not None]
    return float(np.mean(found)) if found else None


def competitive(results: Results, name: str, method: str) -> bool | None:
    """Say whether a method is about as cheap as ours at 4 k leaves."""
    theirs, ours = results.end(name, method, 4), results.end(name, OURS, 4)
    return None if theirs is None or ours is None else theirs <= COMPETITIVE * ours


def duels(results: Results, method: str) -> tuple[int, int, int]:
    """Return at how many of a method's points ours costs less, the same, and more."""
    gaps = []
    for name in NAMES:
        curve = results.curve(name, method)
        for size, value in zip(curve.leaves, curve.median, strict=True) if curve else ():
            ours = upto(results, name, OURS, size)
            if ours is not None:
                gaps.append(value - ours)
    lower, higher = sum(gap > SAME for gap in gaps), sum(gap < -SAME for gap in gaps)
    return lower, len(gaps) - lower - higher, higher


def share_lowest(results: Results, name: str) -> float | None:
    """Return the share of the baselines' sizes at which none of them is below ours."""
    rivals = [c for m in BASELINES if (c := results.curve(name, m)) is not None]
    lowest = []
    for size in sorted({int(s) for c in rivals for s in c.leaves}):
        ours = upto(results, name, OURS, size)
        values = [v for c in rivals if (v := c.at(size)) is not None]
        if ours is not None:
            lowest.append(ours <= min(values) + SAME)
    return float(np.mean(lowest)) if lowest else None


def percent(values: dict[str, float | None]) -> dict[str, float | None]:
    """Return shares as percentages."""
    return {name: None if value is None else 100 * value for name, value in values.items()}


def minus(one: float | None, other: float | None) -> float | None:
    """Subtract, where both are known."""
    return None if one is None or other is None else one - other
