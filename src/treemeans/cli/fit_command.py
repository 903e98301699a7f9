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
from treemeans.cli.names_file import read_names
from treemeans.cli.output_files import check_outputs
from treemeans.columns import Column
from treemeans.explain.rules import Rules
from treemeans.explain.suggest_leaves import suggested_leaves
from treemeans.files.encode_table import EncodedTable, encode_table
from treemeans.files.file_errors import InputError
from treemeans.files.read_table import read_table

if TYPE_CHECKING:
    from treemeans.cli.fit_large_file import PartitionedTable

DEMO_CLUSTERS = 3
_REPORT_ROWS = 20_000  # rows from which the histograms of a report are made
_MANY_ROWS = 50_000  # from which ten starts on all rows take long
MOST_LEAVES = 2  # leaves for each cluster, up to which a suggested size is looked for


@dataclass(frozen=True)
class TableInput:
    """A file and the columns of it to use; without a file, the wines of scikit-learn."""

    path: str | None
    columns: str | None = None
    id: str | None = None
    missing: str = "refuse"

    @property
    def title(self) -> str:
        """Its name, for the report."""
        if self.path is None:
            return "Wines of three growers"
        return "Standard input" if self.path == "-" else Path(self.path).name

    def load(self) -> EncodedTable:
        """Read and encode the table."""
        if self.path is None:
            return _demo_table()
        return encode_table(
            read_table(self.path), columns=self.names, id=self.id, missing=self.missing
        )

    @property
    def names(self) -> list[str] | None:
        """The columns asked for; None for all."""
        return None if self.columns is None else [c.strip() for c in self.columns.split(",")]


def check_input(
    path: str | None,
    clusters: int | None,
    columns: str | None,
    id_column: str | None,
    missing: str,
    demo: bool,
) -> TableInput:
    """The table that the user asks for: a file, which needs -k, or the demonstration."""
    if demo == (path is not None):
        raise InputError("Give a file to cluster, or --demo.")
    if path is not None and clusters is None:
        raise InputError(
            f"How many clusters? Add -k, for example -k 5; `treemeans choose {path}` helps."
        )
    return TableInput(path, columns, id_column, missing)


@dataclass(frozen=True)
class FitSettings:
    """Options of k-means and of the tree."""

    clusters: int
    leaves: int | None
    scale: str
    refine: str = "none"
    round_thresholds: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        if self.leaves is not None and self.leaves < self.clusters:
            raise InputError(
                f"--leaves {self.leaves} is less than -k {self.clusters}; "
                "a tree needs a leaf for every cluster."
            )


def fit_model(table: EncodedTable, settings: FitSettings, console: Console) -> ExKMC:
    """Fit a model to a table in memory; its path goes beyond the suggested size, if that is used.

    A refined tree of the suggested size is refined at that size, not pruned from a larger one.
    """
    with console.working("k-means"):
        reference = fit_reference(table.X, settings.clusters, settings.scale, settings.seed)
    if settings.leaves is None and settings.refine != "none":
        grown = _estimator(replace(settings, refine="none"), reference).fit(table.X)
        settings = replace(settings, leaves=suggested_leaves(grown.path_))
    model = _estimator(settings, reference, progress=console.shows_progress)
    return model.fit(table.X).with_columns(columns=table.columns)


def fit_partitioned(table: PartitionedTable, settings: FitSettings, console: Console) -> ExKMC:
    """Fit a model to a table in parts; prints how long it will take."""
    from treemeans.cli.choose_engine import reading_threads
    from treemeans.partitioned.readers.pass_timer import PassTimer

    reference = _kmeans_pipeline(table.n_rows, settings.clusters, settings.scale, settings.seed)
    model = _estimator(settings, reference, n_jobs=reading_threads())
    with PassTimer(table.parts, console.note, console.shows_progress) as parts:
        model.fit(parts)
    return model.with_columns(columns=table.columns)


def _estimator(
    settings: FitSettings, reference: Any, *, n_jobs: int = -1, progress: bool = False
) -> ExKMC:
    return ExKMC(
        settings.clusters,
        max_leaf_nodes=settings.leaves or MOST_LEAVES * settings.clusters,
        reference=reference,
        refine=settings.refine,
        round_thresholds=settings.round_thresholds,
        random_state=settings.seed,
        n_jobs=n_jobs,
        verbose=int(progress),
    )


def fit_reference(X: NDArray[np.float64], clusters: int, scale: str, seed: int) -> Any:
    """K-means, fitted once for all trees that explain it."""
    return _kmeans_pipeline(len(X), clusters, scale, seed).fit(X)


