"""``treemeans drift``: what has changed in the rows of a file since a model was fitted."""

from __future__ import annotations

import warnings
from typing import Any

from treemeans.cli.console import Console
from treemeans.cli.predict_command import category_columns
from treemeans.columns.encode_frame import UnseenValues
from treemeans.files.file_schema import encode_for_model
from treemeans.files.read_table import read_batches
from treemeans.monitor.drift import DriftCounter
from treemeans.monitor.drift_result import Drift, DriftLimits
from treemeans.progress import Progress

DRIFTED = 3
"""Exit code where a limit is exceeded, so that a scheduler can stop."""


def count_file(model: Any, data: str, limits: DriftLimits, console: Console) -> Drift:
    """The drift of a file, in memory that does not grow with it."""
    warnings.filterwarnings("ignore", "X does not have valid feature names")
    counter = DriftCounter(model)
    with Progress("treemeans: rows", None, console.shows_progress) as progress:
        for batch in read_batches(data, text=category_columns(model)):
            unseen = UnseenValues()
            first = counter.n_rows + 1
            X = encode_for_model(batch, model.columns_, first_row=first, unseen=unseen)
            counter.add(X, unseen)
            progress.update(counter.n_rows)
    return counter.result(limits)
