"""``treemeans fit``: clusters of a table, and their rules."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from treemeans import ExKMC
from treemeans.cli import interrupt
from treemeans.cli.console import Console
from treemeans.cli.names_file import read_names
from treemeans.cli.output_files import check_outputs
from treemeans.columns import Column, Columns
from treemeans.columns.encoded_table import EncodedFrame
from treemeans.columns.frame_values import open_frame
from treemeans.columns.table_schema import TableSchema
from treemeans.explain.rules import Rules
from treemeans.explain.suggest_leaves import is_at_the_end, suggested_leaves
from treemeans.explain.warning_record import BadSegmentWarning
from treemeans.files.file_errors import InputError, quoted
from treemeans.files.file_schema import FileSchema, ReadOptions, infer_schema, refuse_problems
from treemeans.files.read_table import decimal_mark, read_table
from treemeans.preparation import TablePreparation

if TYPE_CHECKING:
    from treemeans.cli.fit_large_file import PartitionedTable

DEMO_CLUSTERS = 3
_REPORT_ROWS = 20_000  # rows from which the histograms of a report are made
_MANY_ROWS = 50_000  # from which ten starts on all rows take long
MOST_LEAVES = 2  # leaves for each cluster, up to which a suggested size is looked for


@dataclass(frozen=True)
class LoadedTable:
    """A table in memory, as numbers.

    Attributes
    ----------
    encoded : the table, with what each column is
    is_all_numbers : whether it has neither categories nor missing values
    n_dropped : rows that were dropped
    """

    encoded: EncodedFrame
    is_all_numbers: bool
    n_dropped: int = 0

    @property
    def X(self) -> NDArray[np.float64]:  # noqa: N802
        """The rows."""
        return self.encoded.X

    @property
    def columns(self) -> Columns:
        """The columns of X."""
        return self.encoded.columns

    @property
    def n_rows(self) -> int:
        """Number of rows of X."""
        return len(self.encoded.X)

    @property
    def schema(self) -> TableSchema:
        """What becomes of each column."""
        return self.encoded.schema


@dataclass(frozen=True)
class TableInput:
    """A file and how to read it; without a file, the wines of scikit-learn."""

    path: str | None
    options: ReadOptions = field(default_factory=ReadOptions)

    @property
    def title(self) -> str:
        """Its name, for the report."""
        if self.path is None:
            return "Wines of three growers"
        return "Standard input" if self.path == "-" else Path(self.path).name

    def load(
        self,
        console: Console,
        scale: str | None = "auto",
        clusters: int = 1,
        *,
        as_numbers: bool = False,
    ) -> LoadedTable:
        """Read and encode the table, and print what becomes of its columns.

        ``scale``: how numbers are scaled for k-means; None if nothing is clustered.

        ``as_numbers``: with a column of 0 and 1 for each category, and nothing missing, for
        methods that take nothing else.
        """
        check_clusters(clusters)
        if self.path is None:
            return _demo_table()
        options = self.options
        if as_numbers and options.missing == "keep":
            options = replace(options, missing="median")
        table = read_table(self.path, text=[*options.text, *options.category])
        schema = infer_schema(
            lambda names: iter([table.select(names)]),
            table.schema,
            options,
            decimal_mark(table),
        )
        refuse_problems(schema)
        check_clusters(clusters, schema.n_rows)
        if as_numbers:
            console.note(f"{schema.table}\n")
            return LoadedTable(schema.as_one_hot().encoded(table), True, schema.n_dropped)
        encoded = schema.encoded(table)
        print_schema(schema, encoded.X, scale, console)
        return LoadedTable(encoded, schema.is_all_numbers, schema.n_dropped)


def print_schema(
    schema: FileSchema, sample: NDArray[np.float64], scale: str | None, console: Console
) -> None:
    """Print what each column is read as, what the tree does with it, and what k-means sees."""
    table = schema.table
    is_plain = schema.is_all_numbers and scale in ("auto", "none", "standard")
    if scale is not None and not is_plain:
        views = TablePreparation.of(schema.columns, sample, None, scale).views
        seen = {view.column.source or view.column.name: view.words for view in views}
        plans = tuple(
            replace(plan, becomes=f"{plan.becomes}; k-means sees {seen[plan.name]}")
            if plan.name in seen
            else plan
            for plan in table.plans
        )
        table = replace(table, plans=plans)
    console.note(f"{table}\n")
    if schema.n_dropped:
        console.note(f"Note: {schema.n_dropped:,} rows lack a value and are dropped.")


def read_options(
    columns: str | None,
    exclude: str | None,
    id_column: str | None,
    text: str | None,
    number: str | None,
    date: str | None,
    category: str | None,
    missing: str,
) -> ReadOptions:
    """What the user says about columns; names are separated by commas."""
    texts, numbers, dates, categories = (
        _names(each) or () for each in (text, number, date, category)
    )
    return ReadOptions(
        _names(columns),
        _names(exclude) or (),
        id_column,
        texts,
        numbers,
        dates,
        categories,
        missing,
    )


def _names(columns: str | None) -> list[str] | None:
    return None if columns is None else [name.strip() for name in columns.split(",")]


def check_input(
    path: str | None, clusters: int | None, options: ReadOptions, demo: bool
) -> TableInput:
    """The table that the user asks for: a file, which needs -k, or the demonstration."""
    if demo == (path is not None):
        raise InputError("Give a file to cluster, or --demo.")
    if path is not None and clusters is None:
        raise InputError(
            f"How many clusters? Add -k, for example -k 5; `treemeans choose {path}` helps."
        )
    return TableInput(path, options)


@dataclass(frozen=True)
class ClusterSettings:
    """Limits on clusters, as the parameters of `ExKMC`."""

    min_cluster_size: float | None = None
    max_cluster_size: float | None = None
    balance: dict[str, Any] | None = None
    protected: list[str] | None = None

    @classmethod
    def read(
        cls, least: float | None, most: float | None, balance: list[str], protected: str | None
    ) -> ClusterSettings:
        """From the options of the command line."""
        found: dict[str, Any] = {}
        for each in balance:
            column, value, bounds = _read_balance(each)
            if value is None:
                found[column] = bounds
            elif isinstance(found.setdefault(column, {}), dict):
                found[column][value] = bounds
            else:
                raise InputError(f"--balance names {column!r} both as a whole and by value.")
        return cls(least, most, found or None, _names(protected))

    @property
    def names(self) -> list[str]:
        """The columns that the limits name."""
        return list(dict.fromkeys([*(self.balance or ()), *(self.protected or ())]))

    @property
    def parameters(self) -> dict[str, Any]:
        """Those that are given."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value is not None}

    def groups(self, table: LoadedTable) -> dict[str, Any] | None:
        """The columns of the file that the limits name, also those that are not clustered by."""
        raw = table.encoded.raw
        known = list(getattr(raw, "column_names", ()))
        for name in self.names:
            if name not in known:
                raise InputError(
                    f"The table has no column {quoted(name)}, which --balance or --protected names."
                )
        frame = open_frame(raw)
        return {name: frame[name].to_numpy() for name in self.names} or None


