"""Training histograms in a model file."""

from __future__ import annotations

from typing import Any

import numpy as np

from treemeans.model_file.checked_entries import Entries, UnreadableError
from treemeans.training_histograms import ColumnHistogram, TrainingHistograms

_MOST_CODES = 2**24


def write_histograms(found: TrainingHistograms | None) -> dict[str, Any] | None:
    """The histograms as plain values."""
    if found is None:
        return None
    return {
        "n_rows": float(found.n_rows),
        "columns": [_write_column(column) for column in found.columns],
    }


def _write_column(column: ColumnHistogram) -> dict[str, Any]:
    written: dict[str, Any] = {"column": int(column.feature), "counts": column.counts.tolist()}
    if column.is_categorical:
        written["codes"] = column.codes.tolist()
    else:
        written["edges"] = column.edges.tolist()
    if column.missing:
        written["missing"] = float(column.missing)
    if np.isfinite(column.low):
        written["range"] = [float(column.low), float(column.high)]
        written["outside"] = float(column.outside)
    return written


def read_histograms(entries: Entries, n_columns: int) -> TrainingHistograms | None:
    """The histograms of a document; files of earlier releases have none."""
    if not entries.has("histograms") or entries.is_null("histograms"):
        return None
    entry = entries.within("histograms")
    n_rows = entry.number("n_rows", least=0.0)
    columns = tuple(_read_column(each, n_columns) for each in entry.each("columns"))
    entry.end()
    return TrainingHistograms(n_rows, columns)


def _read_column(entry: Entries, n_columns: int) -> ColumnHistogram:
    feature = entry.integer("column", 0, n_columns - 1)
    counts = entry.float_list("counts", least=0.0)
    edges, codes = np.zeros(0), np.zeros(0, dtype=np.int32)
    if entry.has("codes"):
        codes = entry.integers("codes", len(counts) - 1, 0, _MOST_CODES)
    else:
        edges = entry.floats("edges", len(counts) - 1)
    if (np.diff(edges) <= 0).any() or (np.diff(codes) <= 0).any():
        raise UnreadableError("the bins of a histogram must ascend")
    missing = entry.number("missing", least=0.0) if entry.has("missing") else 0.0
    low, high, outside = -np.inf, np.inf, 0.0
    if entry.has("range"):
        low, high = entry.floats("range", 2).tolist()
        outside = entry.number("outside", least=0.0)
        if low > high:
            raise UnreadableError("the range of a histogram must ascend")
    entry.end()
    return ColumnHistogram(feature, edges, codes, counts, missing, low, high, outside)
