"""The tables of the quality benchmark, as plain text and as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from problems import PROBLEMS
from quality_bars import (
    SEVEN,
    Results,
    allowed_seconds,
    bars_of,
    largest,
    local_share,
    mean_of_ratios,
    missing,
    ratio_of_means,
    search_share,
    worse_than_imm,
)
from table import bar_line, columns, number
from trees import METHODS

MOST_NAMED = 20


@dataclass(frozen=True)
class Section:
    """A table, its head first, and what to know to read it."""

    title: str
    lines: list[list[str]]
    note: str


def sections(results: Results) -> list[Section]:
    """Return all tables."""
    return [
        _excesses(results),
        _ratios(results),
        _limits(results),
        _times(results),
        _promises(results),
    ]


def plain(parts: Iterable[Section]) -> str:
    """Write the tables for a terminal."""
    return "\n\n".join(f"{p.title}\n\n{columns(p.lines)}\n\n{p.note}" for p in parts)


def markdown(parts: Iterable[Section], command: str, machine: dict[str, Any]) -> str:
    """Write the tables as a Markdown page that says how it was made."""
    about = ", ".join(f"{key} {value}" for key, value in machine.items())
    head = f"# Quality\n\nMade by\n\n```sh\n{command}\n```\n\non: {about}."
    pages = [f"## {p.title}\n\n{_pipes(p.lines)}\n\n{p.note}" for p in parts]
    return "\n\n".join([head, *pages]) + "\n"


def _excesses(results: Results) -> Section:
    """Return the issue's table: the excess of every method at every size."""
    lines = [["data", "leaves", *(METHODS[m].title for m in results.methods)]]
    for problem in results.problems:
        for size in results.sizes:
            lines.append([problem, str(size * PROBLEMS[problem].k)])
            lines[-1] += [_spread(_over_seeds(results, problem, size, m)) for m in results.methods]
    seven = [name for name in SEVEN if name in results.problems]
    for size in results.sizes if len(seven) > 1 else ():
        cells = [_mean_of_means(results, seven, size, m) for m in results.methods]
        lines.append([f"mean of {len(seven)}", f"{size} k", *cells])
    note = (
        "k-means cost of the tree's clusters / cost of the reference - 1: mean over "
        f"{len(results.seeds)} seed(s) of the reference, ± standard deviation. The last lines are "
        "over the data sets of the promises that have a number. CART on labels is scikit-learn's "
        "decision tree; the others are ExKMC from that base tree."
    )
    return Section("Excess over the reference", lines, note)


def _ratios(results: Results) -> Section:
    """Return the excess of every method over that of IMM, data set by data set."""
    others = [m for m in results.methods if m != "imm"]
    lines = [["data", "leaves", *(METHODS[m].title for m in others)]]
    for problem in results.problems:
        for size in results.sizes:
            cells = [_to_imm(results, problem, size, method) for method in others]
            lines.append([problem, str(size * PROBLEMS[problem].k), *map(number, cells)])
    return Section("Excess over that of IMM", lines, "Mean excess / mean excess of ExKMC (IMM).")


def _limits(results: Results) -> Section:
    """Return the times of the refinements, and what they are held to."""
    head = ["data", "leaves", "KMeans s", "allowed s", "search s", "largest share"]
    lines = [[*head, "IMM fit s", "local fit s", "largest ratio"]]
    for problem in results.problems:
        kmeans = _mean(results.kmeans_seconds(problem, seed) for seed in results.seeds)
        allowed = _mean(allowed_seconds(results, problem, seed) for seed in results.seeds)
        for size in results.sizes:
            here = replace(results, problems=(problem,), sizes=(size,))
            search, imm, local = (_seconds(here, m) for m in ("search", "imm", "local"))
            share, slower = largest(here, search_share), largest(here, local_share)
            numbers = (kmeans, allowed, search, share, imm, local, slower)
            lines.append([problem, str(size * PROBLEMS[problem].k), *map(number, numbers)])
    note = (
        "Processor seconds on one thread, mean over the seeds; every fit is given the reference "
        "centers. allowed: max(10 x KMeans, 5 s). share: search / allowed. IMM fit: the whole "
        "unrefined fit (bins, costs, IMM, expansion), and ratio is local / IMM fit. KMeans is "
        "KMeans(n_init=10), for cifar10 KMeans(n_init=1)."
    )
    return Section("Times of the refinements", lines, note)


