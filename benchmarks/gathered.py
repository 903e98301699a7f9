"""Fits on partitions whose rows are gathered, beside the same fit in memory (SCALE.md).

Each fit runs in a process of its own with one thread; times are processor seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from benchmarks.scale import Setting, measure
from benchmarks.tables import n_bytes


def settings(quick: bool) -> dict[str, Setting]:
    """What is changed, and the fit."""
    base = Setting(20_000, 6, 4, 8, 4) if quick else Setting()
    if quick:
        return {"base": base}
    return {
        "100,000 rows": replace(base, rows=100_000),
        "base: 1,000,000 rows, 25 features, k = 10, 20 leaves": base,
        "3,000,000 rows": replace(base, rows=3_000_000),
        **{f"{d} features": replace(base, features=d) for d in (5, 50, 200)},
        **{f"k = {k}, {2 * k} leaves": replace(base, k=k, leaves=2 * k) for k in (2, 20, 50)},
        "100 leaves": replace(base, leaves=100),
        **{f"{n} partitions": replace(base, partitions=n) for n in (1, 4, 256)},
        "Parquet files, without dask": replace(base, where="files", source="parquet"),
        "k-means too": replace(base, given_centers=False),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks gathered", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one small table")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.one is not None:
        print(json.dumps(measure(**json.loads(options.one))))
        return
    print(
        "| changed | passes | parts s | memory s | ratio | parts peak | memory peak | same tree |"
    )
    print("| :-- | --: | --: | --: | --: | --: | --: | :-- |")
    for name, setting in settings(options.quick).items():
        parts, memory = _run(replace(setting, gathers=True)), _run(setting.in_memory)
        ours, theirs = parts["cpu_seconds"], memory["cpu_seconds"]
        peaks = " | ".join(n_bytes(each["peak_bytes"]) for each in (parts, memory))
        same = "yes" if parts["tree"] == memory["tree"] else "no"
        figures = f"{parts['passes']} | {ours:.3g} | {theirs:.3g} | {ours / theirs:.1f}"
        print(f"| {name} | {figures} | {peaks} | {same} |", flush=True)


def _run(setting: Setting) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks", "gathered", "--one", json.dumps(asdict(setting))]
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, env=os.environ | one_thread
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found
