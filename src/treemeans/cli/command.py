"""How a function becomes a command: groups of options, ``--debug``, errors as one sentence."""

from __future__ import annotations

import functools
import inspect
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_type_hints

import typer

from treemeans.cli import interrupt
from treemeans.cli.console import one_sentence, print_error
from treemeans.files.file_errors import InputError

# Errors that a user can cause. Any other is a bug, which keeps its traceback.
_EXPECTED = (InputError, ValueError, ImportError, OSError, MemoryError)
_Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]


@dataclass(frozen=True)
class OptionGroup:
    """Options that several commands take together: the parameters of ``read``.

    A parameter annotated with a group gets what ``read`` returns; the user sees the options.
    """

    read: Callable[..., Any]


def as_command(function: Callable[..., None]) -> Callable[..., None]:
    """Wrap a function for typer: an error that a user can cause is one sentence and exit code 1.

    The command gets an option ``--debug``, with which the traceback is shown instead.
    """
    groups = dict(_groups(function))

    @functools.wraps(function)
    def run(*, debug: bool = False, **options: Any) -> None:
        try:
            import treemeans.estimator  # noqa: F401  # the slow imports, before anything is written
            from treemeans.explain.warning_record import BadSegmentWarning

            interrupt.forget()
            interrupt.raise_keyboard_interrupt()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", BadSegmentWarning)  # rules show what is wrong
                if not debug:
                    warnings.showwarning = _one_line
                for name, group in groups.items():
                    own = inspect.signature(group.read).parameters
                    options[name] = group.read(**{each: options.pop(each) for each in own})
                function(**options)
        except BrokenPipeError as error:  # the reader of a pipe has closed it
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(1) from error
        except _EXPECTED as error:
            if debug:
                raise
            print_error(one_sentence(error))
            raise typer.Exit(1) from error
        except KeyboardInterrupt as error:
            if debug:
                raise
            typer.echo(interrupt.message(), err=True)
            raise typer.Exit(interrupt.STOPPED) from error

    _set_parameters(run, [*_parameters(function), _keyword("debug", _Debug, False)])
    return run


def _groups(function: Callable[..., Any]) -> Iterator[tuple[str, OptionGroup]]:
    """The parameters of a function that stand for a group of options."""
    for name, annotation in get_type_hints(function, include_extras=True).items():
        for each in get_args(annotation)[1:]:
            if isinstance(each, OptionGroup):
                yield name, each


def _parameters(function: Callable[..., Any]) -> Iterator[inspect.Parameter]:
    """The parameters of a function, in its order, each group replaced by its own."""
    types, groups = get_type_hints(function, include_extras=True), dict(_groups(function))
    for name, parameter in inspect.signature(function).parameters.items():
        if name in groups:
            yield from _parameters(groups[name].read)
        else:
            yield _keyword(name, types[name], parameter.default)


def _keyword(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY  # after which any order of defaults is allowed
    return inspect.Parameter(name, kind, default=default, annotation=annotation)


def _set_parameters(run: Any, parameters: list[inspect.Parameter]) -> None:
    """Give a wrapper the signature that typer reads."""
    run.__signature__ = inspect.Signature(parameters)
    run.__annotations__ = {each.name: each.annotation for each in parameters}


def _one_line(message: Warning | str, *_: Any, **__: Any) -> None:
    typer.echo(f"Note: {one_sentence(message)}", err=True)
