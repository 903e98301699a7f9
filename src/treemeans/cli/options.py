"""Options that several commands share: their types, names and help, each written once."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from treemeans.cli.command import OptionGroup
from treemeans.cli.console import Console


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


class DateOrder(StrEnum):
    """Which comes first in dates like 03/04/2024."""

    day_first = "day-first"
    month_first = "month-first"


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
    """What clusters are called."""

    numbers = "numbers"
    names = "names"


class CenterCost(StrEnum):
    """What a row costs at the center of its cluster."""

    kmeans = "kmeans"
    kmedians = "kmedians"
    cosine = "cosine"


class ExplainCost(StrEnum):
    """What a row costs in another group."""

    labels = "labels"
    kmeans = "kmeans"


class Noise(StrEnum):
    """What to do with rows without a group."""

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
        help="Number of leaves of the tree; by default the suggested number.",
    ),
]
ScaleBy = Annotated[
    Scale,
    typer.Option(
        help="How numbers are scaled for k-means; auto standardises them, and takes the logarithm "
        "or rank of skewed ones if the table has categories or missing values."
    ),
]
RefineBy = Annotated[
    Refine,
    typer.Option(
        help="Look for a better tree of the same size: local changes the tree that was grown, "
        "search also grows others, optimal also proves how good the tree is."
    ),
]
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
InOrder = Annotated[
    DateOrder | None,
    typer.Option(
        "--date-order",
        help="How to read dates like 03/04/2024 where no value of the column shows it.",
    ),
]
AsCategory = Annotated[
    str | None,
    typer.Option("--category", help="Columns to use as categories, even if they are numbers."),
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
        help="Least and largest share of a group in every cluster: gender=0.3:0.7 for each value "
        "of a column, gender:f=0.3:0.7 for one value; can be given several times."
    ),
]
Protected = Annotated[
    str | None,
    typer.Option(
        help="Columns, separated by commas, that no rule may use; the rules say how much of them "
        "the clusters still reveal. Use --exclude too to keep them out of the clustering."
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
Size = Annotated[
    int | None, typer.Option("--leaves", help="Number of leaves; a smaller tree of the same fit.")
]
Exact = Annotated[bool, typer.Option("--exact", help="Do not round thresholds to short numbers.")]
Dialect = Annotated[
    str, typer.Option(help="postgresql, duckdb, sqlite, bigquery, snowflake, spark, mysql or tsql.")
]
ModelOut = Annotated[str | None, typer.Option("--out", "-o", help="Write the model here.")]
PlotOut = Annotated[str | None, typer.Option(help="Write the plot here (.png, .svg, .pdf).")]
FittedTable = Annotated[str, typer.Argument(help="The table the model was fitted to.")]


def _column_kinds(
    id_column: Id = None,
    exclude: Exclude = None,
    text: AsText = None,
    number: AsNumber = None,
    date: AsDate = None,
    date_order: InOrder = None,
    category: AsCategory = None,
) -> Any:
    from treemeans.files.file_schema import ReadOptions

    return ReadOptions(
        exclude=comma_separated(exclude) or (),
        id=id_column,
        text=comma_separated(text) or (),
        number=comma_separated(number) or (),
        date=comma_separated(date) or (),
        category=comma_separated(category) or (),
        date_order=None if date_order is None else date_order.value,
    )


def _console(quiet: Quiet = False, as_json: Json = False) -> Console:
    return Console(quiet, as_json)


def _notes(quiet: Quiet = False) -> Console:
    return Console(quiet, as_json=False)


ColumnKinds = Annotated[Any, OptionGroup(_column_kinds)]
"""What the user says about columns: the `ReadOptions`."""
Printing = Annotated[Console, OptionGroup(_console)]
"""Where results go: ``--quiet`` and ``--json``."""
Notes = Annotated[Console, OptionGroup(_notes)]
"""Where notes of a command go whose result is a file: ``--quiet``."""


def comma_separated(names: str | None) -> list[str] | None:
    """Names of columns as the user lists them.

    Examples
    --------
    >>> comma_separated("age, income")
    ['age', 'income']
    """
    return None if names is None else [name.strip() for name in names.split(",")]
