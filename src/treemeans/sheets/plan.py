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
from treemeans.sheets.looks import Wish
from treemeans.sheets.values import Floats, kind_of

Batches = Callable[[list[str]], Iterator[pa.RecordBatch]]


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
            (batch,) = _present([batch], self.needed)
        return encode_with(batch, self.columns, first_row=first_row)


def plan(
    batches: Batches,
    schema: pa.Schema,
    n_rows: int,
    *,
    columns: Sequence[str] | None = None,
    id: str | None = None,  # noqa: A002
    missing: str = "refuse",
) -> Plan:
    """Go through a table, more than once if values are missing, and decide as ``encode`` would.

    Parameters
    ----------
    batches : gives the columns it is asked for from the first row on, some rows at a time
    schema, n_rows : of the table
    columns, id, missing
        As for ``encode``; but there is no median without the whole column.

    Examples
    --------
    >>> table = pa.table({"age": [31, 42, None], "color": ["red", "blue", "red"]})
    >>> batches = lambda names: iter(table.select(names).to_batches(max_chunksize=1))
    >>> found = plan(batches, table.schema, table.num_rows, missing="drop")
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
    names = names_to_use(schema.names, n_rows, columns, id)
    wish = Wish(asked=columns is not None, fill=False, decimal=".")
    gathered = _gathered(batches(names), schema, names)
    looks = {name: each.look(wish) for name, each in gathered.items()}
    lacking = {name: each.n_missing for name, each in gathered.items() if looks[name].used}
    lacking = {name: count for name, count in lacking.items() if count}
    needed: Columns = ()
    dropped = 0
    if lacking:
        needed = tuple(c for name in lacking for c in looks[name].columns)
        dropped = sum(int(absent(each, needed).sum()) for each in batches(list(lacking)))
        if missing == "refuse" or dropped == n_rows:
            raise refused(lacking, dropped, n_rows)
        used = [name for name, look in looks.items() if look.used]
        # Some values may be gone, and what is left be the same in all rows.
        rest = _gathered(_present(batches(used), needed), schema, used)
        looks |= {name: each.look(wish) for name, each in rest.items()}
    described = described_by(list(looks.values()), schema.names)
    notes = [look.note for look in looks.values() if look.note]
    kinds = {kind_of(schema.field(name).type) for name, look in looks.items() if look.used}
    plain = not needed and kinds <= {"flag", "integer", "number"}
    return Plan(described, needed, n_rows - dropped, dropped, plain, notes)


def _present(batches: Iterable[pa.RecordBatch], needed: Columns) -> Iterator[pa.RecordBatch]:
    """The rows that lack nothing."""
    for batch in batches:
        yield batch.filter(pa.array(~absent(batch, needed)))


def _gathered(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, names: Sequence[str]
) -> dict[str, Gathered]:
    """What the columns hold."""
    gathered = {name: Gathered(name, schema.field(name).type) for name in names}
    for batch in batches:
        for name, each in gathered.items():
            each.add(batch.column(name))
    return gathered
