"""Types of the compiled kernels. Arrays are borrowed for the call, or for the object's life."""

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

_Sums = TypeVar("_Sums", np.int64, np.float64)
_Value = TypeVar("_Value", int, float)

class Cut:
    """What a search returns: a cut between two values of a feature that occur at the node.

    Any threshold from ``low`` up to, not including, ``high`` makes it; ``threshold`` is half way.
    Where only missing values go to the other side it is infinite. A cut of a column of categories
    has ``categories``, the codes that go left, and no threshold (NaN). ``missing_left``: whether
    missing values go left; None for a column without any. The cost is in fixed point.
    """

    def __init__(
        self,
        cost: int,
        feature: int,
        low: float,
        high: float,
        missing_left: bool | None = None,
        categories: Sequence[int] = (),
    ) -> None: ...
    @property
    def cost(self) -> int: ...
    @property
    def feature(self) -> int: ...
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...
    @property
    def threshold(self) -> float: ...
    @property
    def missing_left(self) -> bool | None: ...
    @property
    def categories(self) -> tuple[int, ...]: ...

class Limits:
    """What every cut must respect.

    weights : of all rows of the table; None where each weighs 1
    min_weight : of the rows on either side
    prices : of each slot of the bins, added to what a cut there costs; a negative one forbids cuts
    max_depth : cuts above a leaf; only trees and Kauri look at it
    max_categories : that a cut of a column of categories lists; None for any number
    """

    def __init__(
        self,
        weights: NDArray[np.int64] | None = None,
        min_weight: int = 1,
        prices: NDArray[np.int64] | None = None,
        max_depth: int | None = None,
        max_categories: int | None = None,
    ) -> None: ...

def threshold_between(low: float, high: float) -> float: ...

class Points:
    def all_finite(self, n_threads: int) -> bool: ...

def dense_points(array: NDArray[np.generic], accepts_missing: bool = False) -> Points: ...
def sparse_points(
    n_rows: int,
    n_features: int,
    row_starts: NDArray[np.int64],
    columns: NDArray[np.int32],
    values: NDArray[np.float64],
    column_starts: NDArray[np.int64] | None,
    rows: NDArray[np.int32] | None,
    values_by_column: NDArray[np.float64] | None,
) -> Points: ...
def apply(
    points: Points,
    feature: NDArray[np.int32],
    threshold: NDArray[np.float64],
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    outcome: NDArray[np.int32],
    n_threads: int,
    missing_left: NDArray[np.int8] | None = None,
    category_first: NDArray[np.int64] | None = None,
    category_codes: NDArray[np.int32] | None = None,
) -> NDArray[np.int32] | None: ...
def partition(
    points: Points,
    bins: Bins,
    rows: NDArray[np.int32],
    feature: int,
    threshold: float,
    n_threads: int,
    missing_left: bool | None = None,
    categories: Sequence[int] = (),
) -> tuple[int, tuple[float, float, float, float, bool]]:
    """How many rows go left; then the values that come to the split.

    The largest that goes left, the smallest that goes right, the lowest and the highest, and
    whether all are integers.
    """

