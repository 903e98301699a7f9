"""All cells as two plain tables, so that figures and page can be made without the run.

``cells.csv`` has a line for each cell, ``rows.csv`` one for each tree that was priced. What a cell
has beside its rows and seconds (the words of a tree, the sizes of a table) is JSON in its line.
"""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .cells import Cell

CELLS, ROWS = "cells.csv", "rows.csv"
_KEY = ("data", "method", "setting", "seed", "budget")
_NUMBERS = ("leaves", "built", "ratio", "surrogate", "accuracy")
_WHOLE = ("leaves", "built")
_DIGITS = 9  # enough to tell a rise of the cost from rounding


def write(kept: Mapping[Cell, dict[str, Any]], folder: Path) -> None:
    """Write both tables."""
    folder.mkdir(parents=True, exist_ok=True)
    cells = [_line(cell, result) for cell, result in sorted(kept.items())]
    _write(folder / CELLS, (*_KEY, "status", "seconds", "more"), cells)
    rows = [
        [*_key(cell), *(_number(row, name) for name in _NUMBERS)]
        for cell, result in sorted(kept.items())
        for row in result.get("rows", ())
    ]
    _write(folder / ROWS, (*_KEY, *_NUMBERS), rows)


def read(folder: Path) -> dict[Cell, dict[str, Any]]:
    """Return the cells of the tables."""
    rows: dict[Cell, list[dict[str, Any]]] = defaultdict(list)
    for cell, line in _read(folder / ROWS):
        numbers = {name: float(line[name]) for name in _NUMBERS if line[name]}
        rows[cell].append({n: int(v) if n in _WHOLE else v for n, v in numbers.items()})
    kept = {}
    for cell, line in _read(folder / CELLS):
        result = {"status": line["status"], **json.loads(line["more"] or "{}")}
        if line["seconds"]:
            result["seconds"] = float(line["seconds"])
        if cell in rows:
            result["rows"] = rows[cell]
        kept[cell] = result
    return kept


def _key(cell: Cell) -> list[str]:
    return [cell.data, cell.method, cell.setting, str(cell.seed), str(cell.leaves)]


def _line(cell: Cell, result: Mapping[str, Any]) -> list[str]:
    plain = ("status", "seconds", "rows", "package")
    more = {name: value for name, value in result.items() if name not in plain}
    seconds = f"{result['seconds']:.3g}" if "seconds" in result else ""
    return [*_key(cell), result["status"], seconds, json.dumps(more) if more else ""]


def _number(row: Mapping[str, Any], name: str) -> str:
    return f"{row[name]:.{_DIGITS}g}" if name in row else ""


def _write(path: Path, head: tuple[str, ...], lines: list[list[str]]) -> None:
    draft = path.with_suffix(".draft")
    with draft.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([head, *lines])
    draft.replace(path)


def _read(path: Path) -> Iterator[tuple[Cell, dict[str, str]]]:
    with path.open(newline="", encoding="utf-8") as file:
        for line in csv.DictReader(file):
            data, method, setting, seed, budget = (line[name] for name in _KEY)
            yield Cell(data, method, setting, int(seed), int(budget)), line
