"""A tree in the DOT language of Graphviz."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from treemeans.export.model_or_tree import picture_names, reader_of
from treemeans.tree_layout.colors import text_color_on
from treemeans.tree_layout.tree_labels import TreeLabels, label_tree

_WIDEST, _THINNEST = 6.0, 0.8  # line, in points
_HEAD = (
    "digraph tree {",
    '  graph [fontname="Helvetica,Arial,sans-serif"];',
    '  node [shape=box, style="rounded,filled", fillcolor="#f4f4f4", color="#999999", '
    'fontname="Helvetica,Arial,sans-serif"];',
    '  edge [color="#999999", arrowhead=none, fontsize=11, fontname="Helvetica,Arial,sans-serif"];',
)


def export_graphviz(
    model: Any,
    feature_names: Sequence[str] | None = None,
    *,
    cluster_names: Sequence[str] | str | None = None,
    max_leaves: int | None = None,
) -> str:
    r"""The tree in the DOT language, for Graphviz to draw.

    Names are quoted: whatever they hold, they appear as they are. To draw the tree without
    Graphviz, see ``plot_tree``.

    Parameters
    ----------
    model, feature_names, cluster_names, max_leaves
        As in :func:`plot_tree`.

    Returns
    -------
    str

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from treemeans import ExKMC, export_graphviz
    >>> iris = load_iris()
    >>> model = ExKMC(3, max_leaf_nodes=3, random_state=0).fit(iris.data)
    >>> dot = export_graphviz(model, iris.feature_names)
    >>> print("\n".join(line for line in dot.split("\n") if "n0" in line))
      n0 [label="petal length (cm)"];
      n0 -> n1 [label=" ≤ 2.45 ", penwidth=2];
      n0 -> n2 [label=" > 2.45 ", penwidth=4];
    """
    names = picture_names(model, cluster_names)
    labels = label_tree(reader_of(model, feature_names), names, max_leaves)
    return "\n".join([*_lines(labels), "}", ""])


def _lines(labels: TreeLabels) -> Iterable[str]:
    tree = labels.tree
    yield from _HEAD
    if labels.caption:
        yield f"  label={quoted(labels.caption)};"
    for node in range(tree.n_nodes):
        if node in labels.clusters:
            yield _leaf(labels, node)
            continue
        split = labels.splits[node]
        yield f"  n{node} [label={quoted(split.name)}];"
        for child, words in ((tree.left[node], split.left), (tree.right[node], split.right)):
            width = max(_THINNEST, _WIDEST * labels.share(child))
            yield f"  n{node} -> n{child} [label={quoted(f' {words} ')}, penwidth={width:.3g}];"


def _leaf(labels: TreeLabels, node: int) -> str:
    lines = [labels.clusters[node]]
    if node in labels.row_counts:
        lines.append(labels.row_counts[node])
    fill = labels.fill_color(node)
    colors = f'fillcolor="{fill}", fontcolor="{text_color_on(fill)}"'
    return f"  n{node} [label={quoted(*lines)}, {colors}];"


def quoted(*lines: str) -> str:
    r"""Lines of text as one quoted string of DOT, in which nothing is a command.

    In quotes Graphviz still knows backslashes (``\n``, ``\N``) and entities (``&lt;``).

    Examples
    --------
    >>> print(quoted('a "b"', "c\\N &lt;"))
    "a \"b\"\nc\\N &amp;lt;"
    """
    escaped = (
        line.replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"') for line in lines
    )
    return '"' + "\\n".join(escaped) + '"'
