"""Output of the command line; errors that users can cause are one sentence without traceback."""

from __future__ import annotations

import functools
import json
import os
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import typer

from treemeans.cli import interrupt
from treemeans.files.file_errors import InputError

# Errors that a user can cause. Any other is a bug, which keeps its traceback.
_EXPECTED = (InputError, ValueError, ImportError, OSError, MemoryError)


@dataclass(frozen=True)
class Console:
    """Prints results and notes for people, or JSON for programs, or nothing."""

    quiet: bool
    as_json: bool

    def print(self, text: str) -> None:
        """Print a result, for people."""
        if not self.quiet and not self.as_json:
            typer.echo(text)

    def note(self, text: str) -> None:
        """Print a note, for people, to standard error, so that a pipe gets the result alone."""
        if not self.quiet and not self.as_json:
            typer.echo(text, err=True)

    def print_json(self, content: Any) -> None:
        """Print a result, for programs."""
        if self.as_json:
            typer.echo(json.dumps(content, ensure_ascii=False, allow_nan=False))

    @property
    def shows_progress(self) -> bool:
        """Whether a progress bar may be shown."""
        return not self.quiet and not self.as_json and sys.stderr.isatty()


def one_sentence_errors(command: Callable[..., None]) -> Callable[..., None]:
    """Wrap a command: an error that a user can cause is one sentence and exit code 1."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            import treemeans.estimator  # noqa: F401  # the slow imports, before anything is written

            interrupt.raise_keyboard_interrupt()
            with warnings.catch_warnings():
                warnings.showwarning = _one_line
                command(*args, **kwargs)
        except BrokenPipeError as error:  # the reader of a pipe has closed it
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(1) from error
        except _EXPECTED as error:
            typer.echo(f"Error: {_sentence(error)}", err=True)
            raise typer.Exit(1) from error
        except KeyboardInterrupt as error:
            typer.echo(interrupt.MESSAGE, err=True)
            raise typer.Exit(interrupt.STOPPED) from error

    return run


def _one_line(message: Warning | str, *_: Any, **__: Any) -> None:
    typer.echo(f"Note: {_sentence(message)}", err=True)


def _sentence(error: Any) -> str:
    if isinstance(error, MemoryError):
        return "There is not enough memory. `treemeans fit --engine stream` needs less."
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}."
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return " ".join(lines) or type(error).__name__
