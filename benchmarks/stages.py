"""Where the time of a fit goes: ``python benchmarks/stages.py [--threads N] NAME ...``.

Prints the best of several fits, kernel by kernel, with the reference centers given. The rest is
Python. speed.py must have run once on the problem, for its centers.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import reference
from problems import PROBLEMS

from treemeans import ExKMC, _core

FUNCTIONS = {
    "make_bins": "bins",
    "price": "costs",
    "total_regrets": "costs",
    "to_fixed": "costs",
    "greedy_cut": "ExGreedy: search",
    "surrogate_cut": "expansion: search",
    "partition": "cuts carried out",
    "sum_regrets": "cuts carried out",
    "group_sums": "cluster means",
}


class Clock:
    """Seconds by stage."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = {}

    def around(self, call: Callable[..., Any], stage: str) -> Callable[..., Any]:
        """Return the function, timed."""

        def timed(*args: Any) -> Any:
            start = time.perf_counter()
            result = call(*args)
            self.spent[stage] = self.spent.get(stage, 0.0) + time.perf_counter() - start
            return result

        return timed


def watch(clock: Clock) -> None:
    """Put the clock around every kernel the fit calls."""
    for name, stage in FUNCTIONS.items():
        setattr(_core, name, clock.around(getattr(_core, name), stage))
    counts = _core.MistakeCounts

    class TimedCounts:
        """IMM's counts, timed."""

        def __init__(self, *args: Any) -> None:
            inner = clock.around(counts, "IMM: counts")(*args)
            self.bury = clock.around(inner.bury, "IMM: counts")
            self.cut = clock.around(inner.cut, "IMM: search")

    _core.MistakeCounts = TimedCounts  # type: ignore[assignment, misc]


def best_fit(name: str, threads: int, repeat: int, clock: Clock) -> tuple[float, dict[str, float]]:
    """Return the least time of several fits, and its stages."""
    problem = PROBLEMS[name]
    X, centers = problem.load(), reference.read(name).centers
    runs = []
    for _ in range(repeat):
        clock.spent = {}
        start = time.perf_counter()
        ExKMC(problem.k, reference=centers, n_jobs=threads).fit(X)
        runs.append((time.perf_counter() - start, clock.spent))
    return min(runs, key=lambda run: run[0])


def main() -> None:
    """Print a table for each problem."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="+", choices=list(PROBLEMS), metavar="NAME")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=7)
    options = parser.parse_args()
    clock = Clock()
    watch(clock)
    for name in options.names:
        total, stages = best_fit(name, options.threads, options.repeat, clock)
        stages["Python and the rest"] = total - sum(stages.values())
        print(f"{name}: {1000 * total:.1f} ms")
        for stage, seconds in sorted(stages.items(), key=lambda item: -item[1]):
            print(f"  {stage:20} {1000 * seconds:8.1f} ms  {seconds / total:4.0%}")


if __name__ == "__main__":
    main()
