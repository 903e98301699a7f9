"""Names and conditions as they are written into a picture: one line, no longer than there is room.

Names are data: they may hold line ends, control signs, or be longer than the page.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from treemeans.columns import Reader
from treemeans.drawing.scene import Measure

ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"
_SIGNS = {
    "<=": "\N{LESS-THAN OR EQUAL TO}",
    ">=": "\N{GREATER-THAN OR EQUAL TO}",
    "!=": "\N{NOT EQUAL TO}",
}
_STACKED = 2  # accents on one letter; more would climb into the line above
_TURNING = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_BREAKS = re.compile(r"(?<=[ _\-./=:])")  # a long name may go on in the next line after these


def one_line(text: str) -> str:
    r"""The text without line ends, control signs and what else would leave its place.

    Examples
    --------
    >>> one_line(" two\nlines\x07 ")
    'two lines'
    """
    kept: list[str] = []
    stacked = 0
    for letter in text:
        kind = unicodedata.category(letter)
        stacked = stacked + 1 if kind in ("Mn", "Me") else 0
        if kind in ("Cc", "Zl", "Zp"):
            kept.append(" ")
        elif kind == "Cs":
            kept.append("\N{REPLACEMENT CHARACTER}")
        elif letter not in _TURNING and stacked <= _STACKED:
            kept.append(letter)
    return " ".join("".join(kept).split())


def shortened(text: str, room: float, size: float, measure: Measure, *, bold: bool = False) -> str:
    """The text, with its middle left out if it takes more than ``room``.

    The end of a name often tells more than its middle: a number, a unit.
    """
    if measure(text, size, bold=bold) <= room:
        return text
    fits, too_long = 0, len(text)
    while too_long - fits > 1:
        kept = (fits + too_long) // 2
        if measure(_without_middle(text, kept), size, bold=bold) <= room:
            fits = kept
        else:
            too_long = kept
    return _without_middle(text, fits)


def _without_middle(text: str, kept: int) -> str:
    """``kept`` letters of the text, two thirds of them from its start."""
    tail = kept // 3
    end = text[len(text) - tail :] if tail else ""
    return text[: kept - tail].rstrip() + ELLIPSIS + end.lstrip()


def wrapped(
    text: str, room: float, n_lines: int, size: float, measure: Measure, *, bold: bool = False
) -> list[str]:
    """The text in up to ``n_lines`` lines of width ``room``."""
    lines: list[str] = []
    left = text
    while len(lines) < n_lines - 1 and measure(left, size, bold=bold) > room:
        pieces = _BREAKS.split(left)
        count = 1
        while (
            count < len(pieces)
            and measure("".join(pieces[: count + 1]).rstrip(), size, bold=bold) <= room
        ):
            count += 1
        head = "".join(pieces[:count]).rstrip()
        if count == len(pieces) or measure(head, size, bold=bold) > room:
            break  # one long word
        lines.append(head)
        left = "".join(pieces[count:]).lstrip()
    return [*lines, shortened(left, room, size, measure, bold=bold)]


@dataclass(frozen=True)
class Question:
    """What a cut asks: of which column, and the words to go left and right.

    ``full`` is the condition to go left, with nothing left out.
    """

    name: str
    left: str
    right: str
    full: str


def question(reader: Reader, node: int) -> Question:
    """The cut at a node.

    Examples
    --------
    >>> from treemeans.columns import Column
    >>> from treemeans.tree import ThresholdTree
    >>> tree = ThresholdTree([0, -1, -1], [2.5, 0, 0], [1, -1, -1], [2, -1, -1], [0, 0, 1], 1)
    >>> cut = question(Reader(tree, (Column("visits", "integer"),)), 0)
    >>> cut.name, cut.left, cut.right
    ('visits', '≤ 2', '≥ 3')
    """
    column = reader.columns[reader.tree.feature[node]]
    name = column.source if column.kind == "category" else column.name
    left, right = (_with_signs(side.removeprefix(name).strip()) for side in reader.sides(node))
    name, left, right = one_line(name), one_line(left), one_line(right)
    return Question(name, left, right, f"{name} {left}")


def _with_signs(words: str) -> str:
    """Words that begin with a comparison, with its sign as it is printed."""
    sign, space, rest = words.partition(" ")
    return _SIGNS.get(sign, sign) + space + rest
