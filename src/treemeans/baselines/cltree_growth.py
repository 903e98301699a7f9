"""CLTree (Liu, Xia, Yu 2000): a tree that separates dense from empty regions, then is pruned."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treemeans.baselines.cltree_split import CRITERIA, Floats, LookAhead, Values, virtual_share
from treemeans.baselines.draft_tree import Draft
from treemeans.baselines.sorted_columns import SortedColumns
from treemeans.tree import ThresholdTree

_WHOLE = 1e-9  # what a percentage of the rows may lack to a whole number, by rounding


@dataclass(frozen=True)
class CLTreeNode:
    """A box, with its points and virtual points."""

    low: Floats
    high: Floats
    y: float
    n: float

    @property
    def relative_density(self) -> float:
        """Points in percent of the virtual points, of which a node has no fewer: at most 100."""
        return 100.0 * self.y / self.n if self.n > 0 else 0.0

    def part(
        self, feature: int, value: float, y_left: float, y_right: float
    ) -> tuple[CLTreeNode, CLTreeNode]:
        """The two sides of a cut. Where virtual points are fewer than points, some are added."""
        low, high = self.low[feature], self.high[feature]
        share = float(virtual_share(np.array(self.n), np.array(value), low, high))
        return (
            CLTreeNode(self.low, _with(self.high, feature, value), y_left, max(share, y_left)),
            CLTreeNode(
                _with(self.low, feature, value), self.high, y_right, max(self.n - share, y_right)
            ),
        )


def _with(box: Floats, feature: int, value: float) -> Floats:
    box = box.copy()
    box[feature] = value
    return box


@dataclass(frozen=True)
class PrunedCLTree:
    """A finished tree: its cuts, and the box that each of its nodes is."""

    tree: ThresholdTree
    nodes: list[CLTreeNode]


@dataclass(frozen=True)
class Overgrown:
    """A tree before it is pruned, which may be done again and again.

    Attributes
    ----------
    draft : the cuts; each at a value of the data
    nodes : what each node holds
    min_rows : nodes with fewer points were not cut
    """

    draft: Draft
    nodes: list[CLTreeNode]
    min_rows: int

    def prune(self, min_y: float, min_rd: float) -> PrunedCLTree:
        """The tree that a user wants to see, by what is small and what is dense.

        Two leaves become one where both are dense, or both small, or one is empty. What is left of
        an empty side is dropped with the cut that made it.

        Parameters
        ----------
        min_y : a node with a smaller percentage of the points is small
        min_rd : a node is dense if its points are more than this percentage of its virtual points
        """
        draft, nodes = self.draft, self.nodes
        small = fewest_rows(min_y, nodes[0].y)
        if small < self.min_rows:
            raise ValueError(
                f"The tree was grown for nodes of {self.min_rows} rows and more, but min_y={min_y} "
                f"is a percentage that asks for {small}; grow it again with that min_y."
            )
        stop = self._stops(small, min_rd)

        def stand_in(node: int) -> int:
            while not stop[node]:
                full = [child for child in draft.children(node) if nodes[child].y > 0]
                if len(full) == 2:
                    break
                node = full[0]
            return node

        n_features = len(nodes[0].low)
        tree, origin = draft.finish(n_features, lambda node: not stop[node], stand_in)
        return PrunedCLTree(tree, [nodes[node] for node in origin])

    def _stops(self, small: float, min_rd: float) -> NDArray[np.bool_]:
        """For each node, whether it is a leaf if it is still there. A small one always is."""
        stop = np.ones(self.draft.n_nodes, dtype=bool)
        for node in range(self.draft.n_nodes - 1, -1, -1):  # children before their parent
            if self.draft.is_leaf(node):
                continue
            children = self.draft.children(node)
            left, right = (self.nodes[child] for child in children)
            stop[node] = stop[list(children)].all() and (
                min(left.relative_density, right.relative_density) > min_rd
                or max(left.y, right.y) < small
                or min(left.y, right.y) == 0
            )
        return stop


def fewest_rows(min_y: float, n: float) -> int:
    """``min_y`` percent of n rows, rounded down."""
    return int(np.floor(min_y / 100.0 * n + _WHOLE))


def overgrow(
    X: NDArray[np.float64],
    weights: NDArray[np.float64],
    *,
    min_split: float,
    min_y: float = 0.0,
    criterion: str = "entropy",
) -> Overgrown:
    """Cut as long as a cut gains anything.

    Parameters
    ----------
    X : (n, n_features), finite
    weights : of the rows; one of weight 2 counts as two points
    min_split : least number of points, virtual ones included, on each side of a cut
    min_y : a node with a smaller percentage of the points is not cut: what is below it would be
        pruned with any percentage from this one on
    criterion : "entropy" or "p15"

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0], [10.0]])
    >>> grown = overgrow(X, np.ones(4), min_split=5)
    >>> [grown.prune(min_y=0, min_rd=min_rd).tree.n_leaves for min_rd in (20, 30)]
    [1, 2]
    """
    columns = SortedColumns.of(X, weights)
    search = LookAhead(min_split, CRITERIA[criterion])
    y = columns.weight
    root = CLTreeNode(columns.values[:, 0].copy(), columns.values[:, -1].copy(), y, y)
    draft, nodes, min_rows = Draft(), [root], fewest_rows(min_y, y)
    waiting = [(0, columns)]
    while waiting:
        at, columns = waiting.pop()
        node = nodes[at]
        if node.y == 0 or (at > 0 and node.y < min_rows):
            continue
        cut = search.cut(Values.of(columns), node.low, node.high, node.n)
        if cut is None:
            continue
        sides = columns.part(*cut)
        waiting += zip(draft.split(at, *cut), sides, strict=True)
        nodes += node.part(*cut, sides[0].weight, sides[1].weight)
    return Overgrown(draft, nodes, min_rows)


def touching(leaves: list[CLTreeNode], min_rd: float) -> NDArray[np.int32]:
    """A number for each leaf, shared by dense leaves that touch, or are linked by such leaves.

    Boxes touch where they meet in a single value of one feature, and overlap on all others.
    """
    low, high = (np.array([getattr(leaf, end) for leaf in leaves]) for end in ("low", "high"))
    dense = np.array([leaf.relative_density > min_rd for leaf in leaves])
    group = np.arange(len(leaves), dtype=np.int32)
    for leaf in np.flatnonzero(dense):
        length = np.minimum(high, high[leaf]) - np.maximum(low, low[leaf])
        same = (low == low[leaf]) & (high == high[leaf])
        flat = (length == 0) & ~same
        touches = (flat.sum(axis=1) == 1) & ((length > 0) | same | flat).all(axis=1) & dense
        for other in group[touches]:
            group[group == other] = group[leaf]
    return np.unique(group, return_inverse=True)[1].astype(np.int32)
