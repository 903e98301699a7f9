"""The command ``python -m benchmarks paper``: fit what is missing, then write tables and page."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path

from benchmarks import runner
from benchmarks.command_line import names, parser
from benchmarks.environments import interpreter
from benchmarks.methods import METHODS as ALL_METHODS
from benchmarks.pages import Summary, machine, publish
from benchmarks.paper import paper_tables
from benchmarks.paper.claims_baselines import BASELINE_CLAIMS
from benchmarks.paper.claims_cost import COST_CLAIMS
from benchmarks.paper.claims_other import OTHER_CLAIMS
from benchmarks.paper.example_data import words_file
from benchmarks.paper.plan import EXTRAS, METHODS, NAMES, PEERS, PLANE, QUICK, SEEDS, WORDS, Plan
from benchmarks.paper.results import Results
from benchmarks.problems import PROBLEMS
from benchmarks.runner import Task

HOUR, LIMIT_QUICK = 3600.0, 60.0

# As the paper has them: what it promises, its set-up, results, discussion and appendix.
_PLACES = (
    "Abstract", "Introduction", "Contributions", "Theory", "Table 1", "Set-up", "Figure 2", "Real",
    "Synthetic", "Distance", "Qualitative", "Running", "Surrogate", "Discussion", "Conclusion",
    "Appendix",
)  # fmt: skip
CLAIMS = tuple(
    sorted(
        (*COST_CLAIMS, *BASELINE_CLAIMS, *OTHER_CLAIMS),
        key=lambda claim: next(i for i, p in enumerate(_PLACES) if claim.place.startswith(p)),
    )
)


def tasks(plan: Plan, limit: float) -> list[Task]:
    """A task for the cases of one data set, method and setting."""
    wanted = [case for case in plan.cases() if case.data != WORDS or words_file() is not None]
    found = []
    for key, group in groupby(sorted(wanted, key=lambda case: case.task), lambda c: c.task):
        cases = list(group)
        python = None
        if cases[0].method in PEERS:
            python = interpreter(ALL_METHODS[cases[0].method].environment)
            PROBLEMS[cases[0].data].export()
        arguments = {"cases": [asdict(case) for case in cases]}
        threads = int(cases[0].option("threads")) if cases[0].method == "time" else 1
        found.append(Task(key, "benchmarks.paper.fits:run", arguments, threads, python, limit))
    return found


def references(plan: Plan) -> list[Task]:
    """The reference clusterings, which all other tasks read."""
    return [
        Task(
            f"{name}/kmeans/seed{seed}",
            "benchmarks.problems:prepare_reference",
            {"name": name, "seed": seed},
        )
        for name in plan.data
        if name in PROBLEMS
        for seed in plan.seeds
    ]


def summary(results: Results, plan: Plan, about: str) -> Summary:
    """The tables of the page."""
    tables = {
        "statements": paper_tables.statements(results, CLAIMS),
        "sizes": paper_tables.sizes(results),
        **{
            f"ratios at {times_k} k leaves": paper_tables.ratios(results, times_k)
            for times_k in (1, 2, 4)
        },
        "other packages": paper_tables.peers(results),
        "seconds": paper_tables.times(results),
        "seconds of all fits": paper_tables.seconds(results),
    }
    texts = {
        "machine": about,
        "verdicts": paper_tables.verdicts(results, CLAIMS),
        "fits": paper_tables.missing(results, plan),
    }
    return Summary(tables, texts)


def draw(results: Results, folder: Path) -> list[Path]:
    """Draw all figures of the paper."""
    import matplotlib as mpl

    mpl.use("Agg")
    from benchmarks.paper import figures, tree_figures

    drawn = list(figures.draw_all(results, folder, tuple(figures.CURVES)).values())
    trees = [tree_figures.regions(folder / "regions.png"), tree_figures.words(folder / "words.png")]
    return [*drawn, *(path for path in trees if path is not None)]


def main(arguments: Sequence[str] | None = None) -> None:
    """Fit what is missing, and write the page."""
    options = read_options(arguments)
    plan, limit = plan_of(options), LIMIT_QUICK if options.quick else HOUR
    wanted, jobs = tasks(plan, limit), 2 if options.quick else 1
    runner.run(references(plan), options.results, jobs=jobs)
    fitted = runner.run(wanted, options.results, fresh=options.fresh, jobs=jobs)
    whole = Plan(methods=(*METHODS, *EXTRAS, *(PEERS if options.peers else ())))
    whole = plan if options.quick else whole
    all_tasks = wanted if options.quick else tasks(whole, limit)
    results = Results.read(all_tasks, runner.read(all_tasks, options.results))
    paths = publish("paper", summary(results, whole, machine()), options.out)
    if options.figures:
        paths += draw(results, (options.out or options.results) / "figures")
    print(*paths, sep="\n")
    runner.fail_if_any(fitted)


def plan_of(options: argparse.Namespace) -> Plan:
    """What is asked for: names after --only are data sets or methods."""
    data = tuple(name for name in options.only if name in (*NAMES, WORDS, PLANE))
    methods = tuple(name for name in options.only if name in (*METHODS, *EXTRAS))
    return Plan(
        data or (*(QUICK if options.quick else NAMES), WORDS, PLANE),
        (*(methods or (*METHODS, *EXTRAS)), *(PEERS if options.peers else ())),
        tuple(map(int, options.seeds)) or (SEEDS[:2] if options.quick else SEEDS),
        options.quick,
    )


def read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    about = "The ExKMC paper's evaluation: fits that are missing, then RESULTS.md; hours."
    reader = parser("paper", about, quick="small sets, two seeds, few leaves: minutes")
    known = (*NAMES, WORDS, PLANE, *METHODS, *EXTRAS)
    add = reader.add_argument
    add("--only", type=names(known), default=(), metavar="A,B", help="data sets and methods")
    seeds = tuple(map(str, range(100)))
    add("--seeds", type=names(seeds), default=(), metavar="0,1", help="of the reference k-means")
    add("--peers", action="store_true", help="other packages too, in environments of their own")
    add("--figures", action="store_true", help="draw the paper's figures beside the page")
    return reader.parse_args(arguments)
