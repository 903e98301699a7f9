"""Every size of the tree, as what changes from one to the next."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemeans.columns.decimals import written
from treemeans.explain.knee import suggested_leaves
from treemeans.record import FitRecord
from treemeans.report.wording import same_group, verdict

_TICKS = 4  # on the axis of costs, about


def sizes_of(record: FitRecord) -> list[dict[str, Any]]:
    """Of each size: which nodes are cut that were not, or the other way round; labels that change.

    The labels are those of the nodes as leaves.
    """
    tree = record.tree
    inner, label = np.zeros(tree.n_nodes, dtype=bool), np.full(tree.n_nodes, -1)
    found = []
    for row in record.path:
        size = record.sizes[int(row["n_leaves"])]
        leaves = leaves_in(record, int(row["n_leaves"]))
        relabelled = leaves[size.label[leaves] != label[leaves]]
        label[relabelled] = size.label[relabelled]
        found.append(
            {
                "leaves": int(row["n_leaves"]),
                "flips": np.flatnonzero(size.inner != inner).tolist(),
                "labels": [(node, int(label[node])) for node in relabelled.tolist()],
                "verdict": verdict(float(row["ratio"])),
                "same": same_group(float(row["accuracy"])),
            }
        )
        inner = size.inner
    return found


def leaves_in(record: FitRecord, n_leaves: int) -> NDArray[np.intp]:
    """The leaves of one size, as nodes of the largest tree."""
    inner = record.sizes[n_leaves].inner
    kept = record.tree.ancestor_in(inner) == np.arange(record.tree.n_nodes)
    return np.flatnonzero(kept & ~inner)


def curve_of(path: NDArray[np.void]) -> dict[str, Any]:
    """The cost of every size above that of the reference, in percent, and the knee."""
    above = np.where(np.isfinite(path["ratio"]), 100 * (path["ratio"] - 1), np.nan)
    known = above[np.isfinite(above)]
    most, least = (max(known.max(), 0.0), min(known.min(), 0.0)) if len(known) else (0.0, 0.0)
    ticks = _ticks(float(least), float(most))
    return {
        "above": [round(a, 4) if np.isfinite(a) else None for a in above.tolist()],
        "ticks": [(t, f"{written(t)} %") for t in ticks],
        "knee": int(np.searchsorted(path["n_leaves"], suggested_leaves(path))),
    }


def _ticks(least: float, most: float) -> list[float]:
    """Round numbers from ``least`` or below to ``most`` or above, with 0 among them."""
    span = max(most - least, 0.1)
    power = 10.0 ** np.floor(np.log10(span / _TICKS))
    step = next(power * m for m in (1, 2, 5, 10) if span / (power * m) <= _TICKS + 1e-9)
    first, last = int(np.floor(least / step + 1e-9)), int(np.ceil(most / step - 1e-9))
    return [float(f"{i * step:.6g}") for i in range(first, max(last, first + 1) + 1)]
