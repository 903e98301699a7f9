"""``treemeans predict``: the rows of a file of any size with their clusters."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from treemeans.cli import interrupt
from treemeans.cli.console import Console
from treemeans.cli.saved_model import SavedModel
from treemeans.columns.encode_frame import UnseenValues
from treemeans.columns.number_text import format_rows, percent
from treemeans.explain.leaf_reasons import LeafReasons
from treemeans.files.file_errors import InputError, quoted
from treemeans.files.file_formats import format_from_name
from treemeans.files.file_schema import encode_for_model
from treemeans.files.read_table import read_batches
from treemeans.files.spreadsheet_cells import formulas_as_text
from treemeans.files.write_table import TableWriter, with_column
from treemeans.monitor.confidence import knows_costs
from treemeans.progress import Progress
from treemeans.threads import n_threads
from treemeans.tree import no_side

CLUSTER, WHY = "cluster", "why"
CONFIDENCE = ("cut_distance", "cost_advantage", "close_call")


@dataclass(frozen=True)
class AddedColumns:
    """What is added to the table: clusters by number or name, why, and how sure that is."""

    as_names: bool = False
    explain: bool = False
    confidence: bool = False


def run(
    path: str,
    data: str,
    out: str | None,
    *,
    columns: AddedColumns,
    names: str | None,
    raw: bool,
    accept_missing: bool,
    force: bool,
    console: Console,
) -> None:
    """Read, label and write batches."""
    # The rows come as numbers, in the order of the columns, without names.
    warnings.filterwarnings("ignore", "X does not have valid feature names")
    model = SavedModel(path, None, names).open()
    if accept_missing:
        model = model.with_missing_sides()
    reasons = LeafReasons(model.tree_, model.columns_) if columns.explain else None
    as_text = _writes_text(out)
    columns_as_text = True if as_text else category_columns(model)
    n_rows, n_formulas, n_unseen = 0, 0, Counter[str]()
    n_close = np.zeros((2, model.tree_.n_clusters), dtype=np.int64)
    with (
        TableWriter(out, force=force) as writer,
        Progress("treemeans: rows", None, console.shows_progress) as progress,
    ):
        for batch in read_batches(data, text=columns_as_text):
            batch, unseen = _labelled(batch, model, columns, reasons, n_rows, n_close)
            if as_text and not raw:
                batch, changed = formulas_as_text(batch)
                n_formulas += changed
            writer.write(batch)
            if out is None or out == "-":
                interrupt.forget()
                interrupt.wrote("a part of the rows")
            n_unseen.update({source: len(rows) for source, rows in unseen.values.items()})
            n_rows += batch.num_rows
            progress.update(n_rows)
    for source, rows in n_unseen.items():
        has = "has" if rows == 1 else "have"
        console.note(
            f"Note: {format_rows(rows)} {has} a category of {source} not seen in training."
        )
    if n_formulas:
        console.note(
            f"Note: {n_formulas:,} cells that a spreadsheet would run as formulas have an "
            "apostrophe before them; --raw writes them as they are."
        )
    if columns.confidence:
        _note_close_calls(model, n_close, console)
    console.note(f"{format_rows(n_rows)} labelled{f'; they are in {out}' if out else ''}.")


def _writes_text(out: str | None) -> bool:
    return out is None or out == "-" or format_from_name(Path(out)).kind == "text"


def category_columns(model: Any) -> list[str]:
    """The columns of a file that hold categories."""
    categories = [c.source or c.name for c in model.columns_ if c.source or c.categories]
    return list(dict.fromkeys(categories))


def _refuse_missing(model: Any, X: Any, first_row: int) -> None:
    """Refuse a missing value of a column that had none in training, and has no side for it."""
    rows, features = np.nonzero(np.isnan(X) & no_side(model.tree_))
    if len(rows):
        raise InputError(
            f"Column {quoted(model.columns_[features[0]].name)} has no value in data row "
            f"{first_row + rows[0]}, and no training row lacked one; fill it in, or add "
            "--accept-missing, which sends such rows where most rows went."
        )


def _note_close_calls(model: Any, n_close: NDArray[np.int64], console: Console) -> None:
    """Say which share of each cluster's rows are close calls."""
    close, total = n_close
    shares = [
        f"{name} {percent(float(close[i] / total[i]))}"
        for i, name in enumerate(model.cluster_names_)
        if total[i]
    ]
    console.note(f"Close calls: {'; '.join(shares)}.")
    if not knows_costs(model._fit_result.reference):
        console.note(
            "Note: the model file does not hold the space of its reference, so cost_advantage is "
            "empty and close calls are those near a cut."
        )


def _with_confidence(batch: Any, model: Any, X: Any, n_close: NDArray[np.int64]) -> Any:
    """The batch with the columns of confidence; close calls of each cluster are added up."""
    found = model.confidence(X)
    k = model.tree_.n_clusters
    n_close += [
        np.bincount(found.cluster[found.is_close], minlength=k),
        np.bincount(found.cluster, minlength=k),
    ]
    known = np.isfinite(found.cut_distance)
    distance = pa.array(found.cut_distance, mask=~known)
    advantage = pa.array(found.advantage, mask=np.isnan(found.advantage))
    for name, values in zip(CONFIDENCE, (distance, advantage, found.is_close), strict=True):
        batch = with_column(batch, name, values)
    return batch


def _labelled(
    batch: Any,
    model: Any,
    columns: AddedColumns,
    reasons: LeafReasons | None,
    rows_before: int,
    n_close: NDArray[np.int64],
) -> tuple[Any, UnseenValues]:
    """The batch with its clusters and, if asked for, its reasons; and its unseen categories."""
    unseen = UnseenValues()
    X = encode_for_model(batch, model.columns_, first_row=rows_before + 1, unseen=unseen)
    _refuse_missing(model, X, rows_before + 1)
    # Not model.apply, which would warn of rows without names.
    leaf = model.tree_.apply(X, n_threads=n_threads(model.n_jobs))
    labels: Any = model.tree_.label[leaf]
    if columns.as_names:
        labels = pa.array(model.cluster_names_).take(pa.array(labels))
    batch = with_column(batch, CLUSTER, labels)
    if columns.confidence:
        batch = _with_confidence(batch, model, X, n_close)
    if reasons is None:
        return batch, unseen
    names = {
        source: {row - rows_before - 1: value for row, value in rows.items()}
        for source, rows in unseen.values.items()
    }
    number, texts = reasons.of_rows(X, leaf, names)
    return with_column(batch, WHY, pa.array(texts).take(pa.array(number))), unseen