def group_medians(
    points: Points,
    groups: NDArray[np.int32],
    weights: NDArray[np.float64] | None,
    medians: NDArray[np.float64],
    n_threads: int,
) -> NDArray[np.float64]: ...
def group_sums(
    points: Points,
    groups: NDArray[np.int32],
    n_groups: int,
    weights: NDArray[np.float64] | None,
    shift: NDArray[np.float64] | None,
    squares: NDArray[np.float64] | None,
    n_threads: int,
) -> NDArray[np.float64]: ...
def group_moments(
    points: Points,
    groups: NDArray[np.int32],
    weights: NDArray[np.float64] | None,
    origins: NDArray[np.float64],
    n_threads: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
def full_columns(points: Points) -> NDArray[np.bool_]: ...
def margins(
    points: Points,
    feature: NDArray[np.int32],
    threshold: NDArray[np.float64],
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    n_threads: int,
    missing_left: NDArray[np.int8] | None = None,
    category_first: NDArray[np.int64] | None = None,
    category_codes: NDArray[np.int32] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]: ...

class Bins:
    @property
    def n_bytes(self) -> int: ...
    @property
    def n_bins(self) -> int: ...
    @property
    def n_dense(self) -> int: ...
    @property
    def feature(self) -> list[int]:
        """The feature of each slot."""
    @property
    def mixed(self) -> list[int]:
        """The features of the last slots: categories, or numbers with missing values."""
    def range(self, feature: int) -> tuple[float, float] | None:
        """The smallest and the largest value of a feature; None if it has no bins of values."""
    @property
    def categorical(self) -> list[int]:
        """Those of ``mixed`` that are categories."""

def mixed_column(bins: Bins, i: int) -> tuple[NDArray[np.float64], NDArray[np.float64], int, bool]:
    """The i-th of the columns ``bins.mixed``.

    Least and greatest value of its bins, none for categories; its number of categories or bins;
    and whether values are missing.
    """

def group_counts(
    bins: Bins,
    i: int,
    rows: NDArray[np.int32],
    center: NDArray[np.int32],
    weights: NDArray[np.int64] | None,
    k: int,
) -> NDArray[np.int64]:
    """Weight of some rows in the groups of the i-th of the columns ``bins.mixed``, by center.

    Groups are categories or bins, and the rows without a value at the end.
    """

def make_bins(
    points: Points,
    allowed: NDArray[np.uint8] | None,
    n_threads: int,
    categorical: NDArray[np.uint8] | None = None,
) -> Bins | None: ...
def price(
    points: Points, centers: NDArray[np.float64], n_threads: int, absolute: bool = False
) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.float64]]: ...
def nearest_centers(
    points: Points, centers: NDArray[np.float64], n_threads: int, absolute: bool = False
) -> tuple[NDArray[np.float64], NDArray[np.int32]]: ...
def price_tried(
    products: NDArray[np.floating[Any]],
    norms: NDArray[np.floating[Any]],
    tried: NDArray[np.floating[Any]],
    least: NDArray[np.floating[Any]] | None,
    weights: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Sums of what all rows cost with each row that is tried as a center.

    products : (m, n), of the rows tried with all rows; the costs overwrite them
    norms, tried : (n,) and (m,), squared lengths of all rows and of those tried
    least : (n_starts, n), what rows cost before, in the order of the rows tried; None: no limit
    """

def add_up(costs: NDArray[np.floating[Any]], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sums of weighted costs along each row, as of ``np.cumsum``."""

def second_least(values: NDArray[np.float64]) -> NDArray[np.float64]: ...
def kmeans_cost(
    rows: NDArray[np.float64],
    weights: NDArray[np.float64],
    k: int,
    draws: NDArray[np.float64],
    max_rounds: int,
    aim: float,
    work: float,
) -> float: ...
def compare_with_shuffles(
    rows: NDArray[np.float64],
    weights: NDArray[np.float64],
    centers: NDArray[np.float64],
    shuffles: int,
    starts: int,
    more_starts: int,
    rounds: int,
    until_clear: bool,
    seed: int,
    work: float,
) -> tuple[float, float, float, list[int], float]: ...
def is_doubtful(
    rows: NDArray[np.float64],
    weights: NDArray[np.float64],
    centers: NDArray[np.float64],
    seed: int,
    work: float,
) -> tuple[bool, float]: ...
def draw_rows(n: int, m: int, seed: int) -> NDArray[np.int64]: ...
def count_pairs(
    groups: NDArray[np.int32],
    labels: NDArray[np.int32],
    weights: NDArray[np.float64] | None,
    n_groups: int,
    n_labels: int,
) -> NDArray[np.float64]: ...
def leaf_of_row(
    rows: NDArray[np.int32], ends: NDArray[np.int64], leaves: NDArray[np.int32], n: int
) -> NDArray[np.int32]: ...
def sum_groups(
    values: NDArray[np.int64], groups: NDArray[np.int32], n_groups: int
) -> NDArray[np.int64]: ...
def total_regrets(
    regret: NDArray[np.float64],
    weights: NDArray[np.float64] | None,
    n_threads: int,
    before: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]: ...
def to_fixed(
    values: NDArray[np.float64],
    weights: NDArray[np.float64] | None,
    whole_weights: bool,
    scale: float,
    n_threads: int,
) -> None: ...

class PackedRegrets:
    """Regrets of all rows in about half of the memory; see ``cpp/regrets.hpp``."""

    @property
    def n_clusters(self) -> int: ...
    def pack(self, begin: int, regrets: NDArray[np.int64]) -> bool:
        """Take the regrets of the rows from ``begin`` on; False if one does not fit."""
    def unpack(self) -> NDArray[np.int64]: ...

def packed_regrets(cheapest: NDArray[np.int32], n_clusters: int) -> PackedRegrets: ...
def sum_regrets(
    regrets: NDArray[np.int64] | PackedRegrets, rows: NDArray[np.int32], n_threads: int
) -> NDArray[np.int64]: ...
def surrogate_cut(
    bins: Bins,
    points: Points,
    rows: NDArray[np.int32],
    regrets: NDArray[np.int64] | PackedRegrets,
    totals: NDArray[np.int64],
    label: int,
    limits: Limits,
    n_threads: int,
) -> Cut | None: ...

class MadeCut:
    """A cut that `expand` has made; the children are the next two nodes."""

    @property
    def node(self) -> int: ...
    @property
    def cut(self) -> Cut: ...
    @property
    def n_left(self) -> int: ...
    @property
    def margin(self) -> tuple[float, float, float, float, bool]: ...
    @property
    def left_totals(self) -> NDArray[np.int64]: ...

def expand(
    bins: Bins,
    points: Points,
    rows: NDArray[np.int32],
    regrets: NDArray[np.int64] | PackedRegrets,
    leaves: NDArray[np.int64],
    totals: NDArray[np.int64],
    n_nodes: int,
    max_leaves: int,
    limits: Limits,
    n_threads: int,
    tell: Callable[[int], None],
) -> list[MadeCut]:
    """Cut the leaf with the largest gain until there are ``max_leaves``, or every leaf is pure.

    rows : of all leaves; sorted into those of the new leaves
    leaves : (m, 4), node, depth, begin and end of the rows of each leaf
    totals : (m, k), sums of their regrets
    n_nodes : of the tree so far
    tell : is called with the number of leaves after every search and cut
    """
    ...

def score_surrogate_bins(
    sums: NDArray[np.int64], totals: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Scores of a feature's bins in order, by the surrogate cost.

    sums : (m, k or more), of the rows' regrets in each bin; columns from k on are passed over
    totals : (k,), of the whole node

    Returns what a cut after each bin costs, and what no cut inside it costs less than.
    """

def surrogate_subset(
    sums: NDArray[np.int64],
    totals: NDArray[np.int64],
    feature: int,
    may_miss: bool,
    limits: Limits,
) -> Cut | None:
    """The cut of a column of categories that leaves the least surrogate cost, from sums alone.

    sums : (codes + 1, k + 1 or more), of the rows of each code and, last, without a value: their
        regrets, and behind them their weight
    totals : (k,), of the whole node
    may_miss : whether the column has missing values anywhere

    The price of the column is not added. None where the limits permit no cut.
    """

def score_reoptimized_bins(
    sums: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Scores of bins for a split that is chosen again, less what all rows cost on the right.

    sums : (m, 2 or more), of what going left adds, and of the same where it is negative
    """

def grouped_histogram(
    points: Points,
    groups: NDArray[np.int32],
    row_stats: NDArray[np.int64],
    request_group: NDArray[np.int32],
    request_feature: NDArray[np.int32],
    request_first: NDArray[np.int64],
    edges: NDArray[np.float64],
    wanted: NDArray[np.uint8],
    codes: NDArray[np.uint8 | np.uint16] | None = None,
    keep: NDArray[np.uint8] | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]: ...
def grouped_values(
    points: Points,
    groups: NDArray[np.int32],
    request_group: NDArray[np.int32],
    request_feature: NDArray[np.int32],
    request_first: NDArray[np.int64],
    edges: NDArray[np.float64],
    wanted: NDArray[np.uint8],
    codes: NDArray[np.uint8 | np.uint16] | None = None,
    keep: NDArray[np.uint8] | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]: ...
def exact_sums(
    values: NDArray[np.float64], weights: NDArray[np.float64] | None
) -> list[tuple[int, int, int, int]] | None: ...
def encode(
    points: Points, edge_first: NDArray[np.int64], edges: NDArray[np.float64]
) -> tuple[NDArray[np.uint8 | np.uint16], NDArray[np.float64], NDArray[np.float64]]: ...
def sum_codes(
    codes: NDArray[np.uint8 | np.uint16],
    edge_first: NDArray[np.int64],
    edges: NDArray[np.float64],
    features: NDArray[np.int32],
    groups: NDArray[np.int32],
    n_groups: int,
    values: NDArray[np.int64],
    weights: NDArray[np.int64] | None,
    place: NDArray[np.int32] | None,
) -> NDArray[np.int64]: ...
def count_labels(
    codes: NDArray[np.uint8 | np.uint16],
    edge_first: NDArray[np.int64],
    edges: NDArray[np.float64],
    features: NDArray[np.int32],
    groups: NDArray[np.int32],
    n_groups: int,
    labels: NDArray[np.int32],
    n_labels: int,
    home: NDArray[np.int64] | None,
    weights: NDArray[np.int64] | None,
) -> NDArray[np.int64]: ...
def route(
    points: Points,
    feature: NDArray[np.int32],
    threshold: NDArray[np.float64],
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    key: NDArray[np.int32] | None,
    node_of_key: NDArray[np.int32],
    key_of_node: NDArray[np.int32],
    group_of_node: NDArray[np.int32],
    missing_left: NDArray[np.int8] | None = None,
    category_first: NDArray[np.int64] | None = None,
    category_codes: NDArray[np.int32] | None = None,
) -> tuple[NDArray[np.int32], NDArray[np.int32] | None] | None: ...

class Separation:
    """Cuts that separate the reference centers, and what the leaves hold.

    totals : (k,), sums of the regrets of all rows
    leaves : their nodes, and the centers that each holds: several where it could not be cut
    """

    @property
    def totals(self) -> NDArray[np.int64]: ...
    @property
    def cuts(self) -> list[MadeCut]: ...
    @property
    def leaves(self) -> list[tuple[int, list[int]]]: ...

class MistakeCounts:
    def __init__(
        self,
        bins: Bins,
        k: int,
        nearest: NDArray[np.int32],
        weights: NDArray[np.int64] | None,
        alive: NDArray[np.uint8],
        n_threads: int,
    ) -> None: ...
    def remove_separated(
        self, rows: NDArray[np.int32], n_left: int, left: NDArray[np.uint8], n_threads: int
    ) -> None: ...
    def separate(
        self,
        bins: Bins,
        points: Points,
        rows: NDArray[np.int32],
        regrets: NDArray[np.int64],
        centers: NDArray[np.float64],
        members: Sequence[int],
        per_center: bool,
        limits: Limits,
        tree_limits: Limits,
        shift: int,
        n_threads: int,
        tell: Callable[[int], None],
    ) -> Separation: ...
    def cut(
        self,
        points: Points,
        rows: NDArray[np.int32],
        centers: NDArray[np.float64],
        members: Sequence[int],
        per_center: bool,
        limits: Limits,
        shift: int,
        n_threads: int,
    ) -> Cut | None: ...

class TreeNode:
    """A node of a `MutableTree`; its feature is -1 where it is a leaf."""

    @property
    def number(self) -> int: ...
    @property
    def feature(self) -> int: ...
    @property
    def threshold(self) -> float: ...
    @property
    def missing_left(self) -> bool | None: ...
    @property
    def categories(self) -> tuple[int, ...]: ...
    @property
    def left(self) -> int: ...
    @property
    def right(self) -> int: ...
    @property
    def label(self) -> int: ...
    @property
    def is_leaf(self) -> bool: ...

class MutableTree:
    def __init__(
        self,
        bins: Bins,
        points: Points,
        regrets: NDArray[np.int64],
        rows: NDArray[np.int32],
        limits: Limits,
    ) -> None: ...
    @property
    def n_leaves(self) -> int: ...
    @property
    def cost(self) -> int: ...
    @property
    def steps(self) -> int: ...
    def copy(self) -> MutableTree: ...
    def regret(self, leaf: int) -> int: ...
    def totals(self, leaf: int) -> NDArray[np.int64]: ...
    def feature(self, node: int) -> int: ...
    def children(self, node: int) -> tuple[int, int]: ...
    def nodes(self) -> list[TreeNode]: ...
    def labels(self) -> NDArray[np.int32]: ...
    def reprice(self, regrets: NDArray[np.int64], prices: NDArray[np.int64] | None) -> None: ...
    def search(self, leaf: int, prices: NDArray[np.int64] | None, n_threads: int) -> Cut | None: ...
    def split(
        self,
        leaf: int,
        feature: int,
        threshold: float,
        missing_left: bool | None = None,
        categories: Sequence[int] = (),
    ) -> tuple[int, int] | None: ...
    def replace_split(
        self, node: int, prices: NDArray[np.int64] | None, n_threads: int
    ) -> bool: ...
    def collapse(self, node: int) -> None: ...
    def reoptimize(self, root: int, max_looks: int, n_threads: int) -> None: ...

def mistakes_inside(
    bins: Bins,
    i: int,
    points: Points,
    rows: NDArray[np.int32],
    center: NDArray[np.int32],
    weights: NDArray[np.int64] | None,
    place: NDArray[np.float64],
    missing_left: bool,
    members: list[int],
    changes: NDArray[np.int64],
    is_open: NDArray[np.uint8],
    base: NDArray[np.int64],
    permitted: tuple[float, float],
    anyway: tuple[bool, bool],
) -> tuple[int, float]:
    """The threshold of fewest mistakes inside some bins of the i-th of the columns ``bins.mixed``.

    Parameters
    ----------
    rows : of the node, those that count
    center, weights : of all rows
    place : of all centers; NaN where values are missing
    members : the node's centers that have a place
    changes : of all centers, what the mistakes change by there, but for the rows in its own bin
    is_open, base : of each bin, whether it is searched, and the mistakes of a threshold below it
    permitted : the least and the greatest threshold within the limits
    anyway : whether the sides have a center wherever the threshold is

    Returns
    -------
    mistakes, threshold : the largest integer and NaN if there is none
    """

class AnnealingChains:
    """Chains of annealing on one table, whose columns are given as bins.

    ``codes`` has the bin of every row in every slot; ``space`` the rows in the space of the
    centers, less their mean, with which they cost ``total``. Costs are counted in ``unit``.
    """

    def __init__(
        self,
        codes: NDArray[np.uint8],
        n_values: NDArray[np.int32],
        has_missing: NDArray[np.uint8],
        space: NDArray[np.float64],
        weights: NDArray[np.float64] | None,
        unit: float,
        total: float,
        rows: NDArray[np.int32],
        limits: Limits,
        n_leaves: int,
    ) -> None: ...
    def add(
        self,
        slot: NDArray[np.int32],
        last_bin: NDArray[np.int32],
        missing_left: NDArray[np.int8],
        left: NDArray[np.int32],
        right: NDArray[np.int32],
        centers: NDArray[np.float64],
        seed: int,
    ) -> None: ...
    def run(
        self,
        which: Sequence[int],
        policy: NDArray[np.float64],
        n_rounds: int,
        n_steps: int,
        start: float,
        end: float,
        n_threads: int,
    ) -> None:
        """Run some chains, each until ``n_rounds`` rounds or ``n_steps`` steps are made."""
    def exchange(self) -> None:
        """Let every chain take subtrees of the best trees that the others have now."""
    def best(
        self, chain: int
    ) -> tuple[
        NDArray[np.int32],
        NDArray[np.int32],
        NDArray[np.int8],
        NDArray[np.int32],
        NDArray[np.int32],
        NDArray[np.int32],
        NDArray[np.float64],
        float,
    ]:
        """Slot, bin, side of missing values, children and label of each node; centers; cost."""
    def best_cost(self, chain: int) -> float: ...
    def rounds(self, chain: int) -> int: ...
    def steps(self, chain: int) -> int: ...
    def accepted(self, chain: int) -> list[int]:
        """Rounds that were accepted, by move."""

def separate_greedily(
    bins: Bins,
    points: Points,
    rows: NDArray[np.int32],
    regrets: NDArray[np.int64],
    centers: NDArray[np.float64],
    members: Sequence[int],
    limits: Limits,
    n_threads: int,
    tell: Callable[[int], None],
) -> Separation:
    """Separate the members as ExGreedy does."""
    ...

def column(
    points: Points, feature: int, rows: NDArray[np.int32], n_threads: int
) -> NDArray[np.float64]: ...
def n_values(points: Points) -> int: ...
def variances(
    points: Points, rows: NDArray[np.int32], weights: NDArray[np.float64] | None, n_threads: int
) -> NDArray[np.float64]: ...

class KauriCut:
    """A cut of Kauri's: the node, and the clusters that its sides join."""

    @property
    def node(self) -> int: ...
    @property
    def feature(self) -> int: ...
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...
    @property
    def threshold(self) -> float: ...
    @property
    def left_cluster(self) -> int: ...
    @property
    def right_cluster(self) -> int: ...
    @property
    def gain(self) -> float: ...

class Kauri:
    def __init__(
        self,
        table: Points,
        space: Points,
        rows: NDArray[np.int32],
        weights: NDArray[np.float64] | None,
        limits: Limits,
        max_clusters: int,
        features: Sequence[int],
        prices: Sequence[float],
        n_threads: int,
    ) -> None: ...
    def step(self) -> KauriCut | None: ...

def max_threads() -> int: ...

SMALL_TABLE: int

class _ExactKernel(Generic[_Sums, _Value]):
    """The cheapest tree on a table of ranks; ``SquaresSolver`` and ``RegretSolver2`` to ``24``.

    ``solve`` returns a cost and True, or a lower bound and False, and the arrays of a tree (slot,
    rank, left, right); None where ``pause``, which is given the work so far, returned False.
    """

    def __init__(
        self,
        ranks: NDArray[np.uint32],
        n_distinct: NDArray[np.uint32],
        columns: NDArray[_Sums],
        n_centers: int,
        weights: NDArray[np.float64] | None,
        min_weight: float,
        prices: NDArray[_Sums] | None,
        slack: _Value,
    ) -> None: ...
    def solve(
        self, n_leaves: int, max_depth: int, target: _Value, pause: Callable[[float], bool]
    ) -> (
        tuple[
            _Value,
            bool,
            tuple[NDArray[np.int32], NDArray[np.uint32], NDArray[np.int32], NDArray[np.int32]],
        ]
        | None
    ): ...
    def stop_at(self, work: float) -> None: ...
    @property
    def work(self) -> float: ...

class SquaresSolver(_ExactKernel[np.float64, float]): ...
class RegretSolver(_ExactKernel[np.int64, int]): ...
class RegretSolver2(_ExactKernel[np.int64, int]): ...
class RegretSolver4(_ExactKernel[np.int64, int]): ...
class RegretSolver8(_ExactKernel[np.int64, int]): ...
class RegretSolver16(_ExactKernel[np.int64, int]): ...
class RegretSolver24(_ExactKernel[np.int64, int]): ...
