"""Trees of any shape on numbers of any size, and rows that come close to their cuts."""

import math

import numpy as np
from hypothesis import strategies as st

from treemeans import ThresholdTree
from treemeans.columns import Column

N_CODES = 6  # of a column of categories
SCALES = (1.0, 1e-3, 1e9, 1e30, 1e-30, 2.0**-24)


def random_tree(rng, n_leaves, n_features, n_clusters, scale=1.0, offset=0.0, known=True):
    """Leaves are cut at random; ``known``: with weights, costs and gaps."""
    n = 2 * n_leaves - 1
    feature, left, right = (np.full(n, -1) for _ in range(3))
    threshold = np.full(n, np.nan)
    gap = np.full((n, 2), np.nan)
    growth = np.zeros(n, dtype=int)
    open_leaves = [0]
    for i in range(n_leaves - 1):
        node = open_leaves.pop(rng.integers(len(open_leaves)))
        feature[node] = rng.integers(n_features)
        threshold[node] = offset + scale * rng.normal()
        width = abs(threshold[node]) * rng.choice([0.0, 1e-15, 1e-9, 1e-7, 1e-3, 1.0], 2)
        beyond = max(threshold[node] + width[1], np.nextafter(threshold[node], np.inf))
        gap[node] = threshold[node] - width[0], beyond
        growth[node] = i + 2
        left[node], right[node] = 2 * i + 1, 2 * i + 2
        open_leaves += [left[node], right[node]]
    tree = ThresholdTree(
        feature, threshold, left, right, rng.integers(n_clusters, size=n), n_features, growth=growth
    )
    if not known:
        return tree
    weight = np.zeros(n)
    weight[tree.leaves] = rng.integers(1, 9, n_leaves)
    for node in range(n - 1, -1, -1):  # children have larger numbers
        if left[node] >= 0:
            weight[node] = weight[left[node]] + weight[right[node]]
    costs = weight[:, None] * rng.random((n, n_clusters))
    return ThresholdTree(
        feature, threshold, left, right, tree.label, n_features, weight, costs, growth, gap
    )


