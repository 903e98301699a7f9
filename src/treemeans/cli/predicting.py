"""``treemeans predict``: rows of a file of any size, labelled as they stream by."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from treemeans.cli.console import Say
from treemeans.cli.showing import open_model
from treemeans.progress import Progress
from treemeans.sheets.encode_with import encode_with, sources
from treemeans.sheets.formats import format_of
from treemeans.sheets.read import read_batches
from treemeans.sheets.write import Writer, with_column

CLUSTER, WHY = "cluster", "why"


def run(path: str, data: str, out: str | None, *, explain: bool, force: bool, say: Say) -> None:
    """Read, label, write, a batch at a time."""
    model = open_model(path)
    n_rows, unseen = 0, Counter[str]()
    with (
        Writer(out, force=force) as writer,
        Progress("treemeans: rows", None, say.shows_progress) as progress,
    ):
        for batch in read_batches(data, text=_as_written(model, out)):
            X = encode_with(batch, model.columns_, first_row=n_rows + 1, unseen=unseen)
            writer.write(_labelled(batch, model, X, explain=explain))
            n_rows += batch.num_rows
            progress.update(n_rows)
    for source, rows in unseen.items():
        say.aside(f"Note: {rows:,} rows have a category of {source} that the model does not know.")
    say.aside(f"{n_rows:,} rows labelled.")


def _as_written(model: Any, out: str | None) -> bool | list[str]:
    """Text stays text on its way to text; on its way to Parquet, what the model reads does."""
    to_text = out is None or out == "-" or format_of(Path(out)).kind == "text"
    return True if to_text else sources(model.columns_)


def _labelled(batch: Any, model: Any, X: Any, *, explain: bool) -> Any:
    batch = with_column(batch, CLUSTER, model.predict(X))
    if explain:
        batch = with_column(batch, WHY, [row.why for row in model.explain(X)])
    return batch
