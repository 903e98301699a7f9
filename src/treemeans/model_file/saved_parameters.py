"""Parameters of a model as plain values, as far as they have any."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from treemeans.model_file.checked_entries import Entries, UnreadableError
from treemeans.renamed_parameters import DEPRECATED, RENAMED

_MOST = 2**63
_DEPTH = 2  # lists inside lists: an array of centers
_DICTS = 2  # dicts inside dicts: limits on shares by column and value


@dataclass(frozen=True)
class NotSaved:
    """Placeholder of an object that a file does not hold; using it is an error.

    Examples
    --------
    >>> NotSaved("reference")
    <reference: not in the file>
    """

    what: str

    def __repr__(self) -> str:
        return f"<{self.what}: not in the file>"

    def transform(self, X: Any) -> NoReturn:
        """Refuse to transform: the pipeline that could is not in the file."""
        raise ValueError(
            "This model was loaded from a file, and a file does not hold the reference's pipeline: "
            "ask the model that was saved for distances and scores."
        )


class _NotPlainError(Exception):
    pass


def write_parameters(parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters, and the names of those that have no plain value.

    A deprecated name that was not given is left out.

    Numbers, texts, None, and lists and arrays of them are plain; so are dicts, which are written
    as ``{"pairs": [[key, value], ...]}``, since a key may be a number. Objects are not.
    """
    plain, left_out = {}, []
    for name, value in parameters.items():
        if name in RENAMED and isinstance(value, str) and value == DEPRECATED:
            continue
        try:
            plain[name] = _plain(value, _DEPTH, _DICTS)
        except _NotPlainError:
            left_out.append(name)
    return {"parameters": plain, "left_out": left_out}


def _plain(value: Any, depth: int, dicts: int = 0) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple) and depth > 0:
        return [_plain(item, depth - 1) for item in value]
    if isinstance(value, dict) and dicts > 0:
        return {"pairs": [[_plain(key, 0), _plain(value[key], 1, dicts - 1)] for key in value]}
    if isinstance(value, str):
        return str(value)
    if _is_plain(value):
        return value
    raise _NotPlainError


def _is_plain(value: Any) -> bool:
    if type(value) is float:
        return math.isfinite(value)
    if type(value) is int:
        return abs(value) < _MOST
    return value is None or type(value) in (bool, str)


def read_parameters(entries: Entries, known: list[str]) -> dict[str, Any]:
    """The parameters, each of which must be in ``known``; or UnreadableError."""
    given = entries.take("parameters")
    if type(given) is not dict:
        raise UnreadableError("parameters must be an object")
    left_out = entries.texts("left_out")
    for old in RENAMED.keys() & given.keys():  # files of an older treemeans
        given = given | {RENAMED[old]: given[old]}
        del given[old]
    for name in [*given, *left_out]:
        if name not in known:
            raise UnreadableError(f"the model has no parameter {name!r}")
    found = {name: _value(given[name], name, _DEPTH, _DICTS) for name in given}
    n_jobs = found.get("n_jobs")
    if n_jobs is not None and (type(n_jobs) is not int or n_jobs == 0):
        raise UnreadableError("parameters.n_jobs must be null or a whole number other than 0")
    return found | {name: NotSaved(name) for name in left_out}


def _value(value: Any, name: str, depth: int, dicts: int = 0) -> Any:
    if type(value) is list and depth > 0:
        return [_value(item, name, depth - 1) for item in value]
    if type(value) is dict and dicts > 0:
        return _pairs(value, name, dicts)
    if _is_plain(value):
        return value
    raise UnreadableError(f"parameters.{name} is not a plain value")


def _pairs(value: dict[str, Any], name: str, dicts: int) -> dict[Any, Any]:
    entries = Entries(value, f"parameters.{name}")
    pairs = entries.take("pairs")
    entries.end()
    if type(pairs) is not list or not all(type(pair) is list and len(pair) == 2 for pair in pairs):
        raise UnreadableError(f"parameters.{name}.pairs must be a list of pairs")
    if not all(type(key) in (str, int) for key, _ in pairs):
        raise UnreadableError(f"parameters.{name}.pairs must have names or numbers of columns")
    return {key: _value(item, name, 1, dicts - 1) for key, item in pairs}