def _read_balance(text: str) -> tuple[str, str | None, tuple[float, float]]:
    """A column, one of its values or None, and the least and largest share."""
    left, _, right = text.rpartition("=")
    least, _, most = right.partition(":")
    try:
        bounds = float(least), float(most)
    except ValueError:
        bounds = None
    if not left or bounds is None:
        raise InputError(
            f"--balance must be like gender=0.3:0.7 or gender:f=0.3:0.7; got {quoted(text)}."
        )
    column, colon, value = left.partition(":")
    return column, value if colon else None, bounds


@dataclass(frozen=True)
class FitSettings:
    """Options of k-means and of the tree."""

    clusters: int
    leaves: int | None
    scale: str
    refine: str = "none"
    round_thresholds: bool = True
    seed: int = 0
    max_categories: int | None = None
    limits: ClusterSettings = field(default_factory=ClusterSettings)

    def __post_init__(self) -> None:
        check_leaves(self.leaves, self.clusters, "-k")


def check_leaves(leaves: int | None, clusters: int, what: str) -> None:
    """Refuse fewer leaves than clusters; ``what`` their number is called."""
    if leaves is not None and leaves < clusters:
        number = f"-k {clusters}" if what == "-k" else f"the {clusters} {what}"
        raise InputError(
            f"--leaves {leaves} is less than {number}; a tree needs a leaf for every cluster."
        )


