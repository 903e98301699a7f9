"""Files that a command writes."""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from treemeans.atomic_write import write_whole
from treemeans.files.file_errors import InputError, quoted_path


def check_outputs(paths: Iterable[str | None], *, force: bool) -> None:
    """Refuse, before any work is done, files that cannot be written or would be replaced."""
    named = [Path(path) for path in paths if path is not None]
    if len({path.resolve() for path in named}) < len(named):
        raise InputError("Two outputs have the same name; give each its own.")
    for path in named:
        if path.is_dir():
            raise InputError(f"{quoted_path(path)} is a folder; name a file to write.")
        if not path.parent.is_dir():
            raise InputError(f"There is no folder {quoted_path(path.parent)}; make it first.")
        if path.is_file() and not force:
            raise InputError(f"{quoted_path(path)} exists; use --force to replace it.")


def print_or_write(content: str, out: str | None, *, force: bool) -> None:
    """Print a text, or write it to a file."""
    if out is None or out == "-":
        print(content)
        return
    check_outputs([out], force=force)
    write_whole(out, content + "\n")


def without_window() -> None:
    """Have matplotlib draw to files."""
    from treemeans.optional_imports import need

    need("matplotlib", "plot").use("agg")


def save_figure(figure: Any, out: str) -> None:
    """Write a figure in the format that the name of the file says."""
    suffix = out.rpartition(".")[2].lower()
    if suffix not in ("png", "svg", "pdf"):
        raise InputError(f"A picture is a .png, .svg or .pdf file; not {out}.")
    content = io.BytesIO()
    figure.savefig(content, format=suffix, dpi=150, bbox_inches="tight")
    write_whole(out, content.getvalue())


def report_written(out: str, rows: int) -> str:
    """Where a report is, and whether it holds rows of the table, which not everyone may see."""
    contains = f"up to {rows} rows" if rows else "no rows"
    return f"The report is in {out}; it contains {contains} of the table."
