"""Columns of data frames (pandas, polars, pyarrow) as float64 and text, with missing values.

narwhals reads the frames, so that there is one way for all packages; it comes with scikit-learn or
with the extras of this package, and is imported only if there is a frame.
"""

from __future__ import annotations

import datetime
import numbers
from collections.abc import Mapping
from decimal import Decimal
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemeans.columns.dates import PER_DAY

Floats = NDArray[np.float64]
UNSEEN = -1.0  # the code of a category that has none: every set of categories excludes it
_MICROSECONDS = PER_DAY["us"]


def open_frame(X: Any) -> Any:
    """X as a frame of narwhals; None for what is no data frame in memory, or all sparse numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> open_frame(pd.DataFrame({"age": [31]})).columns
    ['age']
    >>> open_frame([[31.0]]) is None
    True
    """
    if not (hasattr(X, "columns") or hasattr(X, "column_names")) or find_spec("narwhals") is None:
        return None
    import narwhals.stable.v2 as nw
    from narwhals.exceptions import DuplicateError

    try:
        found = nw.from_native(X, eager_only=True, pass_through=True)
    except DuplicateError:
        # The columns of a table of pyarrow are values.
        names = list(X.column_names if hasattr(X, "column_names") else X.columns)
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(
            f"{names.count(twice)} columns are named {twice!r}; names of columns must differ. "
            "Rename or drop them."
        ) from None
    if not isinstance(found, nw.DataFrame) or _is_sparse_matrix(X):
        return None
    plain = _with_plain_types(X)
    return found if plain is X else nw.from_native(plain, eager_only=True)


def _with_plain_types(X: Any) -> Any:
    """A frame whose types narwhals reads: no views of pyarrow, no sparse columns of pandas."""
    if hasattr(X, "column_names") and any(str(f.type) == "string_view" for f in X.schema):
        import pyarrow as pa

        types = [pa.large_string() if str(f.type) == "string_view" else f.type for f in X.schema]
        return X.cast(pa.schema(list(zip(X.column_names, types, strict=True))))
    return with_dense_columns(X)


def with_dense_columns(X: Any) -> Any:
    """A frame of pandas without sparse columns, if they are not what scikit-learn reads."""
    sparse = _sparse_columns(X)
    if not sparse or _is_sparse_matrix(X):
        return X
    return X.astype({name: X.dtypes[name].subtype for name in sparse})


def _is_sparse_matrix(X: Any) -> bool:
    """Whether all columns are sparse numbers, which scikit-learn reads without a dense copy.

    Pandas can leave out other values than zeros, such as NaN; those columns are made dense.
    """
    sparse = _sparse_columns(X)
    return len(sparse) == X.shape[1] and all(
        X.dtypes[name].subtype.kind in "iuf" and X.dtypes[name].fill_value == 0 for name in sparse
    )


def _sparse_columns(X: Any) -> list[Any]:
    """The names of the columns of a frame of pandas that store few of their values."""
    if not hasattr(X, "dtypes") or not hasattr(X.dtypes, "items"):  # of pandas only
        return []
    return [name for name, dtype in X.dtypes.items() if str(dtype).startswith("Sparse[")]


def is_all_numbers(frame: Any) -> bool:
    """Whether every column holds numbers or booleans by its type."""
    return all(dtype.is_numeric() or str(dtype) == "Boolean" for dtype in frame.schema.values())


def value_kind(series: Any) -> str:
    """What a column holds: number, integer, boolean, date, time, duration, text, null.

    Anything else is told in words that start with "holds".

    Examples
    --------
    >>> import pandas as pd
    >>> frame = open_frame(pd.DataFrame({"a": [1.5], "b": [["x"]], "c": ["DE"]}))
    >>> [value_kind(frame[name]) for name in "abc"]
    ['number', 'holds lists', 'text']
    """
    dtype = series.dtype
    if dtype.is_integer():
        return "integer"
    if dtype.is_numeric():
        return "number"
    known = {
        "Boolean": "boolean",
        "Date": "date",
        "Datetime": "time",
        "Duration": "duration",
        "String": "text",
        "Categorical": "text",
        "Enum": "text",
    }
    name = str(dtype).partition("(")[0]
    if name in known:
        return "null" if known[name] == "text" and bool(series.is_null().all()) else known[name]
    if bool(series.is_null().all()):
        return "null"
    if name == "Unknown":  # to narwhals, which reads frames of any library
        native = series.to_native()
        name = str(getattr(native, "dtype", getattr(native, "type", name)))
    return _object_kind(series) if name == "Object" else f"holds {_in_words(name)}"


def _in_words(type_name: str) -> str:
    plain = {"List": "lists", "Array": "lists", "Struct": "records", "Time": "times of day"}
    return plain.get(type_name, f"values of the type {type_name}")


def _object_kind(series: Any) -> str:
    """The kind of a column of Python objects, which must all be of one."""
    kinds = {_kind_of_object(value) for value in _present(series).to_list()}
    if len(kinds) == 1:
        return kinds.pop()
    if kinds <= {"date", "time"}:
        return "time"
    if kinds <= {"integer", "number"}:
        return "number"
    nested = sorted(kind for kind in kinds if kind.startswith("holds"))
    if nested:
        return nested[0]
    mixed = " and ".join(sorted({{"integer": "number"}.get(kind, kind) for kind in kinds}))
    return f"holds both {mixed}"


