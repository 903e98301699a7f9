"""The searches of the paper, slow and plain: what the compiled kernels are compared with.

Nothing of treemeans is used here. Every node looks at every row and every feature anew, all
candidate thresholds of a feature at once, and adds integers, so that no sum is rounded.

`imm_tree` is IMM (Dasgupta et al. 2020), the base tree of the paper; `expand` is its Algorithm 1.
"""

from collections import deque
from dataclasses import dataclass, field

import numpy as np
from scipy import sparse


@dataclass
class OracleTree:
    """Nodes in the order they were made; ``rows[node]`` are the rows that fall into it."""

    feature: list[int] = field(default_factory=list)
    threshold: list[float] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    right: list[int] = field(default_factory=list)
    label: list[int] = field(default_factory=list)
    growth: list[int] = field(default_factory=list)
    rows: list[np.ndarray] = field(default_factory=list)

    @classmethod
    def one_leaf(cls, rows):
        tree = cls()
        tree.add_leaf(rows)
        return tree

    @property
    def n_leaves(self):
        return self.feature.count(-1)

    @property
    def leaves(self):
        return [node for node, feature in enumerate(self.feature) if feature == -1]

    def add_leaf(self, rows):
        for name, value in [
            ("feature", -1),
            ("threshold", np.nan),
            ("left", -1),
            ("right", -1),
            ("label", 0),
            ("growth", 0),
            ("rows", rows),
        ]:
            getattr(self, name).append(value)
        return len(self.feature) - 1

    def split(self, X, node, feature, threshold):
        """x[feature] <= threshold goes left; the children get the next two numbers."""
        rows = self.rows[node]
        goes_left = X[rows, feature] <= threshold
        self.feature[node], self.threshold[node] = feature, threshold
        self.left[node] = self.add_leaf(rows[goes_left])
        self.right[node] = self.add_leaf(rows[~goes_left])
        self.growth[node] = self.n_leaves
        return self.left[node], self.right[node]


def as_dense(X):
    """X as float64, the numbers that are searched; zeros that are not stored are zeros."""
    return (X.toarray() if sparse.issparse(X) else np.asarray(X)).astype(np.float64)


def counted_rows(n_rows, weights):
    """A row of weight zero is as if left out."""
    return np.arange(n_rows) if weights is None else np.flatnonzero(weights)


def between(low, high):
    """Half way; or the lower one, where rounding leaves nothing between the two."""
    middle = low / 2 + high / 2
    return middle if low <= middle < high else low


# ---- IMM -----------------------------------------------------------------------------------------


def imm_tree(X, centers, labels, weights=None, counted=None):
    """Iterative Mistake Minimization: one leaf for each of the distinct centers.

    Parameters
    ----------
    labels : the center of each row
    weights : integers, or None for ones
    counted : the rows of positive weight; by default those of a positive integer, which a weight
        that is tiny beside the others is not

    Returns
    -------
    OracleTree, whose leaves are labelled with their center and whose inner nodes are labelled 0
    """
    X = as_dense(X)
    counts = np.ones(len(X), dtype=np.int64) if weights is None else np.asarray(weights)
    alive = np.ones(len(X), dtype=bool)
    counted = counted_rows(len(X), weights) if counted is None else counted
    tree = OracleTree.one_leaf(counted)
    queue = deque([(0, list(range(len(centers))))])
    while queue:
        node, members = queue.popleft()
        cut = _fewest_mistakes(X, centers, labels, counts, alive, tree.rows[node], members)
        if cut is None:  # one center, or several in one place
            tree.label[node] = members[0]
            continue
        feature, threshold = cut
        center_left = centers[:, feature] <= threshold
        for child, here in zip(
            tree.split(X, node, feature, threshold), (center_left, ~center_left), strict=True
        ):
            rows = tree.rows[child]
            alive[rows[~here[labels[rows]]]] = False  # parted from their center
            queue.append((child, [c for c in members if here[c]]))
    return tree


