"""What is known of a column of X beyond its numbers."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from treemeans.columns.dates import PER_DAY

KINDS = ("number", "integer", "flag", "date", "time", "category")
_SEPARATORS = ("=", "_")


@dataclass(frozen=True)
class Column:
    """A column of X, as a person reads it.

    Parameters
    ----------
    name : str
    kind : str
        ``"number"``; ``"integer"``; ``"flag"`` (0 or 1); ``"date"`` (whole days since 1970) and
        ``"time"`` (counted from 1970 in ``unit``); ``"category"`` (1 where ``source`` is
        ``value``, else 0).
    unit : str
        Of a number, what to write after it; of a date, what is counted: D, h, m, s, ms, us or ns.
    source, value : str
        Of a category.
    complete : bool
        Of a category: every row is in one of the categories of ``source`` that have a column.
    typed : bool
        Of a date: X holds dates, not their numbers.
    missing : float, optional
        The number that stands in where there is no value.

    Examples
    --------
    >>> Column("color_red", "category", source="color", value="red").title
    'color = red'
    """

    name: str
    kind: str = "number"
    unit: str = ""
    source: str = ""
    value: str = ""
    complete: bool = False
    typed: bool = False
    missing: float | None = None

    def __post_init__(self) -> None:
        texts = (self.name, self.kind, self.unit, self.source, self.value)
        flags = (self.complete, self.typed)
        if not all(isinstance(t, str) for t in texts) or not all(
            isinstance(f, bool) for f in flags
        ):
            raise ValueError(f"A column is described by text; got {texts!r}.")
        if self.kind not in KINDS:
            raise ValueError(f"A column is of a kind in {', '.join(KINDS)}; got {self.kind!r}.")
        if self.is_date and self.unit not in PER_DAY:
            raise ValueError(
                f"Dates are counted in one of {', '.join(PER_DAY)}; {self.name!r} in {self.unit!r}."
            )
        if self.missing is not None and not _is_finite(self.missing):
            raise ValueError(
                f"What stands in for a missing value of {self.name!r} must be a finite number, or "
                f"None; got {self.missing!r}."
            )

    @property
    def is_date(self) -> bool:
        """Whether its numbers stand for dates."""
        return self.kind in ("date", "time")

    @property
    def title(self) -> str:
        """What to call it where there is no condition on it."""
        return f"{self.source} = {self.value}" if self.kind == "category" else self.name


Columns = tuple[Column, ...]


def _is_finite(number: Any) -> bool:
    is_number = isinstance(number, int | float) and not isinstance(number, bool)
    return is_number and abs(number) <= sys.float_info.max


def plain_columns(n_features: int, names: Iterable[Any] | None = None) -> Columns:
    """Numbers, called by ``names`` or x0, x1, ..."""
    if names is None:
        return tuple(Column(f"x{i}") for i in range(n_features))
    columns = tuple(Column(str(name)) for name in names)
    if len(columns) != n_features:
        raise ValueError(f"The tree has {n_features} columns, but {len(columns)} names were given.")
    return columns


def described(
    columns: Columns,
    names: Sequence[str] | None = None,
    units: Mapping[Any, str] | None = None,
    dates: Mapping[Any, str] | None = None,
    categories: Iterable[str] | Mapping[str, Mapping[Any, Any]] | None = None,
) -> Columns:
    """The columns, with what the user says of some of them. ``ExKMC.with_columns`` explains."""
    if names is not None:
        renamed = plain_columns(len(columns), names)
        columns = tuple(
            replace(column, name=new.name) for column, new in zip(columns, renamed, strict=True)
        )
    changed = list(columns)
    for key, unit in (units or {}).items():
        i = position(columns, key)
        changed[i] = replace(changed[i], unit=str(unit))
    for key, counted in (dates or {}).items():
        i = position(columns, key)
        whole_days = counted == "D" and columns[i].kind != "number"
        changed[i] = Column(
            columns[i].name,
            "date" if whole_days else "time",
            str(counted),
            missing=columns[i].missing,
        )
    for source, members in _members(columns, categories).items():
        for i, value in members.items():
            changed[i] = Column(
                columns[i].name,
                "category",
                source=source,
                value=value,
                missing=columns[i].missing,
            )
    return tuple(changed)


def position(columns: Columns, key: Any) -> int:
    """Where a column stands that is given by name or number."""
    found = [i for i, column in enumerate(columns) if column.name == key]
    if not found and isinstance(key, int) and 0 <= key < len(columns):
        found = [key]
    if not found:
        raise ValueError(f"There is no column {key!r}.")
    return found[0]


def split_name(name: str, prefix: str) -> str | None:
    """The category in a name made of ``prefix``, a separator and the category."""
    for separator in _SEPARATORS:
        start = prefix + separator
        if name.startswith(start) and len(name) > len(start):
            return name[len(start) :]
    return None


def prefixes(name: str) -> list[str]:
    """What may stand before the separator in the name of a one-hot column."""
    return [name[:i] for i, letter in enumerate(name) if i and letter in _SEPARATORS]


def _members(columns: Columns, categories: Any) -> dict[str, dict[int, str]]:
    """For each source, its columns and the category each stands for."""
    if categories is None:
        return {}
    if isinstance(categories, str):
        categories = [categories]
    found: dict[str, dict[int, str]] = {}
    for source in categories:
        if isinstance(categories, Mapping):
            given = categories[source]
            found[source] = {position(columns, key): str(given[key]) for key in given}
        else:
            values = {i: split_name(c.name, source) for i, c in enumerate(columns)}
            found[source] = {i: value for i, value in values.items() if value is not None}
        if not found[source]:
            raise ValueError(f"No column is named like a category of {source!r}.")
    return found
