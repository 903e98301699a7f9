"""``python -m benchmarks commands``: start-up of the command line, and predict on a large file."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

TABLE = Path(__file__).resolve().parents[1] / "docs" / "data" / "cdnow.csv"


@dataclass(frozen=True)
class Run:
    """One command: wall seconds, processor seconds, peak memory of the process in MB."""

    wall: float
    processor: float
    memory: float


def measure(words: Sequence[str], repeat: int) -> Run:
    """The best of several runs of a command."""
    command = [sys.executable, "-m", "treemeans", *words]
    return min((_once(command) for _ in range(repeat)), key=lambda run: run.processor)


def _once(command: Sequence[str]) -> Run:
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    if status:
        raise SystemExit(f"{' '.join(command)} failed")
    return Run(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def make_tables(folder: Path, n_rows: int) -> None:
    """The customers of docs/data again and again, as Parquet and CSV."""
    import pyarrow as pa
    from pyarrow import csv
    from pyarrow import parquet as pq

    table = csv.read_csv(TABLE)
    block = pa.concat_tables([table] * (1_000_000 // table.num_rows))
    with (
        pq.ParquetWriter(folder / "big.parquet", block.schema) as parquet,
        csv.CSVWriter(folder / "big.csv", block.schema) as text,
    ):
        left = n_rows
        while left > 0:
            parquet.write_table(block[:left])
            text.write_table(block[:left])
            left -= block.num_rows


def main(arguments: Sequence[str]) -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks commands", description=__doc__)
    parser.add_argument("--rows", type=float, default=1e6, help="rows that predict labels")
    n_rows = int(parser.parse_args(arguments).rows)
    print("| command | seconds | processor seconds | peak MB |\n| :-- | --: | --: | --: |")
    for words in (["--version"], ["--help"], ["fit", "--demo"]):
        _print(" ".join(words), measure(words, 5))
    folder = Path(tempfile.mkdtemp())
    try:
        model = str(folder / "model.json")
        measure(["fit", str(TABLE), "-k", "4", "--id", "customer_id", "-o", model], 1)
        make_tables(folder, n_rows)
        for kind in ("parquet", "csv"):
            for options in ([], ["--explain"]):
                out = str(folder / f"out.{kind}")
                words = ["predict", model, str(folder / f"big.{kind}"), "-o", out, "--force"]
                name = " ".join(["predict", f"{n_rows:,} rows,", kind, *options])
                _print(name, measure([*words, *options], 1))
    finally:
        shutil.rmtree(folder)


def _print(name: str, run: Run) -> None:
    cells = f"{run.wall:.2f} | {run.processor:.2f} | {run.memory:.0f}"
    print(f"| {name} | {cells} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
