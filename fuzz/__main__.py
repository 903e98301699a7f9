"""Command line: ``python -m fuzz --seconds 60``; the exit code is 1 where a law is broken."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from pathlib import Path

from fuzz import (  # noqa: F401 (they register)
    laws_costs,
    laws_export,
    laws_frames,
    laws_model,
    laws_oracle,
    laws_same,
)
from fuzz.case import Case
from fuzz.draw import draw_case
from fuzz.files import fuzz_files
from fuzz.interrupts import fuzz_interrupts
from fuzz.law import LAWS, check_case
from fuzz.run import default_seed, run
from fuzz.soak import GROWTH, soak

FOLDER = Path(__file__).parents[1] / "tests" / "fuzz_cases"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="how long to run")
    parser.add_argument("--fits", type=int, default=2**62, help="how many fits to make")
    parser.add_argument("--seed", type=int, default=None, help="of the cases; the day by default")
    parser.add_argument("--start", type=int, default=0, help="number of the first case")
    parser.add_argument("--case", type=int, help="check only the case of this number")
    parser.add_argument("--file", type=Path, help="check only the case in this file")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where failures are written")
    parser.add_argument("--log", type=Path, help="append the result of the run to this file")
    parser.add_argument("--most", type=int, default=20, help="stop after so many failures")
    parser.add_argument("--files", type=int, help="run the command line on so many changed files")
    parser.add_argument("--interrupts", type=int, help="interrupt so many calls by Ctrl-C")
    parser.add_argument("--soak", type=int, help="make so many fits and watch the memory")
    parser.add_argument("--laws", action="store_true", help="list the laws")
    options = parser.parse_args()
    seed = default_seed() if options.seed is None else options.seed
    if options.laws:
        for law in LAWS.values():
            print(f"{law.name}: {(law.check.__doc__ or '').splitlines()[0]} ({law.share:.0%})")
        return 0
    if options.file is not None or options.case is not None:
        return check_one(
            Case.from_json(options.file.read_text(encoding="utf-8"))
            if options.file
            else draw_case(seed, options.case)
        )
    print(f"fuzz: seed {seed}", flush=True)
    if options.files is not None:
        return check_files(seed, options.files, options.folder)
    if options.interrupts is not None:
        return check_interrupts(seed, options.interrupts)
    if options.soak is not None:
        return check_soak(options.soak)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    began = time.monotonic()
    result = run(seed, options.seconds, options.fits, options.folder, options.start, options.most)
    for failure in result.failures:
        print(f"\ncase {failure.number} breaks '{failure.case.law}': {failure.message}")
        print(f"  written to {failure.path}; run it with --file, or with --seed {failure.seed} "
              f"--case {failure.number}")  # fmt: skip
    taken = time.monotonic() - began
    seen = (
        f"fuzz: seed {seed}: {result.n_fits} fits of {result.n_cases} cases in {taken:.0f} s, "
        f"{len(result.failures)} failures"
    )
    print(seen)
    if options.log is not None:
        with options.log.open("a", encoding="utf-8") as log:
            log.write(f"{time.strftime('%Y-%m-%d', time.gmtime())} {seen}\n")
    return 1 if result.failures else 0


def check_files(seed: int, n: int, folder: Path) -> int:
    ended, failures = fuzz_files(seed, n, folder)
    print(*failures, sep="\n")
    print(
        f"fuzz: seed {seed}: {n} changed files: {ended['worked']} worked, {ended['refused']} were "
        f"refused, {len(failures)} failures"
    )
    return 1 if failures else 0


def check_interrupts(seed: int, n: int) -> int:
    ended, failures = fuzz_interrupts(seed, n)
    print(*failures, sep="\n")
    print(
        f"fuzz: seed {seed}: {n} moments of Ctrl-C, {ended} before the end of the call, "
        f"{len(failures)} failures"
    )
    return 1 if failures else 0


def check_soak(n: int) -> int:
    early, late = soak(n)
    print(f"fuzz: {n} fits: {early} kB resident after the first tenth, {late} kB at the end")
    return 1 if late > early * GROWTH else 0


def check_one(case: Case) -> int:
    failure, n_fits = check_case(case)
    if failure is None:
        print(f"fuzz: no law is broken ({n_fits} fits)")
        return 0
    print(f"fuzz: breaks '{failure.case.law}': {failure.message}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
