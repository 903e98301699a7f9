"""``treemeans rules``, ``text``, ``sql``, ``plot``, ``onnx`` and ``report`` of a saved model."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from treemeans.atomic_write import write_whole
from treemeans.cli.console import Console
from treemeans.cli.names_file import read_names
from treemeans.cli.output_files import check_outputs, print_or_write
from treemeans.files.file_errors import InputError
from treemeans.files.file_schema import encode_for_model
from treemeans.files.read_table import read_table


@dataclass(frozen=True)
class SavedModel:
    """A model file, and how a command shows it.

    That is a number of leaves, names from a file, and whether conditions list all categories.
    """

    path: str
    leaves: int | None = None
    names: str | None = None
    all_categories: bool = False

    def open(self) -> Any:
        """The model."""
        from treemeans import load

        model = load(self.path)
        if self.leaves is not None:
            model = model.with_leaves(self.leaves)
        if self.all_categories:
            model = model.with_columns(all_categories=True)
        return model if self.names is None else model.with_names(read_names(self.names))


def rules(chosen: SavedModel, out: str | None, force: bool, console: Console) -> None:
    """The rules of each cluster."""
    found = chosen.open().rules()
    content = json.dumps(found.to_dict(), ensure_ascii=False) if console.as_json else str(found)
    print_or_write(content, out, force=force)


def text(chosen: SavedModel, as_names: bool, out: str | None, force: bool) -> None:
    """The tree as text."""
    from treemeans import export_text

    shown = "automatic" if as_names else None
    print_or_write(export_text(chosen.open(), cluster_names=shown), out, force=force)


@dataclass(frozen=True)
class SqlLayout:
    """Options of SQL."""

    dialect: str
    table: str | None
    form: str
    one_hot: bool
    as_names: bool = False


def sql(chosen: SavedModel, layout: SqlLayout, out: str | None, force: bool) -> None:
    """The clusters as SQL."""
    found = chosen.open().to_sql(
        dialect=layout.dialect,
        table=layout.table,
        form=layout.form,
        one_hot=layout.one_hot,
        labels="names" if layout.as_names else None,
    )
    if isinstance(found, dict):
        found = "\n\n".join(f"-- cluster {label}\n{query};" for label, query in found.items())
    print_or_write(found, out, force=force)


def plot(chosen: SavedModel, as_names: bool, out: str, force: bool, console: Console) -> None:
    """The tree as a picture."""
    from treemeans import plot_tree
    from treemeans.optional_imports import need

    check_outputs([out], force=force)
    matplotlib = need("matplotlib", "plot")
    matplotlib.use("agg")
    shown = None if as_names else "numbers"
    save_figure(plot_tree(chosen.open(), cluster_names=shown).figure, out)
    console.note(f"The picture is in {out}.")


def save_figure(figure: Any, out: str) -> None:
    """Write a figure in the format that the name of the file says."""
    import io

    suffix = out.rpartition(".")[2].lower()
    if suffix not in ("png", "svg", "pdf"):
        raise InputError(f"A picture is a .png, .svg or .pdf file; not {out}.")
    content = io.BytesIO()
    figure.savefig(content, format=suffix, dpi=150, bbox_inches="tight")
    write_whole(out, content.getvalue())


def onnx(path: str, leaves: int | None, out: str, force: bool, console: Console) -> None:
    """The tree as an ONNX model."""
    check_outputs([out], force=force)
    write_whole(out, SavedModel(path, leaves).open().to_onnx().SerializeToString())
    console.note(f"The ONNX model is in {out}.")


@dataclass(frozen=True)
class ReportPanels:
    """What a report holds besides the model: rows as examples, stability, other trees."""

    rows: int = 0
    stability: bool = False
    alternatives: bool = False


def report(
    chosen: SavedModel,
    data: str | None,
    out: str,
    panels: ReportPanels,
    force: bool,
    console: Console,
) -> None:
    """A page about the model."""
    from treemeans import write_report

    rows = panels.rows
    if data is None and (panels.stability or panels.alternatives):
        raise InputError("--stability and --alternatives need the table; name its file.")
    if rows and data is None:
        raise InputError(f"--rows {rows} puts rows of the table into the report; name its file.")
    check_outputs([out], force=force)
    model, X, title = chosen.open(), None, Path(chosen.path).stem
    if data is not None:
        X, title = encode_for_model(read_table(data), model.columns_), Path(data).name
    with console.working("report"):
        stability = model.stability(X, verbose=0) if panels.stability else None
        others = model.alternatives(X, verbose=0) if panels.alternatives else None
        write_report(
            model, out, X, title=title, rows=rows, stability=stability, alternatives=others
        )
    console.note(report_written(out, rows))


def report_written(out: str, rows: int) -> str:
    """Where a report is, and whether it holds rows of the table, which not everyone may see."""
    contains = f"up to {rows} rows" if rows else "no rows"
    return f"The report is in {out}; it contains {contains} of the table."