def _kmeans_pipeline(n_rows: int, clusters: int, scale: str, seed: int) -> Any:
    from sklearn.cluster import KMeans
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from treemeans.reference import FastKMeans

    if clusters < 1:
        raise InputError(f"-k must be at least 1; got {clusters}.")
    if n_rows < clusters:
        raise InputError(f"The table has {n_rows} rows, too few for {clusters} clusters.")
    if n_rows > _MANY_ROWS:
        kmeans = FastKMeans(clusters, random_state=seed)
    else:
        kmeans = KMeans(clusters, n_init=10, random_state=seed)
    steps = [StandardScaler(), kmeans] if scale == "standard" else [kmeans]
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
    engine = choose_engine(engine, source.path, source.names, console)
    if engine != "memory":
        _run_partitioned(source, settings, engine, outputs, console)
        return
    table = source.load()
    for note in table.notes:
        console.note(f"Note: {note}")
    fitted = _named(fit_model(table, settings, console), outputs.names)
    model = _print_and_save(fitted, table, settings, outputs.model, console)
    if outputs.report:
        _report(model, outputs.report, outputs.rows, table.X, source.title, console)


def _run_partitioned(
    source: TableInput, settings: FitSettings, engine: str, outputs: Outputs, console: Console
) -> None:
    """Run the command on a table in parts."""
    from treemeans.cli.fit_large_file import open_large_file
    from treemeans.partitioned.row_summary import SummarizeRows

    assert source.path is not None
    with open_large_file(
        source.path,
        source.names,
        source.id,
        source.missing,
        dask=engine == "dask",
        shown=console.shows_progress,
    ) as table:
        for note in table.notes:
            console.note(f"Note: {note}")
        fitted = _named(fit_partitioned(table, settings, console), outputs.names)
        model = _print_and_save(fitted, table, settings, outputs.model, console)
        if outputs.report:
            sample = table.parts.map_reduce(SummarizeRows(_REPORT_ROWS)).sample
            _report(model, outputs.report, outputs.rows, sample, source.title, console)
            if table.n_rows > _REPORT_ROWS:
                console.note(f"Its histograms are of {_REPORT_ROWS:,} rows, drawn evenly from all.")


def _named(model: ExKMC, names: str | None) -> ExKMC:
    return model if names is None else model.with_names(read_names(names))


def _print_and_save(
    fitted: ExKMC,
    table: EncodedTable | PartitionedTable,
    settings: FitSettings,
    out: str | None,
    console: Console,
) -> ExKMC:
    """Print the rules and costs of the tree that is used, save it and return it."""
    suggested = suggested_leaves(fitted.path_)
    model = fitted if settings.leaves else fitted.with_leaves(suggested)
    rules = model.rules()
    console.print(_first_line(table, settings))
    console.print(f"\n{rules}\n")
    _print_path(fitted.path_, suggested, model.n_leaves_, console)
    console.print_json(lambda: summary(model, fitted.path_, rules, table))
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
    leaves = "1 leaf holds" if n_alone == 1 else f"{n_alone} leaves hold"
    return f" {leaves} one row each, whose values can be worked out from the file."


def _report(
    model: ExKMC, report: str, rows: int, X: NDArray[np.float64], title: str, console: Console
) -> None:
    from treemeans import write_report
    from treemeans.cli.show_command import report_written

    with console.working("report"):
        write_report(model, report, X, title=title, rows=rows)
    interrupt.wrote(report)
    console.note(report_written(report, rows))


def _first_line(table: EncodedTable | PartitionedTable, settings: FitSettings) -> str:
    how = (
        "on standardised columns; the rules are in your own units"
        if settings.scale == "standard"
        else "on the columns as they are"
    )
    names = {column.source or column.name for column in table.columns}
    return f"{table.n_rows:,} rows and {len(names)} columns, clustered {how}."


def _print_path(path: NDArray[np.void], suggested: int, n_leaves: int, console: Console) -> None:
    """Print the cost of every size of the tree, the suggested size and the one used marked."""
    marks = {suggested: "<- suggested"}
    if n_leaves != suggested:
        marks[n_leaves] = "<- this tree"
    rows = [
        [
            str(row["n_leaves"]),
            f"{row['ratio']:.4f}",
            f"{row['accuracy']:.1%}",
            marks.get(int(row["n_leaves"]), ""),
        ]
        for row in path
    ]
    marked = int(np.searchsorted(path["n_leaves"], n_leaves))
    console.table(["leaves", "cost / k-means", "agree with k-means", ""], rows, marked)


def summary(
    model: ExKMC, path: NDArray[np.void], rules: Rules, table: EncodedTable | PartitionedTable
) -> dict[str, Any]:
    """The result of a fit, for JSON; ``path`` is that of all sizes that were grown."""
    return {
        "n_rows": table.n_rows,
        "n_rows_dropped": table.n_dropped,
        "n_leaves": model.n_leaves_,
        "cost": model.inertia_,
        "reference_cost": model.reference_inertia_,
        "suggested_leaves": suggested_leaves(path),
        "path": {name: path[name].tolist() for name in path.dtype.names or ()},
        "rules": rules.to_dict(),
        "notes": table.notes,
    }


def _demo_table() -> EncodedTable:
    from sklearn.datasets import load_wine

    wines = load_wine()
    columns = tuple(Column(name.replace("_", " ")) for name in wines.feature_names)
    return EncodedTable(X=wines.data, columns=columns, rows=np.arange(len(wines.data)), n_dropped=0)