def _kind_of_object(value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return "boolean"
    if isinstance(value, str):
        return "text"
    if isinstance(value, numbers.Integral):
        return "integer"
    if isinstance(value, numbers.Real | Decimal):
        return "number"
    if isinstance(value, datetime.datetime):
        return "time"
    if isinstance(value, datetime.date):
        return "date"
    if isinstance(value, datetime.timedelta):
        return "duration"
    if isinstance(value, list | tuple | set | np.ndarray):
        return "holds lists"
    if isinstance(value, datetime.time):
        return "holds times of day"
    return f"holds values of the type {type(value).__name__}"


def missing_mask(series: Any) -> NDArray[np.bool_]:
    """The rows that have no value."""
    mask: NDArray[np.bool_] = np.array(series.is_null().to_numpy(), dtype=bool)
    return mask


def to_floats(series: Any, kind: str, unit: str = "D") -> Floats:
    """Numbers as they are, booleans as 0 and 1, dates and durations counted in ``unit``.

    Dates are counted since 1970, in UTC. NaN where there is no value.

    Examples
    --------
    >>> import pandas as pd
    >>> dates = pd.DataFrame({"day": pd.to_datetime(["2024-01-01 12:00", None])})
    >>> to_floats(open_frame(dates)["day"], "time")
    array([19723.5,     nan])
    """
    import narwhals.stable.v2 as nw

    if str(series.dtype) == "Object":
        return _floats_of_objects(series, kind, unit)
    if kind in ("date", "time"):
        # By way of whole microseconds, as pandas and polars give the same float for these.
        moments = series if series.dtype == nw.Datetime else series.cast(nw.Datetime("us"))
        counted = _as_float64(moments.dt.timestamp("us"))
    elif kind == "duration":
        counted = _as_float64(series.dt.total_microseconds())
    else:
        return _as_float64(series)
    # Plus zero, since narwhals may give minus zero.
    return counted * PER_DAY[unit] / _MICROSECONDS + 0.0


def _as_float64(series: Any) -> Floats:
    import narwhals.stable.v2 as nw

    if series.dtype.is_integer():  # which pyarrow does not cast beyond 2 ** 53
        whole: Floats = np.array(series.fill_null(0).to_numpy(), dtype=np.float64)
        whole[missing_mask(series)] = np.nan
        return whole
    found: Floats = np.array(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
    return found


def _floats_of_objects(series: Any, kind: str, unit: str) -> Floats:
    import narwhals.stable.v2 as nw

    values = np.full(len(series), np.nan)
    present = _present(series).to_list()
    if kind in ("date", "time", "duration"):
        wanted = nw.Duration("us") if kind == "duration" else nw.Datetime("us")
        typed = [_midnight(value) for value in present] if kind != "duration" else present
        backend = nw.get_native_namespace(series)
        made = nw.new_series("values", typed, wanted, backend=backend)
        values[~missing_mask(series)] = to_floats(made, kind, unit)
    else:
        values[~missing_mask(series)] = [float(value) for value in present]
    return values


def _midnight(value: datetime.date) -> datetime.datetime:
    if isinstance(value, datetime.datetime):
        aware = value.tzinfo is not None
        return value.astimezone(datetime.UTC).replace(tzinfo=None) if aware else value
    return datetime.datetime(value.year, value.month, value.day)


def to_texts(series: Any) -> Any:
    """The values that are there as a series of text, without the missing ones."""
    import narwhals.stable.v2 as nw

    present = _present(series)
    if str(series.dtype) == "Boolean":
        return nw.new_series(
            series.name,
            ["True" if value else "False" for value in present.to_list()],
            nw.String,
            backend=nw.get_native_namespace(series),
        )
    if series.dtype.is_float():  # 1.0 is written 1, as in a table where no value is missing
        whole = present == present.round(0)
        if bool(whole.all()):
            present = present.cast(nw.Int64)
    return present.cast(nw.String)


def _pandas_codes(series: Any) -> tuple[list[str], NDArray[np.integer[Any]]] | None:
    """The categories of a column of pandas that are texts, and the place of each row's; -1: none.

    pandas holds them so: to write a text for every row takes twenty times as long.
    """
    native = series.to_native()
    if not (hasattr(native, "cat") and hasattr(native.cat, "codes")):  # of pandas only
        return None
    levels = native.cat.categories.tolist()
    if not all(isinstance(level, str) for level in levels):
        return None
    return levels, native.cat.codes.to_numpy()


def count_texts(series: Any) -> dict[str, int]:
    """How often each text occurs."""
    if (coded := _pandas_codes(series)) is not None:
        levels, at = coded
        counts = np.bincount(at[at >= 0], minlength=len(levels)).tolist()
        return {text: n for text, n in zip(levels, counts, strict=True) if n}
    texts = to_texts(series).alias("text")
    if not len(texts):
        return {}
    counted = texts.value_counts(name="n")
    return dict(zip(counted["text"].to_list(), counted["n"].to_list(), strict=True))


def to_codes(series: Any, codes: Mapping[str, int]) -> Floats:
    """The code of the category of each row; ``UNSEEN`` if it has none, NaN if it is missing.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = open_frame(pd.DataFrame({"country": ["FR", None, "XX"]}))
    >>> to_codes(frame["country"], {"DE": 0, "FR": 1})
    array([ 1., nan, -1.])
    """
    import narwhals.stable.v2 as nw

    found = np.full(len(series), np.nan)
    if (coded := _pandas_codes(series)) is not None:
        levels, at = coded
        # The last is for -1, the place of a missing value.
        by_place = np.array([float(codes.get(text, UNSEEN)) for text in levels] + [np.nan])
        return np.asarray(by_place[at])
    texts = to_texts(series)
    if not len(texts):
        return found
    different = texts.unique().to_list()
    new = [float(codes.get(text, UNSEEN)) for text in different]
    coded = texts.replace_strict(different, new, return_dtype=nw.Float64)
    found[~missing_mask(series)] = coded.to_numpy()
    return found


def _present(series: Any) -> Any:
    return series.filter(~series.is_null())
