"""Commands that take a model to rows of a table: new ones, or those it was fitted to.

Heavy imports happen inside the commands, so that ``treemeans --help`` answers at once.
"""

from __future__ import annotations

from typing import Annotated

import typer

from treemeans.cli.options import (
    As,
    Data,
    FittedTable,
    Force,
    Model,
    Names,
    Notes,
    PlotOut,
    Printing,
    Resampling,
    ShownAs,
    Size,
)


def predict(
    *,
    model: Model,
    data: Data,
    out: Annotated[
        str | None, typer.Option("--out", "-o", help="CSV, TSV, Parquet or Arrow file to write.")
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Add a column that says why a row is in its cluster.")
    ] = False,
    confidence: Annotated[
        bool,
        typer.Option(
            "--confidence", help="Add columns: how near a row is to a cut, and to the next cluster."
        ),
    ] = False,
    shown_as: As = ShownAs.numbers,
    names: Names = None,
    raw: Annotated[
        bool,
        typer.Option(
            "--raw",
            help="Write CSV cells as they are, also those that a spreadsheet runs as formulas.",
        ),
    ] = False,
    accept_missing: Annotated[
        bool,
        typer.Option(
            "--accept-missing",
            help="Send values that were never missing in training to the side of most rows.",
        ),
    ] = False,
    force: Force = False,
    console: Notes,
) -> None:
    """Label the rows of a file, of any size, with their clusters."""
    from treemeans.cli import predict_command

    predict_command.run(
        model,
        data,
        out,
        columns=predict_command.AddedColumns(shown_as.value == "names", explain, confidence),
        names=names,
        raw=raw,
        accept_missing=accept_missing,
        force=force,
        console=console,
    )


def drift(
    *,
    model: Model,
    data: Data,
    psi: Annotated[
        float, typer.Option(help="PSI of a column, or of the rules, from which on it is drift.")
    ] = 0.25,
    outside: Annotated[
        float,
        typer.Option(
            help="Share of rows outside a column's training range, or with an unseen category, "
            "beyond the share in training, from which on it is drift."
        ),
    ] = 0.05,
    cost_ratio: Annotated[
        float,
        typer.Option(
            "--cost-ratio",
            help="Mean cost of a row over that in training, from which on it is drift.",
        ),
    ] = 1.5,
    level: Annotated[
        float, typer.Option(help="Probability that drift is reported if nothing has changed.")
    ] = 0.01,
    out: Annotated[
        str | None, typer.Option("--out", "-o", help="Write a page for a browser (.html) here.")
    ] = None,
    names: Names = None,
    force: Force = False,
    console: Printing,
) -> None:
    """Say what has changed in new rows since the fit; exit code 3 if a limit is exceeded."""
    from treemeans.cli import drift_command
    from treemeans.cli.show_command import SavedModel
    from treemeans.monitor.drift_result import DriftLimits

    limits = DriftLimits(psi, outside, cost_ratio, level)
    chosen = SavedModel(model, None, names)
    drift_command.run(chosen, data, limits, out, force, console)


def refit(
    *,
    model: Model,
    data: Data,
    out: Annotated[str, typer.Option("--out", "-o", help="Write the new model here.")],
    clusters: Annotated[
        int | None,
        typer.Option("-k", "--clusters", help="Number of clusters; by default that of the model."),
    ] = None,
    keep_structure: Annotated[
        bool,
        typer.Option("--keep-structure", help="Keep the cuts, and move only their thresholds."),
    ] = False,
    shared: Annotated[
        str | None,
        typer.Option(
            help="File of rows to match old and new clusters on; by default centers are matched."
        ),
    ] = None,
    names: Names = None,
    force: Force = False,
    console: Printing,
) -> None:
    """Fit a model to new rows; clusters keep their numbers and names."""
    from treemeans.cli import refit_command
    from treemeans.cli.show_command import SavedModel

    refit_command.refit(
        SavedModel(model, None, names),
        data,
        out,
        clusters=clusters,
        keep_structure=keep_structure,
        shared=shared,
        force=force,
        console=console,
    )


def diff(
    *,
    old: Model,
    new: Annotated[str, typer.Argument(help="Another model, such as `treemeans refit` writes.")],
    data: Data,
    plot: Annotated[
        str | None, typer.Option(help="Write a picture of the flow of rows here.")
    ] = None,
    out: Annotated[str | None, typer.Option("--out", "-o", help="Write JSON here.")] = None,
    force: Force = False,
    console: Printing,
) -> None:
    """Compare two models: which rows changed their cluster, and which rules changed."""
    from treemeans.cli import refit_command

    refit_command.diff(old, new, data, plot, out, force, console)


def stability(
    *,
    model: Model,
    data: FittedTable,
    resamples: Annotated[int, typer.Option(min=1, help="Resamples to fit.")] = 100,
    method: Annotated[
        Resampling, typer.Option(help="Rows drawn with replacement, or half of the rows.")
    ] = Resampling.bootstrap,
    leaves: Size = None,
    names: Names = None,
    seed: Annotated[int, typer.Option(help="Seed of the draws.")] = 0,
    plot: PlotOut = None,
    force: Force = False,
    console: Printing,
) -> None:
    """Measure whether resamples of the table give the same clusters again."""
    from treemeans.cli import show_command, stability_command

    chosen = show_command.SavedModel(model, leaves, names)
    stability_command.run(chosen, data, resamples, method.value, seed, plot, force, console)


def alternatives(
    *,
    model: Model,
    data: FittedTable,
    number: Annotated[int, typer.Option("-n", "--number", min=1, help="Trees to show.")] = 5,
    within: Annotated[
        float, typer.Option(min=0, help="How much more they may cost, as a share of the cost.")
    ] = 0.01,
    leaves: Size = None,
    names: Names = None,
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", help="Write their models: m.json gives m-1.json, m-2.json ..."),
    ] = None,
    force: Force = False,
    console: Printing,
) -> None:
    """Find other trees that are as good but cut other columns."""
    from treemeans.cli import alternatives_command, show_command

    chosen = show_command.SavedModel(model, leaves, names)
    alternatives_command.run(chosen, data, number, within, out, force, console)