def _times(results: Results) -> Section:
    """Return the time of every method at the largest size."""
    here = replace(results, sizes=(max(results.sizes),))
    lines = [["data", "leaves", *(METHODS[m].title for m in results.methods)]]
    for problem in results.problems:
        only = replace(here, problems=(problem,))
        cells = [number(_seconds(only, method)) for method in results.methods]
        lines.append([problem, str(here.sizes[0] * PROBLEMS[problem].k), *cells])
    note = "Processor seconds of a fit to the largest size, mean over the seeds."
    return Section("Times of all methods", lines, note)


def _promises(results: Results) -> Section:
    """Return the promises with their verdicts."""
    lines = [["data", "bar", "limit", "measured", "verdict"]]
    lines += [bar_line(bar) for bar in bars_of(results)]
    # Synthetic II alone has more than two thirds of IMM's mean excess.
    others = tuple(name for name in SEVEN if name != "synthetic_2")
    notes = [
        f"Mean of the single cells' search / IMM: {number(mean_of_ratios(results))}.",
        f"Ratio of the means without synthetic_2: {number(ratio_of_means(results, others))}.",
    ]
    absent = [name for name in SEVEN if name not in results.problems]
    notes += [f"Of the seven not asked for: {', '.join(absent)}."] if absent else []
    notes += [f"Cells of IMM, local and search not measured: {missing(results)}."]
    for method in ("search", "local"):
        worse = worse_than_imm(results, method)
        named = "; ".join(f"{p}, seed {s}, {size} k" for p, s, size in worse[:MOST_NAMED])
        notes += [f"{method} costs more than IMM on {len(worse)} cells: {named}."] if worse else []
    old = results.of_another_version()
    notes += [f"{old} numbers come from another version of the package."] if old else []
    return Section("The bars", lines, "\n".join(f"- {note}" for note in notes))


def _over_seeds(results: Results, problem: str, size: int, method: str) -> list[float]:
    """Return the excess of a method for every seed that has one."""
    found = [results.excess((problem, seed, size), method) for seed in results.seeds]
    return [value for value in found if value is not None]


def _to_imm(results: Results, problem: str, size: int, method: str) -> float | None:
    """Return the mean excess of a method over that of IMM, where IMM has one to speak of."""
    ours, imm = (_mean(_over_seeds(results, problem, size, m)) for m in (method, "imm"))
    return None if ours is None or imm is None or imm < 1e-6 else ours / imm


def _mean_of_means(results: Results, problems: list[str], size: int, method: str) -> str:
    """Write the mean over problems of the mean over seeds; a dash if a problem has none."""
    means = [_mean(_over_seeds(results, problem, size, method)) for problem in problems]
    mean = None if None in means else _mean(means)
    return "-" if mean is None else _excess(mean)


def _seconds(results: Results, method: str) -> float | None:
    """Return the mean time of a method over all places."""
    return _mean(results.seconds(place, method) for place in results.places())


def _mean(values: Iterable[float | None]) -> float | None:
    """Return the mean of the known values."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def _spread(values: Sequence[float]) -> str:
    """Write the mean and, of several values, the standard deviation."""
    if not values:
        return "-"
    mean = _excess(float(np.mean(values)))
    spread = f" ±{np.std(values, ddof=1):.3f}".replace("±0.", "±.") if len(values) > 1 else ""
    return mean + spread


def _excess(value: float) -> str:
    """Write an excess with three places; a nothing has no sign."""
    return f"{round(value, 3) + 0.0:.3f}"


def _pipes(lines: list[list[str]]) -> str:
    """Write a table in Markdown."""
    head, *body = ["| " + " | ".join(line) + " |" for line in lines]
    return "\n".join([head, "|---" * len(lines[0]) + "|", *body])
