"""Data frames of mixed columns: how a case's numbers become one, and how they are drawn.

A case holds every value as a float: the place of a category in `TEXTS`, days since 1970, seconds;
NaN where a value is missing. `KINDS` says what each kind of column makes of them.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Rng = np.random.Generator
TEXTS = [
    "red", "blue", "it's", 'say "x"', "a\nb", "=1+1", "<b>", "1", "2.0", "nan", "", " ", "é", "\\",
    "None", "%s", "{x}", "`", "a,b", "TRUE", "-", "Red", "\t", "\u202e", "0",
]  # fmt: skip
NEVER_SEEN = "never seen"
EPOCH = datetime(1970, 1, 1)


def _numbers(rng: Rng, n: int) -> Floats:
    how = rng.integers(5)
    if how == 0:
        return rng.gamma(0.5, 100.0, n)
    if how == 1:
        return np.round(rng.normal(size=n), 1)
    if how == 2:
        return 1e9 + rng.integers(-4, 5, n) / 4
    return rng.normal(size=n) * 10.0 ** rng.integers(-6, 7)


# Kind -> share, how values are drawn, and what a number stands for in the user's table.
KINDS: dict[str, tuple[float, Callable[[Rng, int], Floats], Callable[[float], Any]]] = {
    "number": (3, _numbers, float),
    "integer": (2, lambda rng, n: rng.integers(-20, 60, n) * 1.0, int),
    "large integer": (0.3, lambda rng, n: rng.integers(2**53, 2**60, n) * 1.0, int),
    "flag": (1, lambda rng, n: rng.integers(0, 2, n) * 1.0, int),
    "boolean": (2, lambda rng, n: rng.integers(0, 2, n) * 1.0, bool),
    "category": (3, lambda rng, n: _codes(rng, n), lambda x: TEXTS[int(x)]),
    "levels": (1, lambda rng, n: _codes(rng, n), lambda x: TEXTS[int(x)]),
    "number levels": (0.5, lambda rng, n: rng.integers(0, 9, n) * 5.0, int),
    "date": (
        1,
        lambda rng, n: rng.integers(-9000, 30000, n) * 1.0,
        lambda x: (EPOCH + timedelta(days=int(x))).date(),
    ),
    "time": (
        1.5,
        lambda rng, n: rng.integers(0, 2**31, n) * 1.0,
        lambda x: EPOCH + timedelta(seconds=int(x)),
    ),
    "duration": (
        0.5,
        lambda rng, n: rng.integers(-(10**5), 10**6, n) / 4,
        lambda x: timedelta(milliseconds=int(x * 1000)),
    ),
}


def _codes(rng: Rng, n: int) -> Floats:
    some = rng.choice(len(TEXTS), int(rng.integers(1, 12)), replace=False)
    return rng.choice(some, n) * 1.0


def draw_columns(rng: Rng, n: int) -> tuple[Floats, list[str]]:
    """Values and kinds of one to five columns, of which some values may be missing."""
    d = int(rng.integers(1, 6))
    shares = np.array([share for share, _, _ in KINDS.values()])
    kinds = [list(KINDS)[i] for i in rng.choice(len(KINDS), d, p=shares / shares.sum())]
    X = np.column_stack([KINDS[kind][1](rng, n) for kind in kinds])
    for i in range(d):
        if rng.random() < 0.4:
            X[rng.random(n) < rng.choice([0.05, 0.3, 0.8]), i] = np.nan
    if rng.random() < 0.2:
        X = X[rng.integers(0, max(1, n // 3), size=n)]
    return X, kinds


def raw_value(x: float, kind: str) -> Any:
    """What a number of a case stands for; None where it is missing."""
    if np.isnan(x):
        return None
    return NEVER_SEEN if x < 0 and kind in ("category", "levels") else KINDS[kind][2](x)


def names_of(kinds: list[str]) -> list[str]:
    """Names of the columns, by their kind."""
    return [f"{kind.replace(' ', '_')}{i}" for i, kind in enumerate(kinds)]


def raw_rows(X: Floats, kinds: list[str]) -> list[dict[str, Any]]:
    """The rows as a user has them, by the names of the columns."""
    names = names_of(kinds)
    return [
        {name: raw_value(x, kind) for name, x, kind in zip(names, row, kinds, strict=True)}
        for row in X.tolist()
    ]


def pandas_frame(X: Floats, kinds: list[str]) -> pd.DataFrame:
    """A data frame of pandas with the types that users have."""
    return pd.DataFrame(
        {
            name: _series([raw_value(x, kind) for x in X[:, i].tolist()], kind)
            for i, (name, kind) in enumerate(zip(names_of(kinds), kinds, strict=True))
        }
    )


def _series(values: list[Any], kind: str) -> Any:
    whole = kind in ("integer", "large integer", "flag")
    types = {"number": "float64", "time": "datetime64[us]", "duration": "timedelta64[us]"}
    if whole:
        return pd.Series(values, dtype="Int64" if None in values else "int64")
    if kind == "boolean":
        return pd.Series(values, dtype="boolean" if None in values else "bool")
    if "levels" in kind:
        return pd.Series(pd.Categorical(values))
    return pd.Series(values, dtype=types.get(kind, "object"))


def polars_frame(X: Floats, kinds: list[str]) -> Any:
    """The same of polars."""
    import polars as pl

    types = {
        "number": pl.Float64, "integer": pl.Int64, "large integer": pl.Int64, "flag": pl.Int8,
        "boolean": pl.Boolean, "category": pl.String, "levels": pl.Categorical,
        "number levels": pl.String, "date": pl.Date, "time": pl.Datetime("us"),
        "duration": pl.Duration("us"),
    }  # fmt: skip
    rows = raw_rows(X, kinds)
    return pl.DataFrame(
        {
            name: pl.Series(
                [
                    str(row[name]) if kind == "number levels" and row[name] is not None
                    else row[name] for row in rows
                ],
                dtype=types[kind],
            )
            for name, kind in zip(names_of(kinds), kinds, strict=True)
        }
    )  # fmt: skip


def arrow_table(X: Floats, kinds: list[str]) -> Any:
    """The same of pyarrow."""
    import pyarrow as pa

    return pa.Table.from_pandas(pandas_frame(X, kinds), preserve_index=False)


FRAMES: dict[str, Callable[[Floats, list[str]], Any]] = {
    "pandas": pandas_frame,
    "polars": polars_frame,
    "arrow": arrow_table,
}
