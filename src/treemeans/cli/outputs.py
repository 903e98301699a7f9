"""Files that a command is going to write."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from treemeans.files import write_whole
from treemeans.sheets.errors import InputError, quoted_path


def check_free(paths: Iterable[str | None], *, force: bool) -> None:
    """Refuse, before any work is done, what cannot be written or is not to be replaced."""
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


def deliver(content: str, out: str | None, *, force: bool) -> None:
    """Print a text, or write it to a file."""
    if out is None or out == "-":
        print(content)
        return
    check_free([out], force=force)
    write_whole(out, content + "\n")
