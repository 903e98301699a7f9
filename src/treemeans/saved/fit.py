"""What a fit leaves behind, without its rows, as a document and back."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemeans.columns import Column
from treemeans.path import PATH_DTYPE, LeafSums, path_row
from treemeans.record import FitRecord
from treemeans.reference import Reference
from treemeans.saved.entries import Entries, UnreadableError
from treemeans.saved.parameters import NotSaved
from treemeans.saved.sizes import Sizes, read_steps, write_steps
from treemeans.tree import ThresholdTree

_PATH = ("surrogate_cost", "kmeans_cost", "accuracy")  # the rest of a row follows from these
_COLUMN = {field.name: field.default for field in fields(Column)}


def write_fit(record: FitRecord) -> dict[str, Any]:
    """The record as plain values.

    Means of clusters, profiles and ratios are not in it: they follow from sums and costs.
    """
    one_space = record.profile_sums is record.sums
    return {
        "columns": [_write_column(column) for column in record.columns],
        "short": bool(record.short),
        "reference": {
            "centers": record.reference.centers.tolist(),
            "cost": float(record.reference_cost),
            "pipeline": record.reference.pipeline is not None,
        },
        "tree": _write_tree(record.tree),
        "sizes": write_steps(Sizes.of(record.tree, record.sizes)),
        "path": {name: record.path[name].tolist() for name in _PATH},
        "centers": record.centers.tolist(),
        "hits": record.sums.hits.tolist(),
        "sums": _write_sums(record.sums),
        "profile": None if one_space else _write_sums(record.profile_sums),
        "spread": record.spread.tolist(),
    }


def read_fit(entries: Entries) -> FitRecord:
    """The record; or UnreadableError."""
    columns = tuple(_read_column(entry) for entry in entries.each("columns", at_least=1))
    reference = entries.within("reference")
    in_pipeline = reference.flag("pipeline")
    centers = reference.matrix("centers", None, None if in_pipeline else len(columns))
    cost = reference.number("cost", least=0.0)
    reference.end()

    tree = _read_tree(entries.within("tree"), len(columns), len(centers))
    sizes = read_steps(entries.each("sizes", at_least=1), tree)
    hits = entries.matrix("hits", tree.n_leaves, len(centers), least=0.0)
    sums = profile = _read_sums(entries.within("sums"), hits, centers.shape[1])
    if in_pipeline or not entries.is_null("profile"):
        profile = _read_sums(entries.within("profile"), hits, len(columns))
    return FitRecord(
        tree=tree,
        sizes=sizes,
        path=_read_path(entries.within("path"), sizes, cost),
        reference=Reference(centers, NotSaved("pipeline") if in_pipeline else None, True),
        reference_cost=cost,
        centers=entries.matrix("centers", *centers.shape),
        sums=sums,
        profile_sums=profile,
        spread=entries.floats("spread", len(columns), least=0.0),
        columns=columns,
        short=entries.flag("short"),
        rows=None,
    )


def _write_column(column: Column) -> dict[str, Any]:
    values = {name: getattr(column, name) for name in _COLUMN}
    return {name: value for name, value in values.items() if value != _COLUMN[name]}


def _read_column(entry: Entries) -> Column:
    # What an entry holds is told by what stands where there is none: False, None or text.
    reads: dict[Any, Any] = {False: entry.flag, None: entry.number}
    given: dict[str, Any] = {
        name: reads.get(default, entry.text)(name)
        for name, default in _COLUMN.items()
        if name == "name" or entry.has(name)
    }
    entry.end()
    try:
        return Column(**given)
    except ValueError as error:
        raise UnreadableError(f"a column cannot be: {error}") from error


def _write_tree(tree: ThresholdTree) -> dict[str, Any]:
    return {
        "feature": tree.feature.tolist(),
        "threshold": _with_nulls(tree.threshold),
        "left": tree.left.tolist(),
        "right": tree.right.tolist(),
        "label": tree.label.tolist(),
        "growth": tree.growth.tolist(),
        "below": _with_nulls(tree.gap[:, 0]),
        "above": _with_nulls(tree.gap[:, 1]),
        "weight": tree.weight.tolist(),
        "costs": tree.costs.tolist(),
    }


def _read_tree(entries: Entries, n_features: int, n_clusters: int) -> ThresholdTree:
    feature = entries.integers("feature", None, -1, n_features - 1)
    n = len(feature)
    if n == 0:
        raise UnreadableError("its tree has no nodes")
    gap = [entries.floats(side, n, gaps=True) for side in ("below", "above")]
    empty = [-np.inf, np.inf]  # no row came to that side of a cut
    parts: dict[str, Any] = {
        "threshold": entries.floats("threshold", n, gaps=True),
        "left": entries.integers("left", n, -1, n - 1),
        "right": entries.integers("right", n, -1, n - 1),
        "label": entries.integers("label", n, 0, n_clusters - 1),
        "growth": entries.integers("growth", n, 0, n),
        "weight": entries.floats("weight", n, least=0.0),
        "costs": entries.matrix("costs", n, n_clusters),
        "gap": np.where(np.isnan(gap), np.array(empty)[:, None], gap).T,
    }
    entries.end()
    try:
        return ThresholdTree(feature=feature, n_features=n_features, **parts)
    except ValueError as error:
        raise UnreadableError(f"its tree is none: {error}") from error


def _write_sums(sums: LeafSums) -> dict[str, Any]:
    return {"shift": sums.shift.tolist(), "leaves": sums.sums.tolist()}


def _read_sums(entries: Entries, hits: NDArray[np.float64], dimension: int) -> LeafSums:
    sums = LeafSums(
        sums=entries.matrix("leaves", len(hits), dimension),
        hits=hits,
        shift=entries.floats("shift", dimension),
    )
    entries.end()
    return sums


def _read_path(entries: Entries, sizes: Sizes, reference_cost: float) -> NDArray[np.void]:
    costs, means, accuracy = (entries.floats(name, len(sizes)).tolist() for name in _PATH)
    entries.end()
    path = np.zeros(len(sizes), dtype=PATH_DTYPE)
    for i, n_leaves in enumerate(sizes):
        path[i] = path_row(n_leaves, costs[i], means[i], reference_cost, accuracy[i])
    return path


def _with_nulls(values: NDArray[np.float64]) -> list[float | None]:
    return [value if np.isfinite(value) else None for value in values.tolist()]
