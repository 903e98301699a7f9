"""EncodedFrame: a user's table as numbers, with what each column is."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemeans.columns.column import Columns, plain_columns
from treemeans.columns.encode_frame import categorical_mask, encode_frame
from treemeans.columns.frame_values import Floats, is_all_numbers, open_frame
from treemeans.columns.table_schema import TableSchema, plan_columns, summarize
from treemeans.warning_level import depth_in_package


@dataclass(frozen=True)
class EncodedFrame:
    """A table as a float64 matrix: missing values are NaN, categories are codes.

    Attributes
    ----------
    X : array of shape (n_rows, n_columns)
    schema : what was found of each column of the table, those that are left out included
    columns : how the columns of X read
    raw : the table as the user gave it, for a reference pipeline
    """

    X: Floats
    schema: TableSchema
    columns: Columns
    raw: Any

    @property
    def categorical(self) -> NDArray[np.bool_]:
        """The columns that hold codes of categories."""
        return categorical_mask(self.columns)

    @property
    def sides(self) -> dict[str, NDArray[np.bool_]]:
        """What the search must be told to cut by sets of categories and to accept NaN."""
        needed = self.categorical.any() or np.isnan(self.X).any()
        return {"categorical": self.categorical} if needed else {}

    @property
    def names(self) -> NDArray[Any]:
        """Names of the columns of X."""
        return np.array([column.name for column in self.columns], dtype=object)

    def warn_without_weight(self, weights: Floats | None) -> None:
        """Warn about categories of which all rows weigh nothing: nothing is known of them."""
        if weights is None or np.all(weights != 0):
            return
        for i in np.flatnonzero(self.categorical):
            counted = np.unique(self.X[weights != 0, i])
            column = self.columns[i]
            alone = [name for code, name in enumerate(column.categories) if code not in counted]
            if alone:
                warnings.warn(
                    f"Column {column.name!r}: {', '.join(map(repr, alone[:8]))} occur"
                    f"{'s' if len(alone) == 1 else ''} only in rows of weight 0, which say nothing "
                    "about where such rows belong.",
                    UserWarning,
                    stacklevel=depth_in_package(),
                )


def encode_table(X: Any) -> EncodedFrame | None:
    """The table of a data frame that is not all numbers; None for anything else.

    A frame of numbers and booleans is None too, unless a value is missing and it is asked for
    with ``encode_numbers``.

    Examples
    --------
    >>> import pandas as pd
    >>> table = encode_table(pd.DataFrame({"plan": ["pro", "basic", None], "age": [31, 42, 37]}))
    >>> table.X
    array([[ 1., 31.],
           [ 0., 42.],
           [nan, 37.]])
    >>> [plan.read_as for plan in table.schema.plans]
    ['category (2 values)', 'whole number']
    """
    if isinstance(X, EncodedFrame):
        return X
    frame = open_frame(X)
    if frame is None or is_all_numbers(frame):
        return None
    return _encode(frame, X)


def encode_numbers(X: Any) -> EncodedFrame | None:
    """The table of a data frame of numbers, some of which may be missing; None for an array."""
    frame = open_frame(X)
    return None if frame is None else _encode(frame, X)


def encode_array(X: NDArray[Any], raw: Any) -> EncodedFrame:
    """The table of an array of numbers, of which some are missing."""
    columns = plain_columns(X.shape[1])
    return EncodedFrame(np.asarray(X, dtype=np.float64), TableSchema((), len(X)), columns, raw)


def _encode(frame: Any, raw: Any) -> EncodedFrame:
    names = frame.columns
    unnamed = [name for name in names if not isinstance(name, str)]
    if unnamed:
        raise ValueError(
            f"The names of columns must be text; {unnamed[0]!r} is not. Rename them, for example "
            "with df.columns = df.columns.map(str)."
        )
    if not len(frame):
        raise ValueError("The table has no rows; pass one that has some.")
    schema = plan_columns(summarize([frame], names))
    check_schema(schema)
    return EncodedFrame(encode_frame(frame, schema.columns), schema, schema.columns, raw)


def check_schema(schema: TableSchema) -> None:
    """Refuse a table with columns that cannot be used; warn about those that are left out."""
    if schema.problems:
        raise ValueError(" ".join(schema.problems))
    if not schema.columns:
        why = "; ".join(f"{plan.name!r}: {plan.becomes}" for plan in schema.left_out)
        raise ValueError(f"No column is left to cluster by ({why}).")
    _say_left_out(schema)


def _say_left_out(schema: TableSchema) -> None:
    if schema.left_out:
        told = "; ".join(
            f"{plan.name!r} ({plan.becomes.removeprefix('left out: ')})" for plan in schema.left_out
        )
        warnings.warn(
            f"Columns left out: {told}. Drop or convert them to avoid this warning.",
            UserWarning,
            stacklevel=depth_in_package(),
        )
