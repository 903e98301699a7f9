"""What differs between databases: spellings of their names, and literals.

A threshold must arrive in the database as the very float64 it is, and as a double: a column
of floats compared with a decimal may be compared as decimals, or in single precision. Where an
exponent makes a literal a double, it has one; elsewhere text is cast. SQLite reads decimals
inexactly (to the last bit), so that there it gets integers and powers of two.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

Expression = Any  # of sqlglot, which is optional
_FACTOR_BITS = 62  # the largest power of two that is an integer of SQLite


@dataclass(frozen=True)
class Dialect:
    """A database, as far as an expression of columns, numbers and dates is concerned.

    Attributes
    ----------
    name : what sqlglot calls it
    number : makes an expression of sqlglot (given its ``exp``) that is exactly a float
    moment_type : type of dates with a time of day, to the microsecond; empty: dates are text
    zoned_type : type of dates with a time zone, which compare as moments in any session; empty
        where there is none: they are compared as dates in UTC
    casts_dates : whether columns of dates are cast to the type of the date they are compared with
    national : whether text beyond ASCII needs a prefix
    any_case : whether names of columns that differ only in case are the same, even in quotes
    has_booleans : whether booleans are a type of their own, which does not compare with numbers;
        else they are 0 and 1
    has_intervals : whether durations are a type
    not_in_names : characters that names cannot have, not even in quotes
    exact_text : what makes a column of text compare letter by letter, where by default "red" is
        "Red": a cast to bytes, or a collation; empty elsewhere
    """

    name: str
    number: Callable[[Any, float], Expression]
    moment_type: str
    zoned_type: str = ""
    casts_dates: bool = False
    national: bool = False
    any_case: bool = False
    has_booleans: bool = True
    has_intervals: bool = False
    not_in_names: str = ""
    exact_text: str = ""

    def as_exact_text(self, exp: Any, column: Expression) -> Expression:
        """A column of text that compares letter by letter."""
        if self.exact_text == "BINARY":
            return exp.Cast(this=column, to=exp.DataType.build("BINARY"))
        if self.exact_text:
            return exp.Collate(this=column, expression=exp.Var(this=self.exact_text))
        return column

    def text(self, exp: Any, value: str) -> Expression:
        """Text between quotes."""
        if self.national and not value.isascii():
            return exp.National(this=value)
        return exp.Literal.string(value)

    def moment(self, exp: Any, when: datetime, *, zoned: bool) -> Expression:
        """A date with its time of day; all six decimals, so that text compares as dates do."""
        text = when.isoformat(sep=" ", timespec="microseconds")
        if zoned and self.zoned_type:
            text += "+00:00"
        literal = exp.Literal.string(text)
        return self.as_moment(exp, literal, zoned=zoned) if self.moment_type else literal

    def interval(self, exp: Any, microseconds: int) -> Expression:
        """A duration."""
        length = exp.Literal.string(str(microseconds))
        return exp.Interval(this=length, unit=exp.Var(this="MICROSECONDS"))

    def as_moment(self, exp: Any, value: Expression, *, zoned: bool) -> Expression:
        """An expression cast to a date with its time of day; ``zoned``: with a time zone too."""
        kind = (self.zoned_type if zoned else "") or self.moment_type
        return exp.Cast(this=value, to=exp.DataType.build(kind))


def as_double(exp: Any, value: Expression) -> Expression:
    """An expression cast to float64."""
    return exp.Cast(this=value, to=exp.DataType.build("DOUBLE"))


def _cast_text(exp: Any, number: float) -> Expression:
    """CAST('2.45' AS DOUBLE PRECISION)."""
    return as_double(exp, exp.Literal.string(repr(number)))


def _with_exponent(exp: Any, number: float) -> Expression:
    """2.45E0: the exponent makes it a double."""
    text = repr(abs(number)).upper()
    return _signed(exp, number, text if "E" in text else f"{text}E0")


def _of_integers(exp: Any, number: float) -> Expression:
    """2.45 where every reader of decimals gets it right, else an integer and powers of two."""
    if _reads_right(number):
        return _signed(exp, number, repr(abs(number)))
    numerator, denominator = abs(number).as_integer_ratio()
    zeros = (numerator & -numerator).bit_length() - 1
    last = result = as_double(exp, _signed(exp, number, str(numerator >> zeros)))
    for factor in _factors(zeros):
        last = exp.Literal.number(factor)
        result = exp.Mul(this=result, expression=last)
    for factor in _factors(denominator.bit_length() - 1):
        last = exp.Literal.number(factor)
        result = exp.Div(this=result, expression=last, typed=True)
    last.add_comments([repr(number)])
    return result


def _factors(bits: int) -> list[str]:
    """Powers of two whose product is two to the power ``bits``."""
    whole, rest = divmod(bits, _FACTOR_BITS)
    return [str(2**_FACTOR_BITS)] * whole + ([str(2**rest)] if rest else [])


def _reads_right(number: float) -> bool:
    """Whether a reader of decimals that is good to 60 bits finds this very float.

    One that works in doubles does so too: both the digits and the power of ten are exact.
    """
    _, digits, exponent = Decimal(repr(number)).as_tuple()
    if len(digits) > 15 or abs(int(exponent)) > 22:
        return False
    spacing = Fraction(min(math.ulp(number), math.ulp(math.nextafter(number, 0.0))))
    off = abs(Fraction(repr(number)) - Fraction(number))
    return off <= spacing * (Fraction(1, 2) - Fraction(1, 128))


def _signed(exp: Any, number: float, magnitude: str) -> Expression:
    literal = exp.Literal.number(magnitude)
    return exp.Neg(this=literal) if number < 0 else literal


_DIALECTS = {
    "PostgreSQL": Dialect("postgres", _cast_text, "TIMESTAMP", "TIMESTAMPTZ", has_intervals=True),
    "DuckDB": Dialect(
        "duckdb", _with_exponent, "TIMESTAMP", "TIMESTAMPTZ", any_case=True, has_intervals=True
    ),
    "SQLite": Dialect("sqlite", _of_integers, "", any_case=True, has_booleans=False),
    "BigQuery": Dialect(
        "bigquery",
        _cast_text,
        "DATETIME",
        "TIMESTAMPTZ",
        casts_dates=True,
        any_case=True,
        not_in_names="`\\",
    ),
    "Snowflake": Dialect("snowflake", _cast_text, "TIMESTAMPNTZ", "TIMESTAMPTZ"),
    "Spark": Dialect("spark", _with_exponent, "TIMESTAMP", "TIMESTAMPTZ"),
    "MySQL": Dialect(
        "mysql",
        _with_exponent,
        "TIMESTAMP(6)",
        any_case=True,
        has_booleans=False,
        exact_text="BINARY",
    ),
    "T-SQL": Dialect(
        "tsql",
        _with_exponent,
        "TIMESTAMP(6)",
        "TIMESTAMPTZ(6)",
        national=True,
        has_booleans=False,
        exact_text="Latin1_General_BIN2",
    ),
}
_ALIASES = {
    "postgres": "PostgreSQL",
    "pg": "PostgreSQL",
    "sqlite3": "SQLite",
    "googlebigquery": "BigQuery",
    "sparksql": "Spark",
    "pyspark": "Spark",
    "databricks": "Spark",
    "mariadb": "MySQL",
    "mssql": "T-SQL",
    "sqlserver": "T-SQL",
    "transactsql": "T-SQL",
}


def find_dialect(name: str) -> Dialect:
    """The dialect of a database by one of its names, in any spelling.

    Examples
    --------
    >>> find_dialect("SQL Server").name
    'tsql'
    """
    spellings = {_plain(known): known for known in _DIALECTS} | _ALIASES
    known = spellings.get(_plain(name)) if isinstance(name, str) else None
    if known is None:
        raise ValueError(
            f"The SQL dialect {name!r} is not known; choose one of {', '.join(_DIALECTS)}."
        )
    return _DIALECTS[known]


def _plain(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())
