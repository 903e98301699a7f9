"""What the trees cost, method by method: ``python benchmarks/quality.py``.

For twelve data sets, five seeds of the reference k-means, and k, 2 k and 4 k leaves. References and
fits are kept in benchmarks/.cache, so a run that was stopped goes on where it was; ``--fresh``
measures the fits again.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import fits
import reference
from fits import SIZES, Fit, Job, jobs_of
from problems import PROBLEMS, Table, data_folder
from quality_bars import Results, bars_of, missing
from quality_table import markdown, plain, sections
from reference import Reference
from speed import machine, measure_cell
from trees import METHODS
from worker import Cell

NAMES = tuple(name for name in PROBLEMS if name != "cifar10_10k")
SEEDS = (0, 1, 2, 3, 4)
# Ten starts on all images take nine minutes for each seed.
N_INIT = {"cifar10": 1}


def run(options: argparse.Namespace) -> Results:
    """Measure what is asked for and not yet known."""
    asked = (options.only, options.seeds, options.methods, options.sizes)
    results = Results(*asked, fits={}, references={})
    for problem in options.only:
        run_problem(problem, options, results)
    return results


def run_problem(problem: str, options: argparse.Namespace, results: Results) -> None:
    """Add the references and fits of one problem to the results."""
    X: Table | None = None
    jobs = list(_jobs(problem, options))
    for number, job in enumerate(jobs, start=1):
        known = results.references.get((problem, job.seed)) or _reference(job, options.cached)
        if known is None:
            continue
        results.references[problem, job.seed] = known
        fit = None if options.fresh else fits.read(job)
        if fit is None and not options.cached:
            X = PROBLEMS[problem].load() if X is None else X
            fit = _run(job, X, known, f"{number} of {len(jobs)}")
        if fit is not None:
            _enter(results, job, fit)


def _jobs(problem: str, options: argparse.Namespace) -> Iterator[Job]:
    """Yield the fits of a problem, seed by seed."""
    for seed in options.seeds:
        for method in options.methods:
            yield from jobs_of(problem, seed, method, options.sizes)


def _reference(job: Job, cached: bool) -> Reference | None:
    """Return the reference, measured now unless it is on disk."""
    key = (job.problem, job.seed, N_INIT.get(job.problem, 10))
    if not reference.path_of(*key).exists():
        if cached:
            return None
        cell = Cell("cluster", job.problem, method="kmeans", seed=job.seed, n_init=key[2])
        done = measure_cell(cell, Path(sys.executable))
        if "error" in done:
            sys.exit(f"{job.problem}: no reference, {done['error']}")
    return reference.read(*key)


def _run(job: Job, X: Table, known: Reference, progress: str) -> Fit | None:
    """Measure and keep one fit; one that fails is named, and the others go on."""
    try:
        fit = fits.run(job, X, known)
    except Exception as error:
        print(f"{job} ({progress}): {type(error).__name__}: {error}", file=sys.stderr)
        return None
    fits.save(job, fit)
    excess = " / ".join(f"{value:.3f}" for value in fit.excess.values())
    print(f"{job} ({progress}): {excess}, {fit.seconds:.3g} s", file=sys.stderr)
    return fit


def _enter(results: Results, job: Job, fit: Fit) -> None:
    """Put a fit where the sizes asked for will look for it."""
    for size in job.sizes:
        if size in results.sizes:
            results.fits[(job.problem, job.seed, size), job.method] = fit


def _list_of(kind: type, allowed: tuple[object, ...]) -> Callable[[str], tuple[object, ...]]:
    """Return a reader of comma-separated values."""

    def read(text: str) -> tuple[object, ...]:
        values = tuple(kind(part) for part in text.split(","))
        for value in values:
            if allowed and value not in allowed:
                known = ", ".join(map(str, allowed))
                raise argparse.ArgumentTypeError(f"{value} is not one of {known}")
        return values

    return read


def _options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    lists = {
        "only": (str, NAMES, NAMES, "data sets"),
        "methods": (str, tuple(METHODS), tuple(METHODS), "methods"),
        "seeds": (int, (), SEEDS, "seeds of the reference"),
        "sizes": (int, SIZES, SIZES, "numbers of leaves, in k"),
    }
    for name, (kind, allowed, default, what) in lists.items():
        reader = _list_of(kind, allowed)
        listed = ",".join(map(str, default))
        text = f"{what}, with commas between (default {listed})"
        parser.add_argument(f"--{name}", type=reader, default=default, metavar="A,B", help=text)
    parser.add_argument("--fresh", action="store_true", help="measure the fits again")
    parser.add_argument(
        "--cached", action="store_true", help="measure nothing, print what is known"
    )
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables here too")
    parser.add_argument("--check", action="store_true", help="exit 1 unless every bar is met")
    return parser.parse_args()


def main() -> None:
    """Measure, print the tables, and write the Markdown file."""
    options = _options()
    if not (data_folder() / "load.py").is_file():
        sys.exit(f"no data in {data_folder()}: set TREEMEANS_DATA to the folder that holds load.py")
    results = run(options)
    parts = sections(results)
    print(plain(parts))
    if options.markdown:
        command = shlex.join(["python", "benchmarks/quality.py", *sys.argv[1:]])
        options.markdown.write_text(markdown(parts, command, machine()), encoding="utf-8")
    met = all(bar.verdict == "met" for bar in bars_of(results)) and not missing(results)
    if options.check and not met:
        sys.exit(1)


if __name__ == "__main__":
    main()
