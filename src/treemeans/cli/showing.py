"""``treemeans rules``, ``text``, ``sql``, ``plot``, ``onnx``: a saved model, shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from treemeans.cli.console import Say
from treemeans.cli.outputs import check_free, deliver
from treemeans.files import write_whole
from treemeans.sheets.encode_with import encode_with
from treemeans.sheets.errors import InputError
from treemeans.sheets.read import read_table


def open_model(path: str, leaves: int | None = None) -> Any:
    """The saved model, at a size of its own or the one asked for."""
    from treemeans import load

    model = load(path)
    return model if leaves is None else model.with_leaves(leaves)


def rules(path: str, leaves: int | None, out: str | None, force: bool, say: Say) -> None:
    """The rules of each cluster."""
    found = open_model(path, leaves).rules()
    content = json.dumps(found.to_dict(), ensure_ascii=False) if say.as_json else str(found)
    deliver(content, out, force=force)


def text(path: str, leaves: int | None, out: str | None, force: bool) -> None:
    """The tree as text."""
    from treemeans import export_text

    deliver(export_text(open_model(path, leaves)), out, force=force)


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
    deliver(found, out, force=force)


def plot(path: str, leaves: int | None, out: str, force: bool) -> None:
    """The tree as a picture."""
    from treemeans import plot_tree
    from treemeans.extras import need

    check_free([out], force=force)
    matplotlib = need("matplotlib", "plot")
    matplotlib.use("agg")
    save_figure(plot_tree(open_model(path, leaves)).figure, out)


def save_figure(figure: Any, out: str) -> None:
    """A figure as a file of the kind its name says, written whole or not at all."""
    import io

    suffix = out.rpartition(".")[2].lower()
    if suffix not in ("png", "svg", "pdf"):
        raise InputError(f"A picture is a .png, .svg or .pdf file; not {out}.")
    content = io.BytesIO()
    figure.savefig(content, format=suffix, dpi=150, bbox_inches="tight")
    write_whole(out, content.getvalue())


def onnx(path: str, leaves: int | None, out: str, force: bool) -> None:
    """The tree as an ONNX model."""
    check_free([out], force=force)
    write_whole(out, open_model(path, leaves).to_onnx().SerializeToString())


def report(path: str, data: str | None, out: str, force: bool, say: Say) -> None:
    """A page about the model."""
    from treemeans import write_report

    check_free([out], force=force)
    model, X, title = open_model(path), None, Path(path).stem
    if data is not None:
        X, title = encode_with(read_table(data), model.columns_), Path(data).name
    write_report(model, out, X, title=title, force=True)
    say.aside(f"The report is in {out}.")
