"""ThresholdTree: a finished tree, as flat arrays that cannot be changed."""

from __future__ import annotations

import math
import numbers
from collections import deque
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from treemeans import _core
from treemeans.rows import as_points
from treemeans.split import Split

_NO_FEATURE = -1
_NO_CHILD = -1
_MOST_CODES = 2**24  # of categories, which the kernel keeps as bits
_DTYPES = {
    **dict.fromkeys(("feature", "left", "right", "label", "growth", "category_codes"), np.int32),
    **dict.fromkeys(("threshold", "weight", "costs", "gap"), np.float64),
    "missing_left": np.int8,
    "category_first": np.int64,
}


@dataclass(frozen=True, eq=False)
class ThresholdTree:
    """A binary tree of splits whose leaves carry cluster labels.

    Node 0 is the root. A split is a threshold, ``x[feature] <= threshold``, or a set of categories;
    ``split`` gives the one of a node, and ``Split`` says which way a row goes. The arrays are
    read-only and checked when the tree is made.

    Parameters
    ----------
    feature : array of int, shape (n_nodes,)
        Column the node splits; -1 at a leaf.
    threshold : array of float, shape (n_nodes,)
        Rows with a value up to it go left, others right; NaN at a leaf and where a set of
        categories is asked for. Infinite where only missing values go to the other side.
    left, right : arrays of int, shape (n_nodes,)
        The children; -1 at a leaf.
    label : array of int, shape (n_nodes,)
        Cluster of the node, as a leaf. Inner nodes have one too: smaller trees are inside this one.
    n_features : int
        Columns of the tables the tree is for.
    weight : array of float, shape (n_nodes,), optional
        Weight of the training rows that reach the node.
    costs : array of float, shape (n_nodes, n_clusters), optional
        Cost of giving all those rows to each cluster.
    growth : array of int, shape (n_nodes,), optional
        How many leaves the tree had once this node was split; 0 at a leaf. By default the tree is
        taken to have grown level by level.
    gap : array of float, shape (n_nodes, 2), optional
        The largest value that goes left and the smallest that goes right, among the training rows
        that reach the node: the threshold could be anywhere from the one to below the other. By
        default the threshold itself, twice; NaN where there is no finite threshold.
    missing_left : array of int, shape (n_nodes,), optional
        Side that missing values (NaN) take: 1 left, 0 right, -1 if the node does not accept them.
        By default, and at every leaf, -1.
    category_first : array of int, shape (n_nodes + 1,), optional
        The categories of node i are ``category_codes[category_first[i] : category_first[i + 1]]``;
        a node that has some asks for them, any other for its threshold.
    category_codes : array of int, optional
        Codes that go left, ascending within a node. A column of categories holds the codes 0, 1,
        2, ... as numbers; every other code goes right, one that never occurred in training too.
    has_seen_missing : bool, default=False
        Whether training rows lacked values, so that rows may lack those of columns that are not
        split. A tree with a side for missing values somewhere takes such rows in any case.

    Examples
    --------
    >>> tree = ThresholdTree([0, -1, -1], [2.5, float("nan"), float("nan")],
    ...                      [1, -1, -1], [2, -1, -1], [0, 0, 1], n_features=1)
    >>> tree.predict([[2.0], [3.0]]).tolist()
    [0, 1]
    """

    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    label: NDArray[np.int32]
    n_features: int
    weight: NDArray[np.float64] = field(default=None)  # type: ignore[arg-type]
    costs: NDArray[np.float64] = field(default=None)  # type: ignore[arg-type]
    growth: NDArray[np.int32] = field(default=None)  # type: ignore[arg-type]
    gap: NDArray[np.float64] = field(default=None)  # type: ignore[arg-type]
    missing_left: NDArray[np.int8] = field(default=None)  # type: ignore[arg-type]
    category_first: NDArray[np.int64] = field(default=None)  # type: ignore[arg-type]
    category_codes: NDArray[np.int32] = field(default=None)  # type: ignore[arg-type]
    has_seen_missing: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.n_features, numbers.Integral) or self.n_features < 1:
            raise ValueError(f"n_features of a tree must be a positive integer: {self.n_features}.")
        for name in ("feature", "left", "right", "label"):
            self._set(name, _integers(name, getattr(self, name)))
        self._set("threshold", np.array(self.threshold, dtype=np.float64))
        n = self.feature.size
        _check_lengths(self)
        _check_links(self)
        self._set_split_kinds()
        _check_splits(self)
        n_labels = int(self.label.max()) + 1
        defaults: dict[str, ArrayLike] = {"weight": np.zeros(n), "costs": np.zeros((n, n_labels))}
        for name, default in defaults.items():
            given = getattr(self, name)
            self._set(name, np.array(default if given is None else given, dtype=np.float64))
        if self.weight.shape != (n,) or self.costs.ndim != 2 or len(self.costs) != n:
            raise ValueError(f"weight and costs of a tree need one row for each of its {n} nodes.")
        if n_labels > self.costs.shape[1]:
            raise ValueError(
                f"The tree has a label {n_labels - 1}, but costs of {self.costs.shape[1]} clusters."
            )
        growth = _level_order(self) if self.growth is None else _integers("growth", self.growth)
        self._set("growth", growth)
        _check_growth(self)
        gap = np.stack([self.threshold] * 2, axis=1) if self.gap is None else self.gap
        self._set("gap", np.array(gap, dtype=np.float64))
        _check_gap(self)
        for f in fields(self):
            value = getattr(self, f.name)
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    @classmethod
    def consistent(cls, n_features: int, **arrays: ArrayLike) -> ThresholdTree:
        """A tree of arrays that are consistent because of how they were made: none is checked.

        All but ``gap`` must be there, as the constructor would keep them.
        """
        tree = object.__new__(cls)
        object.__setattr__(tree, "n_features", n_features)
        object.__setattr__(tree, "has_seen_missing", False)
        if "gap" not in arrays:
            at = np.array(arrays["threshold"], dtype=np.float64)
            at[np.isinf(at)] = np.nan
            arrays["gap"] = np.stack([at, at], axis=1)
        for name, dtype in _DTYPES.items():
            array = np.array(arrays[name], dtype=dtype)
            array.flags.writeable = False
            tree._set(name, array)
        return tree

    def _set_split_kinds(self) -> None:
        """Set the arrays of missing values and categories, which most trees do without."""
        n = self.feature.size
        first = np.zeros(n + 1, int) if self.category_first is None else self.category_first
        codes = np.zeros(0, int) if self.category_codes is None else self.category_codes
        sides = np.full(n, -1, np.int32)
        if self.missing_left is not None:
            sides = _integers("missing_left", self.missing_left)
        elif self.category_first is None and self.category_codes is None:
            # Most trees: nothing to check.
            self._set("missing_left", sides.astype(np.int8))
            self._set("category_first", np.zeros(n + 1, np.int64))
            self._set("category_codes", np.zeros(0, np.int32))
            return
        if sides.shape != (n,) or sides.min() < -1 or sides.max() > 1:
            raise ValueError(
                f"missing_left of a tree needs an entry for each of its {n} nodes: 1 for left, 0 "
                "for right, -1 for none."
            )
        self._set("missing_left", sides.astype(np.int8))
        self._set("category_first", _integers("category_first", first).astype(np.int64))
        self._set("category_codes", _integers("category_codes", codes))

    def _set(self, name: str, value: NDArray[Any]) -> None:
        object.__setattr__(self, name, value)

    @property
    def n_nodes(self) -> int:
        """Number of nodes, leaves included."""
        return self.feature.size

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return (self.n_nodes + 1) // 2

    @property
    def n_clusters(self) -> int:
        """Number of clusters the leaves can be labelled with."""
        return int(self.costs.shape[1])

    @cached_property
    def is_leaf(self) -> NDArray[np.bool_]:
        """For each node, whether it is a leaf."""
        found = np.asarray(self.feature == _NO_FEATURE)
        found.flags.writeable = False
        return found

    @cached_property
    def leaves(self) -> NDArray[np.intp]:
        """Node numbers of the leaves."""
        found = np.flatnonzero(self.is_leaf)
        found.flags.writeable = False
        return found

    @property
    def depth(self) -> NDArray[np.int32]:
        """For each node, its number of splits from the root."""
        depth = np.zeros(self.n_nodes, dtype=np.int32)
        for node in parents_first(self.left, self.right):
            if self.left[node] != _NO_CHILD:
                depth[[self.left[node], self.right[node]]] = depth[node] + 1
        return depth

    @property
    def is_categorical(self) -> NDArray[np.bool_]:
        """For each node, whether it asks for a set of categories."""
        return np.diff(self.category_first) > 0

    @cached_property
    def accepts_missing(self) -> bool:
        """Whether rows may lack values: some node has a side for them, or training rows did."""
        return self.has_seen_missing or bool((self.missing_left >= 0).any())

    def split(self, node: int) -> Split:
        """The split of an inner node."""
        if self.feature[node] == _NO_FEATURE:
            raise ValueError(f"Node {node} of the tree is a leaf, which has no split.")
        side = int(self.missing_left[node])
        first, end = self.category_first[node : node + 2].tolist()
        return Split(
            feature=int(self.feature[node]),
            # The one NaN of the module math, so that equal splits compare equal.
            threshold=math.nan if first < end else float(self.threshold[node]),
            missing_left=None if side < 0 else bool(side),
            categories=tuple(self.category_codes[first:end].tolist()),
        )

    @property
    def surrogate_cost(self) -> float:
        """Cost of giving the rows of each leaf to the leaf's cluster."""
        leaves = self.leaves
        return float(self.costs[leaves, self.label[leaves]].sum())

    def sums_over_leaves(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Of every node, the sum of the ``values`` (n_leaves, ...) of the leaves below it."""
        found = np.zeros((self.n_nodes, *values.shape[1:]))
        found[self.leaves] = values
        for node in reversed(parents_first(self.left, self.right)):
            if self.left[node] != _NO_CHILD:
                found[node] = found[self.left[node]] + found[self.right[node]]
        return found

    def apply(self, X: Any, *, n_threads: int = 1) -> NDArray[np.int32]:
        """Node number of the leaf each row of X falls into.

        Missing values are accepted where every node on a row's way that splits their column has a
        side for them.
        """
        return self._outcome(X, np.arange(self.n_nodes, dtype=np.int32), n_threads)

    def predict(self, X: Any, *, n_threads: int = 1) -> NDArray[np.int32]:
        """Cluster of each row of X; missing values are accepted as by ``apply``."""
        return self._outcome(X, self.label, n_threads)

    def _outcome(self, X: Any, of_node: NDArray[np.int32], n_threads: int) -> NDArray[np.int32]:
        X = X if sparse.issparse(X) or isinstance(X, np.ndarray) else np.asarray(X, dtype=float)
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise ValueError(
                f"The tree was made for {self.n_features} columns, but X has shape {X.shape}."
            )
        found = self.outcome(X, of_node, n_threads)
        if found is None:
            raise ValueError("X contains NaN or infinity.")
        return found

    def outcome(
        self, X: Any, of_node: NDArray[np.int32], n_threads: int
    ) -> NDArray[np.int32] | None:
        """``of_node`` at the leaf of each row; None if a value of X is not accepted.

        X is an array, a sparse matrix, or the kernel's points.
        """
        points = X if isinstance(X, _core.Points) else as_points(X)
        return _core.apply(
            points,
            self.feature,
            self.threshold,
            self.left,
            self.right,
            of_node,
            n_threads,
            **self.other_splits,
        )

    @property
    def other_splits(self) -> dict[str, Any]:
        """What the kernels must be told of splits that are more than thresholds.

        Without it they take a faster way, and refuse NaN in every column.
        """
        found: dict[str, Any] = {}
        if self.accepts_missing:
            found["missing_left"] = self.missing_left
        if len(self.category_codes):
            found["category_first"] = self.category_first
            found["category_codes"] = self.category_codes
        return found

    def decision_path(self, X: Any) -> sparse.csr_matrix:
        """Indicator matrix, rows x nodes: the nodes each row passes, its leaf included."""
        return self.paths_to(self.apply(X))

    def paths_to(self, leaf: NDArray[np.int32]) -> sparse.csr_matrix:
        """Indicator matrix of the nodes on the way to each of ``leaf``."""
        paths = self._paths()
        lengths = np.array([len(path) for path in paths])
        indptr = np.concatenate([[0], np.cumsum(lengths[leaf])])
        indices = np.concatenate([paths[node] for node in leaf]) if len(leaf) else np.empty(0, int)
        ones = np.ones(len(indices), dtype=np.int64)
        return sparse.csr_matrix((ones, indices, indptr), shape=(len(leaf), self.n_nodes))

    def _paths(self) -> list[NDArray[np.intp]]:
        """For each node, the sorted nodes from the root down to it."""
        paths: list[NDArray[np.intp]] = [np.empty(0, dtype=np.intp)] * self.n_nodes
        paths[0] = np.zeros(1, dtype=np.intp)
        for node in parents_first(self.left, self.right):
            for child in (self.left[node], self.right[node]):
                if child != _NO_CHILD:
                    paths[child] = np.sort(np.append(paths[node], child))
        return paths

    def cut_by(self, n_leaves: int) -> NDArray[np.bool_]:
        """For each node, whether it was split when the tree had ``n_leaves`` leaves."""
        return np.asarray((self.growth > 0) & (self.growth <= n_leaves))

    def ancestor_in(self, inner: NDArray[np.bool_]) -> NDArray[np.int32]:
        """For each node, the one its rows are in if only the nodes ``inner`` are split."""
        ancestor = list(range(self.n_nodes))
        left, right, cut = self.left.tolist(), self.right.tolist(), inner.tolist()
        for node in parents_first(self.left, self.right):
            if left[node] != _NO_CHILD and not (cut[node] and ancestor[node] == node):
                ancestor[left[node]] = ancestor[right[node]] = ancestor[node]
        return np.array(ancestor, dtype=np.int32)

    def with_gap(self, gap: NDArray[np.float64]) -> ThresholdTree:
        """The same tree with other gaps; what was checked when it was made is not checked again."""
        tree = object.__new__(ThresholdTree)
        tree.__dict__.update(self.__dict__)
        tree._set("gap", np.array(gap, dtype=np.float64))
        _check_gap(tree)
        tree.gap.flags.writeable = False
        return tree

    def with_leaves(self, n_leaves: int) -> ThresholdTree:
        """The tree as it was when it had ``n_leaves`` leaves."""
        if not 1 <= n_leaves <= self.n_leaves:
            raise ValueError(
                f"The tree has {self.n_leaves} leaves; trees of 1 to {self.n_leaves} leaves "
                f"are inside it, not one of {n_leaves}."
            )
        return self if n_leaves == self.n_leaves else self.pruned(self.cut_by(n_leaves))

    def pruned(self, inner: NDArray[np.bool_]) -> ThresholdTree:
        """The tree in which only the nodes ``inner`` are split, which are so in this one too."""
        kept = np.flatnonzero(self.ancestor_in(inner) == np.arange(self.n_nodes))
        number = np.full(self.n_nodes + 1, _NO_CHILD, dtype=np.int32)  # the last stands for -1
        number[kept] = np.arange(len(kept))
        cut = inner[kept]
        order = np.argsort(np.where(cut, self.growth[kept], self.n_nodes), kind="stable")
        growth = np.zeros(len(kept), dtype=np.int32)
        growth[order[: np.count_nonzero(cut)]] = np.arange(2, np.count_nonzero(cut) + 2)
        n_codes = np.where(cut, np.diff(self.category_first)[kept], 0)
        kept_codes = np.repeat(
            np.isin(np.arange(self.n_nodes), kept[cut]), np.diff(self.category_first)
        )
        return replace(
            self,
            feature=np.where(cut, self.feature[kept], _NO_FEATURE),
            threshold=np.where(cut, self.threshold[kept], np.nan),
            left=np.where(cut, number[self.left[kept]], _NO_CHILD),
            right=np.where(cut, number[self.right[kept]], _NO_CHILD),
            label=self.label[kept],
            weight=self.weight[kept],
            costs=self.costs[kept],
            growth=growth,
            gap=np.where(cut[:, None], self.gap[kept], np.nan),
            missing_left=np.where(cut, self.missing_left[kept], -1),
            category_first=np.append(0, np.cumsum(n_codes)),
            category_codes=self.category_codes[kept_codes],
        )

    def cost_saved(self) -> NDArray[np.float64]:
        """Surrogate cost saved by each feature: the sum over its splits, best labels throughout."""
        inner = np.flatnonzero(~self.is_leaf)
        best = self.costs.min(axis=1)
        saved = best[inner] - best[self.left[inner]] - best[self.right[inner]]
        return np.bincount(
            self.feature[inner], weights=np.maximum(saved, 0.0), minlength=self.n_features
        ).astype(np.float64)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ThresholdTree) and all(
            np.array_equal(getattr(self, f.name), getattr(other, f.name), equal_nan=True)
            if isinstance(getattr(self, f.name), np.ndarray)
            else getattr(self, f.name) == getattr(other, f.name)
            for f in fields(self)
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[type[ThresholdTree], tuple[Any, ...]]:
        # By way of the constructor, so that a copy is checked and read-only too.
        return type(self), tuple(getattr(self, f.name) for f in fields(self))

    def __repr__(self) -> str:
        return (
            f"ThresholdTree(n_leaves={self.n_leaves}, n_clusters={self.n_clusters}, "
            f"depth={int(self.depth.max())}, n_features={self.n_features})"
        )


def parents_first(left: NDArray[np.int32], right: NDArray[np.int32]) -> list[int]:
    """Nodes in level order."""
    lefts, rights = left.tolist(), right.tolist()
    order = [0]
    for node in order:  # which grows as it is read
        if lefts[node] != _NO_CHILD:
            order += (lefts[node], rights[node])
    return order


def _integers(name: str, values: ArrayLike) -> NDArray[np.int32]:
    array = np.array(values)
    if array.ndim != 1 or not (array.dtype.kind in "iu" or array.size == 0):
        raise ValueError(f"{name} of a tree must be a 1-d array of integers.")
    if array.size and np.abs(array).max() > np.iinfo(np.int32).max:
        raise ValueError(f"{name} of a tree holds a number that is out of range.")
    return array.astype(np.int32)


def _check_lengths(tree: ThresholdTree) -> None:
    n = tree.feature.size
    if n == 0:
        raise ValueError("A tree needs at least one node.")
    for name in ("threshold", "left", "right", "label"):
        shape = getattr(tree, name).shape
        if shape != (n,):
            raise ValueError(f"A tree of {n} nodes needs {n} entries in {name}; it has {shape}.")


def _check_links(tree: ThresholdTree) -> None:
    """Every node but the root is the child of one other, and the root reaches all."""
    n = tree.feature.size
    children = np.concatenate([tree.left, tree.right])
    leaf = np.concatenate([tree.feature == _NO_FEATURE] * 2)
    if np.any(children[leaf] != _NO_CHILD):
        node = int(np.flatnonzero(leaf & (children != _NO_CHILD))[0] % n)
        raise ValueError(f"Node {node} of the tree is a leaf (feature -1) but has a child.")
    bad = np.flatnonzero(~leaf & ((children <= 0) | (children >= n)))
    if len(bad):
        node, child = int(bad[0] % n), int(children[bad[0]])
        raise ValueError(f"Node {node} of the tree has a child {child}, which is no node.")
    times = np.bincount(children[~leaf], minlength=n)
    if np.any(times > 1):
        raise ValueError(f"Node {int(times.argmax())} of the tree is the child of two nodes.")
    # Where children come after their parents, as in every tree that was grown here, all nodes are
    # reached: each but the root is the child of one that comes before it.
    inner = np.flatnonzero(tree.feature != _NO_FEATURE)
    if (tree.left[inner] > inner).all() and (tree.right[inner] > inner).all() and times[1:].all():
        return
    reached = 0
    queue = deque([0])
    while queue and reached <= n:
        node = queue.popleft()
        reached += 1
        if tree.feature[node] != _NO_FEATURE:
            queue.extend((int(tree.left[node]), int(tree.right[node])))
    if reached != n:
        raise ValueError("The tree has a cycle, or nodes that its root does not reach.")


def _check_splits(tree: ThresholdTree) -> None:
    inner = tree.feature != _NO_FEATURE
    bad = np.flatnonzero(inner & ((tree.feature < 0) | (tree.feature >= tree.n_features)))
    if len(bad):
        node = int(bad[0])
        raise ValueError(
            f"Node {node} of the tree cuts feature {int(tree.feature[node])}, "
            f"but there are {tree.n_features} features."
        )
    _check_categories(tree, inner)
    _check_thresholds(tree, inner)
    if np.any(tree.label < 0):
        raise ValueError("A label of the tree is negative.")
    tree.threshold[~inner] = np.nan
    tree.missing_left[~inner] = -1


def _check_categories(tree: ThresholdTree, inner: NDArray[np.bool_]) -> None:
    n, first, codes = tree.feature.size, tree.category_first, tree.category_codes
    if first.size == n + 1 and not len(codes) and not first.any():
        return
    ends = first[[0, -1]].tolist() if first.shape == (n + 1,) else []
    if ends != [0, len(codes)] or (np.diff(first) < 0).any():
        raise ValueError(
            f"category_first of a tree of {n} nodes needs {n + 1} entries that rise from 0 to the "
            f"{len(codes)} entries of category_codes."
        )
    if not len(codes):
        return
    n_codes = np.diff(first)
    node_of_code = np.repeat(np.arange(n), n_codes)
    out_of_range = (codes < 0) | (codes >= _MOST_CODES)
    if out_of_range.any():
        node, code = (int(of[np.argmax(out_of_range)]) for of in (node_of_code, codes))
        raise ValueError(
            f"Node {node} of the tree has the category code {code}; codes are from 0 to "
            f"{_MOST_CODES - 1}."
        )
    falls = (np.diff(codes) <= 0) & (np.diff(node_of_code) == 0)
    if falls.any():
        node = int(node_of_code[int(np.argmax(falls))])
        raise ValueError(f"The category codes of node {node} of the tree must ascend.")
    if (n_codes[~inner] > 0).any():
        node = int(np.flatnonzero(~inner & (n_codes > 0))[0])
        raise ValueError(f"Node {node} of the tree is a leaf (feature -1) but has categories.")


def _check_thresholds(tree: ThresholdTree, inner: NDArray[np.bool_]) -> None:
    categorical = tree.is_categorical
    both = np.flatnonzero(categorical & ~np.isnan(tree.threshold))
    if len(both):
        raise ValueError(f"Node {int(both[0])} of the tree has a threshold and categories.")
    # Beyond an infinite threshold there is nothing, unless missing values go there.
    sides = tree.missing_left
    parts = np.isfinite(tree.threshold)
    parts |= (tree.threshold == np.inf) & (sides == 0)
    parts |= (tree.threshold == -np.inf) & (sides == 1)
    bad = np.flatnonzero(inner & ~categorical & ~parts)
    if len(bad):
        raise ValueError(f"Node {int(bad[0])} of the tree has a threshold that is not finite.")
    if not categorical.any():
        return
    numbers, codes = tree.feature[np.isfinite(tree.threshold) & inner], tree.feature[categorical]
    for feature in np.intersect1d(numbers, codes).tolist():
        raise ValueError(
            f"The tree splits feature {feature} by thresholds and by categories; a column has "
            "numbers or category codes, not both."
        )


def _level_order(tree: ThresholdTree) -> NDArray[np.int32]:
    growth = np.zeros(tree.feature.size, dtype=np.int32)
    inner = [n for n in parents_first(tree.left, tree.right) if tree.left[n] != _NO_CHILD]
    growth[inner] = np.arange(2, len(inner) + 2)
    return growth


def _check_growth(tree: ThresholdTree) -> None:
    """Splits are numbered 2, 3, ... leaves, a parent's before its children's."""
    inner = np.flatnonzero(~tree.is_leaf)
    if tree.growth.shape != (tree.n_nodes,) or np.any(tree.growth[tree.is_leaf] != 0):
        raise ValueError("growth of a tree needs an entry for each node, 0 at the leaves.")
    in_order = np.array_equal(np.sort(tree.growth[inner]), np.arange(2, len(inner) + 2))
    for children in (tree.left[inner], tree.right[inner]):
        later = tree.growth[children]
        in_order = in_order and not np.any((later > 0) & (later < tree.growth[inner]))
    if not in_order:
        raise ValueError("growth of a tree must number its cuts 2, 3, ..., parents first.")


def _check_gap(tree: ThresholdTree) -> None:
    if tree.gap.shape != (tree.n_nodes, 2):
        raise ValueError("gap of a tree needs two entries for each node.")
    has_threshold = np.isfinite(tree.threshold)
    threshold, (below, above) = tree.threshold[has_threshold], tree.gap[has_threshold].T
    if not np.all((below <= threshold) & (threshold <= above)):
        raise ValueError("gap of a tree must have the threshold of each node between its ends.")
    tree.gap[~has_threshold] = np.nan


def no_side(tree: ThresholdTree) -> NDArray[np.bool_]:
    """The features that a tree splits somewhere without a side for missing values.

    If no split has one and no training row lacked a value, one is refused in every feature.
    """
    found = np.ones(tree.n_features, dtype=bool)
    if tree.accepts_missing:
        found[:] = False
        found[tree.feature[(tree.feature >= 0) & (tree.missing_left < 0)]] = True
    return found


def with_sides(tree: ThresholdTree, features: NDArray[np.bool_] | None = None) -> ThresholdTree:
    """The tree with a side for missing values at every split: by default that of most rows.

    ``features``: those whose splits get one; None for all.
    """
    sides = tree.missing_left.copy()
    without = ~tree.is_leaf & (sides < 0)
    if features is not None:
        without &= features[tree.feature]
    for node in np.flatnonzero(without).tolist():
        sides[node] = tree.weight[tree.left[node]] >= tree.weight[tree.right[node]]
    if features is None:  # a tree without splits accepts missing values too
        return replace(tree, missing_left=sides, has_seen_missing=True)
    return replace(tree, missing_left=sides) if without.any() else tree
