"""A tree as indented text."""

from collections.abc import Sequence

from treemeans.tree import ThresholdTree


def export_text(tree: ThresholdTree, feature_names: Sequence[str] | None = None) -> str:
    """The tree as text, a line for each cut and each leaf.

    Parameters
    ----------
    tree : ThresholdTree
        The tree, e.g. ``model.tree_``.
    feature_names : sequence of str, optional
        Names of the columns; by default ``x0``, ``x1``, ...

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from treemeans import ExKMC, export_text
    >>> iris = load_iris()
    >>> model = ExKMC(3, max_leaf_nodes=3, random_state=0).fit(iris.data)
    >>> print(export_text(model.tree_, iris.feature_names))
    |-- petal length (cm) <= 2.45: cluster 1 (50 rows)
    |-- petal length (cm) > 2.45
    |   |-- petal length (cm) <= 5.15: cluster 2 (66 rows)
    |   |-- petal length (cm) > 5.15: cluster 0 (34 rows)
    """
    if feature_names is not None and len(feature_names) != tree.n_features:
        raise ValueError(
            f"The tree has {tree.n_features} columns, but {len(feature_names)} names were given."
        )
    names = [f"x{i}" for i in range(tree.n_features)] if feature_names is None else feature_names
    lines: list[str] = []
    stack: list[tuple[int, int, str]] = [(0, 0, "")]
    while stack:
        node, depth, condition = stack.pop()
        indent = "|   " * max(depth - 1, 0) + ("|-- " if depth else "")
        if tree.is_leaf[node]:
            outcome = f"cluster {tree.label[node]} ({tree.weight[node]:g} rows)"
            lines.append(f"{indent}{condition}: {outcome}" if condition else outcome)
            continue
        if condition:
            lines.append(indent + condition)
        name, threshold = names[tree.feature[node]], tree.threshold[node]
        stack.append((int(tree.right[node]), depth + 1, f"{name} > {threshold:.6g}"))
        stack.append((int(tree.left[node]), depth + 1, f"{name} <= {threshold:.6g}"))
    return "\n".join(lines)
