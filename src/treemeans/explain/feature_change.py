"""A change of one feature of a row, in words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np
from numpy.typing import NDArray

from treemeans.columns import Reader
from treemeans.explain.phrases import Plain, plain_value, value_words
from treemeans.explain.smallest_move import CodeMove, Move


@dataclass(frozen=True)
class Change:
    """A feature that changes: a column, or a source of categories.

    Attributes
    ----------
    name : of the column or the source
    old, new : numbers, dates or names of categories; None for no category
    words : the change as an instruction
    """

    name: str
    old: Plain
    new: Plain
    words: str

    def to_dict(self) -> dict[str, float | str | None]:
        """The old and the new value, ready for JSON; dates in ISO format."""
        return {"from": _as_json(self.old), "to": _as_json(self.new)}


def change_of(
    reader: Reader, move: Move, old: NDArray[np.float64], new: NDArray[np.float64]
) -> Change:
    """The change of a feature; ``old`` and ``new`` are the values of its columns."""
    feature = move.features[0]
    column = reader.columns[feature]
    if column.kind == "category":
        return _category_change(reader, move, old, new)
    before, after = float(old[0]), float(new[0])
    verb = "raise" if after > before else "lower"
    if column.is_date:
        verb = "move"
    elif column.kind == "flag" or isinstance(move, CodeMove):
        verb = "change"
    side = (-math.inf, after) if after > before else (math.nextafter(after, math.inf), math.inf)
    was = value_words(reader, feature, before, *side)
    becomes = value_words(reader, feature, after, after, math.nextafter(after, math.inf))
    return Change(
        name=column.name,
        old=plain_value(column, before),
        new=plain_value(column, after),
        words=f"{verb} {column.name} from {was} to {becomes}",
    )


def _category_change(
    reader: Reader, move: Move, old: NDArray[np.float64], new: NDArray[np.float64]
) -> Change:
    source = reader.columns[move.features[0]].source
    before, after = (
        " and ".join(reader.columns[f].value for f in np.array(move.features)[x != 0])
        for x in (old, new)
    )
    complete = reader.columns[move.features[0]].complete
    none = "a category not seen in training" if complete else "none of its categories"
    return Change(
        name=source,
        old=before or None,
        new=after or None,
        words=f"change {source} from {before or none} to {after or none}",
    )


def _as_json(value: Plain) -> float | str | None:
    if isinstance(value, timedelta):
        return str(value)
    return value.isoformat() if isinstance(value, date) else value
