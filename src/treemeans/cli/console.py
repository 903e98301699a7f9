"""Output of the command line; errors that users can cause are one sentence without traceback."""

from __future__ import annotations

import functools
import inspect
import io
import json
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, get_type_hints

import typer

from treemeans.cli import interrupt
from treemeans.cli.live_progress import LiveProgress
from treemeans.files.file_errors import InputError, without_controls

# Errors that a user can cause. Any other is a bug, which keeps its traceback.
_EXPECTED = (InputError, ValueError, ImportError, OSError, MemoryError)
_WIDE = 500  # columns of a table that is not printed to a terminal: no line is broken
_Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]


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


def one_sentence_errors(command: Callable[..., None]) -> Callable[..., None]:
    """Wrap a command: an error that a user can cause is one sentence and exit code 1.

    The command gets an option ``--debug``, with which the traceback is shown instead.
    """

    @functools.wraps(command)
    def run(*args: Any, debug: bool = False, **kwargs: Any) -> None:
        try:
            import treemeans.estimator  # noqa: F401  # the slow imports, before anything is written

            interrupt.forget()
            interrupt.raise_keyboard_interrupt()
            with warnings.catch_warnings():
                if not debug:
                    warnings.showwarning = _one_line
                command(*args, **kwargs)
        except BrokenPipeError as error:  # the reader of a pipe has closed it
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(1) from error
        except _EXPECTED as error:
            if debug:
                raise
            _print_error(_sentence(error))
            raise typer.Exit(1) from error
        except KeyboardInterrupt as error:
            if debug:
                raise
            typer.echo(interrupt.message(), err=True)
            raise typer.Exit(interrupt.STOPPED) from error

    wrapped: Callable[..., None] = _with_option(run, command, "debug", _Debug)
    return wrapped


def _with_option(run: Any, command: Any, name: str, annotation: Any) -> Any:
    """The wrapped command with one more option in its signature, which typer reads."""
    types = get_type_hints(command, include_extras=True) | {name: annotation}
    signature = inspect.signature(command)
    parameters = [
        each.replace(annotation=types[each.name]) for each in signature.parameters.values()
    ]
    kind = inspect.Parameter.KEYWORD_ONLY
    option = inspect.Parameter(name, kind, default=False, annotation=annotation)
    run.__signature__ = signature.replace(parameters=[*parameters, option])
    run.__annotations__ = types
    return run


def _print_error(sentence: str) -> None:
    from rich.text import Text

    _rich(sys.stderr).print(Text.assemble(("Error: ", "bold red"), sentence))


def _one_line(message: Warning | str, *_: Any, **__: Any) -> None:
    typer.echo(f"Note: {_sentence(message)}", err=True)


def _sentence(error: Any) -> str:
    if isinstance(error, MemoryError):
        return "There is not enough memory. `treemeans fit --engine stream` needs less."
    if isinstance(error, OSError) and error.strerror and error.filename:
        return without_controls(f"{error.filename}: {error.strerror}.")
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return without_controls(" ".join(lines)) or type(error).__name__
