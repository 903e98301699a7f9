"""The command line: every command, in the order that ``treemeans --help`` lists them."""

from __future__ import annotations

from typing import Annotated

import typer

from treemeans.cli import model_commands, row_commands, table_commands
from treemeans.cli.command import as_command

_COMMANDS = (
    table_commands.fit,
    table_commands.explain,
    table_commands.choose,
    table_commands.compare,
    row_commands.predict,
    row_commands.drift,
    row_commands.refit,
    row_commands.diff,
    model_commands.rules,
    model_commands.text,
    model_commands.sql,
    model_commands.plot,
    model_commands.onnx,
    model_commands.report,
    row_commands.stability,
    row_commands.alternatives,
)

app = typer.Typer(
    name="treemeans",
    help="Explainable k-means: clusters you can read as a few plain rules.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)
for _command in _COMMANDS:
    app.command()(as_command(_command))


@app.callback(invoke_without_command=True)
def start(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Explainable k-means: clusters you can read as a few plain rules."""
    if version:
        from treemeans import __version__

        typer.echo(f"treemeans {__version__}")
        raise typer.Exit
