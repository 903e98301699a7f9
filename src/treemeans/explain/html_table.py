"""Tables for notebooks; every cell is text, whatever it holds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

MOST_ROWS = 20
"""Rows of a table that are shown."""


def html_table(
    caption: str, head: Sequence[str], rows: Iterable[Sequence[Any]], note: str = ""
) -> str:
    """A table with a caption above and a note below; without rows, the caption alone.

    Examples
    --------
    >>> html_table("a < b", ["x"], [["<i>"]])
    '<table><caption>a &lt; b</caption><thead><tr><th>x</th></tr></thead><tbody><tr>\
<td style="text-align:left">&lt;i&gt;</td></tr></tbody></table>'
    """
    rows = list(rows)
    below = f"<p>{escape(note)}</p>" if note else ""
    if not rows:
        return f"<p><b>{escape(caption)}</b></p>{below}"
    titles = "".join(f"<th>{escape(title)}</th>" for title in head)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return (
        f"<table><caption>{escape(caption)}</caption><thead><tr>{titles}</tr></thead>"
        f"<tbody>{body}</tbody></table>{below}"
    )


def _cell(value: Any) -> str:
    return f'<td style="text-align:left">{escape(str(value))}</td>'


def more_rows(n_rows: int) -> str:
    """What is not shown of so many rows."""
    return f"and {n_rows - MOST_ROWS:,} more rows" if n_rows > MOST_ROWS else ""
