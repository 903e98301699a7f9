"""The description of a column of X: what its numbers stand for."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from treemeans.columns.dates import DATE_FORMATS, PER_DAY

KINDS = ("number", "integer", "flag", "date", "time", "duration", "category", "codes")
_SEPARATORS = ("=", "_")


@dataclass(frozen=True)
class Column:
    """A column of X: its name, and what its numbers stand for.

    Parameters
    ----------
    name : str
    kind : str
        ``"number"``; ``"integer"``; ``"flag"`` (0 or 1); ``"date"`` (whole days since 1970) and
        ``"time"`` (counted from 1970 in ``unit``); ``"duration"`` (counted in ``unit``);
        ``"category"`` (1 where ``source`` is ``value``, else 0); ``"codes"`` (0, 1, 2, ... for the
        categories of the column itself).
    unit : str
        Text to write after a number; for dates and durations, what is counted: D, h, m, s, ms, us
        or ns.
    source, value : str
        For a category: the column of the user's table, and the value in it.
    complete : bool
        For a category: every row has one of the categories of ``source`` that have a column.
    typed : bool
        The user's table holds dates, durations or booleans, of which X holds the numbers.
    missing : float, optional
        The number that replaces a missing value.
    categories : tuple of str
        For codes: the category that each stands for, code 0 first; empty if they have no names.
    low, high : float, optional
        For whole numbers: the smallest and the largest value of the training rows, where a split
        has that value alone on a side, which then reads as ``language = 1``.
    lists_all : bool
        For codes and categories: whether conditions list all categories of a set, and not only
        the first few of many.
    date_format : str
        For dates: how files write them, such as ``"day.month.year"``; empty for YYYY-MM-DD.
    zoned : bool
        For dates: the user's table holds them with a time zone; X holds them in UTC.
    decimal : str
        For numbers: the mark before decimals in files of text, a point or a comma; empty for that
        of the file.

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
    categories: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    lists_all: bool = False
    date_format: str = ""
    zoned: bool = False
    decimal: str = ""

    def __post_init__(self) -> None:
        # Spelled out, not looped over: a fit makes a Column for every column of X.
        if not (
            isinstance(self.name, str)
            and isinstance(self.kind, str)
            and isinstance(self.unit, str)
            and isinstance(self.source, str)
            and isinstance(self.value, str)
            and isinstance(self.complete, bool)
            and isinstance(self.typed, bool)
            and isinstance(self.lists_all, bool)
            and isinstance(self.zoned, bool)
        ):
            texts = (self.name, self.kind, self.unit, self.source, self.value)
            raise ValueError(f"A column is described by text; got {texts!r}.")
        if self.kind not in KINDS:
            raise ValueError(f"A column is of a kind in {', '.join(KINDS)}; got {self.kind!r}.")
        if self.is_counted_time and self.unit not in PER_DAY:
            what = "Dates" if self.is_date else "Durations"
            raise ValueError(
                f"{what} are counted in one of {', '.join(PER_DAY)}; {self.name!r} in "
                f"{self.unit!r}."
            )
        if self.date_format and not (self.is_date and self.date_format in DATE_FORMATS):
            raise ValueError(
                f"Dates are written in one of {', '.join(DATE_FORMATS)}; {self.name!r} in "
                f"{self.date_format!r}."
            )
        if self.decimal not in ("", ".", ","):
            raise ValueError(
                f"Decimals are written with a point or a comma; {self.name!r} with "
                f"{self.decimal!r}."
            )
        if not isinstance(self.categories, tuple) or not all(
            isinstance(category, str) for category in self.categories
        ):
            raise ValueError(
                f"The categories of a column must be a tuple of texts; {self.name!r} has "
                f"{self.categories!r}."
            )
        if self.categories and self.kind != "codes":
            raise ValueError(
                f"Only a column of codes has a list of categories; {self.name!r} is of the kind "
                f"{self.kind!r}."
            )
        if len(set(self.categories)) < len(self.categories):
            raise ValueError(f"The categories of {self.name!r} must differ from each other.")
        if not (self.missing is None or _is_finite(self.missing)):
            raise ValueError(
                f"The replacement of missing values of {self.name!r} must be a finite number, or "
                f"None; got {self.missing!r}."
            )
        for end in (self.low, self.high):
            if not (end is None or _is_finite(end)):
                raise ValueError(
                    f"The range of {self.name!r} must be finite numbers, or None; got {end!r}."
                )

    @property
    def is_date(self) -> bool:
        """Whether its numbers stand for dates."""
        return self.kind in ("date", "time")

    @property
    def is_counted_time(self) -> bool:
        """Whether its numbers stand for dates or durations, counted in ``unit``."""
        return self.is_date or self.kind == "duration"

    @property
    def is_boolean(self) -> bool:
        """Whether the user's table holds true and false, of which X holds 1 and 0."""
        return self.typed and self.kind in ("flag", "category")

    @property
    def has_number_names(self) -> bool:
        """Whether its categories are named by numbers, so that a number is the name of one."""
        return bool(self.categories) and all(map(_is_number_text, self.categories))

    def category(self, code: float) -> str:
        """Name of the category that a code stands for; the code itself where it has none."""
        known = float(code).is_integer() and 0 <= code < len(self.categories)
        return self.categories[int(code)] if known else f"{code:g}"

    @property
    def title(self) -> str:
        """Name of the column where there is no condition on it."""
        return f"{self.source} = {self.value}" if self.kind == "category" else self.name


