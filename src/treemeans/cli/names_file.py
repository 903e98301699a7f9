"""Names of clusters in a file: JSON, as the report saves it, or lines of number and name."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from treemeans.files.file_errors import InputError, quoted_path

_LARGEST = 1 << 20  # bytes
_HEADS = ("cluster", "id", "number")


def read_names(path: str) -> Any:
    r"""Names from a file: a list, or a dict of the number of a cluster to its name.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "names.csv"
    >>> _ = path.write_text("cluster,name\n0,loyal\n2,new\n")
    >>> read_names(str(path))
    {'0': 'loyal', '2': 'new'}
    """
    file = Path(path)
    if file.is_file() and file.stat().st_size > _LARGEST:
        raise InputError(f"{quoted_path(file)} is too large for a file of names.")
    try:
        text = file.read_text(encoding="utf-8-sig").strip()
    except UnicodeDecodeError as error:
        raise _unreadable(file) from error
    if text[:1] in ("{", "["):
        return _from_json(text, file)
    found = {}
    for line in csv.reader(text.splitlines()):
        if not line or line[0].strip().lower() in _HEADS:
            continue
        if len(line) != 2:
            raise _unreadable(file)
        found[line[0].strip()] = line[1].strip()
    if not found:
        raise _unreadable(file)
    return found


def _from_json(text: str, file: Path) -> Any:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _unreadable(file) from error
    if isinstance(found, dict) and isinstance(found.get("cluster_names"), dict | list):
        found = found["cluster_names"]
    names = list(found.values()) if isinstance(found, dict) else found
    if not all(isinstance(name, str) for name in names):
        raise _unreadable(file)
    return found


def _unreadable(file: Path) -> InputError:
    return InputError(
        f"{quoted_path(file)} has no names of clusters; write lines such as 0,loyal customers or "
        'JSON such as {"0": "loyal customers"}.'
    )
