"""Slow, plain ways to see whether rules are right, and whether there could be fewer."""

import itertools
import math
import re

import numpy as np

from treemeans import ThresholdTree
from treemeans.columns import plain_columns
from treemeans.explain.model_facts import Facts
from treemeans.value_set import EVERYTHING


def inside(box, X):
    """For each row, whether it meets every condition of a box."""
    met = np.ones(len(X), dtype=bool)
    for feature, interval in box.items():
        met &= (interval.above < X[:, feature]) & (X[:, feature] <= interval.upto)
    return met


def holds(box, other):
    """Whether a box of intervals holds another."""
    return all(interval.covers(other.get(f, EVERYTHING)) for f, interval in box.items())


def meets(box, other):
    """Whether two boxes have a point in common."""
    return not any((interval & other.get(f, EVERYTHING)).is_empty for f, interval in box.items())


def clusters_of(rules, X):
    """For each row, the clusters with a rule it meets."""
    return [
        {each.cluster for each, met in zip(rules, column, strict=True) if met}
        for column in np.array(
            [
                np.any([inside(rule.box, X) for rule in each] or [np.zeros(len(X), bool)], axis=0)
                for each in rules
            ]
        ).T
    ]


def tree_from(told, n_features):
    """A tree from nested (feature, below, above), all cut at a half; a number is a leaf's label."""
    parts = {name: [] for name in ("feature", "threshold", "left", "right", "label")}

    def add(what):
        node = len(parts["feature"])
        feature, *children = what if isinstance(what, tuple) else (-1,)
        label = 0 if children else what
        for name, value in zip(parts, (feature, 0.5, -1, -1, label), strict=True):
            parts[name].append(value)
        if children:
            parts["left"][node], parts["right"][node] = map(add, children)
        return node

    add(told)
    return ThresholdTree(**parts, n_features=n_features)


def facts_of(tree, columns=None, **changes):
    """Facts of a tree without rows."""
    shape = (tree.n_clusters, tree.n_features)
    return Facts(
        **{
            "tree": tree,
            "columns": columns or plain_columns(tree.n_features),
            "hits": np.zeros((tree.n_leaves, tree.n_clusters)),
            "costs": np.zeros(tree.n_clusters),
            "reference_cost": 0.0,
            "profiles": np.full(shape, np.nan),
            "spread": np.zeros(tree.n_features),
        }
        | changes
    )


def random_tree(rng, n_leaves, n_features, n_clusters, levels=None):
    """A tree with random cuts of [0, 1]; with ``levels``, at few thresholds that come again."""
    feature, threshold, left, right = [-1], [0.0], [-1], [-1]
    boxes = [[(0.0, 1.0)] * n_features]
    leaves = [0]
    for _ in range(20 * n_leaves):
        if len(leaves) == n_leaves:
            break
        node = leaves.pop(rng.integers(len(leaves)))
        cut = int(rng.integers(n_features))
        low, high = boxes[node][cut]
        at = low + (high - low) * rng.uniform(0.1, 0.9)
        at = at if levels is None else round(at * levels) / levels
        if not low < at < high:
            leaves.append(node)
            continue
        feature[node], threshold[node] = cut, at
        left[node], right[node] = len(feature), len(feature) + 1
        for side in ((low, at), (at, high)):
            leaves.append(len(feature))
            boxes.append([side if i == cut else old for i, old in enumerate(boxes[node])])
            for array, value in ((feature, -1), (threshold, 0.0), (left, -1), (right, -1)):
                array.append(value)
    label = rng.integers(n_clusters, size=len(feature))
    label[leaves[0]] = n_clusters - 1
    return ThresholdTree(feature, threshold, left, right, label, n_features)


def critical_rows(rng, tree, n_rows):
    """Rows made of the thresholds, the floats next to them, and values far out."""
    columns = []
    for feature in range(tree.n_features):
        at = tree.threshold[tree.feature == feature]
        around = [at, np.nextafter(at, -np.inf), np.nextafter(at, np.inf), [-1e300, 1e300]]
        columns.append(rng.choice(np.concatenate([*around, rng.random(4)]), size=n_rows))
    return np.column_stack(columns)


# ---- the fewest boxes, by trying all -------------------------------------------------------------


def fewest(tree, cluster):
    """Fewest boxes, then fewest bounds, so that each leaf of a cluster is wholly in one of them.

    All boxes between thresholds are tried on one row for each cell of the grid.
    """
    cuts = [np.unique(tree.threshold[tree.feature == f]) for f in range(tree.n_features)]
    rows = np.array(
        list(itertools.product(*[[*at, at[-1] + 1] if len(at) else [0] for at in cuts]))
    )
    leaf = tree.apply(rows)
    own = [node for node in tree.leaves if tree.label[node] == cluster and (leaf == node).any()]
    best = {}
    for ends in itertools.product(*[_intervals(at) for at in cuts]):
        bounds = sum(math.isfinite(end) for pair in ends for end in pair)
        met = np.all([(a < x) & (x <= b) for (a, b), x in zip(ends, rows.T, strict=True)], axis=0)
        if not (tree.label[leaf[met]] == cluster).all():
            continue
        held = sum(1 << i for i, node in enumerate(own) if met[leaf == node].all())
        best[held] = min(best.get(held, bounds), bounds)
    return _cheapest_cover(best, (1 << len(own)) - 1)


def _intervals(thresholds):
    return list(itertools.combinations([-math.inf, *thresholds.tolist(), math.inf], 2))


def _cheapest_cover(prices, everything):
    """(sets, price) of the cheapest cover, for each union that sets can have."""
    cheapest = {0: (0, 0)}
    for _ in range(everything.bit_count()):
        for union, (count, price) in list(cheapest.items()):
            for held, more in prices.items():
                now = count + 1, price + more
                cheapest[union | held] = min(cheapest.get(union | held, now), now)
    return cheapest[everything]


# ---- words ---------------------------------------------------------------------------------------


def categories_meant(condition, source, categories):
    """The categories that a condition on their source speaks of."""
    relation, said = re.fullmatch(rf"{source} (=|!=|in|not in) (.*)", condition).groups()
    named = set(said.strip("()").split(", "))
    assert named <= set(categories)
    return named if relation in ("=", "in") else set(categories) - named
