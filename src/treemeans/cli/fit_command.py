"""``treemeans fit``: clusters of a table, and their rules."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from treemeans import ExKMC
from treemeans.cli import interrupt
from treemeans.cli.console import Console
from treemeans.cli.fit_output import print_path, summary, write_report_file
from treemeans.cli.fit_settings import MOST_LEAVES, FitSettings
from treemeans.cli.load_table import LoadedTable, TableInput, check_clusters
from treemeans.cli.names_file import read_names
from treemeans.cli.output_files import check_outputs
from treemeans.explain.suggest_leaves import suggested_leaves
from treemeans.files.file_errors import InputError
from treemeans.files.file_schema import FileSchema, ReadOptions

if TYPE_CHECKING:
    from treemeans.partitioned import PartitionedRows

DEMO_FILE = Path(__file__).with_name("cdnow.csv")
"""Customers of a music shop; docs/data/README.md says where the table is from."""
DEMO_CLUSTERS = 4
_REPORT_ROWS = 20_000  # rows from which the histograms of a report are made
_MANY_ROWS = 50_000  # from which ten starts on all rows take long


def check_input(
    path: str | None, clusters: int | None, options: ReadOptions, demo: bool
) -> TableInput:
    """The table that the user asks for: a file, which needs -k, or the included one."""
    if demo == (path is not None):
        raise InputError("Give a file to cluster, or --demo.")
    if path is None:
        return TableInput(str(DEMO_FILE), options)
    if clusters is None:
        raise InputError(
            f"How many clusters? Add -k, for example -k 5; `treemeans choose {path}` helps."
        )
    return TableInput(path, options)


def fit_model(table: LoadedTable, settings: FitSettings, console: Console) -> ExKMC:
    """Fit a model to a table in memory; its path goes beyond the suggested size, if that is used.

    A refined tree of the suggested size is refined at that size, not pruned from a larger one.
    """
    schema = table.schema
    check_clusters(settings.clusters, schema.n_rows)
    is_plain = schema.is_all_numbers and settings.scale in ("auto", "none", "standard")
    rows: Any = table.X if is_plain else table.encoded
    reference = None
    if is_plain:
        with console.working("k-means"):
            reference = fit_reference(table.X, settings.clusters, settings.scale, settings.seed)
    groups = settings.limits.groups(table)
    protected = settings.limits.protected or []
    more: dict[str, Any] = {}
    if is_plain and protected:  # the rows have no names
        more["allowed_features"] = [column.name not in protected for column in schema.columns]
    if settings.leaves is None and settings.refine != "none":
        grown = _estimator(replace(settings, refine="none"), reference, more=more)
        path = grown.fit(rows, groups=groups).path_
        settings = replace(settings, leaves=suggested_leaves(path))
    model = _estimator(settings, reference, progress=console.shows_progress, more=more)
    model.fit(rows, groups=groups)
    return model.with_columns(columns=schema.columns) if is_plain else model


def fit_partitioned(
    rows: PartitionedRows, schema: FileSchema, settings: FitSettings, console: Console
) -> ExKMC:
    """Fit a model to a table in parts; prints how long it will take."""
    from treemeans.cli.choose_engine import reading_threads
    from treemeans.partitioned.readers.pass_timer import PassTimer

    check_clusters(settings.clusters, schema.n_rows)
    is_plain = schema.is_all_numbers and settings.scale in ("auto", "none", "standard")
    reference = None
    if is_plain:
        reference = _kmeans_pipeline(
            schema.n_rows, settings.clusters, settings.scale, settings.seed
        )
    model = _estimator(settings, reference, n_jobs=reading_threads())
    with PassTimer(rows, console.note, console.shows_progress) as parts:
        model.fit(parts)
    return model.with_columns(columns=schema.columns) if schema.is_all_numbers else model


def _estimator(
    settings: FitSettings,
    reference: Any,
    *,
    n_jobs: int = -1,
    progress: bool = False,
    more: dict[str, Any] | None = None,
) -> ExKMC:
    return ExKMC(
        settings.clusters,
        max_leaf_nodes=settings.leaves or MOST_LEAVES * settings.clusters,
        reference=reference,
        scale="auto" if reference is not None else settings.scale,
        refine=settings.refine,
        max_categories=settings.max_categories,
        round_thresholds=settings.round_thresholds,
        random_state=settings.seed,
        n_jobs=n_jobs,
        verbose=int(progress),
        **settings.limits.parameters,
        **(more or {}),
    )


CALLED = {"kmeans": "k-means", "kmedians": "k-medians", "cosine": "spherical k-means"}
"""What the reference of each cost is called."""


def fit_reference(
    X: NDArray[np.float64], clusters: int, scale: str, seed: int, cost: str = "kmeans"
) -> Any:
    """K-means, or the same for another cost, fitted once for all trees that explain it."""
    from treemeans.reference import KMedians, SphericalKMeans

    pipeline = _kmeans_pipeline(len(X), clusters, scale, seed)
    if cost != "kmeans":
        kind = KMedians if cost == "kmedians" else SphericalKMeans
        pipeline.set_params(**{pipeline.steps[-1][0]: kind(clusters, random_state=seed)})
    return pipeline.fit(X)


def _kmeans_pipeline(n_rows: int, clusters: int, scale: str, seed: int) -> Any:
    from sklearn.cluster import KMeans
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from treemeans.reference import FastKMeans

    check_clusters(clusters, n_rows)
    if n_rows > _MANY_ROWS:
        kmeans = FastKMeans(clusters, random_state=seed)
    else:
        kmeans = KMeans(clusters, n_init=10, random_state=seed)
    steps = [kmeans] if scale == "none" else [StandardScaler(), kmeans]
    return make_pipeline(*steps)


@dataclass(frozen=True)
class Outputs:
    """Files to write: the model and the report, which holds up to ``rows`` rows of the table.

    ``names`` is a file to read, of the names to give the clusters.
    """

    model: str | None
    report: str | None
    rows: int = 0
    names: str | None = None

    def __post_init__(self) -> None:
        if self.rows and self.report is None:
            raise InputError(
                f"--rows {self.rows} puts rows of the table into a report; add --report."
            )


def run(
    source: TableInput,
    settings: FitSettings,
    engine: str,
    outputs: Outputs,
    force: bool,
    console: Console,
) -> None:
    """Fit a model, print its rules and costs, write it."""
    from treemeans.cli.choose_engine import choose_engine

    check_outputs([outputs.model, outputs.report], force=force)
    engine = choose_engine(engine, source.path, source.options.columns, console)
    if engine != "memory":
        if settings.limits.parameters:
            raise InputError(
                "Limits on clusters and protected columns need the table in memory; add "
                "--engine memory."
            )
        _run_partitioned(source, settings, engine, outputs, console)
        return
    protected = settings.limits.protected or ()
    table = source.load(console, settings.scale, settings.clusters, protected=protected)
    fitted = _named(fit_model(table, settings, console), outputs.names)
    fitted = fitted.check_segments(table.X, random_state=settings.seed)
    model = _print_and_save(fitted, table.schema, settings, outputs.model, console)
    if outputs.report:
        write_report_file(model, outputs.report, outputs.rows, table.X, source.title, console)


def _run_partitioned(
    source: TableInput, settings: FitSettings, engine: str, outputs: Outputs, console: Console
) -> None:
    """Run the command on a table in parts."""
    from treemeans.cli.fit_large_file import open_large_file
    from treemeans.partitioned.row_summary import SummarizeRows

    with open_large_file(
        source.path, source.options, dask=engine == "dask", shown=console.shows_progress
    ) as (rows, schema):
        check_clusters(settings.clusters, schema.n_rows)
        console.note(f"{schema.table}\n")
        fitted = _named(fit_partitioned(rows, schema, settings, console), outputs.names)
        model = _print_and_save(fitted, schema, settings, outputs.model, console)
        if outputs.report:
            sample = rows.map_reduce(SummarizeRows(_REPORT_ROWS, accepts_missing=True)).sample
            write_report_file(model, outputs.report, outputs.rows, sample, source.title, console)
            if schema.n_rows > _REPORT_ROWS:
                console.note(f"Its histograms are of {_REPORT_ROWS:,} rows, drawn evenly from all.")


def _named(model: ExKMC, names: str | None) -> ExKMC:
    return model if names is None else model.with_names(read_names(names))


def _print_and_save(
    fitted: ExKMC,
    schema: FileSchema,
    settings: FitSettings,
    out: str | None,
    console: Console,
) -> ExKMC:
    """Print the rules and costs of the tree that is used, save it and return it."""
    suggested = suggested_leaves(fitted.path_)
    model = fitted if settings.leaves else fitted.with_leaves(suggested)
    rules = model.rules()
    console.print(_first_line(schema, settings))
    console.print(f"\n{rules}\n")
    print_path(fitted, suggested, model.n_leaves_, console)
    console.print_json(lambda: summary(model, fitted.path_, rules, schema))
    if out:
        model.save(out)
        interrupt.wrote(out)
        console.note(f"The model is in {out}.{_alone(model)}")
    return model


def _alone(model: ExKMC) -> str:
    """A warning about leaves of a single row, whose means in the model file are that row."""
    tree = model.tree_
    n_alone = int(np.count_nonzero(tree.weight[tree.leaves] == 1))
    if n_alone == 0:
        return ""
    leaves = "1 leaf holds a single row" if n_alone == 1 else f"{n_alone} leaves hold one row each"
    return f" {leaves}, whose values can be worked out from the file."


def _first_line(schema: FileSchema, settings: FitSettings) -> str:
    how = "on scaled columns; the rules are in your own units"
    if settings.scale == "none":
        how = "on the columns as they are"
    elif schema.is_all_numbers and settings.scale in ("auto", "standard"):
        how = "on standardised columns; the rules are in your own units"
    names = {column.source or column.name for column in schema.columns}
    columns = f"{len(names)} column{'' if len(names) == 1 else 's'}"
    return f"{schema.n_rows:,} rows and {columns}, clustered {how}."
