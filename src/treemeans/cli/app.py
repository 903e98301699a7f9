"""The commands, their options, and the functions that run them.

Heavy imports happen inside the commands, so that ``treemeans --help`` answers at once.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from treemeans.cli.console import Console, one_sentence_errors

app = typer.Typer(
    name="treemeans",
    help="Explainable k-means: clusters you can read as a few plain rules.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)


class Scale(StrEnum):
    """How numbers are scaled before they are clustered."""

    auto = "auto"
    none = "none"
    standard = "standard"
    robust = "robust"
    log = "log"
    rank = "rank"


class Refine(StrEnum):
    """How hard to look for a better tree of the same size."""

    none = "none"
    local = "local"
    search = "search"
    optimal = "optimal"


class Missing(StrEnum):
    """What to do with missing values."""

    keep = "keep"
    median = "median"
    drop = "drop"


class Engine(StrEnum):
    """How rows are held while a tree is grown."""

    auto = "auto"
    memory = "memory"
    stream = "stream"
    dask = "dask"


class Form(StrEnum):
    """How SQL is laid out."""

    case = "case"
    where = "where"


class ShownAs(StrEnum):
    """How clusters are called."""

    numbers = "numbers"
    names = "names"


class ExplainCost(StrEnum):
    """What a row costs in another group."""

    labels = "labels"
    kmeans = "kmeans"


class Noise(StrEnum):
    """What becomes of rows without a group."""

    ignore = "ignore"
    cluster = "cluster"


class Resampling(StrEnum):
    """How resamples are drawn."""

    bootstrap = "bootstrap"
    subsample = "subsample"


Names = Annotated[
    str | None, typer.Option(help="File of names of clusters: JSON, or lines like 0,loyal.")
]
As = Annotated[ShownAs, typer.Option("--as", help="Write the numbers of clusters, or their names.")]
Data = Annotated[
    str,
    typer.Argument(help="CSV, TSV, JSON lines, Parquet or Arrow file; - for standard input."),
]
Model = Annotated[str, typer.Argument(help="A model that `treemeans fit --out` wrote.")]
Columns = Annotated[
    str | None, typer.Option(help="Columns to cluster by, separated by commas; all by default.")
]
Id = Annotated[
    str | None, typer.Option("--id", help="Column that identifies rows; not clustered by.")
]
Leaves = Annotated[
    int | None,
    typer.Option(
        "--leaves",
        "--max-leaf-nodes",
        help="Leaves of the tree; by default the number that `fit` suggests.",
    ),
]
ScaleBy = Annotated[
    Scale,
    typer.Option(
        help="How numbers are scaled for k-means; auto standardises them, and takes the logarithm "
        "or rank of skewed ones if the table has categories or missing values."
    ),
]
RefineBy = Annotated[Refine, typer.Option(help="Look for a better tree of the same size.")]
WithMissing = Annotated[
    Missing,
    typer.Option(
        help="Missing values take a side at each cut (keep), become the median or the most "
        "frequent category, or their rows are dropped."
    ),
]
Exclude = Annotated[str | None, typer.Option(help="Columns to leave out, separated by commas.")]
AsText = Annotated[
    str | None, typer.Option("--text", help="Columns to read as text, such as postal codes.")
]
AsNumber = Annotated[str | None, typer.Option("--number", help="Columns to read as numbers.")]
AsDate = Annotated[str | None, typer.Option("--date", help="Columns to read as dates.")]
AsCategory = Annotated[
    str | None, typer.Option("--category", help="Columns to use as categories, even numbers.")
]
MinSize = Annotated[
    float | None,
    typer.Option(help="Least number of rows of every cluster; below 1, a share of all rows."),
]
MaxSize = Annotated[
    float | None,
    typer.Option(help="Largest number of rows of every cluster; below 1, a share of all rows."),
]
Balance = Annotated[
    list[str] | None,
    typer.Option(
        help="Share of a group in every cluster, like gender=0.3:0.7 for each value of a column, "
        "or gender:f=0.3:0.7 for one; can be given several times."
    ),
]
Protected = Annotated[
    str | None,
    typer.Option(
        help="Columns, separated by commas, that no rule may use; it is told how much of them the "
        "clusters reveal all the same. --exclude them too to keep them out of the clustering."
    ),
]
Seed = Annotated[int, typer.Option(help="Seed of k-means.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]
Out = Annotated[str, typer.Option("--out", "-o", help="File to write.")]
MaybeOut = Annotated[
    str | None, typer.Option("--out", "-o", help="File to write; by default it is printed.")
]


Rows = Annotated[
    int, typer.Option(min=0, help="Rows of the table to put into the report, as examples.")
]
AllCategories = Annotated[
    bool, typer.Option("--all-categories", help="List all categories of a set, not the first six.")
]
Size = Annotated[int | None, typer.Option("--leaves", help="A smaller tree of the same fit.")]


@app.command()
@one_sentence_errors
def fit(
    data: Annotated[
        str | None,
        typer.Argument(
            help="CSV, TSV, JSON lines, Parquet or Arrow file, folder of Parquet files; - for "
            "standard input."
        ),
    ] = None,
    clusters: Annotated[int | None, typer.Option("-k", "--clusters", help="Clusters.")] = None,
    leaves: Leaves = None,
    columns: Columns = None,
    id_column: Id = None,
    exclude: Exclude = None,
    text: AsText = None,
    number: AsNumber = None,
    date: AsDate = None,
    category: AsCategory = None,
    scale: ScaleBy = Scale.auto,
    refine: RefineBy = Refine.none,
    missing: WithMissing = Missing.keep,
    max_categories: Annotated[
        int | None, typer.Option(min=1, help="Most categories that a cut lists.")
    ] = None,
    min_cluster_size: MinSize = None,
    max_cluster_size: MaxSize = None,
    balance: Balance = None,
    protected: Protected = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="Do not round thresholds to short numbers.")
    ] = False,
    engine: Annotated[
        Engine,
        typer.Option(help="memory, stream (for large files) or dask; auto chooses by size."),
    ] = Engine.auto,
    seed: Seed = 0,
    names: Names = None,
    out: Annotated[str | None, typer.Option("--out", "-o", help="Write the model here.")] = None,
    report: Annotated[str | None, typer.Option(help="Write an HTML report here.")] = None,
    rows: Rows = 0,
    demo: Annotated[bool, typer.Option("--demo", help="Use an included table.")] = False,
    force: Force = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Cluster a table, and print the rules of its clusters."""
    from treemeans.cli import fit_command

    options = fit_command.read_options(
        columns, exclude, id_column, text, number, date, category, missing.value
    )
    source = fit_command.check_input(data, clusters, options, demo)
    k = fit_command.DEMO_CLUSTERS if clusters is None else clusters
    limits = fit_command.ClusterSettings.read(
        min_cluster_size, max_cluster_size, balance or [], protected
    )
    settings = fit_command.FitSettings(
        k, leaves, scale.value, refine.value, not exact, seed, max_categories, limits
    )
    outputs = fit_command.Outputs(out, report, rows, names)
    fit_command.run(source, settings, engine.value, outputs, force, Console(quiet, as_json))


