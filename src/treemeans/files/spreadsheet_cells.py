"""Cells that a spreadsheet program would run as formulas, and how to write them as text."""

from __future__ import annotations

import pyarrow as pa
from pyarrow import compute as pc

from treemeans.files.arrow_to_float import arrow_kind, plain_values

# A formula begins with one of these signs; -3.5 and +2 are numbers, and a sign alone is a text.
_FORMULA = r"^[=+\-@\t\r]."
_NUMBER = r"^[+-]?([0-9]+([.,][0-9]*)?|[.,][0-9]+)([eE][+-]?[0-9]+)?\s*%?$"
_MARK = "'"


def formulas_as_text(batch: pa.RecordBatch) -> tuple[pa.RecordBatch, int]:
    """The batch with an apostrophe before every text that is a formula, and their number.

    Programs such as Excel and LibreOffice run a cell of a CSV file that begins with ``=``, ``+``,
    ``-`` or ``@``. Names of columns are cells too.

    Examples
    --------
    >>> batch = pa.RecordBatch.from_pydict({"note": ["=1+1", "-2.5", "-", "@home"]})
    >>> safe, changed = formulas_as_text(batch)
    >>> safe["note"].to_pylist(), changed
    (["'=1+1", '-2.5', '-', "'@home"], 2)
    """
    columns, changed = [], 0
    for values in batch.columns:
        if arrow_kind(values.type) == "text":
            values, n_changed = _safe(plain_values(values))
            changed += n_changed
        columns.append(values)
    names, n_changed = _safe(pa.array(batch.schema.names, pa.large_string()))
    if not changed + n_changed:
        return batch, 0
    return pa.RecordBatch.from_arrays(columns, names.to_pylist()), changed + n_changed


def _safe(values: pa.Array) -> tuple[pa.Array, int]:
    starts = pc.match_substring_regex(values, _FORMULA)
    is_formula = pc.and_not(starts, pc.match_substring_regex(values, _NUMBER))
    n_formulas = pc.sum(is_formula).as_py() or 0
    if not n_formulas:
        return values, 0
    marked = pc.binary_join_element_wise(
        pa.scalar(_MARK, values.type), values, pa.scalar("", values.type)
    )
    return pc.if_else(is_formula, marked, values), n_formulas
