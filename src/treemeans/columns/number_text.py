"""Numbers as text for people: short, without an exponent, and never misleading."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal

_NOTHING = 1e-9  # a share this small stems from adding up floats


def format_number(number: float) -> str:
    """A number with all its digits, and an exponent only if it is very large or very small.

    Examples
    --------
    >>> format_number(2.0), format_number(1e-05)
    ('2', '0.00001')
    """
    if number == 0:
        return "0"
    text = repr(float(number))
    if "e" in text and 1e-6 <= abs(number) < 1e16:
        text = format(Decimal(text), "f")
    return text.removesuffix(".0")


def format_rounded(number: float) -> str:
    """A number to four significant digits, for means and margins.

    Examples
    --------
    >>> format_rounded(3.14159), format_rounded(1234567.0)
    ('3.142', '1234567')
    """
    if number != 0 and not 1e-4 <= abs(number) < 1e12:
        return f"{number:.4g}"
    digits = max(0, 3 - math.floor(math.log10(abs(number)))) if number else 0
    text = f"{number:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def format_rows(weight: float) -> str:
    """A number of rows, or the sum of their weights.

    Examples
    --------
    >>> format_rows(1.0), format_rows(2.5), format_rows(12345.0)
    ('1 row', '2.5 rows', '12,345 rows')
    """
    text = format_number(round(weight, 2))
    if "e" not in text:
        whole, point, rest = text.partition(".")
        text = f"{int(whole):,}{point}{rest}"
    return f"{text} row{'' if weight == 1 else 's'}"


def percent(share: float) -> str:
    """A share in whole percents; 0 % and 100 % only if it is none or all.

    Examples
    --------
    >>> percent(0.44), percent(0.002), percent(0.9999)
    ('44 %', '<1 %', '>99 %')
    """
    whole = round(100 * share)
    if whole == 0 and share > _NOTHING:
        return "<1 %"
    if whole == 100 and share < 1 - _NOTHING:
        return ">99 %"
    return f"{whole} %"


def finite_or_none(number: float) -> float | None:
    """A number as JSON can hold it: None for NaN and infinity."""
    return number if math.isfinite(number) else None


def aligned(lines: Sequence[Sequence[str]], *, right: bool = False) -> list[str]:
    """Cells in columns, as lines of text; ``right``: all but the first column end at one place.

    Examples
    --------
    >>> aligned([["a", "bcd"], ["ef", "g"]]), aligned([["a", "bcd"], ["ef", "g"]], right=True)
    (['a   bcd', 'ef  g'], ['a   bcd', 'ef    g'])
    """
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if right and j else cell.ljust(width)
            for j, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]


def decimals_to_compare(x: float, y: float) -> int:
    """Decimal places that show three digits of two numbers, and two of their difference.

    Examples
    --------
    >>> decimals_to_compare(0.04147, 0.0000013), decimals_to_compare(1013.25, 1013.34)
    (4, 3)
    """
    wanted = [(max(abs(x), abs(y)), 3), (abs(x - y), 2)]
    known = [(size, digits) for size, digits in wanted if 0 < size < math.inf]
    return max([0, *(digits - 1 - math.floor(math.log10(size)) for size, digits in known)])
