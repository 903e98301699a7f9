"""Weights of rows that are a column of the table, and go by its name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from treemeans.files.file_errors import quoted


def weights_column(sample_weight: Any, engine: str) -> str:
    """The name given as ``sample_weight``; empty without weights. An array is refused."""
    if sample_weight is not None and not isinstance(sample_weight, str):
        raise ValueError(
            f"The weights of {engine} rows must be a column of X; pass its name as sample_weight."
        )
    return sample_weight or ""


def known_weights(weights: str, columns: Sequence[str]) -> str:
    """The name of the column of weights; refused unless it is one of the columns."""
    if weights and weights not in columns:
        raise ValueError(f"There is no column {quoted(weights)} for sample_weight; name one of X.")
    return weights
