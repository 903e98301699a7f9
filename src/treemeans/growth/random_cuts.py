"""Random threshold cuts (Makarychev, Shan 2021; Gamlath et al. 2021): a base tree."""

from collections import deque
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from treemeans.growth.in_memory_tree import InMemoryTree
from treemeans.growth.leaf_label import label_by_center
from treemeans.growth.proposed_cut import RowCut, mid_gap, values_of
from treemeans.split import Split

Law = Literal["kmeans", "l1"]
Rng = np.random.Generator | np.random.RandomState

_DRAWS = 100  # at a node, before it stays a leaf because of the limits
_LARGE = 1e150  # squares of larger numbers may overflow


def random_cuts(
    growing: InMemoryTree,
    centers: NDArray[np.float64],
    rng: Rng,
    *,
    law: Law = "kmeans",
) -> None:
    """Cut a tree of one leaf at random until every leaf holds one center, and label it so.

    Parameters
    ----------
    centers : (k, n_features), in the columns of the table. A center with a NaN gets no leaf; of
        centers that coincide in the features that may be cut, only the first gets one.
    law : ``"kmeans"`` prefers wide gaps between neighbouring centers (by their square) and the
        middle of a gap; ``"l1"`` draws uniformly along every feature.

    A cut that the limits forbid is drawn again, up to a hundred times; then the node stays a leaf,
    labelled by the surrogate cost.
    """
    features = np.flatnonzero(growing.table.comparable)
    whole = centers if not growing.table.bins.mixed else centers[:, features]
    placed = np.flatnonzero(np.isfinite(whole).all(axis=1))
    if not len(placed):  # no cut is between centers: the tree stays one leaf
        return
    scales = _Scales.of(centers[np.ix_(placed, features)], law)
    queue = deque([(0, np.arange(len(placed)))])
    while queue:
        node, members = queue.popleft()
        if len(members) == 1 or not scales.between_members(members).any():
            label_by_center(growing, node, int(placed[members[0]]))
            continue
        cut = _draw(growing, node, features, scales, members, rng)
        if cut is None:
            continue
        column, threshold = cut
        left, right = growing.split(node, int(features[column]), threshold)
        goes_left = scales.values[members, column] <= threshold
        queue.append((left, members[goes_left]))
        queue.append((right, members[~goes_left]))


@dataclass(frozen=True)
class _Scales:
    """Every feature rescaled, so that a place drawn uniformly along it follows the law.

    Attributes
    ----------
    values : (k, features) of the centers
    ordered : the same, each feature's in ascending order
    rank : (k, features), where a center stands in that order
    steps : (k - 1, features), rescaled length of the gap between two neighbours
    law : how a gap is rescaled
    unit : power of two that lengths are multiples of, so that squares of large gaps are finite
    """

    values: NDArray[np.float64]
    ordered: NDArray[np.float64]
    rank: NDArray[np.intp]
    steps: NDArray[np.float64]
    law: Law
    unit: float

    @classmethod
    def of(cls, values: NDArray[np.float64], law: Law) -> Self:
        """Scales of centers with these values."""
        order = np.argsort(values, axis=0, kind="stable")
        ordered = np.take_along_axis(values, order, axis=0)
        unit = 2.0**520 if (np.abs(values) > _LARGE).any() else 1.0
        gaps = np.diff(ordered / unit, axis=0)
        steps = gaps**2 / 2 if law == "kmeans" else gaps
        return cls(values, ordered, np.argsort(order, axis=0), steps, law, unit)

    def between_members(self, members: NDArray[np.intp]) -> NDArray[np.float64]:
        """The steps between the outermost members; others are zero."""
        rank = self.rank[members]
        gap = np.arange(len(self.steps))[:, None]
        return np.where((gap >= rank.min(axis=0)) & (gap < rank.max(axis=0)), self.steps, 0.0)

    def value_at(self, column: int, gap: int, place: float) -> float:
        """The value at a place within a gap; below the gap's upper end."""
        p, q = self.ordered[gap : gap + 2, column]
        if self.law == "l1":
            value = p + place * self.unit
        elif place <= self.steps[gap, column] / 2:
            value = p + np.sqrt(place) * self.unit
        else:
            value = q - np.sqrt(max(self.steps[gap, column] - place, 0.0)) * self.unit
        return float(min(value, np.nextafter(q, -np.inf)))


def _choose(lengths: NDArray[np.float64], place: float) -> tuple[int, float]:
    """Which of consecutive lengths a place falls into, and how far."""
    ends = np.cumsum(lengths)
    last = int(np.flatnonzero(lengths)[-1])
    chosen = min(int(np.searchsorted(ends, place, side="right")), last)
    return chosen, place - float(ends[chosen] - lengths[chosen])


def _draw(
    growing: InMemoryTree,
    node: int,
    features: NDArray[np.intp],
    scales: _Scales,
    members: NDArray[np.intp],
    rng: Rng,
) -> tuple[int, float] | None:
    """A cut that parts the members and that the limits permit: its column and threshold."""
    if not growing.may_cut(node):
        return None
    steps = scales.between_members(members)
    lengths = steps.sum(axis=0)
    for _ in range(_DRAWS):
        column, place = _choose(lengths, rng.uniform(0.0, lengths.sum()))
        gap, place = _choose(steps[:, column], place)
        drawn = scales.value_at(column, gap, max(place, 0.0))
        feature = int(features[column])
        values = values_of(growing, node, feature)
        # The same sides for all rows and centers, from half way between two of them.
        threshold = mid_gap(np.append(values, scales.values[members, column]), drawn)
        if threshold is None:
            continue
        if RowCut(growing, node, Split(feature, threshold), values).is_permitted():
            return column, threshold
    return None
