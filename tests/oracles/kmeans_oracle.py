"""Slow, plain searches for k-means centers."""

import numpy as np

from tests.helpers.plain_numpy import squared_distances


def cost(X, weights, centers):
    """k-means cost of the centers."""
    return float(squared_distances(X, centers).min(axis=1) @ weights)


def greedy_seeds(X, weights, n_clusters, rng):
    """Greedy k-means++ for one start, with the draws of the batch of one start."""
    trials = 2 + int(np.log(n_clusters))
    seeds = [draw(weights, rng.random(1))[0]]
    for _ in range(1, n_clusters):
        least = squared_distances(X, X[seeds]).min(axis=1)
        tried = draw(least * weights, rng.random((1, trials))[0])
        costs = [cost(X, weights, X[[*seeds, row]]) for row in tried]
        seeds.append(tried[int(np.argmin(costs))])
    return np.array(seeds)


def draw(shares, draws):
    """Rows by their shares."""
    upto = np.cumsum(shares)
    return [min(int(np.sum(upto <= one * upto[-1])), len(shares) - 1) for one in draws]


def best_swap(X, weights, centers, rows):
    """Least cost of the centers with one of them replaced by one of some rows."""
    return min(
        cost(X, weights, np.vstack([np.delete(centers, gone, axis=0), X[[row]]]))
        for gone in range(len(centers))
        for row in rows
    )


def adjusted_rand_index(one, other, weights):
    """By pairs of units of whole weights."""
    one, other = np.repeat(one, weights), np.repeat(other, weights)
    same_one, same_other = one[:, None] == one, other[:, None] == other
    together, first, second = (same_one & same_other).sum(), same_one.sum(), same_other.sum()
    expected = first * second / len(one) ** 2
    return (together - expected) / ((first + second) / 2 - expected)


def greedy_kmeans_cost(rows, weights, k, draws, max_rounds):
    """Cost of k-means from one greedy k-means++ start, whose draws are given, in plain numpy."""

    def squares(centers):
        return ((rows[:, None, :] - centers[None, :, :]) ** 2).sum(axis=2)

    def drawn(shares, draw):
        upto = np.cumsum(shares)
        return min(np.searchsorted(upto, draw * upto[-1], side="right"), len(rows) - 1)

    draws, trials = list(draws), (len(draws) - 1) // max(k - 1, 1)
    centers = rows[[drawn(weights, draws.pop(0))]]
    while len(centers) < k:
        least = squares(centers).min(axis=1)
        tried = [rows[drawn(weights * least, draws.pop(0))] for _ in range(trials)]
        costs = [weights @ np.minimum(least, squares(one[None])[:, 0]) for one in tried]
        centers = np.vstack([centers, tried[int(np.argmin(costs))]])
    variance = np.average((rows - np.average(rows, axis=0, weights=weights)) ** 2, 0, weights)
    before = None
    for _ in range(max_rounds):
        nearest = squares(centers).argmin(axis=1)
        if before is not None and (nearest == before).all():
            break
        before = nearest
        means = centers.copy()
        for c in range(k):
            if weights[nearest == c].sum() > 0:
                means[c] = np.average(rows[nearest == c], 0, weights[nearest == c])
        moved, centers = ((means - centers) ** 2).sum(), means
        if moved <= 1e-4 * variance.mean():
            break
    return weights @ squares(centers).min(axis=1)
