"""Text of the report for people who do not program: ≤ for <=, yes and no for 1 and 0."""

from __future__ import annotations

import re
from dataclasses import replace

from treemeans.columns import Column, Columns, Reader
from treemeans.columns.number_text import percent
from treemeans.tree import ThresholdTree
from treemeans.tree_layout.text_fitting import one_line

_PRINTED = {
    "<=": "\N{LESS-THAN OR EQUAL TO}",
    ">=": "\N{GREATER-THAN OR EQUAL TO}",
    "!=": "\N{NOT EQUAL TO}",
}
_SIGN = re.compile("|".join(_PRINTED))
_PERCENT = "\N{NO-BREAK SPACE}%"
_PLACEHOLDER = re.compile("\0([0-9]+)\0")
_SIGN_IN_TEXT = re.compile(f"(?<= )({_SIGN.pattern})(?= )")
_CLUSTER = re.compile(r"\bcluster(s?)\b")


class ReportText:
    r"""Conditions of a tree as they are printed, whatever the names of columns and categories are.

    Names are data: one may be ``a <= b``. So the conditions are first made with placeholders for
    names, then signs are replaced, and the names, each on one line, are put in last.

    Parameters
    ----------
    tree : ThresholdTree
    columns : tuple of Column

    Attributes
    ----------
    reader : Reader
        Its words hold placeholders; ``printed`` fills them in.

    Examples
    --------
    >>> tree = ThresholdTree([0, -1, -1], [2.5, 0, 0], [1, -1, -1], [2, -1, -1], [0, 0, 1], 1)
    >>> text = ReportText(tree, (Column("a <= b\n", unit="cm"),))
    >>> [text.printed(side) for side in text.reader.sides(0)]
    ['a <= b ≤ 2.5 cm', 'a <= b > 2.5 cm']
    >>> text.split_text(0)
    ('a <= b', '≤ 2.5 cm', '> 2.5 cm')
    """

    def __init__(self, tree: ThresholdTree, columns: Columns) -> None:
        self._placeholders: dict[str, str] = {}
        title = Reader(tree, columns).title  # which quotes names that look like numbers
        columns = tuple(
            self._with_placeholders(column, title(i)) for i, column in enumerate(columns)
        )
        self.reader = Reader(tree, columns)
        self._names = list(map(one_line, self._placeholders))
        flags = [re.escape(column.name) for column in columns if column.kind == "flag"]
        self._flag = re.compile(f"({'|'.join(flags)}) = ([01])") if flags else None

    def printed(self, words: str) -> str:
        """Words of the reader with printed signs and the names filled in."""
        if self._flag is not None:
            words = self._flag.sub(lambda m: f"{m[1]} = {('no', 'yes')[int(m[2])]}", words)
        words = _SIGN.sub(lambda m: _PRINTED[m[0]], words)
        return _PLACEHOLDER.sub(lambda m: self._names[int(m[1])], words)

    def column_name(self, feature: int) -> str:
        """Name of a column; of a one-hot column, that of the column its category comes from."""
        column = self.reader.columns[feature]
        return self.printed(column.source if column.kind == "category" else column.name)

    def split_text(self, node: int) -> tuple[str, str, str]:
        """Name of the column that a node splits, and the conditions to go left and right."""
        column = self.reader.columns[self.reader.tree.feature[node]]
        name = column.source if column.kind == "category" else column.name
        left, right = (side.removeprefix(name).strip() for side in self.reader.sides(node))
        return self.printed(name), self._after_name(name, left), self._after_name(name, right)

    def _after_name(self, name: str, side: str) -> str:
        """The part of a condition after the name."""
        return self.printed(f"{name} {side}").removeprefix(self.printed(name)).strip()

    def _with_placeholders(self, column: Column, title: str) -> Column:
        return replace(
            column,
            name=self._placeholder(title),
            unit=column.unit if column.is_counted_time else self._placeholder(column.unit),
            source=self._placeholder(column.source),
            value=self._placeholder(column.value),
            categories=tuple(map(self._placeholder, column.categories)),
        )

    def _placeholder(self, text: str) -> str:
        """The placeholder of a text; an empty text stays as it is."""
        if not text:
            return text
        return self._placeholders.setdefault(text, f"\0{len(self._placeholders)}\0")


def with_groups(sentence: str) -> str:
    """A sentence of the package in the words of the report, which calls a cluster a group.

    Examples
    --------
    >>> with_groups("ask for fewer clusters")
    'ask for fewer groups'
    """
    return _CLUSTER.sub(r"group\1", sentence)


def with_signs(conditions: str) -> str:
    """Conditions on one line, with their signs as they are printed.

    Examples
    --------
    >>> with_signs("2.5 < age <= 40")
    '2.5 < age ≤ 40'
    """
    return _SIGN_IN_TEXT.sub(lambda sign: _PRINTED[sign[0]], one_line(conditions))


def worse(ratio: float) -> str:
    """How much larger a cost is, in percent, with one decimal place where that is small.

    Examples
    --------
    >>> [worse(ratio).replace("\N{NO-BREAK SPACE}", " ") for ratio in (1.0123, 1.5, 1.00001)]
    ['1.2 %', '50 %', 'less than 0.1 %']
    """
    more = 100 * (ratio - 1)
    if more == float("inf"):
        return "infinitely"
    if more < 0.05:
        return f"less than 0.1{_PERCENT}"
    return f"{more:.1f}{_PERCENT}" if more < 9.95 else f"{more:.0f}{_PERCENT}"


def verdict(ratio: float) -> str:
    """A sentence about how closely a tree follows the original grouping.

    Examples
    --------
    >>> verdict(1.0123).replace("\N{NO-BREAK SPACE}", " ")
    'This tree follows the original grouping almost exactly (1.2 % worse).'
    """
    if ratio < 1 - 5e-5:
        return "This tree groups the rows even more tightly than the original grouping."
    return _follows(ratio, f"{worse(ratio)} worse")


def verdict_on_rows(share: float) -> str:
    """A sentence about how closely a tree follows the original grouping, from the share of rows.

    For references whose costs say nothing.

    Examples
    --------
    >>> verdict_on_rows(0.95).replace("\N{NO-BREAK SPACE}", " ")
    'This tree follows the original grouping closely (5.0 % of the rows differ).'
    """
    return _follows(2.0 - share, f"{worse(2.0 - share)} of the rows differ")


def _follows(ratio: float, by: str) -> str:
    follows = "This tree follows the original grouping"
    if ratio <= 1 + 1e-9:
        return f"{follows} exactly."
    for most, how in ((1.02, "almost exactly"), (1.1, "closely"), (1.3, "roughly")):
        if ratio < most:
            return f"{follows} {how} ({by})."
    return f"{follows} only loosely ({by})."


def agreement(share: float) -> str:
    """A sentence about the share of rows that the tree puts into their original group."""
    return f"{percent(share)} of the rows are in the same group as in the original grouping."