def fit_model(table: LoadedTable, settings: FitSettings, console: Console) -> ExKMC:
    """Fit a model to a table in memory; its path goes beyond the suggested size, if that is used.

    A refined tree of the suggested size is refined at that size, not pruned from a larger one.
    """
    check_clusters(settings.clusters, table.n_rows)
    is_plain = table.is_all_numbers and settings.scale in ("auto", "none", "standard")
    rows: Any = table.X if is_plain else table.encoded
    reference = None
    if is_plain:
        with console.working("k-means"):
            reference = fit_reference(table.X, settings.clusters, settings.scale, settings.seed)
    groups = settings.limits.groups(table)
    protected = settings.limits.protected or []
    more: dict[str, Any] = {}
    if is_plain and protected:  # the rows have no names
        more["allowed_features"] = [column.name not in protected for column in table.columns]
    if settings.leaves is None and settings.refine != "none":
        grown = _estimator(replace(settings, refine="none"), reference, more=more)
        path = grown.fit(rows, groups=groups).path_
        settings = replace(settings, leaves=suggested_leaves(path))
    model = _estimator(settings, reference, progress=console.shows_progress, more=more)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BadSegmentWarning)  # the rules show them
        model.fit(rows, groups=groups)
    return model.with_columns(columns=table.columns) if is_plain else model


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


def fit_reference(X: NDArray[np.float64], clusters: int, scale: str, seed: int) -> Any:
    """K-means, fitted once for all trees that explain it."""
    return _kmeans_pipeline(len(X), clusters, scale, seed).fit(X)


def check_clusters(clusters: int, n_rows: float = math.inf) -> None:
    """Refuse a number of clusters that cannot be."""
    if clusters < 1:
        raise InputError(f"-k must be at least 1; got {clusters}.")
    if n_rows < clusters:
        raise InputError(f"The table has {n_rows} rows, too few for {clusters} clusters.")


def _kmeans_pipeline(n_rows: int, clusters: int, scale: str, seed: int) -> Any:
    from sklearn.cluster import KMeans
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from treemeans.reference import FastKMeans

    check_clusters(clusters, n_rows)
    if scale not in ("auto", "none", "standard"):
        raise InputError(f"--scale {scale} needs the table in memory; use auto, standard or none.")
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
    table = source.load(console, settings.scale, settings.clusters)
    fitted = _named(fit_model(table, settings, console), outputs.names)
    fitted = fitted.check_segments(table.X, random_state=settings.seed)
    model = _print_and_save(fitted, table, settings, outputs.model, console)
    if outputs.report:
        write_report_file(model, outputs.report, outputs.rows, table.X, source.title, console)


def _run_partitioned(
    source: TableInput, settings: FitSettings, engine: str, outputs: Outputs, console: Console
) -> None:
    """Run the command on a table in parts."""
    from treemeans.cli.fit_large_file import open_large_file
    from treemeans.partitioned.row_summary import SummarizeRows

    assert source.path is not None
    with open_large_file(
        source.path, source.options, dask=engine == "dask", shown=console.shows_progress
    ) as table:
        check_clusters(settings.clusters, table.n_rows)
        console.note(f"{table.schema}\n")
        if not table.is_all_numbers:
            console.note(
                "Note: passes over a file take numbers: a category is a column of 0 and 1 for each "
                "value, standardised as the others; --engine memory cuts by sets of values."
            )
        fitted = _named(fit_partitioned(table, settings, console), outputs.names)
        model = _print_and_save(fitted, table, settings, outputs.model, console)
        if outputs.report:
            sample = table.parts.map_reduce(SummarizeRows(_REPORT_ROWS)).sample
            write_report_file(model, outputs.report, outputs.rows, sample, source.title, console)
            if table.n_rows > _REPORT_ROWS:
                console.note(f"Its histograms are of {_REPORT_ROWS:,} rows, drawn evenly from all.")


