"""The one table printer: Markdown for the pages, aligned text for a terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """Cells as text, row by row below a head."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]

    def _is_text(self) -> list[bool]:
        """For each column, whether it holds words rather than numbers."""
        columns = zip(*self.rows, strict=True) if self.rows else [[] for _ in self.head]
        return [any(cell[:1].isalpha() for cell in column) for column in columns]

    def markdown(self) -> str:
        """The table for a page, words to the left and numbers to the right."""
        align = [":--" if text else "--:" for text in self._is_text()]
        lines = [self.head, align, *self.rows]
        return "\n".join(f"| {' | '.join(_safe(cell) for cell in line)} |" for line in lines)

    def text(self) -> str:
        """The table for a terminal."""
        lines = [self.head, *self.rows]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        texts = self._is_text()
        aligned = [
            "  ".join(
                cell.ljust(width) if text else cell.rjust(width)
                for cell, width, text in zip(line, widths, texts, strict=True)
            ).rstrip()
            for line in lines
        ]
        return "\n".join([aligned[0], "-" * max(map(len, aligned)), *aligned[1:]])


def number(value: float | None, digits: int = 3) -> str:
    """A number with so many digits that count, or a dash."""
    if value is None or math.isnan(value):
        return "-"
    return f"{value:.0f}" if value >= 1000 else f"{value:#.{digits}g}".rstrip(".")


def n_bytes(value: float | None) -> str:
    """A number of bytes with its unit, or a dash."""
    if not value or math.isnan(value):
        return "-"
    for unit in ("B", "kB", "MB", "GB"):
        if value < 999.5:
            return f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:.3g} TB"


def _safe(cell: str) -> str:
    return cell.replace("|", "\\|").replace("\n", " ")
