"""How to make numbers of a table that comes some rows at a time: found in a pass over it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from treemeans.columns import Columns
from treemeans.sheets.encode import check_missing, described_by, names_to_use, refused
from treemeans.sheets.encode_with import absent, encode_with, sources
from treemeans.sheets.errors import InputError
from treemeans.sheets.gather import Gathered
from treemeans.sheets.looks import Look, Wish
from treemeans.sheets.read import decimal_mark
from treemeans.sheets.values import Floats, kind_of

Batches = Callable[[], Iterator[pa.RecordBatch]]


@dataclass(frozen=True)
class Plan:
    """What ``encode`` would do with the whole table.

    Attributes
    ----------
    columns : what is known of the columns of X
    needed : rows that lack a value in one of these are left out; empty where none are
    n_rows : that X has
    dropped : rows that are left out
    plain : whether X holds columns of the table, in their order, as they are
    notes : sentences for the user about what was left out or taken for something
    """

    columns: Columns
    needed: Columns
    n_rows: int
    dropped: int
    plain: bool
    notes: list[str] = field(default_factory=list)

    @property
    def reads(self) -> list[str]:
        """The columns of the table that are needed."""
        both = (*self.columns, *self.needed)
        plain = [column.name for column in both if column.kind != "category"]
        return list(dict.fromkeys([*plain, *sources(both)]))

    def encode(self, batch: pa.RecordBatch, first_row: int = 1) -> Floats:
        """Some rows as numbers."""
        if self.needed:
            batch = batch.filter(pa.array(~absent(batch, self.needed)))
        return encode_with(batch, self.columns, first_row=first_row)


def plan(
    batches: Batches,
    *,
    columns: Sequence[str] | None = None,
    id: str | None = None,  # noqa: A002
    missing: str = "refuse",
) -> Plan:
    """Go through a table, twice if rows are to be left out, and decide as ``encode`` would.

    Parameters
    ----------
    batches : gives the table from the start, some rows at a time
    columns, id, missing
        As for ``encode``; but there is no median without the whole column.

    Examples
    --------
    >>> table = pa.table({"age": [31, 42, None], "color": ["red", "blue", "red"]})
    >>> found = plan(lambda: iter(table.to_batches(max_chunksize=1)), missing="drop")
    >>> [column.name for column in found.columns], found.n_rows, found.dropped
    (['age', 'color=blue', 'color=red'], 2, 1)
    >>> found.encode(table.to_batches()[0])
    array([[31.,  0.,  1.],
           [42.,  1.,  0.]])
    """
    check_missing(missing)
    if missing == "median":
        raise InputError(
            "--missing median needs the whole table in memory; use --missing drop, "
            "or --engine memory."
        )
    first = next(batches(), None)
    if first is None:
        raise InputError("The table has no rows; there must be some.")
    names = names_to_use(first, columns, id)
    wish = Wish(columns is not None, False, decimal_mark(first))
    gathered, n_rows = _gathered(batches(), names, wish)
    looks = {name: each.look(wish) for name, each in gathered.items()}
    needed: Columns = ()
    dropped = 0
    lacking = {n: each.n_missing for n, each in gathered.items() if looks[n].used}
    lacking = {name: count for name, count in lacking.items() if count}
    if lacking:
        needed = tuple(c for look in looks.values() if look.name in lacking for c in look.columns)
        dropped = sum(int(absent(batch, needed).sum()) for batch in batches())
        if missing == "refuse" or dropped == n_rows:
            raise refused(lacking, dropped, n_rows)
        looks |= _looked_at_rest(batches(), looks, needed, wish)
    described = described_by(list(looks.values()), first.schema.names)
    notes = [look.note for look in looks.values() if look.note]
    kinds = [kind_of(first.schema.field(name).type) for name, look in looks.items() if look.used]
    plain = not needed and set(kinds) <= {"flag", "integer", "number"}
    return Plan(described, needed, n_rows - dropped, dropped, plain, notes)


def _gathered(
    batches: Iterable[pa.RecordBatch], names: Sequence[str], wish: Wish
) -> tuple[dict[str, Gathered], int]:
    """What the columns hold, and how many rows there are."""
    gathered: dict[str, Gathered] = {}
    n_rows = 0
    for batch in batches:
        for name in names:
            values = batch.column(name)
            gathered.setdefault(name, Gathered(name, values.type, wish.decimal)).add(values)
        n_rows += batch.num_rows
    return gathered, n_rows


def _looked_at_rest(
    batches: Iterator[pa.RecordBatch], looks: dict[str, Look], needed: Columns, wish: Wish
) -> dict[str, Look]:
    """Looks at the rows that are kept: some values may be gone, and a column be constant now."""
    kept = (batch.filter(pa.array(~absent(batch, needed))) for batch in batches)
    used = [name for name, look in looks.items() if look.used]
    gathered, _ = _gathered(kept, used, wish)
    return {name: each.look(wish) for name, each in gathered.items()}
