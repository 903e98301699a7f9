"""The panel of SQL: conditions in each dialect, from which the page builds the query of a size."""

from __future__ import annotations

from typing import Any

import numpy as np

from treemeans.columns import Columns
from treemeans.export.flat_branches import features_cut, refuse_same_name
from treemeans.export.sql_conditions import Conditions
from treemeans.export.sql_dialects import find_dialect
from treemeans.report.row_panel import RowFields
from treemeans.tree import ThresholdTree

_DIALECTS = (
    *("PostgreSQL", "MySQL", "SQLite", "SQL Server"),
    *("BigQuery", "Snowflake", "Spark", "DuckDB"),
)
_TABLE, _ALIAS = "your_table", "cluster"


def sql_entries(
    tree: ThresholdTree, fields: RowFields, smaller_side: list[int], names: list[str] | None
) -> dict[str, Any]:
    """The parts of a query in each dialect; or why SQL is not available.

    ``smaller_side``: the side of each split whose condition is written, 0 left or 1 right.
    ``names``: of the clusters, if the query is to return them instead of numbers.
    """
    found, error_text = [], ""
    for title in _DIALECTS:
        try:
            found.append(_parts(tree, fields, smaller_side, names, title))
        except (ImportError, ValueError) as error:
            error_text = str(error)
    has_categories = any(fields.columns[m.features[0]].kind == "category" for m in fields.moves)
    return {
        "dialects": found,
        "unavailable": "" if found else error_text,
        "categories": has_categories,
    }


def _parts(
    tree: ThresholdTree,
    fields: RowFields,
    smaller_side: list[int],
    names: list[str] | None,
    title: str,
) -> dict[str, Any]:
    columns: Columns = fields.columns
    dialect = find_dialect(title)
    refuse_same_name(columns, features_cut(tree), one_hot=False, any_case=dialect.any_case)
    words = Conditions(columns, dialect, one_hot=False, finite=False)

    def text(expression: Any) -> str:
        return str(expression.sql(dialect=dialect.name))

    conditions = [""] * tree.n_nodes
    for node in np.flatnonzero(~tree.is_leaf).tolist():
        split = tree.split(node)
        side = split.right if smaller_side[node] else split.left
        conditions[node] = text(words.all_of(words.inside(split.feature, side)))
    outcomes = [str(i) for i in range(tree.n_clusters)]
    if names is not None:
        outcomes = [text(words.text(name)) for name in names]
    return {
        "title": title,
        "conditions": conditions,
        "missing": [text(words.any_of(words.missing([m.features[0]]))) for m in fields.moves],
        "outcomes": outcomes,
        "alias": text(words.identifier(_ALIAS)),
        "table": text(words.identifier(_TABLE)),
    }
