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
