"""``treemeans predict``: the rows of a file of any size with their clusters."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from treemeans.cli import interrupt
from treemeans.cli.console import Console
from treemeans.cli.show_command import SavedModel
from treemeans.explain.leaf_reasons import LeafReasons
from treemeans.files.encode_for_model import UnseenValues, category_sources, encode_for_model
from treemeans.files.file_formats import format_from_name
from treemeans.files.read_table import read_batches
from treemeans.files.spreadsheet_cells import formulas_as_text
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
    raw: bool,
    force: bool,
    console: Console,
) -> None:
    """Read, label and write batches."""
    model = SavedModel(path, None, names).open()
    reasons = LeafReasons(model.tree_, model.columns_) if columns.explain else None
    as_text = _writes_text(out)
    columns_as_text = True if as_text else category_sources(model.columns_)
    n_rows, n_formulas, n_unseen = 0, 0, Counter[str]()
    with (
        TableWriter(out, force=force) as writer,
        Progress("treemeans: rows", None, console.shows_progress) as progress,
    ):
        for batch in read_batches(data, text=columns_as_text):
            batch, unseen = _labelled(batch, model, columns, reasons, n_rows)
            if as_text and not raw:
                batch, changed = formulas_as_text(batch)
                n_formulas += changed
            writer.write(batch)
            if out is None or out == "-":
                interrupt.forget()
                interrupt.wrote("a part of the rows")
            n_unseen.update({source: len(rows) for source, rows in unseen.items()})
            n_rows += batch.num_rows
            progress.update(n_rows)
    for source, rows in n_unseen.items():
        console.note(f"Note: {rows:,} rows have a category of {source} not seen in training.")
    if n_formulas:
        console.note(
            f"Note: {n_formulas:,} cells that a spreadsheet would run as formulas have an "
            "apostrophe before them; --raw writes them as they are."
        )
    console.note(f"{n_rows:,} rows labelled{f'; they are in {out}' if out else ''}.")


def _writes_text(out: str | None) -> bool:
    return out is None or out == "-" or format_from_name(Path(out)).kind == "text"


def _labelled(
    batch: Any, model: Any, columns: AddedColumns, reasons: LeafReasons | None, rows_before: int
) -> tuple[Any, UnseenValues]:
    """The batch with its clusters and, if asked for, its reasons; and its unseen categories."""
    unseen: UnseenValues = {}
    X = encode_for_model(batch, model.columns_, first_row=rows_before + 1, unseen=unseen)
    leaf = model.apply(X)
    labels: Any = model.tree_.label[leaf]
    if columns.as_names:
        labels = pa.array(model.cluster_names_).take(pa.array(labels))
    batch = with_column(batch, CLUSTER, labels)
    if reasons is None:
        return batch, unseen
    names = {
        source: {row - rows_before - 1: value for row, value in rows.items()}
        for source, rows in unseen.items()
    }
    number, texts = reasons.of_rows(X, leaf, names)
    return with_column(batch, WHY, pa.array(texts).take(pa.array(number))), unseen
