"""Pieces of SQL, which the page puts together for the tree it shows."""

from __future__ import annotations

from typing import Any

import numpy as np

from treemeans.columns import Columns
from treemeans.columns.interval import Interval
from treemeans.export.branches import features_cut, refuse_same_name
from treemeans.export.sql_conditions import Conditions
from treemeans.export.sql_dialects import dialect_called
from treemeans.report.axes import Axes
from treemeans.tree import ThresholdTree

_DIALECTS = (
    *("PostgreSQL", "MySQL", "SQLite", "SQL Server"),
    *("BigQuery", "Snowflake", "Spark", "DuckDB"),
)
_TABLE, _ALIAS = "your_table", "cluster"


def sql_of(
    tree: ThresholdTree, axes: Axes, nested: list[int], names: list[str] | None
) -> dict[str, Any]:
    """For each dialect its pieces; or why there are none.

    ``nested``: the side of each cut whose condition is asked for, 0 or 1.
    ``names``: of the clusters, where they are to be found instead of their numbers.
    """
    found, why = [], ""
    for title in _DIALECTS:
        try:
            found.append(_pieces(tree, axes, nested, names, title))
        except (ImportError, ValueError) as error:
            why = str(error)
    has_categories = any(axes.columns[m.features[0]].kind == "category" for m in axes.moves)
    return {"dialects": found, "why": "" if found else why, "categories": has_categories}


def _pieces(
    tree: ThresholdTree, axes: Axes, nested: list[int], names: list[str] | None, title: str
) -> dict[str, Any]:
    columns: Columns = axes.columns
    dialect = dialect_called(title)
    refuse_same_name(columns, features_cut(tree), one_hot=False, any_case=dialect.any_case)
    words = Conditions(columns, dialect, one_hot=False, finite=False)

    def text(expression: Any) -> str:
        return str(expression.sql(dialect=dialect.name))

    asked = [""] * tree.n_nodes
    for node in np.flatnonzero(~tree.is_leaf).tolist():
        threshold = float(tree.threshold[node])
        side = Interval(above=threshold) if nested[node] else Interval(upto=threshold)
        asked[node] = text(words.all_of(words.inside(int(tree.feature[node]), side)))
    outcomes = [str(i) for i in range(tree.n_clusters)]
    if names is not None:
        outcomes = [text(words.text(name)) for name in names]
    return {
        "title": title,
        "asked": asked,
        "missing": [text(words.any_of(words.missing([m.features[0]]))) for m in axes.moves],
        "outcomes": outcomes,
        "alias": text(words.identifier(_ALIAS)),
        "table": text(words.identifier(_TABLE)),
    }
