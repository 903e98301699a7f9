"""A tree as indented text."""

from collections.abc import Sequence
from typing import Any

from treemeans.columns.number_text import format_rows
from treemeans.export.model_or_tree import names_of, reader_of
from treemeans.tree_layout.tree_labels import cluster_names_or_numbers


def export_text(
    model: Any,
    feature_names: Sequence[str] | None = None,
    *,
    cluster_names: Sequence[str] | str | None = None,
) -> str:
    """The tree as text, a line for each split and each leaf.

    Parameters
    ----------
    model : fitted model or ThresholdTree
        A model knows the names, units and categories of its columns.
    feature_names : sequence of str, optional
        Names of the columns; by default the model's, or ``x0``, ``x1``, ...
    cluster_names : sequence of str, "automatic" or "numbers", optional
        Names of the clusters, or ``"automatic"`` for those in ``cluster_names_``. By default
        the names given with ``with_names``, or ``cluster 0``, ``cluster 1``, ...

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from treemeans import ExKMC, export_text
    >>> iris = load_iris()
    >>> model = ExKMC(3, max_leaf_nodes=3, random_state=0).fit(iris.data)
    >>> print(export_text(model, iris.feature_names))
    |-- petal length (cm) <= 2.45: cluster 1 (50 rows)
    |-- petal length (cm) > 2.45
    |   |-- petal length (cm) <= 5.15: cluster 0 (66 rows)
    |   |-- petal length (cm) > 5.15: cluster 2 (34 rows)
    """
    reader = reader_of(model, feature_names)
    tree = reader.tree
    names = cluster_names_or_numbers(tree.n_clusters, names_of(model, cluster_names))
    lines: list[str] = []
    stack: list[tuple[int, int, str]] = [(0, 0, "")]
    while stack:
        node, depth, condition = stack.pop()
        indent = "|   " * max(depth - 1, 0) + ("|-- " if depth else "")
        if tree.is_leaf[node]:
            outcome = f"{names[tree.label[node]]} ({format_rows(tree.weight[node])})"
            lines.append(f"{indent}{condition}: {outcome}" if condition else outcome)
            continue
        if condition:
            lines.append(indent + condition)
        left, right = reader.sides(node)
        stack.append((int(tree.right[node]), depth + 1, right))
        stack.append((int(tree.left[node]), depth + 1, left))
    return "\n".join(lines)