def _named(model: ExKMC, names: str | None) -> ExKMC:
    return model if names is None else model.with_names(read_names(names))


def _print_and_save(
    fitted: ExKMC,
    table: LoadedTable | PartitionedTable,
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
    print_path(fitted, suggested, model.n_leaves_, console)
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


def write_report_file(
    model: ExKMC, report: str, rows: int, X: NDArray[np.float64], title: str, console: Console
) -> None:
    """Write the report, and say where it is."""
    from treemeans import write_report
    from treemeans.cli.show_command import report_written

    with console.working("report"):
        write_report(model, report, X, title=title, rows=rows)
    interrupt.wrote(report)
    console.note(report_written(report, rows))


def _first_line(table: LoadedTable | PartitionedTable, settings: FitSettings) -> str:
    how = "on scaled columns; the rules are in your own units"
    if settings.scale == "none":
        how = "on the columns as they are"
    elif table.is_all_numbers and settings.scale in ("auto", "standard"):
        how = "on standardised columns; the rules are in your own units"
    names = {column.source or column.name for column in table.columns}
    return f"{table.n_rows:,} rows and {len(names)} columns, clustered {how}."


def print_path(fitted: ExKMC, suggested: int, n_leaves: int, console: Console) -> None:
    """Print the cost of every size of the tree, the suggested size and the one used marked.

    Costs are left out where they say nothing beside those of the reference.
    """
    path, record = fitted.path_, fitted._fit_result
    marks = {suggested: "<- suggested"}
    if n_leaves != suggested:
        marks[n_leaves] = "<- this tree"
    rows = [
        [
            str(row["n_leaves"]),
            *([f"{row['ratio']:.4f}"] if record.comparable else []),
            f"{row['accuracy']:.1%}",
            marks.get(int(row["n_leaves"]), ""),
        ]
        for row in path
    ]
    marked = int(np.searchsorted(path["n_leaves"], n_leaves))
    called = record.called
    cost = [f"cost / {called}"] if record.comparable else []
    console.table(["leaves", *cost, f"agree with {called}", ""], rows, marked)
    if is_at_the_end(path):
        more = MOST_LEAVES * int(path["n_leaves"][-1])
        console.note(f"The suggestion is the largest tree tried: try --leaves {more} as well.")


def summary(
    model: ExKMC, path: NDArray[np.void], rules: Rules, table: LoadedTable | PartitionedTable
) -> dict[str, Any]:
    """The result of a fit, for JSON; ``path`` is that of all sizes that were grown."""
    return {
        "n_rows": table.n_rows,
        "n_rows_dropped": table.n_dropped,
        "n_leaves": model.n_leaves_,
        "cost": model.inertia_,
        "reference_cost": model.reference_inertia_,
        "suggested_leaves": suggested_leaves(path),
        "path": {
            name: [value if math.isfinite(value) else None for value in path[name].tolist()]
            for name in path.dtype.names or ()
        },
        "rules": rules.to_dict(),
        "schema": [
            {
                "column": plan.name,
                "read_as": plan.read_as,
                "missing": plan.n_missing,
                "becomes": plan.becomes,
            }
            for plan in table.schema.plans
        ],
    }


def _demo_table() -> LoadedTable:
    from sklearn.datasets import load_wine

    wines = load_wine()
    columns = tuple(Column(name.replace("_", " ")) for name in wines.feature_names)
    encoded = EncodedFrame(wines.data, TableSchema((), len(wines.data)), columns, wines.data)
    return LoadedTable(encoded, is_all_numbers=True)
