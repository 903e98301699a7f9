"""Words for people who write no programs: ≤ for <=, yes and no for 1 and 0."""

from __future__ import annotations

import re
from dataclasses import replace

from treemeans.columns import Column, Columns, Reader
from treemeans.columns.decimals import percent
from treemeans.drawing.labels import one_line
from treemeans.tree import ThresholdTree

_PRINTED = {
    "<=": "\N{LESS-THAN OR EQUAL TO}",
    ">=": "\N{GREATER-THAN OR EQUAL TO}",
    "!=": "\N{NOT EQUAL TO}",
}
_SIGN = re.compile("|".join(_PRINTED))
_PERCENT = "\N{NO-BREAK SPACE}%"
_PLACE = re.compile("\0([0-9]+)\0")


class Wording:
    r"""Puts what a Reader says into print, whatever the names of columns and categories hold.

    Names are data: one may be ``a <= b``. So the reader speaks of numbered places, signs are
    replaced between them, and the names, each on one line, are put in last.

    Parameters
    ----------
    tree : ThresholdTree
    columns : tuple of Column

    Attributes
    ----------
    reader : Reader
        Its words hold places; ``said`` fills them.

    Examples
    --------
    >>> tree = ThresholdTree([0, -1, -1], [2.5, 0, 0], [1, -1, -1], [2, -1, -1], [0, 0, 1], 1)
    >>> wording = Wording(tree, (Column("a <= b\n", unit="cm"),))
    >>> [wording.said(side) for side in wording.reader.sides(0)]
    ['a <= b ≤ 2.5 cm', 'a <= b > 2.5 cm']
    >>> wording.question(0)
    ('a <= b', '≤ 2.5 cm', '> 2.5 cm')
    """

    def __init__(self, tree: ThresholdTree, columns: Columns) -> None:
        self._places: dict[str, str] = {}
        title = Reader(tree, columns).title  # which quotes names that look like numbers
        masked = tuple(self._masked(column, title(i)) for i, column in enumerate(columns))
        self.reader = Reader(tree, masked)
        self._names = list(map(one_line, self._places))
        flags = [re.escape(column.name) for column in masked if column.kind == "flag"]
        self._flag = re.compile(f"({'|'.join(flags)}) = ([01])") if flags else None

    def said(self, words: str) -> str:
        """Words of the reader as they are printed."""
        if self._flag is not None:
            words = self._flag.sub(lambda m: f"{m[1]} = {('no', 'yes')[int(m[2])]}", words)
        words = _SIGN.sub(lambda m: _PRINTED[m[0]], words)
        return _PLACE.sub(lambda m: self._names[int(m[1])], words)

    def name(self, feature: int) -> str:
        """What a row has one value of: the column, or the source of its category."""
        column = self.reader.columns[feature]
        return self.said(column.source if column.kind == "category" else column.name)

    def question(self, node: int) -> tuple[str, str, str]:
        """What a cut asks about, and the words to go left and right."""
        column = self.reader.columns[self.reader.tree.feature[node]]
        name = column.source if column.kind == "category" else column.name
        left, right = (side.removeprefix(name).strip() for side in self.reader.sides(node))
        return self.said(name), self._of(name, left), self._of(name, right)

    def _of(self, name: str, side: str) -> str:
        """What follows a name in a condition."""
        return self.said(f"{name} {side}").removeprefix(self.said(name)).strip()

    def _masked(self, column: Column, title: str) -> Column:
        return replace(
            column,
            name=self._place(title),
            unit=column.unit if column.is_date else self._place(column.unit),
            source=self._place(column.source),
            value=self._place(column.value),
        )

    def _place(self, text: str) -> str:
        """A place to put a text in; the same text always has the same. An empty one needs none."""
        if not text:
            return text
        return self._places.setdefault(text, f"\0{len(self._places)}\0")


def worse(ratio: float) -> str:
    """How much larger a cost is, in percent: one digit behind the point where it is small.

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
    """How close a tree comes to the grouping it explains, in a sentence.

    Examples
    --------
    >>> verdict(1.0123).replace("\N{NO-BREAK SPACE}", " ")
    'This tree follows the original grouping almost exactly (1.2 % worse).'
    """
    follows = "This tree follows the original grouping"
    if ratio < 1 - 5e-5:
        return "This tree groups the rows even more tightly than the original grouping."
    if ratio <= 1 + 1e-9:
        return f"{follows} exactly."
    for most, how in ((1.02, "almost exactly"), (1.1, "closely"), (1.3, "roughly")):
        if ratio < most:
            return f"{follows} {how} ({worse(ratio)} worse)."
    return f"{follows} only loosely ({worse(ratio)} worse)."


def same_group(share: float) -> str:
    """How many rows are where they were, in a sentence."""
    return f"{percent(share)} of the rows are in the same group as in the original grouping."
