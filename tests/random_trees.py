"""Trees of any shape on numbers of any size, and rows that come close to their cuts."""

import numpy as np
from hypothesis import strategies as st

from treemeans import ThresholdTree

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
