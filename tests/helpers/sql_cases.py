"""Trees and tables for exports to be tried on."""

import math

import numpy as np

from treemeans.tree import ThresholdTree

# fmt: off
HARD_NUMBERS = [
    0.0, -0.0, 0.1, 0.1 + 0.2, 2.45, -2.45, 1 / 3, -1e-5, 123456789.123456789, 1e22, 1e23, -1e300,
    5e-324, -5e-324, 1e-310, 2.2250738585072014e-308, 1.7976931348623157e308, 2.0**60,
    9007199254740993.0, 0.5, 4.0, 16777217.0, 0.000123456789, 99999.99999999999,
]

# SQLite 3.40 reads these decimals as the float next to the nearest.
MISREAD = [
    0.074191, 0.00017853, 5.1011e-05, 0.02926489, 0.42733931, 0.5221951071, 8.18052008034,
    810.791848152, 163067.751397, 17089.9488929698, 0.053636799829377, 1.900438580073882,
    1.724765205087465e-05, 401.5291355767732,
]

HOSTILE_NAMES = [
    '"; drop table x; --', "it's", "a`b", "a``b", "a]b", "[a]", "new\n  line", "back\\slash",
    "back\\`tick", 'back\\"quote', "back\\'apostrophe", "ünï😀", "*", "tab\t", "--", "/*x*/",
    "{{x}}", "$$", "a\u2028b", "%s", ":p", "?", "\\", " space ", "select", "a.b", "<img onerror=x>",
    "__SQLGLOT__LB__", "cr\rlf\r\n", "\x0b\x0c\x85",
]
# fmt: on


def random_tree(rng, n_leaves, n_features, n_clusters, thresholds):
    """A tree that splits a random leaf again and again, by each column in turn."""
    feature, threshold, left, right = [-1], [math.nan], [-1], [-1]
    while len(feature) < 2 * n_leaves - 1:
        node = int(rng.choice(np.flatnonzero(np.array(feature) < 0)))
        feature[node] = len(feature) // 2 % n_features
        threshold[node] = float(rng.choice(thresholds))
        left[node], right[node] = len(feature), len(feature) + 1
        for values, new in ((feature, -1), (threshold, math.nan), (left, -1), (right, -1)):
            values += [new, new]
    label = rng.integers(n_clusters, size=len(feature))
    return ThresholdTree(feature, threshold, left, right, label, n_features)


def stump(threshold):
    """One cut: up to the threshold cluster 0, above it 1."""
    return ThresholdTree([0, -1, -1], [threshold, 0, 0], [1, -1, -1], [2, -1, -1], [0, 0, 1], 1)


def chain_tree(n_leaves, side):
    """As deep as it can be, to the ``"left"``, the ``"right"``, or ``"both"`` in turn."""
    n_cuts = n_leaves - 1
    feature = [0] * n_cuts + [-1] * n_leaves
    left, right = [-1] * (2 * n_cuts + 1), [-1] * (2 * n_cuts + 1)
    threshold = [math.nan] * (2 * n_cuts + 1)
    low, high = 0.0, float(n_leaves)
    for i in range(n_cuts):
        goes_left = side == "left" or (side == "both" and i % 2 == 0)
        deeper, leaf = (i + 1 if i + 1 < n_cuts else 2 * n_cuts), n_cuts + i
        left[i], right[i] = (deeper, leaf) if goes_left else (leaf, deeper)
        if goes_left:
            threshold[i] = high = high - 1
        else:
            threshold[i] = low = low + 1
    label = np.arange(2 * n_cuts + 1) % 7
    return ThresholdTree(feature, threshold, left, right, label, 1)


def neighbours(numbers):
    """The numbers and the floats next to them."""
    numbers = np.asarray(numbers, dtype=np.float64)
    largest = np.finfo(np.float64).max
    around = [numbers, np.nextafter(numbers, -largest), np.nextafter(numbers, largest)]
    return np.unique(np.concatenate(around))


def random_rows(rng, n, tree):
    """Rows on thresholds, next to them, and anywhere."""
    near = neighbours(tree.threshold[~tree.is_leaf])
    shape = (n, tree.n_features)
    return np.where(rng.random(shape) < 0.7, rng.choice(near, shape), 3 * rng.normal(size=shape))


def with_gaps(rng, X, share=0.05):
    """Rows as lists with None here and there, and where it is."""
    gone = rng.random(X.shape) < share
    return [
        [None if is_gone else value for value, is_gone in zip(*pair, strict=True)]
        for pair in zip(X.tolist(), gone.tolist(), strict=True)
    ], gone
