"""Print the tables of a finished run: ``python benchmarks/table.py results.json``."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bars import Bar, Row, bars_of, memory_ratio

# A cell whose best run took this much longer than its processor time is not to be trusted.
BUSY = 1.1

TIMES = (
    *("problem", "rows", "columns", "k"),
    *("KMeans s", "official s", "1 thread s", "2 threads s", "reads"),
    *("memory", "official memory", "cost", "official cost"),
)


def render(results: dict[str, Any]) -> str:
    """Return both tables, and a line for everything that failed."""
    rows = results["rows"]
    bars = [bar_line(bar) for row in rows for bar in bars_of(row)]
    parts = [
        columns([TIMES, *map(_time_line, rows)]),
        "reads: one-thread time over the time to read the input once. memory: peak beyond the\n"
        "input, in inputs (dense float64, or non-zeros). cost: over that of the reference.",
        columns([("problem", "bar", "limit", "measured", "verdict"), *bars]),
        "\n".join([*_disturbed(rows), *_failures(rows)]),
    ]
    return "\n\n".join(part for part in parts if part)


def _time_line(row: Row) -> list[str]:
    """Return one line of the table of times."""
    cells = row["cells"]
    ours, official = cells.get("treemeans_1", {}), cells.get("official_1", {})
    names = ("kmeans", "official_1", "treemeans_1", "treemeans_2")
    seconds = [number(cells.get(name, {}).get("seconds")) for name in names]
    reads = ours["seconds"] / ours["read_seconds"] if "seconds" in ours else None
    memory = [memory_ratio(row, name) for name in ("treemeans_1", "official_1")]
    costs = [cell.get("cost_ratio") for cell in (ours, official)]
    size = [str(row.get(key, "-")) for key in ("n", "d", "k")]
    end = [number(reads), *map(number, memory), *(number(cost, 4) for cost in costs)]
    return [row["problem"], *size, *seconds, *end]


def bar_line(bar: Bar) -> list[str]:
    """Return one line of the table of promises."""
    sign = ">=" if bar.at_least else "<="
    limit = f"{sign} {number(bar.limit)}"
    return [bar.problem, bar.what, limit, number(bar.measured), bar.verdict]


def _failures(rows: list[Row]) -> list[str]:
    """Return a line for each cell that could not be measured."""
    return [f"{title}: {cell['error']}" for title, cell in _titled(rows) if "error" in cell]


def _disturbed(rows: list[Row]) -> list[str]:
    """Return a line for each one-thread cell that waited for a processor in its best run."""
    cells = [(title, cell) for title, cell in _titled(rows) if not title.endswith("_2")]
    waits = {t: cell["seconds"] / cell["cpu_seconds"] for t, cell in cells if "cpu_seconds" in cell}
    return [
        f"{title}: took {wait:.2f} times its processor time, the machine was busy"
        for title, wait in waits.items()
        if wait > BUSY
    ]


def _titled(rows: list[Row]) -> list[tuple[str, dict[str, Any]]]:
    """Return every cell with its problem and name."""
    return [(f"{row['problem']}, {name}", c) for row in rows for name, c in row["cells"].items()]


def number(value: float | None, digits: int = 3) -> str:
    """Write a number with three digits that count, or a dash."""
    if value is None:
        return "-"
    return f"{value:.0f}" if value >= 1000 else f"{value:#.{digits}g}".rstrip(".")


def columns(lines: Sequence[Sequence[str]]) -> str:
    """Align cells in columns, words to the left and numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    left = [any(cell[:1].isalpha() for cell in column[1:]) for column in zip(*lines, strict=True)]
    text = [
        "  ".join(
            cell.ljust(width) if to_left else cell.rjust(width)
            for cell, width, to_left in zip(line, widths, left, strict=True)
        ).rstrip()
        for line in lines
    ]
    return "\n".join([text[0], "-" * max(map(len, text)), *text[1:]])


if __name__ == "__main__":
    print(render(json.loads(Path(sys.argv[1]).read_text())))