Columns = tuple[Column, ...]


def _is_finite(number: Any) -> bool:
    is_number = isinstance(number, int | float) and not isinstance(number, bool)
    return is_number and abs(number) <= sys.float_info.max


def plain_columns(n_features: int, names: Iterable[Any] | None = None) -> Columns:
    """Columns of numbers, named ``names`` or x0, x1, ..."""
    if names is None:
        return _numbered_columns(n_features)
    columns = tuple(Column(str(name)) for name in names)
    if len(columns) != n_features:
        raise ValueError(f"The tree has {n_features} columns, but {len(columns)} names were given.")
    return columns


@lru_cache(maxsize=4)  # a fit asks twice, and so do the fits that follow it
def _numbered_columns(n_features: int) -> Columns:
    return tuple(Column(f"x{i}") for i in range(n_features))


def describe_columns(
    columns: Columns,
    names: Sequence[str] | None = None,
    units: Mapping[Any, str] | None = None,
    dates: Mapping[Any, str] | None = None,
    categories: Iterable[str] | Mapping[str, Mapping[Any, Any]] | None = None,
    all_categories: bool | None = None,
) -> Columns:
    """The columns, changed as a user describes them with ``ExKMC.with_columns``."""
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
                typed=columns[i].is_boolean,
                missing=columns[i].missing,
            )
    if all_categories is not None:
        changed = [replace(column, lists_all=bool(all_categories)) for column in changed]
    return tuple(changed)


def position(columns: Columns, key: Any) -> int:
    """Position of a column that is given by name or number."""
    found = [i for i, column in enumerate(columns) if column.name == key]
    if not found and isinstance(key, int) and 0 <= key < len(columns):
        found = [key]
    if not found:
        raise ValueError(f"There is no column {key!r}.")
    return found[0]


def one_hot_columns(columns: Columns) -> dict[str, list[int]]:
    """For each source of categories, the positions of its one-hot columns."""
    found: dict[str, list[int]] = {}
    for i, column in enumerate(columns):
        if column.kind == "category":
            found.setdefault(column.source, []).append(i)
    return found


def split_name(name: str, prefix: str) -> str | None:
    """The category in a name made of ``prefix``, a separator and the category."""
    for separator in _SEPARATORS:
        start = prefix + separator
        if name.startswith(start) and len(name) > len(start):
            return name[len(start) :]
    return None


def prefixes(name: str) -> list[str]:
    """Possible sources of a one-hot column: what comes before each separator in its name."""
    return [name[:i] for i, letter in enumerate(name) if i and letter in _SEPARATORS]


def _members(columns: Columns, categories: Any) -> dict[str, dict[int, str]]:
    """For each source, the positions of its columns and the category of each."""
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


def _is_number_text(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
