"""The panel "How detailed?": every size of the tree, and the curve of what each costs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemeans.columns.number_text import format_number
from treemeans.explain.suggest_leaves import suggested_leaves
from treemeans.fit_result import FitResult
from treemeans.report.report_text import agreement, verdict, verdict_on_rows
from treemeans.tree_layout.text_fitting import one_line

_TICKS = 4  # on the cost axis, about


def size_entries(record: FitResult) -> list[dict[str, Any]]:
    """For each size its number of leaves, and what differs from the size before.

    ``toggled`` are nodes that become inner nodes or leaves, ``labels`` the leaves that change
    their group. Whole trees would take space that is quadratic in the number of leaves.
    """
    tree = record.tree
    inner, label = np.zeros(tree.n_nodes, dtype=bool), np.full(tree.n_nodes, -1)
    found: list[dict[str, Any]] = []
    for row in record.path:
        size = record.sizes[int(row["n_leaves"])]
        leaves = leaves_in(record, int(row["n_leaves"]))
        relabelled = leaves[size.label[leaves] != label[leaves]]
        label[relabelled] = size.label[relabelled]
        found.append(
            {
                "leaves": int(row["n_leaves"]),
                "toggled": np.flatnonzero(size.inner != inner).tolist(),
                "labels": [(node, int(label[node])) for node in relabelled.tolist()],
                "verdict": verdict(float(row["ratio"]))
                if record.comparable
                else verdict_on_rows(float(row["accuracy"])),
                "agreement": agreement(float(row["accuracy"])),
            }
        )
        inner = size.inner
    if record.groups is not None:
        for place, size_entry in enumerate(found):
            said = (*record.groups.balanced_at(place), *record.groups.protected_at(place))
            size_entry["agreement"] += "".join(f" {one_line(str(each))}." for each in said)
    if record.certificate is not None:
        found[-1]["agreement"] += f" {record.certificate}"
    return found


def leaves_in(record: FitResult, n_leaves: int) -> NDArray[np.intp]:
    """The leaves of one size, as nodes of the largest tree."""
    inner = record.sizes[n_leaves].inner
    kept = record.tree.ancestor_in(inner) == np.arange(record.tree.n_nodes)
    return np.flatnonzero(kept & ~inner)


def cost_curve(record: FitResult) -> dict[str, Any]:
    """By how many percent each size costs more than the reference, and the suggested size.

    Where costs say nothing, the percentage of rows that are in another group.
    """
    path = record.path
    excess = np.where(np.isfinite(path["ratio"]), 100 * (path["ratio"] - 1), np.nan)
    if not record.comparable:
        excess = 100 * (1.0 - path["accuracy"])
    known = excess[np.isfinite(excess)]
    most, least = (max(known.max(), 0.0), min(known.min(), 0.0)) if len(known) else (0.0, 0.0)
    ticks = _ticks(float(least), float(most))
    return {
        "excess": [round(a, 4) if np.isfinite(a) else None for a in excess.tolist()],
        "ticks": [(t, f"{format_number(t)} %") for t in ticks],
        "suggested": int(np.searchsorted(path["n_leaves"], suggested_leaves(path))),
    }


def _ticks(least: float, most: float) -> list[float]:
    """Round numbers that cover the range from ``least`` to ``most``, with 0 among them."""
    span = max(most - least, 0.1)
    power = 10.0 ** np.floor(np.log10(span / _TICKS))
    step = next(power * m for m in (1, 2, 5, 10) if span / (power * m) <= _TICKS + 1e-9)
    first, last = int(np.floor(least / step + 1e-9)), int(np.ceil(most / step - 1e-9))
    return [float(f"{i * step:.6g}") for i in range(first, max(last, first + 1) + 1)]
