"""Summarises a fitted model as one plain dict, from which the page is rendered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemeans.columns.number_text import format_rows as rows_in_words
from treemeans.explain.model_facts import Facts
from treemeans.fit_result import FitResult
from treemeans.report.group_panel import GroupDescriptions
from treemeans.report.histograms import ReportHistograms
from treemeans.report.profile_panel import ProfileColumns
from treemeans.report.report_text import ReportText, with_groups
from treemeans.report.row_panel import RowFields, example_rows
from treemeans.report.size_panel import cost_curve, size_entries
from treemeans.report.sql_panel import sql_entries
from treemeans.report.tree_panel import node_entries, sum_below
from treemeans.report.trust_panel import alternative_entries, trust_entries
from treemeans.tree_layout.colors import BASE, edge, fill, text_color_on
from treemeans.tree_layout.text_fitting import one_line
from treemeans.tree_layout.tree_labels import cluster_names_or_numbers

_CARD, _DARK_CARD = "#ffffff", "#191f26"  # colours of report.css
_PATTERNS = 4  # patterns of report.css
FEW = 5  # rows; of fewer, a report that holds no rows tells no averages and draws no histogram


def summarize(
    model: Any,
    X: Any = None,
    *,
    title: str | None = None,
    cluster_names: Sequence[str] | None = None,
    rows: int = 0,
    stability: Any = None,
    alternatives: Any = None,
) -> dict[str, Any]:
    """Everything that a report shows, as lists, dicts, numbers and texts.

    Parameters are those of ``report_html``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from treemeans import ExKMC
    >>> model = ExKMC(3, max_leaf_nodes=4, random_state=0).fit(load_iris().data)
    >>> summary = summarize(model)
    >>> [size["leaves"] for size in summary["sizes"]]
    [3, 4]
    >>> summary["sizes"][1]["agreement"]
    '98 % of the rows are in the same group as in the original grouping.'
    """
    record = model._fit_result
    facts = record.facts(record.tree.n_leaves)
    text = ReportText(facts.tree, facts.columns)
    fields = RowFields(facts, text)
    cluster, table = (np.empty(0, np.int32), None) if X is None else _checked(model, X)
    fewest = FEW if rows == 0 else 1
    groups = GroupDescriptions(record, text, _rows_of_nodes(record, table), fewest)
    conditions, condition_of_node = fields.conditions()
    nodes = node_entries(facts, text, fields, condition_of_node)
    if cluster_names is None:
        names, shown = list(record.cluster_names), record.shown_names
    else:
        names = cluster_names_or_numbers(facts.tree.n_clusters, cluster_names)
        shown = tuple(names)
    given = cluster_names is not None or bool(record.given_names)
    summary = {
        "title": one_line(title) if title else "What the groups are",
        "subtitle": _subtitle(facts),
        "version": f"treemeans {version('treemeans')}",
        "start_size": int(np.searchsorted(record.path["n_leaves"], model.n_leaves_)),
        "groups": _groups(names, shown),
        "fields": fields.entries(),
        "conditions": conditions,
        "nodes": nodes,
        "sizes": [
            size | {"descriptions": changes}
            for size, changes in zip(size_entries(record), groups.changes, strict=True)
        ],
        "curve": cost_curve(record),
        "condition_texts": groups.condition_texts,
        "sql": sql_entries(facts.tree, fields, nodes["smaller_side"], names if given else None),
        "typical_row": fields.typical_row(facts, table),
        "fewest_rows": fewest,
        "warnings": [
            {
                "groups": list(each.clusters),
                # The sentence about a category names a column, which stays as it is.
                "what": each.what if each.kind == "one category" else with_groups(each.what),
                "advice": with_groups(each.advice),
            }
            for each in (model if X is None else model._with_checked_segments(X)).warnings_
        ],
        "trust": trust_entries(stability),
        "alternatives": alternative_entries(alternatives),
    }
    relevance = _relevance(record, groups)
    counted = {each.feature for each in record.categories}
    if table is None:
        profiles = ProfileColumns(text, relevance, {}, counted)
        descriptions = groups.entries({}, profiles)
        without = {"histograms": [], "example_rows": None, "descriptions": descriptions}
        return summary | without | {"profiles": profiles.entries()}
    histograms = ReportHistograms(text, table, relevance, fewest)
    profiles = ProfileColumns(text, relevance, histograms.of_column, counted)
    index = X.index if hasattr(X, "iloc") else None
    return summary | {
        "histograms": histograms.entries,
        "field_histograms": [histograms.of_column.get(m.features[0], -1) for m in fields.moves],
        "threshold_positions": histograms.threshold_positions(),
        "ranges": histograms.ranges(),
        "too_few": histograms.too_few,
        "example_rows": example_rows(fields, table, cluster, index, rows) if rows else None,
        "descriptions": groups.entries(histograms.of_column, profiles),
        "profiles": profiles.entries(),
    }


def _checked(model: Any, X: Any) -> tuple[NDArray[np.int32], Any]:
    """The cluster of each row, and the rows as an array or sparse matrix."""
    return model.predict(X), model._validate(X, reset=False)  # predict refuses NaN and infinity


def _rows_of_nodes(record: FitResult, table: Any) -> NDArray[np.float64] | None:
    """How many rows come to each node of the largest tree; None if that is not known.

    A loaded model knows only the weights of its nodes; these are numbers of rows if they are
    whole. Weights that are not say nothing, and the rows at hand are counted instead.
    """
    tree = record.tree
    if record.leaf_of_row is not None:
        leaf = record.leaf_of_row
    elif (tree.weight == np.floor(tree.weight)).all():
        return tree.weight
    elif table is not None:
        leaf = tree.apply(table)
    else:
        return None
    return sum_below(tree, np.bincount(leaf, minlength=tree.n_nodes)[tree.leaves])


def _relevance(record: FitResult, groups: GroupDescriptions) -> Counter[int]:
    """How relevant each column is: how much groups differ in it, and how much its splits save."""
    relevance = Counter(groups.relevance)
    saved = record.tree.cost_saved()
    total = sum(relevance.values()) or 1.0
    for feature in np.unique(record.tree.feature[~record.tree.is_leaf]).tolist():
        share = saved[feature] / saved.sum() if saved.any() else 0.0
        relevance[feature] += total * share + 1e-9  # type: ignore[assignment]
    return relevance


def _subtitle(facts: Facts) -> str:
    n = facts.tree.n_clusters
    return f"{rows_in_words(float(facts.weight.sum()))} in {n} group{'' if n == 1 else 's'}"


def _groups(names: Sequence[str], shown: Sequence[str]) -> list[dict[str, Any]]:
    """Name and colours of each group: of areas, of their edges, and of text on its area.

    ``name`` is what the page shows; ``plain`` is the name alone, which a reader may edit.

    Edges stand out from the card, light or dark, at a contrast of 3 at least. Beyond eight groups
    colours are shades of the same eight, and a pattern tells them apart.
    """
    return [
        {
            "name": one_line(shown[i]),
            "plain": one_line(names[i]),
            "fill": fill(i),
            "edge": edge(i, _CARD),
            "edge_dark": edge(i, _DARK_CARD),
            "text": text_color_on(fill(i)),
            "pattern": min(i // len(BASE), _PATTERNS),
        }
        for i in range(len(names))
    ]
