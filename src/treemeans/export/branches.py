"""A tree as tests in a row, for languages in which nesting is narrow."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from treemeans.columns import Columns
from treemeans.columns.interval import Interval
from treemeans.tree import ThresholdTree, parents_first


@dataclass(frozen=True)
class Branch:
    """Rows with ``side`` of ``feature`` leave the row of tests here, for tests of their own."""

    feature: int
    side: Interval
    then: Chain


@dataclass(frozen=True)
class Chain:
    """Tests in a row: the first that holds says where to go on.

    Attributes
    ----------
    branches : what is tested, in order
    label : cluster of the rows for which no test holds
    """

    branches: tuple[Branch, ...]
    label: int


def chain(tree: ThresholdTree) -> Chain:
    """The tree as tests in a row.

    Of the two sides of a cut, the one with fewer leaves is nested, the other goes on in the row
    (the right one if they are equal). So nesting grows with the logarithm of the number of
    leaves, not with the depth of the tree. Cuts below which all is one cluster are left out.

    Examples
    --------
    >>> tree = ThresholdTree([0, -1, -1], [2.5, 0, 0], [1, -1, -1], [2, -1, -1], [0, 0, 1], 1)
    >>> [(branch.side.upto, branch.then.label) for branch in chain(tree).branches]
    [(2.5, 0)]
    >>> chain(tree).label
    1
    """
    return _chain_from(tree, 0, _leaves_that_matter(tree))


def _chain_from(tree: ThresholdTree, node: int, n_leaves: list[int]) -> Chain:
    branches = []
    while n_leaves[node] > 1:
        feature, threshold = int(tree.feature[node]), float(tree.threshold[node])
        left, right = int(tree.left[node]), int(tree.right[node])
        side, small, node = Interval(upto=threshold), left, right
        if n_leaves[right] < n_leaves[left]:
            side, small, node = Interval(above=threshold), right, left
        branches.append(Branch(feature, side, _chain_from(tree, small, n_leaves)))
    return Chain(tuple(branches), _any_label(tree, node))


def _any_label(tree: ThresholdTree, node: int) -> int:
    """The label of a leaf below."""
    while tree.left[node] >= 0:
        node = int(tree.left[node])
    return int(tree.label[node])


def _leaves_that_matter(tree: ThresholdTree) -> list[int]:
    """Leaves below each node, where those of a part that is one cluster are one."""
    n_leaves, label = [1] * tree.n_nodes, tree.label.tolist()
    for node in reversed(parents_first(tree.left, tree.right)):
        left, right = int(tree.left[node]), int(tree.right[node])
        if left < 0:
            continue
        label[node] = label[left]
        if n_leaves[left] + n_leaves[right] > 2 or label[left] != label[right]:
            n_leaves[node] = n_leaves[left] + n_leaves[right]
    return n_leaves


def features_cut(tree: ThresholdTree) -> list[int]:
    """The columns that the tree cuts, in the order in which it grew."""
    inner = np.flatnonzero(~tree.is_leaf)
    order = inner[np.argsort(tree.growth[inner], kind="stable")]
    return list(dict.fromkeys(tree.feature[order].tolist()))


def refuse_same_name(
    columns: Columns, features: Iterable[int], *, one_hot: bool = True, any_case: bool = False
) -> None:
    """Where columns are found by name, two that are cut must not share one."""
    found: dict[str, object] = {}
    for feature in features:
        column = columns[feature]
        is_source = column.kind == "category" and not one_hot
        name = column.source if is_source else column.name
        owner = (name,) if is_source else feature
        if found.setdefault(name.lower() if any_case else name, owner) != owner:
            raise ValueError(
                f"The tree cuts two columns that are both called {name!r}; "
                "give each a name of its own with `with_columns(names=...)`."
            )
