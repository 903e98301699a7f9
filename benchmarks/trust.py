"""``python -m benchmarks trust``: false alarms, misses, time and memory of stability and warnings.

Every table is drawn anew: made clusters that are there, and columns that have nothing to do with
each other. docs/figures.md defines the figures.
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from treemeans import BadSegmentWarning, ExKMC
from treemeans.monitor.segment_checks import look_in_passing

Table = NDArray[np.float64]
ROWS, COLUMNS, CLUSTERS = 200, 4, 4
SEED = 11  # not looked at when the constants of the comparison were set


def blobs(rng: np.random.Generator, least: float = 6.0) -> Table:
    """Four clusters at random places, whose centers are at least so many deviations apart."""
    while True:
        centers = 5.0 / 6.0 * least * rng.normal(size=(CLUSTERS, COLUMNS))
        apart = np.linalg.norm(centers[:, None] - centers[None, :], axis=2)
        if apart[np.triu_indices(CLUSTERS, 1)].min() >= least:
            break
    group = rng.integers(CLUSTERS, size=ROWS)
    return centers[group] + rng.normal(size=(ROWS, COLUMNS))


def near_blobs(rng: np.random.Generator) -> Table:
    """Four clusters that overlap: at least three deviations apart."""
    return blobs(rng, 3.0)


def normal(rng: np.random.Generator) -> Table:
    """Independent normal columns."""
    return rng.normal(size=(ROWS, COLUMNS))


def uniform(rng: np.random.Generator) -> Table:
    """Independent uniform columns."""
    return rng.random((ROWS, COLUMNS))


TABLES: dict[str, tuple[Callable[[np.random.Generator], Table], str]] = {
    "clusters": (blobs, "four clusters, at least six deviations apart"),
    "near clusters": (near_blobs, "four clusters, at least three deviations apart"),
    "normal": (normal, "independent normal columns"),
    "uniform": (uniform, "independent uniform columns"),
}


def warning_shares(name: str, draws: int) -> dict[str, float]:
    """Share of the draws of a table in which there is each kind of warning."""
    counts: dict[str, int] = {}
    for i in range(draws):
        X = TABLES[name][0](np.random.default_rng([SEED, i]))
        model = ExKMC(CLUSTERS, random_state=0).fit(X)
        kinds = {each.kind for each in model.check_segments(X, random_state=i).warnings_}
        if any(each.kind == "not compact" for each in model.warnings_):
            kinds.add("not compact, in fit")
        for kind in kinds or {"none"}:
            counts[kind] = counts.get(kind, 0) + 1
    return {kind: count / draws for kind, count in counts.items()}


def stable_share(name: str, draws: int, resamples: int) -> tuple[float, float]:
    """Share of draws in which all clusters are stable, and in which at least one is not."""
    stable = 0
    for i in range(draws):
        X = TABLES[name][0](np.random.default_rng([SEED, i]))
        model = ExKMC(CLUSTERS, max_leaf_nodes=CLUSTERS, random_state=0).fit(X)
        found = model.stability(X, resamples, random_state=i, verbose=0)
        stable += all(each.jaccard >= 0.75 for each in found.clusters)
    return stable / draws, 1.0 - stable / draws


def print_shares(draws: int, stability_draws: int) -> None:
    """Print how often there is a warning, and how often clusters are stable."""
    kinds = ("none", "not compact", "not compact, in fit", "starts", "small", "single row")
    print(f"Warnings, {draws:,} draws of {ROWS} rows and {COLUMNS} columns, k = {CLUSTERS}:\n")
    print(f"| table | {' | '.join(kinds)} |\n| :-- |{' --: |' * len(kinds)}")
    for name, (_, about) in TABLES.items():
        shares = warning_shares(name, draws)
        cells = " | ".join(f"{shares.get(kind, 0.0):.1%}" for kind in kinds)
        print(f"| {about} | {cells} |", flush=True)
    print(f"\nStability, {stability_draws:,} draws, 20 resamples each:\n")
    print("| table | all clusters stable | at least one is not |\n| :-- | --: | --: |")
    for name, (_, about) in TABLES.items():
        shown = stable_share(name, stability_draws, 20)
        print(f"| {about} | {shown[0]:.1%} | {shown[1]:.1%} |", flush=True)


def print_times(rows: int) -> None:
    """Print seconds and memory on a large table, with clusters that overlap more and more."""
    print(f"\n{rows:,} rows x 20 columns, k = 8, two threads:\n")
    print("| what | seconds | processor seconds | MB more |\n| :-- | --: | --: | --: |")
    for spread in (3.0, 0.3):
        rng = np.random.default_rng(0)
        centers = spread * rng.normal(size=(8, 20))
        X = centers[rng.integers(8, size=rows)] + rng.normal(size=(rows, 20))
        model = ExKMC(8, random_state=0, n_jobs=2).fit(X)
        what = "apart" if spread > 1 else "overlapping"
        _timed(f"stability, 100 resamples, {what}", lambda m=model, X=X: m.stability(X, verbose=0))
        _timed(f"check_segments, {what}", lambda m=model, X=X: m.check_segments(X))
        _timed(f"alternatives, {what}", lambda m=model, X=X: m.alternatives(X, verbose=0))


SIZES = (  # rows, columns, clusters of tables on which the comparison of a fit is timed
    *((200, 4, 4), (500, 20, 8), (1_000, 10, 5), (2_000, 20, 8)),
    *((10_000, 10, 10), (20_000, 54, 7), (100_000, 20, 8)),
)
SPREADS = {"apart": 3.0, "overlapping": 0.5, "no clusters": 0.0}


def print_comparison_times() -> None:
    """Print how long the comparison with shuffles takes that every fit makes."""
    print("\nComparison with shuffles in a fit: processor ms of the rest of the fit, and its own\n")
    print(f"| table | {' | '.join(SPREADS)} |\n| :-- |{' --: |' * len(SPREADS)}")
    for rows, columns, k in SIZES:
        cells = []
        for spread in SPREADS.values():
            rng = np.random.default_rng(0)
            centers = spread * rng.normal(size=(k, columns))
            X = centers[rng.integers(k, size=rows)] + rng.normal(size=(rows, columns))
            model = ExKMC(k, random_state=0, n_jobs=1)
            whole = _best_ms(lambda m=model, X=X: m.fit(X), 3)
            reference = model.reference_centers_
            own = _best_ms(lambda X=X, c=reference: look_in_passing(X, None, c, given=False), 5)
            cells.append(f"{whole - own:.1f}, {own:.1f} ({own / (whole - own):.0%})")
        print(f"| {rows:,} x {columns}, k = {k} | {' | '.join(cells)} |", flush=True)


def _best_ms(run: Callable[[], object], times: int) -> float:
    """Processor milliseconds of the fastest run."""
    found = []
    for _ in range(times):
        start = time.process_time()
        run()
        found.append(1000.0 * (time.process_time() - start))
    return min(found)


def _timed(what: str, run: Callable[[], object]) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    wall, processor = time.perf_counter(), time.process_time()
    run()
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(f"| {what} | {wall:.1f} | {processor:.1f} | {more:.0f} |", flush=True)


def main(arguments: Sequence[str]) -> None:
    """Measure, and print tables."""
    warnings.simplefilter("ignore", BadSegmentWarning)
    parser = argparse.ArgumentParser(prog="python -m benchmarks trust", description=__doc__)
    parser.add_argument("--draws", type=int, default=1000, help="tables for the warnings")
    parser.add_argument("--stability-draws", type=int, default=1000, help="tables for stability")
    parser.add_argument("--rows", type=int, default=100_000, help="of the table that is timed")
    parser.add_argument("--only", choices=("shares", "times", "in fit"), help="measure one of them")
    options = parser.parse_args(arguments)
    if options.only in (None, "shares"):
        print_shares(options.draws, options.stability_draws)
    if options.only in (None, "times"):
        print_times(options.rows)
    if options.only in (None, "in fit"):
        print_comparison_times()
