"""Errors in a user's file or option, with one sentence each."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence

_MAX_LENGTH = 60  # characters of a name or value in a sentence
_MAX_NAMES = 8  # names in a sentence
# Escape sequences begin with these; tabs and line breaks are text.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
CONTROL_BYTES = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\xc2[\x80-\x9f]")
"""Control characters in UTF-8, except the carriage return before a line break."""


class InputError(Exception):
    """One sentence for the user that says what to do; shown without a traceback."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence[:1].upper() + sentence[1:])


def quoted(text: str) -> str:
    r"""A name or value for a sentence: in quotes, on one line, shortened if it is long.

    Examples
    --------
    >>> print(quoted("two\nlines"))
    'two\nlines'
    """
    return repr(text if len(text) <= _MAX_LENGTH else text[: _MAX_LENGTH - 3] + "...")


def quoted_path(path: object) -> str:
    """The name of a file in quotes; of a long name, its end."""
    text = str(path)
    return repr(text if len(text) <= _MAX_LENGTH else "..." + text[3 - _MAX_LENGTH :])


def quoted_list(names: Iterable[str]) -> str:
    """Names in quotes, separated by commas; of many, the first few.

    Examples
    --------
    >>> quoted_list(["age", "income"])
    "'age', 'income'"
    """
    return comma_list(quoted(name) for name in names)


def comma_list(phrases: Iterable[str]) -> str:
    """Phrases separated by commas; of many, the first few."""
    phrases = list(phrases)
    more = len(phrases) - _MAX_NAMES
    return ", ".join(phrases[:_MAX_NAMES]) + (f" and {more} more" if more > 0 else "")


def check_names(asked: Iterable[str], known: Sequence[str], where: str) -> None:
    """Refuse names of columns that do not exist, and suggest similar ones."""
    unknown = [name for name in asked if name not in set(known)]
    if not unknown:
        return
    similar = difflib.get_close_matches(unknown[0], known, n=3, cutoff=0.5)
    advice = f"its columns are {quoted_list(known)}."
    if similar:
        advice = f"did you mean {' or '.join(map(quoted, similar))}?"
    lacking = "There are no columns" if len(unknown) > 1 else "There is no column"
    raise InputError(f"{lacking} {quoted_list(unknown)} in {where}; {advice}")


def check_different(names: Sequence[str], where: str) -> None:
    """Refuse a table in which two columns have the same name."""
    if len(set(names)) < len(names):
        twice = [name for name in dict.fromkeys(names) if list(names).count(name) > 1]
        raise InputError(
            f"{where} has more than one column named {quoted_list(twice)}; give each a different "
            "name."
        )


def without_controls(text: str) -> str:
    r"""Write out control characters, which a terminal would obey.

    Examples
    --------
    >>> without_controls("\x1b[31mred")
    '\\x1b[31mred'
    """
    return _CONTROLS.sub(lambda found: f"\\x{ord(found[0]):02x}", text)
