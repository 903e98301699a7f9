"""Strict JSON: no duplicate keys, no NaN, no lone surrogates."""

from __future__ import annotations

import json
import re
from typing import Any

from treemeans.model_file.checked_entries import UnreadableError

_LONE = re.compile("[\ud800-\udfff]")


def as_text(document: dict[str, Any]) -> str:
    """The document as JSON: an entry a line, a row of a table a line.

    Floats are written with as many digits as it takes to read the same number again.
    """
    try:
        text = _block(document, 0) + "\n"
    except ValueError as error:
        raise UnreadableError("it holds a number that is not finite") from error
    return _LONE.sub(lambda lone: f"\\u{ord(lone[0]):04x}", text)  # what UTF-8 has no bytes for


def _block(value: Any, depth: int) -> str:
    inside, end = "  " * (depth + 1), "\n" + "  " * depth
    if isinstance(value, dict) and value and depth < 2:
        lines = [f"{inside}{_line(key)}: {_block(value[key], depth + 1)}" for key in value]
        return "{\n" + ",\n".join(lines) + end + "}"
    if isinstance(value, list) and value and isinstance(value[0], list | dict):
        return "[\n" + ",\n".join(inside + _line(row) for row in value) + end + "]"
    return _line(value)


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def as_document(data: bytes) -> Any:
    """The value of a JSON text; or UnreadableError."""
    try:
        return json.loads(
            data.decode("utf-8-sig"), object_pairs_hook=_distinct, parse_constant=_no_number
        )
    except UnreadableError:
        raise
    except UnicodeDecodeError as error:
        raise UnreadableError("it is not text in UTF-8") from error
    except json.JSONDecodeError as error:
        raise UnreadableError(
            f"it is not JSON, or was cut off or damaged at line {error.lineno}"
        ) from error
    except RecursionError as error:
        raise UnreadableError("its lists are nested too deeply") from error
    except ValueError as error:  # Python reads no integer of thousands of digits
        raise UnreadableError("it holds a number that is too long") from error


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise UnreadableError(f"it has two entries {name!r} in one place")
        found[name] = value
    return found


def _no_number(name: str) -> Any:
    raise UnreadableError(f"it holds {name}, which is no number")
