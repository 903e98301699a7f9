"""Commands that take a model to rows of a table: new ones, or those it was fitted to.

Heavy imports happen inside the commands, so that ``treemeans --help`` answers at once.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from treemeans.atomic_write import write_whole
from treemeans.cli import interrupt, options
from treemeans.cli.options import Resampling, ShownAs
from treemeans.cli.output_files import check_outputs, save_figure, without_window
from treemeans.cli.saved_model import SavedModel, rows_for


def predict(
    *,
    model: options.Model,
    data: options.Data,
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
    shown_as: options.As = ShownAs.numbers,
    names: options.Names = None,
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
    force: options.Force = False,
    console: options.Notes,
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
    model: options.Model,
    data: options.Data,
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
    names: options.Names = None,
    force: options.Force = False,
    console: options.Printing,
) -> None:
    """Say what has changed in new rows since the fit; exit code 3 if a limit is exceeded."""
    from treemeans.cli.drift_command import DRIFTED, count_file
    from treemeans.monitor.drift_page import drift_page
    from treemeans.monitor.drift_result import DriftLimits

    limits = DriftLimits(psi, outside, cost_ratio, level)
    check_outputs([out], force=force)
    found = count_file(SavedModel(model, None, names).open(), data, limits, console)
    console.print(str(found))
    console.print_json(found.to_dict)
    if out is not None:
        write_whole(out, drift_page(found, f"{Path(model).name}, {Path(data).name}"))
        console.note(f"The page is in {out}; it contains no rows of the table.")
    if found.exceeds_limits:
        raise typer.Exit(DRIFTED)


def refit(
    *,
    model: options.Model,
    data: options.Data,
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
    names: options.Names = None,
    force: options.Force = False,
    console: options.Printing,
) -> None:
    """Fit a model to new rows; clusters keep their numbers and names."""
    from treemeans.cli import refit_command

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
    old: options.Model,
    new: Annotated[str, typer.Argument(help="Another model, such as `treemeans refit` writes.")],
    data: options.Data,
    plot: Annotated[
        str | None, typer.Option(help="Write a picture of the flow of rows here.")
    ] = None,
    out: Annotated[str | None, typer.Option("--out", "-o", help="Write JSON here.")] = None,
    force: options.Force = False,
    console: options.Printing,
) -> None:
    """Compare two models: which rows changed their cluster, and which rules changed."""
    from treemeans.cli import refit_command

    refit_command.diff(old, new, data, plot, out, force, console)


def stability(
    *,
    model: options.Model,
    data: options.FittedTable,
    resamples: Annotated[int, typer.Option(min=1, help="Resamples to fit.")] = 100,
    method: Annotated[
        Resampling, typer.Option(help="Rows drawn with replacement, or half of the rows.")
    ] = Resampling.bootstrap,
    leaves: options.Size = None,
    names: options.Names = None,
    seed: Annotated[int, typer.Option(help="Seed of the draws.")] = 0,
    plot: options.PlotOut = None,
    force: options.Force = False,
    console: options.Printing,
) -> None:
    """Measure whether resamples of the table give the same clusters again."""
    from treemeans.monitor.stability import measure_stability
    from treemeans.threads import n_threads

    check_outputs([plot], force=force)
    opened = SavedModel(model, leaves, names).open()
    X = rows_for(opened, data)
    with console.working("resamples", resamples) as progress:
        found = measure_stability(
            opened,
            X,
            resamples,
            method=method.value,
            random_state=seed,
            n_threads=n_threads(-1),
            tell=progress.update,
        )
    console.print(str(found))
    console.print_json(found.to_dict)
    if plot:
        without_window()
        save_figure(found.plot()[0].figure, plot)
        interrupt.wrote(plot)
        console.note(f"The plot is in {plot}.")


def alternatives(
    *,
    model: options.Model,
    data: options.FittedTable,
    number: Annotated[int, typer.Option("-n", "--number", min=1, help="Trees to show.")] = 5,
    within: Annotated[
        float, typer.Option(min=0, help="How much more they may cost, as a share of the cost.")
    ] = 0.01,
    leaves: options.Size = None,
    names: options.Names = None,
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", help="Write their models: m.json gives m-1.json, m-2.json ..."),
    ] = None,
    force: options.Force = False,
    console: options.Printing,
) -> None:
    """Find other trees that are as good but cut other columns."""
    from treemeans.monitor.alternatives import MOST_FITS, find_alternatives
    from treemeans.threads import n_threads

    files = [] if out is None else [_numbered(out, i + 1) for i in range(number)]
    check_outputs(files, force=force)
    opened = SavedModel(model, leaves, names).open()
    X = rows_for(opened, data)
    with console.working("trees", MOST_FITS) as progress:
        found = find_alternatives(
            opened, X, number, within, n_threads=n_threads(-1), tell=progress.update
        )
    console.print(str(found))
    console.print_json(found.to_dict)
    for each, path in zip(found, files, strict=False):
        each.model.save(path)
        interrupt.wrote(path)
        console.note(f"The model that cuts {', '.join(each.columns)} is in {path}.")


def _numbered(path: str, i: int) -> str:
    """The name of the i-th file: model.json becomes model-1.json and so on."""
    place = Path(path)
    return str(place.with_name(f"{place.stem}-{i}{place.suffix}"))