@st.composite
def trees(draw, known=None):
    """(tree, rng)."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    tree = random_tree(
        rng,
        n_leaves=draw(st.integers(1, 40)),
        n_features=draw(st.integers(1, 4)),
        n_clusters=draw(st.integers(1, 6)),
        scale=draw(st.sampled_from(SCALES)),
        offset=draw(st.sampled_from([0.0, 1.0, -1000.0])),
        known=draw(st.booleans()) if known is None else known,
    )
    return tree, rng


def rows_near(tree, rng, n_rows=200):
    """Rows of thresholds, of their neighbours in float64, and of numbers of their size."""
    cuts = tree.threshold[~tree.is_leaf]
    cuts = cuts if len(cuts) else np.zeros(1)
    spread = float(np.abs(cuts).max()) or 1.0
    values = np.concatenate(
        [
            cuts,
            np.nextafter(cuts, np.inf),
            np.nextafter(cuts, -np.inf),
            cuts * (1 + 1e-7 * rng.normal(size=len(cuts))),
            spread * rng.normal(size=len(cuts)),
            [0.0, -0.0, 5e-324],
        ]
    )
    return rng.choice(values, (n_rows, tree.n_features))


# The columns of a mixed tree, and of its tables.
MIXED_COLUMNS = tuple(
    Column(f"x{i}", "codes", categories=tuple(f"it's {code}" for code in range(N_CODES)))
    if i % 2
    else Column(f"x{i}")
    for i in range(4)
)


def mixed_table(X):
    """Rows as a user has them: names of categories, also unknown ones, and None for NaN."""
    rows = []
    for row in X:
        values = [None if math.isnan(x) else float(x) for x in row]
        for i in range(1, len(values), 2):
            known = values[i] is not None
            values[i] = f"it's {int(values[i])}" if known else None
        rows.append(values)
    return rows


def mixed_tree(rng, n_leaves, n_features=4, n_clusters=5, missing="some"):
    """A tree with thresholds at even columns and categories at odd ones.

    ``missing``: "none" (no node accepts missing values), "all" (every node does), or "some". A
    few nodes of the even columns only ask whether there is a value, where they may.
    """
    n = 2 * n_leaves - 1
    feature, left, right, side = (np.full(n, -1) for _ in range(4))
    threshold, codes = np.full(n, np.nan), [[] for _ in range(n)]
    open_leaves = [0]
    for i in range(n_leaves - 1):
        node = open_leaves.pop(rng.integers(len(open_leaves)))
        feature[node] = rng.integers(n_features)
        lowest = {"none": -1, "some": -1, "all": 0}[missing]
        side[node] = rng.integers(lowest, 0 if missing == "none" else 2)
        if feature[node] % 2:
            codes[node] = np.flatnonzero(rng.random(N_CODES) < 0.4).tolist() or [0]
        elif side[node] >= 0 and rng.random() < 0.2:
            threshold[node] = -np.inf if side[node] else np.inf
        else:
            threshold[node] = rng.integers(-3, 4) / 2
        left[node], right[node] = 2 * i + 1, 2 * i + 2
        open_leaves += [left[node], right[node]]
    label = rng.integers(n_clusters, size=n)
    weight = np.zeros(n)
    weight[feature < 0] = rng.integers(1, 9, n_leaves)
    for node in range(n - 1, -1, -1):  # children have larger numbers
        if left[node] >= 0:
            weight[node] = weight[left[node]] + weight[right[node]]
    return ThresholdTree(
        feature,
        threshold,
        left,
        right,
        label,
        n_features,
        weight,
        weight[:, None] * rng.random((n, n_clusters)),
        missing_left=side,
        category_first=np.append(0, np.cumsum([len(each) for each in codes])),
        category_codes=np.array([code for each in codes for code in each], dtype=int),
    )


def mixed_rows(rng, n_rows, n_features=4, gaps=0.25):
    """Rows for such a tree: thresholds, numbers near them, codes, codes never seen, and NaN."""
    X = rng.integers(-4, 5, (n_rows, n_features)) / 2 + rng.choice([0.0, 1e-9], (n_rows, 1))
    X[:, 1::2] = rng.integers(0, N_CODES + 2, (n_rows, n_features // 2))
    X[rng.random(X.shape) < gaps] = np.nan
    return X


def accepted(tree, X):
    """The rows of which the tree accepts every value, found one row and one node at a time."""
    return np.array([_leaf_of(tree, row) is not None for row in X], dtype=bool)


def leaves_by_walking(tree, X):
    """The leaf of each row, found one row and one node at a time."""
    return np.array([_leaf_of(tree, row) for row in X], dtype=np.int32)


def _leaf_of(tree, row):
    if np.isinf(row).any() or (np.isnan(row).any() and (tree.missing_left < 0).all()):
        return None
    node = 0
    while tree.feature[node] >= 0:
        x, side = row[tree.feature[node]], tree.missing_left[node]
        first, end = tree.category_first[node], tree.category_first[node + 1]
        if math.isnan(x):
            if side < 0:
                return None
            goes_left = side == 1
        elif first < end:
            goes_left = x in tree.category_codes[first:end].tolist()
        else:
            goes_left = x <= tree.threshold[node]
        node = int(tree.left[node] if goes_left else tree.right[node])
    return node


def customers():
    """country in (0, 2) ? (age <= 40 or missing ? 0 : 1) : (age is missing ? 2 : 0)."""
    nan = math.nan
    return ThresholdTree(
        feature=[1, 0, 0, -1, -1, -1, -1],
        threshold=[nan, 40.0, -math.inf, nan, nan, nan, nan],
        left=[1, 3, 5, -1, -1, -1, -1],
        right=[2, 4, 6, -1, -1, -1, -1],
        label=[0, 0, 2, 0, 1, 2, 0],
        n_features=2,
        missing_left=[0, 1, 1, -1, -1, -1, -1],
        category_first=[0, 2, 2, 2, 2, 2, 2, 2],
        category_codes=[0, 2],
    )
