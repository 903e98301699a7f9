"""``treemeans stability``: whether resamples of a table give the clusters of a model again."""

from __future__ import annotations

from treemeans.cli import interrupt
from treemeans.cli.console import Console
from treemeans.cli.output_files import check_outputs
from treemeans.cli.show_command import SavedModel, save_figure
from treemeans.files.file_schema import encode_for_model
from treemeans.files.read_table import read_table
from treemeans.monitor.stability import measure_stability
from treemeans.threads import n_threads


def run(
    chosen: SavedModel,
    data: str,
    n_resamples: int,
    method: str,
    seed: int,
    plot: str | None,
    force: bool,
    console: Console,
) -> None:
    """Measure the stability of a saved model on the table it was fitted to."""
    check_outputs([plot], force=force)
    model = chosen.open()
    X = encode_for_model(read_table(data), model.columns_)
    with console.working("resamples", n_resamples) as progress:
        found = measure_stability(
            model,
            X,
            n_resamples,
            method=method,
            random_state=seed,
            n_threads=n_threads(-1),
            tell=progress.update,
        )
    console.print(str(found))
    console.print_json(found.to_dict)
    if plot:
        from treemeans.optional_imports import need

        need("matplotlib", "plot").use("agg")
        save_figure(found.plot()[0].figure, plot)
        interrupt.wrote(plot)
        console.note(f"The plot is in {plot}.")
