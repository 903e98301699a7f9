"""What the commands that fit print and write: costs of every size, JSON, the report."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemeans import ExKMC
from treemeans.cli import interrupt
from treemeans.cli.console import Console
from treemeans.cli.fit_settings import MOST_LEAVES
from treemeans.cli.output_files import report_written
from treemeans.columns.number_text import finite_or_none
from treemeans.explain.rules import Rules
from treemeans.explain.suggest_leaves import is_at_the_end, suggested_leaves
from treemeans.files.file_schema import FileSchema


def print_path(fitted: ExKMC, suggested: int, n_leaves: int, console: Console) -> None:
    """Print the cost of every size of the tree, the suggested size and the one used marked.

    Costs are left out where they say nothing beside those of the reference.
    """
    path, record = fitted.path_, fitted._fit_result
    marks = {suggested: "<- suggested"}
    if n_leaves != suggested:
        marks[n_leaves] = "<- this tree"
    rows = [
        [
            str(row["n_leaves"]),
            *([f"{row['ratio']:.4f}"] if record.comparable else []),
            f"{row['accuracy']:.1%}",
            marks.get(int(row["n_leaves"]), ""),
        ]
        for row in path
    ]
    marked = int(np.searchsorted(path["n_leaves"], n_leaves))
    called = record.called
    cost = [f"cost / {called}"] if record.comparable else []
    console.table(["leaves", *cost, f"agree with {called}", ""], rows, marked)
    if is_at_the_end(path):
        more = MOST_LEAVES * int(path["n_leaves"][-1])
        console.note(f"The suggestion is the largest tree tried: try --leaves {more} as well.")


def summary(
    model: ExKMC, path: NDArray[np.void], rules: Rules, schema: FileSchema
) -> dict[str, Any]:
    """The result of a fit, for JSON; ``path`` is that of all sizes that were grown."""
    return {
        "n_rows": schema.n_rows,
        "n_rows_dropped": schema.n_dropped,
        "n_leaves": model.n_leaves_,
        "cost": model.inertia_,
        "reference_cost": model.reference_inertia_,
        "suggested_leaves": suggested_leaves(path),
        "path": {
            name: [finite_or_none(value) for value in path[name].tolist()]
            for name in path.dtype.names or ()
        },
        "rules": rules.to_dict(),
        "schema": [
            {
                "column": plan.name,
                "read_as": plan.read_as,
                "missing": plan.n_missing,
                "becomes": plan.becomes,
            }
            for plan in schema.table.plans
        ],
    }


def write_report_file(
    model: ExKMC, report: str, rows: int, X: NDArray[np.float64], title: str, console: Console
) -> None:
    """Write the report, and say where it is."""
    from treemeans import write_report

    with console.working("report"):
        write_report(model, report, X, title=title, rows=rows)
    interrupt.wrote(report)
    console.note(report_written(report, rows))
