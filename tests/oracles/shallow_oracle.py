"""ExShallow's cut of a node, slow and plain: every threshold by itself, nothing of treemeans."""

import math

import numpy as np

FACTOR = 0.03


def sum_of_depths(depth, n, k, share, k_share):
    """Depths of n points below a node with k centers, if all divide as the cut does."""
    if k == 1:
        return n * depth
    k1 = min(max(math.ceil(k * k_share - 1e-12), 1), k - 1)
    alone = n if k1 > k - k1 else 0  # the side of a single point
    n1 = min(max(math.ceil(n * share - 1e-12), 1), n - 1) if n > 1 else alone
    return sum_of_depths(depth + 1, n1, k1, share, k_share) + sum_of_depths(
        depth + 1, n - n1, k - k1, share, k_share
    )


def scores(X, weights, centers, gone_left=(), gone_right=()):
    """{(feature, value): score} of all valid cuts ``x <= value`` of a node."""
    costs = ((X[:, None, :] - centers[None, :, :]) ** 2).sum(axis=2)
    whole = float(weights @ costs.min(axis=1)) or 1.0
    n, k = len(np.unique(X, axis=0)), len(centers)
    found = {}
    for feature in range(X.shape[1]):
        if len(np.unique(X[:, feature])) == 1:
            continue
        for value in np.unique(np.concatenate([X[:, feature], centers[:, feature]])):
            left, c_left = X[:, feature] <= value, centers[:, feature] <= value
            k1, n1 = int(c_left.sum()), len(np.unique(X[left], axis=0)) if left.any() else 0
            if k1 in (0, k) or n1 < k1 or n - n1 < k - k1:
                continue
            cost = weights[left] @ costs[left][:, c_left].min(axis=1)
            cost += weights[~left] @ costs[~left][:, ~c_left].min(axis=1)
            depths = sum_of_depths(1, n1, k1, n1 / n, k1 / k)
            depths += sum_of_depths(1, n - n1, k - k1, n1 / n, k1 / k)
            depths -= n1 * (feature in gone_left) + (n - n1) * (feature in gone_right)
            found[feature, float(value)] = float(cost) / whole + FACTOR * depths / n
    return found
