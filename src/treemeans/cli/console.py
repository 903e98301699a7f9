"""What the command line says, and how it fails: one sentence, no traceback."""

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

from treemeans.sheets.errors import InputError

# What a user can cause and read about in one sentence. Anything else is a fault of ours.
_EXPECTED = (InputError, ValueError, ImportError, OSError, MemoryError)


@dataclass(frozen=True)
class Say:
    """Where words go: to the terminal, as JSON, or nowhere."""

    quiet: bool
    as_json: bool

    def words(self, text: str) -> None:
        """For people."""
        if not self.quiet and not self.as_json:
            typer.echo(text)

    def aside(self, text: str) -> None:
        """For people, beside the result: to standard error, so that a pipe stays clean."""
        if not self.quiet and not self.as_json:
            typer.echo(text, err=True)

    def document(self, content: Any) -> None:
        """For machines."""
        if self.as_json:
            typer.echo(json.dumps(content, ensure_ascii=False, allow_nan=False))

    @property
    def shows_progress(self) -> bool:
        """Whether a bar may move on the terminal."""
        return not self.quiet and not self.as_json and sys.stderr.isatty()


def guarded(command: Callable[..., None]) -> Callable[..., None]:
    """The command, whose expected failures are one sentence on standard error and exit code 1."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _one_line
                command(*args, **kwargs)
        except BrokenPipeError as error:  # whoever read has had enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(1) from error
        except _EXPECTED as error:
            typer.echo(f"Error: {_sentence(error)}", err=True)
            raise typer.Exit(1) from error
        except KeyboardInterrupt as error:
            typer.echo("Stopped: nothing was written.", err=True)
            raise typer.Exit(1) from error

    return run


def _one_line(message: Warning | str, *_: Any, **__: Any) -> None:
    typer.echo(f"Note: {_sentence(message)}", err=True)


def _sentence(error: Any) -> str:
    if isinstance(error, MemoryError):
        return "There is not enough memory for this."
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}."
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return " ".join(lines) or type(error).__name__
