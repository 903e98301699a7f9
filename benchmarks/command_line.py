"""Options that all benchmarks share."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from benchmarks.runner import CACHE


class _Parser(argparse.ArgumentParser):
    """Keeps a quick or partial run from overwriting the results and the page of a whole one."""

    def parse_args(self, *arguments, **options):  # type: ignore[no-untyped-def, override]
        """Read the command line."""
        read = super().parse_args(*arguments, **options)
        name = self.prog.split()[-1]
        kind = "quick" if read.quick else "full"
        read.results = read.results or CACHE / name / kind
        partial = any(getattr(read, part, ()) for part in ("quick", "only", "methods", "seeds"))
        if partial and read.out is None:
            read.out = CACHE / name / "page"
        return read


def parser(name: str, about: str, quick: str) -> argparse.ArgumentParser:
    """A parser with the options of every benchmark; ``quick`` says what ``--quick`` leaves."""
    made = _Parser(prog=f"python -m benchmarks {name}", description=about)
    made.add_argument("--quick", action="store_true", help=quick)
    made.add_argument("--fresh", action="store_true", help="measure again what is kept")
    made.add_argument("--results", type=Path, metavar="FOLDER", help="where results are kept")
    made.add_argument(
        "--out",
        type=Path,
        metavar="FOLDER",
        help="for page and summary (default: the repository; of a partial run, the cache)",
    )
    return made


def names(allowed: tuple[str, ...]) -> Callable[[str], tuple[str, ...]]:
    """A reader of names with commas between them."""

    def read(text: str) -> tuple[str, ...]:
        found = tuple(part for part in text.split(",") if part)
        for name in found:
            if name not in allowed:
                known = ", ".join(allowed)
                raise argparse.ArgumentTypeError(f"{name} is not one of {known}")
        return found

    return read
