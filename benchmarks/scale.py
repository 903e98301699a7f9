"""How the cost of a fit on rows in parts grows: ``python benchmarks/scale.py``.

One factor changes at a time: rows, features, k, leaves, partitions, workers, and where the rows
come from. Every setting is measured in a process of its own and kept in benchmarks/.cache/scale, so
a run goes on where it was stopped. From the results, which go to scale.json, SCALE.md and
docs/scale.md are written; ``--write`` does only that.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import scale_page
import scale_run
from reference import FOLDER
from scale_cells import FULL, QUICK
from scale_law import measured
from speed import machine

HERE = Path(__file__).resolve().parent
SWEEPS = tuple(FULL.sweeps())


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is missing, and write the pages."""
    options = read(arguments)
    plan = QUICK if options.quick else FULL
    if not options.write:
        settings = plan.settings(options.only, options.most)
        cells = options.cells / ("quick" if options.quick else "full")
        jobs = 2 if options.quick else 1  # nobody goes by the times of a quick run
        failed = scale_run.run(settings, cells, options.tables, fresh=options.fresh, jobs=jobs)
        if failed:
            print(f"{failed} failed; the pages leave them out", file=sys.stderr)
        kept = scale_run.gather(plan.settings(), cells)
        write_json(options.json, {"machine": machine(), "quick": options.quick, "cells": kept})
    results = json.loads(options.json.read_text())
    plan = QUICK if results["quick"] else FULL
    if scale_page.find(measured(results), plan.base) is None:
        sys.exit("the base setting has not been measured, so there is no page to write")
    for path in scale_page.write(results, plan, options.out):
        print(path)


def write_json(path: Path, results: dict[str, Any]) -> None:
    """Write the results, a line for each setting, whole or not at all."""
    cells = ",\n".join(json.dumps(_short(cell)) for cell in results["cells"])
    head = json.dumps({key: value for key, value in results.items() if key != "cells"}, indent=1)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".draft")
    draft.write_text(f'{head[:-2]},\n "cells": [\n{cells}\n]\n}}\n')
    draft.replace(path)


def _short(value: Any) -> Any:
    """The same with four digits of every fraction: no clock is better."""
    if isinstance(value, dict):
        return {key: _short(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_short(part) for part in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


def read(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--quick", action="store_true", help="small tables: a minute; pages go to the cache")
    add("--only", nargs="+", choices=SWEEPS, default=(), metavar="SWEEP", help=", ".join(SWEEPS))
    add("--most", type=lambda text: int(float(text)), metavar="ROWS", help="no larger tables")
    add("--fresh", action="store_true", help="measure again what is kept")
    add("--write", action="store_true", help="measure nothing: write the pages from the results")
    add("--json", type=Path, metavar="FILE", help="the results (default benchmarks/scale.json)")
    add("--out", type=Path, metavar="FOLDER", help="of benchmarks/ and docs/ (default: this one)")
    add("--cells", type=Path, default=FOLDER / "scale", metavar="FOLDER", help="kept results")
    add("--tables", type=Path, default=FOLDER / "tables", metavar="FOLDER", help="12 GB of tables")
    options = parser.parse_args(arguments)
    quick = options.quick and not options.write
    options.out = options.out or (options.cells / "quick" / "pages" if quick else HERE.parent)
    options.json = options.json or options.out / "benchmarks" / "scale.json"
    return options


if __name__ == "__main__":
    main()
