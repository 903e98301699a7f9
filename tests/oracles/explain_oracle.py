"""Slow and plain: every row that a row could become, sent down the tree one by one.

Nothing here knows of boxes. A feature can become what it is, or any value next to a threshold or
a bound (or any multiple of a step away); of the product of all these, the cheapest that does it
is the answer, for within a leaf nothing is gained by going farther than the border.
"""

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tests.helpers.plain_numpy import leaf_of


@dataclass
class Limits:
    """What the user allows; by column number."""

    free: list
    low: list
    high: list
    step: list  # None where any value will do

    @classmethod
    def none(cls, columns):
        own = {"integer": 1, "date": 1}
        n = len(columns)
        return cls([True] * n, [-math.inf] * n, [math.inf] * n, [own.get(c.kind) for c in columns])


def features_of(columns):
    """Columns that change together: those of a source; each other one by itself."""
    groups = {}
    for i, column in enumerate(columns):
        key = ("source", column.source) if column.kind == "category" else ("column", i)
        groups.setdefault(key, []).append(i)
    return list(groups.values())


def values_of(tree, columns, limits, group, x):
    """What a feature of a row can become, the present first."""
    first = columns[group[0]]
    present = tuple(x[i] for i in group)
    if first.kind == "category":
        others = [tuple(float(i == j) for i in group) for j in group]
        others += [] if first.complete else [(0.0,) * len(group)]
    elif first.kind == "flag":
        others = [(0.0,), (1.0,)]
    else:
        others = [(v,) for v in numbers_near(tree, limits, group[0], x[group[0]])]

    def may_be(new):
        return all(
            now == then or (limits.free[i] and limits.low[i] <= then <= limits.high[i])
            for i, now, then in zip(group, present, new, strict=True)
        )

    return [present, *(new for new in others if new != present and may_be(new))]


def numbers_near(tree, limits, i, x):
    """Either side of each threshold, and the bounds; with a step, all multiples up to there."""
    borders = [*tree.threshold[tree.feature == i].tolist(), limits.low[i], limits.high[i]]
    borders = [b for b in borders if math.isfinite(b)]
    step = limits.step[i]
    if step is None:
        return [v for b in borders for v in (b, math.nextafter(b, math.inf))]
    if not borders:
        return []
    start, size = Fraction(str(float(x))), Fraction(str(float(step)))
    fewest = math.floor((Fraction(min(borders)) - start) / size) - 1
    most = math.ceil((Fraction(max(borders)) - start) / size) + 1
    return [float(start + m * size) for m in range(fewest, most + 1)]


def ways(tree, columns, scale, limits, x):
    """Every row that x could become: its leaf, the number of features changed, the distance."""
    groups = features_of(columns)
    options = [values_of(tree, columns, limits, group, x) for group in groups]
    picks = list(itertools.product(*(range(len(o)) for o in options)))
    rows = np.empty((len(picks), len(x)))
    for k, pick in enumerate(picks):
        for group, option, j in zip(groups, options, pick, strict=True):
            rows[k, group] = option[j]
    n_changed = np.array([sum(j > 0 for j in pick) for pick in picks])
    distance = np.sqrt((((rows - x) / scale) ** 2).sum(axis=1))
    return leaf_of(tree, rows), n_changed, distance


def to_each_leaf(tree, columns, scale, limits, x):
    """For each leaf, the fewest changes and the least distance; infinite if there is no way."""
    leaf, n_changed, distance = ways(tree, columns, scale, limits, x)
    found = {}
    for node in tree.leaves.tolist():
        here = leaf == node
        found[node] = (
            (n_changed[here].min(), distance[here].min()) if here.any() else (math.inf, math.inf)
        )
    return found


def smallest_change(tree, columns, scale, limits, x, to):
    """The fewest changes to get to a cluster, and the least distance of so few; None if no way."""
    leaf, n_changed, distance = ways(tree, columns, scale, limits, x)
    there = tree.label[leaf] == to
    if not there.any():
        return None
    fewest = n_changed[there].min()
    return int(fewest), float(distance[there & (n_changed == fewest)].min())


def nearest_other(tree, columns, scale, limits, x):
    """The least distance to any other cluster, and the clusters at it."""
    leaf, _, distance = ways(tree, columns, scale, limits, x)
    other = tree.label[leaf] != tree.label[leaf[0]]
    if not other.any():
        return math.inf, set()
    least = distance[other].min()
    return float(least), set(tree.label[leaf[other & (distance <= least * (1 + 1e-9))]].tolist())
