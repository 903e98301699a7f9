"""What a notebook shows of a fitted model: its tree, and its rules as text."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from treemeans.columns import Columns, Reader
from treemeans.export.svg import tree_svg
from treemeans.tree import ThresholdTree
from treemeans.tree_layout.tree_labels import label_tree

MAX_LEAVES = 60
"""Leaves of the largest tree that is drawn whole."""
_MAX_LINES = 500  # of text


def tree_html(
    tree: ThresholdTree, columns: Columns, rules: str, cluster_names: Sequence[str] | None = None
) -> str:
    """The picture of a tree, with its rules as text folded away below."""
    labels = label_tree(Reader(tree, columns), cluster_names, MAX_LEAVES)
    title = f"Tree of {labels.tree.n_leaves} leaves for {tree.n_clusters} clusters"
    return (
        '<div class="treemeans" style="margin-top:0.8em;overflow-x:auto;font-size:13px">\n'
        f"{tree_svg(labels, title)}\n"
        '<details style="margin-top:0.4em"><summary style="cursor:pointer">Rules as text</summary>'
        f"<pre>{escape(_cut(rules))}</pre></details>\n</div>"
    )


def _cut(rules: str) -> str:
    lines = rules.split("\n")
    if len(lines) <= _MAX_LINES:
        return rules
    more = len(lines) - _MAX_LINES
    return "\n".join([*lines[:_MAX_LINES], f"... and {more} more lines: export_text has them all"])
