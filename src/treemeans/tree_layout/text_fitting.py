"""Names and conditions cut or wrapped to the room there is in a drawing.

Names are data: they may hold line breaks and control characters, or be longer than the page.
"""

from __future__ import annotations

import re
import unicodedata

from treemeans.tree_layout.shapes import LINE, MUTED, Drawing, Measure, Text, baseline

ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"
_MOST_ACCENTS = 2  # on one letter; more would reach into the line above
_CAPTION_SIZE, _CAPTION_LINES = 0.85, 6  # of the font size; at most
_BIDI_CONTROLS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_BREAKS = re.compile(r"(?<=[ _\-./=:])")  # a long name may go on in the next line after these
# Widths of the letters from " " to "~" in DejaVu Sans, in hundredths of the size.
_ASCII = [
    *(32, 41, 46, 84, 64, 96, 78, 28, 40, 40, 50, 84, 32, 37, 32, 34, 64, 64, 64, 64, 64, 64, 64),
    *(64, 64, 64, 34, 34, 84, 84, 84, 54, 100, 72, 69, 70, 77, 64, 58, 78, 76, 30, 30, 66, 56, 87),
    *(75, 79, 61, 79, 70, 64, 60, 74, 69, 99, 69, 62, 69, 40, 34, 40, 84, 50, 50, 62, 64, 55, 64),
    *(62, 35, 64, 64, 28, 28, 58, 28, 98, 64, 61, 64, 64, 40, 53, 40, 64, 60, 82, 60, 60, 53, 64),
    *(34, 64, 84),
]
_OTHER = 90
_WIDE = 130  # ideographs and pictures
_BOLD = 1.2  # as wide as plain text


def one_line(text: str) -> str:
    r"""The text on one line, without characters that would affect what stands around it.

    Examples
    --------
    >>> one_line(" two\nlines\x07 ")
    'two lines'
    """
    kept: list[str] = []
    n_accents = 0
    for letter in text:
        kind = unicodedata.category(letter)
        n_accents = n_accents + 1 if kind in ("Mn", "Me") else 0
        if kind in ("Cc", "Zl", "Zp"):
            kept.append(" ")
        elif kind == "Cs":
            kept.append("\N{REPLACEMENT CHARACTER}")
        elif letter not in _BIDI_CONTROLS and n_accents <= _MOST_ACCENTS:
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


def estimated_width(words: str, size: float, *, bold: bool = False) -> float:
    """Width of a line of text where no font is available: rather too much than too little.

    Examples
    --------
    >>> estimated_width("cluster 0", 10)
    43.8
    """
    return sum(map(_width, words)) * size * (_BOLD if bold else 1.0) / 100


def _width(letter: str) -> int:
    if unicodedata.combining(letter):
        return 0
    plain = unicodedata.normalize("NFD", letter)[0]
    if " " <= plain <= "~":
        return _ASCII[ord(plain) - ord(" ")]
    return _WIDE if unicodedata.east_asian_width(letter) in "WF" else _OTHER


def add_caption(drawing: Drawing, words: str, margin: float, size: float, measure: Measure) -> None:
    """Write ``words`` below everything in the drawing, which grows by as much."""
    if not words:
        return
    size *= _CAPTION_SIZE
    room = drawing.width - 2 * margin
    for line in wrapped(words, room, _CAPTION_LINES, size, measure):
        y = baseline(drawing.height + size * LINE / 2, size)
        drawing.texts.append(Text(margin, y, line, size, color=MUTED, full=words))
        drawing.height += size * LINE
    drawing.height += margin
