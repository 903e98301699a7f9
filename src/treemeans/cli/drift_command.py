"""``treemeans drift``: what has changed in the rows of a file since a model was fitted."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import typer

from treemeans.atomic_write import write_whole
from treemeans.cli.console import Console
from treemeans.cli.output_files import check_outputs
from treemeans.cli.predict_command import category_columns
from treemeans.cli.show_command import SavedModel
from treemeans.columns.encode_frame import UnseenValues
from treemeans.files.file_schema import encode_for_model
from treemeans.files.read_table import read_batches
from treemeans.monitor.drift import DriftCounter
from treemeans.monitor.drift_page import drift_page
from treemeans.monitor.drift_result import Drift, DriftLimits
from treemeans.progress import Progress

DRIFTED = 3
"""Exit code where a limit is exceeded, so that a scheduler can stop."""


def run(
    chosen: SavedModel,
    data: str,
    limits: DriftLimits,
    out: str | None,
    force: bool,
    console: Console,
) -> None:
    """Count the rows of the file, batch by batch, and print what has changed."""
    warnings.filterwarnings("ignore", "X does not have valid feature names")
    check_outputs([out], force=force)
    found = count_file(chosen.open(), data, limits, console)
    console.print(str(found))
    console.print_json(found.to_dict)
    if out is not None:
        write_whole(out, drift_page(found, f"{Path(chosen.path).name}, {Path(data).name}"))
        console.note(f"The page is in {out}; it contains no rows of the table.")
    if found.exceeds_limits:
        raise typer.Exit(DRIFTED)


def count_file(model: Any, data: str, limits: DriftLimits, console: Console) -> Drift:
    """The drift of a file, in memory that does not grow with it."""
    counter = DriftCounter(model)
    with Progress("treemeans: rows", None, console.shows_progress) as progress:
        for batch in read_batches(data, text=category_columns(model)):
            unseen = UnseenValues()
            first = counter.n_rows + 1
            X = encode_for_model(batch, model.columns_, first_row=first, unseen=unseen)
            counter.add(X, unseen)
            progress.update(counter.n_rows)
    return counter.result(limits)
