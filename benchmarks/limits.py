"""``python -m benchmarks limits``: what limits on clusters add to a reference (LIMITS.md).

Made rows in groups of unequal size, so that the limits are in the way; several draws. Seconds are
of the processor, with one thread. The reference is fitted first, and not counted.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.pages import machine
from treemeans import ExKMC
from treemeans.explain.warning_record import BadSegmentWarning
from treemeans.reference import FastKMeans

PAGE = Path(__file__).parent / "LIMITS.md"
HELD_OUT = "## Other draws"
"""Title of the part of the page that ``--seed`` writes."""
N_ROWS, N_COLUMNS, K, N_LEAVES = 23_000, 50, 10, 20
DRAWS = (0, 1, 2, 3, 4, 5, 6, 7)
GOAL = 2.0
CASES: dict[str, dict[str, Any]] = {
    "none": {},
    "at least 8 % of the rows": {"min_cluster_size": 0.08},
    "at most 13 %": {"max_cluster_size": 0.13},
    "at most 10.5 %": {"max_cluster_size": 0.105},
    "8 % to 12 %": {"min_cluster_size": 0.08, "max_cluster_size": 0.12},
    "share of a group from 40 to 60 %": {"balance": {"group": {"a": (0.4, 0.6)}}},
    "that, and 5 % to 15 % of the rows": {
        "balance": {"group": {"a": (0.4, 0.6)}},
        "min_cluster_size": 0.05,
        "max_cluster_size": 0.15,
    },
    "that, and 8 % to 12 % of the rows": {
        "balance": {"group": {"a": (0.4, 0.6)}},
        "min_cluster_size": 0.08,
        "max_cluster_size": 0.12,
    },
}
ABOVE = f"""# The time of limits on clusters

Written by `python -m benchmarks limits`. Processor seconds that a tree of {N_LEAVES} leaves adds to
its reference, with one thread: {N_ROWS:,} made rows x {N_COLUMNS} columns, k = {K},
{len(DRAWS)} draws.
The sizes of the groups that the rows are drawn from differ, so that nearly every limit is in the
way; the share of the value "a" in them lies between 25 and 75 %.

The goal is {GOAL:g} s. "refused": no tree was found, and the sentence that says so names the
nearest limits.

"""


def draw(seed: int) -> tuple[NDArray[np.float64], NDArray[np.str_]]:
    """Rows of groups whose sizes differ, and a value that depends on where a row is."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(K, 2.0))
    group = rng.choice(K, N_ROWS, p=shares)
    X = rng.normal(size=(N_ROWS, N_COLUMNS)) + rng.normal(scale=1.5, size=(K, N_COLUMNS))[group]
    lean = rng.uniform(0.25, 0.75, K)[group]
    return X, np.where(rng.random(N_ROWS) < lean, "a", "b")


def measure(seed: int, limits: dict[str, Any]) -> tuple[float, float, bool]:
    """Seconds of the reference and of the tree beyond it, and whether there is a tree."""
    X, values = draw(seed)
    begin = time.process_time()
    reference = FastKMeans(K, random_state=seed).fit(X)
    fitted = time.process_time()
    model = ExKMC(
        K, reference=reference, max_leaf_nodes=N_LEAVES, random_state=seed, n_jobs=1, **limits
    )
    found = True
    try:
        with warnings.catch_warnings(category=BadSegmentWarning, action="ignore"):
            model.fit(X, groups={"group": values} if "balance" in limits else None)
    except ValueError:
        found = False
    seconds = time.process_time() - fitted
    if found:
        check(model.labels_, values, limits)
    return fitted - begin, seconds, found


def check(labels: NDArray[np.int32], values: NDArray[np.str_], limits: dict[str, Any]) -> None:
    """Fail unless the clusters of the training rows are within the limits."""
    sizes = np.bincount(labels, minlength=K)
    assert sizes.min() >= limits.get("min_cluster_size", 0) * N_ROWS
    assert sizes.max() <= limits.get("max_cluster_size", 1) * N_ROWS
    if "balance" in limits:
        low, high = limits["balance"]["group"]["a"]
        shares = np.bincount(labels, values == "a", minlength=K)[sizes > 0] / sizes[sizes > 0]
        assert low <= shares.min()
        assert shares.max() <= high


def table(results: dict[str, list[tuple[float, float, bool]]]) -> str:
    """The seconds of every case, and how many are above the goal."""
    lines = ["| every cluster | median | most | all draws |", "|---|--:|--:|---|"]
    for title, runs in results.items():
        seconds = [each for _, each, _ in runs]
        cells = [f"{each:.1f}" + ("" if found else " refused") for _, each, found in runs]
        lines.append(
            f"| {title} | {np.median(seconds):.1f} | {max(seconds):.1f} | {', '.join(cells)} |"
        )
    of_reference = [each for runs in results.values() for each, _, _ in runs]
    trees = [each for runs in results.values() for _, each, found in runs if found]
    above = sum(each > GOAL for each in trees)
    lines += [
        "",
        f"Above {GOAL:g} s: {above} of {len(trees)} trees, the slowest {max(trees):.1f} s. The",
        f"reference itself takes {np.median(of_reference):.1f} s (median). Every tree is within",
        "its limits.",
        "",
    ]
    return "\n".join(lines)


def page(results: dict[str, list[tuple[float, float, bool]]]) -> str:
    """The page of the results."""
    return "\n".join([ABOVE + table(results), f"Measured on {machine()}", ""])


def with_held_out(
    text: str, first: int, results: dict[str, list[tuple[float, float, bool]]]
) -> str:
    """The page with the results of draws that were not used to choose anything."""
    lines = [
        text.split(HELD_OUT)[0].rstrip(),
        "",
        HELD_OUT,
        "",
        "The search was made faster on the draws above. These were not looked at before",
        f"(`python -m benchmarks limits --seed {first}`, draws {first} to "
        f"{first + len(DRAWS) - 1}):",
        "",
        table(results),
        f"Measured on {machine()}",
        "",
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure all cases, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks limits", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two draws, and no page")
    parser.add_argument("--seed", type=int, help="other draws, from this one on (second table)")
    options = parser.parse_args(arguments)
    first = DRAWS[0] if options.seed is None else options.seed
    draws = range(first, first + (2 if options.quick else len(DRAWS)))
    results: dict[str, list[tuple[float, float, bool]]] = {}
    for title, limits in CASES.items():
        results[title] = [measure(seed, limits) for seed in draws]
        print(title, [f"{seconds:.2f}" for _, seconds, _ in results[title]], flush=True)
    if options.quick:
        return
    if options.seed is None:
        PAGE.write_text(page(results), encoding="utf-8")
    else:
        text = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(with_held_out(text, first, results), encoding="utf-8")
