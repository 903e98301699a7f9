"""``treemeans refit`` and ``diff``: the model of another month, and what changed."""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
import pyarrow as pa

from treemeans.atomic_write import write_whole
from treemeans.cli import interrupt
from treemeans.cli.console import Console
from treemeans.cli.output_files import check_outputs, save_figure, without_window
from treemeans.cli.predict_command import category_columns
from treemeans.cli.saved_model import SavedModel
from treemeans.columns.encode_frame import UnseenValues
from treemeans.columns.encoded_table import EncodedFrame
from treemeans.columns.table_schema import TableSchema
from treemeans.files.file_errors import InputError
from treemeans.files.file_schema import encode_for_model
from treemeans.files.read_table import read_batches
from treemeans.monitor.cluster_changes import crosstab
from treemeans.monitor.model_comparison import ModelComparison, comparison_of
from treemeans.monitor.refit import with_categories
from treemeans.progress import Progress


def refit(
    chosen: SavedModel,
    data: str,
    out: str,
    *,
    clusters: int | None,
    keep_structure: bool,
    shared: str | None,
    force: bool,
    console: Console,
) -> None:
    """Fit the model to the rows of another file, and say what became of its clusters."""
    warnings.filterwarnings("ignore", "X does not have valid feature names")
    check_outputs([out], force=force)
    model = chosen.open()
    table = _encoded(model, data)
    rows = None if shared is None else encode_for_model(_read(model, shared), model.columns_)
    with console.working("refit"):
        found = model.refit(table, n_clusters=clusters, keep_structure=keep_structure, shared=rows)
    found.save(out)
    interrupt.wrote(out)
    console.print(f"{found.changes_}\n\n{found.rules()}")
    console.print_json(lambda: found.changes_.to_dict() | {"rules": found.rules().to_dict()})
    console.note(f"The model is in {out}.")


def _read(model: Any, path: str) -> Any:
    return pa.Table.from_batches(list(read_batches(path, text=category_columns(model))))


def _encoded(model: Any, path: str) -> EncodedFrame:
    """The rows of a file, with categories that occur for the first time added to the columns."""
    table, unseen = _read(model, path), UnseenValues()
    X = encode_for_model(table, model.columns_, unseen=unseen)
    columns = with_categories(model.columns_, unseen)
    if unseen.values:
        X = encode_for_model(table, columns)
    return EncodedFrame(X, TableSchema((), len(X)), columns, X)


def diff(
    old: str, new: str, data: str, plot: str | None, out: str | None, force: bool, console: Console
) -> None:
    """Count the rows of a file by their clusters in two models, and compare their rules."""
    check_outputs([plot, out], force=force)
    models = SavedModel(old).open(), SavedModel(new).open()
    models = models[0].with_missing_sides(), models[1].with_missing_sides()
    found = _compared(models, data, console)
    console.print(str(found))
    console.print_json(found.to_dict)
    if out is not None:
        _write_json(found, out)
        console.note(f"The comparison is in {out}.")
    if plot is not None:
        without_window()
        save_figure(found.plot().figure, plot)
        console.note(f"The picture is in {plot}.")


def _write_json(found: ModelComparison, out: str) -> None:
    if not out.lower().endswith(".json"):
        raise InputError(f"--out writes JSON; name a .json file, not {out}.")
    write_whole(out, json.dumps(found.to_dict(), ensure_ascii=False))


def _compared(models: tuple[Any, Any], data: str, console: Console) -> ModelComparison:
    old, new = models
    counts = np.zeros((old.tree_.n_clusters, new.tree_.n_clusters))
    texts = list(dict.fromkeys([*category_columns(old), *category_columns(new)]))
    n_rows = 0
    with Progress("treemeans: rows", None, console.shows_progress) as progress:
        for batch in read_batches(data, text=texts):
            labels = [_labels(model, batch, n_rows) for model in models]
            counts += crosstab(*labels, *counts.shape)
            n_rows += batch.num_rows
            progress.update(n_rows)
    return comparison_of(old, new, counts)


def _labels(model: Any, batch: Any, rows_before: int) -> Any:
    X = encode_for_model(batch, model.columns_, first_row=rows_before + 1, unseen=UnseenValues())
    return model.tree_.predict(X)
