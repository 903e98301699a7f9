"""Types of the compiled kernels. Arrays are borrowed for the call, or for the object's life."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Cut = tuple[int, int, float, float]
"""Cost in fixed point, feature, and the two values of the feature next to the cut."""

class Points:
    def all_finite(self, n_threads: int) -> bool: ...

def dense_points(array: NDArray[np.generic]) -> Points: ...
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
) -> NDArray[np.int32] | None: ...
def partition(
    points: Points, rows: NDArray[np.int32], feature: int, threshold: float, n_threads: int
) -> int: ...
def group_sums(
    points: Points,
    groups: NDArray[np.int32],
    n_groups: int,
    weights: NDArray[np.float64] | None,
    shift: NDArray[np.float64] | None,
    squares: NDArray[np.float64] | None,
    n_threads: int,
) -> NDArray[np.float64]: ...
def margins(
    points: Points,
    feature: NDArray[np.int32],
    threshold: NDArray[np.float64],
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    n_threads: int,
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]: ...

class Bins:
    @property
    def n_bytes(self) -> int: ...
    @property
    def n_bins(self) -> int: ...
    @property
    def n_dense(self) -> int: ...
    @property
    def feature(self) -> list[int]: ...

def make_bins(points: Points, allowed: NDArray[np.uint8] | None, n_threads: int) -> Bins | None: ...
def price(
    points: Points, centers: NDArray[np.float64], n_threads: int
) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.float64]]: ...
def total_regrets(
    regret: NDArray[np.float64], weights: NDArray[np.float64] | None, n_threads: int
) -> NDArray[np.float64]: ...
def to_fixed(
    values: NDArray[np.float64],
    weights: NDArray[np.float64] | None,
    whole_weights: bool,
    scale: float,
    n_threads: int,
) -> None: ...
def sum_regrets(
    regrets: NDArray[np.int64], rows: NDArray[np.int32], n_threads: int
) -> NDArray[np.int64]: ...
def surrogate_cut(
    bins: Bins,
    points: Points,
    rows: NDArray[np.int32],
    regrets: NDArray[np.int64],
    totals: NDArray[np.int64],
    label: int,
    weights: NDArray[np.int64] | None,
    min_weight: int,
    prices: NDArray[np.int64] | None,
    n_threads: int,
) -> Cut | None: ...
def survey(
    points: Points,
    groups: NDArray[np.int32],
    lines: NDArray[np.int64],
    look_group: NDArray[np.int32],
    look_feature: NDArray[np.int32],
    look_first: NDArray[np.int64],
    edges: NDArray[np.float64],
    wanted: NDArray[np.uint8],
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]: ...
def collect(
    points: Points,
    groups: NDArray[np.int32],
    look_group: NDArray[np.int32],
    look_feature: NDArray[np.int32],
    look_first: NDArray[np.int64],
    edges: NDArray[np.float64],
    wanted: NDArray[np.uint8],
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]: ...

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
    def bury(
        self, rows: NDArray[np.int32], n_left: int, left: NDArray[np.uint8], n_threads: int
    ) -> None: ...
    def cut(
        self,
        points: Points,
        rows: NDArray[np.int32],
        centers: NDArray[np.float64],
        members: Sequence[int],
        per_center: bool,
        least: int,
        prices: NDArray[np.int64] | None,
        shift: int,
        n_threads: int,
    ) -> Cut | None: ...

class Bonsai:
    def __init__(
        self,
        bins: Bins,
        points: Points,
        regrets: NDArray[np.int64],
        rows: NDArray[np.int32],
        weights: NDArray[np.int64] | None,
        min_weight: int,
        prices: NDArray[np.int64] | None,
        max_depth: int,
    ) -> None: ...
    @property
    def n_leaves(self) -> int: ...
    @property
    def cost(self) -> int: ...
    @property
    def steps(self) -> int: ...
    def copy(self) -> Bonsai: ...
    def regret(self, leaf: int) -> int: ...
    def totals(self, leaf: int) -> NDArray[np.int64]: ...
    def feature(self, node: int) -> int: ...
    def children(self, node: int) -> tuple[int, int]: ...
    def nodes(self) -> list[tuple[int, int, float, int, int, int]]: ...
    def labels(self) -> NDArray[np.int32]: ...
    def reprice(self, regrets: NDArray[np.int64], prices: NDArray[np.int64] | None) -> None: ...
    def search(self, leaf: int, prices: NDArray[np.int64] | None, n_threads: int) -> Cut | None: ...
    def split(self, leaf: int, feature: int, threshold: float) -> tuple[int, int] | None: ...
    def resplit(self, node: int, prices: NDArray[np.int64] | None, n_threads: int) -> bool: ...
    def collapse(self, node: int) -> None: ...
    def settle(self, root: int, max_looks: int, n_threads: int) -> None: ...

def greedy_cut(
    bins: Bins,
    points: Points,
    rows: NDArray[np.int32],
    regrets: NDArray[np.int64],
    centers: NDArray[np.float64],
    members: Sequence[int],
    least: int,
    weights: NDArray[np.int64] | None,
    prices: NDArray[np.int64] | None,
    n_threads: int,
) -> Cut | None: ...
def column(
    points: Points, feature: int, rows: NDArray[np.int32], n_threads: int
) -> NDArray[np.float64]: ...
def n_values(points: Points) -> int: ...
def variances(
    points: Points, rows: NDArray[np.int32], weights: NDArray[np.float64] | None, n_threads: int
) -> NDArray[np.float64]: ...

class Kauri:
    def __init__(
        self,
        table: Points,
        space: Points,
        rows: NDArray[np.int32],
        weights: NDArray[np.float64] | None,
        units: NDArray[np.int64] | None,
        max_clusters: int,
        min_weight: int,
        max_depth: int,
        features: Sequence[int],
        prices: Sequence[float],
        n_threads: int,
    ) -> None: ...
    def step(self) -> tuple[int, int, float, float, int, int, float] | None: ...

def max_threads() -> int: ...
