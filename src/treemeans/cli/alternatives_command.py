"""``treemeans alternatives``: other trees as good as a saved model's, with other columns."""

from __future__ import annotations

from pathlib import Path

from treemeans.cli import interrupt
from treemeans.cli.console import Console
from treemeans.cli.output_files import check_outputs
from treemeans.cli.show_command import SavedModel
from treemeans.files.file_schema import encode_for_model
from treemeans.files.read_table import read_table
from treemeans.monitor.alternatives import MOST_FITS, find_alternatives
from treemeans.threads import n_threads


def run(
    chosen: SavedModel,
    data: str,
    number: int,
    within: float,
    out: str | None,
    force: bool,
    console: Console,
) -> None:
    """Find other trees, print their rules side by side, and write their models.

    ``out``: name of the files, which get numbers: model.json becomes model-1.json and so on.
    """
    files = [] if out is None else [_numbered(out, i + 1) for i in range(number)]
    check_outputs(files, force=force)
    model = chosen.open()
    X = encode_for_model(read_table(data), model.columns_)
    with console.working("trees", MOST_FITS) as progress:
        found = find_alternatives(
            model, X, number, within, n_threads=n_threads(-1), tell=progress.update
        )
    console.print(str(found))
    console.print_json(found.to_dict)
    for each, path in zip(found, files, strict=False):
        each.model.save(path)
        interrupt.wrote(path)
        console.note(f"The model that cuts {', '.join(each.columns)} is in {path}.")


def _numbered(path: str, i: int) -> str:
    place = Path(path)
    return str(place.with_name(f"{place.stem}-{i}{place.suffix}"))
