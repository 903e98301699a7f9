"""The command line of ``python -m benchmarks paper``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from treemeans.datasets import NAMES

from . import data, run, sheets
from .cells import EXTRAS, METHODS, PEERS, PLANE, QUICK, SEEDS, WORDS, Plan
from .page import FIGURES, write
from .results import Results

HERE = Path(__file__).resolve().parents[1]
HOUR = 3600.0
LIMIT_QUICK = 60.0
SHEETS = "results"


def main(arguments: Sequence[str] | None = None) -> None:
    """Compute what is missing, and write the page with its figures."""
    options = read(arguments)
    plan = plan_of(options)
    if not options.cached:
        cells = [cell for cell in plan.cells() if cell.data != WORDS or data.has_words()]
        print(f"{len(cells)} cells", file=sys.stderr)
        ended = run.run(cells, options.limit, fresh=options.fresh, folder=options.cells)
        print(", ".join(f"{count} {how}" for how, count in ended.items()), file=sys.stderr)
    figures = options.figures or FIGURES
    results = Results.read(options.cells)
    if options.sheets:
        sheets.write(results.kept, options.out / SHEETS)
    whole = plan if options.quick else Plan(methods=(*METHODS, *EXTRAS, *PEERS))
    print(write(results, options.out, whole, options.limit, figures))


def plan_of(options: argparse.Namespace) -> Plan:
    """Return what is asked for."""
    names = QUICK if options.quick else NAMES
    methods = (*(options.methods or (*METHODS, *EXTRAS)), *(PEERS if options.peers else ()))
    seeds = options.seeds or (SEEDS[:2] if options.quick else SEEDS)
    return Plan(options.data or (*names, WORDS, PLANE), methods, seeds, options.quick)


def read(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line; sort the names after --only by what they are."""
    parser = _parser()
    options = parser.parse_args(arguments)
    kinds = {"data": (*NAMES, WORDS, PLANE), "methods": (*METHODS, *EXTRAS), "figures": FIGURES}
    for kind in kinds:
        setattr(options, kind, ())
    for name in options.only:
        found = [kind for kind, names in kinds.items() if name in names]
        if not found:
            known = ", ".join(name for names in kinds.values() for name in names)
            parser.error(f"--only {name}: it is none of {known}")
        for kind in found:
            setattr(options, kind, (*getattr(options, kind), name))
    if options.limit is None:
        options.limit = LIMIT_QUICK if options.quick else HOUR
    if options.out is None:
        options.out = run.FOLDER / "quick" if options.quick else HERE
    return options


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks paper",
        description="The ExKMC paper's evaluation: cells that are missing are computed and kept, "
        "then RESULTS.md is written with every figure and statement.",
    )
    add = parser.add_argument
    add("--quick", action="store_true", help="small sets, two seeds, few leaves: minutes")
    add(
        "--only",
        type=lambda text: tuple(text.split(",")),
        default=(),
        metavar="A,B",
        help="data sets, methods or figures",
    )
    add(
        "--seeds",
        type=lambda text: tuple(int(part) for part in text.split(",")),
        metavar="0,1",
        help="seeds of the k-means (default 0,1,2,3,4; quick: 0,1)",
    )
    add("--limit", type=float, metavar="SECONDS", help="for a setting (default 3600; quick: 60)")
    add("--peers", action="store_true", help="other packages too, in environments of their own")
    add("--fresh", action="store_true", help="compute again what is kept")
    add("--cached", action="store_true", help="compute nothing: write the page from what is kept")
    add("--sheets", action="store_true", help=f"write all results to {SHEETS}/*.csv too")
    add("--out", type=Path, metavar="FOLDER", help="of the page (default benchmarks; quick: cache)")
    add(
        "--cells",
        type=Path,
        default=run.FOLDER,
        metavar="FOLDER",
        help=f"where results are kept; with --cached also benchmarks/{SHEETS}",
    )
    return parser
