"""What is wrong with a user's file or option, in one sentence."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

_LONGEST = 60  # characters of a name or value in a sentence
_MOST = 8  # names in a sentence


class InputError(Exception):
    """One sentence for the user that says what to do; shown without a traceback."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence[:1].upper() + sentence[1:])


def quoted(text: str) -> str:
    r"""A name or value as it may be shown: in quotes, on one line, not too long.

    Examples
    --------
    >>> print(quoted("two\nlines"))
    'two\nlines'
    """
    return repr(text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "...")


def quoted_path(path: object) -> str:
    """The name of a file as it may be shown; of a long one, the end."""
    text = str(path)
    return repr(text if len(text) <= _LONGEST else "..." + text[3 - _LONGEST :])


def listed(names: Iterable[str]) -> str:
    """Names, one after the other; of many, the first few.

    Examples
    --------
    >>> listed(["age", "income"])
    "'age', 'income'"
    """
    return some(quoted(name) for name in names)


def some(phrases: Iterable[str]) -> str:
    """Phrases, one after the other; of many, the first few."""
    phrases = list(phrases)
    more = len(phrases) - _MOST
    return ", ".join(phrases[:_MOST]) + (f" and {more} more" if more > 0 else "")


def check_names(asked: Iterable[str], known: Sequence[str], where: str) -> None:
    """Refuse names of columns that are not there, with those that are near."""
    unknown = [name for name in asked if name not in set(known)]
    if not unknown:
        return
    near = difflib.get_close_matches(unknown[0], known, n=3, cutoff=0.5)
    advice = f"did you mean {' or '.join(map(quoted, near))}?" if near else _those(known)
    lacking = "There are no columns" if len(unknown) > 1 else "There is no column"
    raise InputError(f"{lacking} {listed(unknown)} in {where}; {advice}")


def check_different(names: Sequence[str], where: str) -> None:
    """Refuse a table in which two columns have the same name."""
    if len(set(names)) < len(names):
        twice = [name for name in dict.fromkeys(names) if list(names).count(name) > 1]
        raise InputError(
            f"{where} has more than one column named {listed(twice)}; give each a name of its own."
        )


def _those(known: Sequence[str]) -> str:
    return f"its columns are {listed(known)}."
