"""Commands that show a model: its rules, text, SQL, picture, ONNX and report.

Heavy imports happen inside the commands, so that ``treemeans --help`` answers at once.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from treemeans.atomic_write import write_whole
from treemeans.cli import options
from treemeans.cli.options import Form, ShownAs
from treemeans.cli.output_files import (
    check_outputs,
    print_or_write,
    report_written,
    save_figure,
    without_window,
)
from treemeans.cli.saved_model import SavedModel, rows_for
from treemeans.files.file_errors import InputError


def rules(
    *,
    model: options.Model,
    leaves: options.Size = None,
    names: options.Names = None,
    all_categories: options.AllCategories = False,
    out: options.MaybeOut = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Print the rules of each cluster, in words."""
    found = SavedModel(model, leaves, names, all_categories).open().rules()
    content = json.dumps(found.to_dict(), ensure_ascii=False) if as_json else str(found)
    print_or_write(content, out, force=force)


def text(
    *,
    model: options.Model,
    leaves: options.Size = None,
    shown_as: options.As = ShownAs.numbers,
    names: options.Names = None,
    all_categories: options.AllCategories = False,
    out: options.MaybeOut = None,
    force: options.Force = False,
) -> None:
    """Print the tree as text."""
    from treemeans import export_text

    opened = SavedModel(model, leaves, names, all_categories).open()
    shown = "automatic" if shown_as == "names" else None
    print_or_write(export_text(opened, cluster_names=shown), out, force=force)


def sql(
    *,
    model: options.Model,
    dialect: options.Dialect = "postgresql",
    table: Annotated[
        str | None, typer.Option(help="Table to select from; without it, the expression alone.")
    ] = None,
    form: Annotated[Form, typer.Option(help="One CASE, or a WHERE for each cluster.")] = Form.case,
    one_hot: Annotated[
        bool, typer.Option("--one-hot", help="The table has one-hot columns, not the categories.")
    ] = False,
    shown_as: options.As = ShownAs.numbers,
    leaves: options.Size = None,
    names: options.Names = None,
    out: options.MaybeOut = None,
    force: options.Force = False,
) -> None:
    """Print the clusters as SQL, to compute them in a database."""
    labels = "names" if shown_as == "names" else None
    opened = SavedModel(model, leaves, names).open()
    found = opened.to_sql(dialect, table, form=form.value, one_hot=one_hot, labels=labels)
    if isinstance(found, dict):
        found = "\n\n".join(f"-- cluster {label}\n{query};" for label, query in found.items())
    print_or_write(found, out, force=force)


def plot(
    *,
    model: options.Model,
    out: options.Out,
    leaves: options.Size = None,
    shown_as: options.As = ShownAs.names,
    names: options.Names = None,
    force: options.Force = False,
    console: options.Notes,
) -> None:
    """Draw the tree (.png, .svg or .pdf)."""
    from treemeans import plot_tree

    check_outputs([out], force=force)
    without_window()
    shown = None if shown_as == "names" else "numbers"
    opened = SavedModel(model, leaves, names).open()
    save_figure(plot_tree(opened, cluster_names=shown).figure, out)
    console.note(f"The picture is in {out}.")


def onnx(
    *,
    model: options.Model,
    out: options.Out,
    leaves: options.Size = None,
    force: options.Force = False,
    console: options.Notes,
) -> None:
    """Write the tree as an ONNX model."""
    check_outputs([out], force=force)
    write_whole(out, SavedModel(model, leaves).open().to_onnx().SerializeToString())
    console.note(f"The ONNX model is in {out}.")


def report(
    *,
    model: options.Model,
    data: Annotated[
        str | None, typer.Argument(help="The table the model was fitted to, for histograms.")
    ] = None,
    out: options.Out = "report.html",
    rows: options.Rows = 0,
    stability: Annotated[
        bool,
        typer.Option("--stability", help="Add a panel: whether resamples give the same groups."),
    ] = False,
    alternatives: Annotated[
        bool, typer.Option("--alternatives", help="Add a tab: other trees that are as good.")
    ] = False,
    names: options.Names = None,
    force: options.Force = False,
    console: options.Notes,
) -> None:
    """Write a page about the model for a browser: groups, tree, rules."""
    from treemeans import write_report

    if data is None and (stability or alternatives):
        raise InputError("--stability and --alternatives need the table; name its file.")
    if rows and data is None:
        raise InputError(f"--rows {rows} puts rows of the table into the report; name its file.")
    check_outputs([out], force=force)
    opened, X, title = SavedModel(model, None, names).open(), None, Path(model).stem
    if data is not None:
        X, title = rows_for(opened, data), Path(data).name
    with console.working("report"):
        found = opened.stability(X, verbose=0) if stability else None
        others = opened.alternatives(X, verbose=0) if alternatives else None
        write_report(opened, out, X, title=title, rows=rows, stability=found, alternatives=others)
    console.note(report_written(out, rows))
