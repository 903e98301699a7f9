"""A tree as a sequence of tests, for languages in which nesting is limited."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from treemeans.columns import Columns
from treemeans.tree import ThresholdTree, parents_first
from treemeans.value_set import ValueSet

_ONLY_MISSING = ValueSet(above=np.inf, missing=True)


@dataclass(frozen=True)
class Branch:
    """A test: rows whose ``feature`` is in ``side`` leave the sequence, for tests of their own.

    Attributes
    ----------
    feature : number of the column
    side : its values that pass the test
    then : the tests of the rows that pass
    may_be_missing : whether rows come here that lack a value of the column
    """

    feature: int
    side: ValueSet
    then: Chain
    may_be_missing: bool = False


@dataclass(frozen=True)
class Chain:
    """Tests in sequence: the first that a row passes decides which tests follow.

    Attributes
    ----------
    branches : the tests, in order
    label : cluster of the rows that pass no test; None if they are refused, since they lack a
        value where the tree does not accept that
    """

    branches: tuple[Branch, ...]
    label: int | None


def chain(tree: ThresholdTree) -> Chain:
    """The tree as a sequence of tests.

    Of the two sides of a split, the one with fewer leaves is nested, the other goes on in the
    sequence (the right one if they are equal). So nesting grows with the logarithm of the number of
    leaves, not with the depth of the tree. Splits below which all is one cluster are left out.

    If some node of the tree accepts missing values, those that do not have a test of their own
    before them, which refuses the rows that lack a value; else there is none, and the rows are
    refused before the first test.

    Examples
    --------
    >>> tree = ThresholdTree([0, -1, -1], [2.5, 0, 0], [1, -1, -1], [2, -1, -1], [0, 0, 1], 1)
    >>> [(branch.side.upto, branch.then.label) for branch in chain(tree).branches]
    [(2.5, 0)]
    >>> chain(tree).label
    1
    """
    may_be_missing = frozenset(features_cut(tree)) if tree.accepts_missing else frozenset[int]()
    return _chain_from(tree, 0, _leaves_that_matter(tree), may_be_missing)


def _chain_from(
    tree: ThresholdTree, node: int, n_leaves: list[int], may_be_missing: frozenset[int]
) -> Chain:
    """The tests from a node on; ``may_be_missing``: columns that rows may lack here."""
    branches = []
    while n_leaves[node] > 1:
        split = tree.split(node)
        feature, side, other = split.feature, split.left, split.right
        small, node = int(tree.left[node]), int(tree.right[node])
        if n_leaves[node] < n_leaves[small]:
            side, other, small, node = other, side, node, small
        if split.missing_left is None and feature in may_be_missing:
            branches.append(Branch(feature, _ONLY_MISSING, Chain((), None), True))
            may_be_missing -= {feature}
        is_open = feature in may_be_missing
        inside = may_be_missing if side.missing else may_be_missing - {feature}
        branches.append(Branch(feature, side, _chain_from(tree, small, n_leaves, inside), is_open))
        may_be_missing = may_be_missing if other.missing else may_be_missing - {feature}
    return Chain(tuple(branches), _any_label(tree, node))


def _any_label(tree: ThresholdTree, node: int) -> int:
    """The label of a leaf below."""
    while tree.left[node] >= 0:
        node = int(tree.left[node])
    return int(tree.label[node])


def _leaves_that_matter(tree: ThresholdTree) -> list[int]:
    """Leaves below each node, where those of a subtree that is one cluster count as one.

    Not so if the subtree refuses missing values that the tree accepts elsewhere.
    """
    n_leaves, label = [1] * tree.n_nodes, tree.label.tolist()
    refuses = (tree.missing_left < 0) & tree.accepts_missing
    for node in reversed(parents_first(tree.left, tree.right)):
        left, right = int(tree.left[node]), int(tree.right[node])
        if left < 0:
            continue
        label[node] = label[left]
        if n_leaves[left] + n_leaves[right] > 2 or label[left] != label[right] or refuses[node]:
            n_leaves[node] = n_leaves[left] + n_leaves[right]
    return n_leaves


def features_cut(tree: ThresholdTree) -> list[int]:
    """The columns that the tree splits, in the order in which it grew."""
    inner = np.flatnonzero(~tree.is_leaf)
    order = inner[np.argsort(tree.growth[inner], kind="stable")]
    return list(dict.fromkeys(tree.feature[order].tolist()))


def refuse_same_name(
    columns: Columns, features: Iterable[int], *, one_hot: bool = True, any_case: bool = False
) -> None:
    """Refuse two columns of one name that the tree splits: exports find columns by name."""
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