@app.command()
@one_sentence_errors
def explain(
    data: Annotated[
        str, typer.Argument(help="CSV, TSV, JSON lines, Parquet or Arrow file with a label column.")
    ],
    labels: Annotated[str, typer.Option("--labels", help="Column that holds the group of a row.")],
    leaves: Annotated[
        int | None,
        typer.Option("--leaves", help="Leaves of the tree; by default where more help little."),
    ] = None,
    columns: Annotated[
        str | None, typer.Option(help="Columns to explain by, separated by commas.")
    ] = None,
    id_column: Id = None,
    exclude: Exclude = None,
    text: AsText = None,
    number: AsNumber = None,
    date: AsDate = None,
    category: AsCategory = None,
    missing: WithMissing = Missing.keep,
    cost: Annotated[
        ExplainCost,
        typer.Option(help="Count rows in another group, or squared distances to group means."),
    ] = ExplainCost.labels,
    noise: Annotated[
        Noise, typer.Option(help="Rows labelled -1 or nothing: leave out, or make a group.")
    ] = Noise.ignore,
    refine: RefineBy = Refine.none,
    exact: Annotated[
        bool, typer.Option("--exact", help="Do not round thresholds to short numbers.")
    ] = False,
    dialect: Annotated[
        str,
        typer.Option(help="postgresql, duckdb, sqlite, bigquery, snowflake, spark, mysql or tsql."),
    ] = "postgresql",
    sql: Annotated[
        str | None, typer.Option("--sql", help="Write the SQL here; by default it is printed.")
    ] = None,
    report: Annotated[
        str | None,
        typer.Option(
            help="Write the HTML report here; by default TABLE_LABELS.html; `none` for no report."
        ),
    ] = None,
    rows: Annotated[
        int, typer.Option(min=0, help="Rows of the table to put into the report, as examples.")
    ] = 0,
    out: Annotated[str | None, typer.Option("--out", "-o", help="Write the model here.")] = None,
    force: Force = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Explain groups that are in a column: rules, SQL and a report."""
    from treemeans.cli import explain_command, fit_command

    options = fit_command.read_options(
        columns, exclude, id_column, text, number, date, category, missing.value
    )
    settings = explain_command.ExplainSettings(
        labels, leaves, cost.value, noise.value, refine.value, not exact, dialect
    )
    outputs = explain_command.outputs(data, labels, out, report, rows)
    source = fit_command.TableInput(data, options)
    explain_command.run(source, settings, outputs, sql, force, Console(quiet, as_json))


@app.command()
@one_sentence_errors
def choose(
    data: Data,
    least: Annotated[int, typer.Option("--from", help="Fewest clusters to try.")] = 2,
    most: Annotated[int, typer.Option("--to", help="Most clusters to try.")] = 10,
    columns: Columns = None,
    id_column: Id = None,
    exclude: Exclude = None,
    text: AsText = None,
    number: AsNumber = None,
    date: AsDate = None,
    category: AsCategory = None,
    scale: ScaleBy = Scale.auto,
    missing: WithMissing = Missing.keep,
    seed: Seed = 0,
    plot: Annotated[
        str | None, typer.Option(help="Write the plot here (.png, .svg, .pdf).")
    ] = None,
    resamples: Annotated[
        int, typer.Option(min=0, help="Resamples for the stability of each number; 0 for none.")
    ] = 20,
    force: Force = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Costs and stability for numbers of clusters and leaves, with suggestions for both."""
    from treemeans.cli import choose_command, fit_command

    options = fit_command.read_options(
        columns, exclude, id_column, text, number, date, category, missing.value
    )
    source = fit_command.TableInput(data, options)
    numbers = range(least, most + 1)
    console = Console(quiet, as_json)
    choose_command.run(source, numbers, scale.value, seed, plot, resamples, force, console)


@app.command()
@one_sentence_errors
def compare(
    data: Data,
    clusters: Annotated[int, typer.Option("-k", "--clusters", help="Clusters.")],
    leaves: Annotated[
        int | None,
        typer.Option("--leaves", "--max-leaf-nodes", help="Leaves of the trees; 2 -k by default."),
    ] = None,
    columns: Columns = None,
    id_column: Id = None,
    exclude: Exclude = None,
    text: AsText = None,
    number: AsNumber = None,
    date: AsDate = None,
    category: AsCategory = None,
    scale: ScaleBy = Scale.auto,
    missing: WithMissing = Missing.keep,
    seed: Seed = 0,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Costs of ExKMC, CART, a KD-tree and others at the same number of leaves."""
    from treemeans.cli import compare_command, fit_command

    options = fit_command.read_options(
        columns, exclude, id_column, text, number, date, category, missing.value
    )
    source = fit_command.TableInput(data, options)
    compare_command.run(source, clusters, leaves, scale.value, seed, Console(quiet, as_json))


@app.command()
@one_sentence_errors
def predict(
    model: Model,
    data: Data,
    out: Annotated[
        str | None, typer.Option("--out", "-o", help="CSV, TSV, Parquet or Arrow file to write.")
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Add a column that says why.")] = False,
    confidence: Annotated[
        bool,
        typer.Option(
            "--confidence", help="Add how near rows are to a cut, and to the next cluster."
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
            help="Send values that were never missing in training where most rows went.",
        ),
    ] = False,
    force: Force = False,
    quiet: Quiet = False,
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
        console=Console(quiet, as_json=False),
    )


@app.command()
@one_sentence_errors
def drift(
    model: Model,
    data: Data,
    psi: Annotated[
        float, typer.Option(help="PSI of a column, or of the rules, that counts as drift.")
    ] = 0.25,
    outside: Annotated[
        float,
        typer.Option(help="Share of rows outside the training range, or of unseen categories."),
    ] = 0.05,
    cost_ratio: Annotated[
        float, typer.Option("--cost-ratio", help="Cost of a row now, over that in training.")
    ] = 1.5,
    level: Annotated[
        float, typer.Option(help="Probability of an alarm if nothing has changed.")
    ] = 0.01,
    out: Annotated[
        str | None, typer.Option("--out", "-o", help="Write a page for a browser (.html) here.")
    ] = None,
    names: Names = None,
    force: Force = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """What has changed in new rows, of a file of any size; exit code 3 above a limit."""
    from treemeans.cli import drift_command
    from treemeans.cli.show_command import SavedModel
    from treemeans.monitor.drift_result import DriftLimits

    limits = DriftLimits(psi, outside, cost_ratio, level)
    chosen = SavedModel(model, None, names)
    drift_command.run(chosen, data, limits, out, force, Console(quiet, as_json))


@app.command()
@one_sentence_errors
def refit(
    model: Model,
    data: Data,
    out: Annotated[str, typer.Option("--out", "-o", help="Write the new model here.")],
    clusters: Annotated[
        int | None, typer.Option("-k", "--clusters", help="Clusters; as many as before by default.")
    ] = None,
    keep_structure: Annotated[
        bool,
        typer.Option("--keep-structure", help="Keep the cuts, and move only their thresholds."),
    ] = False,
    shared: Annotated[
        str | None, typer.Option(help="File of rows to match clusters on; by default, centers.")
    ] = None,
    names: Names = None,
    force: Force = False,
    quiet: Quiet = False,
    as_json: Json = False,
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
        console=Console(quiet, as_json),
    )


@app.command()
@one_sentence_errors
def diff(
    old: Annotated[str, typer.Argument(help="A model that `treemeans fit --out` wrote.")],
    new: Annotated[str, typer.Argument(help="Another one, such as `treemeans refit` writes.")],
    data: Data,
    plot: Annotated[
        str | None, typer.Option(help="Write a picture of the flow of rows here.")
    ] = None,
    out: Annotated[str | None, typer.Option("--out", "-o", help="Write JSON here.")] = None,
    force: Force = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """What changed between two models: which rows moved, and which rules."""
    from treemeans.cli import refit_command

    refit_command.diff(old, new, data, plot, out, force, Console(quiet, as_json))


@app.command()
@one_sentence_errors
def rules(
    model: Model,
    leaves: Size = None,
    names: Names = None,
    all_categories: AllCategories = False,
    out: MaybeOut = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """The rules of each cluster, in words."""
    from treemeans.cli import show_command

    chosen = show_command.SavedModel(model, leaves, names, all_categories)
    show_command.rules(chosen, out, force, Console(False, as_json))


@app.command()
@one_sentence_errors
def text(
    model: Model,
    leaves: Size = None,
    shown_as: As = ShownAs.numbers,
    names: Names = None,
    all_categories: AllCategories = False,
    out: MaybeOut = None,
    force: Force = False,
) -> None:
    """The tree as text."""
    from treemeans.cli import show_command

    chosen = show_command.SavedModel(model, leaves, names, all_categories)
    show_command.text(chosen, shown_as.value == "names", out, force)


@app.command()
@one_sentence_errors
def sql(
    model: Model,
    dialect: Annotated[
        str,
        typer.Option(help="postgresql, duckdb, sqlite, bigquery, snowflake, spark, mysql or tsql."),
    ] = "postgresql",
    table: Annotated[
        str | None, typer.Option(help="Table to select from; none: the bare expression.")
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
    """The clusters as SQL, to compute them in a database."""
    from treemeans.cli import show_command

    chosen = show_command.SavedModel(model, leaves, names)
    layout = show_command.SqlLayout(dialect, table, form.value, one_hot, shown_as.value == "names")
    show_command.sql(chosen, layout, out, force)


@app.command()
@one_sentence_errors
def plot(
    model: Model,
    out: Out,
    leaves: Size = None,
    shown_as: As = ShownAs.numbers,
    names: Names = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """The tree as a picture (.png, .svg or .pdf)."""
    from treemeans.cli import show_command

    chosen = show_command.SavedModel(model, leaves, names)
    console = Console(quiet, as_json=False)
    show_command.plot(chosen, shown_as.value == "names", out, force, console)


@app.command()
@one_sentence_errors
def onnx(
    model: Model, out: Out, leaves: Size = None, force: Force = False, quiet: Quiet = False
) -> None:
    """The tree as an ONNX model."""
    from treemeans.cli import show_command

    show_command.onnx(model, leaves, out, force, Console(quiet, as_json=False))


@app.command()
@one_sentence_errors
def report(
    model: Model,
    data: Annotated[
        str | None, typer.Argument(help="The table it was fitted to, for histograms.")
    ] = None,
    out: Out = "report.html",
    rows: Rows = 0,
    stability: Annotated[
        bool, typer.Option("--stability", help="Add a panel: do the groups come back?")
    ] = False,
    alternatives: Annotated[
        bool, typer.Option("--alternatives", help="Add a tab: other trees as good.")
    ] = False,
    names: Names = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """A page about the model for a browser: tree, rules, what would move a row."""
    from treemeans.cli import show_command

    chosen = show_command.SavedModel(model, None, names)
    panels = show_command.ReportPanels(rows, stability, alternatives)
    show_command.report(chosen, data, out, panels, force, Console(quiet, as_json=False))


@app.command()
@one_sentence_errors
def stability(
    model: Model,
    data: Annotated[str, typer.Argument(help="The table it was fitted to.")],
    resamples: Annotated[int, typer.Option(min=1, help="Resamples to fit.")] = 100,
    method: Annotated[
        Resampling, typer.Option(help="Rows drawn with replacement, or half of the rows.")
    ] = Resampling.bootstrap,
    leaves: Size = None,
    names: Names = None,
    seed: Annotated[int, typer.Option(help="Seed of the draws.")] = 0,
    plot: Annotated[
        str | None, typer.Option(help="Write the plot here (.png, .svg, .pdf).")
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Whether the clusters are real: what becomes of them on resamples of the table."""
    from treemeans.cli import show_command, stability_command

    chosen = show_command.SavedModel(model, leaves, names)
    console = Console(quiet, as_json)
    stability_command.run(chosen, data, resamples, method.value, seed, plot, force, console)


@app.command()
@one_sentence_errors
def alternatives(
    model: Model,
    data: Annotated[str, typer.Argument(help="The table it was fitted to.")],
    number: Annotated[int, typer.Option("-n", "--number", min=1, help="Trees to show.")] = 5,
    within: Annotated[
        float, typer.Option(min=0, help="Share of the cost that they may cost more.")
    ] = 0.01,
    leaves: Size = None,
    names: Names = None,
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", help="Write their models: m.json gives m-1.json, m-2.json ..."),
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Other trees as good as this one that cut other columns, side by side."""
    from treemeans.cli import alternatives_command, show_command

    chosen = show_command.SavedModel(model, leaves, names)
    console = Console(quiet, as_json)
    alternatives_command.run(chosen, data, number, within, out, force, console)


@app.callback(invoke_without_command=True)
def start(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Explainable k-means: clusters you can read as a few plain rules."""
    if version:
        from treemeans import __version__

        typer.echo(f"treemeans {__version__}")
        raise typer.Exit
