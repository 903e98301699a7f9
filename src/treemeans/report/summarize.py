"""A fitted model as one plain dict: everything a report shows, and nothing left to work out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

from treemeans.columns.decimals import rows
from treemeans.drawing.labels import one_line
from treemeans.drawing.palette import fill, ink, words_on
from treemeans.drawing.subject import names_of_clusters
from treemeans.explain.facts import Facts
from treemeans.model import TreeModel
from treemeans.record import FitRecord
from treemeans.report.axes import Axes
from treemeans.report.groups import GroupVersions
from treemeans.report.histograms import Histograms
from treemeans.report.nodes import nodes_of
from treemeans.report.rows import middle_row, sample_of
from treemeans.report.sizes import curve_of, sizes_of
from treemeans.report.sql import sql_of
from treemeans.report.wording import Wording


def summarize(
    model: TreeModel,
    X: Any = None,
    *,
    title: str | None = None,
    cluster_names: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Everything that a report shows, as lists, dicts, numbers and text.

    Parameters are those of ``report_html``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from treemeans import ExKMC
    >>> model = ExKMC(3, max_leaf_nodes=4, random_state=0).fit(load_iris().data)
    >>> summary = summarize(model)
    >>> [size["leaves"] for size in summary["sizes"]]
    [3, 4]
    >>> summary["sizes"][1]["same"]
    '98 % of the rows are in the same group as in the original grouping.'
    """
    record = model._record
    facts = record.facts(record.tree.n_leaves)
    wording = Wording(facts.tree, facts.columns)
    axes = Axes(facts, wording)
    groups = GroupVersions(record, wording)
    goals, added = axes.goals()
    nodes = nodes_of(facts, wording, axes, added)
    names = names_of_clusters(facts.tree.n_clusters, cluster_names)
    summary = {
        "title": one_line(title) if title else "What the groups are",
        "made": f"treemeans {version('treemeans')}",
        "lead": _lead(facts),
        "start": int(np.searchsorted(record.path["n_leaves"], model.n_leaves_)),
        "groups": _groups(facts, None if cluster_names is None else names),
        "axes": axes.described(),
        "goals": goals,
        "nodes": nodes,
        "sizes": [
            size | {"groups": begins}
            for size, begins in zip(sizes_of(record), groups.begins, strict=True)
        ],
        "curve": curve_of(record.path),
        "phrases": groups.phrases,
        "sql": sql_of(facts.tree, axes, nodes["nested"], names if cluster_names else None),
        "middle": middle_row(axes, facts),
    }
    return summary | _of_rows(model, X, record, wording, axes, groups)


def _of_rows(
    model: TreeModel,
    X: Any,
    record: FitRecord,
    wording: Wording,
    axes: Axes,
    groups: GroupVersions,
) -> dict[str, Any]:
    """What is known only if there are rows: histograms, ranges, and rows to try."""
    if X is None:
        return {"histograms": [], "rows": None, "versions": groups.versions({})}
    cluster = model.predict(X)  # which refuses what cannot be
    table = model._validate(X, reset=False)
    histograms = Histograms(wording, table, _telling(record, groups))
    return {
        "histograms": histograms.drawn,
        "histogram_of": [histograms.of_column.get(m.features[0], -1) for m in axes.moves],
        "marks": histograms.marks(),
        "ranges": histograms.ranges(),
        "rows": sample_of(axes, table, cluster, X.index if hasattr(X, "iloc") else None),
        "versions": groups.versions(histograms.of_column),
    }


def _telling(record: FitRecord, groups: GroupVersions) -> Counter[int]:
    """How much each column tells: as what sets groups apart, and as what the tree asks."""
    telling = Counter(groups.telling)
    saved = record.tree.cost_saved()
    total = sum(telling.values()) or 1.0
    for feature in np.unique(record.tree.feature[~record.tree.is_leaf]).tolist():
        share = saved[feature] / saved.sum() if saved.any() else 0.0
        telling[feature] += total * share + 1e-9  # type: ignore[assignment]
    return telling


def _lead(facts: Facts) -> str:
    n = facts.tree.n_clusters
    return f"{rows(float(facts.weight.sum()))} in {n} group{'' if n == 1 else 's'}"


def _groups(facts: Facts, names: list[str] | None) -> list[dict[str, str]]:
    """Name and colours of each group: of areas, of lines on a light ground, of words on an area."""
    return [
        {
            "name": f"Group {i}" if names is None else names[i],
            "fill": fill(i),
            "ink": ink(i),
            "words": words_on(fill(i)),
        }
        for i in range(facts.tree.n_clusters)
    ]
