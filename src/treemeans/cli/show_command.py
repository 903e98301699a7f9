"""``treemeans rules``, ``text``, ``sql``, ``plot``, ``onnx`` and ``report`` of a saved model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from treemeans.atomic_write import write_whole
from treemeans.cli.console import Console
from treemeans.cli.output_files import check_outputs, print_or_write
from treemeans.files.encode_for_model import encode_for_model
from treemeans.files.file_errors import InputError
from treemeans.files.read_table import read_table


def open_model(path: str, leaves: int | None = None) -> Any:
    """The saved model, with as many leaves as asked for."""
    from treemeans import load

    model = load(path)
    return model if leaves is None else model.with_leaves(leaves)


def rules(path: str, leaves: int | None, out: str | None, force: bool, console: Console) -> None:
    """The rules of each cluster."""
    found = open_model(path, leaves).rules()
    content = json.dumps(found.to_dict(), ensure_ascii=False) if console.as_json else str(found)
    print_or_write(content, out, force=force)


def text(path: str, leaves: int | None, out: str | None, force: bool) -> None:
    """The tree as text."""
    print_or_write(open_model(path, leaves).to_text(), out, force=force)


def sql(
    path: str,
    dialect: str,
    table: str | None,
    form: str,
    one_hot: bool,
    leaves: int | None,
    out: str | None,
    force: bool,
) -> None:
    """The clusters as SQL."""
    model = open_model(path, leaves)
    found = model.to_sql(dialect=dialect, table=table, form=form, one_hot=one_hot)
    if isinstance(found, dict):
        found = "\n\n".join(f"-- cluster {label}\n{query};" for label, query in found.items())
    print_or_write(found, out, force=force)


def plot(path: str, leaves: int | None, out: str, force: bool) -> None:
    """The tree as a picture."""
    from treemeans import plot_tree
    from treemeans.optional_imports import need

    check_outputs([out], force=force)
    matplotlib = need("matplotlib", "plot")
    matplotlib.use("agg")
    save_figure(plot_tree(open_model(path, leaves)).figure, out)


def save_figure(figure: Any, out: str) -> None:
    """Write a figure in the format that the name of the file says."""
    import io

    suffix = out.rpartition(".")[2].lower()
    if suffix not in ("png", "svg", "pdf"):
        raise InputError(f"A picture is a .png, .svg or .pdf file; not {out}.")
    content = io.BytesIO()
    figure.savefig(content, format=suffix, dpi=150, bbox_inches="tight")
    write_whole(out, content.getvalue())


def onnx(path: str, leaves: int | None, out: str, force: bool) -> None:
    """The tree as an ONNX model."""
    check_outputs([out], force=force)
    write_whole(out, open_model(path, leaves).to_onnx().SerializeToString())


def report(path: str, data: str | None, out: str, rows: int, force: bool, console: Console) -> None:
    """A page about the model."""
    from treemeans import write_report

    if rows and data is None:
        raise InputError(f"--rows {rows} puts rows of the table into the report; name its file.")
    check_outputs([out], force=force)
    model, X, title = open_model(path), None, Path(path).stem
    if data is not None:
        X, title = encode_for_model(read_table(data), model.columns_), Path(data).name
    write_report(model, out, X, title=title, rows=rows)
    console.note(report_written(out, rows))


def report_written(out: str, rows: int) -> str:
    """Where a report is, and whether it holds rows of the table, which not everyone may see."""
    contains = f"up to {rows} rows" if rows else "no rows"
    return f"The report is in {out}; it contains {contains} of the table."
