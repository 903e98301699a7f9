"""Commands that show a model: its rules, text, SQL, picture, ONNX and report.

Heavy imports happen inside the commands, so that ``treemeans --help`` answers at once.
"""

from __future__ import annotations

from typing import Annotated

import typer

from treemeans.cli.console import Console
from treemeans.cli.options import (
    AllCategories,
    As,
    Dialect,
    Force,
    Form,
    Json,
    MaybeOut,
    Model,
    Names,
    Notes,
    Out,
    Rows,
    ShownAs,
    Size,
)


def rules(
    *,
    model: Model,
    leaves: Size = None,
    names: Names = None,
    all_categories: AllCategories = False,
    out: MaybeOut = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Print the rules of each cluster, in words."""
    from treemeans.cli import show_command

    chosen = show_command.SavedModel(model, leaves, names, all_categories)
    show_command.rules(chosen, out, force, Console(False, as_json))


def text(
    *,
    model: Model,
    leaves: Size = None,
    shown_as: As = ShownAs.numbers,
    names: Names = None,
    all_categories: AllCategories = False,
    out: MaybeOut = None,
    force: Force = False,
) -> None:
    """Print the tree as text."""
    from treemeans.cli import show_command

    chosen = show_command.SavedModel(model, leaves, names, all_categories)
    show_command.text(chosen, shown_as.value == "names", out, force)


def sql(
    *,
    model: Model,
    dialect: Dialect = "postgresql",
    table: Annotated[
        str | None, typer.Option(help="Table to select from; without it, the expression alone.")
    ] = None,
    form: Annotated[Form, typer.Option(help="One CASE, or a WHERE for each cluster.")] = Form.case,
    one_hot: Annotated[
        bool, typer.Option("--one-hot", help="The table has one-hot columns, not the categories.")
    ] = False,
    shown_as: As = ShownAs.numbers,
    leaves: Size = None,
    names: Names = None,
    out: MaybeOut = None,
    force: Force = False,
) -> None:
    """Print the clusters as SQL, to compute them in a database."""
    from treemeans.cli import show_command

    chosen = show_command.SavedModel(model, leaves, names)
    layout = show_command.SqlLayout(dialect, table, form.value, one_hot, shown_as.value == "names")
    show_command.sql(chosen, layout, out, force)


def plot(
    *,
    model: Model,
    out: Out,
    leaves: Size = None,
    shown_as: As = ShownAs.names,
    names: Names = None,
    force: Force = False,
    console: Notes,
) -> None:
    """Draw the tree (.png, .svg or .pdf)."""
    from treemeans.cli import show_command

    chosen = show_command.SavedModel(model, leaves, names)
    show_command.plot(chosen, shown_as.value == "names", out, force, console)


def onnx(
    *, model: Model, out: Out, leaves: Size = None, force: Force = False, console: Notes
) -> None:
    """Write the tree as an ONNX model."""
    from treemeans.cli import show_command

    show_command.onnx(model, leaves, out, force, console)


def report(
    *,
    model: Model,
    data: Annotated[
        str | None, typer.Argument(help="The table the model was fitted to, for histograms.")
    ] = None,
    out: Out = "report.html",
    rows: Rows = 0,
    stability: Annotated[
        bool,
        typer.Option("--stability", help="Add a panel: whether resamples give the same groups."),
    ] = False,
    alternatives: Annotated[
        bool, typer.Option("--alternatives", help="Add a tab: other trees that are as good.")
    ] = False,
    names: Names = None,
    force: Force = False,
    console: Notes,
) -> None:
    """Write a page about the model for a browser: groups, tree, rules."""
    from treemeans.cli import show_command

    chosen = show_command.SavedModel(model, None, names)
    panels = show_command.ReportPanels(rows, stability, alternatives)
    show_command.report(chosen, data, out, panels, force, console)
