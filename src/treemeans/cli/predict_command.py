"""``treemeans predict``: the rows of a file of any size with their clusters."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from treemeans.cli.console import Console
from treemeans.cli.show_command import SavedModel
from treemeans.files.encode_for_model import UnseenValues, category_sources, encode_for_model
from treemeans.files.file_formats import format_from_name
from treemeans.files.read_table import read_batches
from treemeans.files.write_table import TableWriter, with_column
from treemeans.progress import Progress

CLUSTER, WHY = "cluster", "why"


@dataclass(frozen=True)
class AddedColumns:
    """What is added to the table: clusters by number or name, and why."""

    as_names: bool = False
    explain: bool = False


def run(
    path: str,
    data: str,
    out: str | None,
    *,
    columns: AddedColumns,
    names: str | None,
    force: bool,
    console: Console,
) -> None:
    """Read, label and write batches."""
    model = SavedModel(path, None, names).open()
    n_rows, n_unseen = 0, Counter[str]()
    with (
        TableWriter(out, force=force) as writer,
        Progress("treemeans: rows", None, console.shows_progress) as progress,
    ):
        for batch in read_batches(data, text=_columns_as_text(model, out)):
            unseen: UnseenValues = {}
            X = encode_for_model(batch, model.columns_, first_row=n_rows + 1, unseen=unseen)
            labels = model.predict_names(X).tolist() if columns.as_names else model.predict(X)
            batch = with_column(batch, CLUSTER, labels)
            if columns.explain:
                batch = _explained(batch, model, X, unseen, n_rows + 1)
            writer.write(batch)
            n_unseen.update({source: len(rows) for source, rows in unseen.items()})
            n_rows += batch.num_rows
            progress.update(n_rows)
    for source, rows in n_unseen.items():
        console.note(f"Note: {rows:,} rows have a category of {source} not seen in training.")
    console.note(f"{n_rows:,} rows labelled.")


def _columns_as_text(model: Any, out: str | None) -> bool | list[str]:
    """Columns to read as text: all, to write text as it was; else those of categories."""
    writes_text = out is None or out == "-" or format_from_name(Path(out)).kind == "text"
    return True if writes_text else category_sources(model.columns_)


def _explained(batch: Any, model: Any, X: Any, unseen: UnseenValues, first_row: int) -> Any:
    """The batch with a column of reasons; ``unseen`` counts rows from ``first_row``."""
    named = {
        source: {row - first_row: value for row, value in rows.items()}
        for source, rows in unseen.items()
    }
    explanations = model.explain(X).with_unseen_values(named)
    return with_column(batch, WHY, [row.why for row in explanations])
