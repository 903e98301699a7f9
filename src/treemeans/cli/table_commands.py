"""Commands that cluster a table: ``fit``, ``explain``, ``choose`` and ``compare``.

Heavy imports happen inside the commands, so that ``treemeans --help`` answers at once.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from treemeans.cli import options
from treemeans.cli.options import (
    CenterCost,
    Engine,
    ExplainCost,
    Missing,
    Noise,
    Refine,
    Scale,
    comma_separated,
)


def fit(
    *,
    data: Annotated[
        str | None,
        typer.Argument(
            help="CSV, TSV, JSON lines, Parquet or Arrow file, folder of Parquet files; - for "
            "standard input."
        ),
    ] = None,
    clusters: Annotated[
        int | None, typer.Option("-k", "--clusters", help="Number of clusters.")
    ] = None,
    leaves: options.Leaves = None,
    columns: options.Columns = None,
    kinds: options.ColumnKinds,
    scale: options.ScaleBy = Scale.auto,
    refine: options.RefineBy = Refine.none,
    missing: options.WithMissing = Missing.keep,
    max_categories: Annotated[
        int | None, typer.Option(min=1, help="Most categories that a cut lists.")
    ] = None,
    min_cluster_size: options.MinSize = None,
    max_cluster_size: options.MaxSize = None,
    balance: options.Balance = None,
    protected: options.Protected = None,
    exact: options.Exact = False,
    engine: Annotated[
        Engine,
        typer.Option(
            help="Where rows are kept: memory, stream (a scratch file, for tables larger than "
            "memory) or dask; auto chooses by size."
        ),
    ] = Engine.auto,
    seed: options.Seed = 0,
    names: options.Names = None,
    out: options.ModelOut = None,
    report: Annotated[str | None, typer.Option(help="Write an HTML report here.")] = None,
    rows: options.Rows = 0,
    demo: Annotated[
        bool, typer.Option("--demo", help="Use an included table (customers) instead of a file.")
    ] = False,
    force: options.Force = False,
    console: options.Printing,
) -> None:
    """Cluster a table, and print the rules of its clusters."""
    from treemeans.cli import fit_command
    from treemeans.cli.fit_settings import ClusterSettings, FitSettings

    reading = replace(kinds, columns=comma_separated(columns), missing=missing.value)
    source = fit_command.check_input(data, clusters, reading, demo)
    k = fit_command.DEMO_CLUSTERS if clusters is None else clusters
    limits = ClusterSettings.read(min_cluster_size, max_cluster_size, balance or [], protected)
    settings = FitSettings(
        k, leaves, scale.value, refine.value, not exact, seed, max_categories, limits
    )
    outputs = fit_command.Outputs(out, report, rows, names)
    fit_command.run(source, settings, engine.value, outputs, force, console)


def explain(
    *,
    data: Annotated[
        str, typer.Argument(help="CSV, TSV, JSON lines, Parquet or Arrow file with a label column.")
    ],
    labels: Annotated[str, typer.Option("--labels", help="Column that holds the group of a row.")],
    leaves: Annotated[
        int | None,
        typer.Option(
            "--leaves", help="Number of leaves of the tree; by default the suggested number."
        ),
    ] = None,
    columns: Annotated[
        str | None, typer.Option(help="Columns to explain by, separated by commas; all by default.")
    ] = None,
    kinds: options.ColumnKinds,
    missing: options.WithMissing = Missing.keep,
    cost: Annotated[
        ExplainCost,
        typer.Option(
            help="What the tree lowers: the rows in another group (labels), or the squared "
            "distances to the means of groups (kmeans)."
        ),
    ] = ExplainCost.labels,
    noise: Annotated[
        Noise,
        typer.Option(
            help="Rows labelled -1, or without a label: leave them out, or make them a group."
        ),
    ] = Noise.ignore,
    refine: options.RefineBy = Refine.none,
    exact: options.Exact = False,
    dialect: options.Dialect = "postgresql",
    sql: Annotated[
        str | None, typer.Option("--sql", help="Write the SQL here; by default it is printed.")
    ] = None,
    report: Annotated[
        str | None,
        typer.Option(
            help="Write the HTML report here; by default TABLE_LABELS.html; `none` for no report."
        ),
    ] = None,
    rows: options.Rows = 0,
    out: options.ModelOut = None,
    force: options.Force = False,
    console: options.Printing,
) -> None:
    """Explain the groups that a column of the table holds: rules, SQL and a report."""
    from treemeans.cli import explain_command
    from treemeans.cli.load_table import TableInput

    reading = replace(kinds, columns=comma_separated(columns), missing=missing.value)
    settings = explain_command.ExplainSettings(
        labels, leaves, cost.value, noise.value, refine.value, not exact, dialect
    )
    outputs = explain_command.outputs(data, labels, out, report, rows)
    source = TableInput(data, reading)
    explain_command.run(source, settings, outputs, sql, force, console)


def choose(
    *,
    data: options.Data,
    least: Annotated[int, typer.Option("--from", help="Fewest clusters to try.")] = 2,
    most: Annotated[int, typer.Option("--to", help="Most clusters to try.")] = 10,
    columns: options.Columns = None,
    kinds: options.ColumnKinds,
    scale: options.ScaleBy = Scale.auto,
    missing: options.WithMissing = Missing.keep,
    seed: options.Seed = 0,
    plot: options.PlotOut = None,
    resamples: Annotated[
        int, typer.Option(min=0, help="Resamples for the stability of each number; 0 for none.")
    ] = 20,
    force: options.Force = False,
    console: options.Printing,
) -> None:
    """Compare numbers of clusters by cost and stability; suggest clusters and leaves."""
    from treemeans.cli import choose_command
    from treemeans.cli.load_table import TableInput

    reading = replace(kinds, columns=comma_separated(columns), missing=missing.value)
    source = TableInput(data, reading)
    numbers = range(least, most + 1)
    choose_command.run(source, numbers, scale.value, seed, plot, resamples, force, console)


def compare(
    *,
    data: options.Data,
    clusters: Annotated[int, typer.Option("-k", "--clusters", help="Number of clusters.")],
    leaves: Annotated[
        int | None,
        typer.Option(
            "--leaves",
            "--max-leaf-nodes",
            help="Number of leaves of the trees; by default twice -k.",
        ),
    ] = None,
    columns: options.Columns = None,
    kinds: options.ColumnKinds,
    scale: options.ScaleBy = Scale.auto,
    missing: options.WithMissing = Missing.keep,
    cost: Annotated[CenterCost, typer.Option(help="What a row costs at its cluster.")] = (
        CenterCost.kmeans
    ),
    seed: options.Seed = 0,
    console: options.Printing,
) -> None:
    """Compare trees of ExKMC, CART, a KD-tree and others with the same number of leaves.

    Kauri (gemclus) and ShallowTree are among them if they are installed.
    """
    from treemeans.cli import compare_command
    from treemeans.cli.load_table import TableInput

    reading = replace(kinds, columns=comma_separated(columns), missing=missing.value)
    source = TableInput(data, reading)
    compare_command.run(source, clusters, leaves, scale.value, cost.value, seed, console)