def _fewest_mistakes(X, centers, labels, counts, alive, rows, members):
    """(feature, threshold) that parts the least weight of living rows from their center."""
    best, best_mistakes = None, None
    for feature in range(X.shape[1]):
        at = centers[members, feature]
        values = np.unique(np.concatenate([X[rows, feature], at]))
        # passed[t, j]: weight of the living rows of center j with a value up to values[t]
        living = rows[alive[rows]]
        passed = np.zeros((len(values), len(members)), dtype=np.int64)
        member_of_row = np.searchsorted(members, labels[living])
        np.add.at(
            passed,
            (np.searchsorted(values, X[living, feature]), member_of_row),
            counts[living],
        )
        passed = np.cumsum(passed, axis=0)
        # A cut after values[t]: a center's rows are mistakes where they are not on its side.
        center_left = at <= values[:, None]
        mistakes = np.where(center_left, passed[-1] - passed, passed).sum(axis=1)
        allowed = np.flatnonzero(center_left.any(axis=1) & ~center_left.all(axis=1))
        if len(allowed) == 0:
            continue
        t = allowed[np.argmin(mistakes[allowed])]  # the first among equals: the lowest threshold
        if best_mistakes is None or mistakes[t] < best_mistakes:  # the lowest feature keeps a tie
            best_mistakes = mistakes[t]
            best = feature, between(values[t], values[t + 1])
    return best


# ---- Algorithm 1 ---------------------------------------------------------------------------------


def expand(tree, X, regrets, max_leaves):
    """Algorithm 1: cut the leaf with the largest gain until there are ``max_leaves``.

    Parameters
    ----------
    tree : OracleTree, the base tree; it is grown in place
    regrets : (n, k) integers, the cost of each center less that of the row's cheapest center,
        times the row's weight. Taking the cheapest off changes every cost of a leaf by the same
        number, so gains and labels are those of the costs.
    """
    X = as_dense(X)
    cuts = {leaf: _least_cost(X, regrets, tree.rows[leaf]) for leaf in tree.leaves}
    while tree.n_leaves < max_leaves:
        gains = {
            leaf: _cost(regrets, tree.rows[leaf]) - cut[0]
            for leaf, cut in cuts.items()
            # A leaf that is pure is left alone; any other is cut even if that gains nothing.
            if cut is not None and _cost(regrets, tree.rows[leaf]) > 0
        }
        if not gains:
            break
        leaf = min(gains, key=lambda leaf: (-gains[leaf], leaf))
        _, feature, threshold = cuts.pop(leaf)
        for child in tree.split(X, leaf, feature, threshold):
            tree.label[child] = _label(regrets, tree.rows[child])
            cuts[child] = _least_cost(X, regrets, tree.rows[child])
    return tree


def label_leaves_by_surrogate(tree, regrets, *, pure_only):
    """Give leaves with rows their cheapest center, as in a base tree that is to be expanded.

    Parameters
    ----------
    pure_only : only where all rows agree on a center, and it is not the leaf's
    """
    for node, rows in enumerate(tree.rows):
        if tree.feature[node] != -1 or len(rows) == 0:
            continue
        totals = regrets[rows].sum(axis=0)
        if not pure_only or (totals[tree.label[node]] > 0 and totals.min() == 0):
            tree.label[node] = _label(regrets, rows)


def label_by_surrogate(tree, regrets, *, inner_only):
    """Give nodes their cheapest center, as if the tree ended there; an empty one its parent's.

    Parameters
    ----------
    inner_only : leave the leaves' labels as they are
    """
    parent = {child: node for node, pair in _children(tree).items() for child in pair}
    for node, rows in enumerate(tree.rows):
        if inner_only and tree.feature[node] == -1:
            continue
        if len(rows):
            tree.label[node] = _label(regrets, rows)
        elif node in parent:
            tree.label[node] = tree.label[parent[node]]
    return tree


def _children(tree):
    return {
        node: (tree.left[node], tree.right[node])
        for node in range(len(tree.feature))
        if tree.feature[node] != -1
    }


def _cost(regrets, rows):
    return int(regrets[rows].sum(axis=0).min())


def _label(regrets, rows):
    return int(regrets[rows].sum(axis=0).argmin())


def _least_cost(X, regrets, rows):
    """(cost, feature, threshold) of the best cut of the rows, or None where all are alike."""
    best = None
    for feature in range(X.shape[1]):
        order = rows[np.argsort(X[rows, feature], kind="stable")]
        values = X[order, feature]
        gaps = np.flatnonzero(values[:-1] < values[1:])  # a cut after each of these places
        if len(gaps) == 0:
            continue
        left = np.cumsum(regrets[order], axis=0)
        right = left[-1] - left
        cost = left[gaps].min(axis=1) + right[gaps].min(axis=1)
        first = np.argmin(cost)  # the first among equals: the lowest threshold
        if best is None or cost[first] < best[0]:  # the lowest feature keeps a tie
            gap = gaps[first]
            best = int(cost[first]), feature, between(values[gap], values[gap + 1])
    return best
