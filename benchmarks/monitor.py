"""``python -m benchmarks monitor``: false alarms, detection, time and memory of drift."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.commands import measure
from treemeans import ExKMC
from treemeans.training_histograms import sample_rows

PAGE = Path(__file__).with_name("MONITOR.md")
CENTERS = np.array([[0.0, 0.0, 0.0], [6.0, 0.0, 3.0], [0.0, 6.0, 6.0]])
LEVEL = 0.05


def blobs(rng: np.random.Generator, n: int) -> NDArray[np.float64]:
    """Three segments, and two columns that have nothing to do with them, one of them skewed."""
    centers = CENTERS[rng.integers(0, 3, n)]
    noise = np.stack([rng.lognormal(size=n), rng.integers(0, 5, n)], axis=1)
    return np.hstack([centers + rng.normal(size=(n, 3)), noise])


def false_alarms(n_draws: int, n_train: int, n_new: int) -> dict[str, float]:
    """Shares of draws with an alarm though nothing changed.

    Both tables are drawn anew each time. The first figure is with the usual limits, the second with
    limits of 0, where only the level of the tests keeps chance out.
    """
    usual = strict = psi_alone = 0
    for seed in range(n_draws):
        rng = np.random.default_rng(seed)
        model = ExKMC(3, random_state=0).fit(blobs(rng, n_train))
        found = model.drift(blobs(rng, n_new), level=LEVEL)
        usual += found.exceeds_limits
        tests = [column.p_value for column in found.columns]
        tests += [column.outside_p_value for column in found.columns]
        strict += min([*tests, found.rules_p_value]) < found.level
        psi_alone += max(column.psi for column in found.columns) >= found.limits.psi
    names = ("usual limits", "limits of 0, tests alone", "PSI >= 0.25 alone")
    return dict(zip(names, np.array([usual, strict, psi_alone]) / n_draws, strict=True))


def detection(n_draws: int, n: int) -> dict[str, tuple[float, float]]:
    """Share of draws in which a planted change is found, and in which another column is blamed."""

    def shift(X: NDArray[np.float64]) -> NDArray[np.float64]:
        return X + np.array([0.0, 0.0, 0.0, 0.0, 1.0]) * 2

    def far(X: NDArray[np.float64]) -> NDArray[np.float64]:
        X[: len(X) // 10, 4] = 99.0
        return X

    found = {}
    changes: dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
        "one column + 2": shift,
        "a tenth of one column far outside": far,
    }
    for name, change in changes.items():
        hit = wrong = 0
        for seed in range(n_draws):
            rng = np.random.default_rng(seed)
            model = ExKMC(3, random_state=0).fit(blobs(rng, n))
            said = model.drift(change(blobs(rng, n)), level=LEVEL).findings
            hit += any(text.startswith("x4") for text in said)
            wrong += any(text.startswith(("x0", "x1", "x2", "x3")) for text in said)
        found[name] = hit / n_draws, wrong / n_draws
    return found


def refits(n_draws: int, n: int) -> dict[str, float]:
    """Shares of refits in which ids are kept, and in which a planted split is said, and only it."""
    kept = silent = split = 0
    for seed in range(n_draws):
        rng = np.random.default_rng(seed)
        X = blobs(rng, n)
        model = ExKMC(3, random_state=0).fit(X)
        order = rng.permutation(n)
        kept += bool((model.refit(X[order]).labels_ == model.labels_[order]).all())
        again = model.refit(blobs(rng, n))
        silent += all(fate.kind == "kept" for fate in again.changes_.fates)
        near = model.reference_centers_[:, :3]
        segment = int(np.linalg.norm(near - CENTERS[0], axis=1).argmin())
        new = blobs(rng, n)
        first = np.flatnonzero(np.linalg.norm(new[:, :3] - CENTERS[0], axis=1) < 3)
        new[first[::2], 2] -= 6.0
        fates = model.refit(new, n_clusters=4).changes_.fates
        kinds = sorted(fate.kind for fate in fates)
        said = [fate.old for fate in fates if fate.kind == "split"]
        split += kinds == ["kept", "kept", "kept", "split"] and said == [segment]
    return {
        "same rows in another order: all ids kept": kept / n_draws,
        "new rows of the same distribution: every cluster kept": silent / n_draws,
        "planted split: said, and nothing else": split / n_draws,
    }


def sampling_share(n_rows: int) -> tuple[float, float]:
    """Processor seconds of a fit on a table like Covtype, and of keeping a sample of it."""
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(n_rows, 10)) * 100
    X = np.hstack([numbers, (rng.random((n_rows, 44)) < 0.05).astype(float)])
    reference = X[:7].copy()

    def best(work: Callable[[], Any]) -> float:
        seconds = []
        for _ in range(5):
            start = time.process_time()
            work()
            seconds.append(time.process_time() - start)
        return min(seconds)

    fit = best(lambda: ExKMC(7, reference=reference, n_jobs=1).fit(X))
    return fit, best(lambda: sample_rows(X, None))


def files(sizes: Sequence[int], folder: Path) -> list[tuple[int, float, float]]:
    """Rows, processor seconds and peak memory in MB of ``treemeans drift`` on a Parquet file."""
    import pyarrow as pa
    from pyarrow import parquet as pq

    names = [f"x{i}" for i in range(5)]
    rng = np.random.default_rng(0)
    model = folder / "model.json"
    train = folder / "train.parquet"
    pq.write_table(pa.table(dict(zip(names, blobs(rng, 20_000).T, strict=True))), train)
    command = [sys.executable, "-m", "treemeans", "fit", str(train), "-k", "3", "-q"]
    subprocess.run([*command, "-o", str(model)], check=True)
    found = []
    for n in sizes:
        path = folder / "new.parquet"
        block = pa.table(dict(zip(names, blobs(rng, 500_000).T, strict=True)))
        with pq.ParquetWriter(path, block.schema) as writer:
            for _ in range(n // block.num_rows):
                writer.write_table(block)
        run = measure(["drift", str(model), str(path), "-q", "--psi", "9"], 1)
        found.append((n, run.processor, run.memory))
    return found


def _alarm_lines(n_draws: int) -> list[str]:
    lines = [
        "",
        "## False alarms",
        "",
        f"Shares of {n_draws} draws in which drift is found, though both tables are drawn anew "
        f"from the same distribution; level {LEVEL}.",
        "",
        "| training rows | new rows | usual limits | tests alone | PSI >= 0.25 alone |",
        "|---|---|---|---|---|",
    ]
    for n_train, n_new in ((1000, 1000), (2000, 100)):
        shares = false_alarms(n_draws, n_train, n_new).values()
        cells = [str(n_train), str(n_new), *(f"{share:.3f}" for share in shares)]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _planted_lines(n_draws: int) -> list[str]:
    lines = [
        "",
        "## Planted changes",
        "",
        f"Shares of {n_draws} draws of 1,000 rows.",
        "",
        "| change | found | another column blamed |",
        "|---|---|---|",
    ]
    for name, (hit, wrong) in detection(n_draws, 1000).items():
        lines.append(f"| {name} | {hit:.3f} | {wrong:.3f} |")
    lines += ["", "| refit | share |", "|---|---|"]
    return lines + [f"| {name} | {share:.3f} |" for name, share in refits(n_draws, 1000).items()]


def _cost_lines(n_rows: int, measured: list[tuple[int, float, float]]) -> list[str]:
    fit, sample = sampling_share(n_rows)
    lines = [
        "",
        "## Time and memory",
        "",
        f"A fit of {n_rows:,} x 54 values with 7 given centers takes {fit:.3f} s of one processor; "
        f"keeping the sample that histograms are made from, {sample:.4f} s ({sample / fit:.1%}).",
        "",
        "| rows of a Parquet file, 5 columns | `treemeans drift`, processor seconds | peak MB |",
        "|---|---|---|",
    ]
    return lines + [f"| {n:,} | {seconds:.1f} | {peak:.0f} |" for n, seconds, peak in measured]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks monitor", description=__doc__)
    parser.add_argument("--draws", type=int, default=1000, help="tables that are drawn")
    parser.add_argument("--rows", type=int, default=500_000, help="rows of the largest table")
    parser.add_argument("--page", type=Path, default=PAGE)
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        # First: a process inherits the peak memory of the one that starts it.
        measured = files((asked.rows, 8 * asked.rows), Path(folder))
    parts = [*_alarm_lines(asked.draws), *_planted_lines(max(asked.draws // 10, 1))]
    command = f"`python -m benchmarks monitor --draws {asked.draws} --rows {asked.rows}`"
    lines = ["# Drift and refits", "", command, *parts, *_cost_lines(asked.rows, measured)]
    asked.page.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(asked.page.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
