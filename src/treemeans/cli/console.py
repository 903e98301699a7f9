"""Output of the command line: results, notes and errors, for people or for programs."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import typer

from treemeans.cli.live_progress import LiveProgress
from treemeans.files.file_errors import without_controls

_WIDE = 500  # columns of a table that is not printed to a terminal: no line is broken


@dataclass(frozen=True)
class Console:
    """Prints results and notes for people, or JSON for programs, or nothing."""

    quiet: bool
    as_json: bool

    def print(self, text: str) -> None:
        """Print a result, for people."""
        if self.for_people:
            typer.echo(without_controls(text) if sys.stdout.isatty() else text)

    def note(self, text: str) -> None:
        """Print a note, for people, to standard error, so that a pipe gets the result alone."""
        if self.for_people:
            typer.echo(without_controls(text), err=True)

    def table(self, head: Sequence[str], rows: Sequence[Sequence[str]], marked: int | None) -> None:
        """Print a table, for people; the first column is left-aligned if it holds words.

        ``marked``: the row to point out.
        """
        if not self.for_people:
            return
        if sys.stdout.isatty():
            _rich(sys.stdout).print(_table(head, rows, marked))
        else:
            typer.echo(table_text(head, rows, marked))

    def print_json(self, content: Callable[[], Any]) -> None:
        """Print a result, for programs; it is made only if it is printed."""
        if self.as_json:
            typer.echo(json.dumps(content(), ensure_ascii=False, allow_nan=False))

    def working(self, what: str, total: int | None = None) -> LiveProgress:
        """A line that shows that the command is at work, on a terminal."""
        return LiveProgress(what, total, self.shows_progress)

    @property
    def for_people(self) -> bool:
        """Whether results are printed as words and tables."""
        return not self.quiet and not self.as_json

    @property
    def shows_progress(self) -> bool:
        """Whether a progress bar may be shown."""
        return self.for_people and sys.stderr.isatty()


def table_text(head: Sequence[str], rows: Sequence[Sequence[str]], marked: int | None) -> str:
    """A table as plain text.

    Examples
    --------
    >>> print(table_text(["leaves", "cost"], [["3", "1.04"], ["12", "1"]], None))
    leaves   cost
         3   1.04
        12      1
    """
    file = io.StringIO()
    _rich(file, width=_WIDE).print(_table(head, rows, marked))
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines())


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], marked: int | None) -> Any:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="bold")
    words = any(row[0][:1].isalpha() for row in rows)
    for i, title in enumerate(head):
        align: Any = "left" if words and i == 0 else "right"
        table.add_column(Text(title), justify=align, no_wrap=True)
    for i, row in enumerate(rows):
        table.add_row(*map(Text, row), style="bold green" if i == marked else None)
    return table


def _rich(file: Any, width: int | None = None) -> Any:
    from rich.console import Console as RichConsole

    return RichConsole(file=file, width=width, highlight=False, soft_wrap=width is None)


def print_error(sentence: str) -> None:
    """Print an error to standard error."""
    from rich.text import Text

    _rich(sys.stderr).print(Text.assemble(("Error: ", "bold red"), sentence))


def one_sentence(error: Any) -> str:
    """What an error or a warning says, on one line."""
    if isinstance(error, MemoryError):
        return "There is not enough memory. `treemeans fit --engine stream` needs less."
    if isinstance(error, OSError) and error.strerror and error.filename:
        return without_controls(f"{error.filename}: {error.strerror}.")
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return without_controls(" ".join(lines)) or type(error).__name__
