"""Numbers as people write them: separators of thousands, money, percent and units of measure.

A column is read as amounts if every value is a number with one and the same unit, before the number
(``CHF 1'234.50``; only signs and codes of money) or after it (``54 kg``, ``12,5 %``).
"""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
from pyarrow import compute as pc

_CODES = (
    "AED AUD BGN BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP HKD HUF IDR ILS INR JPY KES KRW MXN "
    "MYR NGN NOK NZD PEN PHP PKR PLN QAR RON RUB SAR SEK SGD THB TRY TWD UAH USD VND ZAR"
)
_BEFORE = rf"(?:\p{{Sc}}|[A-Z]{{1,3}}\$|{_CODES.replace(' ', '|')}|Rs\.?|Fr\.?|kr\.?)"
_AFTER = r"(?:[\p{L}\p{Sc}%‰°][^\d\s()+-]{0,11}[23²³]?)"
_DIGITS = r"\d[\d., ']*"
_AMOUNT = rf"^[(]?[+-]? ?(?P<before>{_BEFORE}?) ?[+-]?{_DIGITS}?(?P<after>{_AFTER}?)[)]?$"
# Groups of three digits, and the Indian 12,34,567.
_GROUPED = r"(?:\d{{1,3}}(?:{mark}\d{{3}})+|\d{{1,2}}(?:{mark}\d\d)+{mark}\d{{3}}|\d+)"
_SEPARATED = r"^[+-]?(\d{1,3}([.,' ]\d{3})+|\d{1,2}(,\d\d)+,\d{3}|\d+)([.,]\d+)?$"
_NEGATIVE = r"^\((.*)\)$"  # as accountants write a loss: (1,234.50)
# 1,234,567 or 1,234.5, 12,34,567 and 1'234 can be read in one way only, and so can (1,234).
_EVIDENT = r"\d[.,]\d{3}[.,]\d|\d[ ']\d{3}[.,]\d|\d,\d\d,\d{3}|\d'\d{3}|^\(\d"
_SPACES = "[\u00a0\u2007\u2009\u202f]"  # that do not break a line, as between thousands


def plain_signs(stripped: Any) -> Any:
    """Text with plain spaces, apostrophes and minus signs."""
    found = pc.replace_substring_regex(stripped, _SPACES, " ")
    found = pc.replace_substring(found, "\u2019", "'")
    return pc.replace_substring(found, "\u2212", "-")


def units_of(present: Any) -> set[str]:
    """The units of values, "" for a number without one; empty if a value is no amount.

    Examples
    --------
    >>> units_of(pa.array(["CHF 1'234.50", "CHF 12"])), units_of(pa.array(["54 kg", "C0012"]))
    ({'CHF'}, set())
    """
    fields = _fields(pc.unique(present))
    if fields.null_count:
        return set()
    before, after = (pc.struct_field(fields, name) for name in ("before", "after"))
    if pc.any(pc.and_(pc.not_equal(before, ""), pc.not_equal(after, ""))).as_py():
        return set()
    return {*pc.unique(before).to_pylist(), *pc.unique(after).to_pylist()} - (
        set() if pc.any(pc.and_(pc.equal(before, ""), pc.equal(after, ""))).as_py() else {""}
    )


def count_units(present: Any) -> tuple[dict[str, int], str]:
    """How many values have each unit, "" for none; and the first that is no amount, or nothing.

    Examples
    --------
    >>> count_units(pa.array(["7.1 %", "n/k", "2 %", "3"]))
    ({'%': 2, '': 1}, 'n/k')
    """
    fields = _fields(present)
    before, after = (pc.struct_field(fields, name) for name in ("before", "after"))
    units = pc.binary_join_element_wise(before, after, pa.scalar("", before.type))
    others = pc.filter(present, pc.is_null(units))
    counted = {each["values"]: each["counts"] for each in pc.value_counts(units).to_pylist()}
    counted.pop(None, None)
    return counted, str(others[0].as_py()) if len(others) else ""


def _fields(present: Any) -> Any:
    """What stands before and after the number in each value; null where it is no amount."""
    fields = pc.extract_regex(plain_signs(present), _AMOUNT)
    return fields.combine_chunks() if isinstance(fields, pa.ChunkedArray) else fields


def are_separated(present: Any) -> bool:
    """Whether all values look like numbers, some with separators of thousands."""
    bare = pc.replace_substring_regex(plain_signs(present), _NEGATIVE, r"\1")
    return bool(pc.all(pc.match_substring_regex(bare, _SEPARATED)).as_py())


def are_evident(present: Any) -> bool:
    """Whether a value shows which of its signs separates thousands."""
    with_spaces = pc.match_substring_regex(present, rf"\d{_SPACES}\d{{3}}")
    others = pc.match_substring_regex(plain_signs(present), _EVIDENT)
    return bool(pc.any(pc.or_(with_spaces, others)).as_py())


def parse_amounts(stripped: Any, decimal: str, unit: str = "") -> Any | None:
    """Numbers with or without a unit, a sign of money or percent, and separators of thousands.

    None if a value is no number.

    Examples
    --------
    >>> parse_amounts(pa.array(["€1,271.64", "-3 €", "(12)", None]), ".").to_pylist()
    [1271.64, -3.0, -12.0, None]
    >>> parse_amounts(pa.array(["CHF 1'234.50", "CHF 7"]), ".", "CHF").to_pylist()
    [1234.5, 7.0]
    """
    bare = plain_signs(stripped)
    bare = pc.replace_substring_regex(bare, _NEGATIVE, r"-\1")
    if unit:
        bare = pc.replace_substring_regex(bare, rf"^([+-]?) ?{re.escape(unit)}", r"\1")
        bare = pc.replace_substring_regex(bare, rf"{re.escape(unit)}$", "")
    bare = pc.replace_substring_regex(bare, r"[\p{Sc}%\s]", "")
    comma, point = (",", r"\.") if decimal == "." else (r"\.", ",")
    groups = _GROUPED.format(mark=f"{comma}") + "|" + _GROUPED.format(mark="'")
    if not pc.all(
        pc.match_substring_regex(bare, rf"^[+-]?(?:{groups})(?:{point}\d+)?$"), min_count=0
    ).as_py():
        return None
    bare = pc.replace_substring_regex(bare, rf"{comma}|'", "")
    return pc.cast(pc.replace_substring(bare, ",", "."), pa.float64())
