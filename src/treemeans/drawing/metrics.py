"""Widths of words where no font is at hand: those of a wide one, so that words never run over."""

from __future__ import annotations

import unicodedata

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
_BOLD = 1.2


def width_of(words: str, size: float, *, bold: bool = False) -> float:
    """Width of a line of text in any common sans serif font, or somewhat more.

    Examples
    --------
    >>> width_of("cluster 0", 10)
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
