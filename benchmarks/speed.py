"""Time the trees side by side with their rivals: ``python benchmarks/speed.py --rivals``.

Each cell of the table is measured in a process of its own (worker.py), with the reference k-means
given. The reference and its time are kept in benchmarks/.cache; ``--fresh`` measures them again.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import platform
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import reference
from bars import Row
from problems import PROBLEMS, Problem, data_folder
from rivals import RivalError, official_python
from table import render
from worker import Cell

WORKER = Path(__file__).resolve().parent / "worker.py"
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
# The problems large enough to tell methods apart by their time, and one that must not wait.
NAMES = (
    *("iris", "avila", "covtype", "20newsgroups"),
    *("cifar10_10k", "cifar10", "synthetic_2"),
)
# Iris takes milliseconds, so its best time needs more fits.
IRIS_REPEATS = 50


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Measure every problem asked for."""
    official = _official() if options.rivals else None
    rows = [measure_problem(PROBLEMS[name], options, official) for name in options.only]
    return {"machine": machine(), "repeat": options.repeat, "rows": rows}


def measure_problem(problem: Problem, options: argparse.Namespace, official: Path | None) -> Row:
    """Measure all cells of one problem."""
    row: Row = {"problem": problem.name, "k": problem.k, "sparse": problem.sparse}
    row["cells"] = {"kmeans": _kmeans(problem, options.fresh)}
    if "error" in row["cells"]["kmeans"]:
        return row
    known = reference.read(problem.name)
    row |= {"n": len(known.labels), "d": known.centers.shape[1]}
    for key, cell in _cells(problem, options, official).items():
        python = official if cell.method == "official" else None
        row["cells"][key] = measure_cell(cell, python or Path(sys.executable))
    return row


def measure_cell(cell: Cell, python: Path) -> dict[str, Any]:
    """Run a worker and return what it measured, or the last line of its error."""
    print(f"{cell.problem}: {cell.task}, {cell.method}, {cell.threads} thread(s)", file=sys.stderr)
    env = {**os.environ, **dict.fromkeys(THREAD_VARIABLES, str(cell.threads))}
    command = [str(python), str(WORKER), json.dumps(dataclasses.asdict(cell))]
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    if done.returncode:
        return {"error": (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]}
    measured: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return measured


def machine() -> dict[str, Any]:
    """Describe the machine and the versions, so that two runs can be told apart."""
    versions = {name: _version(name) for name in ("treemeans", "numpy", "scipy", "scikit-learn")}
    return {"cpu": _cpu(), "cores": os.cpu_count(), "python": platform.python_version(), **versions}


def _cells(problem: Problem, options: argparse.Namespace, official: Path | None) -> dict[str, Cell]:
    """Return the cells of a problem by their key in the results."""
    base = Cell("fit", problem.name, repeat=options.repeat, compact=options.compact)
    if problem.name == "iris":
        return {"treemeans_1": dataclasses.replace(base, repeat=IRIS_REPEATS)}
    cells = {f"treemeans_{t}": dataclasses.replace(base, threads=t) for t in (1, 2)}
    if official:
        cells["official_1"] = dataclasses.replace(base, method="official", compact=False)
    return cells | {"predict": dataclasses.replace(base, task="predict")}


def _kmeans(problem: Problem, fresh: bool) -> dict[str, Any]:
    """Return the time of the reference k-means, measured now unless it is on disk."""
    cached = reference.path_of(problem.name).exists() and not fresh
    if not cached:
        done = measure_cell(Cell("cluster", problem.name, method="kmeans"), Path(sys.executable))
        if "error" in done:
            return done
    known = reference.read(problem.name)
    took = {"seconds": known.seconds, "cpu_seconds": known.cpu_seconds}
    return {**took, "peak_bytes": known.peak_bytes, "cached": cached}


def _official() -> Path | None:
    """Return the interpreter of the official package, or say in one line why there is none."""
    print("preparing the official ExKMC package", file=sys.stderr)
    try:
        return official_python()
    except RivalError as error:
        print(f"official ExKMC package: not measured, {error}", file=sys.stderr)
        return None


def _cpu() -> str:
    """Return the name of the processor."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def _version(name: str) -> str | None:
    """Return the installed version of a package."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES, metavar="NAME")
    parser.add_argument("--repeat", type=int, default=5, help="best of so many fits (default 5)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results here too")
    parser.add_argument("--rivals", action="store_true", help="install and time official ExKMC")
    parser.add_argument("--fresh", action="store_true", help="time the reference k-means again")
    parser.add_argument("--compact", action="store_true", help="our fits on the stored number type")
    return parser.parse_args()


def main() -> None:
    """Measure, print the tables, and write the JSON file."""
    options = _options()
    if not (data_folder() / "load.py").is_file():
        sys.exit(f"no data in {data_folder()}: set TREEMEANS_DATA to the folder that holds load.py")
    results = run(options)
    print(render(results))
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
