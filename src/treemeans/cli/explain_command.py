"""`treemeans explain`: rules, SQL and a report of clusters that a column of the table holds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from treemeans.cli import interrupt
from treemeans.cli.console import Console
from treemeans.cli.fit_command import Outputs
from treemeans.cli.fit_output import print_path, summary, write_report_file
from treemeans.cli.fit_settings import check_leaves
from treemeans.cli.load_table import LoadedTable, TableInput
from treemeans.cli.output_files import check_outputs, print_or_write
from treemeans.columns.number_text import format_rows
from treemeans.estimator import ExKMC
from treemeans.explain.suggest_leaves import suggested_leaves
from treemeans.files.file_errors import InputError
from treemeans.files.read_table import read_table

_MOST_LEAVES = 4  # leaves for each group, up to which a suggested size is looked for
_NO_LABEL = ("", "-1", "nan", "null", "none", "na")  # texts of a file that stand for no group


@dataclass(frozen=True)
class ExplainSettings:
    """Which groups to explain, and how."""

    labels: str
    leaves: int | None
    cost: str
    noise: str
    refine: str
    round_thresholds: bool
    dialect: str


def run(
    source: TableInput,
    settings: ExplainSettings,
    files: Outputs,
    sql: str | None,
    force: bool,
    console: Console,
) -> None:
    """Explain the groups of a column, print their rules and SQL, write a report."""
    check_outputs([files.model, files.report, sql], force=force)
    if source.options.missing == "drop":
        raise InputError("--missing drop would drop rows that have a label; use keep or median.")
    labels = read_labels_column(source.path, settings.labels)
    options = replace(source.options, exclude=(*source.options.exclude, settings.labels))
    table = replace(source, options=options).load(console, scale=None)
    fitted = fit_labels(table, labels, settings, console.shows_progress)
    suggested = suggested_leaves(fitted.path_)
    model = fitted if settings.leaves else fitted.with_leaves(suggested)
    rules = model.rules()
    groups = len(model.cluster_names_)
    without = sum(map(_is_noise, labels)) if settings.noise == "ignore" else 0
    left_out = f", of which {without:,} without a label are left out" if without else ""
    rows = f"{format_rows(table.schema.n_rows)}{left_out}"
    console.print(f"{rows}; {groups} groups of the column {settings.labels!r}.")
    console.print(f"\n{rules}\n")
    print_path(fitted, suggested, model.n_leaves_, console)
    query = model.to_sql(dialect=settings.dialect, labels="names")
    console.print_json(lambda: summary(model, fitted.path_, rules, table.schema) | {"sql": query})
    if sql is not None:
        print_or_write(str(query), sql, force=True)
        interrupt.wrote(sql)
        console.note(f"The SQL is in {sql}.")
    else:
        console.print(f"\n{query}\n")
    if files.model:
        model.save(files.model)
        interrupt.wrote(files.model)
        console.note(f"The model is in {files.model}.")
    if files.report is not None:
        write_report_file(model, files.report, files.rows, table.X, source.title, console)


def outputs(path: str, labels: str, model: str | None, report: str | None, rows: int) -> Outputs:
    """Files to write: the report is named after the table and the column unless the user says."""
    if report is None:
        safe = "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in labels)
        report = f"{Path(path).stem}_{safe}.html"
    return Outputs(model, None if report == "none" else report, rows)


def read_labels_column(path: str, name: str) -> list[Any]:
    """The column of labels as values; None where there is none."""
    if path == "-":
        raise InputError("The table is read twice, for its labels too; give a file.")
    names = read_table(path).schema.names
    if name not in names:
        shown = ", ".join(map(repr, names[:12]))
        raise InputError(f"There is no column {name!r} for --labels; the table has {shown}.")
    return [_label(value) for value in read_table(path, [name]).column(0).to_pylist()]


def _label(value: Any) -> Any:
    """A label; texts of a file that stand for nothing are None."""
    if isinstance(value, str):
        text = value.strip()
        return None if text.lower() in _NO_LABEL else text
    return value


def _is_noise(label: Any) -> bool:
    return label is None or label == -1


def fit_labels(
    table: LoadedTable, labels: list[Any], settings: ExplainSettings, progress: bool
) -> ExKMC:
    """The tree that explains the labels; its path goes beyond the suggested size."""
    n_groups = len({label for label in labels if not _is_noise(label)})
    check_leaves(settings.leaves, n_groups, f"groups of {settings.labels}")
    model = ExKMC(
        None,
        max_leaf_nodes=settings.leaves or _MOST_LEAVES * max(n_groups, 2),
        reference=labels,
        cost=settings.cost,
        noise=settings.noise,
        refine=settings.refine,
        round_thresholds=settings.round_thresholds,
        random_state=0,
        n_jobs=-1,
        verbose=int(progress),
    )
    try:
        if table.schema.is_all_numbers:
            return model.fit(table.X).with_columns(columns=table.schema.columns)
        return model.fit(table.encoded)
    except ValueError as error:
        if str(error).startswith("reference "):
            words = str(error).removeprefix("reference ")
            raise InputError(f"The column {settings.labels!r} {words}") from error
        raise
